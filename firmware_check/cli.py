"""Command line: firmware_check MODEL... builds and runs firmware, and compares what it did with what was predicted."""

from __future__ import annotations

import argparse
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from firmware_check.ending import COULD_NOT, complain, in_one_line, say
from firmware_check.errors import FirmwareError
from firmware_check.options import CheckParser, boards_named, count, seconds
from onnxlint_cmsis.cmsis_nn.apis import FLOAT
from onnxlint_cmsis.ground.types import AS_ASKED, FloatCall

if TYPE_CHECKING:
    from firmware_check.session import CheckSession


STDOUT = "-"
AGREES, DISAGREES = 0, 1


def main(argv: list[str]) -> int:
    """Run the check; 0 agrees, 1 disagrees, 2 could not run."""
    return in_one_line("firmware_check", lambda: _main(argv))


def _main(argv: list[str]) -> int:
    if argv[:1] == ["sweep"]:
        from firmware_check import sweep

        return sweep.main(argv[1:])
    if argv[:1] == ["sources"]:
        from firmware_check.evidence.sources_command import main as sources

        return sources(argv[1:])
    if argv[:1] == ["hazards"]:
        from firmware_check.evidence.hazards_command import main as hazards

        return hazards(argv[1:])
    return _run(_parser().parse_args(argv))


def _parser() -> argparse.ArgumentParser:
    parser = CheckParser(prog="firmware_check", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("model", metavar="MODEL", help="ONNX model, quantized to int8 or float, .tflite model, .pte or .bpte program")
    add("--against", default="", metavar="MODEL", help="second model: its outputs must be the same")
    add("--strict", action="store_true", help="with --against: something got better, nothing got worse")
    add(
        "--target",
        action="append",
        metavar="CPU",
        help="CPUs: cortex-m4,cortex-m7. Default: cortex-m4.",
    )
    add("--cmsis-nn", default="", metavar="DIR", help="checkout of CMSIS-NN. Default: the 4.0.0 in bakenn.")
    add("--assume", default="", choices=FLOAT.types, help="layers of a float model stay f32 or f16")
    for name, choices, what in (
        ("weights", ("standard", "packed"), "form of the weights of f32 and f16"),
        ("scratch", ("given", "none"), "whether calls for f32 and f16 get their buffer"),
        ("contract", ("off", "fast"), "-ffp-contract for f32 and f16: whether one instruction multiplies and adds"),
        ("build", ("default", "no-specialization"), "build of CMSIS-NN for f32 and f16"),
    ):
        add(f"--float-{name}", default=choices[0], choices=choices, help=f"{what}. Default: {choices[0]}.")
    add("--per-layer", action="store_true", help="run every layer alone, on inputs from ONNX Runtime")
    add("--compiler", action="append", metavar="NAME", help="gcc or clang; both tell whose a defect is. Default: gcc.")
    add("--jobs", type=count, default=os.cpu_count() or 1, metavar="N", help="processes at a time. Default: all cores.")
    add("--bias", choices=("null", "zeros"), default="null", help="what a layer without bias gets. Default: null.")
    add("--lenient", action="store_true", help="read a bias of one axis whose scales name another axis")
    add("--input-shape", action="append", default=[], metavar="NAME=N,...", help="sizes of an input")
    add("--calibration", default="", metavar="DIR", help=".npy files to quantize a float model with")
    add("--seed", type=_seed, default=0, help="seed of random inputs and calibration data. Default: 0.")
    add("--runs", type=count, default=4, help="sets of inputs for a whole model. Default: 4.")
    add("--timeout", type=seconds, default=120.0, metavar="SECONDS", help="for one run of QEMU. Default: 120.")
    add("--trace", action="store_true", help="show every function that ran, callees under callers")
    for name, what in (("json", "JSON"), ("markdown", "Markdown"), ("sarif", "SARIF of the disagreements")):
        add(f"--{name}", default="", metavar="FILE", help=f"write {what} there; - for standard output")
    add("--sarif-category", default="", metavar="NAME", help="of the run in SARIF, where several are uploaded")
    add("--plot", default="", metavar="FILE.svg", help="draw instructions per layer, before and after")
    add("--keep", default="", metavar="DIR", help="keep the generated C, ELF and link map in DIR/MODEL-CPU")
    return parser


def _run(args: argparse.Namespace) -> int:
    from firmware_check.build import Bench
    from firmware_check.compilers import compiler_named
    from firmware_check.keep import Kept
    from firmware_check.library import open_library
    from firmware_check.opening import Options, Reading
    from firmware_check.session import CheckSession

    if args.strict and not args.against:
        raise FirmwareError("--strict compares two models; give the other one: --against MODEL")
    if args.plot == STDOUT:
        raise FirmwareError("--plot draws into a file, not on standard output; name one: --plot FILE.svg")
    boards = boards_named(args.target, ("cortex-m4",))
    paths = [path for path in (args.model, args.against) if path]
    rows = [compiler_named(name) for name in dict.fromkeys(args.compiler or ["gcc"])]
    library = open_library(args.cmsis_nn)
    built = {"specialized": args.float_build == "default", "fused": args.float_contract == "fast"}
    benches = [
        Bench(board, library, args.timeout, row, args.jobs, floating=args.assume, **built)
        for board in boards
        for row in rows
    ]
    if args.assume and not library.since(FLOAT.release):
        raise FirmwareError(
            f"{library.label} has no functions for {args.assume}; --cmsis-nn DIR names a checkout of "
            f"{FLOAT.release}, from commit 91f84c80 on"
        )
    kept = Kept.planned(args.keep, paths, benches) if args.keep else None
    reading = Reading(lenient=args.lenient, bias_of_zeros=args.bias == "zeros")
    given = FloatCall(packed=args.float_weights == "packed", scratch=0 if args.float_scratch == "none" else AS_ASKED)
    shapes = dict(map(_shape, args.input_shape))
    options = Options(shapes, args.calibration, args.seed, args.runs, reading, args.assume, given)
    with tempfile.TemporaryDirectory(prefix="firmware_check-") as folder:
        session = CheckSession(library, options, Path(folder), kept)
        session.run(paths, benches, args.per_layer, args.strict)
    if session.checks:
        _report(args, session)
    for failure in session.failures:
        complain(f"firmware_check: {failure}")
    if session.failures:
        return COULD_NOT
    return AGREES if session.agrees else DISAGREES


def _report(args: argparse.Namespace, session: CheckSession) -> None:
    """Print and write what was asked for."""
    if not any(path == STDOUT for path in (args.json, args.markdown, args.sarif)):
        say(session.text(args.trace))
    written = partial(session.sarif, args.sarif_category)
    for path, content in ((args.json, session.json), (args.markdown, session.markdown), (args.sarif, written)):
        if path:
            _write_report(path, content())
    if args.plot:
        session.plot(args.plot)


def _write_report(path: str, text: str) -> None:
    """Write a report; `-` is standard output."""
    from onnxlint_cmsis.ground.atomic_write import write_text

    if path == STDOUT:
        say(text)
        return
    try:
        write_text(path, text)
    except OSError as error:
        raise FirmwareError(f"{path}: {error.strerror}") from None


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)


def _shape(text: str) -> tuple[str, tuple[int | None, ...]]:
    name, equals, sizes = text.rpartition("=")
    if not equals or not all(size.strip().isdecimal() for size in sizes.split(",")):
        raise FirmwareError(f"--input-shape {text!r} is not NAME=N,...")
    return name, tuple(int(size) for size in sizes.split(","))
