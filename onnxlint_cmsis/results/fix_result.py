"""Result of fixing one model, as plain data for every reporter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.results.proof_result import Proof, ValueChange


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
    """Sizes before; null for a new one."""
    new_shape: tuple[int, ...] | None
    """Sizes after; null for one that goes."""
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
    """Largest change seen of an output or of the layer's result, in its steps; null for a repair that is exact."""


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
    """CPU that the instructions of loops were measured on; the release too, where it is not the target's."""
    instructions: int
    """Predicted instructions before, of the layers whose cost is known before and after."""
    new_instructions: int
    """The same layers after."""
    repair_price: int
    """Instructions that stepping around hazards alone adds."""
    unknown: int
    """Layers whose cost is not known before or after, and that take no part in either sum."""
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
    """Before."""
    after: int
    """After."""


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
    """Layers that no repair rewrites, each with the reason."""
    locked: tuple[Locked, ...] = ()
    """LOCKED classes of interest, largest possible gain first."""
    left: tuple[SkippedClass, ...] = ()
    """Classes that stay although the policy would change them, each with the reason."""
    macs: Numbers = Numbers(0, 0)
    """Multiply-accumulates of the layers where they are known."""
    bytes: Numbers = Numbers(0, 0)
    """Bytes of the file."""
    added: tuple[str, ...] = ()
    """Nodes that were added, as clauses."""
    notes: tuple[str, ...] = ()
    """What else happens when the file is replaced, and searches that ended early, as clauses."""
    changes: tuple[ValueChange, ...] = ()
    """Values that inexact repairs change, with the largest change seen; the proof is of all other changes."""
    proof: Proof | None = None
    """How the new model was compared with the old one."""
