"""How often each part of a reference kernel of TensorFlow Lite Micro runs, which the sizes of its tensors decide.

Each function names the source whose loops it counts, below tensorflow/lite/kernels/internal/reference or
tensorflow/lite/micro/kernels of revision 90b983c2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from onnxlint_cmsis.cmsis_nn.library import LONGEST, AxisSizes, Plane, plane
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Pair
from onnxlint_cmsis.runtimes.interpretation import steps_up
from onnxlint_cmsis.runtimes.tflm.windows import window

Turns = dict[str, int]
"""Part of a kernel to how often it runs."""
BYTES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "int32": 4, "float32": 4, "int64": 8}


class ReferenceCall(NamedTuple):
    """An operator that a reference kernel computes; shapes as TensorFlow Lite has them."""

    op: str
    """Operator in TensorFlow Lite's words."""
    elem_type: str
    """Type of its data, as `int8` or `float32`."""
    inputs: list[list[int]]
    """Shapes of its data, and of its weights where it has some."""
    output: list[int]
    """Shape of its first result."""
    result_type: str = ""
    """Type of its result where that is another."""
    options: Mapping[str, Any] = {}
    """Options by the schema's names; `axes` of a reduction, `step` of the last axis of a slice, `results`."""


def turns_of(call: ReferenceCall) -> Turns | None:
    """How often the parts of a kernel run; None for an operator without a row, and for sizes beyond any device."""
    count = KERNELS.get(call.op)
    sizes = [size for shape in (*call.inputs, call.output) for size in shape]
    if count is None or not all(0 < size <= LONGEST for size in sizes):
        return None
    return count(call)


def _plane(call: ReferenceCall, taps: tuple[int, int]) -> Plane | None:
    """How windows meet the padding; None where a stride is no stride."""
    option = call.options.get
    strides = option("stride_h", 1), option("stride_w", 1)
    dilations = option("dilation_h_factor", 1), option("dilation_w_factor", 1)
    if not all(0 < size <= LONGEST for size in (*strides, *dilations, *taps)):
        return None
    (_, *sizes, _), (_, *places, _) = call.inputs[0], call.output
    pairs = (Pair(*sizes), Pair(*taps), Pair(*strides), Pair(*dilations))
    before = window(option("padding", "VALID"), *pairs).before
    height, width = (
        AxisSizes(places[axis], strides[axis], before[axis] or 0, taps[axis], dilations[axis], sizes[axis])
        for axis in (0, 1)
    )
    return plane(height, width)


def _windows(call: ReferenceCall, channels: int, depth: int, taps: tuple[int, int]) -> Turns | None:
    """Windows that visit all their taps and skip those in the padding."""
    met = _plane(call, taps)
    if met is None:
        return None
    images, height, width, _ = call.output
    outputs = images * height * width * channels
    return {
        "product": images * met.inside * channels * depth,
        "inside": images * met.inside * channels,
        "tap": outputs * prod(taps),
        "row": outputs * taps[0],
        "output": outputs,
        "pixel": images * height * width,
        "call": 1,
    }


def _convolution(call: ReferenceCall) -> Turns | None:
    """conv.h: for each result all rows and taps of its window, and for each on the image all channels of its group."""
    if [len(shape) for shape in (*call.inputs, call.output)] != [4, 4, 4]:
        return None
    channels, height, width, depth = call.inputs[1]
    return _windows(call, channels, depth, (height, width))


def prepare_depthwise(call: ReferenceCall) -> Turns | None:
    """depthwiseconv_float.h."""
    if [len(shape) for shape in (*call.inputs, call.output)] != [4, 4, 4]:
        return None
    _, height, width, channels = call.inputs[1]
    return _windows(call, channels, 1, (height, width))


def prepare_pool(call: ReferenceCall) -> Turns | None:
    """pooling.h: windows that are cut to the image."""
    taps = call.options.get("filter_height", 0), call.options.get("filter_width", 0)
    met = _plane(call, taps) if len(call.inputs[0]) == len(call.output) == 4 else None
    if met is None:
        return None
    images, height, width, channels = call.output
    return {
        "tap": images * met.inside * channels,
        "row": images * met.h.inside * width * channels,
        "output": prod(call.output),
        "pixel": images * height * width,
        "call": 1,
    }


