"""What kernels that move values check of the places that they read and write."""

from __future__ import annotations

from itertools import zip_longest
from math import floor, prod
from struct import unpack_from

from onnxlint_cmsis.runtimes.tflm.element_types import INDEX_TYPES
from onnxlint_cmsis.runtimes.tflm.operands import AXIS, DATA, INDICES, LEFT, OUTPUT, SECOND, SIZES, THIRD, KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_conditions import numbers_of
from onnxlint_cmsis.runtimes.tflm.operator_view import BITS, OperatorView, single
from onnxlint_cmsis.runtimes.tflm.preparation import Unpredictable
from onnxlint_cmsis.runtimes.tflm.rows import Objection


def centred(view: OperatorView) -> Objection | None:
    """Pixels are those nearest to the corner of a pixel; half_pixel_centers asks for others."""
    if not view.option("half_pixel_centers"):
        return None
    aligned = bool(view.option("align_corners"))
    for before, after in zip(DATA.of(view).shape[1:3], OUTPUT.of(view).shape[1:3], strict=False):
        asked, given_ = (
            [nearest(pixel, before, after, offset, aligned=aligned) for pixel in range(after)] for offset in (0.5, 0.0)
        )
        if asked != given_:
            return "half_pixel_centers is not looked at"
    return None


def nearest(pixel: int, before: int, after: int, offset: float, *, aligned: bool) -> int:
    """GetNearestNeighbor (lite/kernels/internal/reference/resize_nearest_neighbor.h)."""
    step = single((before - 1) / (after - 1) if aligned and after > 1 else before / after)
    source = single((pixel + offset) * step)
    return max(0, min(floor(source + 0.5 if aligned else source), before - 1))


def broadcast_to_shape(view: OperatorView) -> Objection | None:
    """Shapes of BROADCAST_TO and its constant fit (K/broadcast_to.cc:34)."""
    data, sizes, output = DATA.of(view).shape, SIZES.of(view), OUTPUT.of(view).shape
    wanted = numbers_of(view, sizes)
    if len(sizes.shape) != 1 or sizes.shape[0] != len(output):
        return f"its size has shape {list(sizes.shape)} and its output {len(output)} dimensions"
    if len(data) > len(output) or len(output) > 5:
        return f"its input has {len(data)} dimensions and its output {len(output)}; 5 are the most"
    if wanted is None:
        return None
    fits = all(size in (1, want) for size, want in zip(reversed(data), reversed(wanted), strict=False))
    exact = tuple(map(int, wanted)) == output
    return (
        None if fits and exact else f"{list(data)} does not become {list(output)} by the size {list(map(int, wanted))}"
    )


def blocks_fit(view: OperatorView) -> Objection | None:
    """A block size above 0 divides what DEPTH_TO_SPACE takes apart."""
    size, depth = view.option("block_size"), (*DATA.of(view).shape, 0)[3]
    if size < 1:
        return f"its block size is {size}; at least 1 is taken"
    return None if depth % (size * size) == 0 else f"{depth} channels are no multiple of {size} times {size}"


def planes_fit(view: OperatorView) -> Objection | None:
    """A block size divides the plane that SPACE_TO_DEPTH takes apart. Raises Unpredictable for a size of 0."""
    size, plane = view.option("block_size"), DATA.of(view).shape[1:3]
    if size == 0:
        raise Unpredictable("a block size of 0, by which the kernel divides")
    return None if all(length % size == 0 for length in plane) else f"{list(plane)} is no multiple of the block {size}"


def update_fits(view: OperatorView) -> Objection | None:
    """Indices and update of DYNAMIC_UPDATE_SLICE fit its operand (K/dynamic_update_slice.cc:153-161)."""
    data, update, indices = (operand.of(view).shape for operand in (LEFT, SECOND, THIRD))
    if len(indices) != 1 or indices[0] != len(data):
        return f"its indices have shape {list(indices)} for {len(data)} dimensions"
    fits = len(update) == len(data) and all(part <= whole for part, whole in zip(update, data, strict=True))
    return None if fits else f"its update of shape {list(update)} does not fit into {list(data)}"


def embedding_fits(view: OperatorView) -> Objection | None:
    """The output of EMBEDDING_LOOKUP holds a row for every index (K/embedding_lookup.cc:98-112)."""
    rows, table, output = (operand.of(view) for operand in (LEFT, SECOND, OUTPUT))
    if min(output.shape, default=0) < 0:
        return None
    if len(output.shape) < len(table.shape):
        return f"its output has {len(output.shape)} dimensions, fewer than its table"
    needed = prod((*rows.shape[:1], *table.shape[1:], *output.shape[len(table.shape) :]))
    return None if needed <= prod(output.shape) else f"its output of shape {list(output.shape)} does not hold {needed}"


def packed(view: OperatorView) -> Objection | None:
    """PACK reads as many inputs as its options say. Raises Unpredictable where they are not there."""
    for position in range(view.option("values_count")):
        KernelOperand(position, f"input {position}").of(view)
    return None


