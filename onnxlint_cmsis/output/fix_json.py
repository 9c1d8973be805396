"""What came of fixing a file as plain data for JSON and SARIF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.output.finding_json import finite

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.fix_results import FixResult


def fix_fields(fix: FixResult) -> Any:
    """Every field of a result."""
    return plain_data(fix)


def plain_data(value: object) -> Any:
    """Named tuples as objects, and other tuples as lists."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plain_data(item) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, tuple):
        return [plain_data(item) for item in value]
    return finite(value) if isinstance(value, float) else value
