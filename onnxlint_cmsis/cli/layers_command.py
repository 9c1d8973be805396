"""The command `layers`: cells, text and JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.options import (
    STDIN,
    CommandParser,
    add_color,
    add_form,
    add_full_names,
    add_keys,
    beside_names,
    columns,
    configuration,
    standard_input,
    wants_color,
)
from onnxlint_cmsis.ground.errors import CalibrationError, UsageError
from onnxlint_cmsis.output.layers import (
    HOSTS,
    NO_LAYER,
    boundary_fields,
    boundary_in_c,
    cost_of,
    host_table,
    kernel_of,
    mark_of,
    reason_of,
    sizes_text,
)
from onnxlint_cmsis.output.plain import TableFit, block_character, fitted, json_text, paint, wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.boundary import BoundaryTensor
    from onnxlint_cmsis.analysis.layers import LayerReport, Total
    from onnxlint_cmsis.analysis.q_formats import LayerFormat
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.output.layers import LayersReport
    from onnxlint_cmsis.runtimes.host import HostComparison


# The cells of a layer's row as text.


BAR = 8
"""Columns of the longest bar."""


def layer_cells(layer: LayerReport, total: Total, names: Mapping[str, str], bar: int = BAR) -> list[str]:
    """Cells in the order of the columns; the longest bar has `bar` columns."""
    judged = layer.judged.verdict.value if layer.judged else ""
    return [
        mark_of(layer),
        names.get(layer.node, layer.node),
        "" if layer.operator else layer.op,
        kernel_of(layer),
        layer.kernel if layer.effective not in ("", layer.kernel) else "",
        "" if judged == layer.verdict.value else judged,
        sizes_text(layer.input),
        sizes_text(layer.output),
        _number(layer.macs),
        cost_of(layer),
        _share(layer.instructions, total.instructions, bar),
        "-" if layer.scratch == -1 else _number(layer.scratch),
        _number(layer.constants),
        ", ".join(node.op_type for node in layer.fused),
        "; ".join(f"{name} {text}" for name, text in layer.classes.items()),
        _format(layer.q_format) if layer.q_format else "",
        names.get(layer.tensor, layer.tensor),
    ]


def _format(q_format: LayerFormat) -> str:
    """Fraction bits and shifts: `in 6, w 8, b 7, out 5, <<7 >>9`; ? for those that are not known."""
    numbers = {"in": q_format.input, "w": q_format.weights, "b": q_format.bias, "out": q_format.output}
    kept = numbers if q_format.weights is not None else ("in", "out")
    parts = [f"{name} {'?' if numbers[name] is None else numbers[name]}" for name in kept]
    if q_format.out_shift is not None:
        parts.append(f"<<{q_format.bias_shift} >>{q_format.out_shift}")
    return ", ".join(parts)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _share(instructions: int | None, every: int, bar: int) -> str:
    """`12 % ##`, of the instructions that are known."""
    if instructions is None or not every:
        return ""
    part = instructions / every
    return f"{100 * part:3.0f} % {block_character() * round(bar * part)}".rstrip()


# The layers of a model as text: a block for each target, a row for each layer, the totals below.


HEAD = (
    "", "layer", "op", "kernel", "called", "runtime", "input", "output", "MACs", "instructions", "share", "scratch",
    "constants", "fused", "classes", "Q-format", "writes",
)  # fmt: skip
"""Columns in the order they are shown."""
SPARE = (
    "runtime", "Q-format", "output", "called", "MACs", "op", "input", "scratch", "constants", "fused", "classes",
    "writes",
)  # fmt: skip
"""Columns that a narrow terminal leaves out, the last one first."""
ELASTIC = {"layer": 16, "kernel": 27}
"""Columns whose cells are shortened in the middle first, and the least characters of a cell."""
NARROW = 72
"""Columns of a terminal below which bars are left out and cells are shortened further."""
NARROW_ELASTIC = {"layer": 10, "kernel": 17}
"""ELASTIC in such a terminal."""
NUMBERS = ("MACs", "instructions", "scratch", "constants")
"""Columns that are aligned to the right."""
MARKS = {
    "!": "a known error or wrong result (CNN3xx)",
    "~": "plain code computes it, no CMSIS-NN",
    "x": "neither computes it",
    "?": "not decided",
}
"""What stands in front of a layer that does not simply run in CMSIS-NN."""
RUNTIME_MARKS = {
    "!": "a known error or wrong result (CNN3xx, CNN4xx)",
    "~": "reference code of the runtime computes it, no CMSIS-NN",
    "x": "the runtime refuses it, or stops there",
    "?": "not decided",
}
"""What stands in front of a layer where a runtime is judged."""
STYLES = {"!": "error", "x": "error", "~": "warning", "?": "note"}
"""Styles of lines about layers with a mark."""
MOST_NAMES = 3
"""Layers that are named before a reason which they share."""


def layers_text(report: LayersReport, width: int, *, full_names: bool = False, color: bool = False) -> str:
    """What the model is judged for, its inputs and outputs, then the blocks of all targets."""
    names = {} if full_names else report.names
    notes = "".join(f"{paint(wrapped(note, width), 'faint', color)}\n\n" for note in report.notes)
    ends = "".join(f"{wrapped(_end(tensor, names), width)}\n" for tensor in report.boundary)
    blocks = ["".join(_block(report, total, names, width, color)) for total in report.totals]
    blocks += ["".join(_host_block(report.hosts, names, width, color))] if report.hosts else []
    return notes + (ends and f"{ends}\n") + "\n".join(blocks)


def _end(tensor: BoundaryTensor, names: Mapping[str, str]) -> str:
    """An input or output, with its name."""
    return f"{tensor.role} '{names.get(tensor.name, tensor.name)}': {tensor.text}"


def _block(report: LayersReport, total: Total, names: Mapping[str, str], width: int, color: bool) -> Iterator[str]:
    rows = [layer for layer in report.layers if layer.target == total.target]
    yield paint(total.target, "path", color) + "\n"
    narrow = 0 < width < NARROW
    cells = [layer_cells(row, total, names, bar=0 if narrow else BAR) for row in rows]
    empty = {name for column, name in enumerate(HEAD) if not any(line[column].strip("- ") for line in cells)}
    kept = [column for column, name in enumerate(HEAD) if name not in empty]
    head = [HEAD[column] for column in kept]
    lines = [[line[column] for column in kept] for line in cells]
    spare = [name for name in SPARE if name not in empty]
    table = fitted(head, lines, NUMBERS, TableFit(width, NARROW_ELASTIC if narrow else ELASTIC, spare))
    titles, *body = table.splitlines()
    yield paint(titles, "faint", color) + "\n"
    for line, row in zip(body, rows, strict=True):
        yield _painted(line, mark_of(row), color) + "\n"
    for line in (*_legend(rows, names), *total_lines(total)):
        yield _painted(wrapped(line, width), line[:1], color) + "\n"


def _painted(text: str, mark: str, color: bool) -> str:
    """The text in the style of its layer's mark."""
    return paint(text, STYLES[mark], color) if mark in STYLES else text


