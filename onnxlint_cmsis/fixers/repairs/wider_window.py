"""Columns of zeros around the weights of a 1xN convolution, so that its padding is what the kernel on MVE computes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.fits.zero_taps import window_sizes
from onnxlint_cmsis.fixers.repairs.zero_taps import surround
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.windows import halves, padding_for

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.lower.lowered import LoweredLayer


WIDEST_WINDOW = 8
"""Columns of zeros that are added at most."""


class Wider(NamedTuple):
    """A wider window with the same sums."""

    before: int
    """Columns of zeros before the weights."""
    after: int
    """Columns of zeros behind them."""
    call: KernelCall
    """The call with it."""


def apply_wider_window(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros around the weights: as few as give a call without known hazards.

    The kernel takes the padding before to be half of all padding, and all of that to follow from the output's width. A
    window that is wider by zeros, with as much more padding before, gives the same sums and can meet both.
    """
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    window = next((candidate for candidate in wider(record.layer.call) if edit.clean(candidate.call)), None)
    if window is None:
        raise NotAppliedError(f"no window of up to {WIDEST_WINDOW} more columns is computed rightly")
    widen(edit, record, (window.before, window.after), window.call)
    zeros = f"zeros along the width of its weights ({window.before} before, {window.after} behind)"
    text = f"gets {zeros} and a padding of {window.call.padding.w} before and {window.call.pad_after.w} after"
    return RepairMade(text, (record.node.outputs[0],))


def widen(edit: GraphEdit, record: LoweredLayer, columns: tuple[int, int], call: KernelCall) -> None:
    """Put columns of zeros before and behind the weights, and give the layer the padding of the call."""
    node, axes = record.node, len(edit.graph.shape(record.node.outputs[0]) or ()) - 2
    surround(edit, record, (*[(0, 0)] * (axes - 1), columns))
    pads = [*call.padding[2 - axes :], *call.pad_after[2 - axes :]]
    kernel = node.ints("kernel_shape")
    larger = {"kernel_shape": [*kernel[:-1], call.filter_dims.w]} if kernel else {}
    edit.set_attributes(node, "auto_pad", pads=pads, **larger)


def wider(call: KernelCall) -> Iterator[Wider]:
    """Windows with the same sums whose padding is half before and half after, the narrowest first."""
    sizes = window_sizes(call)
    if sizes is None:
        return
    width, kernel, outputs, stride, padding = sizes
    for more in range(1, WIDEST_WINDOW + 1):
        total = padding_for(outputs, width, kernel + more, stride)
        first, last = halves(total)
        before = first - padding
        if total >= 0 and 0 <= before <= more:
            widened = call._replace(
                filter_dims=call.filter_dims._replace(w=kernel + more),
                padding=call.padding._replace(w=first),
                pad_after=call.pad_after._replace(w=last),
            )
            yield Wider(before, more - before, widened)
