"""The spatial side of a layer: kernel, stride, dilation, padding (auto_pad, folded Pad nodes) and output size."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Pair, Size
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.windows import places, reach, rounded_up, same_padding


class SlidingWindow(NamedTuple):
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
    nodes: tuple[Node, ...]
    """The Pad nodes, the nearest first."""

    def labels(self) -> tuple[str, ...]:
        """Labels of the Pad nodes."""
        return tuple(node.label for node in self.nodes)


def pair(values: tuple[Size, ...], missing: int) -> Pair:
    """Height and width of one or two spatial values; `one` stands in for the height of a one-dimensional layer."""
    return Pair(missing, values[0]) if len(values) == 1 else Pair(values[0], values[1])


def window(node: Node, size: tuple[Size, ...], kernel: tuple[Size, ...], folded: Folded | None = None) -> SlidingWindow:
    """Window of a Conv or pooling node over `size` (spatial axes only), output size by ONNX's formulas."""
    axes = len(size)
    stride = node.ints("strides") or (1,) * axes
    dilation = node.ints("dilations") or (1,) * axes
    extra_before = folded.before if folded else (0,) * axes
    extra_after = folded.after if folded else (0,) * axes
    padded = tuple(None if s is None else s + b + a for s, b, a in zip(size, extra_before, extra_after, strict=True))
    spans = tuple(None if k is None else reach(k, d) for k, d in zip(kernel, dilation, strict=True))
    pads = [_axis_pads(node, i, padded[i], spans[i]) for i in range(axes)]
    ceil = node.int("ceil_mode")
    output = tuple(_output(padded[i], spans[i], stride[i], pads[i], ceil) for i in range(axes))
    before = tuple(None if p[0] is None else p[0] + e for p, e in zip(pads, extra_before, strict=True))
    after = tuple(None if p[1] is None else p[1] + e for p, e in zip(pads, extra_after, strict=True))
    return SlidingWindow(
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
    small, large = same_padding(size, span, stride)
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def _output(size: Size, span: Size, stride: int, pads: tuple[Size, Size], ceil: int) -> Size:
    if size is None or span is None or pads[0] is None or pads[1] is None:
        return None
    return (rounded_up if ceil else places)(size, span, stride, pads[0], pads[1])
