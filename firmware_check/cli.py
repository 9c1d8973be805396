"""The command line: `python -m firmware_check MODEL [--against MODEL]`, `python -m firmware_check sweep`."""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from firmware_check.boards import BOARDS, Board
from firmware_check.ending import COULD_NOT, in_one_line
from firmware_check.errors import FirmwareError
from onnxlint_cmsis.cmsis_nn.releases import parse_target
from onnxlint_cmsis.reporters.plain import printable

if TYPE_CHECKING:
    from firmware_check.session import Session

STDOUT = "-"
AGREES, DISAGREES = 0, 1


def main(argv: list[str]) -> int:
    """Run the check; 0 agrees, 1 disagrees, 2 could not run."""
    return in_one_line("firmware_check", lambda: _main(argv))


def _main(argv: list[str]) -> int:
    if argv[:1] == ["sweep"]:
        from firmware_check import sweep

        return sweep.main(argv[1:])
    return _run(_parser().parse_args(argv))


class Parser(argparse.ArgumentParser):
    """A parser that reports what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise FirmwareError instead of printing the usage."""
        raise FirmwareError(message)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="firmware_check", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("model", metavar="MODEL", help="ONNX model, quantized to int8 or float")
    add("--against", default="", metavar="MODEL", help="second model: its outputs must be the same")
    add("--strict", action="store_true", help="with --against: something got better, nothing got worse")
    add("--target", action="append", metavar="CPU", help="CPU, several times for several. Default: cortex-m4.")
    add("--cmsis-nn", default="", metavar="DIR", help="checkout of CMSIS-NN. Default: the 4.0.0 in bakenn.")
    add("--per-layer", action="store_true", help="run every layer alone, on inputs from ONNX Runtime")
    add("--input-shape", action="append", default=[], metavar="NAME=N,...", help="sizes of an input")
    add("--calibration", default="", metavar="DIR", help=".npy files to quantize a float model with")
    add("--seed", type=_seed, default=0, help="seed of random inputs and calibration data. Default: 0.")
    add("--runs", type=count, default=4, help="sets of inputs for a whole model. Default: 4.")
    add("--timeout", type=seconds, default=120.0, metavar="SECONDS", help="for one run of QEMU. Default: 120.")
    add("--trace", action="store_true", help="show every function that ran, callees under callers")
    for name, what in (("json", "JSON"), ("markdown", "Markdown"), ("sarif", "SARIF of what disagrees")):
        add(f"--{name}", default="", metavar="FILE", help=f"write {what} there; - for standard output")
    add("--sarif-category", default="", metavar="NAME", help="of the run in SARIF, where several are uploaded")
    add("--plot", default="", metavar="FILE.svg", help="draw instructions per layer, before and after")
    add("--keep", default="", metavar="DIR", help="keep the generated C, ELF and link map in DIR/MODEL-CPU")
    return parser


def _run(args: argparse.Namespace) -> int:
    from firmware_check.keep import Kept
    from firmware_check.library import open_library
    from firmware_check.opening import Options
    from firmware_check.session import Session

    if args.strict and not args.against:
        raise FirmwareError("--strict compares two models; give the other one: --against MODEL")
    if args.plot == STDOUT:
        raise FirmwareError("--plot draws into a file, not on standard output; name one: --plot FILE.svg")
    boards = list(dict.fromkeys(board_named(name) for name in args.target or ["cortex-m4"]))
    paths = [path for path in (args.model, args.against) if path]
    kept = Kept.planned(args.keep, paths, boards) if args.keep else None
    library = open_library(args.cmsis_nn)
    options = Options(dict(map(_shape, args.input_shape)), args.calibration, args.seed, args.runs)
    with tempfile.TemporaryDirectory(prefix="firmware_check-") as folder:
        session = Session(library, options, Path(folder), args.timeout, kept)
        session.run(paths, boards, args.per_layer, args.strict)
    if session.checks:
        _report(args, session)
    for failure in session.failures:
        print(f"firmware_check: {printable(str(failure))}", file=sys.stderr)
    if session.failures:
        return COULD_NOT
    return AGREES if session.agrees else DISAGREES


def _report(args: argparse.Namespace, session: Session) -> None:
    """Print and write what was asked for."""
    if not any(path == STDOUT for path in (args.json, args.markdown, args.sarif)):
        print(session.text(args.trace), end="")
    written = partial(session.sarif, args.sarif_category)
    for path, content in ((args.json, session.json), (args.markdown, session.markdown), (args.sarif, written)):
        if path:
            _write(path, content())
    if args.plot:
        session.plot(args.plot)


def _write(path: str, text: str) -> None:
    """Write a report; `-` is standard output."""
    from onnxlint_cmsis.atomic import write_text

    if path == STDOUT:
        sys.stdout.write(text)
        return
    try:
        write_text(path, text)
    except OSError as error:
        raise FirmwareError(f"{path}: {error.strerror}") from None


def board_named(name: str) -> Board:
    """The board for a CPU as the user names it; FirmwareError where QEMU has none."""
    try:
        cpu = parse_target(name).cpu
    except ValueError as error:
        raise FirmwareError(str(error)) from None
    for board in BOARDS:
        if board.cpu == cpu:
            return board
    raise FirmwareError(f"QEMU has no board for {cpu} here; allowed: {', '.join(board.cpu for board in BOARDS)}")


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)


def count(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def seconds(text: str) -> float:
    """A number of seconds above 0."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return found


def _shape(text: str) -> tuple[str, tuple[int | None, ...]]:
    name, equals, sizes = text.rpartition("=")
    if not equals or not all(size.strip().isdecimal() for size in sizes.split(",")):
        raise FirmwareError(f"--input-shape {text!r} is not NAME=N,...")
    return name, tuple(int(size) for size in sizes.split(","))
