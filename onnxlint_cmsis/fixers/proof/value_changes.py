"""How far a change moves values, in steps of their quantization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.proof_results import ValueChange
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.proof.proven import ProvenModel, RunLevel
    from onnxlint_cmsis.fixers.proof.runner import Runner


SHARE = 1 / 255
"""Step of a value without a quantization, as a share of the range that is seen of it."""


class Affine(NamedTuple):
    """What integers mean: real = scale * (integer - zero point)."""

    scale: float
    """Scale."""
    zero_point: int
    """Zero-point."""


class Watched(NamedTuple):
    """A value of both models."""

    name: str
    """Name in the first model, for reports."""
    new_name: str
    """Name in the second one."""
    old: Affine | None
    """Quantization in the first model; None where it has none or is not known."""
    new: Affine | None
    """Quantization in the second model; None where it has none or is not known."""


def changes(runner: Runner, new: ProvenModel, watched: Sequence[Watched], count: int) -> tuple[ValueChange, ...]:
    """The largest change of each value over so many inputs. Raises RuntimeRefusalError.

    Measured without the runtime's optimisers, and for outputs also as the runtime is shipped: some fused kernels of
    ONNX Runtime are a step off what the file says (its Softmax of integers reads a table).
    """
    plain = _measured(runner, new, watched, count, runner.model.plain_level)
    outputs = {name for name, _ in runner.session(runner.model.plain_level).outputs}
    handed_out = [value for value in watched if value.name == value.new_name and value.name in outputs]
    shipped = _measured(runner, new, handed_out, count, runner.model.shipped_level)
    steps = {change.value: change.steps for change in shipped}
    return tuple(change._replace(shipped_steps=steps.get(change.value)) for change in plain)


def _measured(
    runner: Runner, new: ProvenModel, watched: Sequence[Watched], count: int, level: RunLevel
) -> tuple[ValueChange, ...]:
    extents = [_Extent(value) for value in watched]
    names, new_names = [value.name for value in watched], [value.new_name for value in watched]
    before, after = runner.model.session(level, names), new.session(level, new_names)
    for feed in runner.feeds(range(count)):
        pairs = zip(extents, before.run(feed, names), after.run(feed, new_names), strict=True)
        for extent, old, changed in pairs:
            extent.add(old, changed)
    return tuple(extent.change() for extent in extents)


class _Extent:
    """The largest change of one value so far."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._largest = 0.0
        self._low, self._high = 0.0, 0.0

    def add(self, old: Any, new: Any) -> None:
        """Take note of the value in one run of each model."""
        before, after = _reals(old, self._watched.old), _reals(new, self._watched.new)
        if before is None or after is None or before.shape != after.shape:
            self._largest = float("inf")
            return
        equal = (before == after) | (np.isnan(before) & np.isnan(after))
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.where(equal, 0.0, np.abs(before - after))
        self._largest = max(self._largest, float(np.where(np.isnan(apart), np.inf, apart).max(initial=0)))
        finite = before[np.isfinite(before)]
        self._low = min(self._low, float(finite.min(initial=0)))
        self._high = max(self._high, float(finite.max(initial=0)))

    def change(self) -> ValueChange:
        """What was seen."""
        scales = [affine.scale for affine in (self._watched.old, self._watched.new) if affine is not None]
        step = max(scales, default=(self._high - self._low) * SHARE)
        steps = self._largest / step if step else self._largest and float("inf")
        return ValueChange(self._watched.name, self._largest, step, steps)


def _reals(value: Any, affine: Affine | None) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Real numbers of a value; None for one that has none."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        return None
    reals = value.astype(np.float64)
    return (reals - affine.zero_point) * affine.scale if affine is not None and value.dtype.kind in "iu" else reals
