"""Sizes of the results of what gives elements other axes or other places."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.formats.tflite.elementwise_sizes import alike
from onnxlint_cmsis.formats.tflite.operand_sizes import (
    NotComputedError,
    Operands,
    Shape,
    axis_from_start,
    broadcast,
    needs,
    without,
)


def reshaped(operands: Operands) -> list[list[int]]:
    """RESHAPE: by input 1 where it is a vector of int32, else by the option (GetOutputShape, reshape.cc)."""
    node, count = operands.node, prod(operands.shape())
    if len(node.inputs) == 2 and operands.view.elem_type(node.inputs[1]) == "int32" and len(operands.shape(1)) == 1:
        told = operands.numbers(1)
    else:
        told = [*node.ints("new_shape")]
        told = [] if told == [0] else told
    needs(told.count(-1) <= 1 and min(told, default=0) >= -1, f"{told} is no size")
    rest = prod(size for size in told if size != -1)
    if -1 in told:
        needs(rest > 0 and count % rest == 0, f"{count} elements do not become {told}")
        told[told.index(-1)] = count // rest
    needs(prod(told) == count, f"{count} elements do not become {told}")
    return [told]


def squeezed(operands: Operands) -> list[list[int]]:
    """SQUEEZE: the axes of the option, or all of size 1."""
    shape = operands.shape()
    axes = {axis_from_start(axis, len(shape)) for axis in operands.node.ints("squeeze_dims")}
    needs(all(shape[axis] == 1 for axis in axes), "it drops an axis that is longer than 1")
    axes = axes or {axis for axis, size in enumerate(shape) if size == 1}
    return [[size for axis, size in enumerate(shape) if axis not in axes]]


def expanded(operands: Operands) -> list[list[int]]:
    """EXPAND_DIMS: the new axis is input 1."""
    shape = operands.shape()
    axis = axis_from_start(operands.number(1), len(shape) + 1)
    return [[*shape[:axis], 1, *shape[axis:]]]


def turned(operands: Operands) -> list[list[int]]:
    """TRANSPOSE: the order is input 1."""
    shape, order = operands.shape(), operands.numbers(1)
    needs(len(order) == len(shape), "its order does not name each axis")
    order = [axis_from_start(axis, len(shape)) for axis in order]
    needs(len({*order}) == len(order), "its order does not name each axis once")
    return [[shape[axis] for axis in order]]


def counted_slice(operands: Operands) -> list[list[int]]:
    """SLICE: input 1 has the places, input 2 the counts, -1 for all that are left."""
    shape, starts, counts = operands.shape(), operands.numbers(1), operands.numbers(2)
    needs(len(starts) == len(counts) == len(shape), "its limits do not name each axis")
    result = []
    for size, start, count in zip(shape, starts, counts, strict=True):
        taken = size - start if count == -1 else count
        needs(start >= 0 and taken >= 0 and start + taken <= size, f"{count} elements from {start} on, out of {size}")
        result.append(taken)
    return [result]


def strided_slice(operands: Operands) -> list[list[int]]:
    """STRIDED_SLICE: begin, end and steps; masks say which count (strided_slice.cc)."""
    shape, limits = operands.shape(), [operands.numbers(position) for position in (1, 2, 3)]
    needs(len({*map(len, limits)}) == 1 and len(limits[0]) <= len(shape), "its limits do not fit its axes")
    if any(map(operands.option, ("ellipsis_mask", "new_axis_mask", "offset"))):
        raise NotComputedError("it has an ellipsis, a new axis or an offset")
    result = []
    for axis, size in enumerate(shape):
        if axis >= len(limits[0]):
            result.append(size)
            continue
        begin, end, step = (numbers[axis] for numbers in limits)
        needs(step != 0, "it takes steps of 0")
        if operands.option("shrink_axis_mask") >> axis & 1:
            needs(operands.option("begin_mask") >> axis & 1 == 1 or -size <= begin < size, f"it has no element {begin}")
            continue
        first = None if operands.option("begin_mask") >> axis & 1 else begin
        last = None if operands.option("end_mask") >> axis & 1 else end
        result.append(len(range(size)[first:last:step]))
    return [result]


def split(operands: Operands) -> list[list[int]]:
    """SPLIT: input 0 is the axis; `num_splits` equal parts."""
    count, shape = operands.option("num_splits"), operands.shape(1)
    axis = axis_from_start(operands.number(0), len(shape))
    needs(count > 0 and shape[axis] % count == 0, f"{shape[axis]} elements are not {count} equal parts")
    return [[*shape[:axis], shape[axis] // count, *shape[axis + 1 :]]] * count


def split_by(operands: Operands) -> list[list[int]]:
    """SPLIT_V: input 1 has the sizes, one of them -1 for what is left; input 2 the axis."""
    shape, parts = operands.shape(), operands.numbers(1)
    axis = axis_from_start(operands.number(2), len(shape))
    needs(parts.count(-1) <= 1 and min(parts, default=0) >= -1, f"{parts} are no sizes")
    parts = [shape[axis] - sum(n for n in parts if n != -1) if part == -1 else part for part in parts]
    needs(sum(parts) == shape[axis] and len(parts) == operands.option("num_splits"), "its parts are not the whole")
    return [[*shape[:axis], part, *shape[axis + 1 :]] for part in parts]


def unpacked(operands: Operands) -> list[list[int]]:
    """UNPACK: `num` results without the axis."""
    shape, count = operands.shape(), operands.option("num")
    axis = axis_from_start(operands.option("axis"), len(shape))
    needs(shape[axis] == count, f"{shape[axis]} elements are not {count}")
    return [without(shape, axis)] * count


def packed(operands: Operands) -> list[list[int]]:
    """PACK: operands of one size along a new axis."""
    (shape,), count = alike(operands), len(operands.node.inputs)
    needs(operands.option("values_count") == count, "it counts other operands than it has")
    axis = axis_from_start(operands.option("axis"), len(shape) + 1)
    return [[*shape[:axis], count, *shape[axis:]]]


def joined(operands: Operands) -> list[list[int]]:
    """CONCATENATION."""
    shapes = [operands.shape(position) for position in range(len(operands.node.inputs))]
    needs(bool(shapes), "it has no operands")
    axis = axis_from_start(operands.option("axis"), len(shapes[0]))
    needs(len({len(shape) for shape in shapes}) == 1, "its operands differ in rank")
    needs(len({tuple(without(shape, axis)) for shape in shapes}) == 1, "its operands differ beside the axis")
    return [[*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :]]]


def gathered(operands: Operands) -> list[list[int]]:
    """GATHER: the axis becomes the axes of the places, but for those of batches."""
    shape, places = operands.shape(), operands.shape(1)
    axis = axis_from_start(operands.option("axis"), len(shape))
    batches = operands.option("batch_dims")
    batches += len(places) if batches < 0 else 0
    needs(0 <= batches <= min(axis, len(places)), f"it picks along {batches} axes of batches")
    needs(shape[:batches] == places[:batches], "its places differ from its data along the axes of batches")
    return [[*shape[:axis], *places[batches:], *shape[axis + 1 :]]]


def gathered_deep(operands: Operands) -> list[list[int]]:
    """GATHER_ND: the last axis of the places counts the axes that they pick from."""
    shape, places = operands.shape(), operands.shape(1)
    needs(bool(places) and 0 < places[-1] <= len(shape), "its places name more axes than there are")
    return [[*places[:-1], *shape[places[-1] :]]]


def looked_up(operands: Operands) -> list[list[int]]:
    """EMBEDDING_LOOKUP: rows of input 1 at the places of input 0."""
    rows = operands.shape(1)
    needs(len(rows) >= 2, "its table has fewer than two axes")
    return [[*operands.shape(0, 1), *rows[1:]]]


def padded(operands: Operands) -> list[list[int]]:
    """PAD, PADV2, MIRROR_PAD: input 1 is [rank, 2]."""
    shape, amounts = operands.shape(), operands.numbers(1)
    needs(operands.shape(1) == (len(shape), 2) and min(amounts, default=0) >= 0, "its amounts do not fit its axes")
    return [[size + sum(amounts[2 * axis : 2 * axis + 2]) for axis, size in enumerate(shape)]]


def tiled(operands: Operands) -> list[list[int]]:
    """TILE: input 1 has a factor for each axis."""
    shape, factors = operands.shape(), operands.numbers(1)
    needs(len(factors) == len(shape) and min(factors, default=0) >= 0, "its factors do not fit its axes")
    return [[size * factor for size, factor in zip(shape, factors, strict=True)]]


def spread(operands: Operands) -> list[list[int]]:
    """BROADCAST_TO: input 1 is the result."""
    shape, told = operands.shape(), operands.numbers(1)
    needs(broadcast(shape, told) == told, f"{list(shape)} does not become {told}")
    return [told]


def filled(operands: Operands) -> list[list[int]]:
    """FILL: input 0 is the result."""
    operands.shape(0, 1)
    return [operands.numbers(0)]


def measured(operands: Operands) -> list[list[int]]:
    """SHAPE: a number for each axis."""
    return [[len(operands.shape())]]


def longest(operands: Operands) -> list[list[int]]:
    """BROADCAST_ARGS: the longer of two lists of sizes."""
    return [[max(*operands.shape(0, 1), *operands.shape(1, 1))]]


def depth_to_space(operands: Operands) -> list[list[int]]:
    """Blocks of channels laid out on the plane."""
    (batch, height, width, channels), block = operands.shape(0, 4), operands.option("block_size")
    needs(block > 0 and channels % (block * block) == 0, f"{channels} channels are no blocks of {block}")
    return [[batch, height * block, width * block, channels // (block * block)]]


def space_to_depth(operands: Operands) -> list[list[int]]:
    """Blocks of the plane put into channels."""
    (batch, height, width, channels), block = operands.shape(0, 4), operands.option("block_size")
    needs(block > 0 and height % block == width % block == 0, f"the plane is no blocks of {block}")
    return [[batch, height // block, width // block, channels * block * block]]


def blocks(operands: Operands) -> tuple[Shape, list[int], list[int]]:
    """Shape, sizes of the blocks along the plane, and what is added or cut at both ends of each axis of it."""
    shape, sizes, ends = operands.shape(0, 3, 4), operands.numbers(1), operands.numbers(2)
    needs(len(sizes) == len(shape) - 2 and min(sizes) > 0, "its blocks do not fit its plane")
    needs(operands.shape(2) == (len(sizes), 2) and min(ends) >= 0, "its amounts do not fit its plane")
    return shape, sizes, [sum(ends[2 * axis : 2 * axis + 2]) for axis in range(len(sizes))]


def space_to_batch(operands: Operands) -> list[list[int]]:
    """SPACE_TO_BATCH_ND."""
    shape, sizes, more = blocks(operands)
    plane = [size + extra for size, extra in zip(shape[1:-1], more, strict=True)]
    needs(not any(size % block for size, block in zip(plane, sizes, strict=True)), "its plane is no blocks")
    return [[shape[0] * prod(sizes), *(size // block for size, block in zip(plane, sizes, strict=True)), shape[-1]]]


def batch_to_space(operands: Operands) -> list[list[int]]:
    """BATCH_TO_SPACE_ND."""
    shape, sizes, less = blocks(operands)
    count = prod(sizes)
    needs(shape[0] % count == 0, f"blocks of {sizes} take a multiple of {count} images, and it has {shape[0]}")
    plane = [size * block - cut for size, block, cut in zip(shape[1:-1], sizes, less, strict=True)]
    return [[shape[0] // count, *plane, shape[-1]]]
