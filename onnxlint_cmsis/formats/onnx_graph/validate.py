"""What ONNX asks of a graph and can be decided from it: each rule a small function in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from onnxlint_cmsis.formats.onnx_graph import operand_checks as operands
from onnxlint_cmsis.formats.onnx_graph import topology
from onnxlint_cmsis.graph.model import Graph, Problem

STRUCTURE: tuple[Callable[[Graph, AbstractSet[str]], Iterator[Problem]], ...] = (
    topology.duplicate_outputs,
    topology.unproduced,
    topology.unsorted,
)
"""Rules that onnx.checker has too, in more words and for the first place only."""
MEANING: tuple[Callable[[Graph], Iterator[Problem]], ...] = (
    topology.duplicate_names,
    operands.convolution_weights,
    operands.window_attributes,
    operands.product_sizes,
    operands.normalization_sizes,
    operands.scale_values,
    operands.quantization_sizes,
    operands.zero_points,
)
"""Rules that onnx.checker does not have."""


def structure_problems(graph: Graph, given: AbstractSet[str]) -> tuple[Problem, ...]:
    """Problems of the connections; `given` are the keys of inputs and initializers of all graphs."""
    return tuple(problem for rule in STRUCTURE for problem in rule(graph, given))


def meaning_problems(graph: Graph) -> tuple[Problem, ...]:
    """Problems of names and operands."""
    return tuple(problem for rule in MEANING for problem in rule(graph))
