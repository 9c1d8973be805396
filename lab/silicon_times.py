"""Makes tests/data/silicon_times.json: python lab/silicon_times.py FOLDER.

Predicts the time of each row of tests/data/silicon.csv, which has public measurements on silicon with their sources.
FOLDER holds the `.tflite` files of FILES: of MLPerf Tiny and of TensorFlow Lite Micro. Of a net whose file is
not there, and of a function that is not CMSIS-NN's, the row says why it has no prediction.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from net_calls import FILE as NET_CALLS
from net_calls import call_of
from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.layer_times import layer_work
from onnxlint_cmsis.cmsis_nn.library import call_cost, route
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.timing.cores import OTHER, core_of, kind_of
from onnxlint_cmsis.timing.device import Device
from onnxlint_cmsis.timing.fetches import SMALL_CACHE, fetches
from onnxlint_cmsis.timing.memories import UNKNOWN
from onnxlint_cmsis.timing.placed import Placed, added
from onnxlint_cmsis.timing.predicted_time import PredictedTime, layer_time, predicted_time
from onnxlint_cmsis.timing.work import LayerWork

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
from support.tflite_models import one_operator, tensor  # type: ignore[import-not-found]
from support.tflite_writer import write  # type: ignore[import-not-found]

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
COLUMNS = ("source", "cpu", "board", "clock_hz", "compiler", "library")

BOARDS = {
    "NUCLEO-L4R5ZI": ("flash", "sram"),
    "NUCLEO-F446RE": ("flash", "sram"),
    "STM32F413 (100 MHz)": ("flash", "sram"),
    "NUCLEO-H753ZI": ("flash", "sram"),
    "STM32H745 DISCO/NUCLEO": ("flash", "sram"),
    "STM32H745": ("flash", "sram"),
    "Raspberry Pi Pico RP2040": ("xip", "sram"),
    "Raspberry Pi Pico 2 (RP2350)": ("xip", "sram"),
    "Pico 2 W RP2350": ("xip", "sram"),
    "nRF5340DK": ("flash", "sram"),
    "EK-RA6M4": ("flash", "sram"),
    "EK-RA8D1": ("flash", "sram"),
    "FRDM-MCXN947": ("flash", "sram"),
    "Alif Ensemble E8": ("mram", "sram"),
    "Raspberry Pi Pico W (RP2040)": ("xip", "sram"),
    "Arduino Nano 33 BLE (nRF52840)": ("flash", "sram"),
    "Teensy 4.0 (i.MX RT1062)": ("xip", "tcm"),
    "NUCLEO-L552ZE-Q": ("flash", "sram"),
}
"""Memories of weights and arena, by board; UNKNOWN for the others but for what their rows say."""
SMALL_CODE_CACHE = ("NUCLEO-L4R5ZI", "NUCLEO-F446RE", "STM32F413 (100 MHz)")
"""Boards whose flash has a cache of SMALL_CACHE for code."""
NETS = {
    "ad": "ad01_int8",
    "TinyMLPerf_AE": "ad01_int8",
    "ds_cnn": "kws_ref_model",
    "TinyMLPerf_DS_CNN": "kws_ref_model",
    "TinyMLPerf_ResNet": "pretrainedResnet_quant",
    "TinyMLPerf_MBNet": "vww_96_int8",
}
"""Names of sources for the nets of a file."""
FILES = (
    *("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8", "person_detect"),
    *("micro_speech_quantized", "keyword_scrambled_8bit"),
)

MNIST, CIFAR = (28, 28, 1), (32, 32, 3)
SMALL_NETS: dict[str, tuple[tuple[int, ...], tuple[tuple[int, int, int], ...], tuple[int, ...]]] = {
    "CNN_1": (MNIST, ((4, 3, 2), (6, 3, 2), (8, 3, 2), (0, 0, 0)), (10,)),
    "CNN_2": (MNIST, ((6, 3, 2), (8, 3, 2), (8, 3, 2), (10, 3, 2)), (10,)),
    "CNN_3": (MNIST, ((4, 3, 1), (8, 3, 2), (12, 3, 2), (16, 3, 2), (20, 3, 2)), (10,)),
    "CNN_4": (MNIST, ((8, 3, 1), (8, 3, 2), (16, 3, 1), (16, 3, 2), (32, 3, 1), (0, 0, 0)), (64, 16, 10)),
    "CNN_5": (CIFAR, ((16, 3, 1), (16, 3, 1), (0, 2, 2), (32, 3, 2), (32, 3, 1), (0, 0, 0)), (64, 32, 10)),
    "CNN_6": (
        CIFAR,
        ((16, 3, 1), (16, 3, 1), (0, 2, 2), (32, 3, 1), (32, 3, 1), (0, 2, 2), (64, 3, 1), (0, 0, 0)),
        (100, 50, 10),
    ),
    "CNN_7": (
        CIFAR,
        (
            *((16, 3, 1), (16, 3, 1), (0, 2, 2), (32, 3, 1), (32, 3, 1), (0, 2, 2)),
            *((64, 3, 1), (64, 3, 1), (0, 2, 2), (128, 3, 1), (0, 0, 0)),
        ),
        (128, 64, 10),
    ),
    "FC_0": ((1,), (), (1,)),
    "FC_1": ((1,), (), (5, 1)),
    "FC_2": ((1,), (), (10, 10, 1)),
    "FC_3": ((50,), (), (16, 8, 10)),
    "FC_4": ((50,), (), (32, 16, 10)),
    "FC_5": ((13,), (), (64, 32, 16, 1)),
    "FC_6": ((13,), (), (64, 64, 64, 1)),
    "FC_7": ((128,), (), (64, 32, 16, 10)),
    "FC_8": ((13,), (), (128, 128, 128, 1)),
    "FC_9": ((784,), (), (60, 32, 16, 10)),
    "FC_10": ((3072,), (), (64, 32, 16, 10)),
}
"""Nets of Black3rror/Benchmarking: input; channels, window and stride of convolutions; units of dense layers.