def rows_within(view: OperatorView) -> Objection | None:
    """Constant indices of EMBEDDING_LOOKUP are rows of its table."""
    rows = SECOND.of(view).shape[0]
    bad = [int(row) for row in numbers_of(view, LEFT.of(view)) or () if not 0 <= row < rows]
    return f"index {bad[0]} of a table with {rows} rows" if bad else None


def expanded(view: OperatorView) -> Objection | None:
    """A constant axis of EXPAND_DIMS, and the output with one size of 1 more (K/expand_dims.cc:55)."""
    axis, data, output = AXIS.of(view), DATA.of(view).shape, OUTPUT.of(view).shape
    values = numbers_of(view, axis)
    if len(axis.shape) > 1 or axis.elem_type != "INT32" or not values:
        return f"its axis is {axis.elem_type} of shape {list(axis.shape)}; one INT32 is taken"
    position = int(values[0]) + (len(data) + 1 if values[0] < 0 else 0)
    if position > len(data):
        return f"axis {position} is beyond its {len(data)} dimensions"
    wanted = (*data[: max(position, 0)], *([1] if position >= 0 else []), *data[max(position, 0) :])
    return None if output == wanted else f"its output has shape {list(output)}; {list(wanted)} is taken"


def filled(view: OperatorView) -> Objection | None:
    """Sizes of FILL are constants, and those of its output (K/fill.cc:41)."""
    sizes, output = LEFT.of(view), OUTPUT.of(view).shape
    if len(sizes.shape) != 1 or sizes.shape[0] != len(output):
        return f"its sizes have shape {list(sizes.shape)} and its output {len(output)} dimensions"
    if sizes.elem_type not in ("INT8", "INT16", *INDEX_TYPES):
        return f"its sizes are {sizes.elem_type}; INT8, INT16, INT32 or INT64 is taken"
    values = numbers_of(view, sizes)
    text = f"its output has shape {list(output)}; the sizes are {list(values or ())}"
    return None if values is None or tuple(map(int, values)) == output else text


def gathered(view: OperatorView) -> Objection | None:
    """Axis and batches of GATHER lie within its operands (K/gather.cc:143-159)."""
    data, indices = DATA.of(view).shape, INDICES.of(view).shape
    axis, batches = view.option("axis"), view.option("batch_dims")
    axis += len(data) if axis < 0 else 0
    batches += len(indices) if batches < 0 else 0
    if not 0 <= axis < len(data):
        return f"axis {view.option('axis')} of an input with {len(data)} dimensions"
    within = 0 <= batches <= axis and batches < len(data) and batches <= len(indices)
    alike = within and data[:batches] == indices[:batches]
    return None if alike else f"{view.option('batch_dims')} batch dimensions of {list(data)} and {list(indices)}"


def gathered_points(view: OperatorView) -> Objection | None:
    """Each index of GATHER_ND names at most 5 axes, all of its input (K/gather_nd.cc:65-84)."""
    data, indices = DATA.of(view).shape, INDICES.of(view).shape
    if not data or not indices:
        return "its input or its indices have no dimensions"
    depth = indices[-1]
    return None if depth <= min(len(data), 5) else f"an index names {depth} axes of {len(data)}; 5 are the most"


def squeezed(view: OperatorView) -> Objection | None:
    """Axes of SQUEEZE are the input's and of size 1 (K/squeeze.cc:74)."""
    shape = DATA.of(view).shape
    for axis in _squeezed_axes(view):
        if not -len(shape) <= axis < len(shape) or shape[axis] != 1:
            return f"axis {axis} of shape {list(shape)} does not have size 1"
    return None


def _squeezed_axes(view: OperatorView) -> tuple[int, ...]:
    axes = view.operator.options.get("squeeze_dims")
    return tuple(int(axis) for axis in axes) if isinstance(axes, (list, tuple)) else ()


def squeezed_output(view: OperatorView) -> Objection | None:
    """What SQUEEZE leaves is no larger than the output's sizes (K/squeeze.cc:83)."""
    shape, output = DATA.of(view).shape, OUTPUT.of(view).shape
    axes = {axis % len(shape) for axis in _squeezed_axes(view)} if shape else set()
    left = [size for axis, size in enumerate(shape) if not (axis in axes or (not axes and size == 1))]
    pairs = zip_longest(left, output, fillvalue=None)
    bad = any(size is not None and (room is None or room < size) for size, room in pairs)
    return f"its output has shape {list(output)}; {left} is taken" if bad else None


def same_bytes(view: OperatorView) -> Objection | None:
    """Input and output have as many bytes."""
    sizes = [prod(tensor.shape) * BITS.get(tensor.elem_type, 0) for tensor in (DATA.of(view), OUTPUT.of(view))]
    text = f"its input has {sizes[0] // 8} bytes and its output {sizes[1] // 8}"
    return None if sizes[0] == sizes[1] else text


