"""Rules on operands: weights that fit their operator, scales and zero-points that can be used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.graph import Graph, Node, Problem
from onnxlint_cmsis.model.roles import Form, Quantized
from onnxlint_cmsis.model.window_attributes import window_misfit
from onnxlint_cmsis.operators.normalization import BATCH_NORMALIZATION
from onnxlint_cmsis.operators.product import swapped

Shape = tuple[Size, ...]


CONVOLVING = (Form.CONVOLUTION, Form.TRANSPOSED)
"""Forms of convolutions' weights."""


def of_nodes(rule: Callable[[Graph, Node], Iterator[str | Problem]]) -> Callable[[Graph], Iterator[Problem]]:
    """A rule on a graph from what is wrong with one node."""

    def problems(graph: Graph) -> Iterator[Problem]:
        for node in graph.nodes:
            for wrong in rule(graph, node):
                problem = Problem("invalid", wrong) if isinstance(wrong, str) else wrong
                yield problem._replace(node=node.label)

    return problems


@of_nodes
def convolution_weights(graph: Graph, node: Node) -> Iterator[str]:
    """Rank, channels per group, kernel_shape and bias of convolutions, as far as the sizes are known."""
    roles = operator_of(node).roles
    if roles.form in CONVOLVING and not node.int("channels_last"):
        x, w, bias = (_shape(graph, node, position) for position in (roles.data[0], roles.weights[0], roles.bias))
        if w is not None:
            yield from islice(_convolution(node, x, w, bias), 1)


def _convolution(node: Node, x: Shape | None, w: Shape, bias: Shape | None) -> Iterator[str]:
    """Problems of one convolution; later ones may follow from the first."""
    group, kernel = node.int("group", 1), node.ints("kernel_shape")
    if len(w) < 3 or (x is not None and len(x) != len(w)):
        yield f"weight has shape {text(w)}, input {text(x)}; allowed are equal ranks from 3"
        return
    if group < 1:
        yield f"group is {group}; allowed is 1 and more"
        return
    if kernel and _differ(kernel, w[2:]):
        yield f"kernel_shape is {list(kernel)}, weight has shape {text(w)}; they must agree"
    channels = x[1] if x is not None else None
    transposed = operator_of(node).roles.form is Form.TRANSPOSED
    yield from (_transposed_channels if transposed else _channel_faults)(w, channels, group)
    filters = w[0]
    if transposed:
        filters = None if w[1] is None else w[1] * group
    if bias is not None and (len(bias) != 1 or _differ(bias, (filters,))):
        yield f"bias has shape {text(bias)}; allowed is {text((filters,))}"


@of_nodes
def window_attributes(graph: Graph, node: Node) -> Iterator[str]:
    """Strides, dilations, pads and kernel of convolutions and pooling: as many as the input has spatial axes."""
    shape = _shape(graph, node, 0)
    sliding = "kernel_shape" in node.attributes or operator_of(node).roles.form in CONVOLVING
    if sliding and shape is not None and len(shape) > 2:
        yield from filter(None, (window_misfit(node, len(shape) - 2),))


