"""What the TensorFlow Lite Micro of PyPI does with files, in processes that may die."""

from __future__ import annotations

import sys
from pathlib import Path

from support.forked import python

ARENA = 1 << 20


def outcomes(files: list[Path]) -> list[str]:
    """`runs`, `allocate_fails`, `invoke_fails` or `aborts` for every file, with what was printed behind a space."""
    told: list[str] = []
    while len(told) < len(files):
        rest = files[len(told) :]
        done = python([__file__, *map(str, rest)], ".", patience=600)
        lines = done.stdout.decode().splitlines()
        printed = done.stderr.decode(errors="replace").split("\n>>\n")[1:]
        told += [f"{line} {' '.join(text.split())}" for line, text in zip(lines, printed, strict=False)]
        if len(lines) < len(rest):
            told.append(f"aborts {' '.join(printed[len(lines)].split()) if len(printed) > len(lines) else ''}")
    return told


def _outcome(path: str) -> str:
    import numpy as np
    from tflite_micro import runtime

    try:
        interpreter = runtime.Interpreter.from_bytes(Path(path).read_bytes(), arena_size=ARENA)
    except RuntimeError:
        return "allocate_fails"
    try:
        for number in range(_inputs(path)):
            details = interpreter.get_input_details(number)
            interpreter.set_input(np.ones(details["shape"], details["dtype"]), number)
    except (RuntimeError, ValueError, TypeError, KeyError):
        pass
    try:
        interpreter.invoke()
    except RuntimeError:
        return "invoke_fails"
    return "runs"


def _inputs(path: str) -> int:
    from onnxlint_cmsis.formats.tflite.read import read_tflite

    return len(read_tflite(path).subgraphs[0].inputs)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print("\n>>\n", end="", file=sys.stderr, flush=True)
        print(_outcome(name), flush=True)
