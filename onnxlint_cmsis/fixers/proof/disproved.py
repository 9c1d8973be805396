"""Constants of the lane analysis that a run of the model disproves."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.analysis.analysis import TensorIndex
from onnxlint_cmsis.analysis.lanes import Lanes
from onnxlint_cmsis.fixers.proof.bounds import CLOSE
from onnxlint_cmsis.fixers.proof.inputs import UnfedError
from onnxlint_cmsis.fixers.proof.proven import Array, ProvenModel, RuntimeRefusalError
from onnxlint_cmsis.fixers.proof.runner import RANDOM, Runner
from onnxlint_cmsis.ground.types import InputShapes


def values_inside(
    model: ProvenModel, names: Sequence[str], *, seed: int = 0, input_shapes: InputShapes | None = None
) -> dict[str, Array]:
    """Run-time values of named tensors of the main graph for one random input, with optimisation off.

    Empty where the model does not run; names that are no tensors of the main graph are left out.
    """
    computed = {*model.computed()}
    chosen = [name for name in dict.fromkeys(names) if name in computed]
    if not chosen:
        return {}
    try:
        runner = Runner(model, seed, input_shapes or {}, model.plain_level, chosen, tried=(RANDOM,))
        values = runner.session(model.plain_level).run(runner.feed(RANDOM), chosen)
    except (UnfedError, RuntimeRefusalError):
        return {}
    return dict(zip(chosen, values, strict=True))


def disproved(
    model: ProvenModel, input_shapes: InputShapes, lanes: Lanes, axes: Collection[tuple[str, int]]
) -> frozenset[TensorIndex]:
    """Places whose run-time value differs from the constant that the analysis gives.

    `axes` are (tensor, axis) to look at. One random input, optimisation off; empty where the model does not run.
    """
    values = values_inside(model, [tensor for tensor, _ in axes], input_shapes=input_shapes)
    wrong: set[TensorIndex] = set()
    for tensor, axis in axes:
        if tensor in values and values[tensor].ndim > axis:
            expected = lanes.constants_of(tensor, axis)
            lines = np.moveaxis(values[tensor], axis, 0).reshape(values[tensor].shape[axis], -1)
            wrong.update((tensor, axis, index) for index in _differing(lines, expected))
    return frozenset(wrong)


def _differing(lines: NDArray[np.generic], expected: NDArray[np.float64]) -> list[int]:
    """Indices that do not hold their constant throughout."""
    indices = []
    for index in np.flatnonzero(~np.isnan(expected)):
        line = lines[index].astype(np.float64)
        allowed = CLOSE * max(1.0, abs(expected[index])) if lines.dtype.kind == "f" else 0.0
        if line.size and np.abs(line - expected[index]).max() > allowed:
            indices.append(int(index))
    return indices
