"""Sizes of the results of TensorFlow Lite's operators, as their kernels compute them from operands and options.

A `.tflite` file states the sizes of every tensor. LiteRT computes those of results anew (Prepare of each kernel,
tensorflow/lite/kernels/*.cc), and TensorFlow Lite Micro believes most that the file states. Where the two differ, one
file means two things. So whoever reads sizes asks here first:

    try:
        computed = result_sizes(node, view)
    except NotComputedError as error:
        ...  # operands that a run computes, sizes that are open, operands that do not fit; str(error) is a clause

`view` is a `NodeView` of the graph, say: shapes of operands as they are known, and numbers of small constants.
`computed_sizes` asks for an operator of the file, which states the sizes of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Protocol

from onnxlint_cmsis.formats.tflite.constants import constant, elem_type
from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel, TfliteOperator
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.graph import TFLITE, Node
from onnxlint_cmsis.model.windows import reach

Shape = tuple[int, ...]
Rule = Callable[["Operands"], Sequence[Sequence[int]]]
"""Sizes of each result."""


class SizesView(Protocol):
    """What rules ask of a graph: a `NodeView` is one."""

    def input_shape(self, node: Node, position: int, /) -> tuple[Size, ...] | None:
        """Sizes of an input; None where it is omitted or its rank is unknown."""

    def elem_type(self, name: str, /) -> str:
        """Element type of a tensor, empty where it is not known."""

    def ints(self, node: Node, position: int, /) -> list[int] | None:
        """Numbers of an input; None where they are not known."""


class NotComputedError(Exception):
    """Sizes of a result do not follow from the file: the reason, as a clause."""


class MisfitError(NotComputedError):
    """Operands and options that do not go together: LiteRT refuses the operator."""


class AxisError(MisfitError):
    """An axis that an operand does not have."""


def result_sizes(node: Node, view: SizesView) -> tuple[Shape, ...]:
    """Sizes of each result of a builtin operator. Raises NotComputedError."""
    rule = RULES.get(node.op_type)
    if rule is None or node.bodies:
        raise NotComputedError(f"sizes that {node.op_type} makes are not computed")
    shapes = tuple(tuple(shape) for shape in rule(Operands(node, view)))
    needs(len(shapes) == len(node.outputs), f"it makes {len(shapes)} results, and the file has {len(node.outputs)}")
    needs(all(size >= 0 for shape in shapes for size in shape), "a size of its result is below 0")
    return shapes


class Operands:
    """A node's operands and options; what is not known raises NotComputedError."""

    def __init__(self, node: Node, view: SizesView) -> None:
        self.node = node
        self.view = view

    def shape(self, position: int = 0, *ranks: int) -> Shape:
        """Sizes of an operand, of one of the ranks where some are given."""
        shape = self.view.input_shape(self.node, position)
        if shape is None or None in shape:
            raise NotComputedError(f"the size of input {position} is not known")
        needs(not ranks or len(shape) in ranks, f"input {position} has {len(shape)} axes")
        return tuple(size or 0 for size in shape)

    def numbers(self, position: int) -> list[int]:
        """Numbers of a constant operand of integers."""
        if self.node.has(position) and self.view.elem_type(self.node.inputs[position]) in ("int32", "int64", "int16"):
            numbers = self.view.ints(self.node, position)
            if numbers is not None:
                return [*numbers]
        raise NotComputedError(f"input {position} is no constant of integers")

    def number(self, position: int) -> int:
        """The one number of a constant operand."""
        numbers = self.numbers(position)
        needs(len(numbers) == 1, f"input {position} has {len(numbers)} numbers")
        return numbers[0]

    def option(self, name: str) -> int:
        """An option that is a number; 0 where the file has no options, as runtimes read it."""
        return self.node.int(name)


def needs(fits: bool, otherwise: str) -> None:
    """Raise MisfitError where operands do not fit."""
    if not fits:
        raise MisfitError(otherwise)


