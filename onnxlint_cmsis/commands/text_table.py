"""A table of text with aligned columns; it never wraps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.plain import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = "  "


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> str:
    """The rows under their heads; columns named in `right` are aligned to the right."""
    lines = [list(head), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "".join(_line(line, widths, [name in right for name in head]) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    )
    return _GAP.join(padded).rstrip() + "\n"
