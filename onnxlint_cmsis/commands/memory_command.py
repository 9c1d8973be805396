"""`onnxlint-cmsis memory FILE`: the arena that TensorFlow Lite Micro takes for a `.tflite` model, to the byte."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.discover import STDIN
from onnxlint_cmsis.commands.options import CommandParser, add_keys, configuration
from onnxlint_cmsis.commands.text_table import aligned
from onnxlint_cmsis.errors import UsageError
from onnxlint_cmsis.formats.suffixes import TFLITE, is_tflite_path
from onnxlint_cmsis.runtimes.runtime import AUTO

if TYPE_CHECKING:
    from onnxlint_cmsis.config.settings import Settings

DESCRIPTION = (
    "Show how many bytes of arena TensorFlow Lite Micro takes for a .tflite model: head (planned activations and "
    "scratch), tail (what stays), and the plan with each buffer's life in operator steps and its offset. The figures "
    "are for gcc and the ARM EABI, and an arena whose start and size are multiples of 16."
)
VERSION = 1
KEYS = ("targets", "release", "runtime", "compiler")
STDIN_NAME = f"stdin{TFLITE}"


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("memory", DESCRIPTION)
    parser.add_argument("file", metavar="FILE", help=".tflite model, - for standard input")
    parser.add_argument("--output-format", dest="form", choices=("text", "json"), default="text", help="Default: text.")
    text = "how the kernels are built: SPEED keeps sums of weights in the arena, SIZE works them out. Default: SPEED."
    parser.add_argument("--cmsis-nn-build", choices=("SPEED", "SIZE"), default="SPEED", help=text)
    add_keys(parser, KEYS)
    return parser


def run(argv: list[str]) -> int:
    """Print the arena of a model on every target; 1 where a target has none."""
    args = make_parser().parse_args(argv)
    name = STDIN_NAME if args.file == STDIN else args.file
    if not is_tflite_path(name):
        raise UsageError(f"{name}: memory is worked out for {TFLITE} files")
    settings = configuration(args).settings_for(name)
    _check_runtime(str(settings.raw["runtime"]))
    reports = _reports(args.file, name, settings, args.cmsis_nn_build)
    if args.form == "json":
        import json

        head = {"version": VERSION, "path": args.file, "runtime": settings.runtime.label}
        sys.stdout.write(
            json.dumps({**head, "cmsis_nn_build": args.cmsis_nn_build, "targets": reports}, indent=1) + "\n"
        )
    else:
        sys.stdout.write(f"{settings.runtime.title} {settings.runtime.commit[:8]}, {args.cmsis_nn_build}\n\n")
        sys.stdout.write("\n".join(_text(report) for report in reports))
    return 0 if all("arena_used" in report for report in reports) else 1


def _check_runtime(text: str) -> None:
    """Raise UsageError for a runtime whose memory is not known."""
    if text.partition("@")[0] not in (AUTO, "tflm"):
        raise UsageError(f"--runtime: memory is worked out for tflm, not for {text}")


def _reports(file: str, name: str, settings: Settings, optimized_for: str) -> list[dict[str, object]]:
    from onnxlint_cmsis.graph.model_error import ModelError
    from onnxlint_cmsis.tflite_files.memory_report import memory_reports

    data = sys.stdin.buffer.read() if file == STDIN else None
    try:
        return memory_reports(name, settings, "SIZE" if optimized_for == "SIZE" else "SPEED", data)
    except ModelError as error:
        raise UsageError(f"{file}: {error.message}") from None


def _text(report: dict[str, object]) -> str:
    from onnxlint_cmsis.tflite_files.memory_text import PLAN, memory_lines, plan_cells

    if "arena_used" not in report:
        return f"{report['target']}: no arena: {report['reason']}\n"
    lines = "".join(f"{line}\n" for line in memory_lines(report, str(report["target"])))  # type: ignore[arg-type]
    return lines + aligned(PLAN, plan_cells(report), right=PLAN[1:])  # type: ignore[arg-type]