def place(axis: int, rank: int) -> int:
    """An axis that may count from the end. Raises AxisError."""
    if not -rank <= axis < rank:
        raise AxisError(f"axis {axis} is out of range: {rank} dimensions have axes {-rank} to {rank - 1}")
    return axis % rank


def without(shape: Sequence[int], axis: int) -> list[int]:
    """All sizes but one."""
    return [*shape[:axis], *shape[axis + 1 :]]


def broadcast(*shapes: Sequence[int]) -> list[int]:
    """Sizes of an element by element function (CalculateShapeForBroadcast). Raises MisfitError."""
    rank = max(map(len, shapes))
    result = []
    for sizes in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        longer = {size for size in sizes if size != 1} or {1}
        needs(len(longer) == 1, f"sizes {sorted(longer)} do not broadcast")
        result.append(longer.pop())
    return result


def windows(operands: Operands, size: int, window: int, stride: int, dilation: int = 1) -> int:
    """Places that a window takes along an axis (ComputeOutSize, tensorflow/lite/kernels/padding.h)."""
    needs(stride > 0 and dilation > 0 and window > 0, "its window, stride or dilation is not above 0")
    span = 1 if operands.node.text("padding", "SAME") == "SAME" else reach(window, dilation)
    return int((size + stride - span) / stride)  # towards 0, as C++ divides; below 0 is no size


# Layers with weights, and windows.


def image(operands: Operands, shape: Shape, window: Sequence[int], channels: int) -> list[list[int]]:
    """What a window makes of an image."""
    steps = zip(
        shape[1:3],
        window,
        (operands.option("stride_h"), operands.option("stride_w")),
        (operands.node.int("dilation_h_factor", 1), operands.node.int("dilation_w_factor", 1)),
        strict=True,
    )
    return [[shape[0], *(windows(operands, *step) for step in steps), channels]]


def convolution(operands: Operands) -> list[list[int]]:
    """CONV_2D: weights [out_c, h, w, channels of a group]."""
    shape, weights = operands.shape(0, 4), operands.shape(1, 4)
    needs(weights[3] > 0 and shape[3] % weights[3] == 0, "its weights do not fit its channels")
    return image(operands, shape, weights[1:3], weights[0])


def depthwise(operands: Operands) -> list[list[int]]:
    """DEPTHWISE_CONV_2D: weights [1, h, w, out_c]."""
    shape, weights = operands.shape(0, 4), operands.shape(1, 4)
    needs(weights[0] == 1 and shape[3] > 0 and weights[3] % shape[3] == 0, "its weights do not fit its channels")
    return image(operands, shape, weights[1:3], weights[3])


def transposed(operands: Operands) -> list[list[int]]:
    """TRANSPOSE_CONV: input 0 states the result, whose plane has to be one that a convolution takes back."""
    result, weights, shape = operands.numbers(0), operands.shape(1, 4), operands.shape(2, 4)
    needs(len(operands.shape(0)) == 1 and len(result) == 4, "its result is not stated by four numbers")
    needs(weights[3] == shape[3] and weights[0] == result[3], "its weights do not fit its channels")
    back = image(operands, (result[0], *result[1:3], result[3]), weights[1:3], shape[3])
    if back != [[*shape]]:  # LiteRT takes it all the same
        raise NotComputedError(f"a result of {result} does not come from {list(shape)}")
    return [result]


def pool(operands: Operands) -> list[list[int]]:
    """A window over each channel."""
    shape = operands.shape(0, 4)
    return image(operands, shape, (operands.option("filter_height"), operands.option("filter_width")), shape[3])


