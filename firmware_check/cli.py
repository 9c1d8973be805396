"""The command line: `python -m firmware_check MODEL [--against MODEL]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from firmware_check.boards import BOARDS, Board
from firmware_check.errors import FirmwareError
from onnxlint_cmsis.cmsis_nn.releases import parse_target

AGREES, DISAGREES, COULD_NOT = 0, 1, 2


def main(argv: list[str]) -> int:
    """Run the check; 0 agrees, 1 disagrees, 2 could not run."""
    try:
        return _run(_parser().parse_args(argv))
    except FirmwareError as error:
        print(f"firmware_check: {error}", file=sys.stderr)
        return COULD_NOT
    except KeyboardInterrupt:
        print("firmware_check: interrupted", file=sys.stderr)
        return COULD_NOT


class _Parser(argparse.ArgumentParser):
    """A parser that reports what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise FirmwareError instead of printing the usage."""
        raise FirmwareError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="firmware_check", description=__doc__, allow_abbrev=False)
    parser.add_argument("model", metavar="MODEL", help="ONNX model, quantized to int8 or float")
    parser.add_argument(
        "--target", action="append", metavar="CPU", help="CPU, several times for several. Default: cortex-m4."
    )
    parser.add_argument(
        "--cmsis-nn", default="", metavar="DIR", help="checkout of CMSIS-NN. Default: the 4.0.0 in bakenn."
    )
    parser.add_argument("--per-layer", action="store_true", help="run every layer alone, on inputs from ONNX Runtime")
    parser.add_argument("--input-shape", action="append", default=[], metavar="NAME=N,...", help="sizes of an input")
    parser.add_argument("--calibration", default="", metavar="DIR", help=".npy files to quantize a float model with")
    parser.add_argument("--seed", type=int, default=0, help="seed of random inputs. Default: 0.")
    parser.add_argument(
        "--timeout", type=float, default=120.0, metavar="SECONDS", help="for one run of QEMU. Default: 120."
    )
    parser.add_argument("--trace", action="store_true", help="show every function that ran, callees under callers")
    return parser


def _run(args: argparse.Namespace) -> int:
    from firmware_check.check import Options, check, inputs_of, open_model
    from firmware_check.library import open_library
    from firmware_check.reports import text

    boards = [_board(name) for name in args.target or ["cortex-m4"]]
    library = open_library(args.cmsis_nn)
    options = Options(dict(map(_shape, args.input_shape)), args.calibration, args.seed, args.per_layer, args.timeout)
    agrees = True
    with tempfile.TemporaryDirectory(prefix="firmware_check-") as folder:
        model = open_model(args.model, library, options, Path(folder))
        inputs = inputs_of(model, args.seed)
        for board in boards:
            place = Path(folder) / board.cpu
            place.mkdir()
            found = check(model, board, library, inputs, place, options)
            print(text.report(found))
            if args.trace:
                print("\n".join(text.tree(layer) for layer in found.layers))
            agrees = agrees and found.agrees
    return AGREES if agrees else DISAGREES


def _board(name: str) -> Board:
    try:
        cpu = parse_target(name).cpu
    except ValueError as error:
        raise FirmwareError(str(error)) from None
    for board in BOARDS:
        if board.cpu == cpu:
            return board
    raise FirmwareError(f"QEMU has no board for {cpu} here; allowed: {', '.join(board.cpu for board in BOARDS)}")


def _shape(text: str) -> tuple[str, tuple[int | None, ...]]:
    name, equals, sizes = text.rpartition("=")
    if not equals or not all(size.strip().isdecimal() for size in sizes.split(",")):
        raise FirmwareError(f"--input-shape {text!r} is not NAME=N,...")
    return name, tuple(int(size) for size in sizes.split(","))
