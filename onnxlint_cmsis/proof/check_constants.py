"""Check of the lane analysis's constants against the runtime."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.proof.proven_format import proven_model
from onnxlint_cmsis.proof.verify import values_inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.analysis import Place
    from onnxlint_cmsis.dims.lanes import Lanes
    from onnxlint_cmsis.types import InputShapes

CLOSE = 1e-5
"""Relative difference of real values that rounding may make; integers have to be equal."""


def disproved(
    model: bytes, path: str, input_shapes: InputShapes, lanes: Lanes, axes: Collection[tuple[str, int]]
) -> set[Place]:
    """Places whose run-time value differs from the constant that the analysis gives.

    `axes` are (tensor, axis) to look at; external data lie beside `path`. One random input, optimisation off; empty
    where the model does not run. Raises NotAppliedError for external data that cannot be read.
    """
    if not axes:
        return set()
    values = values_inside(proven_model(model, Path(path)), [tensor for tensor, _ in axes], input_shapes=input_shapes)
    wrong: set[Place] = set()
    for tensor, axis in axes:
        if tensor in values and values[tensor].ndim > axis:
            expected = lanes.constants_of(tensor, axis)
            lines = np.moveaxis(values[tensor], axis, 0).reshape(values[tensor].shape[axis], -1)
            wrong.update((tensor, axis, index) for index in _differing(lines, expected))
    return wrong


def _differing(lines: NDArray[np.generic], expected: NDArray[np.float64]) -> list[int]:
    """Indices that do not hold their constant throughout."""
    found = []
    for index in np.flatnonzero(~np.isnan(expected)):
        line = lines[index].astype(np.float64)
        allowed = CLOSE * max(1.0, abs(expected[index])) if lines.dtype.kind == "f" else 0.0
        if line.size and np.abs(line - expected[index]).max() > allowed:
            found.append(int(index))
    return found
