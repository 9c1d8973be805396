"""Tensors and operators by where a file has them."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class TensorPlace(NamedTuple):
    """A tensor by where the file has it."""

    subgraph: int
    """Subgraph."""
    number: int
    """Tensor of the subgraph."""


class OperatorPlace(NamedTuple):
    """An operator by where the file has it before all edits."""

    subgraph: int
    """Subgraph."""
    number: int
    """Operator of the subgraph."""
