"""A model on its way through the steps of a fix, and the one loop that makes moves until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from onnxlint_cmsis.fixers.steps import Retyped, Rewritten, Step
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.proof_results import Proof, ValueChange
    from onnxlint_cmsis.fixers.planning.fits.row import RepairMade, RepairRow
    from onnxlint_cmsis.fixers.planning.repairable import RepairSite
    from onnxlint_cmsis.fixers.snapshot import Snapshot


MAX_ROUNDS = 8
"""Rounds of a move; each makes the model better, and two are the most that were ever needed."""


class RewrittenLayer(NamedTuple):
    """One layer that was rewritten."""

    row: RepairRow
    """The repair."""
    output: str
    """First output of the layer before."""
    label: str
    """The layer before, as messages name it."""
    hazards: tuple[str, ...]
    """Names of the hazards that the repair answers."""
    repair: RepairMade
    """What was done."""
    instructions: tuple[int | None, ...]
    """Predicted instructions on each target before; None where unknown."""
    new_instructions: tuple[int | None, ...]
    """Predicted instructions of the layers that do the work now; None where that of a layer is unknown."""
    steps: float | None = None
    """Largest change of a value seen, in its steps; None for an exact repair."""

    @property
    def step(self) -> Rewritten:
        """The step of the fix that this is."""
        return repair_step(self.row, self.output)


def repair_step(row: RepairRow, output: str) -> Rewritten:
    """Name the step that a repair of a layer is; `output` is the layer's first output."""
    return Retyped(row.name, output) if row.as_written else Rewritten(row.name, output)


def step_of_site(site: RepairSite) -> Rewritten:
    """Name the step that repairs a layer."""
    return repair_step(site.row, site.record.node.outputs[0])


class Progress(NamedTuple):
    """A model after some steps of a fix."""

    state: Snapshot
    """The model; the same one where nothing was done."""
    layers: tuple[RewrittenLayer, ...] = ()
    """Layers that were rewritten, in the order in which it was done."""
    left: Mapping[Step, str] = {}
    """Steps that were needed and not taken, with the reason as a clause."""
    added: Mapping[Step, str] = {}
    """Inputs with an added Pad, each with a clause that describes it."""
    proof: Proof | None = None
    """The proof, of steps that are proven by themselves."""
    changes: tuple[ValueChange, ...] = ()
    """The largest change seen of each output of the model, and of each result of a layer whose scale changed."""

    def then(self, new: Progress) -> Progress:
        """Both together; `new` came after."""
        return new._replace(
            layers=(*self.layers, *new.layers), left={**self.left, **new.left}, added={**self.added, **new.added}
        )


class _HasState(Protocol):
    @property
    def state(self) -> Snapshot: ...


Moving = TypeVar("Moving", bound=_HasState)


def until_settled(moving: Moving, move: Callable[[Moving], Moving], rounds: int | None = MAX_ROUNDS) -> Moving:
    """Make a move until the model stays as it is, so many times at most; None for as often as it takes."""
    while rounds is None or rounds > 0:
        before, moving = moving.state, move(moving)
        if moving.state is before:
            break
        rounds = None if rounds is None else rounds - 1
    return moving
