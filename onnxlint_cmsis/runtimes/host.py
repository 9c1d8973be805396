"""How far a device may be from the runtimes of a desktop: layer by layer on equal inputs, and behind one such layer.

The device is CMSIS-NN, or the reference kernels of TensorFlow Lite Micro, which compute the same integers. It
multiplies by 31-bit numbers, and rounds twice where the shift is negative: MultiplyByQuantizedMultiplier in
tensorflow/lite/kernels/internal/common.cc, arm_nn_requantize in arm_nnsupportfunctions.h. Builds with
TFLITE_SINGLE_ROUNDING or CMSIS_NN_USE_SINGLE_ROUNDING are others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import WEIGHTED, Function
from onnxlint_cmsis.lower.decision import Verdict
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.fixed_point import quantize_multiplier, requantize
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.integer_functions import ACTIVATIONS
from onnxlint_cmsis.operators.views import real_attribute

Array = NDArray[Any]
Read = Callable[[str], "Array | None"]
"""Values of a stored constant by its key; None where they cannot be read."""


# Runtimes of a desktop.


class Host(NamedTuple):
    """A runtime that a model is tried with before it runs on a device."""

    key: str
    """Name in JSON."""
    name: str
    """Name in messages."""
    measured: str
    """What was measured."""


LITERT = Host("litert", "LiteRT as it is shipped (XNNPACK)", "ai-edge-litert 2.3.0 on x86-64, one thread")
REFERENCE = Host("litert-reference", "LiteRT's reference kernels", "ai-edge-litert 2.3.0, BUILTIN_REF")
TFLITE_HOSTS = (LITERT, REFERENCE)
"""Those that read `.tflite` files."""
ORT = Host("onnxruntime", "ONNX Runtime, with optimisers or without", "onnxruntime 1.32.0 on x86-64")
"""What reads `.onnx` files: with optimisers in integer kernels that multiply by floats, without in floats."""


# A layer with the numbers that decide how it is rounded.


class Steps(NamedTuple):
    """How a tensor is stored: real = scale × (integer − zero-point)."""

    kind: str
    """Element type, int8 for int4."""
    scales: tuple[float, ...]
    """One, or one for each output channel."""
    zero: int
    """First zero-point."""

    @property
    def scale(self) -> float:
        """The first scale."""
        return self.scales[0]

    @property
    def ends(self) -> tuple[int, int]:
        """Least and largest integer."""
        info = np.iinfo(self.kind)
        return int(info.min), int(info.max)

    @property
    def width(self) -> int:
        """Steps from one end to the other."""
        return self.ends[1] - self.ends[0]

    @property
    def furthest(self) -> int:
        """Largest distance of an integer from the zero-point."""
        return max(abs(end - self.zero) for end in self.ends)

    @property
    def distances(self) -> Array:
        """Every integer less the zero-point."""
        low, high = self.ends
        return np.arange(low, high + 1, dtype=np.int64) - self.zero


class NoScaleError(Exception):
    """A tensor that a rule asks for has no scale."""


class HostLayer:
    """An operator of a `.tflite` file."""

    def __init__(self, graph: Graph, node: Node, read: Read) -> None:
        self.graph, self.node, self.read = graph, node, read
        self.position = {"TRANSPOSE_CONV": 2, "SPLIT": 1}.get(node.op_type, 0)
        """Input that holds the activation."""

    @property
    def kind(self) -> str:
        """Element type of the activation; empty for an operator without."""
        return self.graph.elem_type(self.node.inputs[self.position]) if self.node.has(self.position) else ""

    def steps(self, position: int) -> Steps:
        """How an input is stored. Raises NoScaleError."""
        return steps_of(self.graph, self.node.inputs[position] if self.node.has(position) else "")

    @property
    def data(self) -> Steps:
        """How the activation is stored. Raises NoScaleError."""
        return self.steps(self.position)

    @property
    def result(self) -> Steps:
        """How the first result is stored. Raises NoScaleError."""
        return steps_of(self.graph, next(iter(self.node.outputs), ""))

    @property
    def clamp(self) -> tuple[int, int]:
        """Ends of the result behind the fused activation, less its zero-point. Raises NoScaleError."""
        result = self.result
        known = ACTIVATIONS.get(self.node.text("fused_activation_function", "NONE"), (-math.inf, math.inf))
        least, most = (end - result.zero for end in result.ends)
        low, high = (round(end / result.scale) if math.isfinite(end) else end for end in known)
        return int(max(least, low)), int(min(most, high))

    @property
    def ratio(self) -> float:
        """Scale of the data by that of the result."""
        return self.data.scale / self.result.scale

    @property
    def factors(self) -> tuple[float, ...]:
        """Scale of the data times those of the other factor by that of the result: one, or one for each channel."""
        return tuple(self.ratio * scale for scale in self.steps(1).scales)


def steps_of(graph: Graph, name: str) -> Steps:
    """How a tensor of a `.tflite` file is stored. Raises NoScaleError."""
    stored, kind = graph.quantization.get(name), graph.elem_type(name)
    if stored is None or not stored.scales or kind not in ("int4", "int8", "int16"):
        raise NoScaleError
    steps = Steps("int8" if kind == "int4" else kind, stored.scales, (*stored.zero_points, 0)[0])
    low, high = steps.ends
    if not all(scale > 0 and math.isfinite(scale) for scale in steps.scales) or not low <= steps.zero <= high:
        raise NoScaleError
    return steps


# What a layer may be off on equal inputs.


class Bound(NamedTuple):
    """How far two results of a layer may be apart on equal inputs."""

    steps: int | None
    """Largest difference in steps of the result; 0 for bit for bit equal, None where nothing bounds it."""
    share: float | None = None
    """About which part of random results differs; None where that is not known."""
    why: str = ""
    """Why, where it is not what the row says."""


EQUAL, ONE = Bound(0), Bound(1)
Rule = Callable[[HostLayer], Bound]


def _always(bound: Bound) -> Rule:
    return lambda _layer: bound


def _rounded_once(factors: Iterable[float]) -> Bound:
    """One rounding against two, of the same number.

    One is at most 1/2 from it, two at most 1/2 + 2^-(n+1) at a shift of -n. They differ where the first of two left
    exactly a half, 1 in 2^n, and had rounded to the side that the second goes on to, every other time.
    """
    known = [factor for factor in factors if factor > 0 and math.isfinite(factor)]
    shifts = [max(-quantize_multiplier(factor).shift, 0) for factor in known] or [0]
    return Bound(1, float(np.mean([2.0 ** -(shift + 1) if shift else 0.0 for shift in shifts])))


def _weighted(layer: HostLayer) -> Bound:
    """One rounding against two, but in channels whose sums all lie beyond one end of the result."""
    sums = _sums(layer)
    if sums is None:
        return _rounded_once(layer.factors)
    low, high = layer.clamp
    factors = layer.factors * (len(sums[0]) if len(layer.factors) == 1 else 1)
    ends = zip(*sums, map(quantize_multiplier, factors), strict=True)
    same = [len(set(np.clip(requantize(np.array(end), by), low, high).tolist())) == 1 for *end, by in ends]
    if all(same):
        return EQUAL
    bound = _rounded_once(factor for factor, settled in zip(factors, same, strict=True) if not settled)
    return bound._replace(share=(bound.share or 0.0) * same.count(False) / len(same))


LARGEST_FACTOR = 2.0**8
"""Above it products of sums are not looked at: they may need more than 63 bits."""


def _sums(layer: HostLayer) -> tuple[Array, Array] | None:
    """Least and largest sum of each output channel; None where they are not known to fit 32 bits."""
    at = 3 if layer.position == 2 else 2
    weights = layer.read(layer.node.inputs[1]) if layer.node.has(1) else None
    bias = layer.read(layer.node.inputs[at]) if layer.node.has(at) else np.int64(0)
    if weights is None or weights.ndim < 2 or not weights.size or bias is None or layer.data.kind != "int8":
        return None
    if weights.dtype.kind != "i" or bias.dtype.kind != "i":
        return None
    axis = weights.ndim - 1 if layer.node.op_type == "DEPTHWISE_CONV_2D" else 0
    lanes = np.moveaxis(weights.astype(np.int64) - layer.steps(1).zero, axis, 0).reshape(weights.shape[axis], -1)
    ends = [lanes * (end - layer.data.zero) for end in layer.data.ends]
    if bias.shape not in ((), (len(lanes),)) or len(layer.factors) not in (1, len(lanes)):
        return None
    low, high = (pick(*ends).sum(axis=1) + bias for pick in (np.minimum, np.maximum))
    fits = max(layer.factors) < LARGEST_FACTOR
    return (low, high) if fits and low.min(initial=0) >= -(2**31) and high.max(initial=0) < 2**31 else None


def _rescaled(layer: HostLayer) -> Bound:
    return EQUAL if layer.ratio == 1 or layer.result.kind != "int8" else ONE


SHORT = 1 << 16
"""Unit to which the device shortens multipliers for sums of 64 bits."""


def _shortened(layer: HostLayer) -> Bound:
    """A multiplier of 15 bits against one of 53: off by their distance times the largest result, and two roundings."""
    off = 0.0
    for value in (quantize_multiplier(factor).value for factor in layer.factors):
        short = (value + SHORT // 2) // SHORT if value < 0x7FFF0000 else 0x7FFF
        off = max(off, abs(short * SHORT / value - 1) if value else 0.0)
    return Bound(math.floor(off * layer.result.furthest + 1 + NEAR))


def misread_bias(graph: Graph, node: Node) -> tuple[Host, ...]:
    """Hosts that take the int32 bias of int16 sums for int64, and read past its end.

    They ask quantized_bias_type, and the optimized FULLY_CONNECTED asks the bias. DEPTHWISE_CONV_2D is not loaded
    (LiteRT's conv.cc, transpose_conv.cc, fully_connected.cc, depthwise_conv.cc:177; tried in ai-edge-litert 2.3.0).
    """
    hosts = {"CONV_2D": BOTH, "TRANSPOSE_CONV": BOTH, "FULLY_CONNECTED": PLAIN}.get(node.op_type, ())
    told = node.text("quantized_bias_type") == "INT32"
    return () if told or not _has_short_bias(graph, node) else hosts


def unsteady(graph: Graph, node: Node) -> tuple[Host, ...]:
    """Hosts that make other integers of a layer in each run: SUM of int16 (tried in ai-edge-litert 2.3.0)."""
    return PLAIN if node.op_type == "SUM" and node.has(0) and graph.elem_type(node.inputs[0]) == "int16" else ()


def _has_short_bias(graph: Graph, node: Node) -> bool:
    """Whether a layer adds an int32 bias to sums of int16."""
    data, bias = (2, 3) if node.op_type == "TRANSPOSE_CONV" else (0, 2)
    if not node.has(data) or not node.has(bias):
        return False
    return (graph.elem_type(node.inputs[data]), graph.elem_type(node.inputs[bias])) == ("int16", "int32")


MISREAD = Bound(None, why="its bias is int32 and quantized_bias_type does not say so: LiteRT reads int64")


def _wide(layer: HostLayer) -> Bound:
    """LiteRT takes an int32 bias for int64 unless the options tell of it; optimized kernels then round otherwise."""
    if not _has_short_bias(layer.graph, layer.node):
        return EQUAL
    if layer.node.op_type == "DEPTHWISE_CONV_2D":
        return Bound(None, why="its bias is int32, and LiteRT takes int64 alone")
    return MISREAD if misread_bias(layer.graph, layer.node) else ONE


def _wide_reference(layer: HostLayer) -> Bound:
    bound = _wide(layer)
    return EQUAL if bound == ONE else bound


def _shortened_reference(layer: HostLayer) -> Bound:
    return MISREAD if REFERENCE in misread_bias(layer.graph, layer.node) else _shortened(layer)


def _tried(numbers: Array, result: Steps, *factors: float) -> Bound:
    """Equal if all factors make the same results of all numbers. Raises NoScaleError for a factor that is infinite."""
    if not all(map(math.isfinite, factors)):
        raise NoScaleError
    low, high = (end - result.zero for end in result.ends)
    multipliers = map(quantize_multiplier, factors)
    first, *others = (np.clip(requantize(numbers, multiplier), low, high) for multiplier in multipliers)
    return EQUAL if all((first == other).all() for other in others) else ONE


def _added(layer: HostLayer) -> Bound:
    """Both sums of every pair of integers: XNNPACK's multipliers have 21 bits, and it rounds halves up.

    The device shifts operands by 20 bits, and rounds each of them and their sum (arm_elementwise_add_s8.c).
    """
    pair, low, high = [layer.steps(position) for position in (0, 1)], *layer.clamp
    signs = (1, -1 if layer.node.op_type == "SUB" else 1)
    ratios = [np.float32(np.float32(steps.scale) / np.float32(layer.result.scale)) for steps in pair]
    twice = 2 * max(steps.scale for steps in pair)
    if not all(2.0**-10 <= ratio < 2.0**8 for ratio in ratios) or not twice < math.inf:
        return ONE  # other ratios were not tried
    shift = 21 - math.frexp(float(max(ratios)))[1]
    hosts, devices = (np.zeros((1, 1), np.int64) for _ in signs)
    for axis, (steps, sign, ratio) in enumerate(zip(pair, signs, ratios, strict=True)):
        numbers = np.expand_dims(steps.distances, 1 - axis)
        hosts = hosts + numbers * (sign * int(np.rint(float(ratio) * 2.0**shift)))
        devices = devices + sign * requantize(numbers << 20, quantize_multiplier(steps.scale / twice))
    devices = requantize(devices, quantize_multiplier(twice / 2**20 / layer.result.scale))
    differ = np.clip((hosts + (1 << shift - 1)) >> shift, low, high) != np.clip(devices, low, high)
    return Bound(1, float(differ.mean())) if differ.any() else EQUAL


def _product(layer: HostLayer) -> Bound:
    """A factor from double precision against one from single precision, tried on every product of 8 bits."""
    other = layer.steps(1)
    single = float(np.float32(layer.data.scale) * np.float32(other.scale) / np.float32(layer.result.scale))
    exact = layer.factors[0]
    if exact == single:
        return EQUAL
    if not layer.data.kind == other.kind == layer.result.kind == "int8":
        return ONE
    largest = layer.data.furthest * other.furthest
    return _tried(np.arange(-largest, largest + 1, dtype=np.int64), layer.result, exact, single)


def _shipped_product(layer: HostLayer) -> Bound:
    """Below a factor of 256 it is XNNPACK that multiplies (xnnpack_delegate.cc)."""
    if layer.factors[0] < 256:
        return _rounded_once(layer.factors)
    return Bound(None, why="from a factor of 256 on, LiteRT takes an optimized kernel whose 16-bit sums wrap")


def _slopes(layer: HostLayer, slope: float) -> Bound:
    """Factors from double against single precision, tried on every integer; another below 0 than above."""
    data, result = np.float32(layer.data.scale), np.float32(layer.result.scale)
    bound = _tried(
        layer.data.distances[layer.data.distances >= 0],
        layer.result,
        layer.ratio,
        float(data / result),
    )
    below = (layer.ratio * slope, float(data * np.float32(slope) / result))
    negative = layer.data.distances[layer.data.distances < 0]
    return max(bound, _tried(negative, layer.result, *below)) if negative.size else bound


def _relu(layer: HostLayer) -> Bound:
    return _slopes(layer, 0.0)


def _leaky(layer: HostLayer) -> Bound:
    return _slopes(layer, real_attribute(layer.node, "alpha", 0.0))


def _prelu(layer: HostLayer) -> Bound:
    return max(_slopes(layer, 0.0), _product(layer))


NEAR = 1e-4
"""Distance from a half, in steps, at which fixed-point numbers and floats may round to other sides."""


def _near_halves(curve: Callable[[Array], Array]) -> Rule:
    """A curve that both compute almost exactly: they differ where a value lies at a half."""

    def rule(layer: HostLayer) -> Bound:
        values = curve(layer.data.distances * layer.data.scale) / layer.result.scale
        halves = np.abs(values - np.floor(values) - 0.5) < NEAR
        return Bound(1, float(halves.mean())) if halves.any() else EQUAL

    return rule


def _exponent(scale: float) -> int | None:
    """Power of two that a scale is, as TensorFlow Lite sees it (CheckedLog2, quantization_util.cc); None for none."""
    power = math.log2(scale)
    return round(power) if abs(power - round(power)) < 1e-3 else None


def _added_wide(layer: HostLayer) -> Bound:
    """LiteRT shifts where all scales are powers of two and the option of that name is not off (add.cc, sub.cc)."""
    scales = [steps.scale for steps in (layer.data, layer.steps(1), layer.result)]
    if layer.node.int("pot_scale_int16", 1) and all(_exponent(scale) is not None for scale in scales):
        return Bound(1, why="LiteRT shifts where scales are powers of two, the device multiplies")
    return EQUAL


def _added_in_vectors(layer: HostLayer) -> Bound:
    """The same, and vectors where both operands have one shape (add.cc, sub.cc)."""
    shapes = {layer.graph.shape(name) for name in layer.node.inputs[:2]}
    return ONE if len(shapes) < 2 or None in shapes else _added_wide(layer)


def _curve_wide(most: Mapping[int, int]) -> Rule:
    """LiteRT computes in fixed-point numbers at some powers of two, elsewhere by the device's table."""

    def rule(layer: HostLayer) -> Bound:
        power = _exponent(layer.data.scale)
        return EQUAL if power is None else Bound(most.get(power, 0))

    return rule


SHARE_NEAR = 4e-4
"""The same for results of a softmax, in steps of 1/256: exponentials off by 2^-20, and a quotient."""


def _softmax(layer: HostLayer) -> Bound:
    """The device adds exponentials of 19 fraction bits, each off by up to 2^-20, to a sum from 1 up.

    Of two elements their distance decides, so that every result is tried: one near a half may be rounded to both sides.
    """
    row = (*(layer.graph.shape(layer.node.inputs[0]) or (None,)),)[-1]
    if row is None:
        return Bound(None, why="the length of its rows is not known")
    if row == 2 and layer.result.kind == "int8":
        apart = np.arange(layer.data.width + 1) * layer.data.scale * real_attribute(layer.node, "beta", 1.0)
        shares = np.concatenate([1 / (1 + np.exp(-apart)), 1 / (1 + np.exp(apart))]) / layer.result.scale
        return ONE if (np.abs(shares - np.floor(shares) - 0.5) < SHARE_NEAR).any() else EQUAL
    return Bound(math.floor(1 + row * 2.0**-20 * (layer.result.width + 1)))


def _clamped(layer: HostLayer) -> Bound:
    if layer.data == layer.result:
        return EQUAL
    return Bound(None, why="its input has another scale or zero-point, which the device does not look at")


def _matrices(layer: HostLayer) -> Bound:
    constant = any(name in layer.graph.constants for name in layer.node.inputs[:2])
    return _rounded_once(layer.factors) if constant else EQUAL


def _bilinear(layer: HostLayer) -> Bound:
    """Places in 1/1024 of an element, off by more with every row, against places in floats (resize_bilinear.h)."""
    source, result = (
        layer.graph.shape(names[0]) if names else None for names in (layer.node.inputs, layer.node.outputs)
    )
    off = 0.0
    for before, after in zip(source or (None,), result or (None,), strict=False):
        if not before or not after or after > LONGEST:
            return Bound(None, why="its sizes are not known, or too large to be looked at")
        off += _misplaced(layer.node, before, after)
    return Bound(math.floor(layer.result.width * off + 1 + NEAR))


LONGEST = 1 << 16
"""Largest size of an axis whose places are looked at."""


def _misplaced(node: Node, before: int, after: int) -> float:
    """Largest distance of two places along an axis, and of weights of 10 or 11 bits."""
    if before == after:
        return 0.0
    cut = 1 if node.int("align_corners") and after > 1 else 0
    scale = (1024 * (before - cut) + (after - cut) // 2) // (after - cut)
    places, exact = np.arange(after) * scale, np.arange(after) * (before - cut) / (after - cut)
    if node.int("half_pixel_centers"):
        places, exact = places + scale // 2 - 512, exact + (before / after - 1) / 2
    return float(np.abs(np.clip(places / 1024, 0, before - 1) - np.clip(exact, 0, before - 1)).max()) + 2.0**-11


# The table: a row for each operator, type and host. The first that fits holds.


class HostRow(NamedTuple):
    """What operators may be off in a host."""

    ops: tuple[str, ...]
    """Operators."""
    kinds: tuple[str, ...]
    """Element types of the data; none for any type."""
    hosts: tuple[Host, ...]
    """Runtimes."""
    rule: Rule
    """Bound of a layer."""
    most: str
    """The bound in words, for the page on runtimes."""
    why: str
    """Why they differ, or why not."""
    source: str
    """Where that stands."""
    measured: str
    """What was seen in random layers: part of the results and largest difference."""


BOTH = (LITERT, REFERENCE)
SHIPPED, PLAIN = (LITERT,), (REFERENCE,)
S8, S16 = ("int8",), ("int16",)
WHOLE = ("int8", "int16")
FLOAT = ("float32",)
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV")
COPIES = (
    "RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "SLICE", "STRIDED_SLICE", "SPLIT", "SPLIT_V", "UNPACK", "PACK",
    "GATHER", "GATHER_ND", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "REVERSE_V2", "BROADCAST_TO", "CONCATENATION", "PAD",
    "PADV2", "MIRROR_PAD", "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND", "MAX_POOL_2D", "MAXIMUM", "MINIMUM",
    "REDUCE_MAX", "REDUCE_MIN", "RESIZE_NEAREST_NEIGHBOR", "ZEROS_LIKE", "SELECT_V2", "DYNAMIC_UPDATE_SLICE",
)  # fmt: skip
"""Operators whose results are elements of their inputs."""
EXACT = (
    "SHAPE", "FILL", "ARG_MAX", "ARG_MIN", "EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL",
    "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "BROADCAST_ARGS", "CAST",
)  # fmt: skip
"""Operators whose results are sizes, places or truth values."""
UNTOLD_BIAS = "{}; any with an int32 bias where quantized_bias_type is left out"
SAME_CODE = "the same integers, in another order at most"
REQUANTIZE = "rounds once, the device twice at negative shifts"

ROWS: tuple[HostRow, ...] = (
    HostRow(
        CONVOLUTIONS, S8, SHIPPED, _weighted, "1", REQUANTIZE,
        "XNNPACK multiplies by floats and rounds halves to even", "0.03 to 0.3 %, by 1",
    ),
    HostRow(CONVOLUTIONS, S8, PLAIN, _always(EQUAL), "0", SAME_CODE, "integer_ops/conv.h", "none of 110,000"),
    HostRow(
        CONVOLUTIONS, S16, SHIPPED, _wide, "0; with an int32 bias 1, or any where quantized_bias_type is left out",
        "optimized kernels take sums of 32 bits, the device a shortened multiplier or two roundings",
        "LiteRT's conv.cc:1021", "0.02 % of those with an int32 bias, by 1",
    ),
    HostRow(
        CONVOLUTIONS, S16, PLAIN, _wide_reference, UNTOLD_BIAS.format("0"), SAME_CODE, "integer_ops/conv.h",
        "none of 110,000",
    ),
    HostRow(
        ("FULLY_CONNECTED",), S8, BOTH, _weighted, "1", REQUANTIZE,
        "LiteRT's reference kernel rounds a double (integer_ops/fully_connected.h:187)", "0.03 to 0.09 %, by 1",
    ),
    HostRow(
        ("FULLY_CONNECTED",), S16, SHIPPED, _shortened, "1, or 2",
        "multiplies by a double; the device's multiplier has 15 bits", "common.cc:MultiplyByQuantizedMultiplier",
        "2.2 %, by 1",
    ),
    HostRow(
        ("FULLY_CONNECTED",), S16, PLAIN, _shortened_reference, UNTOLD_BIAS.format("1, or 2"),
        "multiplies by a double; the device's multiplier has 15 bits", "common.cc:MultiplyByQuantizedMultiplier",
        "2.2 %, by 1",
    ),
    HostRow(
        ("BATCH_MATMUL",), S8, SHIPPED, _matrices, "0; 1 with a constant operand", REQUANTIZE,
        "XNNPACK takes products with a constant", "none of 38,400 without a constant",
    ),
    HostRow(("BATCH_MATMUL",), WHOLE, BOTH, _always(EQUAL), "0", SAME_CODE, "batch_matmul.h", "none of 38,400"),
    HostRow(
        ("ADD", "SUB"), S8, SHIPPED, _added, "0 or 1",
        "adds with multipliers of 21 bits and rounds halves up, the device halves away from zero",
        "XNNPACK's qs8-vadd", "0.1 to 0.2 % of all pairs, by 1",
    ),
    HostRow(("ADD", "SUB"), S8, PLAIN, _always(EQUAL), "0", SAME_CODE, "integer_ops/add.h", "none of 3,900,000"),
    HostRow(
        ("ADD", "SUB"), S16, SHIPPED, _added_in_vectors, "0 of unequal shapes, else 1",
        "rounds operands otherwise in vectors",
        "LiteRT's optimized/integer_ops/add.h", "0.15 % where scales are powers of two, less than 0.001 % elsewhere",
    ),
    HostRow(
        ("ADD", "SUB"), S16, PLAIN, _added_wide, "0; 1 where scales are powers of two",
        "shifts by powers of two, where the device multiplies", "LiteRT's add.cc:216, sub.cc:203", "0.15 %, by 1",
    ),
    HostRow(
        ("MUL",), S8, SHIPPED, _shipped_product, "1", REQUANTIZE, "XNNPACK's qs8-vmul", "0.6 % of all pairs, by 1",
    ),
    HostRow(
        ("MUL",), WHOLE, BOTH, _product, "0, or 1 where a factor rounds otherwise",
        "computes the factor in single precision, the device in double", "mul_common.cc:62, LiteRT's mul.cc:126",
        "none of 3,900,000 in int8; 0.0004 % in int16, by 1",
    ),
    HostRow(
        ("DIV", "SQUARED_DIFFERENCE"), S8, BOTH, _always(EQUAL), "0", SAME_CODE, "div.cc, squared_difference.cc",
        "none of 33,000 and 3,900,000; LiteRT refuses a divisor of 0",
    ),
    HostRow(
        ("RELU",), WHOLE, BOTH, _relu, "0, or 1 where a factor rounds otherwise",
        "computes the factor in single precision, newer devices in double",
        "activations_common.cc:42", "none of 61,440 in int8; 0.007 % in int16, by 1",
    ),
    HostRow(
        ("RELU6", "RELU_N1_TO_1"), WHOLE, BOTH, _clamped, "0",
        "clamps integers alone", "activations_common.cc:122", "none of 61,440",
    ),
    HostRow(
        ("LEAKY_RELU",), S8, SHIPPED, _always(ONE), "1", "multiplies by numbers of 8 fraction bits",
        "XNNPACK's qs8-vlrelu", "9 % of all integers, by 1",
    ),
    HostRow(
        ("LEAKY_RELU",), WHOLE, BOTH, _leaky, "0, or 1 where a factor rounds otherwise",
        "computes the factor in single precision, newer devices in double",
        "leaky_relu_common.cc:55", "none of 61,440 in int8; 0.01 % in int16, by 1",
    ),
    HostRow(
        ("PRELU",), WHOLE, BOTH, _prelu, "0, or 1 where a factor rounds otherwise",
        "computes the factors in single precision, the device in double", "prelu_common.cc:32",
        "none of 51,200 in int8; 0.006 % in int16, by 1",
    ),
    HostRow(
        ("LOGISTIC",), S8, BOTH, _near_halves(lambda x: 1 / (1 + np.exp(-x))), "0, or 1 at halves",
        "looks up floats, the device computes in fixed-point numbers", "integer_ops/logistic.h",
        "0.03 % of all integers, by 1",
    ),
    HostRow(
        ("TANH",), S8, BOTH, _near_halves(np.tanh), "0, or 1 at halves",
        "looks up floats, the device computes in fixed-point numbers", "integer_ops/tanh.h", "none of 61,440",
    ),
    HostRow(
        ("LOGISTIC",), S16, SHIPPED, _curve_wide({-12: 7}), "0; 7 at a scale of 2^-12",
        "has other code for that scale", "LiteRT's activations.cc:506", "87 % of all integers at 2^-12, by 7 at most",
    ),
    HostRow(
        ("TANH",), S16, SHIPPED, _curve_wide({-12: 12, -11: 12}), "0; 12 at scales of 2^-12 and 2^-11",
        "has other code for that scale", "LiteRT's activations.cc:396", "63 % of all integers at 2^-12, by 12 at most",
    ),
    HostRow(("LOGISTIC", "TANH"), S16, PLAIN, _always(EQUAL), "0", SAME_CODE, "integer_ops/logistic.h", "none of all"),
    HostRow(("HARD_SWISH",), S8, BOTH, _always(EQUAL), "0", SAME_CODE, "reference/hard_swish.h", "none of 409,600"),
    HostRow(
        ("ELU",), S8, BOTH, _near_halves(lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x)),
        "0, or 1 at halves", "rounds floats that are off in the last bits", "XNNPACK's unary lookup",
        "0.2 % of all integers, by 1",
    ),
    HostRow(("ABS",), WHOLE, BOTH, _always(EQUAL), "0", SAME_CODE, "elementwise.cc", "none of 61,440"),
    HostRow(
        ("SOFTMAX",), S8, SHIPPED, _softmax, "1 to int8; to int16 1, and 1 for each 16 elements of a row",
        "sums exponentials as floats", "LiteRT's optimized_ops.h:Softmax",
        "0.001 % to int8, by 1; 0.15 % to int16, by 1 in rows of 60 and 14 in rows of 300",
    ),
    HostRow(("SOFTMAX",), S8, PLAIN, _always(EQUAL), "0", SAME_CODE, "reference/softmax.h", "none of 74,502"),
    HostRow(
        ("SOFTMAX",), S16, BOTH, _always(Bound(2)), "2", "has another number in one place of the table of exponentials",
        "softmax_common.cc", "0.02 %, by 1",
    ),
    HostRow(
        ("LOG_SOFTMAX",), S8, SHIPPED, _always(Bound(None)), "not bounded", "looks up floats",
        "LiteRT's activations.cc", "0.02 %, by 5 at most",
    ),
    HostRow(("LOG_SOFTMAX",), S8, PLAIN, _always(EQUAL), "0", SAME_CODE, "reference/log_softmax.h", "none of 48,000"),
    HostRow(
        ("L2_NORMALIZATION",), S8, BOTH, _always(EQUAL), "0", SAME_CODE, "integer_ops/l2normalization.h",
        "none of 25,600",
    ),
    HostRow(
        ("AVERAGE_POOL_2D",), WHOLE, BOTH, _always(EQUAL), "0", SAME_CODE, "integer_ops/pooling.h", "none of 115,744",
    ),
    HostRow(
        ("MEAN",), S8, SHIPPED, _always(ONE), "1", "multiplies by a float, and rounds the zero-point by itself",
        "XNNPACK; LiteRT's integer_ops/mean.h", "0.7 to 7 %, by 1",
    ),
    HostRow(("MEAN",), WHOLE, BOTH, _always(EQUAL), "0", SAME_CODE, "reference/reduce.h", "none of 3,118"),
    HostRow(("SUM",), WHOLE, SHIPPED, _always(ONE), "1", REQUANTIZE, "LiteRT's reduce.cc:1224", "4 to 7 %, by 1"),
    HostRow(
        ("SUM",), WHOLE, PLAIN, _always(Bound(None)), "not bounded", "adds integers without their scales",
        "LiteRT's reduce.cc", "nearly all",
    ),
    HostRow(
        ("RESIZE_BILINEAR",), S8, SHIPPED, _bilinear, "1 or 2, more in large images",
        "places rows in floats, the device in 1/1024 of a row", "reference/resize_bilinear.h:120", "13 %, by 2 at most",
    ),
    HostRow(
        ("RESIZE_BILINEAR",), S8, PLAIN, _always(EQUAL), "0", SAME_CODE, "reference/resize_bilinear.h",
        "none of 146,080",
    ),
    HostRow(
        ("QUANTIZE",), S8, SHIPPED, _rescaled, "1 to int8, 0 to int16", "multiplies by numbers of 8 fraction bits",
        "XNNPACK's qs8-vcvt", "5 to 8 %, by 1",
    ),
    HostRow(
        ("QUANTIZE",), FLOAT, SHIPPED, _always(Bound(1, 0.0)), "1 at halves", "rounds a float to even at halves",
        "XNNPACK's f32-qs8-vcvt; LiteRT's optimized_ops.h:AffineQuantize", "none to int8, 0.03 % to int16, by 1",
    ),
    HostRow(
        ("QUANTIZE",), FLOAT, PLAIN, _always(EQUAL), "0", SAME_CODE, "reference/quantize.h", "none of 34,560",
    ),
    HostRow(("QUANTIZE",), WHOLE, BOTH, _always(EQUAL), "0", SAME_CODE, "reference/requantize.h", "none of 102,400"),
    HostRow(
        ("DEQUANTIZE",), WHOLE, BOTH, _always(EQUAL), "0", SAME_CODE, "reference/dequantize.h", "none of 15,360",
    ),
    HostRow(COPIES, (), BOTH, _always(EQUAL), "0", "takes elements as they are", "", "none"),
    HostRow(EXACT, (), BOTH, _always(EQUAL), "0", "computes with whole numbers", "", "none"),
)  # fmt: skip


# One operator in one host.


FLOATS = "computes in float, where the last bits may differ"
UNMEASURED = "has not been measured"
PLAIN_WHOLE = ("ADD", "SUB", "MUL")
"""Operators that are exact on integers without scales."""


class LayerDifference(NamedTuple):
    """What one operator may be off in one host."""

    node: Node
    """The operator."""
    bound: Bound
    """By how much, on equal inputs."""
    why: str
    """Why, as what the host does; empty where it is equal."""

    @property
    def equal(self) -> bool:
        """Whether equal inputs give equal results."""
        return self.bound.steps == 0


def difference(layer: HostLayer, host: Host) -> LayerDifference:
    """What the table says of an operator."""
    row = row_of(layer, host)
    node, kind = layer.node, layer.kind
    if row is None:
        if kind.startswith("float"):
            return LayerDifference(node, Bound(None), FLOATS)
        exact = kind in ("int32", "int64") and node.op_type in PLAIN_WHOLE
        return LayerDifference(node, EQUAL, "") if exact else LayerDifference(node, Bound(None), UNMEASURED)
    try:
        with np.errstate(all="ignore"):  # scales of damaged files
            bound = row.rule(layer)
    except NoScaleError:
        return LayerDifference(node, Bound(None), "has a tensor without a scale that it can have")
    return LayerDifference(node, bound, "" if bound.steps == 0 else bound.why or row.why)


def row_of(layer: HostLayer, host: Host) -> HostRow | None:
    """The first row that fits an operator; None for none."""
    op, kind = layer.node.op_type, layer.kind
    rows = (row for row in ROWS if op in row.ops and host in row.hosts and (kind in row.kinds or not row.kinds))
    return next(rows, None)


UNROUNDED = frozenset({*COPIES, "DEQUANTIZE", "RELU6", "RELU_N1_TO_1"})
"""Operators that give their inputs' steps back."""


def handed_on(layer: LayerDifference, apart: Collection[int]) -> int | None:
    """Steps that a layer's results are apart where its inputs are by `apart`; None for no bound.

    A bound through further layers would hold with each of them at its worst, which no input reaches: of 97 such bounds
    7 were.
    """
    if not any(apart):
        return layer.bound.steps
    return max(apart) if layer.equal and layer.node.op_type in UNROUNDED else None


# A model in one host.


class HostComparison(NamedTuple):
    """What a model may be off in one host."""

    host: Host
    """The host."""
    layers: tuple[LayerDifference, ...]
    """Every operator that the model runs, in file order."""
    outputs: tuple[tuple[str, int | None], ...]
    """Outputs of the model, and the steps that they may be apart on equal inputs; None for no bound."""


def against(graph: Graph, read: Read, host: Host, unfit: Mapping[int, str]) -> HostComparison:
    """Every operator of a `.tflite` model, and its outputs.

    `unfit` has operators that do not run on the device as the file says, by the index of the node, and what they do.
    """
    apart: dict[str, int | None] = dict.fromkeys((*graph.inputs, *graph.constants), 0)
    layers: list[LayerDifference] = []
    for node in graph.nodes:
        layer = HostLayer(graph, node, read)
        off = difference(layer, host)
        if node.index in unfit:
            off = LayerDifference(node, Bound(None), unfit[node.index])
        layers.append(off)
        inputs = [apart.get(name) for name in node.inputs if name]
        known = [steps for steps in inputs if steps is not None]
        open_ = len(known) < len(inputs) or bool(node.bodies) or any(name in graph.variables for name in node.inputs)
        apart.update(dict.fromkeys(node.outputs, None if open_ else handed_on(off, known)))
    return HostComparison(host, tuple(layers), tuple((name, apart.get(name)) for name in graph.outputs))


# A layer of an ONNX model in ONNX Runtime, held against the function of CMSIS-NN that it becomes.


TOLERANCE = {8: 1, 16: 2}
"""Bits of a result to the steps that a layer may be off: one unit of rounding. For int16 CMSIS-NN, as TensorFlow Lite,
takes multipliers of 15 bits, which are off by up to one unit in 2^15; its int16 softmax has another bound."""
FAITHFUL = (
    Function.MAX_POOL, Function.MAXIMUM, Function.MINIMUM, Function.PAD, Function.TRANSPOSE, Function.CONCATENATION,
    Function.RESHAPE,
)  # fmt: skip
"""Functions whose results are elements of their inputs."""
ROUNDS = "rounds halves to even and once, CMSIS-NN away from zero and twice at negative shifts"
TABLES = "computes exponentials as floats, CMSIS-NN in fixed-point numbers or by tables"
IN_FLOAT = "computes in float, as the file does; the device will not"


def softmax_wide_steps(row: int) -> int:
    """By how much arm_softmax_s16 may be off the exact softmax of a row, in units of 1/32768.

    The least entry of its first table is 2, so that each element far below the largest still adds 2 to the sum, and
    takes as much from a result near 1 (softmax_common.cc, arm_softmax_s16.c).
    """
    return 2 * row


def _of_record(record: LoweredLayer) -> LayerDifference:
    """What a layer may be off: ONNX Runtime computes real numbers and rounds once, with optimisers or without."""
    node, layer, result = record.node, record.layer, record.output
    if record.assumed:
        return LayerDifference(node, Bound(None), IN_FLOAT)
    if layer is None or result is None or record.verdict is not Verdict.CMSIS_NN:
        return LayerDifference(node, Bound(None), f"is not held against CMSIS-NN: {record.reason or 'it has no call'}")
    function, wide = layer.call.function, result.bits > 8
    if function in FAITHFUL:
        kept = all(source is not None and source.equals(result) for source in record.inputs)
        return LayerDifference(node, EQUAL, "") if kept else LayerDifference(node, ONE, ROUNDS)
    if function is Function.SOFTMAX:
        row = layer.call.input_dims.c or layer.call.output_dims.c
        steps = None if wide and row is None else softmax_wide_steps(row or 0) if wide else TOLERANCE[8]
        return LayerDifference(node, Bound(steps), TABLES)
    source, weights = record.inputs[0] if record.inputs else None, record.weights
    if function in WEIGHTED and source and weights and source.scale and weights.scales and result.scale and not wide:
        return LayerDifference(node, _rounded_once([source.scale * s / result.scale for s in weights.scales]), ROUNDS)
    return LayerDifference(node, Bound(TOLERANCE.get(result.bits)), ROUNDS)


def against_onnx_runtime(graph: Graph, records: Iterable[LoweredLayer], unfit: Mapping[int, str]) -> HostComparison:
    """Every layer of an ONNX model, and its outputs, which have a bound where no layer may be off; `unfit` as above."""
    layers = tuple(
        LayerDifference(record.node, Bound(None), unfit[record.node.index])
        if record.node.index in unfit
        else _of_record(record)
        for record in records
    )
    steps = 0 if all(layer.equal for layer in layers) else None
    return HostComparison(ORT, layers, tuple((name, steps) for name in graph.outputs))


# Plain data.


def fields(comparison: HostComparison) -> dict[str, object]:
    """A comparison as plain data; `steps` is null where there is no bound."""
    return {
        "host": comparison.host.key,
        "layers": [
            {"node": layer.node.label, "op": layer.node.op_type, "steps": layer.bound.steps}
            | ({} if layer.bound.share is None else {"share": layer.bound.share})
            | ({"why": layer.why} if layer.why else {})
            for layer in comparison.layers
        ],
        "outputs": [{"tensor": tensor, "steps": steps} for tensor, steps in comparison.outputs],
    }
