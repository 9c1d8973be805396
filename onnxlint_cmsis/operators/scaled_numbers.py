"""Numbers with a scale: those of a file, and those of a tensor that is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.fixed_point import away
from onnxlint_cmsis.operators.integers import BITS, LONGEST_SUM, OFFSETS, NotCoveredError, Steps

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import StoredQuantization
    from onnxlint_cmsis.model.intervals import Array


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

    def has_scale(self, scale: Array, zero: Array, axis: int) -> bool:
        """Tell whether integers have these scales and zero-points, and so come out of QuantizeLinear as they are."""
        stated = Fixed(self.array).scaled(scale, zero, axis)
        sides = (self.scale, stated.scale), (self.zero, stated.zero)
        return all(have is not None and want is not None and np.array_equal(have, want) for have, want in sides)

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
    def in_float32(self) -> Fixed:
        """As a kernel makes float32 of it: as it is where it has no scale."""
        return self if self.scale is None else Fixed(self.real.astype(np.float32))

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
        """The least and the greatest integer that steps come out as between two bounds. Raises NotCoveredError."""
        low, high = min(steps[0]) + self.zero, max(steps[1]) + self.zero
        if max(abs(low), abs(high)) >= 2**31:
            raise NotCoveredError("a step behind its zero-point does not fit 32 bits")
        return min(max(low, least), most), min(max(high, least), most)


def quantization(scale: Array, zero: Array, elem_type: str) -> Quantization:
    """One scale and zero-point for a tensor. Raises NotCoveredError."""
    if scale.size != 1 or zero.size != 1 or elem_type not in BITS or not 0 < float(scale.item()) < math.inf:
        raise NotCoveredError("its result has no single scale")
    check_zeros(zero, elem_type)
    return Quantization(float(scale.item()), int(zero.item()) - OFFSETS.get(elem_type, 0), BITS[elem_type])


def check_zeros(zero: Array, elem_type: str) -> None:
    """Raise NotCoveredError for zero-points that their type does not hold: runtimes cut them, each in its way."""
    whole, top = zero.astype(np.int64) - OFFSETS.get(elem_type, 0), 1 << (BITS.get(elem_type, 32) - 1)
    if not ((whole >= -top) & (whole < top)).all():
        raise NotCoveredError(f"a zero-point is none of {elem_type}")


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
