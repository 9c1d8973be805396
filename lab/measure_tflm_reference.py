"""Counts the instructions of TensorFlow Lite Micro's reference kernels.

`python lab/measure_tflm_reference.py BUILD CPU LIBRARY FLAG...`: LIBRARY is libtensorflow-microlite.a as the tree's own
Makefile builds it. FLAGs go to arm-none-eabi-g++: those that chose the CPU for the library, and `-I` for the tree and
its downloads. Each call of lab/tflm_calls.py becomes a model of one operator and runs under QEMU on PATTERNS of data; a
plugin counts what the operator's Invoke retires. The least and the most of each call go into RECORDS under the name
BUILD, such as dsp-O3 or dsp-O2c (with checks), for lab/fit_tflm_reference.py. What RECORDS has of the build already is
not measured again.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from firmware_check.boards import Board
from firmware_check.options import board_named
from onnxlint_cmsis.runtimes.tflm.reference_turns import ReferenceCall
from tflm_calls import CALLS, drawn, model_of

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "tests" / "data" / "cost_tflm_reference.jsonl.gz"
PATTERNS, SECONDS = 7, 3000
"""Patterns of data, and the longest time for all."""
LINK = """ENTRY(Reset)
MEMORY {{ FLASH (rx) : ORIGIN = {0.flash.origin:#x}, LENGTH = {0.flash.size:#x}
  RAM (rwx) : ORIGIN = {0.ram.origin:#x}, LENGTH = {0.ram.size:#x} }}
SECTIONS {{
  .text : {{ KEEP(*(.vectors)) *(.text* .rodata*) . = ALIGN(4);
    first_constructor = .; KEEP(*(SORT(.init_array*))) last_constructor = .; }} > FLASH
  .ARM.exidx : {{ __exidx_start = .; *(.ARM.exidx* .ARM.extab*) __exidx_end = .; }} > FLASH
  .data : {{ data_start = .; *(.data*) . = ALIGN(8); data_end = .; }} > RAM AT> FLASH
  data_load = LOADADDR(.data);
  .bss : {{ bss_start = .; *(.bss* COMMON) . = ALIGN(8); bss_end = .; end = .; }} > RAM
  stack_top = ORIGIN(RAM) + LENGTH(RAM);
}}
"""
PROGRAM = Path(__file__).with_suffix(".cc")
TOLD = re.compile(r"\d+ \d+")
"""What the program prints of a call: its number, and how often it was made."""
CUSTOM_NAMES = {"CONV_2D": "Conv2D", "DEPTHWISE_CONV_2D": "DepthwiseConv2D", "AVERAGE_POOL_2D": "AveragePool2D",
                "MAX_POOL_2D": "MaxPool2D", "BATCH_MATMUL": "BatchMatMul"}  # fmt: skip


def image_of(program: Path, folder: Path, board: Board, library: str, flags: list[str]) -> Path:
    """A program linked with a library for a board."""
    (folder / "link.ld").write_text(LINK.format(board))
    compiler = ["arm-none-eabi-g++", "-mthumb", "-std=c++17", "-O1", "-fno-rtti", "-fno-exceptions", "-w"]
    link = ["-fno-threadsafe-statics", "--specs=rdimon.specs", "-nostartfiles", "-Wl,--gc-sections"]
    image = folder / "image"
    command = [*compiler, *flags, *link, f"-T{folder}/link.ld", program, library, "-lm", "-o", image]
    subprocess.run(list(map(str, command)), check=True)
    return image


def counted(image: Path, folder: Path, board: Board) -> tuple[str, list[int]]:
    """Run a program in a folder: what it prints, and the instructions before each pass of its function `mark`."""
    shared, counts = folder / "count.so", folder / "counts"
    counter = PROGRAM.with_name("count_instructions.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", counter, "-o", shared], check=True)
    symbols = subprocess.run(["arm-none-eabi-nm", image], check=True, capture_output=True, text=True).stdout
    mark = next(line.split()[0] for line in symbols.splitlines() if line.endswith(" mark"))
    plugin = f"{shared},mark={mark},begin=0,end=0,out={counts}"
    run = ["qemu-system-arm", "-M", board.machine, "-semihosting", "-nographic", "-monitor", "none"]
    command = [*run, "-plugin", plugin, "-kernel", str(image)]
    done = subprocess.run(command, cwd=folder, timeout=SECONDS, capture_output=True, check=True, text=True)
    return done.stdout, list(map(int, counts.read_text().split()))


def measured(calls: dict[int, ReferenceCall], board: Board, library: str, flags: list[str]) -> dict[int, list[int]]:
    """Instructions of each call on each pattern of data, by the call's number; a call that fails is left out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "list").write_text("".join(f"{number}\n" for number in calls))
        for number, call in calls.items():
            (folder / str(number)).write_bytes(model_of(call, number))
        ops = dict.fromkeys(call.op for call in calls.values())
        names = (CUSTOM_NAMES.get(op, op.title().replace("_", "")) for op in ops)
        adding = " ".join(f"operators.Add{op}();" for op in names)
        numbers = ["-DTF_LITE_STATIC_MEMORY", f"-DPATTERNS={PATTERNS}", f"-DOPERATORS={adding}"]
        image = image_of(PROGRAM, folder, board, library, [*numbers, *flags])
        printed, marks = counted(image, folder, board)
    passes = marks[1::2]
    results: dict[int, list[int]] = {}
    for line in filter(TOLD.fullmatch, printed.splitlines()):  # beside what kernels print
        number, calls_made = map(int, line.split())
        if calls_made == PATTERNS:
            results[number] = passes[:calls_made]
        passes = passes[calls_made:]
    return results


def records() -> list[dict[str, Any]]:
    """The measured calls: part, all fields of the call, and the least and the most instructions by build."""
    with gzip.open(RECORDS, "rt") as lines:
        return [json.loads(line) for line in lines]


def call_of(row: dict[str, Any]) -> ReferenceCall:
    """The call of a record."""
    return ReferenceCall(*(row[field] for field in ReferenceCall._fields))


def main(build: str, cpu: str, library: str, *flags: str) -> int:
    """Measure all calls and record them."""
    parts = [(part, call) for part in CALLS for call in drawn(part)]
    rows = [{"part": part, **call._asdict()} for part, call in parts]
    recorded = records() if RECORDS.exists() else []
    before = {json.dumps({**row, "instructions": {}}): row["instructions"] for row in recorded}
    known = [before.get(json.dumps({**row, "instructions": {}}), {}) for row in rows]
    missing = {number: call for number, (_, call) in enumerate(parts) if build not in known[number]}
    try:
        results = measured(missing, board_named(cpu), str(Path(library).resolve()), list(flags)) if missing else {}
    except (OSError, subprocess.SubprocessError) as error:
        print(f"nothing was measured: {error}", file=sys.stderr)
        return 2
    for number, counts in results.items():
        known[number] = {**known[number], build: [min(counts), max(counts)]}
    lines = [json.dumps({**row, "instructions": known[number]}) for number, row in enumerate(rows) if known[number]]
    RECORDS.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
    failed = sorted({f"{rows[n]['op']} {rows[n]['elem_type']}" for n in missing if n not in results})
    print(f"{len(results)} of {len(missing)} calls ran; not all of {', '.join(failed) or 'none'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
