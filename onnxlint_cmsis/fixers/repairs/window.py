"""Repairs of padding and windows: a Pad in front, shifted, spread and added taps, wider windows, columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.planning.fits.explicit_pad import input_dequantizer, pad_amounts
from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.fits.zero_taps import shift_sizes, window_sizes
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx.document import BITS
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.layer import parameters_of
from onnxlint_cmsis.model.windows import halves, padding_for
from onnxlint_cmsis.operators.movement import PAD

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx import GraphEdit
    from onnxlint_cmsis.formats.onnx.document import Codes
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Node


# The padding of a convolution as a Pad node in front, where the kernel cannot pad as the layer asks.


def apply_explicit_pad(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the Pad in front, between DequantizeLinear and QuantizeLinear where the layer has these.

    arm_pad_s8 (from 7.0.0 on; reference code before) writes the padded input, and the kernel pads nothing.
    """
    pads = pad_amounts(edit.graph, record)
    if pads is None or not any(pads):
        raise NotAppliedError(f"{record.node.label} has no padding")
    result = padded(edit, record, pads)
    edit.set_attributes(record.node, "auto_pad", pads=[0] * (len(pads) - 4))
    half = len(pads) // 2
    before, after = (", ".join(map(str, side)) for side in (pads[2:half], pads[half + 2 :]))
    text = f"is padded by a Pad node in front ({before} before and {after} after), whose cost is not counted"
    return RepairMade(text, (result, record.node.outputs[0]))


def padded(edit: GraphEdit, record: LoweredLayer, pads: tuple[int, ...]) -> str:
    """Put a Pad of these amounts in front of a layer; returns what it makes."""
    node, graph = record.node, edit.graph
    where = operator_of(node).roles.first
    tensor, result = node.inputs[where], edit.fresh(f"{node.inputs[where]}_padded")
    inputs = [tensor, edit.add_integers(f"{result}_amounts", pads)]
    carried = parameters_of(node, where)
    if carried is not None and node.has(carried.zero_point):
        inputs.append(node.inputs[carried.zero_point])
    edit.insert(node, PAD.name, inputs, [result])
    dequantizer = input_dequantizer(graph, record) if carried is None and record.inputs else None
    edit.connect(node, where, edit.requantized(node, result, dequantizer) if dequantizer else result)
    return result


# Rows and columns of zeros around the weights of a convolution, which change none of its sums.


Taps = tuple[tuple[int, int], ...]
"""Zeros before and after, for each spatial axis."""


MOST_WEIGHTS = 1 << 24
"""Weights of a repaired layer; no flash of a Cortex-M holds more."""


def surround(edit: GraphEdit, record: LoweredLayer, taps: Taps) -> None:
    """Give a layer weights with zeros around them, or with fewer where a number is negative. Raises NotAppliedError."""

    def around(codes: Codes, filler: int) -> Codes:
        ends = zip(taps, codes.shape[2:], strict=True)
        kept = tuple(slice(max(0, -before), size - max(0, -after)) for (before, after), size in ends)
        zeros = tuple((max(0, before), max(0, after)) for before, after in taps)
        numbers = prod(codes.shape[:2]) * prod(
            size + sum(more) for size, more in zip(codes.shape[2:], zeros, strict=True)
        )
        if numbers > MOST_WEIGHTS:
            raise NotAppliedError(f"its weights would be {numbers:,} numbers; at most {MOST_WEIGHTS:,} are written")
        window = (slice(None), slice(None), *kept)
        return np.pad(codes[window], ((0, 0), (0, 0), *zeros), constant_values=filler)

    _rearrange(edit, record, len(taps), around)


