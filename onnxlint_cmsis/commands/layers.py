"""`onnxlint-cmsis layers FILE`: every layer of a model with the kernel that runs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.discover import STDIN
from onnxlint_cmsis.commands.options import Parser, add_keys, configuration
from onnxlint_cmsis.commands.table import aligned
from onnxlint_cmsis.errors import UsageError

if TYPE_CHECKING:
    from onnxlint_cmsis.config.settings import Settings

VERSION = 1
KEYS = ("targets", "release", "compiler", "assume", "input-shapes")
COLUMNS = (
    "node", "op", "target", "entry", "input", "filter", "output", "kernel", "effective", "macs", "scratch", "classes",
    "hazards",
)  # fmt: skip
NUMBERS = ("macs", "scratch")
WIDEST = 56
"""Characters of a node's name in the text table; converters join whole paths to names, JSON has them in full."""


def run(argv: list[str]) -> int:
    """Print the layers of a model."""
    parser = Parser("layers", "Show every layer of a model: CMSIS-NN entry point, sizes (NHWC), kernel, MACs, scratch.")
    parser.add_argument("file", metavar="FILE", help="model file, - for standard input")
    parser.add_argument("--output-format", dest="form", choices=("text", "json"), default="text", help="Default: text.")
    add_keys(parser, KEYS)
    args = parser.parse_args(argv)
    rows = _rows(args.file, configuration(args).settings_for(args.file))
    if args.form == "json":
        import json

        sys.stdout.write(json.dumps({"version": VERSION, "path": args.file, "layers": rows}, indent=1) + "\n")
    else:
        sys.stdout.write(as_text(rows))
    return 0


def as_text(rows: list[dict[str, object]]) -> str:
    """The rows as an aligned table; the target is a column where there are several."""
    targets = {row.get("target") for row in rows}
    columns = [name for name in COLUMNS if name != "target" or len(targets) > 1]
    cells = [[cell(name, row.get(name)) for name in columns] for row in rows]
    return aligned(columns, cells, right=NUMBERS)


def cell(name: str, value: object) -> str:
    """One value as text: sizes joined by x, ? for a symbolic one, - for what is not known."""
    if name == "node":
        return shortened(str(value))
    if isinstance(value, dict):
        return "; ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        separator = "x" if name in ("input", "filter", "output") else ", "
        return separator.join("?" if item is None else str(item) for item in value)
    return "-" if value is None or (name == "scratch" and value == -1) else str(value)


def shortened(text: str) -> str:
    """The text, its middle left out where it is too long."""
    head = WIDEST // 3
    return text if len(text) <= WIDEST else f"{text[:head]}...{text[head + 3 - WIDEST :]}"


def _rows(path: str, settings: Settings) -> list[dict[str, object]]:
    from onnxlint_cmsis.layers import layers_table
    from onnxlint_cmsis.onnx_graph.errors import ModelError

    data = sys.stdin.buffer.read() if path == STDIN else None
    try:
        return layers_table("<stdin>" if path == STDIN else path, settings, data)
    except ModelError as error:
        raise UsageError(f"{path}: {error.message}") from None
