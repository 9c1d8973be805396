"""Every repair by rewriting, and which one answers a hazard."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.rewrite.repairs.explicit_pad import EXPLICIT_PAD
from onnxlint_cmsis.rewrite.repairs.repair import RepairRow
from onnxlint_cmsis.rewrite.repairs.split_groups import SPLIT_GROUPS
from onnxlint_cmsis.rewrite.repairs.zero_bias import ZERO_BIAS

REPAIRS: tuple[RepairRow, ...] = (ZERO_BIAS, SPLIT_GROUPS, EXPLICIT_PAD)
"""In the order in which they are tried; a layer that two could mend takes the first one that does."""


def repairs_of(hazard: str) -> Iterator[RepairRow]:
    """Repairs that answer a hazard, by its name."""
    return (row for row in REPAIRS if hazard in row.hazards)
