"""What came of fixing a file as plain data for JSON and SARIF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.fields import finite

if TYPE_CHECKING:
    from onnxlint_cmsis.results.fix_result import FixResult


def fix_fields(fix: FixResult) -> dict[str, object]:
    """Every field of a result; named tuples become objects."""
    return {name: _plain(value) for name, value in zip(fix._fields, fix, strict=True)}


def _plain(value: object) -> object:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: _plain(item) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return finite(value) if isinstance(value, float) else value
