"""Repairs of padding and windows: a Pad in front, shifted, spread and added taps, wider windows, columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.formats.onnx.document import BITS
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.layer import operands, parameters_of
from onnxlint_cmsis.operators.movement import PAD
from onnxlint_cmsis.operators.registry import operator_of

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx import GraphEdit
    from onnxlint_cmsis.formats.onnx.document import Codes
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Graph, Node


# The padding of a convolution as a Pad node in front, where the kernel cannot pad as the layer asks.
#
# arm_pad_s8 (from 7.0.0 on; plain code before) then writes the padded input, and the kernel pads nothing.


SINCE = 11
"""First operator set whose Pad takes the amounts as an input and integers as data."""


def refusal_of_explicit_pad(graph: Graph, record: LoweredLayer) -> str:
    """Why the padding cannot stand in front of the layer."""
    node = record.node
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)} already"
    if amounts(graph, record) is None:
        return "its padding is not known, as sizes are symbolic"
    if _default_opset(graph) < SINCE:
        return f"Pad takes its amounts as an input from operator set {SINCE} on"
    carried = parameters_of(node, operands(node.domain, node.op_type).activation)
    if carried is None and record.inputs and _dequantizer(graph, record) is None:
        return "its input does not come from a DequantizeLinear"
    return ""


def amounts(graph: Graph, record: LoweredLayer) -> tuple[int, ...] | None:
    """What ONNX's Pad takes for the layer's padding; None where a number is not known."""
    if record.layer is None:
        return None
    call, axes = record.layer.call, len(graph.shape(record.node.outputs[0]) or ()) - 2
    sides = (call.padding, call.pad_after)
    numbers = [side[2 - axes :] for side in sides]
    if axes not in (1, 2) or any(number is None for side in numbers for number in side):
        return None
    before, after = (tuple(int(number or 0) for number in side) for side in numbers)
    return (0, 0, *before, 0, 0, *after)


def apply_explicit_pad(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the Pad in front, between DequantizeLinear and QuantizeLinear where the layer has these."""
    pads = amounts(edit.graph, record)
    if pads is None or not any(pads):
        raise NotAppliedError(f"{record.node.label} has no padding")
    made = padded(edit, record, pads)
    edit.set_attributes(record.node, "auto_pad", pads=[0] * (len(pads) - 4))
    text = f"is padded by a Pad node in front ({_words(pads)}), whose cost is not counted"
    return RepairMade(text, (made, record.node.outputs[0]))


def padded(edit: GraphEdit, record: LoweredLayer, pads: tuple[int, ...]) -> str:
    """Put a Pad of these amounts in front of a layer; returns what it makes."""
    node, graph = record.node, edit.graph
    where = operands(node.domain, node.op_type).activation
    tensor, result = node.inputs[where], edit.fresh(f"{node.inputs[where]}_padded")
    inputs = [tensor, edit.add_integers(f"{result}_amounts", pads)]
    carried = parameters_of(node, where)
    if carried is not None and len(node.inputs) > carried.zero_point and node.inputs[carried.zero_point]:
        inputs.append(node.inputs[carried.zero_point])
    edit.insert(node, PAD.name, inputs, [result])
    dequantizer = _dequantizer(graph, record) if carried is None and record.inputs else None
    edit.connect(node, where, edit.requantized(node, result, dequantizer) if dequantizer else result)
    return result


def _dequantizer(graph: Graph, record: LoweredLayer) -> Node | None:
    """The DequantizeLinear that makes a layer's input."""
    node = record.node
    producer = graph.producers.get(node.inputs[operands(node.domain, node.op_type).activation])
    return producer if producer is not None and operator_of(producer).dequantizes else None


def _default_opset(graph: Graph) -> int:
    return max((node.opset for node in graph.nodes if node.domain == ""), default=0)


def _words(pads: tuple[int, ...]) -> str:
    half = len(pads) // 2
    before, after = (", ".join(map(str, side)) for side in (pads[2:half], pads[half + 2 :]))
    return f"{before} before and {after} after"