def spread(edit: GraphEdit, record: LoweredLayer, steps: tuple[int, ...]) -> tuple[int, ...]:
    """Give a layer weights so many steps apart, with zeros between; returns their sizes. Raises NotAppliedError."""
    sizes: list[int] = []

    def apart(codes: Codes, filler: int) -> Codes:
        sizes[:] = [(size - 1) * step + 1 for size, step in zip(codes.shape[2:], steps, strict=True)]
        spaced = np.full((*codes.shape[:2], *sizes), filler, codes.dtype)
        window = (slice(None), slice(None), *(slice(None, None, step) for step in steps))
        spaced[window] = codes
        return spaced

    _rearrange(edit, record, len(steps), apart)
    return tuple(sizes)


Rearranged = Callable[["Codes", int], "Codes"]
"""New weights from old ones and the bit pattern of zero."""


def _rearrange(edit: GraphEdit, record: LoweredLayer, axes: int, change: Rearranged) -> None:
    """Give a layer weights that are made from its own. Raises NotAppliedError."""
    node, position = record.node, operator_of(record.node).roles.second
    producer = edit.graph.producers.get(node.inputs[position])
    dequantizer = producer if producer is not None and operator_of(producer).dequantizes else None
    zero = (record.weights.zero_points or (0,))[0] if record.weights else 0
    if dequantizer is None:
        edit.connect(node, position, _changed(edit, (node, position), axes, zero, change))
        return
    integers = _changed(edit, (dequantizer, 0), axes, zero, change)
    real = edit.fresh(f"{integers}_real")
    edit.insert_like(node, dequantizer, f"{real}_node", [integers, *edit.inputs(dequantizer)[1:]], [real])
    edit.connect(node, position, real)


def _changed(edit: GraphEdit, read: tuple[Node, int], axes: int, zero: int, change: Rearranged) -> str:
    """A new constant, made from a stored one that a node reads. Raises NotAppliedError."""
    node, position = read
    stored = edit.stored(node, position)
    if stored.codes.ndim != axes + 2:
        raise NotAppliedError(f"the weights of {node.label} have {stored.codes.ndim} axes")
    codes = change(stored.codes, zero & (1 << BITS[stored.elem_type]) - 1)
    return edit.add_constant(f"{node.inputs[position]}_with_zeros", stored.elem_type, codes)


# Rows and columns of zeros around the weights of a transposed convolution, with as much more padding.


MOST_SHIFTED_TAPS = 16
"""Rows of zeros that are added at most."""


class ShiftedTaps(NamedTuple):
    """Other weights with the same sums."""

    rows: int
    """Rows of zeros before the weights; negative for rows that are cut off."""
    columns: int
    """Columns of zeros behind them."""
    call: KernelCall
    """The call with them."""


