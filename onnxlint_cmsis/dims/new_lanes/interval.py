"""Intervals of numbers that an element may be, and why one may be no finite number."""

from __future__ import annotations

import math
from typing import NamedTuple

INFINITY = math.inf

LARGEST = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.4028234e38, "float64": 1.797e308}
"""Largest finite number of each real type."""
SMALLEST = {"float16": 6.2e-5, "bfloat16": 1.2e-38, "float32": 1.2e-38, "float64": 2.3e-308}
"""Smallest number of full accuracy of each real type; what is smaller may become 0."""
ROUNDING = {"float32": 2.0**-20, "float64": 2.0**-20, "float16": 2.0**-7, "bfloat16": 2.0**-5}
"""Relative error allowed to each operation: several times that of the type, for other orders and fused forms."""


class Interval(NamedTuple):
    """Numbers from `low` to `high`; an infinite end means finite numbers of any size, not infinity."""

    low: float
    """Least."""
    high: float
    """Greatest."""

    @property
    def is_point(self) -> bool:
        """Whether it holds one number."""
        return self.low == self.high

    @property
    def bounded(self) -> bool:
        """Whether both ends are known."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def __contains__(self, number: object) -> bool:
        """Whether a number may be meant."""
        return isinstance(number, int | float) and self.low <= number <= self.high


ANY = Interval(-INFINITY, INFINITY)
NONE_BELOW_ZERO = Interval(0.0, INFINITY)
SHARE = Interval(0.0, 1.0)
ZERO = Interval(0.0, 0.0)


class NotFiniteError(Exception):
    """An element may be NaN or infinite."""

    def __init__(self, outcome: str, held: Interval | None = None, divides: bool = False) -> None:
        super().__init__(outcome)
        self.outcome = outcome
        """`is NaN`, `may be infinite`, ... ."""
        self.held = held
        """What the operand that causes it may hold; None where the first operand does."""
        self.divides = divides
        """Whether that operand is a divisor."""


def point(number: float) -> Interval:
    """One number."""
    return Interval(number, number)


def hull(*intervals: Interval) -> Interval:
    """Least interval that holds all of the given ones."""
    return Interval(min(one.low for one in intervals), max(one.high for one in intervals))


def of_numbers(numbers: tuple[float, ...]) -> Interval:
    """Hull of numbers. Raises NotFiniteError where one is NaN or infinite."""
    if not all(map(math.isfinite, numbers)):
        raise NotFiniteError("may be NaN or infinite, as a constant is")
    return Interval(float(min(numbers)), float(max(numbers)))


def range_of(elem_type: str) -> Interval:
    """Numbers that a type can hold."""
    signed = elem_type.startswith("int")
    if elem_type == "bool":
        return SHARE
    if not signed and not elem_type.startswith("uint"):
        return ANY
    bits = int(elem_type.removeprefix("u").removeprefix("int"))
    return Interval(-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1) if signed else Interval(0.0, 2.0**bits - 1)


def widened(interval: Interval, margin: float) -> Interval:
    """Ends further apart by a share of their own size; 0 stays 0."""
    return Interval(interval.low - margin * abs(interval.low), interval.high + margin * abs(interval.high))


def as_stored(made: Interval, elem_type: str) -> Interval:
    """The interval as its type holds it. Raises NotFiniteError where it is too large for it."""
    if "int" in elem_type or elem_type == "bool":
        limits = range_of(elem_type)
        return made if limits.low <= made.low <= made.high <= limits.high else limits
    largest = LARGEST.get(elem_type, LARGEST["float16"])
    if any(math.isfinite(end) and abs(end) > largest for end in made):
        raise NotFiniteError("is infinite" if made.low > largest or made.high < -largest else "may be infinite")
    smallest = SMALLEST.get(elem_type, SMALLEST["float16"])
    return hull(made, ZERO) if any(0 < abs(end) < smallest for end in made) else made


def text(interval: Interval) -> str:
    """The interval for a person, as what a lane `holds`."""
    low, high = interval
    if interval.bounded and high - low <= 1e-3 * max(abs(low), abs(high)):
        return f"which holds {low:g}" if interval.is_point else f"which holds about {(low + high) / 2:.4g}"
    if interval.bounded:
        return f"which holds {low:.4g} to {high:.4g}"
    if math.isfinite(low):
        return f"which holds {low:.4g} or more"
    return f"which holds {high:.4g} or less" if math.isfinite(high) else "whose value is not known"
