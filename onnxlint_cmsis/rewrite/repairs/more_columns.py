"""Columns of zeros behind the weights of an int16 convolution, with as much more padding after.

arm_convolve_s16 adds the columns above 512 in a loop that is wrong for the last of an odd number of output channels
unless four divides the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.rewrite.repairs.zero_taps import refusal_of_weights, surround

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit
    from onnxlint_cmsis.types import KernelCall

MOST = 3
"""Columns of zeros that are added at most: four divides the columns then."""


def refusal(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's window cannot be wider."""
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)}"
    sizes = (*record.layer.call.padding, *record.layer.call.pad_after) if record.layer else (None,)
    return "its padding is not known" if None in sizes else refusal_of_weights(graph, record)


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros behind the weights: as few as give a call without known hazards. Raises NotAppliedError."""
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    found = next(((more, call) for more, call in _wider(record.layer.call) if edit.clean(call)), None)
    if found is None:
        raise NotAppliedError(f"no window of up to {MOST} more columns is computed rightly")
    (more, call), node = found, record.node
    axes = len(edit.graph.shape(node.outputs[0]) or ()) - 2
    surround(edit, record, (*[(0, 0)] * (axes - 1), (0, more)))
    pads = [*call.padding[2 - axes :], *call.pad_after[2 - axes :]]
    kernel = node.ints("kernel_shape")
    larger = {"kernel_shape": [*kernel[:-1], call.filter_dims.w]} if kernel else {}
    edit.set_attributes(node, "auto_pad", pads=pads, **larger)
    return RepairMade(f"gets {more} columns of zeros behind its weights and as much more padding", (node.outputs[0],))


def _wider(call: KernelCall) -> Iterator[tuple[int, KernelCall]]:
    width, after = call.filter_dims.w or 0, call.pad_after.w or 0
    for more in range(1, MOST + 1):
        padded = call.pad_after._replace(w=after + more * (call.dilation.w or 1))
        yield more, call._replace(filter_dims=call.filter_dims._replace(w=width + more), pad_after=padded)


MORE_COLUMNS = RepairRow(
    name="more-columns",
    what="puts columns of zeros behind the weights of an int16 convolution, with padding to match",
    hazards=frozenset({"conv-s16-odd-channel-columns"}),
    price="the products with these zeros",
    free=False,
    refusal=refusal,
    apply=apply,
)
