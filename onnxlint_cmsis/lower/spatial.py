"""The spatial side of a layer: kernel, stride, dilation, padding (auto_pad, folded Pad nodes) and output size."""

from __future__ import annotations

from typing import NamedTuple

from onnxlint_cmsis.lower.quantization import is_quantize
from onnxlint_cmsis.onnx_graph.graph import Graph, Node
from onnxlint_cmsis.types import Pair, Size


class Window(NamedTuple):
    """A sliding window, height and width; a one-dimensional layer has height 1, as in `arm_convolve_1_x_n_s8`."""

    size: Pair
    """Input plane before padding."""
    kernel: Pair
    """Filter plane."""
    stride: Pair
    """Stride."""
    dilation: Pair
    """Dilation."""
    before: Pair
    """Padding before (top, left)."""
    after: Pair
    """Padding after (bottom, right), as the model asks for it."""
    output: Pair
    """Output plane."""


class Folded(NamedTuple):
    """Padding taken over from Pad nodes in front of a layer."""

    source: str
    """Tensor in front of the Pad nodes."""
    before: tuple[int, ...]
    """Extra padding before, one per spatial axis."""
    after: tuple[int, ...]
    """Extra padding after, one per spatial axis."""
    labels: tuple[str, ...]
    """Labels of the Pad nodes."""


def pair(values: tuple[Size, ...], one: int) -> Pair:
    """Height and width of one or two spatial values; `one` stands in for the height of a one-dimensional layer."""
    return Pair(one, values[0]) if len(values) == 1 else Pair(values[0], values[1])


def window(node: Node, size: tuple[Size, ...], kernel: tuple[Size, ...], folded: Folded | None = None) -> Window:
    """Window of a Conv or pooling node over `size` (spatial axes only), output size by ONNX's formulas."""
    axes = len(size)
    stride = node.ints("strides") or (1,) * axes
    dilation = node.ints("dilations") or (1,) * axes
    extra_before = folded.before if folded else (0,) * axes
    extra_after = folded.after if folded else (0,) * axes
    padded = tuple(None if s is None else s + b + a for s, b, a in zip(size, extra_before, extra_after, strict=True))
    spans = tuple(None if k is None else (k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))
    pads = [_axis_pads(node, i, padded[i], spans[i]) for i in range(axes)]
    ceil = node.int("ceil_mode")
    output = tuple(_output(padded[i], spans[i], stride[i], pads[i], ceil) for i in range(axes))
    before = tuple(None if p[0] is None else p[0] + e for p, e in zip(pads, extra_before, strict=True))
    after = tuple(None if p[1] is None else p[1] + e for p, e in zip(pads, extra_after, strict=True))
    return Window(
        pair(size, 1), pair(kernel, 1), pair(stride, 1), pair(dilation, 1), pair(before, 0), pair(after, 0),
        pair(output, 1),
    )  # fmt: skip


def _axis_pads(node: Node, axis: int, size: Size, span: Size) -> tuple[Size, Size]:
    mode = node.text("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = node.ints("pads")
        return (pads[axis], pads[axis + len(pads) // 2]) if pads else (0, 0)
    if mode == "VALID":
        return 0, 0
    if size is None or span is None:
        return None, None
    stride = (node.ints("strides") or (1,) * (axis + 1))[axis]
    total = max((-(-size // stride) - 1) * stride + span - size, 0)
    small = total // 2
    return (small, total - small) if mode == "SAME_UPPER" else (total - small, small)


def _output(size: Size, span: Size, stride: int, pads: tuple[Size, Size], ceil: int) -> Size:
    if size is None or span is None or pads[0] is None or pads[1] is None:
        return None
    room = size + pads[0] + pads[1] - span
    steps = -(-room // stride) if ceil else room // stride
    if ceil and steps * stride >= size + pads[0]:  # the last window must start inside the input or the left padding
        steps -= 1
    return steps + 1


def fold_pads(graph: Graph, tensor: str, axes: int) -> Folded | None:
    """Padding of constant zero Pad nodes right in front of a layer, seen through Q/DQ with equal parameters.

    Returns None where there is none; a Pad that touches batch or channels, crops, or fills with another value than
    real zero is not folded.
    """
    before, after, labels = (0,) * axes, (0,) * axes, []
    while True:
        node, source = _producer_through_qdq(graph, tensor)
        pads = _zero_pads(graph, node, axes) if node is not None else None
        if node is None or pads is None:
            break
        before = tuple(b + p for b, p in zip(before, pads[0], strict=True))
        after = tuple(a + p for a, p in zip(after, pads[1], strict=True))
        labels.append(node.label)
        tensor = source
    return Folded(tensor, before, after, tuple(labels)) if labels else None


def _producer_through_qdq(graph: Graph, tensor: str) -> tuple[Node | None, str]:
    node = graph.producers.get(tensor)
    if is_quantize(node, "DequantizeLinear") and node is not None:
        inner = graph.producers.get(node.inputs[0])
        if is_quantize(inner, "QuantizeLinear") and inner is not None:
            pad = graph.producers.get(inner.inputs[0])
            if pad is not None and pad.is_op("Pad") and _same_parameters(graph, pad, node):
                return pad, pad.inputs[0]
        return None, ""
    if node is not None and node.is_op("Pad"):
        return node, node.inputs[0]
    return None, ""


def _same_parameters(graph: Graph, pad: Node, dequantize: Node) -> bool:
    """Folding is exact only where the Pad's own input has the scale and zero-point of its output."""
    before = graph.producers.get(pad.inputs[0])
    if not is_quantize(before, "DequantizeLinear") or before is None:
        return False
    return all(
        a == b or _equal_constants(graph, a, b) for a, b in zip(before.inputs[1:], dequantize.inputs[1:], strict=False)
    ) and len(before.inputs) == len(dequantize.inputs)


def _equal_constants(graph: Graph, a: str, b: str) -> bool:
    first, second = graph.constants.get(a), graph.constants.get(b)
    if first is None or second is None:
        return False
    values = first.values()
    return values is not None and values == second.values()


def _zero_pads(graph: Graph, node: Node, axes: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    if node.text("mode", "constant") != "constant" or (len(node.inputs) > 3 and node.inputs[3]):
        return None
    pads = node.ints("pads") or node.ints("paddings") or _constant_ints(graph, node, 1)
    rank = axes + 2
    if len(pads) != 2 * rank or not _fills_zero(graph, node):
        return None
    leading = (*pads[:2], *pads[rank : rank + 2])
    before, after = pads[2:rank], pads[rank + 2 :]
    if any(leading) or any(p < 0 for p in pads):
        return None
    return before, after


def _constant_ints(graph: Graph, node: Node, position: int) -> tuple[int, ...]:
    name = node.inputs[position] if len(node.inputs) > position else ""
    values = graph.constants[name].values() if name in graph.constants else None
    return tuple(int(v) for v in values or ())


def _fills_zero(graph: Graph, node: Node) -> bool:
    """Real zero: 0 in a float tensor. An integer tensor's zero-point is not known here, so it is not folded."""
    if graph.elem_type(node.inputs[0]) not in ("float32", "float16", "bfloat16", "float64"):
        return False
    if len(node.inputs) > 2 and node.inputs[2]:
        constant = graph.constants.get(node.inputs[2])
        values = constant.values() if constant else None
        return values is not None and all(v == 0 for v in values)
    return node.attributes.get("value", 0.0) == 0
