"""Ranges and rounding errors of element types, and intervals stored in a type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.model.intervals import Fault, Interval, between, interval_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


EXACT_INT = 2.0**53
"""Integers from here on do not fit a float64."""


LARGEST = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.4028234e38, "float64": 1.797e308}
"""Largest finite number of each real type."""


SMALLEST = {"float16": 6.2e-5, "bfloat16": 1.2e-38, "float32": 1.2e-38, "float64": 2.3e-308}
"""Smallest number of full accuracy of each real type; what is smaller may become 0."""


ROUNDING = {"float32": 2.0**-20, "float64": 2.0**-20, "float16": 2.0**-7, "bfloat16": 2.0**-5}
"""Relative error allowed to each operation: several times that of the type, for other orders and fused forms."""


SLACK = ROUNDING["float32"]
"""Relative error of float32."""


FOLLOWED = ("float32", "float64")
"""Real types whose constants are followed through rounding; of the shorter ones only zeros are."""


WIDE = 2.0**-6
"""Ends further apart than this share of their size do not tell a value."""


def is_whole(elem_type: str) -> bool:
    """Tell whether a type holds integers or truth values."""
    return "int" in elem_type or elem_type == "bool"


def rounding(elem_type: str) -> float:
    """Relative error of a result of a type; that of the coarsest where the type is not known."""
    return 0.0 if "int" in elem_type else ROUNDING.get(elem_type, ROUNDING["bfloat16"])


def limits(elem_type: str) -> tuple[float, float]:
    """Least and greatest number of a type; infinite for real ones."""
    if elem_type == "bool":
        return 0.0, 1.0
    digits = elem_type.removeprefix("u").removeprefix("int")
    if not digits.isdecimal():  # quint2x4 of `.pte` files among them
        return -np.inf, np.inf
    bits = int(digits)
    return (0.0, 2.0**bits - 1) if elem_type.startswith("u") else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)


def range_of(elem_type: str) -> Interval:
    """Any finite number of a type."""
    return between(*limits(elem_type))


def as_stored(computed: Interval, elem_type: str) -> Interval:
    """A result stored in its type: integers that overflow may be any, reals that overflow are faults."""
    return _whole(computed, elem_type) if is_whole(elem_type) else _real(computed, elem_type)


def _whole(computed: Interval, elem_type: str) -> Interval:
    least, most = limits(elem_type)
    fits = (computed.low >= max(least, -EXACT_INT)) & (computed.high <= min(most, EXACT_INT))
    if fits.all():
        return computed
    low, high = np.where(fits, computed.low, least), np.where(fits, computed.high, most)
    return Interval(low, high, np.asarray(computed.varies | ~fits), computed.fault)


def _real(computed: Interval, elem_type: str) -> Interval:
    low, high = computed.low, computed.high
    largest, smallest = LARGEST.get(elem_type, LARGEST["float16"]), SMALLEST.get(elem_type, SMALLEST["float16"])
    large, small = _beyond(low, largest), _below(low, smallest)
    if low is not high:
        large, small = large | _beyond(high, largest), small | _below(high, smallest)
    if large.any():
        certain = ((low > largest) | (high < -largest)).all()
        computed = computed.flawed(large, Fault("is infinite" if certain else "may be infinite"))
    if not small.any():
        return computed
    step = smallest * DISTANCE
    low = np.where(small, np.minimum(low, 0) - step * (low < 0), computed.low)
    high = np.where(small, np.maximum(high, 0) + step * (high > 0), computed.high)
    return interval_of(low, high, computed)


DISTANCE = 2.0**-7
"""Distance of numbers below a type's smallest normal one, as part of that: bfloat16's, all others' is less."""


def _beyond(end: Floats, largest: float) -> Mask:
    return np.asarray(np.isfinite(end) & (np.abs(end) > largest))


def _below(end: Floats, smallest: float) -> Mask:
    return np.asarray((end != 0) & (np.abs(end) < smallest))


def settled(stored: Interval, elem_type: str) -> Interval:
    """The interval with elements marked whose ends are too far apart to tell one value of the type."""
    if stored.low is stored.high and (elem_type in FOLLOWED or is_whole(elem_type)):
        return stored
    if elem_type in FOLLOWED:
        near = stored.high - stored.low <= WIDE * (np.abs(stored.low) + np.abs(stored.high))
    else:
        near = stored.exact if is_whole(elem_type) else stored.zero
    return stored.unsettled(~near)
