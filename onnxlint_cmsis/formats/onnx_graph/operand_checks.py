"""Rules on operands: weights that fit their operator, scales and zero-points that can be used."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from onnxlint_cmsis.graph.model import Graph, Node, Number, Problem
from onnxlint_cmsis.graph.window_attributes import window_misfit
from onnxlint_cmsis.operators.normalization_operators import BATCH_NORMALIZATION
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.roles import Form, Quantized
from onnxlint_cmsis.types import Size

Shape = tuple[Size, ...]
CONVOLVING = (Form.CONVOLUTION, Form.TRANSPOSED)
"""Forms of convolutions' weights."""


def convolution_weights(graph: Graph) -> Iterator[Problem]:
    """Rank, channels per group, kernel_shape and bias of convolutions, as far as the sizes are known."""
    for node in graph.nodes:
        roles = operator_of(node).roles
        if roles.form not in CONVOLVING or node.int("channels_last"):
            continue
        x, w, bias = (_shape(graph, node, place) for place in (roles.data[0], roles.weights[0], roles.bias))
        found = next(_convolution(node, x, w, bias), None) if w is not None else None
        if found:
            yield Problem("invalid", found, node.label)


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
    yield from (_transposed_channels if transposed else _channels)(w, channels, group)
    filters = w[0]
    if transposed:
        filters = None if w[1] is None else w[1] * group
    if bias is not None and (len(bias) != 1 or _differ(bias, (filters,))):
        yield f"bias has shape {text(bias)}; allowed is {text((filters,))}"


def window_attributes(graph: Graph) -> Iterator[Problem]:
    """Strides, dilations, pads and kernel of convolutions and pooling: as many as the input has spatial axes."""
    for node in graph.nodes:
        shape = _shape(graph, node, 0)
        sliding = "kernel_shape" in node.attributes or operator_of(node).roles.form in CONVOLVING
        found = window_misfit(node, len(shape) - 2) if sliding and shape is not None and len(shape) > 2 else ""
        if found:
            yield Problem("invalid", found, node.label)


def _channels(w: Shape, channels: Size, group: int) -> Iterator[str]:
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


def product_sizes(graph: Graph) -> Iterator[Problem]:
    """Inner sizes of matrix products, as far as they are known."""
    for node in graph.nodes:
        roles = operator_of(node).roles
        if roles.form not in (Form.MATMUL, Form.GEMM) or node.int("transBatchA") or node.int("transBatchB"):
            continue
        a, b = _shape(graph, node, roles.data[0]), _shape(graph, node, roles.weights[0])
        if a is None or b is None:
            continue
        if roles.form is Form.GEMM and (len(a) != 2 or len(b) != 2):
            yield Problem("invalid", f"factors have shapes {text(a)} and {text(b)}; allowed is rank 2", node.label)
            continue
        a, b = _swapped(a, node.int("transA")), _swapped(b, node.int("transB"))
        if not a or not b:
            yield Problem(
                "invalid", f"factors have shapes {text(a)} and {text(b)}; allowed is rank 1 and more", node.label
            )
        elif _differ(a[-1:], b[-2:-1] or b):
            found = f"multiplies {text(a)} by {text(b)}; the inner sizes must be equal"
            yield Problem("invalid", found, node.label)


def _swapped(shape: Shape, swap: int) -> Shape:
    """A factor's shape with the last two sizes swapped; a vector has only one."""
    return (*shape[:-2], shape[-1], shape[-2]) if swap and len(shape) > 1 else shape


def normalization_sizes(graph: Graph) -> Iterator[Problem]:
    """Scale, bias, mean and variance of BatchNormalization: one number per channel."""
    for node in graph.nodes:
        x = _shape(graph, node, 0) if operator_of(node) is BATCH_NORMALIZATION else None
        if x is None or len(x) < 2:
            continue
        for place in range(1, 5):
            shape = _shape(graph, node, place)
            if shape is not None and (len(shape) != 1 or _differ(shape, x[1:2])):
                found = f"`{node.inputs[place]}` has shape {text(shape)}; allowed is {text(x[1:2])}"
                yield Problem("invalid", found, node.label)
                break