def apply_shifted_taps(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Shift the weights by as few rows as give a call without known hazards. Raises NotAppliedError.

    With k rows of zeros before the weights and k more padding, an output row sums over the same products. That gives
    the padding that the direct kernel of CMSIS-NN wants: a multiple of the stride, and so much that no row is written
    past the output. Zeros behind the weights make its row buffer long enough. Where the padding exceeds what the input
    spreads to, the first rows of the weights meet no input, and are cut off with as much padding.
    """
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    taps = next((shift for shift in shifted(record.layer.call) if edit.clean(shift.call)), None)
    if taps is None:
        raise NotAppliedError(f"no weights with up to {MOST_SHIFTED_TAPS} more rows are computed rightly")
    node, call = record.node, taps.call
    surround(edit, record, ((taps.rows, 0), (0, taps.columns)))
    pads = list(node.ints("pads") or (0, 0, 0, 0))
    pads = [pads[0] + taps.rows, pads[1], pads[2], pads[3] + taps.columns]
    kernel = {"kernel_shape": [call.filter_dims.h, call.filter_dims.w]} if node.ints("kernel_shape") else {}
    edit.set_attributes(node, "auto_pad", pads=pads, **kernel)
    words = []
    if taps.rows < 0:
        words.append(f"loses {-taps.rows} rows of its weights that meet no input")
    if taps.rows > 0:
        words.append(f"gets {taps.rows} rows of zeros before its weights")
    if taps.columns:
        words.append(f"gets {taps.columns} columns of zeros behind its weights")
    return RepairMade(f"{', '.join(words)}, and pads={pads}", (node.outputs[0],))


def shifted(call: KernelCall) -> Iterator[ShiftedTaps]:
    """Weights with the same sums, those with the fewest products first."""
    sizes = shift_sizes(call)
    if sizes is None:
        return
    unread = sizes.padding - (sizes.rows - 1) * sizes.stride
    wider = max(0, sizes.stride_w - sizes.width)
    cuts = [-min(unread, sizes.height - 1)] if unread > 0 else []
    for rows in (*cuts, *range(MOST_SHIFTED_TAPS + 1)):
        for columns in dict.fromkeys((0, wider)):
            if rows or columns:
                height, width = call.filter_dims.h or 0, call.filter_dims.w or 0
                moved = call._replace(
                    filter_dims=call.filter_dims._replace(h=height + rows, w=width + columns),
                    padding=call.padding._replace(h=(call.padding.h or 0) + rows),
                    pad_after=call.pad_after._replace(w=(call.pad_after.w or 0) + columns),
                )
                yield ShiftedTaps(rows, columns, moved)


# The dilation of a convolution as rows and columns of zeros between its weights.


def apply_spread_taps(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros between the weights. Raises NotAppliedError."""
    node, steps = record.node, record.node.ints("dilations")
    kernel = spread(edit, record, steps)
    larger = {"kernel_shape": list(kernel)} if node.ints("kernel_shape") else {}
    edit.set_attributes(node, "dilations", **larger)
    words = " x ".join(map(str, steps))
    return RepairMade(f"gets its dilation of {words} as zeros between its weights", (node.outputs[0],))


# Columns of zeros around the weights of a 1xN convolution, so that its padding is what the kernel on MVE computes.


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
    _widen(edit, record, (window.before, window.after), window.call)
    zeros = f"zeros along the width of its weights ({window.before} before, {window.after} behind)"
    text = f"gets {zeros} and a padding of {window.call.padding.w} before and {window.call.pad_after.w} after"
    return RepairMade(text, (record.node.outputs[0],))


def _widen(edit: GraphEdit, record: LoweredLayer, columns: tuple[int, int], call: KernelCall) -> None:
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


# The output_padding of a ConvTranspose as rows and columns of zeros behind its weights.


def apply_output_padding(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros behind the weights: the output keeps its size, to which input and filter now spread."""
    node = record.node
    extra = node.ints("output_padding")
    surround(edit, record, tuple((0, more) for more in extra))
    kernel = node.ints("kernel_shape")
    larger = {"kernel_shape": [size + more for size, more in zip(kernel, extra, strict=True)]} if kernel else {}
    edit.set_attributes(node, "output_padding", **larger)
    words = " x ".join(map(str, extra))
    return RepairMade(f"gets its output_padding of {words} as zeros behind its weights", (node.outputs[0],))


# Columns of zeros behind the weights of an int16 convolution, with as much more padding after.


MOST_COLUMNS = 3
"""Columns of zeros that are added at most: four divides the columns then."""


def apply_more_columns(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros behind the weights: as few as give a call without known hazards. Raises NotAppliedError.

    arm_convolve_s16 adds the columns above 512 in a loop that is wrong for the last of an odd number of output
    channels unless four divides the columns.
    """
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    call = record.layer.call
    width, after = call.filter_dims.w or 0, call.pad_after.w or 0
    for more in range(1, MOST_COLUMNS + 1):
        padded = call.pad_after._replace(w=after + more * (call.dilation.w or 1))
        widened = call._replace(filter_dims=call.filter_dims._replace(w=width + more), pad_after=padded)
        if edit.clean(widened):
            _widen(edit, record, (0, more), widened)
            text = f"gets {more} columns of zeros behind its weights and as much more padding"
            return RepairMade(text, (record.node.outputs[0],))
    raise NotAppliedError(f"no window of up to {MOST_COLUMNS} more columns is computed rightly")
