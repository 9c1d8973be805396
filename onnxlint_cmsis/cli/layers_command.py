"""The command `layers`: cells, text and JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.cli.discovery import STDIN, models_of, standard_input
from onnxlint_cmsis.cli.options import (
    CommandParser,
    add_color,
    add_form,
    add_full_names,
    add_keys,
    analysed,
    columns,
    configuration,
    verdict_head,
    wants_color,
)
from onnxlint_cmsis.cmsis_nn.families import FLOAT
from onnxlint_cmsis.ground.errors import CalibrationError, UsageError
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.output.layers import (
    HOSTS,
    NO_LAYER,
    boundary_fields,
    boundary_in_c,
    cost_of,
    error_text,
    host_table,
    kernel_of,
    mark_of,
    reason_of,
    sizes_text,
)
from onnxlint_cmsis.output.plain import TableFit, block_character, fitted, json_text, paint, wrapped
from onnxlint_cmsis.output.tflm_cpp import application_text, resolver_fields

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.boundary_tensor import BoundaryTensor
    from onnxlint_cmsis.analysis.layer_totals import Total
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.analysis.q_formats import LayerFormat
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.output.layers import LayersReport
    from onnxlint_cmsis.runtimes.host.comparison import HostComparison


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
        error_text(layer.error),
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
    "", "layer", "op", "kernel", "called", "runtime", "input", "output", "MACs", "instructions", "share", "error",
    "scratch", "constants", "fused", "classes", "Q-format", "writes",
)  # fmt: skip
"""Columns in the order they are shown."""
OF_KNOWN = "of known"
"""Head of the column of shares where the cost of a layer is no single number."""
SPARE = (
    "runtime", "Q-format", "output", "called", "MACs", "op", "input", "scratch", "constants", "fused", "classes",
    "writes",
)  # fmt: skip
"""Columns that a narrow terminal leaves out, the last one first."""
ELASTIC = {"layer": 16, "kernel": 25}
"""Columns whose cells are shortened in the middle first, and the least characters of a cell."""
NARROW = 72
"""Columns of a terminal below which bars are left out and cells are shortened further."""
NARROW_ELASTIC = {"layer": 10, "kernel": 17}
"""ELASTIC in such a terminal."""
NUMBERS = ("MACs", "instructions", "error", "scratch", "constants")
"""Columns that are aligned to the right."""
MARKS = {
    "!": "a known error or wrong result (CNN3xx)",
    "~": "reference code of the application computes it (firmware_check/runtime/reference.c has such code)",
    "x": "no kernel: the application has to bring one",
    "?": "not decided",
}
"""What stands in front of a layer that does not simply run in CMSIS-NN."""
RUNTIME_MARKS = {
    "!": "a known error or wrong result (CNN3xx, CNN4xx)",
    "~": "reference code computes it, no CMSIS-NN",
    "x": "the runtime refuses it, stops there, or has no kernel for it",
    "?": "not decided",
}
"""What stands in front of a layer where a runtime is judged."""
STYLES = {"!": "error", "x": "error", "~": "warning", "?": "note"}
"""Styles of lines about layers with a mark."""
BY_COMPILER = "other ranges: versions of gcc make code of different length; --compiler gcc@13.2 names yours"
"""Said where layers have a range since the compiler is open."""
MOST_NAMES = 3
"""Layers that are named before a reason which they share."""


def layers_text(report: LayersReport, width: int, *, full_names: bool = False, color: bool = False) -> str:
    """What the model is judged for, its inputs and outputs, then the blocks of all targets."""
    names = {} if full_names else report.names
    notes = "".join(f"{paint(wrapped(note, width), 'faint', color)}\n\n" for note in report.notes)
    ends = "".join(f"{wrapped(_end(tensor, names), width)}\n" for tensor in report.boundary)
    blocks = ["".join(_block(report, total, names, width, color)) for total in report.totals]
    blocks += ["".join(_host_block(report.hosts, names, width, color))] if report.hosts else []
    arenas = {total.target: total.arena_to_write for total in report.totals if total.arena_to_write is not None}
    return notes + (ends and f"{ends}\n") + "\n".join(blocks) + application_text(report.resolver, arenas)


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
    some = any(row.computes and row.instructions is None and not row.once for row in rows)
    head = [OF_KNOWN if some and HEAD[column] == "share" else HEAD[column] for column in kept]
    lines = [[line[column] for column in kept] for line in cells]
    spare = [name for name in SPARE if name not in empty]
    table = fitted(head, lines, NUMBERS, TableFit(width, NARROW_ELASTIC if narrow else ELASTIC, spare))
    titles, *body = table.splitlines()
    yield paint(titles, "faint", color) + "\n"
    for line, row in zip(body, rows, strict=True):
        yield _painted(line, mark_of(row), color) + "\n"
    errors = _error_lines({"": report}, names)
    for line in (*_legend(rows, names), *total_lines(total), *errors):
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
    if any(layer.by_compiler for layer in layers):
        yield BY_COMPILER
    reasons: dict[str, list[str]] = {}
    for layer in layers:
        before = f"before it runs (CNN306): {layer.before}" if layer.before else ""
        if reason := reason_of(layer) or before:
            reasons.setdefault(reason, []).append(names.get(layer.node, layer.node))
    for reason, nodes in reasons.items():
        yield f"  {and_more(nodes, MOST_NAMES)}: {reason}"
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
    arena = arena if total.arena_to_write is None else f"{total.arena_to_write:,}"
    scratch = "unknown" if total.scratch is None else f"{total.scratch:,}"
    memory = f"constants {total.constants:,} bytes, arena {arena}, scratch {scratch}"
    yield f"{memory}; instructions as measured on {total.measured_on}" if total.cost_known else memory
    if total.time:
        yield f"time: {total.time.text}"


def _error_lines(reports: Mapping[str, LayersReport], names: Mapping[str, str]) -> Iterator[str]:
    """What the errors at the outputs are under each type, and how errors were measured; nothing where they were not."""
    first, *_ = reports.values()
    rounded = len({layer.node for layer in first.layers if layer.error is not None})
    noun = "layer" if rounded == 1 else "layers"
    for name in first.output_errors:
        shown = (
            f"{error_text(report.output_errors.get(name)) or 'unknown'}{kind and f' as {kind}'}"
            for kind, report in reports.items()
        )
        yield f"error at output '{names.get(name, name)}' with {rounded} {noun} rounded: {', '.join(shown)}"
    if first.samples:
        noun = "sample" if first.samples == 1 else "samples"
        yield f"error: {ERRORS} ({first.samples:,} {noun}, ONNX Runtime)"


ERRORS = (
    "what rounding a layer's inputs, weights and result changes in the result, as a share of it (root mean squares); "
    "scales from the least and largest value"
)
"""What the column of errors has."""


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
        called = and_more([names.get(label, label) for label in labels], MOST_NAMES)
        yield wrapped(f"  {host}, {called}: {why}", width) + "\n"
    for tensor, host, steps in table.outputs:
        yield wrapped(f"output '{names.get(tensor, tensor)}', {host}: {steps}", width) + "\n"


# The data types that a float model may become, side by side: a table for each target, a column for each type.


UNCHANGED = "--assume changes nothing here: no layer of the model depends on it"
"""Said of a model whose types are all decided."""
CONVERSIONS = (
    "CMSIS-NN converts between s8 and s16 in no function but arm_softmax_s8_s16: where layers of both meet, the "
    "application converts, or QUANTIZE of TensorFlow Lite Micro, which is reference code"
)
"""Said where s16 stands beside another type."""


def side_by_side_text(
    reports: Mapping[str, LayersReport], width: int, *, full_names: bool = False, color: bool = False
) -> str:
    """The predicted instructions of each layer, and the sums, under each of the types that `reports` is by."""
    first, *_ = reports.values()
    names = {} if full_names else first.names
    differ = any(report.layers != first.layers for report in reports.values())
    notes = first.notes if differ else (*first.notes, UNCHANGED)
    head = "".join(f"{paint(wrapped(note, width), 'faint', color)}\n\n" for note in notes)
    blocks = (_side_by_side(reports, number, names, width, color) for number in range(len(first.totals)))
    return head + "\n".join("".join(block) for block in blocks)


def _side_by_side(
    reports: Mapping[str, LayersReport], number: int, names: Mapping[str, str], width: int, color: bool
) -> Iterator[str]:
    totals = [report.totals[number] for report in reports.values()]
    sides = [_by_place(report, total.target) for report, total in zip(reports.values(), totals, strict=True)]
    rows = []
    for key in dict.fromkeys(chain(*sides)):
        layer = next(side[key] for side in sides if key in side)
        if layer.computes:
            cells = [_type_cell(side.get(key)) for side in sides]
            errors = [error_text(side[key].error) if key in side else "" for side in sides]
            rows.append([names.get(layer.node, layer.node), layer.op, *_compared(cells), *errors])
    for name, numbers, comparable in _sums(totals):
        texts = ["unknown" if number is None else f"{number:,}" for number in numbers]
        rows.append([name, "", *_compared(list(zip(texts, comparable, strict=True))), *("" for _ in sides)])
    labels = dict.fromkeys(total.target for total in totals)
    yield paint(next(iter(labels)) if len(labels) == 1 else cpu_of(totals[0].target), "path", color) + "\n"
    first, *others = reports
    changes = [f"{kind}/{first}" for kind in others]
    heads = [first, *chain(*zip(others, changes, strict=True)), *(f"{kind} error" for kind in reports)]
    if not reports[first].samples:
        heads, rows = heads[: -len(sides)], [row[: -len(sides)] for row in rows]
    fit = TableFit(width, {"layer": 16}, (*changes, "op"))
    titles, *body = fitted(("layer", "op", *heads), rows, heads, fit).splitlines()
    yield paint(titles, "faint", color) + "\n"
    broken = [any(cell.startswith("! ") for cell in row[2:]) for row in rows]
    for line, is_broken in zip(body, broken, strict=True):
        yield paint(line, STYLES["!"], color and is_broken) + "\n"
    if any(broken):
        yield wrapped(f"! {MARKS['!']}", width) + "\n"
    measured = ", ".join(dict.fromkeys(total.measured_on for total in totals if total.cost_known))
    where = f", as measured on {measured}" if measured else ""
    yield wrapped(f"predicted instructions (not cycles){where}; constants, arena and scratch in bytes", width) + "\n"
    yield from (wrapped(line, width) + "\n" for line in _error_lines(reports, names))
    by_type = dict(zip(reports, sides, strict=True))
    constants = {kind: total.constants for kind, total in zip(reports, totals, strict=True)}
    for kind in (kind for kind in reports if kind in FLOAT.types and constants.get("s8")):
        pairs = [(by_type[kind].get(key), by_type["s8"].get(key)) for key in dict.fromkeys(chain(*sides))]
        called = f"{kind} packed" if reports[kind].packed else kind
        line = _float_line(called, pairs, constants[kind] / constants["s8"], names)
        yield f"{wrapped(line, width)}\n" if line else ""
    if "s16" in reports and len(reports) > 1:
        yield wrapped(CONVERSIONS, width) + "\n"
    libraries: dict[str, list[str]] = {}
    for kind, total in zip(reports, totals, strict=True):
        libraries.setdefault(total.target.partition(", ")[2], []).append(kind)
    if len(libraries) > 1:
        judged = (f"{', '.join(kinds)} for {library}" for library, kinds in libraries.items())
        yield wrapped(f"judged: {'; '.join(judged)}", width) + "\n"
    for kind, total in zip(reports, totals, strict=True):
        if total.time:
            yield wrapped(f"time as {kind}: {total.time.text}", width) + "\n"


def _sums(totals: Sequence[Total]) -> Iterator[tuple[str, Sequence[int | None], Sequence[int | None]]]:
    """What is added up, the numbers of all types, and those of them that may be compared: no layer is left out."""
    ends = [total.instructions_range or (total.instructions, total.instructions) for total in totals]
    whole = [None if total.unknown_layers else end for end, total in zip(ends, totals, strict=True)]
    least = [end and end[0] for end in whole]
    exact = all(end and end[0] == end[1] for end in whole)
    shown = [end[0] if total.cost_known else None for end, total in zip(ends, totals, strict=True)]
    yield "total" if exact else "total, at least", shown, least
    if not exact and any(whole):
        yield "total, at most", *([end and end[1] for end in whole],) * 2
    yield "constants", *([total.constants for total in totals],) * 2
    written = any(total.arena_to_write is not None for total in totals)
    arena = [total.arena_to_write if written else total.arena for total in totals]
    yield "arena" if written else "arena, at least", arena, arena
    yield "scratch", *([total.scratch for total in totals],) * 2


def _float_line(
    kind: str, pairs: Sequence[tuple[LayerReport | None, LayerReport | None]], flash: float, names: Mapping[str, str]
) -> str:
    """What layers cost as a type that stays float, beside s8; empty where that is unknown or the ranges overlap.

    `pairs` has each layer as this type and as s8, None where it is not there. Layers of unknown cost that multiply
    nothing are left out and named.
    """
    ends = [[_ends(layer) for layer in pair] for pair in pairs]
    aside = [next(filter(None, pair)) for pair, both in zip(pairs, ends, strict=True) if None in both]
    known = [(mine, other) for mine, other in ends if mine and other]
    least, most, low, high = (sum(pair[side][end] for pair in known) for side in (0, 1) for end in (0, 1))
    if not low or (least <= high and low <= most) or len(aside) > MOST_NAMES or any(layer.macs for layer in aside):
        return ""
    percents = sorted({abs(round(100 * (least / high - 1))), abs(round(100 * (most / low - 1)))})
    apart = f"{', '.join(names.get(layer.node, layer.node) for layer in aside)} aside, " if aside else ""
    times = "twice" if f"{flash:.1f}" == "2.0" else f"{flash:.1f} times"
    change = f"{' to '.join(map(str, percents))} % {'less' if most < low else 'more'}"
    return f"{apart}{kind} costs {change} than s8 here and {times} the flash"


def _ends(layer: LayerReport | None) -> tuple[int, int] | None:
    """Least and most predicted instructions of a layer, 0 of one that is not there; None where they are unknown."""
    if layer is None or layer.instructions is not None:
        return (layer.instructions or 0 if layer else 0,) * 2
    return layer.instructions_range


def _by_place(report: LayersReport, target: str) -> dict[tuple[str, int], LayerReport]:
    """The layers of a target by name; those of one name are told apart by their order."""
    rows: dict[tuple[str, int], LayerReport] = {}
    for row in report.layers:
        if row.target == target:
            rows[row.node, next(n for n in range(len(report.layers)) if (row.node, n) not in rows)] = row
    return rows


def _type_cell(layer: LayerReport | None) -> tuple[str, int | None]:
    """What a layer costs as one type, or who computes it where no kernel does; and the number."""
    if layer is None:
        return "not there", None
    mark = mark_of(layer)
    if mark in ("~", "x", "?"):
        return kernel_of(layer), None
    return f"! {cost_of(layer)}" if mark == "!" else cost_of(layer), layer.instructions


def _compared(cells: list[tuple[str, int | None]]) -> list[str]:
    """The texts, each from the second on with the change against the first where both numbers are known."""
    (first, base), *others = cells
    changes = (f"{100 * (n - base) / base:+.1f} %" if base and n is not None else "" for _, n in others)
    return [first, *chain(*zip((text for text, _ in others), changes, strict=True))]


# `onnxlint-cmsis layers FILE`: every layer of a model with the kernel that runs it.


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
VERSION = 1
KEYS = (
    "targets", "release", "api", "compiler", "assume", "one-channel", "input-shapes", "runtime", "cmsis-nn-build",
    "clock", "weights-in", "arena-in", "board", "ram", "flash",
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
    if args.form == "c":
        if len(reports) > 1:
            raise UsageError("--output-format c writes the header of one model: name one FILE")
        sys.stdout.write(boundary_in_c(next(iter(reports[0][1].values())), reports[0][0]))
    elif args.form == "json":
        shown = [_shown(file, by_type) for file, by_type in reports]
        sys.stdout.write(json_text(shown if len(shown) > 1 else shown[0]))
    else:
        texts = [
            side_by_side_text(by_type, width, full_names=full, color=color)
            if several
            else layers_text(next(iter(by_type.values())), width, full_names=full, color=color)
            for _, by_type in reports
        ]
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
        raise UsageError(f"{model.path}: --against-host: no runtime of a desktop reads such files")
    return report._replace(hosts=model.against_hosts) if against_host else report
