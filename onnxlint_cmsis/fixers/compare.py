"""How far the outputs of two models are apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto

TOLERANCE = 1e-5
"""Largest difference of float outputs, as a share of their range."""

UNIT = ("HardSigmoid", "Hardmax", "Sigmoid", "Softmax")
"""Operators whose range is 0 to 1 whatever they are given."""
MOVING = ("Concat", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze")
"""Operators that hand elements on."""


class Difference(NamedTuple):
    """How far one output of the two models is apart."""

    output: str
    """Name."""
    elem_type: str
    """Type as ONNX Runtime names it: `tensor(int8)`."""
    largest: float
    """Largest absolute difference over all inputs; infinite where only one is NaN, or shapes differ."""
    relative: float
    """The same as a share of the output's range over all inputs, which includes 0."""


class Comparison:
    """Differences gathered over many inputs."""

    def __init__(self, outputs: Sequence[tuple[str, str]], unit: frozenset[str]) -> None:
        self._outputs = outputs
        self._largest = [0.0] * len(outputs)
        self._low = [0.0] * len(outputs)
        self._high = [1.0 if name in unit else 0.0 for name, _ in outputs]

    def add(self, old: Sequence[Any], new: Sequence[Any]) -> None:
        """Take note of the outputs of one run of each model."""
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            self._largest[place] = max(self._largest[place], _distance(one, other))
            if isinstance(one, np.ndarray) and one.dtype.kind == "f":
                finite = one[np.isfinite(one)]
                self._low[place] = min(self._low[place], float(finite.min(initial=0)))
                self._high[place] = max(self._high[place], float(finite.max(initial=0)))

    def differences(self) -> tuple[Difference, ...]:
        """One for each output."""
        return tuple(self._difference(place) for place in range(len(self._outputs)))

    def reason(self) -> str:
        """The first output that differs too much, empty where none does."""
        for found in self.differences():
            if found.largest > 0 and "float" not in found.elem_type and "double" not in found.elem_type:
                return f"output `{found.output}` differs by {found.largest:g}; it has to be the same bit for bit"
            if found.relative > TOLERANCE:
                share = f"{found.relative:.2g} of its range; allowed is {TOLERANCE:g}"
                return f"output `{found.output}` differs by {found.largest:.3g}, {share}"
        return ""

    def _difference(self, place: int) -> Difference:
        name, elem_type = self._outputs[place]
        largest, width = self._largest[place], self._high[place] - self._low[place]
        relative = largest / width if width else largest and float("inf")
        return Difference(name, elem_type, largest, relative)


def unit_outputs(model: ModelProto) -> frozenset[str]:
    """Outputs that hold nothing but values of operators whose range is 0 to 1."""
    producers = {name: node for node in model.graph.node for name in node.output}
    found = set()
    for value in model.graph.output:
        pending, unit = [value.name], True
        while pending and unit:
            node = producers.get(pending.pop())
            if node is not None and node.op_type in MOVING and not node.domain:
                pending.extend(node.input if node.op_type == "Concat" else node.input[:1])
            else:
                unit = node is not None and node.op_type in UNIT and not node.domain
        if unit:
            found.add(value.name)
    return frozenset(found)


def _distance(old: Any, new: Any) -> float:
    """Largest difference of two outputs; NaN equals NaN, infinity itself."""
    if not isinstance(old, np.ndarray) or not isinstance(new, np.ndarray) or old.dtype.kind not in "biuf":
        return 0.0 if _same(old, new) else float("inf")
    if old.shape != new.shape or old.dtype != new.dtype:
        return float("inf")
    if old.dtype.kind != "f":
        return float(np.abs(old.astype(np.float64) - new.astype(np.float64)).max(initial=0)) or float(
            not np.array_equal(old, new)
        )
    equal = (old == new) | (np.isnan(old) & np.isnan(new))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(old.astype(np.float64) - new.astype(np.float64))
    apart = np.where(equal, 0.0, np.where(np.isfinite(apart), apart, np.inf))
    return float(apart.max(initial=0))


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return old.dtype == new.dtype and np.array_equal(old, new)
    return False
