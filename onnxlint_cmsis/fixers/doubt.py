"""Constants of the lane analysis held against what ONNX Runtime computes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.runtime import whole
from onnxlint_cmsis.fixers.verify import observe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.analysis import Place
    from onnxlint_cmsis.fixers.state import State
    from onnxlint_cmsis.planning.plan_model import Survey

CLOSE = 1e-5
"""Relative difference of real values that rounding may make; integers have to be equal."""


def disproved(state: State, found: Survey) -> set[Place]:
    """Places of the classes to cut whose value differs from the constant that the analysis gives.

    One random input, optimisation off; empty where the model does not run or nothing is cut.
    """
    if found.lanes is None:
        return set()
    places = _places(state, found)
    if not places:
        return set()
    model = whole(state.data, Path(state.path))
    values = observe(model, [tensor for tensor, _ in places], input_shapes=state.request.input_shapes)
    wrong: set[Place] = set()
    for tensor, axis in places:
        if tensor in values and values[tensor].ndim > axis:
            expected = found.lanes.constants_of(tensor, axis)
            lines = np.moveaxis(values[tensor], axis, 0).reshape(values[tensor].shape[axis], -1)
            wrong.update((tensor, axis, index) for index in _differing(lines, expected))
    return wrong


def _places(state: State, found: Survey) -> list[tuple[str, int]]:
    """Run-time tensors and axes of the classes to cut."""
    classes = state.dimensions.classes
    cut = [classes[leaf] for leaf, want in found.decision.sizes.items() if want < classes[leaf].size]
    return [member for group in cut for member in group.members if member[0] in state.graph.producers]


def _differing(lines: NDArray[np.generic], expected: NDArray[np.float64]) -> list[int]:
    """Indices that do not hold their constant throughout."""
    found = []
    for index in np.flatnonzero(~np.isnan(expected)):
        line = lines[index].astype(np.float64)
        allowed = CLOSE * max(1.0, abs(expected[index])) if lines.dtype.kind == "f" else 0.0
        if line.size and np.abs(line - expected[index]).max() > allowed:
            found.append(int(index))
    return found
