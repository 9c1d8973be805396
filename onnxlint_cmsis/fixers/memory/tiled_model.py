"""A model with the channel tiles that make it fit RAM, or take the least arena, written and proven."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.analysis.arena_ways import PLAN
from onnxlint_cmsis.analysis.certificate.verifying import ROW_NUMBERS, certificate_of
from onnxlint_cmsis.analysis.proof_results import Proof
from onnxlint_cmsis.fixers.attempt import NOT_KNOWN_EQUAL, prover_of
from onnxlint_cmsis.fixers.memory.fitting import Fit
from onnxlint_cmsis.fixers.memory.least_arena import search_of
from onnxlint_cmsis.fixers.memory.newly_met import newly_met
from onnxlint_cmsis.fixers.memory.tiled_file import tiled
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.policies import POLICIES
from onnxlint_cmsis.fixers.proof.prove import BESIDE
from onnxlint_cmsis.fixers.snapshot import Snapshot
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.interpretation import Interpretation
from onnxlint_cmsis.runtimes.tflm.resolver import more_methods


class LeastArena(NamedTuple):
    """The least arena that was found, which tiles and a memory plan reach."""

    sizes: Mapping[str, int]
    """Bytes to write on each target, by label."""
    tiles: tuple[str, ...]
    """Layers in groups, as clauses behind `with`."""
    planned: bool
    """Whether a memory plan goes with them."""
    written: bool
    """Whether a fix writes it; not where it fits some targets and not all."""
    limit: str | None
    """Why no less was found, as a clause; None where no layer is at the peak."""

    @property
    def ways(self) -> tuple[str, ...]:
        """What reaches it, as clauses behind `with`; none for a model as it is."""
        return (*self.tiles, *([PLAN] if self.planned else []))

    @property
    def text(self) -> str:
        """`with 2 groups of channels in CONV_2D#2..DEPTHWISE_CONV_2D#3 and a memory plan it needs 73,584 bytes`."""
        needs = f"it needs {max(self.sizes.values()):,} bytes"
        return f"with {' and '.join(self.ways)} {needs}" if self.ways else needs


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
    least: LeastArena | None = None
    """The least that was found; None where no arena is known."""


def fitted_model(state: Snapshot) -> TiledModel:
    """The model with the fewest tiles that make it fit the RAM that was named, or with the least arena.

    Raises NotAppliedError, ModelError.
    """
    interpretation, rooms = state.analysis.execution, state.request.analysis.rooms_of_ram
    if not isinstance(interpretation, Interpretation):
        return TiledModel(state)
    search = search_of(state, interpretation)
    fit = search.best()
    over = not POLICIES[state.request.options.policy].least_arena and fit.over(rooms) > 0
    if not fit.sizes:
        return TiledModel(state)
    labels = [target.label for target in state.request.analysis.targets]
    sizes = dict(zip(labels, fit.sizes, strict=True))
    least = LeastArena(sizes, fit.parts(interpretation.file), fit.planned, not over, search.limit(fit))
    if not fit.tiles:
        return TiledModel(state, notes=_over_notes(least) if over else (), least=least)
    new = state.followed(tiled(state.path, state.data, fit.tiles), Plan({}))
    _check_drafted(fit, new)
    trouble, proof = _trouble(state, new)
    if trouble:
        return TiledModel(state, notes=(f"{least.text}, but {trouble}",))
    if over:
        return TiledModel(state, notes=_over_notes(least), least=least)
    more = more_methods(interpretation.resolver, new.analysis.execution.resolver)
    registers = f"the application has to register {' and '.join(more)} besides"
    added = tuple(
        f"{segment.label(interpretation.file)} in {len(ends)} {segment.parts}, joined by a CONCATENATION"
        for segment, ends in fit.tiles.items()
    )
    return TiledModel(new, added, (registers,) if more else (), proof, least)


def _over_notes(least: LeastArena) -> tuple[str, ...]:
    return (f"it does not fit: {least.text}, the least that was found{f'; {least.limit}' if least.limit else ''}",)


def _trouble(old: Snapshot, new: Snapshot) -> tuple[str | None, Proof | None]:
    """Why the new model may not take the place of the old one, as a clause, or None; how they were compared."""
    if met := newly_met(old.analysis, new.analysis):
        return met, None
    if certificate_of(old.analysis, new.analysis, ROW_NUMBERS) is None:
        return NOT_KNOWN_EQUAL, None
    if not old.request.compared:
        return None, None
    proof, _ = prover_of(old).prove(new.data, inputs=BESIDE)
    if not proof.equal and proof.ran:
        return f"it is not proven that the outputs would stay: {proof.reason}", None
    if not proof.equal:
        return None, None
    return None, proof


def _check_drafted(fit: Fit, new: Snapshot) -> None:
    """Raise NotAppliedError where the file that was written takes another arena than its draft."""
    interpretation = new.analysis.execution
    written = interpretation.arenas_of(interpretation.file) if isinstance(interpretation, Interpretation) else ()
    if [arena.tail for arena in written] != [arena.tail for arena in fit.arenas]:
        raise NotAppliedError("the arena of the file that was written is not what was planned")
