"""Measures reference kernels of TensorFlow Lite Micro: measure_tflm_reference.py CPU LIBRARY FLAG...

LIBRARY is libtensorflow-microlite.a as the tree's own Makefile builds it with OPTIMIZED_KERNEL_DIR=cmsis_nn. FLAGs go
to arm-none-eabi-g++: those that chose the CPU for the library, and `-I` for the tree and its downloads. Each shape of
tests/data/cost_tflm_reference.jsonl.gz becomes a model of one operator and runs under QEMU on four patterns of data.
A line for each has the least and the most instructions of a call and the range of runtimes/tflm/reference_cost.py.
Returns 1 where a call lies outside.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from firmware_check.boards import Board  # noqa: E402
from firmware_check.options import board_named  # noqa: E402
from onnxlint_cmsis.cmsis_nn.releases import parse_target  # noqa: E402
from onnxlint_cmsis.runtimes.tflm.reference_cost import ReferenceCall, reference_range  # noqa: E402
from onnxlint_cmsis.runtimes.tflm.revisions import NEWEST  # noqa: E402
from support.tflite_chains import VERSIONS, Chain  # type: ignore[import-not-found] # noqa: E402

SHAPES = ROOT / "tests" / "data" / "cost_tflm_reference.jsonl.gz"
SCALES = (0.02, 0.05, 0.2)
"""Scales of the inputs of LOGISTIC: with a larger one more of them saturate."""
REPETITIONS, PATTERNS, SECONDS = 4, 4, 1200
"""Calls on each pattern of data, patterns, and the longest time for all."""
LINK = """ENTRY(Reset)
MEMORY {{ FLASH (rx) : ORIGIN = {0.flash.origin:#x}, LENGTH = {0.flash.size:#x}
  RAM (rwx) : ORIGIN = {0.ram.origin:#x}, LENGTH = {0.ram.size:#x} }}
SECTIONS {{
  .text : {{ KEEP(*(.vectors)) *(.text* .rodata*) . = ALIGN(4);
    first_constructor = .; KEEP(*(SORT(.init_array*))) last_constructor = .; }} > FLASH
  .ARM.exidx : {{ *(.ARM.exidx* .ARM.extab*) }} > FLASH
  .data : {{ data_start = .; *(.data*) . = ALIGN(8); data_end = .; }} > RAM AT> FLASH
  data_load = LOADADDR(.data);
  .bss : {{ bss_start = .; *(.bss* COMMON) . = ALIGN(8); bss_end = .; end = .; }} > RAM
  stack_top = ORIGIN(RAM) + LENGTH(RAM);
}}
"""
PROGRAM = Path(__file__).with_suffix(".cc")


def model_of(call: ReferenceCall, seed: int, scale: float = SCALES[0]) -> bytes:
    """A model of one call; the scale is that of a LOGISTIC's input on int8."""
    wide, shape = call.elem_type == "int16", call.inputs[0]
    chain = Chain(seed, wide=wide)
    options: tuple[str, dict[str, Any]] | None = None
    extra: list[int] = []
    if call.op == "LOGISTIC":
        inputs = [chain.activation(shape, scale / (100 if wide else 1), 3)]
        output = chain.activation(call.output, 1 / (32768 if wide else 256), -128)
    elif call.op in ("ADD", "MUL"):
        inputs, output = [chain.activation(input_shape) for input_shape in call.inputs], chain.activation(call.output)
        options = f"{call.op.capitalize()}Options", {"fused_activation_function": "NONE"}
    else:
        inputs = [chain.activation(input_shape, 0.05, 0) for input_shape in call.inputs]
        output = chain.like(inputs[0], call.output)
    axes = range(len(shape))
    if call.op == "MEAN":
        keep = len(call.output) == len(shape)
        subsets = (set(some) for count in axes for some in combinations(axes, count + 1))
        chosen = next(
            some
            for some in subsets
            if [1 if a in some else shape[a] for a in axes if keep or a not in some] == call.output
        )
        options = "ReducerOptions", {"keep_dims": keep}
        extra = [chain.constant(np.array(sorted(chosen), np.int32), [])]
    elif call.op == "TRANSPOSE":
        order = next(some for some in permutations(axes) if some[0] == 0 and [shape[a] for a in some] == call.output)
        extra = [chain.constant(np.array(order, np.int32), [])]
    elif call.op == "CONCATENATION":
        axis = next(a for a in axes if sum(input_shape[a] for input_shape in call.inputs) == call.output[a])
        options = "ConcatenationOptions", {"axis": axis}
    chain.add(call.op, [*inputs, *extra], output, options)
    return bytes(chain.model(inputs, [output], versions=VERSIONS | {"TRANSPOSE": 2}))


def measured(calls: list[ReferenceCall], board: Board, library: str, flags: list[str]) -> dict[int, list[float]]:
    """Instructions of each call on each pattern of data; a call that fails is left out."""
    files = {"list": "".join(f"{number}\n" for number in range(len(calls))).encode()}
    for number, call in enumerate(calls):
        first = next(index for index, other in enumerate(calls) if other[:2] == call[:2])
        files[str(number)] = model_of(call, number, SCALES[(number - first) % len(SCALES)])
    return counted(PROGRAM, files, board, library, ["-DTF_LITE_STATIC_MEMORY", *flags])


def counted(
    program: Path, files: dict[str, bytes], board: Board, library: str, flags: list[str]
) -> dict[int, list[float]]:
    """Instructions of what a program prints: lines of a number, its count of SysTick and 0, or another status.

    The program runs on a board in a folder with these files, for PATTERNS of data with REPETITIONS each.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "link.ld").write_text(LINK.format(board))
        for file, data in files.items():
            (folder / file).write_bytes(data)
        numbers = [f"-DPATTERNS={PATTERNS}", f"-DREPETITIONS={REPETITIONS}"]
        compiler = [
            "arm-none-eabi-g++",
            "-mthumb",
            "-std=c++17",
            "-O1",
            "-fno-rtti",
            "-fno-exceptions",
            "-fno-threadsafe-statics",
        ]
        link = [
            "--specs=rdimon.specs",
            "-nostartfiles",
            "-Wl,--gc-sections",
            f"-T{folder}/link.ld",
            str(program),
        ]
        image = str(folder / "image")
        subprocess.run([*compiler, *numbers, *flags, *link, library, "-lm", "-o", image], check=True)
        machine = ["qemu-system-arm", "-M", board.machine, "-semihosting", "-icount", "shift=0", "-nographic"]
        run = [*machine, "-monitor", "none", "-kernel", image]
        text = subprocess.run(run, cwd=folder, timeout=SECONDS, capture_output=True, check=True, text=True).stdout
    results: dict[int, list[float]] = {}
    for words in map(str.split, text.splitlines()):
        if len(words) == 3 and words[2] == "0":
            results.setdefault(int(words[0]), []).append(board.instructions(int(words[1])) / REPETITIONS)
    return results


def main(cpu: str, library: str, *flags: str) -> int:
    """Measure all shapes and compare them with their ranges."""
    with gzip.open(SHAPES, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    calls = [ReferenceCall(row["op"], row["type"], row["inputs"], row["output"]) for row in rows]
    try:
        results = measured(calls, board_named(cpu), str(Path(library).resolve()), list(flags))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"nothing was measured: {error}", file=sys.stderr)
        return 2
    outside = len(calls) - len(results)
    for number, instructions in sorted(results.items()):
        least, most = min(instructions), max(instructions)
        told = reference_range(calls[number], parse_target(cpu), NEWEST) or (0, 0)
        outside += not told[0] <= least <= most <= told[1]
        print(json.dumps({**calls[number]._asdict(), "instructions": [least, most], "range": told}))
    print(f"{len(results)} of {len(calls)} calls ran; {outside} failed or lie outside of their range", file=sys.stderr)
    return int(outside > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
