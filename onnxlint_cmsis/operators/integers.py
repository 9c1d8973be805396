"""What quantized operators compute in integers, as TensorFlow Lite specifies it: roundings, windows, biases, pairs.

Facts for whoever proves something of them. What is not described raises NotCoveredError.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.fixed_point import (
    Multiplier,
    away,
    quantize_multiplier,
    requantize,
    requantize_once,
    requantize_wide,
)
from onnxlint_cmsis.model.graph import TFLITE, Node, StoredQuantization
from onnxlint_cmsis.model.windows import places, reach, same_padding, same_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

MOST_ELEMENTS = 1 << 20
"""Elements of the largest tensor whose elements are looked at one by one."""
OFFSETS = {"uint4": 8, "uint8": 128, "uint16": 32768}
"""What unsigned integers are less by on the device, which holds signed ones."""
BITS = {"int4": 4, "uint4": 4, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16}
"""Bits of the types that tensors are stored in."""
LONGEST_SUM = {4: 31, 8: 31, 16: 47}
"""Bits of a sum and its parts: int32; for int16 as MultiplyByQuantizedMultiplier(int64_t) asks (kernels/internal)."""


class NotCoveredError(Exception):
    """An operator, or a use of it, that is not described."""


def few(shape: Sequence[int]) -> int:
    """Elements of a tensor. Raises NotCoveredError where they are too many to be looked at."""
    whole = math.prod(size or 1 for size in shape)  # NumPy walks axes of a damaged tensor that has no elements too
    if whole > MOST_ELEMENTS:
        raise NotCoveredError(f"a tensor has {whole:,} elements; {MOST_ELEMENTS:,} are looked at")
    return math.prod(shape)


def quantized_multiplier(real: float) -> Multiplier:
    """Return the multiplier of a factor. Raises NotCoveredError for what is none: 0, infinity, 2**30 or more."""
    multiplier = quantize_multiplier(real) if 0 < real < math.inf else None
    if multiplier is None or multiplier.shift > 30:
        raise NotCoveredError(f"its factor is {real}")
    return multiplier


OFF_BY = (1.0, 1 - 2.0**-23, 1 + 2.0**-23)
"""Factors between what kernels multiply by: some compute it in float32, with up to two roundings, some in float64."""


def multipliers(real: float) -> list[Multiplier]:
    """Multipliers and shifts of all that kernels may compute of one factor. Raises NotCoveredError.

    A power of two comes out of every order and precision of products and quotients.
    """
    ways = OFF_BY[:1] if math.frexp(real)[0] == 0.5 else OFF_BY
    return [*dict.fromkeys(quantized_multiplier(real * off) for off in ways)]


def requantized(value: int, multiplier: int, shift: int, bits: int) -> tuple[int, ...]:
    """A sum times multiplier * 2**(shift - 31), by each way of rounding that a device may be built for.

    Two roundings (the default), one (TFLITE_SINGLE_ROUNDING, CMSIS_NN_USE_SINGLE_ROUNDING) and, for int16, one with a
    multiplier of 16 bits. All are monotone in the sum. Raises NotCoveredError where the shift to the left overflows.
    """
    factor = Multiplier(multiplier, shift)
    if bits == 16:
        return (requantize_wide(value, factor),)
    if not -(2**31) <= value << max(shift, 0) < 2**31:
        raise NotCoveredError("its shift to the left overflows")
    return requantize(value, factor), requantize_once(value, factor)


Steps = Sequence[Sequence[int]]
"""What the least and the greatest integer come out as, by each way of rounding."""


def sum_steps(low: int, high: int, factor: float, bits: int) -> Steps | None:
    """The ends of a sum times a factor, by each way of computing it and rounding; None where a shift overflows."""
    ways = {bits, 8} if max(abs(low), abs(high)) < 2**31 else {bits}
    try:
        return [
            [step for way in ways for near in multipliers(factor) for step in requantized(end, *near, way)]
            for end in (low, high)
        ]
    except NotCoveredError:
        return None


# Numbers with a scale: those of a file, and those of a tensor that is computed.


class Fixed(NamedTuple):
    """A constant of the file, or what only moves its elements."""

    array: Array
    """As it is stored."""
    scale: Array | None = None
    """Scale of each element, where the stored integers stand for real numbers."""
    zero: Array | None = None
    """Zero-point of each element."""
    single: bool = False
    """Whether some kernels multiply its scale by that of the data in float32: matrix products of one scale do.

    GetQuantizedConvolutionMultipler (tensorflow/lite/kernels/kernel_util.cc); others compute in float64.
    """

    def moved(self, move: Callable[[Array], Array]) -> Fixed:
        """With its elements at other places."""
        if self.scale is None or self.zero is None:
            return Fixed(move(self.array))
        scale, zero = (move(np.broadcast_to(part, self.array.shape)) for part in (self.scale, self.zero))
        return Fixed(move(self.array), scale, zero)

    def scaled(self, scale: Array, zero: Array, axis: int) -> Fixed:
        """With scales and zero-points along an axis, or one of each. Raises NotCoveredError."""
        rank = self.array.ndim
        axis = axis if rank != 1 else 0  # converters leave the axis of the weights at a bias
        if max(scale.size, zero.size) > 1 and not -rank <= axis < rank:
            raise NotCoveredError("scales lie along no axis")
        along = [-1 if position == axis % rank else 1 for position in range(rank)] if rank else [-1]
        spread = [part.reshape(along if part.size > 1 else [1] * rank) for part in (scale, zero)]
        sizes = np.broadcast_shapes(self.array.shape, spread[0].shape, spread[1].shape)
        if self.scale is not None or self.array.dtype.kind not in "iu" or sizes != self.array.shape:
            raise NotCoveredError("scales do not fit their integers")
        scales, zeros = (np.broadcast_to(part, sizes).astype(np.float64) for part in spread)
        return Fixed(self.array, scales, zeros)

    def quantized(self, scale: Array, zero: Array, axis: int, elem_type: str) -> Fixed:
        """Real numbers as QuantizeLinear stores them in integers."""
        axis %= max(self.array.ndim, 1)
        along = [-1 if position == axis and scale.size > 1 else 1 for position in range(self.array.ndim)]
        offset, top = OFFSETS.get(elem_type, 0), 1 << (BITS[elem_type] - 1)
        with np.errstate(over="ignore"):
            steps = np.rint(self.array / scale.reshape(along)) + zero.astype(np.float32).reshape(along)
        if np.isnan(steps).any():
            raise NotCoveredError("it quantizes what is no number")
        return Fixed(np.clip(steps, offset - top, offset + top - 1).astype(elem_type.replace("4", "8")))

    @property
    def real(self) -> Array:
        """The real numbers."""
        if self.scale is None or self.zero is None:
            return self.array.astype(np.float64)
        return (self.array.astype(np.float64) - self.zero) * self.scale


class Quantization(NamedTuple):
    """Scale and zero-point of a tensor of integers."""

    scale: float
    """One scale."""
    zero: int
    """Zero-point, as the device holds it."""
    bits: int
    """Bits of the integers."""

    @property
    def least(self) -> int:
        """The least integer."""
        return -(1 << (self.bits - 1))

    def step(self, real: float) -> int:
        """A bound of an activation in integers, inside what the type holds."""
        steps = float(np.float32(real)) / float(np.float32(self.scale))
        if abs(steps) >= 2**31:
            return self.least if real < 0 else -self.least - 1
        return min(max(self.zero + away(float(np.float32(steps))), self.least), -self.least - 1)

    def held(self, steps: Steps, least: int, most: int) -> tuple[int, int]:
        """The least and the greatest integer that steps come out as between two bounds."""
        low, high = min(steps[0]) + self.zero, max(steps[1]) + self.zero
        return min(max(low, least), most), min(max(high, least), most)


def quantization(scale: Array, zero: Array, elem_type: str) -> Quantization:
    """One scale and zero-point for a tensor. Raises NotCoveredError."""
    if scale.size != 1 or zero.size != 1 or elem_type not in BITS or not 0 < float(scale.item()) < math.inf:
        raise NotCoveredError("its result has no single scale")
    return Quantization(float(scale.item()), int(zero.item()) - OFFSETS.get(elem_type, 0), BITS[elem_type])


def stored_numbers(stored: StoredQuantization) -> tuple[Array, Array]:
    """Scales and zero-points that a tensor keeps."""
    return np.array(stored.scales, np.float32), np.array(stored.zero_points or (0,))


def in_steps(bias: Fixed | None, steps: Sequence[float], count: int) -> list[int | float]:
    """The bias in steps of the sum: whole, but for a real one that lies between two steps. Raises NotCoveredError."""
    if bias is None:
        return [0] * count
    if bias.array.shape != (count,):
        raise NotCoveredError(f"its bias is {list(bias.array.shape)}, not [{count}]")
    if bias.scale is None and bias.array.dtype.kind == "i":
        return [int(number) for number in bias.array]
    if bias.scale is not None and bias.zero is not None:
        near = [abs(scale - step) <= 1e-5 * step for scale, step in zip(bias.scale.flat, steps, strict=True)]
        if bias.zero.any() or not all(near):
            raise NotCoveredError("its bias has another scale than its sums")
        return [int(number) for number in bias.array]
    real = [float(number) / step for number, step in zip(bias.real, steps, strict=True)]
    if not all(abs(number) < 2**31 for number in real):
        raise NotCoveredError("its bias does not fit int32")
    return [away(number) if abs(number - away(number)) <= abs(number) * 2**-23 else number for number in real]


def check_sums(weights: Array, biases: Sequence[float], bits: int, *, short: bool = False) -> None:
    """Raise NotCoveredError where a sum over weights [out_c, channels, places], or a part of it, may overflow.

    A `short` sum has 32 bits whatever the bits of the data: that of int16 with a bias of int32
    (tensorflow/lite/micro/kernels/conv.cc, requires_int32_accum).
    """
    longest, room = (np.abs(weights).sum(axis=(1, 2)) * ((1 << bits) - 1)).tolist(), 31 if short else LONGEST_SUM[bits]
    if any(size + abs(start) >= 1 << room for size, start in zip(longest, biases, strict=True)):
        raise NotCoveredError(f"a sum may need more than {room + 1} bits")


# Functions of one element, and of two.


ACTIVATIONS = {
    "Relu": (0.0, math.inf),
    "RELU": (0.0, math.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}
"""Bounds of functions that only clamp, and of fused activations."""
CURVES = frozenset({
    *("Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Exp", "Log", "Sqrt", "Abs", "Neg", "Erf"),
    *("Gelu", "Softplus", "Softsign", "Round", "Floor", "Ceil", "Sin", "Cos", "Celu", "Selu", "SQUARE", "RSQRT"),
})  # fmt: skip
"""Functions of one element and of attributes alone."""
PAIRS = frozenset({"Add", "Mul", "Sub", "Div", "Max", "Min", "SQUARED_DIFFERENCE", "PRelu"})
"""Functions of two elements."""
SYMMETRIC = ("Add", "Mul", "Max", "Min")
"""Pairs whose operands may change places."""


def pair_steps(name: str, pairs: Sequence[tuple[int, int]], scales: Sequence[float], stated: Quantization) -> list[int]:
    """What Add, Sub and Mul make of pairs of integers without their zero-points, by each way of rounding, unclamped.

    tensorflow/lite/kernels/internal/reference/add.h, sub.h, integer_ops/mul.h; all are monotone in each operand.
    Raises NotCoveredError.
    """
    steps: list[int] = []
    if stated.bits not in (8, 16) or (stated.bits == 16 and all(math.frexp(scale)[0] == 0.5 for scale in scales)):
        raise NotCoveredError("TensorFlow Lite may shift where scales are powers of two")
    if name == "Mul":
        factors = multipliers(math.prod(scales) / stated.scale)
        return [step for left, right in pairs for factor in factors for step in requantized(left * right, *factor, 8)]
    twice, fine = 2 * max(scales), 20 if stated.bits == 8 else 15
    first, second = (multipliers(scale / twice) for scale in scales)
    last = multipliers(twice / ((1 << fine) * stated.scale))
    for pair, *factors in itertools.product(pairs, first, second):
        parts = [requantized(end << fine, *factor, 8) for end, factor in zip(pair, factors, strict=True)]
        for (left, right), factor in itertools.product(zip(*parts, strict=True), last):
            steps += requantized(left + right if name == "Add" else left - right, *factor, 8)
    return steps


NEAR: Mapping[str, Callable[[float], float]] = {
    "Identity": lambda x: x,
    "Sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0,
    "Tanh": math.tanh,
    "HardSwish": lambda x: x * min(max(x + 3, 0), 6) / 6,
}
"""Functions that kernels of int8 look up or compute in fixed-point numbers, and averages in another scale.

