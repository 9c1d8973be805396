"""Prove that two models compute the same, and look at values inside one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.types import Size

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

InputShapes = Mapping[str, tuple[Size, ...]]
"""Sizes of inputs by name, None for one that stays symbolic (`--input-shape`)."""


class Difference(NamedTuple):
    """How far one output of the two models is apart."""

    output: str
    """Name."""
    elem_type: str
    """Element type as ONNX Runtime names it: `tensor(int8)`."""
    largest: float
    """Largest absolute difference over all inputs."""
    relative: float
    """The same as a share of the output's range, which includes 0."""


class Proof(NamedTuple):
    """What came of comparing two models."""

    equal: bool
    """Whether the second may take the first one's place."""
    reason: str
    """Why not, empty where it may."""
    ran: bool
    """Whether ONNX Runtime could run the first model at all; if not, nothing is said of the second."""
    differences: tuple[Difference, ...]
    """Each output, in order."""
    inputs: int
    """Inputs tried."""


def prove(
    before: bytes | Path,
    after: bytes | Path,
    *,
    seed: int = 0,
    inputs: int = 16,
    input_shapes: InputShapes | None = None,
) -> Proof:
    """Compare a model with the one that is to replace it: checker, shape inference, interface, ONNX Runtime."""
    raise NotImplementedError


def observe(
    model: bytes | Path, names: Sequence[str], *, seed: int = 0, input_shapes: InputShapes | None = None
) -> dict[str, npt.NDArray[np.generic]]:
    """Run-time values of named tensors of the main graph for one random input; empty where the model does not run."""
    raise NotImplementedError
