"""Holds functions for integers against their definition: random calls in QEMU, and what the linter says of each.

`python lab/sweep_calls.py CMSIS_NN [--target CPU] [--count N] [--seed N] [--entry NAME]` builds the library as
firmware_check does (gcc, -O3), draws N calls of each entry point (lab/random_calls.py), and runs them in one image. It
prints how many calls went wrong untold (no hazard), how many hazards were not seen, and an example of each.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from firmware_check.boards import Board
from firmware_check.build import Bench
from firmware_check.compilers import CompilerRow, compiler_named
from firmware_check.evidence.call_line import call_text
from firmware_check.library import Library, open_library
from firmware_check.options import board_named
from firmware_check.toolchain import Compiler, Processes, cache_folder, link, tool
from onnxlint_cmsis.cmsis_nn.library import Route, route
from random_calls import DRAWN, RandomCall, random_calls

LAB = Path(__file__).parent
HEAD = ("ended", "status", "first_asked", "second_asked", "scratch_damage", "output_damage", "low_damage")
"""What sweep_calls.c reports of a call, in front of its output."""
OPTIMISE = ("-O3", "-ffunction-sections", "-fdata-sections", "-std=gnu11")
SCRIPT = """MEMORY {{ FLASH (rwx) : ORIGIN = {flash}, LENGTH = 512K RAM (rwx) : ORIGIN = {ram}, LENGTH = 4M }}
ENTRY(start)
SECTIONS {{
 low_start = ORIGIN(FLASH);
 .text : {{ KEEP(*(.vectors)) . = 4096; *(.text*) *(.rodata*) *(.data*) }} > FLASH
 .ARM.exidx : {{ *(.ARM.exidx*) }} > FLASH
 .bss (NOLOAD) : {{ *(.bss*) *(COMMON) }} > RAM
 stack_top = ORIGIN(RAM) + LENGTH(RAM);
}}
"""
ENDED = {0: "", 1: "it faulted", 2: "it did not end", 3: "the emulator ended in it"}


class Done(NamedTuple):
    """What a call did on the device."""

    numbers: dict[str, int]
    """By the names in HEAD."""
    wrong: int
    """Values that are not as defined."""
    by: int
    """By how much at most."""

    def trouble(self) -> str:
        """What went wrong; empty where nothing did."""
        numbers = self.numbers
        said = [ENDED[numbers["ended"]], f"status {numbers['status']}" if numbers["status"] else ""]
        said += [f"{self.wrong} values wrong by up to {self.by}" if self.wrong else ""]
        said += [f"{numbers[name]} bytes of {name}" for name in HEAD[4:] if numbers[name]]
        return ", ".join(part for part in said if part)


def image_of(library: Library, board: Board, row: CompilerRow, folder: Path) -> Path:
    """The program that makes the calls."""
    processes = Processes()
    bench = Bench(board, library, compiler=row)
    text = (LAB / "sweep_calls.c").read_text()
    words = {word.strip("( ") for word in text.replace("(", " ").split() if word.startswith("arm_")}
    kernels = library.files_for({word for word in words if library.has(word)})
    chosen, own = (Compiler(compiler, bench.flags, library.includes, 2, processes) for compiler in bench.compilers)
    objects = chosen.compile_all([(path, OPTIMISE) for path in kernels], cache_folder())
    objects += own.compile_all([(LAB / "sweep_calls.c", ("-O1", *OPTIMISE[1:]))], folder)
    script, image = folder / "linked.ld", folder / "image.elf"
    script.write_text(SCRIPT.format(flash=board.flash.origin, ram=board.ram.origin))
    link(bench.flags, objects, script, image, processes)
    return image


def bytes_of(drawn: RandomCall, size: int) -> bytes:
    """A call as sweep_calls.c reads it; `size` is how many bytes its output has."""
    call, (base, axis) = drawn.call, (list(DRAWN).index(drawn.call.entry), "xyzw".find(drawn.axis or "x"))
    joined = list(DRAWN).index("concatenation_s8")
    front = 4 - len(call.permutation or range(4))  # a transpose takes its axes first
    images = [(*dims[front:], *dims[:front]) for dims in (call.input_dims, call.output_dims)]
    arrays = [*drawn.inputs, *(np.zeros(0, np.int8),) * (5 - len(drawn.inputs))]
    numbers = [
        base + axis + (3 if base > joined else 0), *images[0], *call.filter_dims, *images[1],
        *call.stride, *call.padding, *drawn.behind, *call.dilation, call.ch_mult, *drawn.zeros, *drawn.limits,
        int(bool(call.per_channel)), *drawn.more, *(0,) * (12 - len(drawn.more)),
        *(array.nbytes for array in arrays), size,
    ]  # fmt: skip
    return np.array(numbers, np.int32).tobytes() + b"".join(array.tobytes() for array in arrays)


def run(calls: list[RandomCall], board: Board, image: Path) -> list[Done]:
    """What the calls did; the emulator is started again behind a call that ended it."""
    sizes = [_output_bytes(call) for call in calls]
    done: list[Done] = []
    while len(done) < len(calls):
        left = calls[len(done) :]
        (image.parent / "calls.bin").write_bytes(
            b"".join(bytes_of(call, size) for call, size in zip(left, sizes[len(done) :], strict=True))
        )
        (image.parent / "done.bin").write_bytes(b"")
        command = [tool("qemu-system-arm"), "-M", board.machine, "-nographic", "-monitor", "none", "-serial", "none"]
        command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(image)]
        subprocess.run(
            command, cwd=image.parent, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=900
        )
        data = (image.parent / "done.bin").read_bytes()
        for call, size in zip(left, sizes[len(done) :], strict=True):
            whole = 4 * len(HEAD) + size
            if len(data) < whole:
                done.append(Done({**dict.fromkeys(HEAD, 0), "ended": 3}, 0, 0))
                break
            done.append(_held(call, data[:whole]))
            data = data[whole:]
    return done


def _output_bytes(call: RandomCall) -> int:
    numbers = int(np.prod([size or 1 for size in call.call.output_dims]))
    return numbers * (2 if call.call.types.endswith(("s16", "q15")) else 1)


def _held(call: RandomCall, data: bytes) -> Done:
    numbers = dict(zip(HEAD, np.frombuffer(data, np.int32, len(HEAD)).tolist(), strict=True))
    if call.expected is None or numbers["ended"] or numbers["status"]:
        return Done(numbers, 0, 0)
    output = np.frombuffer(data, call.expected.dtype, offset=4 * len(HEAD)).astype(np.int64)
    off = np.abs(output - call.expected.astype(np.int64))
    return Done(numbers, int((off > 0).sum()), int(off.max(initial=0)))


class Tally:
    """Counts of one entry point."""

    def __init__(self) -> None:
        self.calls = self.untold = self.told = self.sizes = self.undefined = self.blind = 0
        self.unseen: Counter[str] = Counter()
        self.examples: list[str] = []

    def add(self, drawn: RandomCall, taken: Route, done: Done) -> None:
        """One call, with what the linter and the device say."""
        self.calls += 1
        trouble, hazards = done.trouble(), [hazard.id for hazard in taken.hazards]
        asked = taken.buffer_size if taken.buffer_size is not None else -1
        self.sizes += asked >= 0 and asked != done.numbers["first_asked"]
        self.undefined += drawn.expected is None
        text = call_text(drawn.call)
        if trouble and not hazards:
            self.untold += 1
            self.examples.append(f"UNTOLD {text}: {trouble} ({' > '.join(taken.chain)})")
        elif trouble:
            self.told += 1
        elif hazards and drawn.blind:
            self.blind += 1
            return
        for name in hazards if not trouble else ():
            self.unseen[name] += 1
            self.examples.append(f"UNSEEN {name}: {text}")

    def text(self, examples: int) -> str:
        """The counts in a line, then some examples."""
        unseen = ", ".join(f"{name} {count}" for name, count in self.unseen.items())
        counts = (
            f"{self.calls} calls, {self.told} wrong and told, {self.untold} wrong untold; {self.sizes} sizes unlike; "
        )
        counts += f"{self.undefined} undefined, {self.blind} without input; unseen: {unseen or 'none'}"
        kinds = ([line for line in self.examples if line.startswith(kind)][:examples] for kind in ("UNTOLD", "UNSEEN"))
        return "\n  ".join([counts, *(line for lines in kinds for line in lines)])


def main(argv: list[str]) -> int:
    """Sweep; 1 where a call went wrong untold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="checkout of CMSIS-NN, 7.0.0 or main")
    parser.add_argument("--target", default="cortex-m4", help="CPU. Default: cortex-m4.")
    parser.add_argument("--compiler", default="gcc", help="gcc or clang. Default: gcc.")
    parser.add_argument("--count", type=int, default=100, help="calls of each entry point. Default: 100.")
    parser.add_argument("--seed", type=int, default=1, help="Default: 1.")
    parser.add_argument("--entry", action="append", choices=list(DRAWN), help="only this entry point")
    parser.add_argument("--examples", type=int, default=5, help="shown of each entry point. Default: 5.")
    args = parser.parse_args(argv)
    library, board = open_library(args.library), board_named(args.target)
    target = Bench(board, library, compiler=compiler_named(args.compiler)).target
    untold = 0
    with tempfile.TemporaryDirectory() as folder:
        image = image_of(library, board, compiler_named(args.compiler), Path(folder))
        for entry in args.entry or DRAWN:
            calls = random_calls(entry, args.count, args.seed)
            tally = Tally()
            for drawn, done in zip(calls, run(calls, board, image), strict=True):
                tally.add(drawn, route(drawn.call, target), done)
            sys.stdout.write(f"{library.release} {args.target} {entry}: {tally.text(args.examples)}\n")
            sys.stdout.flush()
            untold += tally.untold
    return int(untold > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
