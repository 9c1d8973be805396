"""Columns of zeros around the weights of a 1xN convolution, so that its padding is what the kernel on MVE computes.

That kernel takes the padding before to be half of all padding, and all of that to follow from the output's width. A
window that is wider by zeros, with as much more padding before, gives the same sums and can meet both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.rewrite.repairs.zero_taps import refusal_of_weights, surround

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit
    from onnxlint_cmsis.types import KernelCall

MOST = 8
"""Columns of zeros that are added at most."""


class Wider(NamedTuple):
    """A wider window with the same sums."""

    before: int
    """Columns of zeros before the weights."""
    after: int
    """Columns of zeros behind them."""
    call: KernelCall
    """The call with it."""


def refusal(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's window cannot be wider."""
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)}"
    if record.layer is None or _sizes(record.layer.call) is None:
        return "its width or padding is not known"
    if record.layer.call.dilation.w != 1:
        return "it is dilated"
    return refusal_of_weights(graph, record)


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros around the weights: as few as give a call without known hazards."""
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    found = next((one for one in wider(record.layer.call) if edit.clean(one.call)), None)
    if found is None:
        raise NotAppliedError(f"no window of up to {MOST} more columns is computed rightly")
    node, call, axes = record.node, found.call, len(edit.graph.shape(record.node.outputs[0]) or ()) - 2
    surround(edit, record, (*[(0, 0)] * (axes - 1), (found.before, found.after)))
    pads = [*call.padding[2 - axes :], *call.pad_after[2 - axes :]]
    kernel = node.ints("kernel_shape")
    larger = {"kernel_shape": [*kernel[:-1], call.filter_dims.w]} if kernel else {}
    edit.set_attributes(node, "auto_pad", pads=pads, **larger)
    zeros = f"zeros along the width of its weights ({found.before} before, {found.after} behind)"
    text = f"gets {zeros} and a padding of {call.padding.w} before and {call.pad_after.w} after"
    return RepairMade(text, (node.outputs[0],))


def wider(call: KernelCall) -> Iterator[Wider]:
    """Windows with the same sums whose padding is half before and half after, the narrowest first."""
    sizes = _sizes(call)
    if sizes is None:
        return
    width, kernel, outputs, stride, padding = sizes
    for more in range(1, MOST + 1):
        total = (outputs - 1) * stride + kernel + more - width
        before = total // 2 - padding
        if total >= 0 and 0 <= before <= more:
            yield Wider(before, more - before, _widened(call, kernel + more, total))


def _widened(call: KernelCall, kernel: int, total: int) -> KernelCall:
    return call._replace(
        filter_dims=call.filter_dims._replace(w=kernel),
        padding=call.padding._replace(w=total // 2),
        pad_after=call.pad_after._replace(w=total - total // 2),
    )


def _sizes(call: KernelCall) -> tuple[int, int, int, int, int] | None:
    """Width of input, window and output, stride and padding before; None where one is not known."""
    found = (call.input_dims.w, call.filter_dims.w, call.output_dims.w, call.stride.w, call.padding.w)
    known = [size for size in (*found, *call.padding, *call.pad_after) if size is not None]
    return (known[0], known[1], known[2], known[3], known[4]) if len(known) == len(found) + 4 else None


HAZARDS = (
    "conv-1xn-geometry-refused",
    "conv-1xn-narrow-output-refused",
    "conv-1xn-wrong-values",
    "conv-1xn-s4-geometry-refused",
    "conv-1xn-s4-narrow-output-refused",
)
"""Geometries that the 1xN kernels on MVE refuse or compute wrongly."""
WIDER_WINDOW = RepairRow(
    name="wider-window",
    what="puts columns of zeros around the weights of a 1xN convolution, with padding to match",
    hazards=frozenset(HAZARDS),
    price="the products with these zeros",
    free=False,
    refusal=refusal,
    apply=apply,
)
