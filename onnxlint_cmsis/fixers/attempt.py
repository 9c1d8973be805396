"""One attempt: sizes and exact repairs in turn, until nothing changes, and the proof."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.certified import certificate_of
from onnxlint_cmsis.fixers.differences import replaced, resized_classes, worse_clause
from onnxlint_cmsis.fixers.input_pads import unlocked
from onnxlint_cmsis.fixers.model_cost import cost_of, promised
from onnxlint_cmsis.fixers.planning.subgraphs import branches_of
from onnxlint_cmsis.fixers.proof.element_map import element_map
from onnxlint_cmsis.fixers.proof.prove import BESIDE, INPUTS, Prover
from onnxlint_cmsis.fixers.rewriting import Rewritten, rewritten
from onnxlint_cmsis.fixers.sizing import MAX_ROUNDS, ClassesError, settled
from onnxlint_cmsis.fixers.snapshot import name_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.certificate_data import Certificate
    from onnxlint_cmsis.analysis.proof_results import Proof
    from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan
    from onnxlint_cmsis.fixers.proof.prove import Spot
    from onnxlint_cmsis.fixers.rewriting import RewrittenLayer
    from onnxlint_cmsis.fixers.snapshot import ClassName, Reasons, Snapshot


class Attempt(NamedTuple):
    """One fix of a model, with its proof."""

    start: Snapshot
    """The model, with the classes that had to stay."""
    base: Snapshot
    """The model after the repairs that came before planning; `start` where there were none."""
    first: ModelPlan
    """What planning makes of `base`."""
    end: Snapshot
    """The new model; the same as `start` where nothing changes."""
    added: Mapping[ClassName, str] = {}
    """Inputs with an added Pad, each with a clause that describes it."""
    unpadded: Mapping[ClassName, str] = {}
    """Inputs behind which a Pad would help but does not go into the budget, with that as a clause."""
    rewrites: tuple[RewrittenLayer, ...] = ()
    """Layers that were rewritten."""
    unrewritten: Mapping[ClassName, str] = {}
    """Repairs that were needed and not done, with the reason as a clause."""
    proof: Proof | None = None
    """The proof; None where nothing changes or the plan could not be applied."""
    trouble: str = ""
    """Why the new model may not take the old one's place, as a clause; empty where it may."""
    failed: bool = False
    """Whether the proven model breaks a promise of the plan."""
    blamed: Mapping[ClassName, str] = {}
    """Classes that cause the failure, with the reason; empty where unknown."""
    spot: Spot | None = None
    """How to see that the new model differs; None where it does not, or computes nothing."""
    certificate: Certificate | None = None
    """Why it is equal for every input, in the integers of a device; None where that is not known."""


def prover_of(start: Snapshot) -> Prover:
    """The prover of a model's fixes."""
    return Prover(lambda: start.proven, Path(start.path), start.request.analysis.input_shapes)


def attempt(start: Snapshot, prover: Prover) -> Attempt:
    """Work out a fix and prove it. Raises UnreadableError.

    Constants are what the weights make them: a certificate proves that. Without one they are held against a run.
    """
    fix = _with_proof(_worked_out(start), prover)
    if fix.certificate or not any(before.disproved(before.plan) for before, plan in fix.end.changes() if plan.kept):
        return fix
    return _with_proof(_worked_out(start.held_against_run()), prover)


