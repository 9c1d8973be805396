"""Result of comparing two models, as plain data."""

from __future__ import annotations

from onnxlint_cmsis.named_tuples import NamedTuple


class IfBranch(NamedTuple):
    """A branch of an If in the main graph that differs between two models."""

    node: str
    """Name of the node, or of what it makes."""
    condition: str
    """Tensor that decides."""
    wanted: bool
    """Its value for this branch."""


class Difference(NamedTuple):
    """How far one output of the two models is apart."""

    output: str
    """Name."""
    elem_type: str
    """Type as the runtime names it: `tensor(int8)`."""
    largest: float
    """Largest absolute difference over all inputs; infinite where only one is NaN, or shapes differ."""
    relative: float
    """The same as a share of the output's range over all inputs, which includes 0."""


class ValueChange(NamedTuple):
    """How far a value is from what it was, where a fix is not exact."""

    value: str
    """An output of the model, or what a repaired layer writes."""
    largest: float
    """Largest change seen, as a real number."""
    step: float
    """Scale of its quantization, the larger one of before and after; a 255th of its range where it has none."""
    steps: float
    """The change in steps."""


class Proof(NamedTuple):
    """Result of comparing two models."""

    equal: bool
    """Whether the second may take the first one's place."""
    reason: str
    """Why not, empty where it may."""
    ran: bool
    """Whether the runtime runs the first model, and twice the same; if not, nothing is said of the second."""
    differences: tuple[Difference, ...]
    """Each output of the model, in order, at the default level."""
    inputs: int
    """Inputs tried."""
    inner: int = 0
    """Values inside the model that were compared as well."""
    unreached: tuple[IfBranch, ...] = ()
    """Branches of If that the change reaches into and no input leads into."""
    written: bool = False
    """Whether outputs are the same with ONNX Runtime's optimisers off, while it computes otherwise with them on, as it
    has other kernels for int8 than for uint8."""
    runtime: str = "ONNX Runtime"
    """What ran both models."""
