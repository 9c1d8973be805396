"""How far the outputs of two models are apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.proof_results import Difference

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.proof.proven import Array


TOLERANCE = 1e-5
"""Largest difference of float outputs, as a share of their range."""


class Spread:
    """One value of two models over many inputs: how far apart, and over which range."""

    def __init__(self, *, unit: bool = False) -> None:
        """`unit` fixes the range to 0 to 1."""
        self.largest = 0.0
        self.apart, self.values = 0, 0
        """Elements that differ, and all elements."""
        self._low, self._high = 0.0, 1.0 if unit else 0.0
        self._floats = True

    @property
    def relative(self) -> float:
        """Largest difference as a share of the range, which includes 0."""
        width = self._high - self._low
        return self.largest / width if width else self.largest and float("inf")

    @property
    def inexcusable(self) -> bool:
        """Tell whether it differs regardless of its range: integers, NaN on one side, another shape."""
        return self.largest > 0 and (not self._floats or self.largest == float("inf"))

    def add(self, old: Any, new: Any) -> None:
        """Take note of the value in one run of each model: an array, or a sequence or map of such."""
        pairs = _arrays(old, new)
        if pairs is None:
            self.largest = float("inf")
        for before, after in pairs or ():
            largest = _distance(before, after)
            self.largest = max(self.largest, largest)
            self.values += before.size
            self.apart += _count_apart(before, after) if largest else 0
            if before.dtype.kind == "f":
                low, high = _bounds(before)
                self._low, self._high = min(self._low, low), max(self._high, high)
            else:
                self._floats = False

    def fault(self, tolerance: float, steps: int = 0) -> str | None:
        """The fault, as the rest of a sentence; empty within the tolerance."""
        if self.largest > steps and not self._floats:
            allowed = f"allowed is {steps}" if steps else "it has to be the same bit for bit"
            return f"differs by {self.largest:g}; {allowed}"
        if self._floats and self.relative > tolerance:
            share = f"{self.relative:.2g} of its range; allowed is {tolerance:g}"
            return f"differs by {self.largest:.3g}, {share}"
        return None


class OutputComparison:
    """Outputs of two models over many inputs."""

    def __init__(self, outputs: Sequence[tuple[str, str]], unit: frozenset[str]) -> None:
        self.runs = 0
        """Runs of each model so far."""
        self._outputs = outputs
        self._spreads = [Spread(unit=name in unit) for name, _ in outputs]

    def add(self, old: Sequence[Any], new: Sequence[Any]) -> bool:
        """Take note of the outputs of one run of each model; True where some output differs more than ever before."""
        self.runs += 1
        before = [spread.largest for spread in self._spreads]
        for spread, was, now in zip(self._spreads, old, new, strict=True):
            spread.add(was, now)
        return any(spread.largest > largest for spread, largest in zip(self._spreads, before, strict=True))

    @property
    def failed(self) -> bool:
        """Tell whether some output differs so that no further run can excuse it."""
        return any(spread.inexcusable for spread in self._spreads)

    def differences(self) -> tuple[Difference, ...]:
        """How far each output is apart."""
        return tuple(
            Difference(name, kind, spread.largest, spread.relative, spread.apart, spread.values)
            for (name, kind), spread in zip(self._outputs, self._spreads, strict=True)
        )

    @property
    def differs(self) -> str:
        """The first output that differs too much; empty where none does."""
        return next((name for name, _ in self._faults()), "")

    def reason(self) -> str | None:
        """The first output that differs too much and by how much, as a clause; None where none does."""
        return next((f"output `{name}` {fault}" for name, fault in self._faults()), None)

    def _faults(self) -> Iterator[tuple[str, str]]:
        """Outputs that differ too much, by name, with the fault."""
        for (name, _), spread in zip(self._outputs, self._spreads, strict=True):
            if fault := spread.fault(TOLERANCE):
                yield name, fault


def _arrays(old: Any, new: Any) -> list[tuple[Array, Array]] | None:
    """Arrays of two outputs side by side, single values as arrays of one; None where they are not built alike."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return _arrays(list(old.values()), list(new.values())) if list(old) == list(new) else None
    if not isinstance(old, list) or not isinstance(new, list):
        return [(np.asarray(old), np.asarray(new))]
    nested = [_arrays(before, after) for before, after in zip(old, new, strict=False)]
    return [pair for pairs in nested for pair in pairs or ()] if len(old) == len(new) and None not in nested else None


def _bounds(values: Array) -> tuple[float, float]:
    """Lowest and highest finite value, with 0 between them."""
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    if isfinite(low) and isfinite(high):
        return low, high
    finite = values[np.isfinite(values)]
    return float(finite.min(initial=0)), float(finite.max(initial=0))


def _count_apart(old: Array, new: Array) -> int:
    """Elements of two arrays that differ; all of them where the arrays are not of one kind. NaN equals NaN."""
    if old.shape != new.shape or old.dtype != new.dtype:
        return old.size
    differ = old != new
    return int(np.count_nonzero(differ & ~((old != old) & (new != new))))  # noqa: PLR0124 - NaN alone is not itself


def _distance(old: Array, new: Array) -> float:
    """Largest difference of two arrays; NaN equals NaN, infinity itself."""
    if old.shape != new.shape or old.dtype != new.dtype:
        return float("inf")
    if np.array_equal(old, new):
        return 0.0
    if old.dtype.kind not in "biuf":
        return float("inf")
    if old.dtype.kind != "f":
        return float(np.abs(old.astype(np.float64) - new.astype(np.float64)).max()) or 1.0
    equal = (old == new) | (np.isnan(old) & np.isnan(new))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(old.astype(np.float64) - new.astype(np.float64))
    apart = np.where(equal, 0.0, np.where(np.isfinite(apart), apart, np.inf))
    return float(apart.max(initial=0))
