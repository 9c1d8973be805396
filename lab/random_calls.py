"""Random calls of functions for integers, far outside of what exporters write, each with what it has to compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from firmware_check.evidence.exact_arithmetic import CallNumbers, summed, windows
from firmware_check.program import Quantization, Step, Value
from firmware_check.quantized_constants import packed, softmax_constants
from firmware_check.reference import exponentials, multiplier, reciprocals, softmax_output
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.model.fixed_point import Multiplier, quantize_multiplier, requantize, requantize_wide

Array = NDArray[Any]

ONE = Dims(1, 1, 1, 1)
MOST_PRODUCTS = 150_000
"""Products of a call that is kept: an emulated board computes so many in 10 ms."""
MOST_NUMBERS = 40_000
"""Numbers of each tensor of a call that is kept."""
UNTOUCHED = 0x7F
"""What sweep_calls.c writes into an output before the call."""
CHANNELS = (1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 12, 16, 17, 20, 33, 60)


class Axis(NamedTuple):
    """One axis of a layer with windows."""

    size: int
    taps: int
    stride: int
    before: int
    dilation: int
    output: int

    def behind(self, *, transposed: bool) -> int:
        """Padding after, as it follows from the output; below 0 where the end of the input is read by none."""
        if transposed:
            return (self.size - 1) * self.stride + self.taps - self.before - self.output
        return (self.output - 1) * self.stride + (self.taps - 1) * self.dilation + 1 - self.before - self.size


class RandomCall(NamedTuple):
    """A call, its numbers, and what it has to compute."""

    call: KernelCall
    """What the linter is asked."""
    inputs: tuple[Array, ...]
    """What sweep_calls.c reads: input, second operand, bias, multipliers, shifts; empty where there is none."""
    expected: Array | None
    """The output, as it lies in memory; None where nothing is defined."""
    zeros: tuple[int, int, int] = (0, 0, 0)
    """Zero-points of input, second operand and output; of a pad what it writes."""
    limits: tuple[int, int] = (0, 0)
    """Least and largest output."""
    more: tuple[int, ...] = ()
    """What else sweep_calls.c takes (`more`)."""
    axis: str = ""
    """Axis of a concatenation."""
    behind: tuple[int, int] = (0, 0)
    """Padding after of rows and columns, as it follows from the output."""
    blind: bool = False
    """Whether no window meets the input or the output is one number: a kernel that reads wrong numbers may be right."""


def requantized(sums: Array, scale: Multiplier | tuple[Multiplier, ...]) -> Array:
    """Sums scaled, rounded twice; a scale for each of the last axis."""
    return _scaled(requantize, sums, scale)


def requantized_wide(sums: Array, scale: Multiplier | tuple[Multiplier, ...]) -> Array:
    """Sums of 64 bits scaled by 16 bits of the multiplier, rounded once."""
    return _scaled(requantize_wide, sums, scale)


def _scaled(
    way: Callable[[Array, Multiplier], Array], sums: Array, scale: Multiplier | tuple[Multiplier, ...]
) -> Array:
    scales = (scale,) if isinstance(scale, Multiplier) else scale
    if len(scales) == 1:
        return np.asarray(way(sums, *scales))
    return np.stack([way(sums[..., channel], factor) for channel, factor in enumerate(scales)], axis=-1)


class Draw:
    """Draws the calls of one release."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def number(self, low: int, high: int) -> int:
        """A number from `low` to `high`."""
        return int(self.random.integers(low, high + 1))

    def pick(self, *values: Any) -> Any:
        """One of the values."""
        return values[self.number(0, len(values) - 1)]

    def channels(self) -> int:
        """Channels: often around the sizes of blocks."""
        return int(self.pick(*CHANNELS))

    def integers(self, bits: int, shape: tuple[int, ...]) -> Array:
        """All integers of so many bits, sometimes the extreme ones alone."""
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        if self.number(0, 19) == 0:
            return np.where(self.random.random(shape) < 0.5, low, high).astype(np.int64)
        return self.random.integers(low, high + 1, shape)

    def zero(self, bits: int) -> int:
        """A zero-point."""
        return 0 if bits == 16 else int(self.pick(0, -128, 127, self.number(-128, 127)))

    def limits(self, bits: int) -> tuple[int, int]:
        """What an output is clamped to: mostly its whole type."""
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        if self.number(0, 4):
            return low, high
        return self.number(low // 2, 0), self.number(1, high // 2)

    def axis(self, *, pooling: bool = False) -> Axis:
        """An axis; often its output does not follow from the rest."""
        size = self.pick(1, 1, 1, 2, 3, 4, 5, 6, 8, 9, 12, 16)
        taps, stride = self.pick(1, 1, 1, 2, 3, 3, 4, 5, 7), self.pick(1, 1, 1, 2, 2, 3, 4)
        before, dilation = self.pick(0, 0, 0, 1, 1, 2, 3, 6), 1 if pooling else self.pick(1, 1, 1, 1, 2, 3)
        reach, after = (taps - 1) * dilation + 1, self.pick(0, 0, before, before, before, 1, 2, 5)
        follows = (size + before + after - reach) // stride + 1
        output = follows if follows >= 1 and self.number(0, 3) else self.number(1, 9)
        return Axis(size, taps, stride, before, dilation, output)

    def scales(self, count: int, spread: float, bits: int) -> tuple[Multiplier, ...]:
        """Scales that spread outputs over their type."""
        aim = {8: 45.0, 16: 9000.0}[bits] * float(self.pick(1.0, 1.0, 0.1, 5.0)) / spread
        return tuple(quantize_multiplier(float(real)) for real in aim * self.random.uniform(0.5, 1.5, count))

    def layer(self, entry: str) -> RandomCall | None:
        """A convolution, of any kind, or a pool; None where the draw is too large."""
        stem, _, kind = entry.rpartition("_")
        pooling, transposed = "pool" in stem, stem == "transpose_conv"
        high, wide = self.axis(pooling=pooling), self.axis(pooling=pooling)
        if self.number(0, 3) == 0:  # a row, mostly with a window of a row
            high = high._replace(size=1, taps=1 if self.number(0, 3) else high.taps)
        if transposed:
            high, wide = self.turned(high), self.turned(wide)
        if pooling and self.number(0, 3):
            high, wide = self.covered(high), self.covered(wide)
        images, in_c = self.pick(1, 1, 1, 2, 3), self.channels()
        multiplier, groups = 0, 1
        if stem == "depthwise":
            in_c = self.pick(in_c, 124, 128, 130) if self.number(0, 5) == 0 else in_c
            multiplier = self.pick(1, 1, 1, 2, 3, 4, 5, 8)
        if stem == "convolve":
            groups = self.pick(1, 1, 1, *(share for share in (2, 3, in_c) if in_c % share == 0))
        out_c = in_c * multiplier or (in_c if pooling else groups * self.pick(1, 1, 2, 3, 4, 5, 8, 9))
        filters = Dims(1, high.taps, wide.taps, 1 if pooling else out_c)
        if transposed or stem == "convolve":
            filters = Dims(out_c, high.taps, wide.taps, in_c // groups)
        depth = in_c // groups if transposed or stem == "convolve" else 1
        results = images * high.output * wide.output * out_c
        if results * high.taps * wide.taps * depth > MOST_PRODUCTS:
            return None
        if max(images * high.size * wide.size * in_c, results) > MOST_NUMBERS:
            return None
        behind = high.behind(transposed=transposed), wide.behind(transposed=transposed)
        call = KernelCall(
            entry, Dims(images, high.size, wide.size, in_c), filters, Dims(images, high.output, wide.output, out_c),
            Pair(high.stride, wide.stride), Pair(high.before, wide.before), Pair(*(max(0, side) for side in behind)),
            Pair(high.dilation, wide.dilation), multiplier, bias=pooling or self.number(0, 3) > 0,
        )  # fmt: skip
        return (self.pool(call) if pooling else self.weighed(call, kind))._replace(behind=behind)

    def turned(self, axis: Axis) -> Axis:
        """The axis of a transposed convolution, whose output is as long as it is, or longer, or shorter."""
        follows = (
            (axis.size - 1) * axis.stride + axis.taps - axis.before - self.pick(0, 0, 1, 2) + self.pick(0, 0, 0, 1)
        )
        output = follows if follows >= 1 and self.number(0, 5) else self.number(1, 20)
        return axis._replace(dilation=1, output=output)

    def covered(self, axis: Axis) -> Axis:
        """The axis of a pool whose windows all meet the input."""
        before = min(axis.before, axis.taps - 1)
        return axis._replace(before=before, output=self.number(1, (axis.size - 1 + before) // axis.stride + 1))

    def weighed(self, call: KernelCall, kind: str) -> RandomCall:
        """A layer with weights."""
        stem, bits = call.entry.rpartition("_")[0], 16 if kind == "s16" else 8
        zeros = self.zero(bits), 0, self.zero(bits)
        if stem == "fully_connected" and kind == "s8" and not call.per_channel and self.number(0, 3) == 0:
            zeros = zeros[0], self.pick(-128, 127, self.number(-50, 50)), zeros[2]
        out_c = call.output_dims.c or 1
        shape = (
            (out_c, call.filter_dims.n or 1) if stem == "fully_connected" else tuple(n or 1 for n in call.filter_dims)
        )
        source = self.integers(bits, tuple(size or 1 for size in call.input_dims))
        weights = self.integers(4 if kind == "s4" else 8, shape)
        numbers = CallNumbers(source, weights - zeros[1], None, (), zeros[0], zeros[2], bits)
        sums = summed(stem, call, numbers)
        blind, spread = not sums.any(), max(float(np.abs(sums).mean()), 10.0)
        bias = np.zeros(0, np.int64)
        if call.bias:
            bias = self.random.integers(-int(spread) - 1, int(spread) + 2, out_c)
            sums = sums + bias
        single = stem == "fully_connected" and not call.per_channel
        scales = self.scales(1 if single else out_c, spread, bits)
        result = (requantized_wide if bits == 16 else requantized)(sums, scales) + zeros[2]
        limits = self.limits(bits)
        stored = packed(weights.reshape(-1)) if kind == "s4" else weights
        wide_bias = np.int64 if bits == 16 else np.int32
        arrays = (
            source.astype(f"int{bits}"), stored.astype(np.int8), bias.astype(wide_bias),
            *(np.array(column, np.int32) for column in zip(*scales, strict=True)),
        )  # fmt: skip
        expected = np.clip(result, *limits).astype(f"int{bits}").reshape(-1)
        blind = blind or bool((expected == expected[0]).all())
        return RandomCall(call._replace(weight_offset=zeros[1] != 0), arrays, expected, zeros, limits, blind=blind)

    def pool(self, call: KernelCall) -> RandomCall:
        """A pool; what an average of nothing is is not defined."""
        bits = 16 if call.types == "s16" else 8
        source = self.integers(bits, tuple(size or 1 for size in call.input_dims))
        limits = self.limits(bits)
        counts = windows(call, np.ones_like(source), 0).sum(axis=(3, 4))
        if call.entry.startswith("max"):
            result = windows(call, source, -(1 << (bits - 1))).max(axis=(3, 4))
        else:
            sums, number = windows(call, source, 0).sum(axis=(3, 4)), np.maximum(counts, 1)
            result = np.sign(sums) * ((np.abs(sums) + number // 2) // number)
        expected = np.clip(result, *limits).astype(f"int{bits}").reshape(-1)
        defined = call.entry.startswith("max") or bool(counts.min() > 0)
        return RandomCall(call, (source.astype(f"int{bits}"),), expected if defined else None, limits=limits)

    def dense(self, entry: str) -> RandomCall:
        """A fully connected layer."""
        rows, depth, out_c = (
            self.pick(1, 1, 2, 3, 5),
            self.pick(self.number(1, 20), self.number(1, 200)),
            self.channels(),
        )
        kind = entry.rpartition("_")[2]
        call = KernelCall(
            entry, Dims(rows, 1, 1, depth), Dims(depth, 1, 1, out_c), Dims(rows, 1, 1, out_c),
            per_channel=bool(self.number(0, 1)) if kind == "s8" else None, bias=self.number(0, 3) > 0,
        )  # fmt: skip
        return self.weighed(call, kind)

    def pair(self, entry: str) -> RandomCall:
        """A sum or a product of two tensors."""
        bits, adding = 16 if entry.endswith("s16") else 8, "add" in entry
        shape = self.pick(1, 2, 3), self.pick(self.number(1, 9), self.number(1, 300))
        dims = Dims(shape[0], 1, 1, shape[1])
        data = [self.integers(bits, shape) for _ in range(2)]
        zeros = self.zero(bits), self.zero(bits), self.zero(bits)
        reals = [float(self.random.uniform(0.01, 1.0)) for _ in range(3)]
        left, limits = 15 if bits == 16 else 20, self.limits(bits)
        shifted = [(values - zero) for values, zero in zip(data, zeros, strict=False)]
        if adding:
            largest = 2 * max(reals[:2])
            scales = [quantize_multiplier(real / largest) for real in reals[:2]]
            output = quantize_multiplier(largest / ((1 << left) * max(reals[2], largest / 8)))
            sums = sum(requantized(values << left, scale) for values, scale in zip(shifted, scales, strict=True))
            more = (*scales[0], *scales[1], left, *output)
        else:
            output = quantize_multiplier(reals[0] * 4 / (1 << bits))
            sums, more = shifted[0] * shifted[1], (0, 0, 0, 0, 0, *output)
        expected = np.clip(requantized(np.asarray(sums), output) + zeros[2], *limits).astype(f"int{bits}").reshape(-1)
        arrays = tuple(values.astype(f"int{bits}") for values in data)
        return RandomCall(KernelCall(entry, dims, dims, dims), arrays, expected, zeros, limits, more)

    def softmax(self, entry: str) -> RandomCall:
        """A softmax of rows; None of a value that C leaves open."""
        given, result_bits = (
            (8 if entry == "softmax_s8_s16" else 16 if entry.endswith("16") else 8),
            16 if "16" in entry else 8,
        )
        rows, row = self.pick(1, 2, 5), self.pick(self.number(1, 12), self.number(1, 120))
        dims, scale = Dims(rows, 1, 1, row), float(2.0 ** self.random.uniform(-8, -1)) / (200 if given == 16 else 1)
        source = self.integers(given, (rows, row)) // self.pick(1, 4, 32)
        constants: Any = multiplier(scale) if given == 16 else softmax_constants(scale)
        values = [
            Value(name, number, (rows, row), (0, 1), Quantization(1.0, 0, bits))
            for number, (name, bits) in enumerate((("x", given), ("y", result_bits)))
        ]
        numbers = {"rows": rows, "row": row, "constants": constants}
        step = Step("", "", "softmax", (values[0],), values[1], None, f"arm_{entry}", (), numbers)
        exact = softmax_output(step, source.reshape(-1))
        tables = (
            np.concatenate([exponentials(), reciprocals()]).astype(np.int16) if given == 16 else np.zeros(0, np.int8)
        )
        more = tuple(constants) if given == 16 else (*constants.multiplier, constants.diff_min)
        expected = exact.values.astype(f"int{result_bits}") if exact is not None and exact.defined.all() else None
        return RandomCall(
            KernelCall(entry, dims, ONE, dims), (source.astype(f"int{given}"), tables), expected, more=more
        )

    def extreme(self, entry: str) -> RandomCall:
        """The larger or smaller of two tensors of which axes may be repeated."""
        pairs = [
            self.pick((1, 1), (1, (size := self.number(1, 5))), (size, 1), (size, size))
            for _ in range(4)
            if (size := 3)
        ]
        first, second = (tuple(pair[side] for pair in pairs) for side in (0, 1))
        data = [self.integers(8, shape).astype(np.int8) for shape in (first, second)]
        result = (np.maximum if entry.startswith("max") else np.minimum)(*data)
        return RandomCall(
            KernelCall(entry, Dims(*first), Dims(*second), Dims(*result.shape)), tuple(data), result.reshape(-1)
        )

    def product(self, entry: str) -> RandomCall:
        """A product of matrices, of which batches may be repeated."""
        bits = 16 if entry.endswith("s16") else 8
        outer = [self.pick((1, 1), (1, n), (n, 1), (n, n)) for n in (2, 3)]
        rows, columns, depth = self.number(1, 7), self.channels(), self.pick(self.number(1, 9), self.number(1, 70))
        first = (outer[0][0], outer[1][0], rows, depth)
        second = (outer[0][1], outer[1][1], columns, depth)
        data = [self.integers(bits, shape) for shape in (first, second)]
        zeros, limits = (self.zero(bits), self.zero(bits), self.zero(bits)), self.limits(bits)
        sums = np.matmul(data[0] - zeros[0], np.swapaxes(data[1] - zeros[1], 2, 3))
        scales = self.scales(1, max(float(np.abs(sums).mean()), 10.0), bits)
        result = (requantized_wide if bits == 16 else requantized)(sums, scales) + zeros[2]
        arrays = (
            *(values.astype(f"int{bits}") for values in data),
            np.zeros(0),
            *(np.array([n], np.int32) for n in scales[0]),
        )
        call = KernelCall(entry, Dims(*first), Dims(*second), Dims(*sums.shape), bias=False)
        return RandomCall(call, arrays, np.clip(result, *limits).astype(f"int{bits}").reshape(-1), zeros, limits)

    def pad(self, entry: str) -> RandomCall:
        """An image with margins on any axis."""
        shape = self.pick(1, 2), self.number(1, 6), self.number(1, 6), self.channels()
        before, after = ([self.pick(0, 0, self.number(0, 4)) for _ in range(4)] for _ in range(2))
        data, fill = self.integers(8, shape).astype(np.int8), self.number(-128, 127)
        result = np.pad(data, list(zip(before, after, strict=True)), constant_values=fill)
        call = KernelCall(entry, Dims(*shape), ONE, Dims(*result.shape), pad_front=Dims(*before))
        return RandomCall(call, (data,), result.reshape(-1), (fill, 0, 0), more=(*before, *after))

    def transposition(self, entry: str) -> RandomCall:
        """Axes in another order."""
        rank = self.number(1, 4)
        order, sizes = [int(axis) for axis in self.random.permutation(rank)], [self.number(1, 9) for _ in range(rank)]
        data, ones = self.integers(8, tuple(sizes)).astype(np.int8), (1,) * (4 - rank)
        moved = data.transpose(order)
        call = KernelCall(entry, Dims(*ones, *sizes), ONE, Dims(*ones, *moved.shape), permutation=tuple(order))
        return RandomCall(call, (data,), moved.reshape(-1), more=(rank, *order))

    def joined(self, entry: str) -> RandomCall:
        """An operand of a concatenation, and the rest of the output as it was."""
        shape = [self.number(1, 5) for _ in range(3)] + [self.channels()]
        axis = self.number(0, 3)
        offset, behind = self.number(0, 4), self.number(0, 3)
        data = self.integers(8, tuple(shape)).astype(np.int8)
        margins = [(offset, behind) if number == axis else (0, 0) for number in range(4)]
        result = np.pad(data, margins, constant_values=UNTOUCHED)
        run = int(np.prod(shape[axis:]))
        call = KernelCall(entry, Dims(*shape), ONE, Dims(*result.shape), runs=(run,))
        return RandomCall(call, (data,), result.reshape(-1), more=(offset,), axis="wzyx"[axis])

    def clamped(self, entry: str) -> RandomCall:
        """A function that cuts values off in offset."""
        bits = 16 if entry == "relu_q15" else 8
        dims = Dims(1, 1, 1, self.pick(self.number(1, 9), self.number(1, 300)))
        data = self.integers(bits, (dims.c or 1,)).astype(f"int{bits}")
        result = np.clip(data, 0, 6) if entry == "relu6_s8" else np.maximum(data, 0)
        return RandomCall(KernelCall(entry, dims, ONE, dims), (data,), result)


Drawn = Callable[[Draw, str], "RandomCall | None"]
DRAWN: dict[str, Drawn] = {
    **dict.fromkeys(("convolve_s8", "convolve_s16", "convolve_s4"), Draw.layer),
    **dict.fromkeys(("depthwise_s8", "depthwise_s16", "depthwise_s4", "transpose_conv_s8"), Draw.layer),
    **dict.fromkeys(("fully_connected_s8", "fully_connected_s16", "fully_connected_s4"), Draw.dense),
    **dict.fromkeys(("avgpool_s8", "avgpool_s16", "max_pool_s8", "max_pool_s16"), Draw.layer),
    **dict.fromkeys(("elementwise_add_s8", "elementwise_add_s16"), Draw.pair),
    **dict.fromkeys(("elementwise_mul_s8", "elementwise_mul_s16"), Draw.pair),
    **dict.fromkeys(("softmax_s8", "softmax_s8_s16", "softmax_s16"), Draw.softmax),
    **dict.fromkeys(("maximum_s8", "minimum_s8"), Draw.extreme),
    **dict.fromkeys(("batch_matmul_s8", "batch_matmul_s16"), Draw.product),
    "pad_s8": Draw.pad,
    "transpose_s8": Draw.transposition,
    "concatenation_s8": Draw.joined,
    **dict.fromkeys(("relu_q7", "relu6_s8", "relu_q15"), Draw.clamped),
}
"""Entry points in the order of their numbers in sweep_calls.c, each with what draws its calls."""


def random_calls(entry: str, count: int, seed: int) -> list[RandomCall]:
    """So many calls of an entry point; they follow from the seed."""
    draw = Draw(seed * 1000 + list(DRAWN).index(entry))
    calls: list[RandomCall] = []
    while len(calls) < count:
        drawn = DRAWN[entry](draw, entry)
        calls += [drawn] if drawn is not None else []
    return calls
