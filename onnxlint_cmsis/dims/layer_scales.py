"""Scales of what a layer multiplies and sums, and how many output channels have one."""

from __future__ import annotations

from onnxlint_cmsis.dims.scales import activation_scale, weight_scales
from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.roles import Form, Sums
from onnxlint_cmsis.operators.sums import sums_of

ROWS_FIRST = (Form.CONVOLUTION, Form.CHANNELS_LAST, Form.TRANSPOSED_LAST, Form.ROWS)
"""Forms of weights whose first axis has the output channels."""


def bias_scales(graph: Graph, node: Node) -> tuple[float, ...] | None:
    """Unit of a layer's integer sum: activation scale times weight scale, one for each output channel or one for all.

    None where the layer does not multiply two dequantized tensors directly.
    """
    factors = factor_scales(graph, node)
    return factors.products if factors is not None else None


class FactorScales(NamedTuple):
    """Scales of the two dequantized tensors that a layer multiplies."""

    data: float
    """Scale of the data."""
    weights: tuple[float, ...]
    """Scales of the weights: one for each output channel or one for all."""

    @property
    def products(self) -> tuple[float, ...]:
        """Units of the layer's integer sum."""
        return tuple(self.data * scale for scale in self.weights)


def factor_scales(graph: Graph, node: Node) -> FactorScales | None:
    """Scales of a layer's two factors; None unless it multiplies two dequantized tensors directly."""
    roles = operator_of(node).roles
    if sums_of(graph, node) is not Sums.FLOAT or not has_input(node, roles.weights[0]):
        return None
    data = activation_scale(graph, node.inputs[roles.data[0]])
    weights = weight_scales(graph, node.inputs[roles.weights[0]], _output_axis(graph, node))
    if data is None or weights is None or node.attributes.get("alpha", 1.0) != 1.0:
        return None
    return FactorScales(data, weights)


def _output_axis(graph: Graph, node: Node) -> int:
    """Axis of the weights along which the output channels lie, counted from the front; -1 where it is not one axis."""
    roles = operator_of(node).roles
    if roles.form in ROWS_FIRST:
        return 0
    if roles.form is Form.DEPTHWISE_LAST:
        return 3
    if roles.form is Form.TRANSPOSED:
        return 1 if node.int("group", 1) == 1 else -1
    swapped = bool(node.int("transB"))
    return 1 - swapped if len(graph.shape(node.inputs[roles.weights[0]]) or ()) == 2 else -1


def output_channels(graph: Graph, node: Node) -> int:
    """Output channels; 0 where unknown."""
    roles = operator_of(node).roles
    weights = roles.weights[0]
    shape = graph.shape(node.inputs[weights]) if has_input(node, weights) else None
    if roles.form is Form.TRANSPOSED:
        return 0 if shape is None or len(shape) < 2 else (shape[1] or 0) * node.int("group", 1)
    axis = _output_axis(graph, node)
    return 0 if shape is None or not 0 <= axis < len(shape) else shape[axis] or 0


def has_input(node: Node, position: int) -> bool:
    """Whether a node names an input."""
    return position < len(node.inputs) and bool(node.inputs[position])
