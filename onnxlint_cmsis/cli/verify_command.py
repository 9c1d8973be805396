"""The command `verify`: whether two model files compute the same for every input, and which fact does not hold."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from onnxlint_cmsis.analysis.certificate.facts import Certificate
from onnxlint_cmsis.analysis.certificate.stating import certificate, untrue
from onnxlint_cmsis.analysis.certificate.unequal import reasons
from onnxlint_cmsis.analysis.certificate.verifying import approximated, faults_elsewhere, same_bytes, verify
from onnxlint_cmsis.cli.options import CommandParser
from onnxlint_cmsis.cli.output_options import add_form
from onnxlint_cmsis.cli.terminal import columns
from onnxlint_cmsis.cli.versions import Version, opened
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.formats.format import LoadedFile, array_in, format_of, is_image
from onnxlint_cmsis.formats.tflite.to_graph import LoadedTflite
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.files import MODEL, NotReadError, read_regular
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.model.model_error import ModelError
from onnxlint_cmsis.output.fix_json import plain_data
from onnxlint_cmsis.output.foreign_text import counted, json_text
from onnxlint_cmsis.output.wrapping import wrapped
from onnxlint_cmsis.runtimes.host.bounds import misread_bias, unsteady
from onnxlint_cmsis.runtimes.host.hosts import LITERT
from onnxlint_cmsis.runtimes.tflm.interpret import wrong_operators

DESCRIPTION = (
    "Tell whether two versions of a model compute the same for every input, in the integer arithmetic of the device "
    "(TensorFlow Lite's specification of quantized operators). Nothing is run, and nothing has to be known about how "
    "the file was changed. Float layers are equal where they and their operands are. A version is a file or a file of "
    "a git commit. A certificate, as --fix --certificate writes it, adds nothing to what is known: each of its facts "
    "is held against both files. Exit codes: 0 where every output is equal for every input, 1 where that is not known "
    "of one or a fact does not hold, 2 where a file cannot be read."
)


DEVICE, ANY, NO_DEVICE = "TensorFlow Lite Micro and CMSIS-NN", "any", "any but TensorFlow Lite Micro"
SPECIFIED = "TensorFlow Lite's specification"
"""Runtimes in which outputs are equal; the specification is what no runtime follows that is known."""
WHERE = {
    DEVICE: f" in {{}}{DEVICE}",
    NO_DEVICE: " in any runtime but TensorFlow Lite Micro",
    SPECIFIED: " as TensorFlow Lite specifies it",
}
"""The same behind a claim."""
STEP_OFF = "ONNX Runtime and LiteRT's optimized kernels round differently, and may be a step off"
LAST_BITS = (
    "runtimes may approximate {} by vectors, as ONNX Runtime does: there the last bits hang on an element's place"
)
VERSION = 1
"""Of files of certificates; grows when a fact is renamed, removed or changes its meaning."""


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("verify", DESCRIPTION)
    add = parser.judged.add_argument
    add("old", metavar="OLD", help="The version before: a file, or COMMIT:PATH of git.")
    add("new", metavar="NEW", help="The version after.")
    add("--certificate", metavar="FILE", default="", help="Hold the facts of this certificate against both files.")
    add("--isolated", action="store_true", help="Read no configuration file; none is read in any case.")
    add_form(parser)
    return parser


def run(argv: list[str]) -> int:
    """Print what is known of each output; 1 where one is not known to be equal, or a certificate does not hold."""
    args = make_parser().parse_args(argv)
    stated = _stated(args.certificate) if args.certificate else None
    with opened(args.old, args.new) as versions:
        (old, before), (new, after) = map(_loaded, versions)
        known = verify(old, new)
        own = certificate(known, before, after)
    plain = faults_elsewhere(known)
    sides = (new,) if same_bytes(old, new) else (new, old)
    misread = next(filter(None, (_misread(side.graph) for side in sides)), "")
    wrong = next(filter(None, map(_wrong, sides)), "")
    outputs = [
        {
            "name": name, "equal": not fault, "reason": fault or "",
            "runtimes": "" if fault else {
                (False, False): ANY, (True, False): DEVICE, (False, True): NO_DEVICE, (True, True): SPECIFIED,
            }[bool(elsewhere or misread), bool(wrong)],
        }
        for name, fault, elsewhere in zip(new.graph.outputs, reasons(known), plain, strict=False)
    ]  # fmt: skip
    fault = "" if stated is None or own is None else _fault(stated, own)
    rounded = any(elsewhere and not fault for fault, elsewhere in zip(known.faults, plain, strict=False))
    elsewhere = STEP_OFF if known.rounds else LAST_BITS.format(approximated(known))
    notes = [note for note in (elsewhere * rounded, misread, wrong) if note and not all(known.faults)]
    report = {"equal": known.equal, "outputs": outputs, "notes": notes, "certificate": plain_data(own), "fault": fault}
    told = json_text(report) if args.form == "json" else _text(report, given=stated is not None, rounds=known.rounds)
    sys.stdout.write(told)
    return 0 if known.equal and not fault else 1


def _loaded(version: Version) -> tuple[LoadedFile, bytes]:
    """A version and its bytes. Raises UsageError."""
    if is_image(version.path) and not array_in(version.path):
        raise UsageError(
            f"{version.name}: it is an image, and verify compares models: name one in it as {version.name}::NAME, or "
            f"write them out with `onnxlint-cmsis image {version.path} --extract DIR`"
        )
    try:
        loaded = format_of(version.file).load(version.file, version.data)
        return loaded, Path(version.file).read_bytes() if version.data is None else version.data
    except ModelError as error:
        raise UsageError(f"{version.name}: {error.message}") from None
    except OSError as error:
        raise UsageError(f"{version.name}: {error.strerror or error}") from None


def _misread(graph: Graph) -> str | None:
    """The first layer that LiteRT reads otherwise than the file says or makes anew in each run; None for none."""
    for node in graph.nodes:
        if unsteady(graph, node):
            return f"LiteRT's reference kernels sum the int16 of {node.label} otherwise in each run"
        if hosts := misread_bias(graph, node):
            kernels = "LiteRT reads" if LITERT in hosts else "LiteRT's reference kernels read"
            told = f"{kernels} the int32 bias of {node.label} as int64, past its end"
            return f"{told}: there its results differ, and may change from run to run"
    return None


def _wrong(loaded: LoadedFile) -> str | None:
    """The first layer that TensorFlow Lite Micro computes wrongly, as a sentence; None for none."""
    operators = wrong_operators(loaded.file, parse_target("cortex-m4")) if isinstance(loaded, LoadedTflite) else ()
    named = and_more([operator.label for operator in operators], 1)
    said = f"TensorFlow Lite Micro computes {named} wrongly, perhaps differently in each run"
    return f"{said}: {operators[0].reason}" if operators else None


def _stated(path: str) -> list[dict[str, Any]]:
    """The certificates of a file. Raises UsageError."""
    try:
        data = json.loads(read_regular(path, MODEL))
    except NotReadError as error:
        raise UsageError(f"{path}: it {error.strerror or error}") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: it is no JSON") from None
    stated = data.get("certificates") if isinstance(data, dict) and data.get("version") == VERSION else None
    if not isinstance(stated, list) or not all(isinstance(item, dict) for item in stated):
        raise UsageError(f"{path}: it is no file of certificates of version {VERSION}")
    return stated


def _fault(stated: list[dict[str, Any]], own: Certificate) -> str:
    """The fact that does not hold, as a clause; empty where all of them do."""
    for told in stated:
        if (told.get("old"), told.get("new")) == (own.old, own.new):
            return untrue({name: value for name, value in told.items() if name != "path"}, plain_data(own)) or ""
    return f"none of the {len(stated)} certificates is of these two files, by their SHA-256"


def _text(report: dict[str, Any], *, given: bool, rounds: bool) -> str:
    lines = []
    for output in report["outputs"]:
        told = "equal for every input" if output["equal"] else f"not known to be equal: {output['reason']}"
        where = WHERE.get(output["runtimes"], "").format("the integers of " if rounds else "")
        lines.append(f"output '{output['name']}': {told}{where}")
    lines += report["notes"]
    tensors = report["certificate"]["tensors"] if report["certificate"] else []
    if tensors:
        went = sum(len(tensor["gone"]) for tensor in tensors)
        came = sum(tensor["lanes"].count(None) for tensor in tensors)
        moves = [f"{counted(number, 'channel')} {verb}" for number, verb in ((went, "went"), (came, "came")) if number]
        told = f": {', '.join(moves)}" if moves else ""
        lines.append(f"{counted(len(tensors), 'tensor')} changed in channels or constants{told}")
    if given:
        told = f"does not hold: {report['fault']}" if report["fault"] else "holds"
        lines.append(f"the certificate {told if report['equal'] else 'does not count'}")
    return "".join(f"{wrapped(line, columns(), 4)}\n" for line in lines)
