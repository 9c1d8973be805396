"""What a layer may be off on equal inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.fixed_point import quantize_multiplier, requantize
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.views import real_attribute
from onnxlint_cmsis.runtimes.host.hosts import BOTH, PLAIN, REFERENCE, Host
from onnxlint_cmsis.runtimes.host.layer import Array, HostLayer, NoScaleError, Steps


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


def always(bound: Bound) -> Rule:
    """A rule that gives one bound."""
    return lambda _layer: bound


def rounded_once(factors: Iterable[float]) -> Bound:
    """One rounding against two, of the same number.

    One is at most 1/2 from it, two at most 1/2 + 2^-(n+1) at a shift of -n. They differ where the first of two left
    exactly a half, 1 in 2^n, and had rounded to the side that the second goes on to, every other time.
    """
    known = [factor for factor in factors if factor > 0 and math.isfinite(factor)]
    shifts = [max(-quantize_multiplier(factor).shift, 0) for factor in known] or [0]
    return Bound(1, float(np.mean([2.0 ** -(shift + 1) if shift else 0.0 for shift in shifts])))


def weighted(layer: HostLayer) -> Bound:
    """One rounding against two, but in channels whose sums all lie beyond one end of the result."""
    sums = _sums(layer)
    if sums is None:
        return rounded_once(layer.factors)
    low, high = layer.clamp
    factors = layer.factors * (len(sums[0]) if len(layer.factors) == 1 else 1)
    ends = zip(*sums, map(quantize_multiplier, factors), strict=True)
    same = [len(set(np.clip(requantize(np.array(end), by), low, high).tolist())) == 1 for *end, by in ends]
    if all(same):
        return EQUAL
    bound = rounded_once(factor for factor, settled in zip(factors, same, strict=True) if not settled)
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


def rescaled(layer: HostLayer) -> Bound:
    """Equal where both scales are equal, or in 16 bits; else one."""
    return EQUAL if layer.ratio == 1 or layer.result.kind != "int8" else ONE


SHORT = 1 << 16
"""Unit to which the device shortens multipliers for sums of 64 bits."""


def shortened(layer: HostLayer) -> Bound:
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
    """Tell whether a layer adds an int32 bias to sums of int16."""
    data, bias = (2, 3) if node.op_type == "TRANSPOSE_CONV" else (0, 2)
    if not node.has(data) or not node.has(bias):
        return False
    return (graph.elem_type(node.inputs[data]), graph.elem_type(node.inputs[bias])) == ("int16", "int32")


MISREAD = Bound(None, why="its bias is int32 and quantized_bias_type does not say so: LiteRT reads int64")


def wide(layer: HostLayer) -> Bound:
    """LiteRT takes an int32 bias for int64 unless the options tell of it; optimized kernels then round otherwise."""
    if not _has_short_bias(layer.graph, layer.node):
        return EQUAL
    if layer.node.op_type == "DEPTHWISE_CONV_2D":
        return Bound(None, why="its bias is int32, and LiteRT takes int64 alone")
    return MISREAD if misread_bias(layer.graph, layer.node) else ONE


def wide_reference(layer: HostLayer) -> Bound:
    """`wide`, with equal where it says one."""
    bound = wide(layer)
    return EQUAL if bound == ONE else bound


def shortened_reference(layer: HostLayer) -> Bound:
    """`shortened`, but for a bias that the reference kernels misread."""
    return MISREAD if REFERENCE in misread_bias(layer.graph, layer.node) else shortened(layer)


def _tried(numbers: Array, result: Steps, *factors: float) -> Bound:
    """Equal if all factors make the same results of all numbers. Raises NoScaleError for a factor that is infinite."""
    if not all(map(math.isfinite, factors)):
        raise NoScaleError
    low, high = (end - result.zero for end in result.ends)
    multipliers = map(quantize_multiplier, factors)
    first, *others = (np.clip(requantize(numbers, multiplier), low, high) for multiplier in multipliers)
    return EQUAL if all((first == other).all() for other in others) else ONE


def added(layer: HostLayer) -> Bound:
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


def product(layer: HostLayer) -> Bound:
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


def shipped_product(layer: HostLayer) -> Bound:
    """Below a factor of 256 it is XNNPACK that multiplies (xnnpack_delegate.cc)."""
    if layer.factors[0] < 256:
        return rounded_once(layer.factors)
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


def relu(layer: HostLayer) -> Bound:
    """A slope of 0 below 0."""
    return _slopes(layer, 0.0)


def leaky(layer: HostLayer) -> Bound:
    """The slope of the attribute `alpha` below 0."""
    return _slopes(layer, real_attribute(layer.node, "alpha", 0.0))


def prelu(layer: HostLayer) -> Bound:
    """A slope for each channel below 0, as a product of integers."""
    return max(_slopes(layer, 0.0), product(layer))


NEAR = 1e-4
"""Distance from a half, in steps, at which fixed-point numbers and floats may round to other sides."""


def near_halves(curve: Callable[[Array], Array]) -> Rule:
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


def added_wide(layer: HostLayer) -> Bound:
    """LiteRT shifts where all scales are powers of two and the option of that name is not off (add.cc, sub.cc)."""
    scales = [steps.scale for steps in (layer.data, layer.steps(1), layer.result)]
    if layer.node.int("pot_scale_int16", 1) and all(_exponent(scale) is not None for scale in scales):
        return Bound(1, why="LiteRT shifts where scales are powers of two, the device multiplies")
    return EQUAL


def added_in_vectors(layer: HostLayer) -> Bound:
    """The same, and vectors where both operands have one shape (add.cc, sub.cc)."""
    shapes = {layer.graph.shape(name) for name in layer.node.inputs[:2]}
    return ONE if len(shapes) < 2 or None in shapes else added_wide(layer)


def curve_wide(most: Mapping[int, int]) -> Rule:
    """LiteRT computes in fixed-point numbers at some powers of two, elsewhere by the device's table."""

    def rule(layer: HostLayer) -> Bound:
        power = _exponent(layer.data.scale)
        return EQUAL if power is None else Bound(most.get(power, 0))

    return rule


SHARE_NEAR = 4e-4
"""The same for results of a softmax, in steps of 1/256: exponentials off by 2^-20, and a quotient."""


def softmax(layer: HostLayer) -> Bound:
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


def clamped(layer: HostLayer) -> Bound:
    """Equal where scale and zero-point stay; else without a bound."""
    if layer.data == layer.result:
        return EQUAL
    return Bound(None, why="its input has another scale or zero-point, which the device does not look at")


def matrices(layer: HostLayer) -> Bound:
    """Rounded once where one operand is constant, else equal."""
    constant = any(name in layer.graph.constants for name in layer.node.inputs[:2])
    return rounded_once(layer.factors) if constant else EQUAL


def bilinear(layer: HostLayer) -> Bound:
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
