"""Result of comparing two models, as plain data."""

from __future__ import annotations

from onnxlint_cmsis.named_tuples import NamedTuple

LITERT = "LiteRT"
"""Runtime of proofs of `.tflite` files, with its reference kernels: they compute what TensorFlow Lite Micro does."""


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
    apart: int = 0
    """Values that differ, over all inputs."""
    values: int = 0
    """Values compared."""


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
    shipped_steps: float | None = None
    """The change in steps of an output with the optimisers that ONNX Runtime is shipped with; the other numbers are
    those with its optimisers off. Null for a value inside the model."""


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
    """Inputs tried; of a proof as the file is written those with the optimisers off."""
    inner: int = 0
    """Values inside the model that were compared as well."""
    unreached: tuple[IfBranch, ...] = ()
    """Branches of If that the change reaches into and no input leads into."""
    written: int = 0
    """Inputs on which `differences` were measured with ONNX Runtime's default optimisers, where outputs were proven
    equal with them off: a fix changes the type of integers, for which it has other kernels. 0 for any other proof."""
    runtime: str = "ONNX Runtime"
    """What ran both models."""


def shipped_text(proof: Proof) -> str:
    """How far outputs are apart with the optimisers that the runtime is shipped with; empty where they are not."""
    apart = [one for one in proof.differences if one.apart] if proof.written else []
    if not apart:
        return ""
    worst = max(apart, key=lambda one: one.relative)
    count = f"{sum(one.apart for one in apart):,} of {sum(one.values for one in proof.differences):,} values differ"
    return (
        f"with the optimisers that {proof.runtime} is shipped with {count} on {proof.written} inputs, "
        f"by at most {worst.largest:.2g}, {worst.relative:.1g} of the range of '{worst.output}'"
    )
