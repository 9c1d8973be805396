"""`onnxlint-cmsis layers FILE`: every layer of a model with the kernel that runs it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.analysed_file import analysed, verdict_head
from onnxlint_cmsis.cli.discovery import STDIN, models_of, standard_input
from onnxlint_cmsis.cli.layers_by_type import side_by_side_text
from onnxlint_cmsis.cli.layers_text import layers_text
from onnxlint_cmsis.cli.measured_log import measured_by
from onnxlint_cmsis.cli.options import CommandParser, add_keys, configuration
from onnxlint_cmsis.cli.output_options import add_color, add_form, add_full_names
from onnxlint_cmsis.cli.terminal import columns, wants_color
from onnxlint_cmsis.cli.written_timing import timing_text
from onnxlint_cmsis.ground.errors import CalibrationError, UsageError
from onnxlint_cmsis.output.boundary_text import boundary_fields, boundary_in_c
from onnxlint_cmsis.output.foreign_text import json_text
from onnxlint_cmsis.output.measured import measured_fields, measured_text
from onnxlint_cmsis.output.tflm_cpp import resolver_fields
from onnxlint_cmsis.output.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.layer_totals import Total
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.output.layers import LayersReport


DESCRIPTION = (
    "Show the inputs and outputs of models as the device holds them, and every layer: CMSIS-NN entry point, sizes "
    "(NHWC), kernel, MACs, predicted instructions (not cycles), scratch, constants (bytes of weights, bias, "
    "multipliers and shifts). Relu and Clip right behind a layer whose kernel clamps are part of it (fused), and so is "
    "BatchNormalization in its weights; operators that only move or convert elements (Reshape, Q/DQ, ...) are no "
    "layers. A layer that CMSIS-NN has no function for says `reference code` where such code does, else "
    "`no kernel`. Of a .tflite file it shows every operator as TensorFlow Lite Micro runs it, of a .pte file every "
    "call as ExecuTorch makes it. `--output-format c` is a C header that converts the inputs and outputs of a model. "
    "`--assume s8,s16` puts data types that a float model may have side by side."
)
PYTORCH = "PyTorch may be a step off in averages and softmax (docs/runtimes.md)"
"""What differs between a program on a device and in PyTorch."""
VERSION = 1
KEYS = (
    "targets", "release", "api", "compiler", "assume", "one-channel", "input-shapes", "runtime", "cmsis-nn-build",
    "clock", "weights-in", "arena-in", "timing", "board", "ram", "flash",
)  # fmt: skip
EXACT = ("arena_used", "arena_needed", "arena_to_write", "time")
"""Keys of a total that are left out where nothing is known."""
MEANING = "predicted instructions retired, not cycles; null where unknown"


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("layers", DESCRIPTION)
    add = parser.judged.add_argument
    add("files", nargs="+", metavar="FILE", help="Model file, - for standard input.")
    text = "Samples (.npy, .npz, a folder): errors of rounding in each float layer; with --api legacy, Q-formats."
    add("--calibration", default="", metavar="PATH", help=text)
    text = "Log of a profiler: what was measured beside each layer, and what is wrong with the build."
    add("--measured", default="", metavar="LOG", help=text)
    text = "Fit what --measured logged, at --clock, and write it for --timing."
    add("--write-timing", default="", metavar="FILE", help=text)
    text = "Steps by which each layer may differ from LiteRT or ONNX Runtime on a desktop, and why."
    add("--against-host", action="store_true", help=text)
    add_keys(parser, KEYS)
    add_form(parser, "c")
    add_full_names(parser)
    add_color(parser)
    return parser


def run(argv: list[str]) -> int:
    """Print the layers of a model."""
    args = make_parser().parse_args(argv)
    types: list[str | None] = [None] if args.assume is None else [kind.strip() for kind in args.assume.split(",")]
    several = len({*types}) > 1
    if several and (args.form == "c" or args.against_host):
        option = "--output-format c" if args.form == "c" else "--against-host"
        raise UsageError(f"{option} is for one data type: name one with --assume")
    files = [model for file in args.files for model in models_of(file)]
    piped = standard_input() if STDIN in files else None
    width, full, color = columns(), args.full_names, wants_color(args.color, sys.stdout)
    reports: list[tuple[str, dict[str, LayersReport]]] = [(file, {}) for file in files]
    heads = dict.fromkeys(files, "")
    for args.assume in dict.fromkeys(types):
        settings = configuration(args)
        for file, by_type in reports:
            name, given = piped if piped and file == STDIN else (file, None)
            of_file = settings.settings_for(name)
            model = analysed(file, of_file, given, name=name)
            by_type[of_file.assume] = _report(model, of_file, given, args.calibration, against_host=args.against_host)
            if args.form == "text":
                heads[file] = heads[file].removesuffix("\n")
                heads[file] += verdict_head(model, of_file, given, full_names=full, color=color)
    measured = measured_by(args.measured, [*reports[0][1].values()] if len(reports) == 1 else [])
    fitted = timing_text(args.write_timing, args.measured, model, measured)
    if args.form == "c":
        if len(reports) > 1:
            raise UsageError("--output-format c writes the header of one model: name one FILE")
        sys.stdout.write(boundary_in_c(next(iter(reports[0][1].values())), reports[0][0]))
    elif args.form == "json":
        shown = [_shown(file, by_type) for file, by_type in reports]
        shown[0] |= {"measured": measured_fields(measured, args.measured)} if measured else {}
        shown[0] |= {"timing": fitted} if fitted else {}
        sys.stdout.write(json_text(shown if len(shown) > 1 else shown[0]))
    else:
        texts = [
            side_by_side_text(by_type, width, full_names=full, color=color)
            if several
            else layers_text(next(iter(by_type.values())), width, full_names=full, color=color)
            for _, by_type in reports
        ]
        if measured:
            names = {} if full else next(iter(reports[0][1].values())).names
            texts[0] = f"{texts[0]}\n{measured_text(measured, args.measured, names, width)}{wrapped(fitted, width)}\n"
        sys.stdout.write("\n".join(f"{heads[file]}{text}" for file, text in zip(files, texts, strict=True)))
    return 0


def _shown(path: str, by_type: Mapping[str, LayersReport]) -> dict[str, object]:
    """A file for JSON; with several data types `types` has what each gives, under its name `assume`."""
    types: list[dict[str, object]] = [
        {
            "inputs": [boundary_fields(tensor) for tensor in report.boundary if tensor.role == "input"],
            "outputs": [boundary_fields(tensor) for tensor in report.boundary if tensor.role == "output"],
            "layers": report.rows,
            "totals": [_fields(total) for total in report.totals],
            "instructions": MEANING,
            **resolver_fields(report.resolver),
            **_hosts(report),
            **({"output_errors": dict(report.output_errors), "samples": report.samples} if report.samples else {}),
        }
        for report in by_type.values()
    ]
    several = {"types": [{"assume": kind, **shown} for kind, shown in zip(by_type, types, strict=True)]}
    return {"version": VERSION, "path": path, **(several if len(types) > 1 else types[0])}


def _fields(total: Total) -> dict[str, object]:
    """A total as plain data, the exact arena and the time where there are such."""
    fields = total._asdict() | {"time": total.time.fields if total.time else None}
    return {name: value for name, value in fields.items() if value is not None or name not in EXACT}


def _hosts(report: LayersReport) -> dict[str, object]:
    """What was asked of runtimes of a desktop as plain data."""
    if not report.hosts:
        return {}
    from onnxlint_cmsis.runtimes.host.comparison import fields

    return {"hosts": [fields(comparison) for comparison in report.hosts]}


def _report(
    model: ModelAnalysis, settings: Settings, data: bytes | None, calibration: str, *, against_host: bool
) -> LayersReport:
    from onnxlint_cmsis.cli.engine import layers_report

    try:
        report = layers_report(model.path, settings, data, model, calibration)
    except CalibrationError as error:
        raise UsageError(f"--calibration: {error}") from None
    if against_host and not model.against_hosts:
        raise UsageError(f"{model.path}: --against-host: no runtime of a desktop reads such files; {PYTORCH}")
    return report._replace(hosts=model.against_hosts) if against_host else report