A convolution of 0 channels is a pool. Without a window it is Keras' GlobalAveragePooling2D, which becomes MEAN."""
TYPES = {"q_full_int_only": "s8", "q_16x8_int_only": "s16"}

PLANE = Dims(1, 32, 32, 64)
KERNELS = {
    "convolve": {"filter_dims": Dims(64, 3, 3, 64), "padding": Pair(1, 1), "pad_after": Pair(1, 1)},
    "1x1": {"filter_dims": Dims(64, 1, 1, 64)},
    "depthwise": {"filter_dims": Dims(1, 3, 3, 64), "padding": Pair(1, 1), "pad_after": Pair(1, 1), "ch_mult": 1},
    "avgpool": {"filter_dims": Dims(1, 3, 3, 1), "padding": Pair(1, 1), "pad_after": Pair(1, 1)},
}
"""Layers of the kernel benchmarks of Apollo510, on 32x32x64 values."""


class Row(NamedTuple):
    """One measurement."""

    cpu: str
    board: str
    clock: int
    compiler: str
    library: str
    what: str
    cycles: float
    notes: str
    source: str


def rows() -> list[Row]:
    """All rows with a clock."""
    with (DATA / "silicon.csv").open(newline="") as file:
        return [row_of(record) for record in csv.DictReader(file) if record["clock_hz"]]


def row_of(record: dict[str, str]) -> Row:
    """A record of the table with its cycles."""
    clock = int(record["clock_hz"])
    match = re.match(r"([\d.]+) (cycles|ms|us)", record["cycles_or_ms"])
    if match is None:
        raise ValueError(f"{record['cycles_or_ms']!r} is no time")
    cycles = float(match[1]) * {"cycles": 1.0, "ms": clock / 1e3, "us": clock / 1e6}[match[2]]
    cpu = "cortex-m0+" if record["cpu"] == "cortex-m0plus" else record["cpu"]
    texts = (record["compiler"], record["library"], record["model_or_layer_shape"])
    return Row(cpu, record["board"], clock, *texts, cycles, record["notes"], record["source"])


def memories(row: Row) -> tuple[str, str]:
    """Where weights and arena lie."""
    if "weights in TCM" in row.what or row.notes.rpartition("; ")[2] == "TCM":
        return "tcm", "tcm"
    if "arena TCM, weights MRAM" in row.notes:
        return "mram", "tcm"
    if "SDRAM" in row.notes:
        return UNKNOWN, UNKNOWN
    return BOARDS.get(row.board, (UNKNOWN, UNKNOWN))


