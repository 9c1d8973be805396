"""How far the outputs of two models are apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.formats.onnx_graph.proto_operators import operator_of_proto
from onnxlint_cmsis.operators.facets import Elements
from onnxlint_cmsis.operators.registry import UNKNOWN
from onnxlint_cmsis.results.proof_result import Difference

if TYPE_CHECKING:
    from onnx import ModelProto

    from onnxlint_cmsis.proof.proven_model import Array

TOLERANCE = 1e-5
"""Largest difference of float outputs, as a share of their range."""

UNIT = (0.0, 1.0)
"""Bounds that outputs are measured against whatever is seen of them."""


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
        """Whether it differs regardless of its range: integers, NaN on one side, another shape."""
        return self.largest > 0 and (not self._floats or self.largest == float("inf"))

    def add(self, old: Any, new: Any) -> None:
        """Take note of the value in one run of each model: an array, or a sequence or map of such."""
        pairs = _pairs(old, new)
        if pairs is None:
            self.largest = float("inf")
        for one, other in pairs or ():
            largest = _distance(one, other)
            self.largest = max(self.largest, largest)
            self.values += one.size
            self.apart += _count_apart(one, other) if largest else 0
            if one.dtype.kind == "f":
                low, high = _bounds(one)
                self._low, self._high = min(self._low, low), max(self._high, high)
            else:
                self._floats = False

    def fault(self, tolerance: float, steps: int = 0) -> str:
        """The fault, as the rest of a sentence; empty within the tolerance."""
        if self.largest > steps and not self._floats:
            allowed = f"allowed is {steps}" if steps else "it has to be the same bit for bit"
            return f"differs by {self.largest:g}; {allowed}"
        if self._floats and self.relative > tolerance:
            share = f"{self.relative:.2g} of its range; allowed is {tolerance:g}"
            return f"differs by {self.largest:.3g}, {share}"
        return ""


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
        for spread, one, other in zip(self._spreads, old, new, strict=True):
            spread.add(one, other)
        return any(spread.largest > largest for spread, largest in zip(self._spreads, before, strict=True))

    @property
    def failed(self) -> bool:
        """Whether some output differs so that no further run can excuse it."""
        return any(spread.inexcusable for spread in self._spreads)

    def differences(self) -> tuple[Difference, ...]:
        """One for each output."""
        pairs = zip(self._outputs, self._spreads, strict=True)
        return tuple(
            Difference(name, kind, one.largest, one.relative, one.apart, one.values) for (name, kind), one in pairs
        )

    @property
    def differs(self) -> str:
        """The first output that differs too much, empty where none does."""
        pairs = zip(self._outputs, self._spreads, strict=True)
        return next((name for (name, _), spread in pairs if spread.fault(TOLERANCE)), "")

    def reason(self) -> str:
        """Fault of that output; empty for none."""
        pairs = zip(self._outputs, self._spreads, strict=True)
        return next((f"output `{name}` {fault}" for (name, _), one in pairs if (fault := one.fault(TOLERANCE))), "")


def unit_outputs(model: ModelProto) -> frozenset[str]:
    """Outputs that hold nothing but values of operators whose range is 0 to 1."""
    producers = {name: node for node in model.graph.node for name in node.output}
    found = set()
    for value in model.graph.output:
        pending, unit = [value.name], True
        while pending and unit:
            node = producers.get(pending.pop())
            operator = UNKNOWN if node is None else operator_of_proto(node)
            if node is not None and operator.moves:
                pending.extend(node.input if operator.elements is Elements.JOINED else node.input[:1])
            else:
                unit = operator.bounds == UNIT
        if unit:
            found.add(value.name)
    return frozenset(found)


def _pairs(old: Any, new: Any) -> list[tuple[Array, Array]] | None:
    """Arrays of two outputs side by side, single values as arrays of one; None where they are not built alike."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return _pairs(list(old.values()), list(new.values())) if list(old) == list(new) else None
    if not isinstance(old, list) or not isinstance(new, list):
        return [(np.asarray(old), np.asarray(new))]
    nested = [_pairs(one, other) for one, other in zip(old, new, strict=False)]
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
