"""The result of fixing one model, as plain data for every reporter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.certificate.facts import Certificate
    from onnxlint_cmsis.analysis.proof_results import Proof, ValueChange


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
    promised: int
    """Instructions by which the findings said that all sizes together change it; 0 where they named no size."""
    repair_price: int
    """Instructions that avoiding hazards adds, by sizes and by rewrites."""
    unknown: int
    """Layers of unknown cost, in neither sum."""
    unknown_layers: tuple[str, ...] = ()
    """Those layers."""
    rewrites: int = 0
    """Instructions that rewritten layers take more; those of unknown cost before or after are left out."""
    became_known: int = 0
    """Instructions that layers of unknown cost take after, of those whose cost is known then."""

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


class ModelPrice(NamedTuple):
    """What a whole model takes on one target, with reference code, copies and nodes that a repair adds."""

    instructions: tuple[int, int]
    """Least and most predicted instructions of the layers whose cost is known."""
    unknown: int
    """Layers of unknown cost, which the instructions leave out."""
    arena: int | None
    """Bytes of activations; None where a size is unknown."""
    flash: int
    """Bytes of constants, or of a file that is read on the device."""


class PriceChange(NamedTuple):
    """What a fix costs on one target."""

    target: str
    """Label."""
    before: ModelPrice
    """The model of the file."""
    after: ModelPrice
    """The fixed one."""


class MemoryChange(NamedTuple):
    """The arena of TensorFlow Lite Micro on one target, where a fix makes it smaller."""

    target: str
    """Label."""
    before: int
    """Bytes to write for the model of the file."""
    after: int
    """Bytes to write for the fixed one."""
    head: int
    """Bytes of its activations and scratch."""
    tail: int
    """Bytes that stay."""
    least: int
    """Bytes of head and tail below which no memory plan gets."""


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
    prices: tuple[PriceChange, ...] = ()
    """What the whole model takes before and after, for each target."""
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
    memory: tuple[MemoryChange, ...] = ()
    """The arena on each target, where the fix wrote a memory plan."""
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