def dense(operands: Operands) -> list[list[int]]:
    """FULLY_CONNECTED: weights [units, columns]."""
    shape, weights = operands.shape(0), operands.shape(1, 2)
    needs(weights[1] > 0 and prod(shape) % weights[1] == 0, "its weights do not fit its input")
    if operands.option("keep_num_dims"):
        needs(bool(shape) and shape[-1] == weights[1], "its weights do not fit its input")
        return [[*shape[:-1], weights[0]]]
    return [[prod(shape) // weights[1], weights[0]]]


def products(operands: Operands) -> list[list[int]]:
    """BATCH_MATMUL."""
    left, right = operands.shape(0), operands.shape(1)
    needs(min(len(left), len(right)) >= 2, "a factor has fewer than two axes")
    sides = [shape[:-3:-1] if turn else shape[-2:] for shape, turn in
             ((left, operands.option("adj_x")), (right, operands.option("adj_y")))]  # fmt: skip
    needs(sides[0][1] == sides[1][0], "its factors do not fit")
    return [[*broadcast((1, *left[:-2]), (1, *right[:-2]))[1:], sides[0][0], sides[1][1]]]


def svdf(operands: Operands) -> list[list[int]]:
    """SVDF: [batch, units]; weights of features [units * rank, columns]."""
    shape, features, rank = operands.shape(0, 2), operands.shape(1, 2), operands.option("rank")
    needs(rank > 0 and features[0] % rank == 0, "its rank does not fit its weights")
    return [[shape[0], features[0] // rank]]


def recurrent(operands: Operands) -> list[list[int]]:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: the last axis has the size of the output state (recurrent weights, input 6)."""
    shape, weights = operands.shape(0, 3), operands.shape(6, 2)
    return [[*shape[:-1], weights[1]]]


def resized(operands: Operands) -> list[list[int]]:
    """RESIZE_*: input 1 has height and width."""
    shape, plane = operands.shape(0, 4), operands.numbers(1)
    needs(len(plane) == 2, "its result is not stated by two numbers")
    return [[shape[0], *plane, shape[3]]]


# Functions element by element, and what takes elements together.


def same(operands: Operands) -> list[Shape]:
    """The size of the first operand."""
    return [operands.shape()]


def along(operands: Operands) -> list[Shape]:
    """CUMSUM, REVERSE_V2: the size of the first operand, whose axes are input 1 where that is a constant."""
    shape = operands.shape()
    for axis in operands.view.ints(operands.node, 1) or ():
        place(axis, len(shape))
    return [shape]


def alike(operands: Operands) -> list[Shape]:
    """Operands of one size, which broadcast nothing."""
    shapes = {operands.shape(position) for position in range(len(operands.node.inputs))}
    needs(len(shapes) == 1, "its operands differ in size")
    return [*shapes]


def pair(operands: Operands) -> list[list[int]]:
    """Two operands and more that broadcast."""
    needs(bool(operands.node.inputs), "it has no operands")
    return [broadcast(*(operands.shape(position) for position in range(len(operands.node.inputs))))]


def reduction(operands: Operands) -> list[list[int]]:
    """MEAN, SUM and their like: axes are input 1."""
    shape = operands.shape()
    axes = {place(axis, len(shape)) for axis in operands.numbers(1)}
    kept = operands.option("keep_dims")
    return [[1 if axis in axes else size for axis, size in enumerate(shape) if kept or axis not in axes]]


def chosen(operands: Operands) -> list[list[int]]:
    """ARG_MAX, ARG_MIN: the axis is input 1."""
    shape = operands.shape()
    return [without(shape, place(operands.number(1), len(shape)))]


def largest(operands: Operands) -> list[list[int]]:
    """TOPK_V2: values and places."""
    shape, count = operands.shape(), operands.number(1)
    needs(bool(shape) and count <= shape[-1], "it takes more elements than there are")
    return [[*shape[:-1], count]] * 2


# What gives elements other axes or other places.


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
    axes = {place(axis, len(shape)) for axis in operands.node.ints("squeeze_dims")}
    needs(all(shape[axis] == 1 for axis in axes), "it drops an axis that is longer than 1")
    axes = axes or {axis for axis, size in enumerate(shape) if size == 1}
    return [[size for axis, size in enumerate(shape) if axis not in axes]]


def expanded(operands: Operands) -> list[list[int]]:
    """EXPAND_DIMS: the new axis is input 1."""
    shape = operands.shape()
    axis = place(operands.number(1), len(shape) + 1)
    return [[*shape[:axis], 1, *shape[axis:]]]


def turned(operands: Operands) -> list[list[int]]:
    """TRANSPOSE: the order is input 1."""
    shape, order = operands.shape(), operands.numbers(1)
    needs(len(order) == len(shape), "its order does not name each axis")
    order = [place(axis, len(shape)) for axis in order]
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
    axis = place(operands.number(0), len(shape))
    needs(count > 0 and shape[axis] % count == 0, f"{shape[axis]} elements are not {count} equal parts")
    return [[*shape[:axis], shape[axis] // count, *shape[axis + 1 :]]] * count


def split_by(operands: Operands) -> list[list[int]]:
    """SPLIT_V: input 1 has the sizes, one of them -1 for what is left; input 2 the axis."""
    shape, parts = operands.shape(), operands.numbers(1)
    axis = place(operands.number(2), len(shape))
    needs(parts.count(-1) <= 1 and min(parts, default=0) >= -1, f"{parts} are no sizes")
    parts = [shape[axis] - sum(n for n in parts if n != -1) if part == -1 else part for part in parts]
    needs(sum(parts) == shape[axis] and len(parts) == operands.option("num_splits"), "its parts are not the whole")
    return [[*shape[:axis], part, *shape[axis + 1 :]] for part in parts]


def unpacked(operands: Operands) -> list[list[int]]:
    """UNPACK: `num` results without the axis."""
    shape, count = operands.shape(), operands.option("num")
    axis = place(operands.option("axis"), len(shape))
    needs(shape[axis] == count, f"{shape[axis]} elements are not {count}")
    return [without(shape, axis)] * count


def packed(operands: Operands) -> list[list[int]]:
    """PACK: operands of one size along a new axis."""
    (shape,), count = alike(operands), len(operands.node.inputs)
    needs(operands.option("values_count") == count, "it counts other operands than it has")
    axis = place(operands.option("axis"), len(shape) + 1)
    return [[*shape[:axis], count, *shape[axis:]]]


def joined(operands: Operands) -> list[list[int]]:
    """CONCATENATION."""
    shapes = [operands.shape(position) for position in range(len(operands.node.inputs))]
    needs(bool(shapes), "it has no operands")
    axis = place(operands.option("axis"), len(shapes[0]))
    needs(len({len(shape) for shape in shapes}) == 1, "its operands differ in rank")
    needs(len({tuple(without(shape, axis)) for shape in shapes}) == 1, "its operands differ beside the axis")
    return [[*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :]]]


def gathered(operands: Operands) -> list[list[int]]:
    """GATHER: the axis becomes the axes of the places, but for those of batches."""
    shape, places = operands.shape(), operands.shape(1)
    axis = place(operands.option("axis"), len(shape))
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


# Sizes as data, such as the target of a RESHAPE behind an open batch.


def picked(operands: Operands) -> list[int]:
    """STRIDED_SLICE of a vector."""
    operands.shape(0, 1)
    begin, end, step = (operands.number(position) for position in (1, 2, 3))
    first = None if operands.option("begin_mask") & 1 else begin
    if operands.option("shrink_axis_mask") & 1:
        return [operands.numbers(0)[first or 0]]
    return operands.numbers(0)[first : None if operands.option("end_mask") & 1 else end : step]


def joined_numbers(operands: Operands) -> list[int]:
    """PACK, CONCATENATION of scalars or vectors."""
    return [number for position in range(len(operands.node.inputs)) for number in operands.numbers(position)]


LISTS: Mapping[str, Callable[[Operands], list[int]]] = {
    "SHAPE": lambda operands: [*operands.shape()],
    "STRIDED_SLICE": picked,
    "PACK": joined_numbers,
    "CONCATENATION": joined_numbers,
    "MUL": lambda operands: [operands.number(0) * operands.number(1)],
}
"""Numbers of a scalar or a vector, by operator."""


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "CONV_2D": convolution,
        "DEPTHWISE_CONV_2D": depthwise,
        "TRANSPOSE_CONV": transposed,
        "FULLY_CONNECTED": dense,
        "BATCH_MATMUL": products,
        "SVDF": svdf,
        "UNIDIRECTIONAL_SEQUENCE_LSTM": recurrent,
        **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), pool),
        **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), resized),
        **dict.fromkeys(("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "GELU", "HARD_SWISH", "LEAKY_RELU", "LOG"), same),
        **dict.fromkeys(("LOGICAL_NOT", "LOGISTIC", "NEG", "RELU", "ROUND", "SIGN", "SIN", "SQRT", "TANH"), same),
        **dict.fromkeys(("RSQRT", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "SQUARE", "ZEROS_LIKE", "QUANTIZE"), same),
        **dict.fromkeys(("DEQUANTIZE", "FAKE_QUANT", "CAST", "SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION"), same),
        "DYNAMIC_UPDATE_SLICE": same,
        **dict.fromkeys(("CUMSUM", "REVERSE_V2"), along),
        **dict.fromkeys(("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "PRELU", "POW", "SQUARED_DIFFERENCE"), pair),
        **dict.fromkeys(("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "LOGICAL_AND"), pair),
        **dict.fromkeys(("LOGICAL_OR", "FLOOR_DIV", "FLOOR_MOD", "SELECT_V2"), pair),
        "ADD_N": alike,
        **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL", "REDUCE_ANY"), reduction),
        "REDUCE_PROD": reduction,
        **dict.fromkeys(("ARG_MAX", "ARG_MIN"), chosen),
        "TOPK_V2": largest,
        "RESHAPE": reshaped,
        "SQUEEZE": squeezed,
        "EXPAND_DIMS": expanded,
        "TRANSPOSE": turned,
        "SLICE": counted_slice,
        "STRIDED_SLICE": strided_slice,
        "SPLIT": split,
        "SPLIT_V": split_by,
        "UNPACK": unpacked,
        "PACK": packed,
        "CONCATENATION": joined,
        "GATHER": gathered,
        "GATHER_ND": gathered_deep,
        "EMBEDDING_LOOKUP": looked_up,
        **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), padded),
        "TILE": tiled,
        "BROADCAST_TO": spread,
        "BROADCAST_ARGS": longest,
        "FILL": filled,
        "SHAPE": measured,
        "DEPTH_TO_SPACE": depth_to_space,
        "SPACE_TO_DEPTH": space_to_depth,
        "SPACE_TO_BATCH_ND": space_to_batch,
        "BATCH_TO_SPACE_ND": batch_to_space,
    }
)
"""Rules by operator, in TensorFlow Lite's names."""


class SubgraphView:
    """Tensors of a subgraph of the file under their numbers as names."""

    def __init__(self, model: TfliteModel, subgraph: Subgraph) -> None:
        self._model, self._tensors = model, subgraph.tensors

    def input_shape(self, node: Node, position: int) -> tuple[Size, ...] | None:
        """Sizes as the file states them, None for -1."""
        if not node.has(position):
            return None
        return tuple(None if size < 0 else size for size in self._tensors[int(node.inputs[position])].shape)

    def elem_type(self, name: str) -> str:
        """Element type, empty where it holds no numbers or is left out."""
        return elem_type(self._tensors[int(name)]) if name else ""

    def ints(self, node: Node, position: int) -> list[int] | None:
        """Whole numbers of a constant input."""
        tensor = self._tensors[int(node.inputs[position])] if node.has(position) else None
        if tensor is None or not self._model.is_constant(tensor):
            return None
        values = constant(self._model, tensor, tensor.name).values()
        return None if values is None else [int(value) for value in values]


def computed_sizes(model: TfliteModel, subgraph: Subgraph, operator: TfliteOperator) -> tuple[Shape, ...]:
    """Sizes of each result, worked out of the stated sizes of the inputs. Raises NotComputedError."""
    node = Node(
        index=0,
        name="",
        op_type=operator.title,
        domain=TFLITE,
        opset=operator.version,
        inputs=tuple(str(number) if number >= 0 else "" for number in operator.inputs),
        outputs=tuple(map(str, operator.outputs)),
        attributes={name: int(value) if isinstance(value, bool) else value for name, value in operator.options.items()},
    )
    return result_sizes(node, SubgraphView(model, subgraph))