def same_elements(view: OperatorView) -> Objection | None:
    """RESHAPE keeps the number of elements; one size may be -1 (K/reshape_common.cc:56-78)."""
    data, shape = DATA.of(view).shape, OUTPUT.of(view).shape
    if len(view.operator.inputs) == 1 and shape == (0,):
        shape = ()
    if shape.count(-1) > 1:
        return f"its output has shape {list(shape)}; one size is worked out at most"
    rest = prod(size for size in shape if size != -1)
    fits = prod(data) == rest if -1 not in shape else rest != 0 and prod(data) % rest == 0
    return None if fits else f"{list(data)} and {list(shape)} have different numbers of elements"


def aligned_once(view: OperatorView) -> Objection | None:
    """Corners or centers are aligned, not both."""
    both = view.option("half_pixel_centers") and view.option("align_corners")
    return "half_pixel_centers and align_corners are both set" if both else None


def two_sizes(view: OperatorView) -> Objection | None:
    """The size has two elements."""
    shape = SIZES.of(view).shape
    return None if shape[:1] == (2,) else f"its size has shape {list(shape)}; [2] alone is taken"


def selected_shapes(view: OperatorView) -> Objection | None:
    """Shapes of SELECT_V2 broadcast to that of its output (K/select.cc:46)."""
    shapes = [operand.of(view).shape for operand in (LEFT, SECOND, THIRD)]
    output = OUTPUT.of(view).shape
    if shapes[0] == shapes[1] == shapes[2] or all(prod(shape) == 1 for shape in (*shapes, output)):
        return None
    rank = max(map(len, shapes))
    wanted = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        largest = 0 if 0 in sizes else max(sizes)
        if any(size not in (1, largest) for size in sizes):
            return f"shapes {', '.join(str(list(shape)) for shape in shapes)} do not fit together"
        wanted.append(largest)
    return None if output == tuple(wanted) else f"its output has shape {list(output)}; {wanted} is taken"


def selected_ranks(view: OperatorView) -> Objection | None:
    """Operands of different shapes have five axes at most (BroadcastSelect5DSlow)."""
    shapes = [operand.of(view).shape for operand in (LEFT, SECOND, THIRD)]
    deep = max(map(len, shapes)) > 5 and not shapes[0] == shapes[1] == shapes[2]
    return f"its inputs differ in shape and have {max(map(len, shapes))} dimensions" if deep else None


def strided(view: OperatorView) -> Objection | None:
    """The output of STRIDED_SLICE has the sizes that its constants give (K/strided_slice_common.cc:92).

    The kernel knows neither ellipsis nor new axes, and reads as many int32 of each constant as the input has axes.
    """
    data, output = DATA.of(view).shape, OUTPUT.of(view).shape
    bounds = []
    for position in (1, 2, 3):
        tensor = KernelOperand(position, f"input {position}").of(view)
        values = view.model.bytes_of(tensor.buffer)
        if len(values) < 4 * len(data):
            raise Unpredictable(f"input {position} has {len(values)} bytes; {4 * len(data)} are read")
        bounds.append(unpack_from(f"<{len(data)}i", values))
    wanted = []
    for axis, (begin, end, step) in enumerate(zip(*bounds, strict=True)):
        if step == 0:
            return "a stride is 0"
        length = _strided_length(view, axis, (begin, end, step), data[axis])
        if not view.option("shrink_axis_mask") & 1 << axis:
            wanted.append(length)
    unread = next((name for name in ("ellipsis_mask", "new_axis_mask") if view.option(name)), "")
    more = f", and the kernel does not read {unread}" if unread else ""
    fits = output[: len(wanted)] == tuple(wanted) and len(output) == len(wanted)
    return None if fits else f"its output has shape {list(output)}; {wanted} is taken{more}"


def _strided_length(view: OperatorView, axis: int, bounds: tuple[int, int, int], size: int) -> int:
    begin, end, step = bounds
    low, high = (0, size) if step > 0 else (-1, size - 1)
    if size == 0:
        begin = end = 0
    else:
        first, last = (low, high) if step > 0 else (high, low)
        begin += size if begin < 0 else 0
        begin = first if view.option("begin_mask") & 1 << axis else min(max(begin, low), high)
        end += size if end < 0 else 0
        end = last if view.option("end_mask") & 1 << axis else min(max(end, low), high)
    if view.option("shrink_axis_mask") & 1 << axis:
        end = begin + 1
    return max(-((begin - end) // step), 0)


def padded_axes(view: OperatorView) -> Objection | None:
    """The paddings of MIRROR_PAD have a row for each axis."""
    rows, rank = SECOND.of(view).shape, len(DATA.of(view).shape)
    return None if len(rows) == 2 and rows[0] == rank else f"its paddings have shape {list(rows)} for {rank} dimensions"
