"""Results of comparing two models and of fixing one, as plain data for every output; a lint loads none of them."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple

# Result of comparing two models, as plain data.


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


# The certificate: why two files are equal for every input. docs/verify.md has the theorem.


class LaneSums(NamedTuple):
    """Sums that lanes are rounded from, a number for each lane."""

    bias: tuple[float, ...]
    """Bias with the shares of constant lanes."""
    low: tuple[int, ...]
    """No input makes the sum less."""
    high: tuple[int, ...]
    """No input makes the sum more."""
    multiplier: tuple[int, ...]
    """Multiplier of 31 bits."""
    shift: tuple[int, ...]
    """The factor is multiplier * 2**(shift - 31)."""
    zero_point: tuple[int, ...]
    """Zero-point; of uint8 128 less."""
    least: tuple[int, ...]
    """Least integer behind the activation."""
    most: tuple[int, ...]
    """Greatest one."""
    border: tuple[bool, ...]
    """Whether padding takes shares of constant lanes off at the border; the bias lacks these."""


class CertifiedTensor(NamedTuple):
    """A tensor of both files whose lanes, or the constants it is computed with, are others."""

    tensor: str
    """Name."""
    node: str
    """New node that makes it."""
    axis: int
    """Axis of the lanes."""
    before: int
    """Lanes before."""
    after: int
    """Lanes after."""
    lanes: tuple[int | None, ...]
    """For each new lane the old one that holds the same on every input; null where there is none."""
    gone: tuple[int, ...]
    """Old lanes that are no more."""
    constants: tuple[int | None, ...]
    """Integer that each of these holds on every input; null where nothing that counts reads it."""
    sums: LaneSums | None
    """Sums behind the new lanes, equal to the old ones; null where they are no sums."""
    gone_sums: LaneSums | None
    """Sums behind the lanes that are gone; both bounds round to the constant."""


class Certificate(NamedTuple):
    """The facts by which two files are equal for every input."""

    old: str
    """SHA-256 of the old file."""
    new: str
    """SHA-256 of the new file."""
    tensors: tuple[CertifiedTensor, ...]
    """Tensors that changed, in the order of the nodes."""


# Result of fixing one model, as plain data for every reporter.


class ClassChange(NamedTuple):
    """One class of channels that gets another size."""

    have: int
    """Lanes before."""
    want: int
    """Lanes after."""
    freedom: str
    """FREE or COUPLED."""
    deciders: tuple[str, ...]
    """Layers with it along the outputs of their weights."""
    readers: tuple[str, ...]
    """Layers with it along the inputs of their weights."""
    constants: int
    """Old lanes that always held one value."""
    unread: int
    """Old lanes that no layer read."""

    @property
    def what(self) -> str:
        """What happens to it: `padded` or `cut`."""
        return "padded" if self.want > self.have else "cut"


class TensorChange(NamedTuple):
    """One stored constant that gets another shape."""

    tensor: str
    """Name."""
    old_shape: tuple[int, ...] | None
    """Sizes before; null where there is none."""
    new_shape: tuple[int, ...] | None
    """Sizes after; null where there is none."""
    old_bytes: int
    """Bytes of values before."""
    new_bytes: int
    """Bytes of values after."""


class LayerChange(NamedTuple):
    """One layer before and after, on every target."""

    label: str
    """Node."""
    entry: str
    """Entry point of CMSIS-NN."""
    channels: tuple[int | None, int | None]
    """Input and output channels before."""
    new_channels: tuple[int | None, int | None]
    """Input and output channels after."""
    kernels: tuple[str, ...]
    """Kernel on each target before."""
    new_kernels: tuple[str, ...]
    """Kernel on each target after."""
    instructions: tuple[int | None, ...]
    """Instructions on each target before; null where unknown."""
    new_instructions: tuple[int | None, ...]
    """Instructions on each target after; null where unknown."""


class Repair(NamedTuple):
    """A known hazard that the new sizes step around."""

    layer: str
    """Node."""
    target: str
    """Target."""
    hazard: str
    """Hazard."""
    what: str
    """What happened, as a sentence."""


class Rewrite(NamedTuple):
    """A layer that was rewritten to step around known hazards."""

    layer: str
    """Node before."""
    repair: str
    """Repair."""
    what: str
    """What was done to the layer, as a clause."""
    hazards: tuple[str, ...]
    """Hazards that it answers."""
    instructions: tuple[int | None, ...]
    """Instructions on each target before; null where unknown."""
    new_instructions: tuple[int | None, ...]
    """Instructions on each target after, of all layers that do its work; null where one is unknown."""
    steps: float | None = None
    """Largest change seen, in steps; null for an exact repair."""


class SkippedRewrite(NamedTuple):
    """A layer with a known hazard that was not repaired."""

    layer: str
    """Node."""
    repair: str
    """Repair."""
    reason: str
    """Why not, as a clause."""


class TargetTotal(NamedTuple):
    """The whole model on one target."""

    target: str
    """Label."""
    measured_on: str
    """CPU, and release if another, on which loops were measured."""
    instructions: int
    """Instructions before, of layers of known cost."""
    new_instructions: int
    """The same layers after."""
    repair_price: int
    """Instructions that avoiding hazards adds."""
    unknown: int
    """Layers of unknown cost, in neither sum."""
    unknown_layers: tuple[str, ...] = ()
    """Those layers."""

    @property
    def percent(self) -> float:
        """Change in percent; negative is fewer."""
        return 100 * (self.new_instructions - self.instructions) / self.instructions if self.instructions else 0.0


class Locked(NamedTuple):
    """A LOCKED class and its gain if it were free."""

    size: int
    """Lanes."""
    want: int
    """Lanes that would gain most; the present ones where none gain."""
    gain: int
    """Instructions that this would save, over all targets."""
    layers: tuple[str, ...]
    """Layers that decide or read it."""
    reason: str
    """Why it may not change."""


class SkippedClass(NamedTuple):
    """A class that the policy would change and that stays."""

    have: int
    """Lanes."""
    want: int
    """Lanes that it would get."""
    layers: tuple[str, ...]
    """Layers that decide or read it."""
    reason: str
    """Why it stays, as a clause."""


class Numbers(NamedTuple):
    """A count before and after."""

    before: int
    """Count before."""
    after: int
    """Count after."""


class FixResult(NamedTuple):
    """Changes made or proposed to one model."""

    policy: str
    """Value of `fix-policy`."""
    changed: bool
    """Whether there is a proven new model."""
    written: bool
    """Whether it took the old one's place."""
    reason: str
    """Why nothing changed; empty where something did."""
    failed: bool
    """Whether something planned could not be done."""
    classes: tuple[ClassChange, ...] = ()
    """Classes that change."""
    tensors: tuple[TensorChange, ...] = ()
    """Constants that change."""
    layers: tuple[LayerChange, ...] = ()
    """Layers that change."""
    totals: tuple[TargetTotal, ...] = ()
    """The whole model on each target."""
    repairs: tuple[Repair, ...] = ()
    """Hazards that go away."""
    rewrites: tuple[Rewrite, ...] = ()
    """Layers that are rewritten."""
    unrewritten: tuple[SkippedRewrite, ...] = ()
    """Layers that no repair rewrites."""
    locked: tuple[Locked, ...] = ()
    """LOCKED classes, largest possible gain first."""
    left: tuple[SkippedClass, ...] = ()
    """Classes that the policy would change, and that stay."""
    macs: Numbers = Numbers(0, 0)
    """Known multiply-accumulates."""
    bytes: Numbers = Numbers(0, 0)
    """Bytes of the file."""
    added: tuple[str, ...] = ()
    """Nodes that were added, as clauses."""
    notes: tuple[str, ...] = ()
    """What else happens to the file, and searches that ended early, as clauses."""
    changes: tuple[ValueChange, ...] = ()
    """Values that inexact repairs change; the proof is of all else."""
    proof: Proof | None = None
    """How the new model was compared with the old one."""
    certificate: Certificate | None = None
    """Why outputs are equal for every input; null where that is not known."""
