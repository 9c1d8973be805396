"""A memory plan written into a `.tflite` file, behind all other changes."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.certificate.verifying import ROW_NUMBERS, certificate_of
from onnxlint_cmsis.analysis.fit import device_fits
from onnxlint_cmsis.analysis.fix_results import MemoryChange, Numbers, TargetTotal
from onnxlint_cmsis.checks.exact_fit import CONVERT
from onnxlint_cmsis.checks.fix_actions import PLAN
from onnxlint_cmsis.checks.rule_registry import codes_of
from onnxlint_cmsis.fixers.differences import price_changes
from onnxlint_cmsis.fixers.memory.least_arena import instructions_on_targets
from onnxlint_cmsis.fixers.memory.tiled_model import TiledModel, fitted_model
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.policies import POLICIES, plans_memory
from onnxlint_cmsis.fixers.report import Fixed
from onnxlint_cmsis.fixers.snapshot import Snapshot
from onnxlint_cmsis.formats.tflite.edit import TfliteEdit
from onnxlint_cmsis.formats.tflite.memory_plan import stated_plan
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.runtimes.tflm.free_plan import least_head
from onnxlint_cmsis.runtimes.tflm.interpretation import Interpretation
from onnxlint_cmsis.runtimes.tflm.stated_plans import plan_faults

(RULE,) = codes_of(PLAN)
NO_ARENA = "smaller lays out the arena of a .tflite file on TensorFlow Lite Micro alone; no plan and no tiles here"
DROPPED = "the memory plan of the file went, as it was made for other tensors or is wrong"


def with_memory_plan(start: Snapshot, fixed: Fixed) -> Fixed:
    """What came of fixing, with tiles and a memory plan where that is asked for, or the file had a plan, and it gains.

    The graph stays as it is, so that the certificate alone proves it. Raises NotAppliedError.
    """
    end = fixed.end
    if end is None or fixed.result.failed:
        return fixed
    options = start.request.options
    least = POLICIES[options.policy].least_arena
    if not isinstance(end.analysis.execution, Interpretation):
        notes = (*fixed.result.notes, *_notes_without_arena(end, least=least))
        return fixed._replace(result=fixed.result._replace(notes=notes))
    had = _had_plan(start)
    asked = plans_memory(options.policy, start.request.analysis.rooms) and start.request.plans(RULE)
    right = _without_wrong_plan(end) if asked else end
    cut = fitted_model(right) if asked else TiledModel(end)
    planned = planned_model(cut.state) if asked or (had and end.data != start.data) else None
    notes = (*fixed.result.notes, *cut.notes)
    if planned is None and had and cut.state.data != start.data:
        notes = (*notes, DROPPED)
    new = planned or cut.state
    if new is end:
        if least and asked and not cut.notes:
            why = f": {cut.least.limit}" if cut.least and cut.least.limit else ""
            notes = (*notes, f"no memory plan and no tiles within {options.most_instructions:g} % take less arena{why}")
        return fixed._replace(result=fixed.result._replace(notes=notes), least=cut.least)
    asked_for = start.request.compared  # a plan alone needs no proof, and parts have theirs
    certificate = certificate_of(start.analysis, new.analysis, ROW_NUMBERS) if asked_for else None
    proof = fixed.result.proof or cut.proof
    macs = fixed.result.macs
    result = fixed.result._replace(
        changed=True,
        macs=macs._replace(after=macs.after + _macs(new) - _macs(end)),
        reason="",
        notes=notes,
        added=(*fixed.result.added, *cut.added),
        memory=tuple(memory_changes(start, new)),
        prices=tuple(price_changes(start, new)),
        totals=tuple(_with_tiles(fixed.result.totals, end, new)),
        bytes=Numbers(len(start.data), len(new.data)),
        proof=proof and proof._replace(every_input=certificate is not None),
        certificate=certificate,
    )
    return Fixed(result, new.data, new, cut.least)


def _notes_without_arena(end: Snapshot, *, least: bool) -> Iterator[str]:
    """What is said of a model that no plan and no parts are made of, as clauses."""
    if least:
        yield NO_ARENA
    needs = [fit.ram for fit in device_fits(end.analysis) if fit.ram and fit.ram.converted]
    if not all(need.fits for need in needs):
        yield f"it does not fit: {CONVERT}"


def _macs(state: Snapshot) -> int:
    return sum(layer.macs or 0 for layer in state.lowered.layers)


def _with_tiles(totals: tuple[TargetTotal, ...], before: Snapshot, after: Snapshot) -> Iterator[TargetTotal]:
    """Sums of predicted instructions with what tiles add to them."""
    for total, had, has in zip(totals, instructions_on_targets(before), instructions_on_targets(after), strict=False):
        yield total._replace(new_instructions=total.new_instructions + has - had)


def planned_model(state: Snapshot) -> Snapshot | None:
    """The model with the best plan that is found; None where none gains. Raises NotAppliedError."""
    execution = state.analysis.execution
    plan = execution.free_plan if isinstance(execution, Interpretation) else None
    if plan is None:
        return None
    edit = TfliteEdit(state.path, state.data)
    edit.set_plan(plan.offsets)
    new = state.followed(edit.data(), Plan({}))
    written = new.analysis.execution
    if not isinstance(written, Interpretation) or next(plan_faults(written.file), None) is not None:
        raise NotAppliedError("the memory plan that was written is not what was planned")
    arenas = [written.arena(target) for target in written.planned_targets]
    if [arena and arena.head for arena in arenas] != [arena.head for arena in plan.arenas]:
        raise NotAppliedError("the arena of the file that was written is not what was planned")
    return new


def memory_changes(start: Snapshot, end: Snapshot) -> list[MemoryChange]:
    """The arena of each target before and after."""
    rows = []
    before, after = start.analysis.execution, end.analysis.execution
    if isinstance(before, Interpretation) and isinstance(after, Interpretation):
        for target in after.planned_targets:
            old, new = before.arena(target), after.arena(target)
            if old and new:
                least = least_head(after.file, new) + new.tail
                rows.append(MemoryChange(target.label, old.to_write, new.to_write, new.head, new.tail, least))
    return rows


def _without_wrong_plan(state: Snapshot) -> Snapshot:
    """The model without a plan that puts a tensor over another one or that is refused. Raises NotAppliedError."""
    execution = state.analysis.execution
    if not isinstance(execution, Interpretation) or all(
        fault.level is not None for fault in plan_faults(execution.file)
    ):
        return state
    edit = TfliteEdit(state.path, state.data)
    edit.drop_plan()
    return state.followed(edit.data(), Plan({}))


def _had_plan(start: Snapshot) -> bool:
    execution = start.analysis.execution
    return isinstance(execution, Interpretation) and stated_plan(execution.file) is not None