def _with_proof(fix: Attempt, prover: Prover) -> Attempt:
    start, base, end = fix.start, fix.base, fix.end
    if fix.trouble or end is start:
        return fix
    within = {group.id: branches_of(base.graph, group) for group, _ in resized_classes(base, end)}
    branches = frozenset().union(*within.values())
    same = element_map(start.graph, end.steps())
    known = certificate_of(start.analysis, end.analysis)
    inputs = BESIDE if known and not branches else range(INPUTS)
    proof, spot = prover.prove(end.data, inputs=inputs, same=same, branches=branches)
    if proof.equal:
        fix = fix._replace(certificate=known)
        worse = worse_clause(start, end, fix.first, replaced(fix.rewrites))
        return fix._replace(proof=proof, trouble=worse, failed=bool(worse))
    trouble = f"it is not proven that the outputs would stay: {proof.reason}" if proof.ran else proof.reason
    classes = base.dimensions.classes
    blamed = [classes[leaf] for leaf, inside in within.items() if inside & {*proof.unreached}]
    names = dict.fromkeys((name_of(base, group) for group in blamed), trouble)
    return fix._replace(proof=proof, trouble=trouble, blamed=names, spot=spot)


def _worked_out(start: Snapshot) -> Attempt:
    """The new model without its proof. Raises UnreadableError.

    Free repairs come first, then channel counts, then repairs of what is left. Where the policy
    `faster` changes a channel count to step around a hazard and other repairs fit as well, these are tried before
    channel counts, and the cheaper model is taken. What its plan promises says whether the second model can be that.
    """
    free = rewritten(start, free=True, room=_room(start, start))
    sized = _in_turn(start, free, free.state.plan)
    if sized.trouble or not sized.first.decision.repairs or start.request.options.policy != "faster":
        return sized
    everything = rewritten(free.state, free=False, room=_room(start, free.state))
    if not everything.layers:
        return sized
    first, least = everything.state.plan, cost_of(sized.end)
    if promised(first) >= least and not start.request.options.unsafe:  # which may open inputs, and more sizes with them
        return sized
    other = _in_turn(start, everything._replace(layers=(*free.layers, *everything.layers)), first)
    return sized if other.trouble or cost_of(other.end) >= least else other


def _in_turn(start: Snapshot, base: Rewritten, first: ModelPlan) -> Attempt:
    """The channel counts of a plan, then repairs of what is left, then Pads. Raises UnreadableError."""
    try:
        done = _finished(start, settled(base.state, first))
        padded, added, unpadded = _padded(base.state, done.state, first)
        last = _finished(start, padded)
    except ClassesError as error:
        trouble = f"it cannot be changed: {error}"
        return Attempt(start, base.state, first, start, trouble=trouble, blamed=error.classes)
    layers = (*base.layers, *done.layers, *last.layers)
    return Attempt(start, base.state, first, last.state, added, unpadded, layers, last.left)


def _finished(start: Snapshot, sized: Snapshot) -> Rewritten:
    """The model with what channel counts leave rewritten, and new channel counts wherever that makes better ones."""
    last = Rewritten(sized, (), {})
    for _ in range(MAX_ROUNDS):
        new = rewritten(last.state, free=False, room=_room(start, last.state))
        if not new.layers:
            return last._replace(left=new.left)
        last = new._replace(state=settled(new.state, new.state.plan), layers=(*last.layers, *new.layers))
    return last


def _room(start: Snapshot, state: Snapshot) -> int | None:
    """By how many bytes constants may still grow; None for as many as it takes."""
    budget = start.request.options.budget
    return None if budget is None else budget - (state.stored - start.stored)


def _padded(start: Snapshot, end: Snapshot, first: ModelPlan) -> tuple[Snapshot, Reasons, Reasons]:
    """The model with Pads behind inputs, these Pads, and those that the budget forbade.

    A Pad is added for a hazard that no exact repair removes. Raises ClassesError, UnreadableError.
    """
    added: Reasons = {}
    unpadded: Reasons = {}
    budget = start.request.options.budget
    while start.request.options.unsafe and (opened := unlocked(end, unpadded)):
        new = settled(opened.state, opened.state.plan)
        growth, spent = new.stored - end.stored, first.decision.spent + end.stored - start.stored
        if budget is not None and growth > max(0, budget - spent):
            unpadded[opened.name] = f"fix-budget-bytes {budget} does not allow it: {growth:,} bytes more"
            continue
        added[opened.name] = opened.text
        end = new
    return end, added, unpadded
