"""Calls of TensorFlow Lite Micro's reference kernels that are measured, and a `.tflite` model of each."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from onnxlint_cmsis.runtimes.tflm.reference_turns import ReferenceCall, turns_of  # noqa: E402
from support.tflite_chains import Chain  # type: ignore[import-not-found] # noqa: E402

MOST_TURNS = 6000
"""Turns of the largest measured call: the loops of a larger one are the same."""
CALLS = {"fit": 32, "apart": 12}
"""Calls of each kernel and type: those that a fit sees, and those held apart."""
NUMPY = {"int8": np.int8, "int16": np.int16, "int32": np.int32, "float32": np.float32}
STEPS = {"int8": 0.05, "uint8": 0.04, "int16": 0.0005, "int32": 1e-7}
"""Scale of a tensor of a type; plain numbers have none."""
VERSIONS = {
    "CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 4, "TRANSPOSE_CONV": 3, "TRANSPOSE": 2, "STRIDED_SLICE": 4,
    **dict.fromkeys(("ADD", "MUL", "MEAN", "CONCATENATION", "LOGISTIC", "RELU", "QUANTIZE", "DEQUANTIZE", "PAD"), 2),
}  # fmt: skip
OPTIONS = {
    "CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions", "TRANSPOSE_CONV": "TransposeConvOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions", "AVERAGE_POOL_2D": "Pool2DOptions", "MAX_POOL_2D": "Pool2DOptions",
    "SOFTMAX": "SoftmaxOptions", "ADD": "AddOptions", "MUL": "MulOptions", "SUB": "SubOptions", "DIV": "DivOptions",
    "LEAKY_RELU": "LeakyReluOptions", "MEAN": "ReducerOptions", "SUM": "ReducerOptions", "REDUCE_MAX": "ReducerOptions",
    "CONCATENATION": "ConcatenationOptions", "STRIDED_SLICE": "StridedSliceOptions", "SPLIT": "SplitOptions",
    "SPLIT_V": "SplitVOptions", "PACK": "PackOptions", "UNPACK": "UnpackOptions", "ARG_MAX": "ArgMaxOptions",
    "RESIZE_BILINEAR": "ResizeBilinearOptions", "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
    "BATCH_MATMUL": "BatchMatMulOptions", "SQUEEZE": "SqueezeOptions", "CAST": "CastOptions",
    "L2_NORMALIZATION": "L2NormOptions", "GATHER": "GatherOptions", "MIRROR_PAD": "MirrorPadOptions",
    "SPACE_TO_DEPTH": "SpaceToDepthOptions", "DEPTH_TO_SPACE": "DepthToSpaceOptions",
}  # fmt: skip
"""Table of options of an operator; others have none."""
RESCALED = (
    "RELU6", "RELU", "LEAKY_RELU", "QUANTIZE", "ADD", "MUL", "SUB", "DIV", "MEAN", "SUM", "HARD_SWISH", "ELU", "PRELU",
    "TRANSPOSE_CONV",
)  # fmt: skip
"""Operators that may change the scale."""
SCALES = (0.4, 1.0, 1.7, 3.1)
"""Scales of their results, against those of their data."""
COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
WRITTEN = ("axes", "step", "results", "last_dropped")
"""Options of a call that no table of the schema has."""


class Draw:
    """Draws shapes."""

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)
        self.size, self.pick = self.chance.randint, self.chance.choice

    def shape(self, rank: int = 0, most: int = MOST_TURNS) -> list[int]:
        """A shape of a rank, or of any from 1 to 4."""
        rank = rank or self.pick([1, 2, 3, 4, 4, 4])
        while True:
            shape: list[int] = [self.pick([1, 1, 1, 2])] * (rank > 3) + [
                self.pick([self.size(1, 12), self.size(1, 40), 8, 16]) for _ in range(rank - (rank > 3))
            ]
            if prod(shape) <= most:
                return shape

    def window(self) -> dict[str, Any]:
        """Stride and padding."""
        return {
            "stride_h": self.pick([1, 1, 2]), "stride_w": self.pick([1, 1, 2, 3]),
            "padding": self.pick(["SAME", "SAME", "VALID"]), "fused_activation_function": "NONE",
        }  # fmt: skip


Drawn = tuple[list[list[int]], list[int], dict[str, Any]]
"""Shapes of data and weights, shape of the result, options."""


def _placed(size: int, taps: int, stride: int, padding: str) -> int:
    return -(-size // stride) if padding == "SAME" else (size - taps) // stride + 1


def _image(draw: Draw, taps: list[int], options: dict[str, Any], channels: int) -> list[list[int]]:
    """An image, and what windows leave of it."""
    sizes = [draw.size(tap, 9) for tap in taps]
    strides = options["stride_h"], options["stride_w"]
    outs = [_placed(*axis, options["padding"]) for axis in zip(sizes, taps, strides, strict=True)]
    images = draw.pick([1, 1, 2])
    return [[images, *sizes, channels], [images, *outs, channels]]


def _taps(draw: Draw) -> list[int]:
    return [draw.pick([1, 1, 2, 3, 5]), draw.pick([1, 1, 3, 3, 4])]


def _conv(draw: Draw) -> Drawn:
    taps, options = _taps(draw), draw.window()
    depth, channels = draw.pick([1, 3, 4, 8, 16, draw.size(1, 24)]), draw.size(1, 10)
    image, result = _image(draw, taps, options, depth)
    return [image, [channels, *taps, depth]], [*result[:3], channels], options


def _depthwise(draw: Draw) -> Drawn:
    taps, options = _taps(draw), draw.window()
    depth, times = draw.size(1, 12), draw.pick([1, 1, 1, 2])
    image, result = _image(draw, taps, options, depth)
    return [image, [1, *taps, depth * times]], [*result[:3], depth * times], {**options, "depth_multiplier": times}


def _transposed_conv(draw: Draw) -> Drawn:
    taps, options = _taps(draw), draw.window()
    options.pop("fused_activation_function")
    sizes = [draw.size(1, 6), draw.size(1, 6)]
    strides = options["stride_h"], options["stride_w"]
    outs = [
        size * stride if options["padding"] == "SAME" else (size - 1) * stride + max(tap, stride)
        for size, stride, tap in zip(sizes, strides, taps, strict=True)
    ]
    depth, channels = draw.size(1, 10), draw.size(1, 10)
    return [[1, *sizes, depth], [channels, *taps, depth]], [1, *outs, channels], options


def _dense(draw: Draw) -> Drawn:
    rows, depth, outputs = draw.pick([1, 1, 1, 2, 5]), draw.size(1, 200), draw.size(1, 30)
    return [[rows, depth], [outputs, depth]], [rows, outputs], {"fused_activation_function": "NONE"}


def _matrices(draw: Draw) -> Drawn:
    rows, depth, columns, many = (draw.size(1, 14) for _ in range(4))
    many = min(many, 3)
    adj_x, adj_y = draw.pick([True, False, False]), draw.pick([True, False])
    left = [many, *((depth, rows) if adj_x else (rows, depth))]
    right = [many, *((columns, depth) if adj_y else (depth, columns))]
    return [left, right], [many, rows, columns], {"adj_x": adj_x, "adj_y": adj_y}


def _pool(draw: Draw) -> Drawn:
    taps, options = _taps(draw), draw.window()
    image, result = _image(draw, taps, options, draw.size(1, 16))
    return [image], result, {**options, "filter_height": taps[0], "filter_width": taps[1]}


def _same(draw: Draw) -> Drawn:
    shape = draw.shape()
    return [shape], shape, {}


def _leaky(draw: Draw) -> Drawn:
    shape = draw.shape()
    return [shape], shape, {"alpha": draw.pick([0.01, 0.2, 0.3])}


def _rows(draw: Draw) -> Drawn:
    shape = draw.shape(2)
    return [shape], shape, {"beta": 1.0}


def _pairs(draw: Draw) -> Drawn:
    shape = draw.shape()
    second = [size if draw.size(0, 2) else 1 for size in shape][draw.size(0, len(shape)) if draw.size(0, 1) else 0 :]
    if not draw.size(0, 2) or not second:
        second = shape
    return [shape, second], shape, {"fused_activation_function": "NONE"}


def _prelu(draw: Draw) -> Drawn:
    shape = draw.shape(4)
    return [shape, [1, 1, shape[-1]]], shape, {}


def _reduced(draw: Draw) -> Drawn:
    shape, keep = draw.shape(), draw.pick([True, False])
    axes = sorted(draw.chance.sample(range(len(shape)), draw.size(1, len(shape))))
    if len(shape) == 4 and draw.size(0, 1):
        axes = [1, 2]
    result = [1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes]
    return [shape], result, {"axes": axes, "keep_dims": keep}


def _joined(draw: Draw) -> Drawn:
    shape, count = draw.shape(4, 1500), draw.size(2, 5)
    axis = draw.pick([1, 2, 3, 3, 3])
    inputs = [[draw.size(1, 16) if at == axis else size for at, size in enumerate(shape)] for _ in range(count)]
    shape[axis] = sum(own[axis] for own in inputs)
    return inputs, shape, {"axis": axis, "fused_activation_function": "NONE"}


def _moved(draw: Draw) -> Drawn:
    shape = draw.shape()
    return [shape], [prod(shape)], {}


def _expanded(draw: Draw) -> Drawn:
    shape = draw.shape(3)
    return [shape], [1, *shape], {}


def _squeezed(draw: Draw) -> Drawn:
    shape = draw.shape(3)
    return [[1, *shape]], shape, {"squeeze_dims": [0]}


def _sliced(draw: Draw) -> Drawn:
    shape = draw.shape()
    return [shape], [draw.size(max(1, size // 2), size) for size in shape], {}


def _stepped(draw: Draw) -> Drawn:
    inputs, result, _ = _sliced(draw)
    step = draw.pick([1, 1, 2])
    result[-1] = -(-result[-1] // step)
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    return inputs, result, {"step": step, **masks}


def _split(draw: Draw) -> Drawn:
    shape = draw.shape(0, 2000)
    axis, results = draw.size(0, len(shape) - 1), draw.size(2, 4)
    whole = [size * results if at == axis else size for at, size in enumerate(shape)]
    return [whole], shape, {"axis": axis, "results": results, "num_splits": results}


def _unpacked(draw: Draw) -> Drawn:
    shape = draw.shape(3, 2000)
    axis, results = draw.size(0, 3), draw.size(1, 5)
    return [[*shape[:axis], results, *shape[axis:]]], shape, {"axis": axis, "results": results, "num": results}


def _packed(draw: Draw) -> Drawn:
    shape = draw.shape(3, 2000)
    axis, count = draw.size(0, 3), draw.size(1, 4)
    return [shape] * count, [*shape[:axis], count, *shape[axis:]], {"axis": axis, "values_count": count}


def _padded(draw: Draw) -> Drawn:
    shape = draw.shape(draw.pick([2, 3, 4, 4]), 3000)
    return [shape], [size + draw.pick([0, 0, 1, 2, 3]) for size in shape], {}


def _resized(draw: Draw) -> Drawn:
    image = [1, draw.size(1, 8), draw.size(1, 8), draw.size(1, 24)]
    result = [1, draw.size(1, 12), draw.size(1, 12), image[3]]
    return [image], result, {"align_corners": draw.pick([True, False]), "half_pixel_centers": False}


def _turned(draw: Draw) -> Drawn:
    shape = draw.shape(draw.pick([2, 3, 4]))
    axes = list(range(len(shape)))
    draw.chance.shuffle(axes)
    return [shape], [shape[axis] for axis in axes], {"axes": axes}


def _chosen(draw: Draw) -> Drawn:
    shape = draw.shape(draw.pick([1, 2, 3, 4]))
    axis = draw.size(0, len(shape) - 1)
    return [shape], [*shape[:axis], *shape[axis + 1 :]], {"axis": axis, "output_type": "INT32"}


def _gathered(draw: Draw) -> Drawn:
    shape = draw.shape(draw.pick([1, 2, 3, 4]), 3000)
    axis, count = draw.size(0, len(shape) - 1), draw.size(1, 8)
    return [shape], [*shape[:axis], count, *shape[axis + 1 :]], {"axis": axis, "batch_dims": 0}


def _blocks(draw: Draw) -> tuple[list[int], list[int], dict[str, Any]]:
    """An image in depth, the same in space, and the size of a block."""
    block, height, width, depth = draw.size(2, 3), draw.size(1, 6), draw.size(1, 6), draw.size(1, 12)
    image = draw.pick([1, 1, 2])
    deep = [image, height, width, depth * block * block]
    return deep, [image, height * block, width * block, depth], {"block_size": block}


def _deepened(draw: Draw) -> Drawn:
    deep, wide, options = _blocks(draw)
    return [wide], deep, options


def _widened(draw: Draw) -> Drawn:
    deep, wide, options = _blocks(draw)
    return [deep], wide, options


def _mirrored(draw: Draw) -> Drawn:
    shape = draw.shape(draw.pick([2, 3, 4, 4]), 2000)
    result = [size + draw.size(0, min(3, size - 1)) for size in shape]
    return [shape], result, {"mode": draw.pick(["REFLECT", "SYMMETRIC"])}


def _compared(draw: Draw) -> Drawn:
    inputs, result, _ = _pairs(draw)
    return inputs, result, {}


Kind = tuple[str, str]
"""Type of data, and of the result where that is another."""
FLOAT: tuple[Kind, ...] = (("float32", ""),)
INTEGER: tuple[Kind, ...] = (("int8", ""), ("int16", ""))
ALL = (*FLOAT, *INTEGER)
PLAIN = (*ALL, ("int32", ""))
WITHOUT_INT8 = (*FLOAT, ("int16", ""), ("int32", ""))
"""Types of operators of which CMSIS-NN has the kernel for int8."""
ROWS: tuple[tuple[tuple[str, ...], tuple[Kind, ...], Callable[[Draw], Drawn]], ...] = (
    (("CONV_2D",), FLOAT, _conv),
    (("DEPTHWISE_CONV_2D",), FLOAT, _depthwise),
    (("TRANSPOSE_CONV",), (*FLOAT, ("int16", "")), _transposed_conv),
    (("FULLY_CONNECTED",), FLOAT, _dense),
    (("BATCH_MATMUL",), FLOAT, _matrices),
    (("AVERAGE_POOL_2D", "MAX_POOL_2D"), FLOAT, _pool),
    (("SOFTMAX", "LOG_SOFTMAX"), FLOAT, _rows),
    (("L2_NORMALIZATION",), (*FLOAT, ("int8", "")), _rows),
    (("LOGISTIC", "TANH"), ALL, _same),
    (("LEAKY_RELU",), ALL, _leaky),
    (("RELU", "RELU6", "HARD_SWISH", "ELU"), (*FLOAT, ("int8", "")), _same),
    (("EXP", "ABS", "SQRT", "RSQRT", "SQUARE", "LOG", "SIN", "COS", "NEG"), FLOAT, _same),
    (("ABS",), (("int8", ""),), _same),
    (("ADD", "MUL", "SUB"), (*ALL, ("int32", "")), _pairs),
    (("DIV",), FLOAT, _pairs),
    (("MAXIMUM", "MINIMUM"), (*FLOAT, ("int16", "")), _pairs),
    (("PRELU",), (*FLOAT, ("int8", "")), _prelu),
    (("MEAN", "SUM"), ALL, _reduced),
    (("REDUCE_MAX",), (*FLOAT, ("int8", "")), _reduced),
    (("CONCATENATION",), PLAIN, _joined),
    (("RESHAPE",), PLAIN, _moved),
    (("EXPAND_DIMS",), (*FLOAT, ("int8", "")), _expanded),
    (("SQUEEZE",), (*FLOAT, ("int8", "")), _squeezed),
    (("STRIDED_SLICE",), PLAIN, _stepped),
    (("SLICE",), PLAIN, _sliced),
    (("SPLIT", "SPLIT_V"), PLAIN, _split),
    (("UNPACK",), (*FLOAT, ("int8", ""), ("int32", "")), _unpacked),
    (("PACK",), (*FLOAT, ("int8", ""), ("int32", "")), _packed),
    (("PAD",), WITHOUT_INT8, _padded),
    (("RESIZE_BILINEAR",), (*FLOAT, ("int8", "")), _resized),
    (("RESIZE_NEAREST_NEIGHBOR",), ALL, _resized),
    (("TRANSPOSE",), (*FLOAT, ("int16", "")), _turned),
    (("ARG_MAX",), (("float32", "int32"), ("int8", "int32")), _chosen),
    (("QUANTIZE",), (("float32", "int8"), ("float32", "int16"), *INTEGER, ("int8", "int16"), ("int16", "int8"),
                     ("int32", "int8"), ("int32", "int16"), ("int8", "int32"), ("int16", "int32"),
                     ("uint8", "int8"), ("int8", "uint8")), _same),
    (("DEQUANTIZE",), (("int8", "float32"), ("int16", "float32")), _same),
    (("CAST",), (("int8", "float32"), ("float32", "int8"), ("int32", "float32"), ("float32", "int32"),
                 ("int16", "float32"), ("int32", "int16"), ("int16", "int32")), _same),
    (("BATCH_MATMUL",), INTEGER, _matrices),
    (("GATHER",), (*FLOAT, ("int8", "")), _gathered),
    (("SPACE_TO_DEPTH",), (*FLOAT, ("int8", "")), _deepened),
    (("DEPTH_TO_SPACE",), (*FLOAT, ("int8", "")), _widened),
    (("MIRROR_PAD",), (*FLOAT, ("int8", "")), _mirrored),
    (COMPARISONS, (("float32", "bool"), ("int8", "bool"), ("int32", "bool")), _compared),
)  # fmt: skip
"""Operators, their types, and how their calls are drawn: a kernel costs a row."""


def drawn(part: str) -> Iterator[ReferenceCall]:
    """The calls of a part, kernel by kernel."""
    for ops, kinds, draw_shapes in ROWS:
        for op in ops:
            for kind, result in kinds:
                draw, done = Draw(f"{part} {op} {kind} {result}"), 0
                while done < CALLS[part]:
                    inputs, output, options = draw_shapes(draw)
                    call = ReferenceCall(op, kind, inputs, output, result, options)
                    turns = turns_of(call) or {}
                    if 0 < sum(turns.values()) <= 3 * MOST_TURNS and all(output):
                        done += 1
                        yield call


def model_of(call: ReferenceCall, seed: int) -> bytes:
    """A model of one call, with weights of its own."""
    model = _Model(call, seed)
    inputs, operands = model.operands()
    outputs = [model.tensor(call.output, call.result_type or call.elem_type, result=True) for _ in range(model.results)]
    options = {name: value for name, value in call.options.items() if name not in WRITTEN}
    table = OPTIONS.get(call.op)
    if table:
        known = {name: value for name, value in options.items() if name in model.fields(table)}
        model.chain.add(call.op, operands, outputs[0], (table, known))
    else:
        model.chain.add(call.op, operands, outputs[0])
    model.chain.operators[-1]["outputs"] = outputs
    return bytes(model.chain.model(inputs, outputs, versions=VERSIONS))


class _Model:
    """Tensors of a model of one call."""

    def __init__(self, call: ReferenceCall, seed: int) -> None:
        self.call, self.chain, self.seed = call, Chain(seed), seed
        self.results = call.options.get("results", 1)

    @staticmethod
    def fields(table: str) -> set[str]:
        """Names of a table's fields."""
        from onnxlint_cmsis.formats.tflite.schema import SCHEMA

        return set(SCHEMA.fields(table))

    def tensor(self, shape: list[int], kind: str, *, result: bool = False) -> int:
        """A tensor that is computed or given."""
        scale, zero = STEPS.get(kind), 0
        if result and scale and self.call.op in RESCALED:
            scale *= SCALES[self.seed % len(SCALES)]
        fixed = {"LOGISTIC": (1 / 256, -128, 1 / 32768), "TANH": (1 / 128, 0, 1 / 32768)}.get(self.call.op)
        if fixed and scale:
            scale = (fixed[0] if kind == "int8" else fixed[2]) if result else scale
            zero = fixed[1] if result and kind == "int8" else 0
        if self.call.op == "L2_NORMALIZATION" and result and scale:
            scale = 1 / 128
        if kind == "int32" and (self.call.op != "QUANTIZE"):
            scale = None
        scales = [] if scale is None else [scale]
        return int(self.chain.tensor(shape, scale=scales, zero=[zero] * len(scales), kind=kind.upper(), buffer=0))

    def weights(self, shape: list[int], kind: str, axis: int = 0) -> int:
        """Random weights; those of integers have a scale."""
        values = self.chain.rng.uniform(-1, 1, shape)
        if kind == "float32":
            return int(self.chain.constant(values.astype(np.float32), []))
        count = shape[axis] if self.call.op == "TRANSPOSE_CONV" else 1
        scales = [0.01] * count
        return int(self.chain.constant((values * 100).astype(NUMPY[kind]), scales, [0] * count, axis))

    def numbers(self, values: Any) -> int:
        """A constant of whole numbers."""
        return int(self.chain.constant(np.array(values, np.int32), []))

    def operands(self) -> tuple[list[int], list[int]]:
        """Tensors that the caller fills, and all that the operator reads."""
        call, kind = self.call, self.call.elem_type
        weighted = call.op in (*BIASED, "TRANSPOSE_CONV", "PRELU")
        inputs = [self.tensor(shape, kind) for shape in (call.inputs[:1] if weighted else call.inputs)]
        if call.op in BIASED:
            return inputs, [*inputs, self.weights(call.inputs[1], kind), self.weights([call.output[-1]], kind)]
        if call.op == "TRANSPOSE_CONV":
            weights = self.weights(call.inputs[1], "int8" if kind == "int16" else kind)
            return inputs, [self.numbers(call.output), weights, *inputs]
        if call.op == "PRELU":
            return inputs, [*inputs, self.weights(call.inputs[1], kind)]
        stored = CONSTANTS.get(call.op)
        constants = [self.numbers(values) for values in (stored(call) if stored else [])]
        return inputs, [*constants, *inputs] if call.op == "SPLIT" else [*inputs, *constants]


