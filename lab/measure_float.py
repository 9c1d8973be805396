"""Counts the instructions of functions for f32 and f16 under QEMU, for lab/fit_float.py.

`python lab/measure_float.py CMSIS_NN BUILD...` builds the library as the vectors were (gcc 12.2, -O3 -std=c99 and
SECTIONS) and calls it for the shapes that lab/float_calls.py draws. A build is a CPU, or `cortex-m4-fused` for
-ffp-contract=fast. A plugin of QEMU counts each instruction outside of the caller. Whoever changes what is drawn
measures all builds again.
gcc 12.2 does not link code for MVE: two macros are typed by an include.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from float_calls import SEEDS, MeasuredCall, calls
from onnxlint_cmsis.cmsis_nn.cost_records import FUSED
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.types import AS_ASKED, Dims, FloatCall

LAB = Path(__file__).parent
MEASURED = LAB.parent / "tests" / "data"
RELEASE = "main"
PART = 2000
"""Calls of one program: what fits into the flash of the emulated boards."""


class Board(NamedTuple):
    """An emulated board."""

    machine: str
    """QEMU's name."""
    flags: tuple[str, ...]
    """Flags of gcc."""
    flash: int
    """Where the program starts."""
    ram: int
    """Where its memory starts."""


_SOFT = ("-mfloat-abi=soft", "-mfp16-format=ieee")
_HALF = ("-mfloat-abi=hard", "-mfp16-format=ieee")
BOARDS = {
    "cortex-m0": Board("mps2-an385", ("-mcpu=cortex-m0", *_SOFT), 0, 0x21000000),  # a Cortex-M3 runs its code
    "cortex-m3": Board("mps2-an385", ("-mcpu=cortex-m3", *_SOFT), 0, 0x21000000),
    "cortex-m23": Board("mps2-an505", ("-mcpu=cortex-m23", *_SOFT), 0x10000000, 0x80000000),  # a Cortex-M33 runs it
    "cortex-m4": Board("mps2-an386", ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", *_HALF), 0, 0x21000000),
    "cortex-m7": Board("mps2-an500", ("-mcpu=cortex-m7", "-mfpu=fpv5-d16", *_HALF), 0, 0x60000000),
    "cortex-m33": Board("mps2-an505", ("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", *_HALF), 0x10000000, 0x80000000),
    "cortex-m55": Board("mps3-an547", ("-mcpu=cortex-m55", "-mfloat-abi=hard"), 0, 0x70000000),
}
DATA = {"": 0, "near": 1, "below": 2, "above": 3, "small": 4, "zero": 5, "positive": 7}
"""Data of a call: random between -2 and 2; all the same; far below one another; far above 0; near 0; an input of zeros;
an input whose numbers below 0 are zeros."""
TWO_INPUTS = ("elementwise_add", "elementwise_mul", "maximum", "minimum")
"""Entry points of two inputs that are both zeros."""
FUNCTIONS = (
    "convolve", "depthwise", "transpose_conv", "fully_connected", "batch_matmul", "max_pool", "avgpool",
    "elementwise_add", "elementwise_mul", "softmax", "activation", "batch_norm", "maximum", "minimum", "pad",
    "transpose", "lstm_unidirectional", "concatenation", "reshape", "svdf", "convolve_1x1", "convolve_1_x_n",
)  # fmt: skip
"""Entry points by the number that measure_float.c gives them."""


def _in_c(measured: MeasuredCall, cpu: str) -> str:
    call, floating = measured.call, measured.call.floating or FloatCall()
    target = parse_target(cpu, RELEASE)
    entry = call.entry.rpartition("_")[0]
    scratch = max(route(call, target).buffer_size or 0, 0) if floating.scratch == AS_ASKED else floating.scratch
    image, filters, result = call.input_dims, call.filter_dims, call.output_dims
    if entry == "pad":
        filters = Dims(*call.pad_front)
        sums = zip(result, image, filters, strict=True)
        result = Dims(*((out or 0) - (own or 0) - (front or 0) for out, own, front in sums))
    if entry == "transpose":
        filters = Dims(*call.permutation, *range(len(call.permutation), 4))
    groups = (image, filters, result, call.stride, call.padding, call.dilation)
    numbers = [f"{{{', '.join(map(str, group))}}}" for group in groups]
    flags = (floating.packed or call.time_major, call.bias, floating.clamped, floating.adj_x, floating.adj_y)
    data = DATA[measured.data] + (measured.data == "zero" and entry in TWO_INPUTS)
    head = (FUNCTIONS.index(entry), int(call.types == "f16"), data)
    rest = (call.ch_mult or len(call.permutation), *map(int, flags), floating.activation, scratch)
    return f"{{{', '.join(map(str, (*head, *numbers, *rest)))}}},\n"


def _file_of(build: str) -> Path:
    return MEASURED / f"cost_float_{build}.json.gz"


def measured_numbers(build: str, part: str) -> list[int]:
    """Instructions of each call of a part, as the file of a build has them: a CPU, with or without FUSED."""
    numbers: list[int] = json.loads(gzip.decompress(_file_of(build).read_bytes()))[part]
    return numbers


TYPED = """#include <arm_mve.h>
#undef vaddq
#define vaddq(a, b) _Generic((a), \\
    float32x4_t: _Generic((b), float32x4_t: __arm_vaddq_f32, default: __arm_vaddq_n_f32), \\
    float16x8_t: _Generic((b), float16x8_t: __arm_vaddq_f16, default: __arm_vaddq_n_f16), \\
    int32x4_t: _Generic((b), int32x4_t: __arm_vaddq_s32, default: __arm_vaddq_n_s32), \\
    int16x8_t: _Generic((b), int16x8_t: __arm_vaddq_s16, default: __arm_vaddq_n_s16), \\
    uint32x4_t: _Generic((b), uint32x4_t: __arm_vaddq_u32, default: __arm_vaddq_n_u32), \\
    uint16x8_t: _Generic((b), uint16x8_t: __arm_vaddq_u16, default: __arm_vaddq_n_u16))(a, b)
#undef vcmpltq
#define vcmpltq(a, b) _Generic((a), \\
    float32x4_t: _Generic((b), float32x4_t: __arm_vcmpltq_f32, default: __arm_vcmpltq_n_f32), \\
    float16x8_t: _Generic((b), float16x8_t: __arm_vcmpltq_f16, default: __arm_vcmpltq_n_f16), \\
    int32x4_t: _Generic((b), int32x4_t: __arm_vcmpltq_s32, default: __arm_vcmpltq_n_s32), \\
    int16x8_t: _Generic((b), int16x8_t: __arm_vcmpltq_s16, default: __arm_vcmpltq_n_s16))(a, b)
"""
LINKED = """MEMORY {{ FLASH (rx) : ORIGIN = {flash}, LENGTH = 512K RAM (rwx) : ORIGIN = {ram}, LENGTH = 4M }}
ENTRY(start)
SECTIONS {{
 .text : {{ KEEP(*(.vectors)) caller_begin = .; *measure_float.o(.text*) caller_end = .;
           *(.text*) *(.rodata*) *(.data*) }} > FLASH
 .ARM.exidx : {{ *(.ARM.exidx*) }} > FLASH
 .bss (NOLOAD) : {{ *(.bss*) *(COMMON) }} > RAM
 stack_top = ORIGIN(RAM) + LENGTH(RAM);
}}
"""
SECTIONS = ("-ffunction-sections", "-fdata-sections")
"""As CMSIS-NN's vectors were built; without them code for f16 takes up to 6 instructions less for each channel."""
SWITCHES = ("-DARM_NN_ENABLE_F32=1", "-DARM_NN_ENABLE_F16=1")


def instructions_of(library: Path, build: str, measured: list[MeasuredCall], folder: Path) -> Iterator[int]:
    """Instructions of each call. Compiles what `folder` lacks."""
    cpu, folder = build.removesuffix(FUSED), folder / build
    board = BOARDS[cpu]
    folder.mkdir(exist_ok=True)
    flags = [*board.flags, "-mthumb", "-w", *SWITCHES, f"-I{library / 'Include'}", f"-I{folder}"]
    (folder / "typed.h").write_text(TYPED)
    (folder / "linked.ld").write_text(LINKED.format(flash=board.flash, ram=board.ram))
    flags += ["-include", "typed.h"] * (cpu == "cortex-m55")
    sources = [path for end in ("f32", "f16", "flt") for path in sorted(library.glob(f"Source/*/*_{end}.c"))]
    contracted = ["-ffp-contract=fast"] * (cpu != build)
    compiled = ("arm-none-eabi-gcc", "-O3", "-std=c99", *contracted, *SECTIONS, *flags, "-c")
    for source in sources:
        assembly = folder / f"{source.stem}.s"
        if not assembly.exists():
            _run(*compiled[:-1], "-S", source, "-o", assembly)
            assembly.write_text(_encoded(assembly.read_text()))
            _run("arm-none-eabi-gcc", *board.flags, "-mthumb", "-c", assembly, "-o", assembly.with_suffix(".o"))
    _run("gcc", "-O2", "-shared", "-fPIC", LAB / "count_instructions.c", "-o", folder / "count.so")
    for begin in range(0, len(measured), PART):
        rows = [_in_c(asked, cpu) for asked in measured[begin : begin + PART]]
        (folder / "rows.h").write_text(f"static const row ROWS[] = {{\n{''.join(rows)}}};\n")
        object_file = folder / "measure_float.o"
        _run("arm-none-eabi-gcc", "-O1", "-std=gnu11", *flags, "-c", LAB / "measure_float.c", "-o", object_file)
        image = folder / "image.elf"
        objects = [*(folder / f"{source.stem}.o" for source in sources), object_file]
        _run("arm-none-eabi-gcc", *flags, "-nostartfiles", "-T", folder / "linked.ld", *objects, "-lm", "-o", image)
        symbols = {line.split()[-1]: line.split()[0] for line in _run("arm-none-eabi-nm", image).splitlines()}
        counts = folder / "counts.txt"
        plugin = f"{folder / 'count.so'},mark={symbols['mark']},begin={symbols['caller_begin']}"
        plugin += f",end={symbols['caller_end']},out={counts}"
        options = ("-nographic", "-semihosting-config", "enable=on,target=native", "-plugin", plugin)
        _run("qemu-system-arm", "-M", board.machine, *options, "-kernel", image)
        yield from map(int, counts.read_text().split()[1::2])


CONVERSION = re.compile(r"\bvcvt([bt])\.f(16|32)\.f(?:16|32)\s+q(\d), q(\d)")


def _encoded(assembly: str) -> str:
    """Conversions between vectors of f16 and f32 as numbers: gas 2.40 names other registers, and the code stops."""

    def number(part: re.Match[str]) -> str:
        head = (0xEE3F0E01 if part[2] == "16" else 0xFE3F0E01) | (part[1] == "t") << 12
        return f".inst.w {head | int(part[3]) << 13 | int(part[4]) << 1:#x}"

    return CONVERSION.sub(number, assembly)


def _run(*command: object) -> str:
    done = subprocess.run(list(map(str, command)), check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return done.stdout.decode()


def main(argv: list[str]) -> None:
    """Measure the builds given, and write a file for each."""
    library, *builds = argv
    with tempfile.TemporaryDirectory() as folder:
        for name in builds:
            parts = {
                part: list(instructions_of(Path(library), name, calls(part, name), Path(folder))) for part in SEEDS
            }
            _file_of(name).write_bytes(gzip.compress(json.dumps(parts, separators=(",", ":")).encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1:])