REPAIRED_BY_PAD = (
    "conv-1x1-fast-padding-after",
    "conv-1x1-padding-after",
    "conv-1x1-s4-fast-padding-after",
    "conv-1x1-s4-padding-after",
    "conv-1xn-window-in-padding",
    "conv-1xn-window-outside",
    "dw-3x3-padding-refused",
    "dw-3x3-padding-after",
    "dw-opt-window-outside",
    "dw-fast-s16-window-outside",
    "dw-s4-opt-window-outside",
)
"""Kernels that know no padding after, or none beyond their window."""
EXPLICIT_PAD = RepairRow(
    name="explicit-pad",
    what="pads in a Pad node in front of the layer",
    hazards=frozenset(REPAIRED_BY_PAD),
    price="a Pad node, which copies the input, and the padded input in memory",
    free=False,
    refusal=refusal_of_explicit_pad,
    apply=apply_explicit_pad,
)


# Rows and columns of zeros around the weights of a convolution, which change none of its sums.


Taps = tuple[tuple[int, int], ...]
"""Zeros before and after, for each spatial axis."""


def refusal_of_weights(graph: Graph, record: LoweredLayer) -> str:
    """Why no zeros can be put around a layer's weights; empty where they can."""
    node = record.node
    key = node.inputs[operator_of(node).roles.second]
    producer = graph.producers.get(key)
    if producer is not None and operator_of(producer).dequantizes:
        key = producer.inputs[0]
    if not graph.stores(key):
        return "its weights are not stored as they are used"
    if record.weights is not None and len(set(record.weights.zero_points or ())) != 1:
        return "its weights have several zero-points"
    return ""


def surround(edit: GraphEdit, record: LoweredLayer, taps: Taps) -> None:
    """Give a layer weights with zeros around them, or with fewer where a number is negative. Raises NotAppliedError."""

    def around(codes: Codes, filler: int) -> Codes:
        ends = zip(taps, codes.shape[2:], strict=True)
        kept = tuple(slice(max(0, -before), size - max(0, -after)) for (before, after), size in ends)
        zeros = tuple((max(0, before), max(0, after)) for before, after in taps)
        window = (slice(None), slice(None), *kept)
        return np.pad(codes[window], ((0, 0), (0, 0), *zeros), constant_values=filler)

    _rearrange(edit, record, len(taps), around)


def spread(edit: GraphEdit, record: LoweredLayer, steps: tuple[int, ...]) -> tuple[int, ...]:
    """Give a layer weights so many steps apart, with zeros between; returns their sizes. Raises NotAppliedError."""
    sizes: list[int] = []

    def apart(codes: Codes, filler: int) -> Codes:
        sizes[:] = [(size - 1) * step + 1 for size, step in zip(codes.shape[2:], steps, strict=True)]
        made = np.full((*codes.shape[:2], *sizes), filler, codes.dtype)
        window = (slice(None), slice(None), *(slice(None, None, step) for step in steps))
        made[window] = codes
        return made

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
    made = edit.fresh(f"{integers}_real")
    edit.insert_like(node, dequantizer, f"{made}_node", [integers, *edit.inputs(dequantizer)[1:]], [made])
    edit.connect(node, position, made)


def _changed(edit: GraphEdit, read: tuple[Node, int], axes: int, zero: int, change: Rearranged) -> str:
    """A new constant, made from a stored one that a node reads. Raises NotAppliedError."""
    node, position = read
    stored = edit.stored(node, position)
    if stored.codes.ndim != axes + 2:
        raise NotAppliedError(f"the weights of {node.label} have {stored.codes.ndim} axes")
    codes = change(stored.codes, zero & (1 << BITS[stored.elem_type]) - 1)
    return edit.add_constant(f"{node.inputs[position]}_with_zeros", stored.elem_type, codes)


# Rows and columns of zeros around the weights of a transposed convolution, with as much more padding.
#
# An output row sums over the same products where k rows of zeros stand before the weights and the padding before is k
# more. That gives the padding that the direct kernel of CMSIS-NN wants: a multiple of the stride, and so much that no
# row
# is written past the output. Zeros behind the weights make its row buffer long enough. Where the padding exceeds what
# the input spreads to, the first rows of the weights meet no input, and are cut off with as much padding.


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