def _legend(layers: list[LayerReport], names: Mapping[str, str]) -> Iterator[str]:
    """What the marks that occur mean, which hazards there are, and why no kernel computes a layer."""
    from onnxlint_cmsis.cmsis_nn.library import range_reason

    seen = {mark_of(layer) for layer in layers}
    marks = RUNTIME_MARKS if any(layer.operator or layer.judged for layer in layers) else MARKS
    yield from (f"{mark} {text}" for mark, text in marks.items() if mark in seen)
    if not all(layer.computes for layer in layers):
        yield f"{NO_LAYER}: it copies bytes at most"
    for layer in layers:
        if layer.hazards:
            yield f"  {names.get(layer.node, layer.node)}: {', '.join(layer.hazards)}"
    for layer in layers:
        why = range_reason(layer.computed_by) if layer.instructions_range else ""
        if layer.instructions_range and why:
            least, most = layer.instructions_range
            yield f"  {names.get(layer.node, layer.node)}: {least:,} to {most:,} instructions, {why}"
    reasons: dict[str, list[str]] = {}
    for layer in layers:
        if reason := reason_of(layer):
            reasons.setdefault(reason, []).append(names.get(layer.node, layer.node))
    for reason, nodes in reasons.items():
        more = f" and {len(nodes) - MOST_NAMES} more" if len(nodes) > MOST_NAMES else ""
        yield f"  {', '.join(nodes[:MOST_NAMES])}{more}: {reason}"
    unknown = {layer.q_format.unknown for layer in layers if layer.q_format} - {""}
    yield from (f"Q-format ?: {reason}" for reason in sorted(unknown))


def total_lines(total: Total) -> Iterator[str]:
    """The sums of a target."""
    every = total.layers + total.unknown_layers
    noun = "layer" if every == 1 else "layers"
    left = f"; the cost of {total.unknown_layers:,} of {every:,} {noun} is unknown" if total.unknown_layers else ""
    macs = "unknown" if total.macs is None else f"{total.macs:,}"
    number = f"{total.instructions:,}"
    if total.instructions_range:
        least, most = total.instructions_range
        number = f"between {least:,} and {most:,}"
    cost = f"{number} predicted instructions (not cycles){left}" if total.cost_known else "cost unknown"
    yield f"total: {every:,} {noun}, {macs} MACs, {cost}"
    arena = "unknown" if total.arena is None else f"at least {total.arena:,}"
    arena = arena if total.arena_used is None else f"{total.arena_used:,}"
    scratch = "unknown" if total.scratch is None else f"{total.scratch:,}"
    memory = f"constants {total.constants:,} bytes, arena {arena}, scratch {scratch}"
    yield f"{memory}; instructions as measured on {total.measured_on}" if total.cost_known else memory
    if total.time:
        yield f"time: {total.time.text}"