BIASED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def _slice_ends(call: ReferenceCall) -> list[Any]:
    """Begins, ends and steps."""
    steps = [1] * (len(call.output) - 1) + [call.options["step"]]
    sizes = zip(call.output, steps, call.inputs[0], strict=True)
    return [[0] * len(steps), [min(size * step, whole) for size, step, whole in sizes], steps]


def _paddings(call: ReferenceCall) -> list[Any]:
    """Elements before and after, for each axis."""
    added = [after - before for before, after in zip(call.inputs[0], call.output, strict=True)]
    return [[[more // 2, more - more // 2] for more in added]]


def _coordinates(call: ReferenceCall) -> list[Any]:
    axis = call.options["axis"]
    return [[number * 5 % call.inputs[0][axis] for number in range(call.output[axis])]]


CONSTANTS: dict[str, Callable[[ReferenceCall], list[Any]]] = {
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "TRANSPOSE"), lambda call: [call.options["axes"]]),
    **dict.fromkeys(("ARG_MAX", "SPLIT"), lambda call: [[call.options["axis"]]]),
    "SPLIT_V": lambda call: [[call.output[call.options["axis"]]] * call.options["results"], [call.options["axis"]]],
    "RESHAPE": lambda call: [call.output],
    "EXPAND_DIMS": lambda _: [[0]],
    "STRIDED_SLICE": _slice_ends,
    "SLICE": lambda call: [[0] * len(call.output), call.output],
    **dict.fromkeys(("PAD", "MIRROR_PAD"), _paddings),
    "GATHER": _coordinates,
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), lambda call: [call.output[1:3]]),
}
"""Operator to its constants of whole numbers, in order."""