def refusal_of_shifted_taps(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's weights cannot be shifted."""
    node = record.node
    if record.layer is None or _known(record.layer.call) is None:
        return "its sizes or padding are not known"
    if len(graph.shape(node.outputs[0]) or ()) != 4:
        return "it has no rows"
    if node.ints("output_shape") or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        return "its padding follows from the size of its output"
    return refusal_of_weights(graph, record)


def apply_shifted_taps(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Shift the weights by as few rows as give a call without known hazards. Raises NotAppliedError."""
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    found = next((one for one in shifted(record.layer.call) if edit.clean(one.call)), None)
    if found is None:
        raise NotAppliedError(f"no weights with up to {MOST_SHIFTED_TAPS} more rows are computed rightly")
    node, call = record.node, found.call
    surround(edit, record, ((found.rows, 0), (0, found.columns)))
    pads = list(node.ints("pads") or (0, 0, 0, 0))
    pads = [pads[0] + found.rows, pads[1], pads[2], pads[3] + found.columns]
    kernel = {"kernel_shape": [call.filter_dims.h, call.filter_dims.w]} if node.ints("kernel_shape") else {}
    edit.set_attributes(node, "auto_pad", pads=pads, **kernel)
    return RepairMade(_text(found, pads), (node.outputs[0],))


def _text(found: ShiftedTaps, pads: list[int]) -> str:
    words = []
    if found.rows < 0:
        words.append(f"loses {-found.rows} rows of its weights that meet no input")
    if found.rows > 0:
        words.append(f"gets {found.rows} rows of zeros before its weights")
    if found.columns:
        words.append(f"gets {found.columns} columns of zeros behind its weights")
    return f"{', '.join(words)}, and pads={pads}"


def shifted(call: KernelCall) -> Iterator[ShiftedTaps]:
    """Weights with the same sums, those with the fewest products first."""
    sizes = _known(call)
    if sizes is None:
        return
    unread = sizes.padding - (sizes.rows - 1) * sizes.stride
    wider = max(0, sizes.stride_w - sizes.width)
    cuts = [-min(unread, sizes.height - 1)] if unread > 0 else []
    for rows in (*cuts, *range(MOST_SHIFTED_TAPS + 1)):
        for columns in dict.fromkeys((0, wider)):
            if rows or columns:
                yield ShiftedTaps(rows, columns, _moved(call, rows, columns))


class _Sizes(NamedTuple):
    rows: int
    height: int
    width: int
    stride: int
    stride_w: int
    padding: int


def _known(call: KernelCall) -> _Sizes | None:
    found = (call.input_dims.h, *call.filter_dims[1:3], call.stride.h, call.stride.w, call.padding.h)
    known = [size for size in (*found, *call.padding, *call.pad_after) if size is not None]
    return _Sizes(*known[: len(found)]) if len(known) == len(found) + 4 else None


def _moved(call: KernelCall, rows: int, columns: int) -> KernelCall:
    height, width = call.filter_dims.h or 0, call.filter_dims.w or 0
    return call._replace(
        filter_dims=call.filter_dims._replace(h=height + rows, w=width + columns),
        padding=call.padding._replace(h=(call.padding.h or 0) + rows),
        pad_after=call.pad_after._replace(w=(call.pad_after.w or 0) + columns),
    )


REPAIRED_BY_SHIFT = (
    "tconv-padding-not-in-strides",
    "tconv-rows-past-output",
    "tconv-rows-past-output-main",
    "tconv-padding-above-input",
    "tconv-scratch-too-small",
)
"""Geometries that the direct kernel computes wrongly or runs past a buffer with."""
SHIFTED_TAPS = RepairRow(
    name="shifted-taps",
    what="puts rows or columns of zeros around the weights of a transposed convolution, with padding to match",
    hazards=frozenset(REPAIRED_BY_SHIFT),
    price="the products with these zeros",
    free=False,
    refusal=refusal_of_shifted_taps,
    apply=apply_shifted_taps,
)


# The dilation of a convolution as rows and columns of zeros between its weights.


def refusal_of_spread_taps(graph: Graph, record: LoweredLayer) -> str:
    """Why the dilation cannot go into the weights."""
    if not any(step > 1 for step in record.node.ints("dilations")):
        return "it is not dilated"
    return refusal_of_weights(graph, record)


def apply_spread_taps(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros between the weights. Raises NotAppliedError."""
    node, steps = record.node, record.node.ints("dilations")
    kernel = spread(edit, record, steps)
    larger = {"kernel_shape": list(kernel)} if node.ints("kernel_shape") else {}
    edit.set_attributes(node, "dilations", **larger)
    words = " x ".join(map(str, steps))
    return RepairMade(f"gets its dilation of {words} as zeros between its weights", (node.outputs[0],))


SPREAD_TAPS = RepairRow(
    name="spread-taps",
    what="takes the dilation of a convolution into its weights as rows and columns of zeros",
    hazards=frozenset({"conv-dilation-ignored"}),
    price="the products with these zeros",
    free=False,
    refusal=refusal_of_spread_taps,
    apply=apply_spread_taps,
)


# Columns of zeros around the weights of a 1xN convolution, so that its padding is what the kernel on MVE computes.
#
# That kernel takes the padding before to be half of all padding, and all of that to follow from the output's width. A
# window that is wider by zeros, with as much more padding before, gives the same sums and can meet both.


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


def refusal_of_wider_window(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's window cannot be wider."""
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)}"
    if record.layer is None or _sizes(record.layer.call) is None:
        return "its width or padding is not known"
    if record.layer.call.dilation.w != 1:
        return "it is dilated"
    return refusal_of_weights(graph, record)


def apply_wider_window(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros around the weights: as few as give a call without known hazards."""
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    found = next((one for one in wider(record.layer.call) if edit.clean(one.call)), None)
    if found is None:
        raise NotAppliedError(f"no window of up to {WIDEST_WINDOW} more columns is computed rightly")
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
    for more in range(1, WIDEST_WINDOW + 1):
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


REPAIRED_BY_WIDTH = (
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
    hazards=frozenset(REPAIRED_BY_WIDTH),
    price="the products with these zeros",
    free=False,
    refusal=refusal_of_wider_window,
    apply=apply_wider_window,
)


# The output_padding of a ConvTranspose as rows and columns of zeros behind its weights.
#
# The output has the same size, and is no longer larger than the input and the filter spread to.


def refusal_of_output_padding(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's output_padding cannot go into its weights."""
    node = record.node
    if not any(node.ints("output_padding")):
        return "it has no output_padding"
    if node.ints("output_shape") or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        return "its padding follows from the size of its output"
    return refusal_of_weights(graph, record)


def apply_output_padding(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros behind the weights."""
    node = record.node
    extra = node.ints("output_padding")
    surround(edit, record, tuple((0, more) for more in extra))
    kernel = node.ints("kernel_shape")
    larger = {"kernel_shape": [size + more for size, more in zip(kernel, extra, strict=True)]} if kernel else {}
    edit.set_attributes(node, "output_padding", **larger)
    words = " x ".join(map(str, extra))
    return RepairMade(f"gets its output_padding of {words} as zeros behind its weights", (node.outputs[0],))


OUTPUT_PADDING = RepairRow(
    name="output-padding",
    what="takes output_padding into the weights of a transposed convolution as rows and columns of zeros",
    hazards=frozenset({"tconv-output-past-rows"}),
    price="the products with these zeros",
    free=False,
    refusal=refusal_of_output_padding,
    apply=apply_output_padding,
)


# Columns of zeros behind the weights of an int16 convolution, with as much more padding after.
#
# arm_convolve_s16 adds the columns above 512 in a loop that is wrong for the last of an odd number of output channels
# unless four divides the columns.


MOST_COLUMNS = 3
"""Columns of zeros that are added at most: four divides the columns then."""


def refusal_of_more_columns(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's window cannot be wider."""
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)}"
    sizes = (*record.layer.call.padding, *record.layer.call.pad_after) if record.layer else (None,)
    return "its padding is not known" if None in sizes else refusal_of_weights(graph, record)


def apply_more_columns(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros behind the weights: as few as give a call without known hazards. Raises NotAppliedError."""
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    found = next(((more, call) for more, call in _wider(record.layer.call) if edit.clean(call)), None)
    if found is None:
        raise NotAppliedError(f"no window of up to {MOST_COLUMNS} more columns is computed rightly")
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
    for more in range(1, MOST_COLUMNS + 1):
        padded = call.pad_after._replace(w=after + more * (call.dilation.w or 1))
        yield more, call._replace(filter_dims=call.filter_dims._replace(w=width + more), pad_after=padded)


MORE_COLUMNS = RepairRow(
    name="more-columns",
    what="puts columns of zeros behind the weights of an int16 convolution, with padding to match",
    hazards=frozenset({"conv-s16-odd-channel-columns"}),
    price="the products with these zeros",
    free=False,
    refusal=refusal_of_more_columns,
    apply=apply_more_columns,
)