# What the layers may be off in runtimes of a desktop: a row for each that may be, and the outputs.


def _host_block(hosts: tuple[HostComparison, ...], names: Mapping[str, str], width: int, color: bool) -> Iterator[str]:
    table = host_table(hosts)
    yield paint(HOSTS, "path", color) + "\n"
    if table.rows:
        cells = [[names.get(label, label), *texts] for label, texts in table.rows]
        titles, *body = fitted(["layer", *table.hosts], cells, (), TableFit(width, {"layer": 16})).splitlines()
        yield paint(titles, "faint", color) + "\n"
        yield from (f"{line}\n" for line in body)
    yield f"{table.equal}\n" if table.equal else ""
    for host, labels, why in table.reasons:
        more = f" and {len(labels) - MOST_NAMES} more" if len(labels) > MOST_NAMES else ""
        called = ", ".join(names.get(label, label) for label in labels[:MOST_NAMES])
        yield wrapped(f"  {host}, {called}{more}: {why}", width) + "\n"
    for tensor, host, steps in table.outputs:
        yield wrapped(f"output '{names.get(tensor, tensor)}', {host}: {steps}", width) + "\n"


# `onnxlint-cmsis layers FILE`: every layer of a model with the kernel that runs it.


DESCRIPTION = (
    "Show the inputs and outputs of models as the device holds them, and every layer: CMSIS-NN entry point, sizes "
    "(NHWC), kernel, MACs, predicted instructions (not cycles), scratch, constants (bytes of weights, bias, "
    "multipliers and shifts). Relu and Clip right behind a layer whose kernel clamps are part of it (fused), and so is "
    "BatchNormalization in its weights; operators that only move or convert elements (Reshape, Q/DQ, ...) are no "
    "layers. A layer that CMSIS-NN has no function for says `plain code` where code beside CMSIS-NN does, else "
    "`refused`. Of a .tflite file it shows every operator as TensorFlow Lite Micro runs it, of a .pte file every call "
    "as ExecuTorch makes it. `--output-format c` is a C header that converts the inputs and outputs of a model."
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
    add = parser.judged.add_argument
    add("files", nargs="+", metavar="FILE", help="Model file, - for standard input.")
    text = "With --api legacy: samples that give Q-formats, as .npy, or .npz with an array for each input."
    add("--calibration", default="", metavar="FILE", help=text)
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
    settings = configuration(args)
    reports = [
        (file, _report(file, settings.settings_for(file), args.calibration, against_host=args.against_host))
        for file in args.files
    ]
    if args.form == "c":
        if len(reports) > 1:
            raise UsageError("--output-format c writes the header of one model: name one FILE")
        sys.stdout.write(boundary_in_c(reports[0][1], reports[0][0]))
    elif args.form == "json":
        shown = [
            {
                "version": VERSION,
                "path": file,
                "inputs": [boundary_fields(tensor) for tensor in report.boundary if tensor.role == "input"],
                "outputs": [boundary_fields(tensor) for tensor in report.boundary if tensor.role == "output"],
                "layers": report.rows,
                "totals": [_fields(total) for total in report.totals],
                "instructions": MEANING,
                **_hosts(report),
            }
            for file, report in reports
        ]
        sys.stdout.write(json_text(shown if len(shown) > 1 else shown[0]))
    else:
        color = wants_color(args.color, sys.stdout)
        texts = [
            (file, layers_text(report, columns(), full_names=args.full_names, color=color)) for file, report in reports
        ]
        sys.stdout.write(beside_names(texts))
    return 0


def _fields(total: Total) -> dict[str, object]:
    """A total as plain data, the exact arena and the time where there are such."""
    fields = total._asdict() | {"time": total.time.fields if total.time else None}
    return {name: value for name, value in fields.items() if value is not None or name not in ("arena_used", "time")}


def _hosts(report: LayersReport) -> dict[str, object]:
    """What was asked of runtimes of a desktop as plain data."""
    if not report.hosts:
        return {}
    from onnxlint_cmsis.runtimes.host import fields

    return {"hosts": [fields(comparison) for comparison in report.hosts]}


def _report(path: str, settings: Settings, calibration: str, *, against_host: bool) -> LayersReport:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.linting.engine import layers_report
    from onnxlint_cmsis.model.graph import ModelError

    if calibration and not settings.legacy:
        raise UsageError("--calibration: it gives the Q-formats of --api legacy; without that there are none")
    data = standard_input() if path == STDIN else None
    try:
        model = ModelAnalysis("<stdin>" if path == STDIN else path, settings.analysis, data)
        report = layers_report(model.path, settings, data, model, calibration)
        return report._replace(hosts=model.against_hosts) if against_host else report
    except CalibrationError as error:
        raise UsageError(f"--calibration: {error}") from None
    except ModelError as error:
        raise UsageError(f"{path}: {error.message}") from None
