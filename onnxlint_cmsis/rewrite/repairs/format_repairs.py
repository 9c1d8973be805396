"""The repairs of a file's format."""

from __future__ import annotations

from onnxlint_cmsis.formats.suffixes import is_tflite_path
from onnxlint_cmsis.rewrite.repairs.repair import RepairRow
from onnxlint_cmsis.rewrite.repairs.repair_table import REPAIRS


def repairs_for(path: str) -> tuple[RepairRow, ...]:
    """Repairs that a file's format has, in the order in which they are tried."""
    if not is_tflite_path(path):
        return REPAIRS
    from onnxlint_cmsis.rewrite.repairs.tflite_repairs import TFLITE_REPAIRS

    return TFLITE_REPAIRS
