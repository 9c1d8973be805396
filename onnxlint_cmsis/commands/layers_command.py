"""`onnxlint-cmsis layers FILE`: every layer of a model with the kernel that runs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.discover import STDIN
from onnxlint_cmsis.commands.options import CommandParser, add_keys, configuration
from onnxlint_cmsis.commands.text_table import aligned
from onnxlint_cmsis.errors import UsageError
from onnxlint_cmsis.formats.suffixes import is_tflite_path
from onnxlint_cmsis.lower.verdict import Verdict
from onnxlint_cmsis.reporters.plain import shortened

if TYPE_CHECKING:
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.layers import Total

DESCRIPTION = (
    "Show every layer of a model: CMSIS-NN entry point, sizes (NHWC), kernel, MACs, predicted instructions (not "
    "cycles), scratch, constants (bytes of weights, bias, multipliers and shifts). Relu and Clip right behind a layer "
    "whose kernel clamps are part of it (fused), and so is BatchNormalization in its weights; operators that move and "
    "compute nothing of their own (Reshape, Q/DQ, ...) are no layers. A layer that CMSIS-NN has no function for says "
    "`plain code` where code beside CMSIS-NN does, else `refused`; JSON has the reason."
)
VERSION = 1
KEYS = ("targets", "release", "compiler", "assume", "one-channel", "input-shapes", "runtime", "cmsis-nn-build")
COLUMNS = (
    "node", "op", "target", "runtime", "entry", "input", "filter", "output", "kernel", "effective", "fused", "macs",
    "instructions", "scratch", "constants", "classes", "hazards",
)  # fmt: skip
MEANING = "predicted instructions retired, not cycles; null where unknown"
NUMBERS = ("macs", "instructions", "scratch", "constants")


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("layers", DESCRIPTION)
    parser.add_argument("file", metavar="FILE", help="model file, - for standard input")
    parser.add_argument("--output-format", dest="form", choices=("text", "json"), default="text", help="Default: text.")
    add_keys(parser, KEYS)
    return parser


def run(argv: list[str]) -> int:
    """Print the layers of a model."""
    from onnxlint_cmsis.layers import totals

    args = make_parser().parse_args(argv)
    settings = configuration(args).settings_for(args.file)
    rows = _rows(args.file, settings)
    sums = totals(rows, settings.targets) if rows and not is_tflite_path(args.file) else []
    if args.form == "json":
        import json

        total = [each._asdict() for each in sums]
        report = {"version": VERSION, "path": args.file, "layers": rows, "totals": total, "instructions": MEANING}
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
    else:
        if is_tflite_path(args.file):
            sys.stdout.write(operators_text(rows))
            return 0
        sys.stdout.write(as_text(rows) + totals_text(sums))
    return 0


def as_text(rows: list[dict[str, object]]) -> str:
    """The rows as an aligned table; the target is a column where there are several."""
    targets = {row.get("target") for row in rows}
    judged = any("runtime" in row for row in rows)
    shown = {"target": len(targets) > 1, "runtime": judged}
    columns = [name for name in COLUMNS if shown.get(name, True)]
    cells = [[cell(name, row.get(name)) for name in columns] for row in map(_worded, rows)]
    return aligned(columns, cells, right=NUMBERS)


def operators_text(rows: list[dict[str, object]]) -> str:
    """The operators of a `.tflite` file as an aligned table."""
    from onnxlint_cmsis.tflite_files.operator_rows import COLUMNS as NAMES

    targets = {row["target"] for row in rows}
    columns = [name for name in NAMES if name != "target" or len(targets) > 1]
    return aligned(columns, [[cell(name, row[name]) for name in columns] for row in rows], right=("index",))


def _worded(row: dict[str, object]) -> dict[str, object]:
    """The row with words for a kernel that is not there, what it computes along, and a filter it does not have."""
    words: dict[str, object] = {"fused": [node["op"] for node in row.get("fused", ())]}  # type: ignore[attr-defined]
    if not row["kernel"]:
        words["kernel"] = row["verdict"] if row["verdict"] in (Verdict.PLAIN.value, Verdict.REFUSED.value) else "?"
    if row["filter"] == [None] * 4:
        words["filter"] = None
    return {**row, **words}


def totals_text(totals: list[Total]) -> str:
    """A line for each target: predicted instructions, and the layers the sum leaves out."""
    from onnxlint_cmsis.reporters.plain import counted

    lines = [
        f"{total.target}: {counted(total.instructions, 'instruction')} predicted, as on {total.measured_on}"
        f"{_left_out(total)}\n"
        for total in totals
    ]
    return "".join(["\n", *lines, "Instructions are not cycles.\n"] if lines else [])


def _left_out(total: Total) -> str:
    from onnxlint_cmsis.reporters.plain import counted

    return f"; {counted(total.unknown_layers, 'layer')} of unknown cost left out" if total.unknown_layers else ""


def cell(name: str, value: object) -> str:
    """One value as text: sizes joined by x, ? for a symbolic one, - for what is not known, unknown for a cost."""
    if name in ("node", "output") and isinstance(value, str):
        return shortened(str(value))
    if isinstance(value, dict):
        return "; ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        separator = "x" if name in ("input", "filter", "output") else ", "
        return separator.join("?" if item is None else str(item) for item in value)
    if name == "instructions" and value is None:
        return "unknown"
    return "-" if value is None or (name == "scratch" and value == -1) else str(value)


def _rows(path: str, settings: Settings) -> list[dict[str, object]]:
    from onnxlint_cmsis.graph.model_error import ModelError
    from onnxlint_cmsis.layers import layers_table

    data = sys.stdin.buffer.read() if path == STDIN else None
    try:
        return layers_table("<stdin>" if path == STDIN else path, settings, data)
    except ModelError as error:
        raise UsageError(f"{path}: {error.message}") from None