def unlike(row: Row) -> str:
    """Why a row is no measurement of what is predicted; empty where it is."""
    library = row.library.lower()
    if "legacy" in library:
        return "functions for q7"
    if "own kernels" in library or "reference" in library:
        return "no CMSIS-NN"
    if "build" in library and "mve" not in library:
        return "a build without MVE"
    if any(word in row.notes for word in ("SDRAM", "PSRAM", "implausible")):
        return "memory outside of the table"
    if "-O0" in row.compiler or ("-Os" in row.compiler and row.cpu != "cortex-m0+"):
        return "built with -O0 or -Os"
    return ""


def runtime_of(row: Row) -> str:
    """Runtime whose cost beside the kernels is known; empty for another."""
    return "tflm" if "TFLM" in row.library or "tflmicro" in row.library else ""


def works_of_net(path: Path, cpu: str, operators: str = ".*", data: bytes | None = None) -> list[LayerWork]:
    """Work of the layers of a file under TensorFlow Lite Micro whose operators, as `SOFTMAX#12`, match a pattern."""
    settings = make_settings(str(path), targets=[cpu], runtime="tflm")
    model, (target,) = ModelAnalysis(str(path), settings.analysis, data), settings.targets
    works = []
    for record in model.repeated:
        if not re.fullmatch(operators, record.node.label):
            continue
        runs = record.call is not None and not model.refusal(record, target)
        work = layer_work(model, record, target, Outcome.CMSIS_NN if runs else Outcome.REFERENCE)
        refusal = None if runs else model.refusal(record, target)
        if work is None and refusal and refusal.verdict is Outcome.CMSIS_NN:
            raise LookupError(f"{record.node.label} has no cost")
        if work is not None:
            works.append(work)
    return works


def work_of(call: KernelCall, cpu: str) -> LayerWork:
    """Work of one call with CMSIS-NN 7.0.0 and gcc 12.2."""
    target = parse_target(cpu, "7.0.0", "gcc@12.2")
    core, taken = core_of(cpu), route(call, target)
    cost = call_cost(call, target, taken)
    ends = cost.ends or (cost.instructions and (cost.instructions, cost.instructions))
    if core is None or not ends:
        raise LookupError(f"{call.entry} on {cpu} has no cost")
    return LayerWork(kind_of(taken.effective), *ends, fetches(call, core, taken.effective))


def mean(elements: int, channels: int) -> LayerWork:
    """Work of MEAN over a plane by the code in the firmware of the nets of SMALL_NETS.

    Its tensorflow/lite/kernels/internal/reference/reduce.h was counted for Cortex-M4 (gcc 12.2, -O3) under QEMU: five
    calls, of 128 to 4,096 elements, are off by 0.3 % at most.
    """
    instructions = round(114.7 * elements + 30 * channels + 500)
    return LayerWork(OTHER, instructions, instructions, part="reference")


