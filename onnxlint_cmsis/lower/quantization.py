"""Quantization of one tensor: the type of its integers, their scales and zero-points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.stored_types import EIGHT_BITS, FOUR_BITS

OUTPUT = -1
"""Axis of the weights' scales in a quantized operator: that of the output channels."""
INTEGERS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "int8": (-128, 127),
        "uint8": (0, 255),
        "int16": (-32768, 32767),
        "uint16": (0, 65535),
        "int4": (-8, 7),
        "uint4": (0, 15),
    }
)
"""Least and largest integer of each type, and so zero-point."""
UNSIGNED_OFFSET = 128
"""Offset from uint8 to int8, for integers and zero-points."""
TOLERANCE = 1e-6
"""Relative difference of scales that count as equal, as in TensorFlow Lite Micro (kernels/pooling_common.cc)."""


class AffineQuantization(NamedTuple):
    """Affine quantization of a tensor: real = scale * (integer - zero_point)."""

    elem_type: str
    """Type of the integers in the file."""
    scales: tuple[float, ...] | None
    """One scale, or one per index of `axis`; None where they are computed at run time."""
    zero_points: tuple[int, ...] | None
    """Zero-points in the file, as many; None where they are computed at run time."""
    axis: int = 1
    """Axis of several scales; OUTPUT for an operator that defines which it is."""
    blocks: bool = False
    """Whether scales hold for blocks along the axis."""

    @property
    def known(self) -> bool:
        """Tell whether scales and zero-points are fixed in the file."""
        return self.scales is not None and self.zero_points is not None

    @property
    def bits(self) -> int:
        """Bits of an integer."""
        return 4 if self.elem_type in FOUR_BITS else 8 if self.elem_type in EIGHT_BITS else 16

    @property
    def scale(self) -> float:
        """First scale; 0 where unknown."""
        return self.scales[0] if self.scales else 0.0

    @property
    def signed_zero_points(self) -> tuple[int, ...]:
        """Zero-points of the integers as the device holds them: uint8 less 128."""
        offset = UNSIGNED_OFFSET if self.elem_type == "uint8" else 8 if self.elem_type == "uint4" else 0
        zeros = self.zero_points or ()
        return tuple(zero - offset for zero in zeros) if offset else zeros

    def equals(self, other: AffineQuantization) -> bool:
        """Tell whether integers mean the same in both."""
        if self.elem_type != other.elem_type or self.zero_points != other.zero_points or not self.known:
            return False
        pairs = list(zip(self.scales or (), other.scales or (), strict=False))
        same = len(self.scales or ()) == len(other.scales or ())
        return same and all(abs(a - b) <= TOLERANCE * max(a, b) for a, b in pairs)


def wrong_scale(quantization: AffineQuantization) -> float | None:
    """First scale that is not finite and above 0; None where all are."""
    scales = quantization.scales or ()
    if not scales or (math.isfinite(sum(scales)) and min(scales) > 0):  # the sum of a NaN is one
        return None
    return next((scale for scale in scales if not (math.isfinite(scale) and scale > 0)), None)


def wrong_zero_point(quantization: AffineQuantization) -> int | None:
    """First zero-point that the integers' type does not hold; None where it holds all."""
    least, most = INTEGERS.get(quantization.elem_type, (-math.inf, math.inf))
    zeros = quantization.zero_points or (0,)
    if least <= min(zeros) and max(zeros) <= most:
        return None
    return next(zero for zero in zeros if not least <= zero <= most)


def strange_numbers(quantizations: Iterable[AffineQuantization]) -> str:
    """What cannot be computed with among scales and zero-points, as a clause; empty where all can be."""
    for quantization in quantizations:
        scale, zero = wrong_scale(quantization), wrong_zero_point(quantization)
        if scale is not None:
            return f"a scale of its quantization is {scale}; scales are finite and above 0"
        if zero is not None:
            least, most = INTEGERS[quantization.elem_type]
            return f"a zero-point of its quantization is {zero}; {quantization.elem_type} holds {least} to {most}"
    return ""
