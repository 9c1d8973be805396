"""`onnxlint-cmsis memory FILE`: the arena that a model takes, part by part."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.options import (
    STDIN,
    CommandParser,
    add_keys,
    beside_names,
    columns,
    configuration,
    standard_input,
)
from onnxlint_cmsis.formats.suffixes import TFLITE, is_tflite_path
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.output.plain import TableFit, fitted, json_text, wrapped
from onnxlint_cmsis.runtimes.runtime import AUTO, TFLM, runtime_notes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.settings import Settings


DESCRIPTION = (
    "Show how many bytes of arena a model takes. Of a .tflite file it is that of TensorFlow Lite Micro, to the byte: "
    "head (planned activations and scratch), tail (what stays), and the plan with each buffer's life in operator steps "
    "and its offset, for gcc and the ARM EABI, and an arena whose start and size are multiples of 16. Of an ONNX model "
    "it is that of the plan which the firmware check builds, with scratch beside it; for a runtime a lower bound."
)
VERSION = 1
KEYS = ("targets", "release", "api", "runtime", "compiler", "assume", "one-channel", "input-shapes", "cmsis-nn-build")
STDIN_NAME = f"stdin{TFLITE}"


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("memory", DESCRIPTION)
    text = "model file, - for a .tflite model from standard input"
    parser.add_argument("files", nargs="+", metavar="FILE", help=text)
    parser.add_argument("--output-format", dest="form", choices=("text", "json"), default="text", help="Default: text.")
    parser.add_argument("--full-names", action="store_true", help="show names as they stand in the file")
    add_keys(parser, KEYS)
    return parser


def run(argv: list[str]) -> int:
    """Print the arena of a model on every target; 1 where a target has none."""
    from onnxlint_cmsis.analysis.coverage import layer_names
    from onnxlint_cmsis.output.memory import memory_reports

    args = make_parser().parse_args(argv)
    configured, shown, texts = configuration(args), [], []
    for file in args.files:
        name = STDIN_NAME if file == STDIN else file
        settings = configured.settings_for(name)
        if is_tflite_path(name):
            _check_runtime(str(settings.raw["runtime"]))
        model = _model(file, name, settings)
        reports = memory_reports(model)
        head = {"version": VERSION, "path": file, "runtime": settings.runtime.label}
        shown.append({**head, "cmsis_nn_build": settings.cmsis_nn_build, "targets": reports})
        if args.form == "text":
            headline = wrapped(_headline(settings), columns())
            names = {} if args.full_names else layer_names(model).names
            blocks = "\n".join(_text(report, names) for report in reports)
            texts.append((file, f"{headline}\n\n{blocks}"))
    sys.stdout.write(beside_names(texts) if texts else json_text(shown if len(shown) > 1 else shown[0]))
    return 0 if all("arena_used" in report for each in shown for report in each["targets"]) else 1


def _headline(settings: Settings) -> str:
    runtime = settings.runtime
    if not runtime.judges:
        return "Activations as the firmware check lays them out; scratch lies beside them"
    build = f" Its kernels are built for {settings.cmsis_nn_build}." if runtime.name == TFLM else ""
    return f"{runtime_notes(runtime)[0]}{build}"


def _check_runtime(text: str) -> None:
    """Raise UsageError for a runtime that does not read .tflite files."""
    if text.partition("@")[0] not in (AUTO, TFLM):
        raise UsageError(f"--runtime: memory of {TFLITE} files is worked out for tflm, not for {text}")


def _model(file: str, name: str, settings: Settings) -> ModelAnalysis:
    from onnxlint_cmsis.analysis.open_model import open_model
    from onnxlint_cmsis.model.graph import ModelError

    try:
        return open_model(name, settings.analysis, standard_input() if file == STDIN else None)
    except ModelError as error:
        raise UsageError(f"{file}: {error.message}") from None


def _text(report: dict[str, object], names: Mapping[str, str]) -> str:
    from onnxlint_cmsis.output.memory import PLAN, memory_lines, plan_cells

    if "arena_used" not in report:
        line = f"{report['target']}: no arena: {report['reason']}"
        return f"{wrapped(line, columns())}\n"
    found = memory_lines(report, str(report["target"]), names)  # type: ignore[arg-type]
    lines = "".join(f"{wrapped(line, columns())}\n" for line in found)
    fit = TableFit(columns(), {"buffer": 16, "layer": 12}, ("layer",))
    return lines + fitted(PLAN, plan_cells(report, names), PLAN[2:], fit)  # type: ignore[arg-type]