def small_net(name: str, types: str, cpu: str) -> list[LayerWork]:
    """The work of the layers of a net of SMALL_NETS."""
    source, convolutions, dense = SMALL_NETS[name]
    calls: list[KernelCall] = []
    means: list[LayerWork] = []
    height, width, channels = source if len(source) == 3 else (1, 1, source[0])
    for out_c, window, stride in convolutions:
        here = Dims(1, height, width, channels)
        after = (-(-height // stride), -(-width // stride)) if window else (1, 1)
        if not window:
            means.append(mean(height * width * channels, channels))
        elif not out_c:
            plane, output = Dims(1, window, window, 1), Dims(1, *after, channels)
            calls.append(KernelCall(f"max_pool_{types}", here, plane, output, Pair(stride, stride)))
        else:
            pads = [
                max(0, (out - 1) * stride + window - size) for out, size in zip(after, (height, width), strict=True)
            ]
            padding, rest = Pair(pads[0] // 2, pads[1] // 2), Pair(pads[0] - pads[0] // 2, pads[1] - pads[1] // 2)
            weights = Dims(out_c, window, window, channels)
            output = Dims(1, *after, out_c)
            calls.append(KernelCall(f"convolve_{types}", here, weights, output, Pair(stride, stride), padding, rest))
        (height, width), channels = after, out_c or channels
    depth = height * width * channels
    for units in dense:
        sizes = (Dims(1, 1, 1, depth), Dims(depth, 1, 1, units), Dims(1, 1, 1, units))
        calls.append(KernelCall(f"fully_connected_{types}", *sizes, per_channel=False))
        depth = units
    if depth > 1:
        sizes = (Dims(1, 1, 1, depth), Dims(0, 0, 0, 0), Dims(1, 1, 1, depth))
        calls.append(KernelCall(f"softmax_{types}", *sizes))
    return [*(work_of(call, cpu) for call in calls), *means]


def benchmark(name: str) -> KernelCall | None:
    """The call of a kernel benchmark: `arm_convolve_1x1_s8_fast 32x32x64 oc64`."""
    types = next((part for part in ("s8", "s4", "s16") if f"_{part}" in name), "")
    if name.startswith("arm_nn_vec_mat_mult_t"):
        sizes = (Dims(1, 1, 1, 512), Dims(512, 1, 1, 256), Dims(1, 1, 1, 256))
        return KernelCall(f"fully_connected_{types}", *sizes, per_channel=False)
    if (match := re.match(r"arm_elementwise_(add|mul)_s(8|16) n4096", name)) is not None:
        plane = Dims(1, 1, 1, 4096)
        return KernelCall(f"elementwise_{match[1]}_s{match[2]}", plane, plane, plane)
    for part in ("1x1", "depthwise", "convolve", "avgpool"):
        if part in name:
            stem = "convolve" if part == "1x1" else part
            return KernelCall(f"{stem}_{types}", input_dims=PLANE, output_dims=PLANE, **KERNELS[part])  # type: ignore[arg-type]
    return None


OF_KWS = re.compile(
    r"kws_ref_model (?:\(.*\)|layer) (CONV_2D(?= x5)|DEPTHWISE|AVERAGE_POOL|FULLY_CONNECTED|SOFTMAX)(?: x\d|_CONV_2D)?"
)
"""All layers of a kind of the net for keyword spotting, or one of its equal depthwise layers."""
ELEMENTWISE: dict[str, tuple[int, tuple[str, dict[str, float]] | None]] = {
    "ADD": (2, ("AddOptions", {})),
    "SUB": (2, ("SubOptions", {})),
    "MUL": (2, ("MulOptions", {})),
    "MAXIMUM": (2, ("MaximumMinimumOptions", {})),
    "MINIMUM": (2, ("MaximumMinimumOptions", {})),
    "RELU": (1, None),
    "RELU6": (1, None),
    "HARD_SWISH": (1, ("HardSwishOptions", {})),
    "LEAKY_RELU": (1, ("LeakyReluOptions", {"alpha": 0.1})),
}
"""Operators whose model of one operator is known by its sizes: inputs and options."""


def single_operator(op: str) -> bytes:
    """A `.tflite` model of one operator on 32x32x16 values."""
    inputs, options = ELEMENTWISE[op]
    tensors = [tensor(name, [1, 32, 32, 16]) for name in ("x0", "x1")[:inputs]]
    return bytes(write(one_operator(op, [*tensors, tensor("y", [1, 32, 32, 16])], options)))


LAYER = re.compile(r"layer (\w+) (\d)x\d/(\d) (\d+)x\d+x(\d+) to (\d+)x\d+x(\d+)")


def layer_call(what: str) -> KernelCall | None:
    """The call of a layer by its sizes: `layer convolution 3x3/2 224x224x3 to 112x112x32`."""
    match = LAYER.fullmatch(what)
    if match is None:
        return None
    window, stride, side, source, out, result = map(int, match.groups()[1:])
    pads = max(0, (out - 1) * stride + window - side)
    depthwise = match[1] == "depthwise"
    return KernelCall(
        "depthwise_s8" if depthwise else "convolve_s8",
        Dims(1, side, side, source),
        Dims(1, window, window, result) if depthwise else Dims(result, window, window, source),
        Dims(1, out, out, result),
        Pair(stride, stride),
        Pair(pads // 2, pads // 2),
        Pair(pads - pads // 2, pads - pads // 2),
        ch_mult=1 if depthwise else 0,
    )


def part_of_net(row: Row, folder: Path) -> list[LayerWork] | None:
    """The work of layers of a net whose file is known, or of a model of one operator; None for another row."""
    if (match := re.match(r"person_detect.tflite layer (\d+)", row.what)) is not None:
        return works_of_net(folder / "person_detect.tflite", row.cpu, f".*#{match[1]}")
    if (match := OF_KWS.fullmatch(row.what)) is not None:
        return works_of_net(
            folder / "kws_ref_model.tflite", row.cpu, f"{match[1]}.*{'#1' if 'layer' in row.what else ''}"
        )
    if (match := re.match(r"(\w+) int8 single-operator model", row.what)) is not None and match[1] in ELEMENTWISE:
        return works_of_net(Path("x.tflite"), row.cpu, data=single_operator(match[1]))
    return None


PART_OF_NET = re.compile(r"layer|CONV_2D|DEPTHWISE|AVERAGE|RESHAPE|FULLY|SOFTMAX")
"""Rows that are layers of a net, of which the runtime does nothing once in a run."""


def works(row: Row, folder: Path) -> list[LayerWork]:
    """The work of a row. Raises LookupError where it is not known."""
    what = row.what
    if row.library.startswith("ns-cmsis-nn"):
        call = benchmark(what)
        if call is None:
            raise LookupError("no function of CMSIS-NN")
        return [work_of(call, row.cpu)]
    call = layer_call(what)
    if call is not None:
        return [work_of(call, row.cpu)]
    name, _, kind = what.partition(" ")
    if name in SMALL_NETS and kind in TYPES:
        return small_net(name, TYPES[kind], row.cpu)
    if kind and name.startswith("TinyMLPerf") and TYPES.get(kind) != "s8":
        raise LookupError("another type than int8")
    if (part := part_of_net(row, folder)) is not None:
        return part
    name = NETS.get(name, name).partition(".")[0]
    calls = json.loads(NET_CALLS.read_text()).get(name)
    if calls:
        return [work_of(call_of(record), row.cpu) for record in calls]
    if name in FILES and not PART_OF_NET.search(what):
        return works_of_net(folder / f"{name}.tflite", row.cpu)
    raise LookupError("sizes are not given")


def device_of(row: Row) -> Device:
    """Where the row was measured."""
    code_cache = SMALL_CACHE if row.board in SMALL_CODE_CACHE else None
    return Device(row.cpu, row.clock, *memories(row), runtime_of(row), code_cache=code_cache)


def time_of(row: Row, layers: list[LayerWork]) -> PredictedTime:
    """What is predicted of a row. Raises LookupError where nothing is."""
    device = device_of(row)
    time = predicted_time(device, layers, 0)
    if time.milliseconds is None:
        raise LookupError(time.reason)
    if not PART_OF_NET.search(row.what):
        return time
    columns = zip(*(layer_time(device, layer).placed for layer in layers), strict=True)
    return time._replace(placed=tuple(added(Placed(), of_layers, (0.0, 0.0)) for of_layers in columns))


def record_of(row: Row, folder: Path) -> dict[str, object]:
    """What is kept of a row."""
    weights, arena = memories(row)
    kept: dict[str, object] = {
        "cpu": row.cpu,
        "board": row.board,
        "clock_hz": row.clock,
        "built": f"{row.library}, {row.compiler}",
        "what": row.what,
        "weights": weights,
        "arena": arena,
        "measured_ms": round(1000 * row.cycles / row.clock, 4),
        "source": row.source,
    }
    try:
        reason = unlike(row)
        if reason:
            raise LookupError(reason)  # noqa: TRY301 - one way to say why
        time = time_of(row, works(row, folder))
    except LookupError as error:
        return {**kept, "predicted_ms": None, "reason": str(error.args[0])}
    low, high = (1000 * cycles / row.clock for cycles in time.cycles)
    return {**kept, "predicted_ms": [round(low, 4), round(high, 4)], "number": time.is_number, "reason": ""}


def main(argv: list[str]) -> int:
    """Write the file and print how many rows their ranges hold."""
    folder = Path(argv[0])
    kept = [record_of(row, folder) for row in rows()]
    lines = ",\n".join(json.dumps(record) for record in kept)
    (DATA / "silicon_times.json").write_text(f"[\n{lines}\n]\n")
    known = [record for record in kept if record["predicted_ms"]]
    held = [record for record in known if _held(record)]
    print(f"{len(kept)} rows, {len(known)} predicted, {len(held)} within their range")
    return 0


def _held(record: dict[str, Any]) -> bool:
    low, high = record["predicted_ms"]
    return bool(low <= record["measured_ms"] <= high)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
