"""The result of comparing two models, as plain data."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple

LITERT = "LiteRT"
"""Runtime of proofs of `.tflite` files, with its reference kernels: they compute what TensorFlow Lite Micro does."""


class IfBranch(NamedTuple):
    """A branch of an If in the main graph that differs between two models."""

    node: str
    """Node, or what it makes."""
    condition: str
    """Tensor that decides."""
    wanted: bool
    """Its value for this branch."""


class Difference(NamedTuple):
    """How far one output of the two models is apart."""

    output: str
    """Name."""
    elem_type: str
    """Type, such as `tensor(int8)`."""
    largest: float
    """Largest absolute difference; infinite where only one is NaN, or shapes differ."""
    relative: float
    """The same as a share of the output's range, 0 counted in."""
    apart: int = 0
    """Values that differ."""
    values: int = 0
    """Values compared."""


class ValueChange(NamedTuple):
    """How far a value is from what it was, where a fix is not exact."""

    value: str
    """An output of the model, or what a repaired layer writes."""
    largest: float
    """Largest change seen, as a real number."""
    step: float
    """Larger of both scales; a 255th of the range of a value without one."""
    steps: float
    """The change in steps."""
    shipped_steps: float | None = None
    """The same with ONNX Runtime's default optimisers, off otherwise; null inside the model."""
    bound: float | None = None
    """The largest change that any input can make, in real numbers that are rounded where the file quantizes; null where
    no bound is known."""


class Proof(NamedTuple):
    """Result of comparing two models."""

    equal: bool
    """Whether the new model may take the old one's place."""
    reason: str
    """Why not, empty where it may."""
    ran: bool
    """Whether the runtime runs the old model, twice the same."""
    differences: tuple[Difference, ...]
    """Each output of the model, in order, at the default level, over all inputs."""
    inputs: int
    """Inputs tried, without optimisers where there is `written`."""
    inner: int = 0
    """Values inside the model that were compared."""
    unreached: tuple[IfBranch, ...] = ()
    """Changed branches of If that no input leads into."""
    written: int = 0
    """Inputs tried with ONNX Runtime's default optimisers, where outputs are equal without them; else 0."""
    runtime: str = "ONNX Runtime"
    """What ran both models."""
    every_input: bool = False
    """Whether the outputs are equal for every input, in the integers of a device."""


def shipped_text(proof: Proof) -> str:
    """How far outputs are apart with the optimisers that the runtime is shipped with; empty where they are not."""
    apart = [difference for difference in proof.differences if difference.apart] if proof.written else []
    if not apart:
        return ""
    worst = max(apart, key=lambda difference: difference.relative)
    values = sum(difference.values for difference in proof.differences)
    count = f"{sum(difference.apart for difference in apart):,} of {values:,} values differ"
    return (
        f"with the optimisers that {proof.runtime} is shipped with {count} on {proof.written} inputs, "
        f"by at most {worst.largest:.2g}, {worst.relative:.1g} of the range of '{worst.output}'"
    )
