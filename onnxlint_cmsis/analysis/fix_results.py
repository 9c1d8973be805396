"""Results of comparing two models and of fixing one, as plain data for every output; a lint loads none of them."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple

# Result of comparing two models, as plain data.


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
    """Larger scale of the two; a 255th of the range of a value without one."""
    steps: float
    """The change in steps."""
    shipped_steps: float | None = None
    """The change in steps with ONNX Runtime's default optimisers; other numbers are without. Null inside the model."""


class Proof(NamedTuple):
    """Result of comparing two models."""

    equal: bool
    """Whether the second may take the first one's place."""
    reason: str
    """Why not, empty where it may."""
    ran: bool
    """Whether the runtime runs the first model, twice the same."""
    differences: tuple[Difference, ...]
    """Each output of the model, in order, at the default level."""
    inputs: int
    """Inputs tried; with `written`, those without optimisers."""
    inner: int = 0
    """Values inside the model that were compared as well."""
    unreached: tuple[IfBranch, ...] = ()
    """Branches of If that the change reaches into and no input leads into."""
    written: int = 0
    """Inputs of `differences` with ONNX Runtime's default optimisers, where outputs are equal without them; else 0."""
    runtime: str = "ONNX Runtime"
    """What ran both models."""
    every_input: bool = False
    """Whether the outputs are equal for every input, in the integers of a device; runs are a sample beside it."""


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
    """What is added to the products: the bias with the shares of constant lanes."""
    low: tuple[int, ...]
    """A bound of the sum: no input makes it less."""
    high: tuple[int, ...]
    """A bound of the sum: no input makes it more."""
    multiplier: tuple[int, ...]
    """Multiplier of the requantization, of 31 bits."""
    shift: tuple[int, ...]
    """Its shift: the factor is multiplier * 2**(shift - 31)."""
    zero_point: tuple[int, ...]
    """Zero-point that is added then; uint8 counts as int8, 128 less."""
    least: tuple[int, ...]
    """Least integer that the activation lets through."""
    most: tuple[int, ...]
    """Greatest integer that it lets through."""
    border: tuple[bool, ...]
    """Whether constant lanes have shares that padding takes off at the border, and that are not in the bias."""


class CertifiedTensor(NamedTuple):
    """A tensor of both files whose lanes, or the constants it is computed with, are others."""

    tensor: str
    """Name."""
    node: str
    """Node of the new file that makes it."""
    axis: int
    """Axis of the lanes."""
    before: int
    """Lanes before."""
    after: int
    """Lanes after."""
    lanes: tuple[int | None, ...]
    """For each lane of the new file the one of the old file that holds the same on every input; null for a new one."""
    gone: tuple[int, ...]
    """Lanes of the old file that the new one has not."""
    constants: tuple[int | None, ...]
    """For each of these the integer that it holds on every input; null where nothing that counts reads it."""
    sums: LaneSums | None
    """Sums behind the lanes of the new file, which are those of the old one; null where they are no sums."""
    gone_sums: LaneSums | None
    """Sums behind the lanes that are gone: a constant is what both bounds are rounded to."""


class Certificate(NamedTuple):
    """The facts by which two files are equal for every input."""

    old: str
    """SHA-256 of the old file."""
    new: str
    """SHA-256 of the new file."""
    tensors: tuple[CertifiedTensor, ...]
    """Tensors that changed, in the order of the nodes. All others have the same lanes."""


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
    """Layers whose weights have it along their outputs."""
    readers: tuple[str, ...]
    """Layers whose weights have it along their inputs."""
    constants: int
    """Lanes before that always held one value."""
    unread: int
    """Lanes before that no layer read."""

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
    """Predicted instructions on each target before; null where unknown."""
    new_instructions: tuple[int | None, ...]
    """Predicted instructions on each target after; null where unknown."""


class Repair(NamedTuple):
    """A known hazard that the new sizes step around."""

    layer: str
    """Node."""
    target: str
    """Label of the target."""
    hazard: str
    """Name of the hazard."""
    what: str
    """What happened, as a sentence."""


class Rewrite(NamedTuple):
    """A layer that was rewritten to step around known hazards."""

    layer: str
    """Node before."""
    repair: str
    """Name of the repair."""
    what: str
    """What was done, as a clause whose subject is the layer."""
    hazards: tuple[str, ...]
    """Names of the hazards that it answers."""
    instructions: tuple[int | None, ...]
    """Predicted instructions on each target before; null where unknown."""
    new_instructions: tuple[int | None, ...]
    """Predicted instructions on each target after, of all layers that do its work; null where one is unknown."""
    steps: float | None = None
    """Largest change seen, in steps; null for an exact repair."""


class SkippedRewrite(NamedTuple):
    """A layer with a known hazard that was not repaired."""

    layer: str
    """Node."""
    repair: str
    """Name of the repair."""
    reason: str
    """Why not, as a clause."""


class TargetTotal(NamedTuple):
    """The whole model on one target."""

    target: str
    """Label."""
    measured_on: str
    """CPU that loops were measured on, and the release where it is not the target's."""
    instructions: int
    """Predicted instructions before, of the layers of known cost."""
    new_instructions: int
    """The same layers after."""
    repair_price: int
    """Instructions that stepping around hazards alone adds."""
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
    """Size that would gain most; the present one where none gains."""
    gain: int
    """Instructions that this size would save, over all targets."""
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
    """Whether there is a new model, proven."""
    written: bool
    """Whether it took the old one's place."""
    reason: str
    """Why nothing changed; empty where something did."""
    failed: bool
    """Whether something that was planned could not be done."""
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
    """LOCKED classes of interest, largest possible gain first."""
    left: tuple[SkippedClass, ...] = ()
    """Classes that stay although the policy would change them."""
    macs: Numbers = Numbers(0, 0)
    """Multiply-accumulates of the layers where they are known."""
    bytes: Numbers = Numbers(0, 0)
    """Bytes of the file."""
    added: tuple[str, ...] = ()
    """Nodes that were added, as clauses."""
    notes: tuple[str, ...] = ()
    """What else happens when the file is replaced, and searches that ended early, as clauses."""
    changes: tuple[ValueChange, ...] = ()
    """Values that inexact repairs change; the proof is of all other changes."""
    proof: Proof | None = None
    """How the new model was compared with the old one."""
    certificate: Certificate | None = None
    """Why outputs are equal for every input; null where that is not known."""
