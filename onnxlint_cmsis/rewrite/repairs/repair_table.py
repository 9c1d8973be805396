"""Every repair by rewriting, and which one answers a hazard."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.rewrite.repairs.equal_scales import EQUAL_SCALES
from onnxlint_cmsis.rewrite.repairs.explicit_pad import EXPLICIT_PAD
from onnxlint_cmsis.rewrite.repairs.more_columns import MORE_COLUMNS
from onnxlint_cmsis.rewrite.repairs.output_padding import OUTPUT_PADDING
from onnxlint_cmsis.rewrite.repairs.repair import RepairRow
from onnxlint_cmsis.rewrite.repairs.shifted_taps import SHIFTED_TAPS
from onnxlint_cmsis.rewrite.repairs.signed_integers import SIGNED_INTEGERS
from onnxlint_cmsis.rewrite.repairs.softmax_output import SOFTMAX_OUTPUT
from onnxlint_cmsis.rewrite.repairs.split_batch import SPLIT_BATCH
from onnxlint_cmsis.rewrite.repairs.split_groups import SPLIT_GROUPS
from onnxlint_cmsis.rewrite.repairs.spread_taps import SPREAD_TAPS
from onnxlint_cmsis.rewrite.repairs.useless_pairs import USELESS_PAIRS
from onnxlint_cmsis.rewrite.repairs.wider_window import WIDER_WINDOW
from onnxlint_cmsis.rewrite.repairs.zero_bias import ZERO_BIAS

REPAIRS: tuple[RepairRow, ...] = (
    SOFTMAX_OUTPUT,
    EQUAL_SCALES,
    USELESS_PAIRS,
    SIGNED_INTEGERS,
    ZERO_BIAS,
    SPLIT_GROUPS,
    WIDER_WINDOW,
    EXPLICIT_PAD,
    OUTPUT_PADDING,
    SHIFTED_TAPS,
    SPREAD_TAPS,
    MORE_COLUMNS,
    SPLIT_BATCH,
)
"""In the order in which they are tried; a layer that two could mend takes the first one that does."""


def repairs_of(hazard: str) -> Iterator[RepairRow]:
    """Repairs that answer a hazard, by its name."""
    return (row for row in REPAIRS if hazard in row.hazards)
