"""What ONNX asks of a graph and can be decided from it: each rule a small function in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from onnxlint_cmsis.formats.onnx import operand_rules
from onnxlint_cmsis.formats.onnx.connection_rules import duplicate_names, unproduced, unsorted
from onnxlint_cmsis.model.graph import Graph, Problem

STRUCTURE: tuple[Callable[[Graph, AbstractSet[str]], Iterator[Problem]], ...] = (
    unproduced,
    unsorted,
)
"""Rules that onnx.checker has too, in more words and for the first place only."""


MEANING: tuple[Callable[[Graph], Iterator[Problem]], ...] = (
    duplicate_names,
    operand_rules.convolution_weights,
    operand_rules.window_attributes,
    operand_rules.product_sizes,
    operand_rules.normalization_sizes,
    operand_rules.scale_values,
    operand_rules.quantization_sizes,
    operand_rules.zero_points,
)
"""Rules that onnx.checker does not have."""
