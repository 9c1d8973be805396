"""Models in TensorFlow Lite Micro and on the desktop, every layer: host_agreement.py [--search] FILE...

Prints for each model and host how many layers are told to be equal and to be off, by how many steps the worst is told
to be off and was seen to be, and what is off that was not told. PyPI's `tflite-micro` stands for the device: its
reference kernels compute the integers of CMSIS-NN. With `--search` each layer that is told to be off is given inputs
until it is, by half of what is told at least; it prints how many are, and those that are not.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import numpy as np

from onnxlint_cmsis.fixers.proof.litert_process import runnable
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteTensor
from onnxlint_cmsis.formats.tflite.one_operator import one_operator
from onnxlint_cmsis.formats.tflite.to_graph import load_tflite
from onnxlint_cmsis.runtimes.host.comparison import HostComparison, against
from onnxlint_cmsis.runtimes.host.hosts import LITERT, REFERENCE, Host

ARENA = 16 << 20
Array = np.ndarray[Any, Any]


def litert(data: bytes, host: Host, feeds: Mapping[int, Array], wanted: Sequence[int]) -> list[Array]:
    """What a host computes, by tensors' numbers."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kernels = {LITERT: OpResolverType.AUTO, REFERENCE: OpResolverType.BUILTIN_REF}[host]
    interpreter = Interpreter(model_content=data, num_threads=1, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    for index, values in feeds.items():
        interpreter.set_tensor(index, values)
    interpreter.invoke()
    return [np.array(interpreter.get_tensor(index)) for index in wanted]


class Device:
    """A model in TensorFlow Lite Micro, after one run; raises RuntimeError where it does not run."""

    def __init__(self, model: TfliteModel, feeds: Sequence[Array]) -> None:
        from tflite_micro import runtime

        keep = runtime.InterpreterConfig.kPreserveAllTensors
        self._tensors = model.subgraphs[0].tensors
        self._device = runtime.Interpreter.from_bytes(bytes(model.data), arena_size=ARENA, intrepreter_config=keep)
        for number, values in enumerate(feeds):
            self._device.set_input(values, number)
        self._device.invoke()

    def tensor(self, index: int) -> Array:
        """Values of any tensor."""
        values = np.array(self._device._interpreter.GetTensor(index, 0)["tensor_data"])
        return values.reshape(self._tensors[index].shape)


def random_values(tensor: TfliteTensor, rng: np.random.Generator) -> Array:
    """Values of an input."""
    kind = np.dtype(tensor.elem_type.lower())
    if kind.kind == "f":
        return rng.uniform(-1, 1, tensor.shape).astype(kind)
    if kind in (np.int32, np.int64):
        return rng.integers(0, 4, tensor.shape).astype(kind)
    info = np.iinfo(kind) if kind.kind in "iu" else np.iinfo(np.uint8)
    return rng.integers(info.min, info.max + 1, tensor.shape).astype(kind)


class Seen(NamedTuple):
    """A layer, or an output, in one host."""

    label: str
    """Name."""
    told: int | None
    """Steps that it may be off; None for no bound."""
    off: float
    """Steps that it is off."""
    part: float
    """Part of the values that differ."""


class Agreement(NamedTuple):
    """A model in one host."""

    host: Host
    """The host."""
    layers: tuple[Seen, ...]
    """Layers, each given the device's own inputs."""
    outputs: tuple[Seen, ...]
    """Outputs of the whole model."""

    @property
    def untold(self) -> list[Seen]:
        """What is off by more than was told."""
        return [seen for seen in (*self.layers, *self.outputs) if seen.told is not None and seen.off > seen.told]


def agreements(path: Path, given: Sequence[Array] = ()) -> Iterator[Agreement]:
    """A model in every host, on random inputs if none are given; raises RuntimeError where the device refuses it."""
    loaded = load_tflite(path)
    model, rng = loaded.file, np.random.default_rng(0)
    main = model.subgraphs[0]
    values = given or [random_values(main.tensors[index], rng) for index in main.inputs]
    feeds = dict(zip(main.inputs, values, strict=True))
    device = Device(model, [*feeds.values()])
    for host in (LITERT, REFERENCE):
        told = against(loaded.graph, loaded.reader(), host, {})
        yield Agreement(host, tuple(_layers(model, device, feeds, told)), tuple(_outputs(model, device, feeds, told)))


def _layers(model: TfliteModel, device: Device, feeds: Mapping[int, Array], told: HostComparison) -> Iterator[Seen]:
    main, data = model.subgraphs[0], runnable(model)
    nodes = {layer.node.offset: layer for layer in told.layers}
    for number, operator in enumerate(main.operators):
        layer, wanted = nodes[operator.span.offset], operator.outputs[:1]
        given = [index for index in dict.fromkeys(operator.inputs) if index >= 0]
        given = [index for index in given if not model.is_constant(main.tensors[index])]
        if not given or not wanted or any(main.tensors[index].is_variable for index in given):
            continue
        inputs = {index: feeds[index] if index in feeds else device.tensor(index) for index in given}
        try:
            computed = litert(one_operator(data, number, given, wanted), told.host, inputs, wanted)[0]
        except (RuntimeError, ValueError) as error:
            print(f"  {layer.node.label}: {told.host.key} refuses it: {str(error).splitlines()[0][:80]}")
            continue
        yield _seen(layer.node.label, layer.bound.steps, computed, device.tensor(wanted[0]))


def _outputs(model: TfliteModel, device: Device, feeds: Mapping[int, Array], told: HostComparison) -> Iterator[Seen]:
    outputs = model.subgraphs[0].outputs
    try:
        values = litert(runnable(model), told.host, feeds, outputs)
    except (RuntimeError, ValueError) as error:
        print(f"  {told.host.key} refuses the model: {str(error).splitlines()[0][:80]}")
        return
    for index, value, (name, steps) in zip(outputs, values, told.outputs, strict=True):
        dequantized = value.dtype.kind == "f" and steps  # steps of what was dequantized
        yield _seen(name, None if dequantized else steps, value, device.tensor(index))


def _seen(label: str, told: int | None, host: Array, device: Array) -> Seen:
    off = np.abs(host.astype(np.float64) - device.astype(np.float64))
    return Seen(label, told, float(off.max(initial=0)), float((off > 0).mean()) if off.size else 0.0)


SEARCHED = 40_000
"""Inputs that a layer is tried with."""
SECONDS = 8.0
"""Time of the processor for them."""


def searched(path: Path) -> Iterator[tuple[Host, Seen]]:
    """Each layer that is told to be off, and the furthest that it is seen to be; not those that one side refuses."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    from tflite_micro import runtime

    loaded = load_tflite(path)
    model, data = loaded.file, runnable(loaded.file)
    tensors = model.subgraphs[0].tensors
    for host in (LITERT, REFERENCE):
        told = {layer.node.offset: layer for layer in against(loaded.graph, loaded.reader(), host, {}).layers}
        for number, operator in enumerate(model.subgraphs[0].operators):
            layer, wanted = told[operator.span.offset], operator.outputs[:1]
            given = [i for i in dict.fromkeys(operator.inputs) if i >= 0 and not model.is_constant(tensors[i])]
            if not layer.bound.steps or not given or any(tensors[index].is_variable for index in given):
                continue
            try:
                file = one_operator(data, number, given, wanted)
                kernels = {LITERT: OpResolverType.AUTO, REFERENCE: OpResolverType.BUILTIN_REF}[host]
                desktop = Interpreter(model_content=file, num_threads=1, experimental_op_resolver_type=kernels)
                desktop.allocate_tensors()
                device = runtime.Interpreter.from_bytes(bytes(file), arena_size=ARENA)
                places = [details["index"] for details in desktop.get_input_details()]
                (end,) = (details["index"] for details in desktop.get_output_details())
            except (RuntimeError, ValueError):
                continue
            off, rng, start = 0.0, np.random.default_rng(number), time.process_time()
            for way in range(SEARCHED):
                for position, (index, target) in enumerate(zip(given, places, strict=True)):
                    values = _near(tensors[index], tensors[wanted[0]], rng, way)
                    desktop.set_tensor(target, values)
                    device.set_input(values, position)
                desktop.invoke()
                device.invoke()
                seen = _seen(
                    layer.node.label, layer.bound.steps, desktop.get_tensor(end), np.array(device.get_output(0))
                )
                off = max(off, seen.off)
                if off >= layer.bound.steps or time.process_time() - start > SECONDS:
                    break
            yield host, Seen(layer.node.label, layer.bound.steps, off, 0.0)


def _near(tensor: TfliteTensor, result: TfliteTensor, rng: np.random.Generator, way: int) -> Array:
    """Values of an input, in turn over its whole range and near its zero-point; floats at halves of the result."""
    kind = np.dtype(tensor.elem_type.lower())
    if kind.kind == "f" and result.quantization and way % 2:
        return ((rng.integers(-140, 140, tensor.shape) + 0.5) * result.quantization.scales[0]).astype(kind)
    if kind not in (np.int8, np.int16) or way % 4 == 0:
        return random_values(tensor, rng)
    info, zero = np.iinfo(kind), tensor.quantization.zero_points[0] if tensor.quantization else 0
    spread = (0, 8, 30, 80)[way % 4] * (1 if kind == np.int8 else 200)
    return np.clip(np.round(rng.normal(zero, spread, tensor.shape)), info.min, info.max).astype(kind)


def search_line(path: Path) -> str:
    """The layers of a model that are told to be off, as a line."""
    rows = [*searched(path)]
    short = [
        f"{seen.label} in {host.key} {seen.off:g} of {seen.told}" for host, seen in rows if 2 * seen.off < seen.told
    ]
    over = [f"{seen.label} in {host.key}" for host, seen in rows if seen.off > seen.told]
    reached = sum(seen.off == seen.told for _, seen in rows)
    return f"{path.stem}: {len(rows)} bounds, {reached} reached; less than half: {short}; not told: {over}"


def line(path: Path, agreement: Agreement) -> str:
    """A model in one host as a line."""
    equal = sum(seen.told == 0 for seen in agreement.layers)
    bounds = [(seen.told, seen.off) for seen in agreement.layers if seen.told]
    reached = sum(off == told for told, off in bounds)
    halved = sum(told / 2 <= off < told for told, off in bounds)
    outputs = ", ".join(f"{seen.off:g} of {'any' if seen.told is None else seen.told}" for seen in agreement.outputs)
    return (
        f"{path.stem} in {agreement.host.key}: {len(agreement.layers)} layers, {equal} equal, {len(bounds)} bounded,"
        f" of which {reached} are reached and {halved} at least half; outputs are off {outputs or 'nothing'}; not told:"
        f" {[*map(tuple, agreement.untold)]}"
    )


def main(paths: Sequence[str]) -> None:
    """Print a line for each model and host; each model in its own process, which LiteRT may end."""
    for path in paths[1:] if paths[0] == "--search" else ():
        print(search_line(Path(path)), flush=True)
    for path in paths[1:] if paths[0] == "--here" else ():
        for agreement in agreements(Path(path)):
            print(line(Path(path), agreement), flush=True)
    for path in paths if paths[0] not in ("--here", "--search") else ():
        done = subprocess.run([sys.executable, __file__, "--here", path], capture_output=True, text=True, check=False)
        ended = f"{Path(path).stem} ends with status {done.returncode}: {(done.stderr.splitlines() or [''])[-1][:90]}\n"
        print(done.stdout + (ended if done.returncode else ""), end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