def _scattered(call: ReferenceCall) -> Turns | None:
    """transpose_conv.h: each input is added to all results that it reaches; those in the padding are skipped."""
    if [len(shape) for shape in (*call.inputs[:2], call.output)] != [4, 4, 4]:
        return None
    (images, height, width, depth), (channels, *taps, _) = call.inputs[:2]
    turned = call._replace(inputs=[call.output], output=call.inputs[0])
    met = _plane(turned, (taps[0], taps[1]))
    if met is None:
        return None
    return {
        "product": images * met.inside * depth * channels,
        "skipped": images * (height * width * prod(taps) - met.inside) * depth * channels,
        "tap": images * height * width * depth * prod(taps),
        "row": images * height * width * depth * taps[0],
        "input": images * height * width * depth,
        "output": prod(call.output),
        "call": 1,
    }


def prepare_dense(call: ReferenceCall) -> Turns | None:
    """fully_connected.h."""
    if len(call.inputs[1]) != 2:
        return None
    outputs, depth = prod(call.output), call.inputs[1][1]
    return {"product": outputs * depth, "output": outputs, "line": outputs // call.output[-1], "call": 1}


def _matrices(call: ReferenceCall) -> Turns | None:
    """batch_matmul.h; each side that is not turned already is transposed before (batch_matmul.cc)."""
    if any(len(shape) < 2 for shape in call.inputs):
        return None
    left, right = call.inputs
    depth = left[-2] if call.options.get("adj_x") else left[-1]
    return {
        "product": prod(call.output) * depth,
        "output": prod(call.output),
        "left": prod(left) if call.options.get("adj_x") else 0,
        "right": 0 if call.options.get("adj_y") else prod(right),
        "call": 1,
    }


def _elements(call: ReferenceCall) -> Turns:
    """One loop over all elements."""
    return {"element": prod(call.output), "call": 1}


def _rows(call: ReferenceCall) -> Turns:
    """softmax.h, log_softmax.h, l2normalization.h: loops over each row of the last axis."""
    return {"element": prod(call.output), "line": prod(call.output[:-1]), "call": 1}


def _pairs(call: ReferenceCall) -> Turns:
    """Equal shapes take one loop over all elements.

    Others join neighbouring axes in which the same operand repeats, and run the last of these loops over elements
    (broadcast_loop.h).
    """
    if all(shape == call.output for shape in call.inputs):
        return _elements(call)
    loops = _broadcast(call.inputs, call.output)
    kind = "one" if loops and 0 in loops[0].strides else "neither"
    sizes = [loop.turns for loop in reversed(loops)]
    return {
        f"{kind} repeated element": prod(call.output),
        f"{kind} repeated line": prod(sizes[:-1]),
        "repeated turn": steps_up(sizes),
        "repeated call": 1,
    }


class _Loop(NamedTuple):
    """One loop of a broadcast."""

    turns: int
    """How often it runs."""
    strides: tuple[int, ...]
    """Elements by which each operand goes on; 0 for one that repeats."""


def _broadcast(inputs: list[list[int]], output: list[int]) -> list[_Loop]:
    """The loops of BroadcastBinaryOpSimple (broadcast_loop.h:83), innermost first."""
    rank = len(output)
    extended = [[1] * (rank - len(shape)) + shape for shape in inputs]
    loops: list[_Loop] = []
    reached = [1] * len(inputs)
    for axis in reversed(range(rank)):
        turns, own = output[axis], [shape[axis] for shape in extended]
        strides = tuple(0 if size == 1 != turns else by for size, by in zip(own, reached, strict=True))
        behind = loops[-1].strides if loops else ()
        joins = all(stride == (by if next_ else 0) for stride, by, next_ in zip(strides, reached, behind, strict=False))
        if loops and (turns == 1 or joins):
            loops[-1] = _Loop(loops[-1].turns * turns, behind)
        else:
            loops.append(_Loop(turns, strides))
        reached = [by * size for by, size in zip(reached, own, strict=True)]
    return loops


def _reduced(call: ReferenceCall) -> Turns:
    """reduce.h: a reduction visits every element and its axes. MEAN of an image of floats has loops of its own."""
    shape, elements = call.inputs[0], prod(call.output)
    size = prod(shape)
    image = len(shape) == 4 and tuple(call.options.get("axes", ())) in ((1, 2), (2, 1))
    if call.op == "MEAN" and call.elem_type == "float32" and image and call.options.get("keep_dims"):
        return {"tap": size, "row": shape[1] * elements, "channel": elements, "image": 1}
    return {"element": size, "axis": size * len(shape), "line": steps_up(shape), "result": elements, "call": 1}


COPIED = {64: "block", 16: "quad", 4: "word", 1: "byte"}
"""Bytes that a loop of memcpy moves at a time (newlib's memcpy-armv7m.S)."""


def _copies(runs: Mapping[int, int], **others: int) -> Turns:
    """Copies by memcpy: bytes of one to how many there are. Words take other ways where addresses are odd."""
    turns: Turns = {}
    for size, times in runs.items():
        odd, rest = "" if size % 4 == 0 else "odd ", size
        turns[f"{odd}copy"] = turns.get(f"{odd}copy", 0) + times
        for step, name in COPIED.items():
            turns[f"{odd}{name}"] = turns.get(f"{odd}{name}", 0) + times * (rest // step)
            rest %= step
    return {**turns, **others, "call": 1}


def _width(call: ReferenceCall) -> int:
    return BYTES[call.result_type or call.elem_type]


def _concatenation(call: ReferenceCall) -> Turns:
    """concatenation.h: a copy for each input and outer index."""
    output = call.output
    axis = next((at for at, size in enumerate(output) if any(shape[at] != size for shape in call.inputs)), 0)
    runs: dict[int, int] = {}
    for shape in call.inputs:
        size = prod(shape[axis:]) * _width(call)
        runs[size] = runs.get(size, 0) + prod(output[:axis])
    return _copies(runs, input=len(call.inputs))


def _moved(call: ReferenceCall) -> Turns:
    """reshape.cc, squeeze.cc: one copy."""
    return _copies({prod(call.output) * _width(call): 1})


def _expanded(call: ReferenceCall) -> Turns:
    """expand_dims.cc: a loop over bytes."""
    return {"byte": prod(call.output) * _width(call), "call": 1}


def _sliced(call: ReferenceCall) -> Turns:
    """strided_slice.h: a copy for each line, or of each element where the last axis has a step. slice.h: elements."""
    last = call.output[-1] if call.output and not call.options.get("last_dropped") else 1
    lines = prod(call.output) // last
    if call.op == "SLICE" or call.options.get("step", 1) != 1:
        return {"element": prod(call.output), "line": lines, "call": 1}
    return _copies({last * _width(call): lines})


def _parts(call: ReferenceCall) -> Turns:
    """split.cc, split_v.cc, unpack.cc, pack.cc: loops that copy elements, for each part and outer index."""
    shape, results = call.inputs[0], call.options.get("results", 1)
    axis = call.options.get("axis", 0)
    if call.op == "PACK":
        axis, results, shape = axis % len(call.output), len(call.inputs), call.output
    axis %= len(shape)
    outer = prod(shape[:axis])
    return {"element": prod(shape), "run": outer * results, "part": results, "call": 1}


PADDED = ("batch", "plane", "row", "column", "channel")


def _padded(call: ReferenceCall) -> Turns:
    """pad.h: each result is copied, or filled once the first of five axes tells that it lies outside."""
    inner, outer = ([1] * (5 - len(shape)) + shape for shape in (call.inputs[0], call.output))
    outside = {
        f"outside {name}": prod(inner[:axis]) * (outer[axis] - inner[axis]) * prod(outer[axis + 1 :])
        for axis, name in enumerate(PADDED)
    }
    return {"copied": prod(inner), **outside, "line": prod(outer[:4]), "turn": steps_up(outer[:4]), "call": 1}


def _resized(call: ReferenceCall) -> Turns | None:
    """resize_bilinear.h: each pixel weighs four. resize_nearest_neighbor.h: each pixel is a copy."""
    if len(call.output) != 4:
        return None
    pixels, rows = prod(call.output[:3]), prod(call.output[:2])
    if call.op == "RESIZE_NEAREST_NEIGHBOR":
        return _copies({call.output[3] * _width(call): pixels}, row=rows)
    return {"element": prod(call.output), "pixel": pixels, "row": rows, "call": 1}


def prepare_transposed(call: ReferenceCall) -> Turns:
    """transpose.h: loops over all axes, the last over elements."""
    return {"element": prod(call.output), "line": steps_up(call.output), "call": 1}


def _chosen(call: ReferenceCall) -> Turns:
    """arg_min_max.h: the axis is walked for each result."""
    axis = call.options.get("axis", 0) % len(call.inputs[0])
    outer = prod(call.inputs[0][:axis])
    return {"element": prod(call.inputs[0]), "result": prod(call.output), "outer": outer, "call": 1}


def _gathered(call: ReferenceCall) -> Turns | None:
    """gather.cc: a copy for each coordinate, of what lies behind the axis."""
    axis, data = call.options.get("axis", 0), call.inputs[0]
    if not -len(data) <= axis < len(data):
        return None
    inner = prod(data[axis % len(data) + 1 :])
    return _copies({inner * _width(call): prod(call.output) // inner})


def _blocks(call: ReferenceCall) -> Turns:
    """space_to_depth.h, depth_to_space.h: loops over the axes of the image that lies in space."""
    wide = call.inputs[0] if call.op == "SPACE_TO_DEPTH" else call.output
    return {"element": prod(wide), "line": prod(wide[:-1]), "row": prod(wide[:2]), "call": 1}


def _mirrored(call: ReferenceCall) -> Turns:
    """mirror_pad.cc: each result finds its place along every axis."""
    size = prod(call.output)
    outside = size - prod(call.inputs[0])
    return {"element": size, "axis": size * len(call.output), "outside": outside, "call": 1}


KERNELS: dict[str, Callable[[ReferenceCall], Turns | None]] = {
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": prepare_depthwise,
    "TRANSPOSE_CONV": _scattered,
    "FULLY_CONNECTED": prepare_dense,
    "BATCH_MATMUL": _matrices,
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), prepare_pool),
    **dict.fromkeys(("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION"), _rows),
    **dict.fromkeys(("ADD", "MUL", "SUB", "DIV", "MAXIMUM", "MINIMUM", "PRELU", "SQUARED_DIFFERENCE"), _pairs),
    **dict.fromkeys(("LOGISTIC", "TANH", "RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "ELU", "EXP"), _elements),
    **dict.fromkeys(("ABS", "SQRT", "RSQRT", "SQUARE", "LOG", "SIN", "COS", "NEG", "CAST"), _elements),
    **dict.fromkeys(("QUANTIZE", "DEQUANTIZE"), _elements),
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX"), _reduced),
    "CONCATENATION": _concatenation,
    **dict.fromkeys(("RESHAPE", "SQUEEZE"), _moved),
    "EXPAND_DIMS": _expanded,
    **dict.fromkeys(("STRIDED_SLICE", "SLICE"), _sliced),
    **dict.fromkeys(("SPLIT", "SPLIT_V", "PACK", "UNPACK"), _parts),
    **dict.fromkeys(("PAD", "PADV2"), _padded),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _resized),
    "TRANSPOSE": prepare_transposed,
    "ARG_MAX": _chosen,
    "GATHER": _gathered,
    **dict.fromkeys(("SPACE_TO_DEPTH", "DEPTH_TO_SPACE"), _blocks),
    "MIRROR_PAD": _mirrored,
    **dict.fromkeys(("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"), _pairs),
}
"""Operator to how its kernel's parts are counted."""