0 gives 0 in integers too, but for Sigmoid (logistic.h, tanh.h, mean.h of integer_ops, reference/hard_swish.h). All but
HardSwish are monotone.
"""
OFF = 1.01
"""Steps that such a kernel may be off the real function, before it rounds and clamps."""


def curve_steps(name: str, alpha: object, ends: Sequence[int], scale: float, stated: Quantization) -> list[int]:
    """What functions make of the least and the greatest integer without its zero-point: bounds, unclamped.

    LEAKY_RELU multiplies by one of two factors (reference/leaky_relu.h). Raises NotCoveredError.
    """
    if name == "LeakyRelu" and isinstance(alpha, float) and alpha > 0:
        slopes = [1.0 if end >= 0 else alpha for end in ends]
        factors = [multipliers(scale * slope / stated.scale) for slope in slopes]
        ways = [(end, near) for end, some in zip(ends, factors, strict=True) for near in some]
        return [step for end, near in ways for step in requantized(end, *near, 8)]
    if name not in NEAR or stated.bits != 8 or (name == "HardSwish" and ends[0] != ends[1]):
        raise NotCoveredError(f"{name} is not computed")
    if name != "Sigmoid" and not any(ends):
        return [0]
    real = [NEAR[name](end * scale) / stated.scale for end in ends]
    return [away(min(real) - OFF), away(max(real) + OFF)]


def function_steps(
    name: str, alpha: object, ends: Sequence[tuple[int, int]], given: Sequence[Quantization], stated: Quantization
) -> Steps | None:
    """What averages, curves and pairs make of operands between two ends each; None where it is not known."""
    spans = [[end - operand.zero for end in span] for span, operand in zip(ends, given, strict=True)]
    scales = [operand.scale for operand in given]
    try:
        if name == "average" and (given[0].scale, given[0].zero) == (stated.scale, stated.zero):
            return spans[0][:1], spans[0][1:]
        if len(spans) == 1:
            steps = curve_steps("Identity" if name == "average" else name, alpha, spans[0], scales[0], stated)
        else:
            steps = pair_steps(name, [(left, right) for left in spans[0] for right in spans[1]], scales, stated)
    except NotCoveredError:
        return None
    return steps, steps


def axis_of(axis: int, count: int) -> int:
    """A place that may be counted from the end. Raises NotCoveredError."""
    if not -count <= axis < count:
        raise NotCoveredError(f"{axis} is no place among {count}")
    return axis % count


def regrouped(weights: Array, groups: int) -> Array:
    """Weights of a transposed convolution, which have all input channels and the outputs of one group, by output."""
    count, inner, *kernel = weights.shape
    parts = weights.reshape(count, groups, inner // groups, *kernel).swapaxes(0, 1)
    result: Array = parts.reshape(count * groups, inner // groups, *kernel)
    return result


def only_multiplies(node: Node, *, gemm: bool, biased: bool) -> bool:
    """Whether the attributes of a matrix product leave it one, with a bias that counts once."""
    turned = ("transA", "transBatchA", "transBatchB", *(() if gemm else ("transB",)))
    factors = ("alpha", "beta") if biased else ("alpha",)
    plain = all(node.attributes.get(name, 1.0) == 1.0 for name in factors)
    return plain and not any(map(node.int, turned)) and node.text("weights_format", "DEFAULT") == "DEFAULT"


# Windows: which place of the plane each place of the window reads for each place of the result.


class Window(NamedTuple):
    """How a window slides along the plane; a number for each spatial axis."""

    kernel: tuple[int, ...]
    """Sizes."""
    strides: tuple[int, ...]
    """Steps."""
    dilations: tuple[int, ...]
    """Distances between its places."""
    before: tuple[int, ...]
    """Padding in front."""
    sizes: tuple[int, ...]
    """Sizes of the plane it slides along."""
    result_sizes: tuple[int, ...]
    """Sizes of the result."""
    transposed: bool = False
    """Whether each place of the plane is spread over the result, as a transposed convolution does."""
    ahead: tuple[int, ...] = ()
    """Places of padding that a Pad in front has put before the plane; empty for none."""

    def sources(self, axis: int) -> Array:
        """Place of the plane along an axis, [kernel, result]; -1 where there is none."""
        stride, result = self.strides[axis], np.arange(self.result_sizes[axis])[None, :]
        taps = np.arange(self.kernel[axis])[:, None] * self.dilations[axis] - self.before[axis]
        inside = np.ones((taps.size, result.size), bool)
        if self.transposed:
            inside, places = (result - taps) % stride == 0, (result - taps) // stride
        else:
            places = result * stride + taps
        places = places - (self.ahead[axis] if self.ahead else 0)
        return np.where(inside & (places >= 0) & (places < self.sizes[axis]), places, -1)


class Taps(NamedTuple):
    """The places of a window over its plane."""

    names: list[tuple[Any, ...]]
    """What each reads for every place of the result: equal names, equal places. `()` for the place of the result."""
    inside: list[Array]
    """Whether a place lies inside the plane, for each axis: [kernel, result]."""
    patterns: list[Array]
    """The same, each pattern of places once."""
    meets: Array
    """Whether some place of the result has the tap inside the plane."""

    @property
    def covers(self) -> bool:
        """Whether each place of the result has some tap inside the plane."""
        return all(bool(part.any(axis=0).all()) for part in self.inside)

    def spread(self, numbers: Array, *, whole: bool) -> Array:
        """The sum of [rows, taps] over the taps inside the plane: [rows, places of the result], or each once."""
        parts = self.inside if whole else self.patterns
        few([len(numbers), *(part.shape[1] for part in parts)])
        sums = numbers.reshape(len(numbers), *(len(part) for part in parts))
        for part in parts:
            sums = np.tensordot(sums, part.astype(np.int64), axes=([1], [0]))
        return sums.reshape(len(numbers), -1)

    def border(self, numbers: Array) -> tuple[list[int], dict[int, Array]]:
        """What [groups, rows, taps] add at every place of the result, by row, and what some places add above that."""
        base, above = [0] * (numbers.shape[0] * numbers.shape[1]), {}
        for group in np.flatnonzero(numbers.any(axis=(1, 2))).tolist():
            for row, added in enumerate(self.spread(numbers[group], whole=True), group * numbers.shape[1]):
                base[row] = int(added.min())
                if (added != base[row]).any():
                    above[row] = added - base[row]
        return base, above

    def ends(self, constant: Array, weights: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Least and greatest sum at any place of lanes [groups, lanes] between two ends, with what constants add.

        `constant` is [groups, rows, taps], `weights` [groups, rows, lanes, taps].
        """
        count = weights.shape[1] * math.prod(part.shape[1] for part in self.patterns)
        step, sides = max(1, MOST_ELEMENTS // max(count, 1)), []
        for first, second, pick in ((low, high, np.min), (high, low, np.max)):
            sums = constant + np.einsum("gcit,gi->gct", np.maximum(weights, 0), first)
            sums += np.einsum("gcit,gi->gct", np.minimum(weights, 0), second)
            parts = [sums[start : start + step].reshape(-1, sums.shape[2]) for start in range(0, len(sums), step)]
            sides.append(np.concatenate([pick(self.spread(part, whole=False), axis=1) for part in parts]))
        return sides[0], sides[1]


def taps_of(window: Window) -> Taps:
    """The places of a window, in the order of its weights. Raises NotCoveredError."""
    few((*window.kernel, max(window.result_sizes, default=1)))
    sources = [window.sources(axis) for axis in range(len(window.kernel))]
    rows = [
        [(size, row.tobytes()) if size > 1 or row.size > 1 or row.any() else () for row in places]
        for size, places in zip(window.sizes, sources, strict=True)
    ]
    still = [(size, np.arange(size).tobytes()) if size > 1 else () for size in window.sizes]
    names: list[tuple[Any, ...]] = []
    for tap in np.ndindex(*window.kernel):
        read = [rows[axis][position] for axis, position in enumerate(tap)]
        names.append(() if read == still else tuple(filter(None, read)))
    inside, meets = [places >= 0 for places in sources], np.ones(1, bool)
    for part in inside:
        meets = (meets[:, None] & part.any(axis=1)).reshape(-1)
    return Taps(names, inside, [np.unique(part, axis=1) for part in inside], meets)


def window_of(
    node: Node, kernel: Sequence[int], sizes: Sequence[int], result_sizes: Sequence[int], *, transposed: bool = False
) -> Window:
    """The window of a convolution or pooling; a transposed one pads as the convolution back does.

    Raises NotCoveredError.
    """
    rank, ones, none = len(kernel), (1,) * len(kernel), (0,) * len(kernel)
    if node.domain == TFLITE:
        strides: tuple[int, ...] = (node.int("stride_h"), node.int("stride_w"))
        dilations: tuple[int, ...] = (node.int("dilation_h_factor", 1), node.int("dilation_w_factor", 1))
        pads, same = (*none, *none), node.text("padding") == "SAME"
    else:
        strides, dilations = node.ints("strides", ones), node.ints("dilations", ones)
        pads, auto = node.ints("pads") or (*none, *none), node.text("auto_pad", "NOTSET")
        same, pads = auto == "SAME_UPPER", (*none, *none) if auto == "VALID" else pads
        if auto not in ("NOTSET", "VALID", "SAME_UPPER") or (transposed and auto != "NOTSET"):
            raise NotCoveredError(f"its padding is {auto}")
    spans = [reach(size, step) for size, step in zip(kernel, dilations, strict=True)]
    if not len(strides) == len(sizes) == len(result_sizes) == rank or min((1, *strides, *dilations)) < 1:
        raise NotCoveredError("its window does not fit its plane")
    slid, reached = (result_sizes, sizes) if transposed else (sizes, result_sizes)
    ends = [*zip(slid, strides, spans, strict=True)]
    if same:
        wanted = [same_places(size, stride) for size, stride, _ in ends]
        before = tuple(same_padding(size, span, stride)[0] for size, stride, span in ends)
    else:
        before, around = tuple(pads[:rank]), [pads[n] + pads[n + len(pads) // 2] for n in range(rank)]
        wanted = [places(size + more, span, stride) for (size, stride, span), more in zip(ends, around, strict=True)]
    further = int(node.int("ceil_mode") != 0)
    if any(not 0 <= size - least <= further for size, least in zip(reached, wanted, strict=True)):
        raise NotCoveredError("its result has another size than its window gives")
    return Window(tuple(kernel), strides, dilations, before, tuple(sizes), tuple(result_sizes), transposed)