def _channel_faults(w: Shape, channels: Size, group: int) -> Iterator[str]:
    """Weight [out_c, in_c / group, ...] against the channels of the input."""
    if channels is not None and channels % group:
        yield f"{channels} input channels in {group} groups; allowed is a multiple"
    elif channels is not None and _differ((w[1],), (channels // group,)):
        per_group = f"{channels} input channels in {group} groups"
        yield f"weight has shape {text(w)} for {per_group}; allowed is {channels // group} in axis 1"
    elif w[0] is not None and w[0] % group:
        yield f"{w[0]} output channels in {group} groups; allowed is a multiple"


def _transposed_channels(w: Shape, channels: Size, group: int) -> Iterator[str]:
    """Weight [in_c, out_c / group, ...] against the channels of the input."""
    if _differ((w[0],), (channels,)):
        yield f"weight has shape {text(w)} for {channels} input channels; allowed is {channels} in axis 0"
    elif w[0] is not None and w[0] % group:
        yield f"{w[0]} input channels in {group} groups; allowed is a multiple"


@of_nodes
def product_sizes(graph: Graph, node: Node) -> Iterator[str]:
    """Inner sizes of matrix products, as far as they are known."""
    roles = operator_of(node).roles
    if roles.form not in (Form.MATMUL, Form.GEMM) or node.int("transBatchA") or node.int("transBatchB"):
        return
    a, b = _shape(graph, node, roles.data[0]), _shape(graph, node, roles.weights[0])
    if a is None or b is None:
        return
    if roles.form is Form.GEMM and (len(a) != 2 or len(b) != 2):
        yield f"factors have shapes {text(a)} and {text(b)}; allowed is rank 2"
        return
    a, b = swapped(a, node.int("transA")), swapped(b, node.int("transB"))
    if not a or not b:
        yield f"factors have shapes {text(a)} and {text(b)}; allowed is rank 1 and more"
    elif _differ(a[-1:], b[-2:-1] or b):
        yield f"multiplies {text(a)} by {text(b)}; the inner sizes must be equal"


@of_nodes
def normalization_sizes(graph: Graph, node: Node) -> Iterator[str]:
    """Scale, bias, mean and variance of BatchNormalization: one number per channel."""
    x = _shape(graph, node, 0) if operator_of(node) is BATCH_NORMALIZATION else None
    if x is None or len(x) < 2:
        return
    for position in range(1, 5):
        shape = _shape(graph, node, position)
        if shape is not None and (len(shape) != 1 or _differ(shape, x[1:2])):
            yield f"`{node.inputs[position]}` has shape {text(shape)}; allowed is {text(x[1:2])}"
            return


def scale_values(graph: Graph) -> Iterator[Problem]:
    """Scales that are not finite and above zero, each once."""
    seen: set[str] = set()
    for node in graph.nodes:
        for _, position, _ in _quantized(node):
            key = node.inputs[position] if node.has(position) else ""
            constant = graph.constants.get(key)
            if constant is None or key in seen:
                continue
            seen.add(key)
            values = constant.values() or ()
            if not values or (math.isfinite(sum(values)) and min(values) > 0):  # the sum is quick, and NaN if one is
                continue
            bad = [(index, value) for index, value in enumerate(values) if not (math.isfinite(value) and value > 0)]
            for index, value in bad[:1]:
                wrong = f"scale `{key}` has {value} at {index}; allowed are finite numbers above 0"
                yield Problem("invalid", wrong, node.label)


@of_nodes
def quantization_sizes(graph: Graph, node: Node) -> Iterator[str | Problem]:
    """Per-axis scales: as many as the axis has elements; zero-points: as many as scales."""
    operator = operator_of(node)
    per_axis = operator.quantizes or operator.dequantizes
    for value, scale, zero in _quantized(node):
        scales, zeros = _shape(graph, node, scale), _shape(graph, node, zero)
        if scales is None:
            continue
        one_for_all = not per_axis and (zeros or (1,)) == (1,)
        if zeros is not None and not one_for_all and _differ(zeros or (1,), scales or (1,)):
            yield f"zero-point `{node.inputs[zero]}` has shape {text(zeros)}, scale {text(scales)}; they must agree"
        elif per_axis and not node.int("block_size"):
            yield from _axis(node, _shape(graph, node, max(value, 0)), scales)


def _axis(node: Node, shape: Shape | None, scales: Shape) -> Iterator[Problem]:
    """Problem of a per-axis scale of Q or DQ, as far as the shapes are known; the one axis that fits mends it."""
    if shape is None or len(scales) != 1 or scales[0] in (None, 1):
        return
    axis, fitting = node.int("axis", 1), [number for number, size in enumerate(shape) if size in scales]
    do = f"Set axis to {fitting[0]}." if len(fitting) == 1 and None not in shape else ""
    if not -len(shape) <= axis < len(shape):
        message = f"axis is {axis}, input has shape {text(shape)}; allowed are axes the input has"
        yield Problem("invalid", message, do=do)
    elif _differ(scales, (shape[axis],)):
        allowed = "allowed is one for each element of the axis, or one"
        yield Problem("invalid", f"{scales[0]} scales for axis {axis} of {text(shape)}; {allowed}", do=do)


@of_nodes
def zero_points(graph: Graph, node: Node) -> Iterator[str]:
    """Zero-points whose type is not that of their values."""
    for value, _, zero in _quantized(node):
        if value < 0 or not node.has(zero):
            continue
        have, want = graph.elem_type(node.inputs[zero]), graph.elem_type(node.inputs[value])
        if have and want and have != want:
            yield f"zero-point `{node.inputs[zero]}` is {have}; allowed is the values' own type, {want}"


def _quantized(node: Node) -> tuple[Quantized, ...]:
    return operator_of(node).roles.quantized_of(len(node.inputs))


def _shape(graph: Graph, node: Node, position: int) -> Shape | None:
    """Shape of an input, None where it is omitted or unknown."""
    return graph.shape(node.inputs[position]) if node.has(position) else None


def _differ(left: Shape, right: Shape) -> bool:
    return len(left) != len(right) or any(a != b for a, b in zip(left, right, strict=True) if None not in (a, b))


def text(shape: Shape | None) -> str:
    """A shape for messages: `[1, ?, 3]`."""
    return (
        "of unknown rank" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
    )
