"""Digest of all answers: what every command says of every model, as one hash per answer.

A rebuilding that changes no answer changes no line. `tests/test_digest.py` compares the digest with
`tests/golden/digest.txt`.

Usage: python scripts/digest.py [--update] [--show MODEL ANSWER]
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from onnxlint_cmsis.cli.main import main as onnxlint_cmsis

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
GOLDEN = ROOT / "tests" / "golden" / "digest.txt"
FOLDERS = ("models", "models/tflite", "cases/torch", "cases/small", "cases/device/models", "cases/tflite_types")
PLANNED = ("models", "models/tflite", "cases/small")
"""Folders whose small models are also planned for a fix, which runs them."""
SMALL = 40_000
"""Bytes of the largest of these."""


class Answer(NamedTuple):
    """One command about a model."""

    label: str
    """Name in the digest."""
    arguments: tuple[str, ...]
    """The command line without the model."""


def _answers() -> Iterator[Answer]:
    for runtime in ("direct", "tflm", "executorch", "tvm"):
        for cpu in ("cortex-m4", "cortex-m55"):
            yield Answer(f"lint {runtime} {cpu}", ("--runtime", runtime, "--target", cpu, "--output-format", "json"))
    for runtime in ("auto", "executorch"):
        options = ("--runtime", runtime, "--target", "cortex-m4,cortex-m55", "--output-format", "json")
        yield Answer(f"layers {runtime}", ("layers", *options))
        yield Answer(f"memory {runtime}", ("memory", *options))
    yield Answer("lint legacy", ("--api", "legacy", "--release", "cmsis5-5.9.0", "--output-format", "json"))
    yield Answer("diff", ("--diff", "--target", "cortex-m4", "--output-format", "json"))


ANSWERS = tuple(_answers())


def models() -> list[Path]:
    """Every model beside the project, by folder and name."""
    suffixes = (".onnx", ".tflite")
    return [path for folder in FOLDERS for path in sorted((SHARED / folder).glob("*")) if path.suffix in suffixes]


def name(model: Path) -> str:
    """What a model goes by in the digest."""
    return model.relative_to(SHARED).as_posix()


def said(model: Path, answer: Answer) -> str:
    """Exit code, standard output and standard error of a command about a model, without places of this machine."""
    out, err = io.StringIO(), io.StringIO()
    isolated = () if answer.arguments[0] in ("layers", "memory") else ("--isolated",)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = onnxlint_cmsis([*answer.arguments, *isolated, str(model)])
    return f"{code}\n{out.getvalue()}{err.getvalue()}".replace(str(SHARED), "shared")


def digest(model: Path, first: int = 0, every: int = 1) -> dict[str, str]:
    """The hash of each answer about a model, by label, or from one on of one answer of so many."""
    planned = name(model).rpartition("/")[0] in PLANNED and model.stat().st_size <= SMALL
    answers = [answer for answer in ANSWERS[first::every] if answer.label != "diff" or planned]
    return {answer.label: hashlib.sha256(said(model, answer).encode()).hexdigest()[:12] for answer in answers}


def main() -> None:
    """Print the digest, write it, or show one answer whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write tests/golden/digest.txt")
    parser.add_argument("--show", nargs=2, metavar=("MODEL", "ANSWER"), help="print one answer whole")
    args = parser.parse_args()
    if args.show:
        answer = next(answer for answer in ANSWERS if answer.label == args.show[1])
        sys.stdout.write(said(SHARED / args.show[0], answer))
        return
    lines = [f"{name(model)} {json.dumps(digest(model))}\n" for model in models()]
    if args.update:
        GOLDEN.write_text("".join(lines), encoding="utf-8")
    else:
        sys.stdout.writelines(lines)


if __name__ == "__main__":
    main()
