"""The command `layers`: cells, text and JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.options import (
    STDIN,
    CommandParser,
    add_color,
    add_keys,
    beside_names,
    columns,
    configuration,
    standard_input,
    wants_color,
)
from onnxlint_cmsis.ground.errors import CalibrationError, UsageError
from onnxlint_cmsis.lower.layer import Verdict
from onnxlint_cmsis.output.plain import TableFit, fitted, json_text, paint, wrapped
from onnxlint_cmsis.runtimes.runtime import RuntimeVerdict

if TYPE_CHECKING:
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.output.layers import LayersReport, Row, Total


# The cells of a layer's row as text.


NO_LAYER = "no layer"
"""Stands for the kernel of an operator that copies bytes at most."""
_MARKS = {
    Verdict.PLAIN.value: "~",
    Verdict.REFUSED.value: "x",
    Verdict.UNDECIDED.value: "?",
    RuntimeVerdict.REFERENCE.value: "~",
    RuntimeVerdict.HALTS.value: "x",
    RuntimeVerdict.WRONG.value: "!",
}
BAR = 8
"""Columns of the longest bar."""


def layer_cells(row: Row, total: Total, names: Mapping[str, str], bar: int = BAR) -> list[str]:
    """Cells in the order of the columns; the longest bar has `bar` columns."""
    node = str(row["node"])
    runtime = str(row.get("runtime", ""))
    return [
        mark_of(row),
        names.get(node, node),
        "" if is_operator(row) else str(row["op"]),
        kernel_of(row),
        _called(row),
        "" if runtime == row["verdict"] else runtime,
        _sizes(row["input_dims" if is_operator(row) else "input"]),
        _sizes(row["output_dims" if is_operator(row) else "output"]),
        _number(row["macs"]),
        _cost(row),
        _share(row["instructions"], total.instructions, bar),
        _scratch(row["scratch"]),
        _number(row.get("constants")),
        ", ".join(each["op"] for each in row.get("fused", [])),  # type: ignore[attr-defined]
        "; ".join(f"{name} {text}" for name, text in row["classes"].items()),  # type: ignore[attr-defined]
        _format(row.get("q_format")),
        _writes(row, names),
    ]


def _format(found: object) -> str:
    """Fraction bits and shifts: `in 6, w 8, b 7, out 5, <<7 >>9`; ? for those that are not known."""
    if not isinstance(found, dict):
        return ""
    names = {"input": "in", "weights": "w", "bias": "b", "output": "out"}
    weighted = found["weights"] is not None
    kept = [name for name in names if weighted or name in ("input", "output")]
    parts = [f"{names[name]} {'?' if found[name] is None else found[name]}" for name in kept]
    if found["out_shift"] is not None:
        parts.append(f"<<{found['bias_shift']} >>{found['out_shift']}")
    return ", ".join(parts)


def is_operator(row: Row) -> bool:
    """Whether the row is that of an operator of a `.tflite` file, whose name has its type and number."""
    return "index" in row


def _verdict(row: Row) -> str:
    """What becomes of the layer: in the runtime where one is judged."""
    return str(row.get("runtime", row["verdict"]))


def mark_of(row: Row) -> str:
    """What stands in front of the layer."""
    if not row.get("layer", True):
        return " "
    return "!" if row["hazards"] else _MARKS.get(_verdict(row), " ")


def kernel_of(row: Row) -> str:
    """The kernel that does the work."""
    if not row.get("layer", True):
        return NO_LAYER
    taken, effective = str(row["kernel"]), str(row.get("effective", ""))
    if not taken or (is_operator(row) and mark_of(row) in ("~", "x")):
        return str(row["verdict"])
    return effective or taken


def _called(row: Row) -> str:
    """The kernel that is called, where it hands the work to another one."""
    return "" if row.get("effective", "") in ("", row["kernel"]) else str(row["kernel"])


def _writes(row: Row, names: Mapping[str, str]) -> str:
    """Tensor that an operator writes, by its short name."""
    return names.get(str(row["output"]), str(row["output"])) if is_operator(row) else ""


def _cost(row: Row) -> str:
    """Predicted instructions; - for what is no layer, `once` for what only the first run computes."""
    if not row.get("layer", True):
        return "-"
    if row.get("once"):
        return "once"
    found = row.get("instructions_range")
    if row["instructions"] is None and isinstance(found, list):
        return f"{found[0]:,} to {found[1]:,}"
    return "unknown" if row["instructions"] is None else _number(row["instructions"])


def _scratch(found: object) -> str:
    """Bytes, those of all requests of an operator together."""
    if isinstance(found, list):
        return _number(sum(found))
    return "-" if found == -1 else _number(found)


def _sizes(sizes: object) -> str:
    """`48x48x8` without a batch of one; ? for a size that is not known."""
    numbers = list(sizes) if isinstance(sizes, (list, tuple)) else []
    shown = numbers[1:] if len(numbers) == 4 and numbers[0] == 1 else numbers
    return "x".join("?" if number is None else str(number) for number in shown)


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "-"


def _share(instructions: object, every: int, bar: int) -> str:
    """`12 % ##`, of the instructions that are known."""
    if not isinstance(instructions, int) or not every:
        return ""
    part = instructions / every
    return f"{100 * part:3.0f} % {_block_character() * round(bar * part)}".rstrip()


def _block_character() -> str:
    """A full block where standard output can write one."""
    try:
        "█".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#"
    return "█"


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
"""The same where a runtime is judged."""
STYLES = {"!": "error", "x": "error", "~": "warning", "?": "note"}
"""Styles of lines about layers with a mark."""
MOST_NAMES = 3
"""Layers that are named before a reason which they share."""


def layers_text(report: LayersReport, width: int, *, full_names: bool = False, color: bool = False) -> str:
    """What the model is judged for, then the blocks of all targets."""
    names = {} if full_names else report.names
    notes = "".join(f"{paint(wrapped(note, width), 'faint', color)}\n\n" for note in report.notes)
    return notes + "\n".join("".join(_block(report, total, names, width, color)) for total in report.totals)


def _block(report: LayersReport, total: Total, names: Mapping[str, str], width: int, color: bool) -> Iterator[str]:
    rows = [row for row in report.rows if row["target"] == total.target]
    yield paint(total.target, "path", color) + "\n"
    narrow = 0 < width < NARROW
    cells = [layer_cells(row, total, names, bar=0 if narrow else BAR) for row in rows]
    empty = {name for place, name in enumerate(HEAD) if not any(line[place].strip("- ") for line in cells)}
    kept = [place for place, name in enumerate(HEAD) if name not in empty]
    head = [HEAD[place] for place in kept]
    lines = [[line[place] for place in kept] for line in cells]
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


def _legend(rows: list[Row], names: Mapping[str, str]) -> Iterator[str]:
    """What the marks that occur mean, which hazards there are, and why no kernel computes a layer."""
    seen = {mark_of(row) for row in rows}
    marks = RUNTIME_MARKS if any(is_operator(row) or "runtime" in row for row in rows) else MARKS
    yield from (f"{mark} {text}" for mark, text in marks.items() if mark in seen)
    if any(kernel_of(row) == NO_LAYER for row in rows):
        yield f"{NO_LAYER}: it copies bytes at most"
    for row in rows:
        if row["hazards"]:
            node = str(row["node"])
            yield f"  {names.get(node, node)}: {', '.join(row['hazards'])}"  # type: ignore[arg-type]
    yield from _ranges(rows, names)
    yield from _reasons(rows, names)
    unknown = {str(found["unknown"]) for row in rows if isinstance(found := row.get("q_format"), dict)} - {""}
    yield from (f"Q-format ?: {reason}" for reason in sorted(unknown))


def _ranges(rows: list[Row], names: Mapping[str, str]) -> Iterator[str]:
    """The least and the most instructions of layers without one number, and what decides."""
    from onnxlint_cmsis.cmsis_nn.cost_records import KERNELS

    for row in rows:
        found, node = row.get("instructions_range"), str(row["node"])
        kernel = str(row.get("effective") or row["kernel"])
        if isinstance(found, list) and kernel in KERNELS:
            why = KERNELS[kernel].decides
            yield f"  {names.get(node, node)}: {found[0]:,} to {found[1]:,} instructions, {why}"


def _reasons(rows: list[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Why the layers that are marked are, a line for each reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        reason, node = str(row.get("runtime_reason") or row.get("reason", "")), str(row["node"])
        if reason and mark_of(row) != " ":
            found.setdefault(reason, []).append(names.get(node, node))
    for reason, nodes in found.items():
        more = f" and {len(nodes) - MOST_NAMES} more" if len(nodes) > MOST_NAMES else ""
        yield f"  {', '.join(nodes[:MOST_NAMES])}{more}: {reason}"


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


# `onnxlint-cmsis layers FILE`: every layer of a model with the kernel that runs it.


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
    from onnxlint_cmsis.model.graph import ModelError
    from onnxlint_cmsis.output.layers import layers_report

    if calibration and settings.api != "legacy":
        raise UsageError("--calibration: it gives the Q-formats of --api legacy; without that there are none")
    data = standard_input() if path == STDIN else None
    try:
        return layers_report("<stdin>" if path == STDIN else path, settings, data, calibration=calibration)
    except CalibrationError as error:
        raise UsageError(f"--calibration: {error}") from None
    except ModelError as error:
        raise UsageError(f"{path}: {error.message}") from None