def scale_values(graph: Graph) -> Iterator[Problem]:
    """Scales that are not finite and above zero, each once."""
    seen: set[str] = set()
    for node in graph.nodes:
        for _, place, _ in _quantized(node):
            key = node.inputs[place] if 0 <= place < len(node.inputs) else ""
            constant = graph.constants.get(key)
            if constant is None or key in seen:
                continue
            seen.add(key)
            values = constant.values() or ()
            if values and (not math.isfinite(sum(values)) or min(values) <= 0):  # the sum is quick, and NaN if one is
                yield from _wrong_scale(key, values, node)


def _wrong_scale(key: str, values: Sequence[Number], node: Node) -> Iterator[Problem]:
    for position, value in enumerate(values):
        if not (math.isfinite(value) and value > 0):
            found = f"scale `{key}` has {value} at {position}; allowed are finite numbers above 0"
            yield Problem("invalid", found, node.label)
            break


def quantization_sizes(graph: Graph) -> Iterator[Problem]:
    """Per-axis scales: as many as the axis has elements; zero-points: as many as scales."""
    for node in graph.nodes:
        operator = operator_of(node)
        per_axis = operator.quantizes or operator.dequantizes
        for value, scale, zero in _quantized(node):
            scales, zeros = _shape(graph, node, scale), _shape(graph, node, zero)
            if scales is None:
                continue
            one_for_all = not per_axis and (zeros or (1,)) == (1,)
            if zeros is not None and not one_for_all and _differ(zeros or (1,), scales or (1,)):
                found = (
                    f"zero-point `{node.inputs[zero]}` has shape {text(zeros)}, scale {text(scales)}; they must agree"
                )
                yield Problem("invalid", found, node.label)
            elif per_axis and not node.int("block_size"):
                found = _axis(node, _shape(graph, node, 0 if value < 0 else value), scales)
                if found:
                    yield Problem("invalid", found, node.label)


def _axis(node: Node, shape: Shape | None, scales: Shape) -> str:
    """Problem of a per-axis scale of Q or DQ, empty where there is none or it is unknown."""
    if shape is None or len(scales) != 1 or scales[0] in (None, 1):
        return ""
    axis = node.int("axis", 1)
    if not -len(shape) <= axis < len(shape):
        return f"axis is {axis}, input has shape {text(shape)}; allowed are axes the input has"
    if _differ(scales, (shape[axis],)):
        return (
            f"{scales[0]} scales for axis {axis} of {text(shape)}; allowed is one for each element of the axis, or one"
        )
    return ""


def zero_points(graph: Graph) -> Iterator[Problem]:
    """Zero-points of another type than the values they belong to."""
    for node in graph.nodes:
        for value, _, zero in _quantized(node):
            if value < 0 or zero >= len(node.inputs) or not node.inputs[zero]:
                continue
            have, want = graph.elem_type(node.inputs[zero]), graph.elem_type(node.inputs[value])
            if have and want and have != want:
                found = f"zero-point `{node.inputs[zero]}` is {have}; allowed is the values' own type, {want}"
                yield Problem("invalid", found, node.label)


def _quantized(node: Node) -> tuple[Quantized, ...]:
    return operator_of(node).roles.quantized_of(len(node.inputs))


def _shape(graph: Graph, node: Node, place: int) -> Shape | None:
    """Shape of an input, None where it is omitted or unknown."""
    return graph.shape(node.inputs[place]) if 0 <= place < len(node.inputs) and node.inputs[place] else None


def _differ(one: Shape, other: Shape) -> bool:
    """Whether two shapes certainly differ."""
    return len(one) != len(other) or any(a != b for a, b in zip(one, other, strict=True) if None not in (a, b))


def text(shape: Shape | None) -> str:
    """A shape for messages: `[1, ?, 3]`."""
    return (
        "of unknown rank" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
    )
