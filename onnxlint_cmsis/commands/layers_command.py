"""`onnxlint-cmsis layers FILE`: every layer of a model with the kernel that runs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.discover import STDIN, standard_input
from onnxlint_cmsis.commands.options import CommandParser, add_keys, configuration
from onnxlint_cmsis.commands.terminal import add_color, beside_names, columns, wants_color
from onnxlint_cmsis.errors import CalibrationError, UsageError
from onnxlint_cmsis.reporters.plain import json_text

if TYPE_CHECKING:
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.layers_report import LayersReport, Total

DESCRIPTION = (
    "Show every layer of models: CMSIS-NN entry point, sizes (NHWC), kernel, MACs, predicted instructions (not "
    "cycles), scratch, constants (bytes of weights, bias, multipliers and shifts). Relu and Clip right behind a layer "
    "whose kernel clamps are part of it (fused), and so is BatchNormalization in its weights; operators that only move "
    "or convert elements (Reshape, Q/DQ, ...) are no layers. A layer that CMSIS-NN has no function for says "
    "`plain code` where code beside CMSIS-NN does, else `refused`. Of a .tflite file it shows every operator as "
    "TensorFlow Lite Micro runs it."
)
VERSION = 1
KEYS = (
    "targets", "release", "api", "compiler", "assume", "one-channel", "input-shapes", "runtime", "cmsis-nn-build",
    "clock", "memory",
)  # fmt: skip
MEANING = "predicted instructions retired, not cycles; null where unknown"


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("layers", DESCRIPTION)
    parser.add_argument("files", nargs="+", metavar="FILE", help="model file, - for standard input")
    parser.add_argument("--output-format", dest="form", choices=("text", "json"), default="text", help="Default: text.")
    parser.add_argument("--full-names", action="store_true", help="show names as they stand in the file")
    parser.add_argument(
        "--calibration",
        default="",
        metavar="FILE",
        help="with --api legacy: inputs for ONNX Runtime that give the Q-formats of activations, an .npy file or an "
        ".npz file with an array for each input; the first axis counts samples",
    )
    add_color(parser)
    add_keys(parser, KEYS)
    return parser


def run(argv: list[str]) -> int:
    """Print the layers of a model."""
    args = make_parser().parse_args(argv)
    settings = configuration(args)
    reports = [(file, _report(file, settings.settings_for(file), args.calibration)) for file in args.files]
    if args.form == "json":
        shown = [
            {
                "version": VERSION,
                "path": file,
                "layers": report.rows,
                "totals": [_fields(each) for each in report.totals],
                "instructions": MEANING,
            }
            for file, report in reports
        ]
        sys.stdout.write(json_text(shown if len(shown) > 1 else shown[0]))
    else:
        from onnxlint_cmsis.commands.layers_text import layers_text

        color = wants_color(args.color, sys.stdout)
        texts = [
            (file, layers_text(report, columns(), full_names=args.full_names, color=color)) for file, report in reports
        ]
        sys.stdout.write(beside_names(texts))
    return 0


def _fields(total: Total) -> dict[str, object]:
    """A total as plain data, the exact arena and the time where there are such."""
    found = total._asdict() | {"time": total.time.fields if total.time else None}
    return {name: value for name, value in found.items() if value is not None or name not in ("arena_used", "time")}


def _report(path: str, settings: Settings, calibration: str) -> LayersReport:
    from onnxlint_cmsis.graph.model_error import ModelError
    from onnxlint_cmsis.layers_report import layers_report

    if calibration and settings.api != "legacy":
        raise UsageError("--calibration: it gives the Q-formats of --api legacy; without that there are none")
    data = standard_input() if path == STDIN else None
    try:
        return layers_report("<stdin>" if path == STDIN else path, settings, data, calibration=calibration)
    except CalibrationError as error:
        raise UsageError(f"--calibration: {error}") from None
    except ModelError as error:
        raise UsageError(f"{path}: {error.message}") from None
