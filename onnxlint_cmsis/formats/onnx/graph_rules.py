"""What ONNX asks of a graph and can be decided from it: each rule a small function in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from onnxlint_cmsis.formats.onnx.connection_rules import duplicate_names, unproduced, unsorted
from onnxlint_cmsis.formats.onnx.operand_rules import (
    convolution_weights,
    normalization_sizes,
    product_sizes,
    quantization_sizes,
    scale_values,
    window_attributes,
    zero_points,
)
from onnxlint_cmsis.model.graph import Graph, Problem

STRUCTURE: tuple[Callable[[Graph, AbstractSet[str]], Iterator[Problem]], ...] = (
    unproduced,
    unsorted,
)
"""Rules that onnx.checker has too, in more words and for the first place only."""


MEANING: tuple[Callable[[Graph], Iterator[Problem]], ...] = (
    duplicate_names,
    convolution_weights,
    window_attributes,
    product_sizes,
    normalization_sizes,
    scale_values,
    quantization_sizes,
    zero_points,
)
"""Rules that onnx.checker does not have."""
