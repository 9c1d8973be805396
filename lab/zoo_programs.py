"""Holds verdicts against runs: ExecuTorch programs of one operator in ExecuTorch's own C++ under QEMU.

`python lab/zoo_programs.py FOLDER CPU LIBRARY FLAG...` runs each program that lab/draw_programs.py wrote to FOLDER, on
a board of CPU. LIBRARY is an archive of ExecuTorch's runtime with its portable kernels and those of
backends/cortex_m/ops, as the tree's own CMake builds them; what registers the kernels goes into FLAGs behind
-Wl,--whole-archive, and so do the flags that chose the CPU, `-I` and `-D`. It prints each program whose run contradicts
its verdict, each whose values differ from PyTorch's untold, and how often each pair came. Returns 1 for a
contradiction: told to run and did not, or told to stop and ran.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from firmware_check.boards import Board
from firmware_check.options import board_named
from measure_tflm_reference import image_of
from onnxlint_cmsis import lint

PROGRAM = Path(__file__).with_suffix(".cc")
AT_ONCE, SECONDS = 12, 300
"""Programs in one run of the firmware, and the longest time for it."""
RELATIVE, ABSOLUTE = 1e-5, 1e-6
"""By how much floats may differ from PyTorch's."""


class Run(NamedTuple):
    """What became of a program on the device."""

    ended: str
    """`runs`, the stage that refused it (`load_method`, `execute`), or `faults`."""
    order: tuple[int, ...] = ()
    """Axes of its result from the slowest to the fastest."""
    values: bytes = b""
    """Its result as it lies in memory."""


def packed(programs: list[Path]) -> bytes:
    """The file that zoo_programs.cc reads."""

    def piece(content: bytes) -> bytes:
        return struct.pack("<I", len(content)).ljust(16, b"\0") + content + bytes(-len(content) % 16)

    parts = [struct.pack("<I", len(programs)).ljust(16, b"\0")]
    for program in programs:
        inputs = [bytes.fromhex(digits) for digits in told_of(program)["inputs"]]
        parts += [piece(program.read_bytes()), struct.pack("<I", len(inputs)).ljust(16, b"\0"), *map(piece, inputs)]
    return b"".join(parts)


def told_of(program: Path) -> dict[str, Any]:
    """What lab/draw_programs.py wrote beside a program."""
    told: dict[str, Any] = json.loads(program.with_suffix(".json").read_text())
    return told


def runs_of(programs: list[Path], image: Path, board: Board) -> dict[Path, Run]:
    """What became of each program; the firmware starts again behind one that ends it."""
    command = ["qemu-system-arm", "-M", board.machine, "-semihosting", "-nographic", "-monitor", "none", "-kernel"]
    runs: dict[Path, Run] = {}
    while len(runs) < len(programs):
        part = programs[len(runs) : len(runs) + AT_ONCE]
        (image.parent / "programs").write_bytes(packed(part))
        try:
            done = subprocess.run(
                [*command, str(image)], cwd=image.parent, timeout=SECONDS, capture_output=True, check=False
            )
            text = done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            text = (late.stdout or b"").decode(errors="replace")
        blocks = text.split("program ")[1:]
        runs |= {program: _run(block) for program, block in zip(part, blocks, strict=False)}
        if not blocks:
            runs[part[0]] = Run("faults")
    return runs


def _run(text: str) -> Run:
    """What the firmware printed of a program."""
    words = dict(line.partition(" ")[::2] for line in text.splitlines() if " " in line)
    order, values = tuple(map(int, words.get("order", "").strip())), bytes.fromhex(words.get("values", "").strip())
    return Run(words.get("ended", "faults").strip(), order, values)


def difference(program: Path, run: Run) -> str:
    """How the device's values differ from PyTorch's; empty where they do not."""
    told = told_of(program)
    kind = np.dtype(told["type"])
    expected = np.frombuffer(bytes.fromhex(told["values"]), kind)
    ours = np.frombuffer(run.values[: len(run.values) // kind.itemsize * kind.itemsize], kind)
    if ours.size != expected.size:
        return f"{ours.size} values for {expected.size}"
    theirs, device = _logical(expected, told["order"], told["sizes"]), _logical(ours, run.order, told["sizes"])
    if kind.kind == "f":
        close = np.isclose(device, theirs, RELATIVE, ABSOLUTE, equal_nan=True)
        return "" if close.all() else f"{(~close).sum()} of {close.size} values differ"
    apart = abs(device.astype(np.float64) - theirs)
    return f"{(apart > 0).sum()} of {apart.size} values differ, by up to {apart.max():g}" if apart.any() else ""


def _logical(flat: npt.NDArray[Any], order: list[int] | tuple[int, ...], sizes: list[int]) -> npt.NDArray[Any]:
    """Values in the order of their sizes."""
    if not order:
        return flat
    logical: npt.NDArray[Any] = flat.reshape([sizes[axis] for axis in order]).transpose(np.argsort(order))
    return logical.reshape(-1)


def main(folder: str, cpu: str, library: str, *flags: str) -> int:
    """Print contradictions and figures; 1 where a run contradicts a verdict."""
    programs, board = sorted(Path(folder).glob("*.pte")), board_named(cpu)
    figures: Counter[str] = Counter()
    contradictions = 0
    with tempfile.TemporaryDirectory() as name:
        try:
            image = image_of(PROGRAM, Path(name), board, str(Path(library).resolve()), list(flags))
            runs = runs_of(programs, image, board)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"nothing was run: {error}", file=sys.stderr)
            return 2
    for program, run in runs.items():
        result = lint(program, targets=[cpu])
        verdict = result.verdicts[0].word
        stops, differs = verdict == "STOPS", difference(program, run) if run.ended == "runs" else ""
        runs_on, told_wrong = run.ended == "runs", verdict == "WRONG RESULTS"
        open_verdict = verdict in ("UNKNOWN", "MAY FAIL", "NO KERNEL") or told_wrong
        contradiction = (stops and runs_on) or (not stops and not open_verdict and not runs_on)
        contradictions += contradiction
        figures[f"told {verdict}, {run.ended}{', values differ' if differs else ''}"] += 1
        if contradiction or (differs and not open_verdict):
            print(f"{program.name}: told {verdict}, {run.ended} {differs}".rstrip(), flush=True)
    for text, number in sorted(figures.items()):
        print(number, text)
    print(f"{len(runs)} programs on {cpu}, {contradictions} contradictions", file=sys.stderr)
    return int(contradictions > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
