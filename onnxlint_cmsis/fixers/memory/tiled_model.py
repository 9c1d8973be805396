"""A model with the channel tiles that make it fit RAM, or take the least arena, written and proven."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.certified import certificate_of
from onnxlint_cmsis.fixers.attempt import prover_of
from onnxlint_cmsis.fixers.memory.channel_tiles import tiled
from onnxlint_cmsis.fixers.memory.fitting import Search
from onnxlint_cmsis.fixers.memory.least_arena import least_arena
from onnxlint_cmsis.fixers.memory.newly_met import newly_met
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.policies import POLICIES
from onnxlint_cmsis.fixers.proof.prove import BESIDE
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.interpretation import Interpretation

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.proof_results import Proof
    from onnxlint_cmsis.fixers.memory.fitting import Fit
    from onnxlint_cmsis.fixers.snapshot import Snapshot
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel


class TiledModel(NamedTuple):
    """What came of fitting a model."""

    state: Snapshot
    """The model with tiles; the one that was given where there are none."""
    added: tuple[str, ...] = ()
    """What was added, as clauses."""
    notes: tuple[str, ...] = ()
    """What the application has to do, or how much the least is that does not fit, as clauses."""
    proof: Proof | None = None
    """How outputs were compared; None where nothing changed, or no runtime takes the file as it was."""


def fitted_model(state: Snapshot) -> TiledModel:
    """The model with the fewest tiles that make it fit the RAM that was named, or with the least arena.

    Raises NotAppliedError, ModelError.
    """
    interpretation, rooms = state.analysis.execution, state.request.analysis.rooms_of_ram
    if not isinstance(interpretation, Interpretation):
        return TiledModel(state)
    if POLICIES[state.request.options.policy].least_arena:
        fit = least_arena(state, interpretation)
    else:
        fit = Search(interpretation.file, interpretation.arenas_of, rooms).best()
        if fit.sizes and fit.over(rooms) > 0:
            return TiledModel(state, notes=(f"it does not fit: {least_text(fit, interpretation.file)}",))
    if not fit.sizes or not fit.tiles:
        return TiledModel(state)
    new = state.followed(tiled(state.path, state.data, fit.tiles), Plan({}))
    _check_drafted(fit, new)
    trouble, proof = _trouble(state, new)
    if trouble:
        return TiledModel(
            state,
            notes=(
                f"it would take {max(fit.sizes):,} bytes with {tiles_text(fit, interpretation.file)}, but {trouble}",
            ),
        )
    registers = f"the application has to register {' and '.join(more_methods(state, new))} besides"
    added = tuple(
        f"{segment.label(interpretation.file)} in {len(ends)} groups of channels, joined by a CONCATENATION"
        for segment, ends in fit.tiles.items()
    )
    return TiledModel(new, added, (registers,) if more_methods(state, new) else (), proof)


def tiles_text(fit: Fit, model: TfliteModel) -> str:
    """`2 groups of channels in CONV_2D#2..DEPTHWISE_CONV_2D#3 and a memory plan`."""
    tiles = (f"{len(ends)} groups of channels in {segment.label(model)}" for segment, ends in fit.tiles.items())
    return " and ".join([*tiles, "a memory plan"])


def least_text(fit: Fit, model: TfliteModel) -> str:
    """What the model takes at least, as a clause."""
    return f"with {tiles_text(fit, model)} it needs {max(fit.sizes):,} bytes, the least that was found"


def more_methods(old: Snapshot, new: Snapshot) -> list[str]:
    """What the application has to register for the new model alone: `AddConcatenation()`."""
    sides = [state.analysis.execution.resolver for state in (old, new)]
    had, has = ([registration.method for registration in side.operators] if side else [] for side in sides)
    return [f"{method}()" for method in has if method not in had]


def _trouble(old: Snapshot, new: Snapshot) -> tuple[str, Proof | None]:
    """Why the new model may not take the place of the old one, as a clause; how they were compared."""
    if met := newly_met(old.analysis, new.analysis):
        return met, None
    if certificate_of(old.analysis, new.analysis) is None:
        return "its outputs are not known to be equal for every input", None
    proof, _ = prover_of(old).prove(new.data, inputs=BESIDE)
    if not proof.equal and proof.ran:
        return f"it is not proven that the outputs would stay: {proof.reason}", None
    if not proof.equal:
        return "", None
    return "", proof


def _check_drafted(fit: Fit, new: Snapshot) -> None:
    """Raise NotAppliedError where the file that was written takes another arena than its draft."""
    interpretation = new.analysis.execution
    written = interpretation.arenas_of(interpretation.file) if isinstance(interpretation, Interpretation) else ()
    if [arena.tail for arena in written] != [arena.tail for arena in fit.arenas]:
        raise NotAppliedError("the arena of the file that was written is not what was planned")
