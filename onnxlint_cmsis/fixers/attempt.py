"""One fix of a model worked out, applied until nothing changes, and proven."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from onnxlint_cmsis.fixers import model_changes
from onnxlint_cmsis.fixers.model_cost import cost_of, promised
from onnxlint_cmsis.fixers.pad_inputs import unlocked
from onnxlint_cmsis.fixers.rewriting import Rewritten, RewrittenLayer, rewritten
from onnxlint_cmsis.fixers.settle import MAX_ROUNDS, ClassesError, settled, surveyed
from onnxlint_cmsis.fixers.snapshot import ClassName, Reasons, Snapshot, name_of
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.planning.plan_model import ModelPlan
from onnxlint_cmsis.proof.element_map import element_map
from onnxlint_cmsis.proof.prover import Prover, Spot
from onnxlint_cmsis.proof.subgraph_classes import branches_of
from onnxlint_cmsis.results.proof_result import Proof


class Attempt(NamedTuple):
    """One fix of a model, with its proof."""

    start: Snapshot
    """The model, with the classes that had to stay."""
    base: Snapshot
    """It after the repairs that came before planning; `start` where there were none."""
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


def prover_of(start: Snapshot) -> Prover:
    """The prover of a model's fixes."""
    return Prover(start.data, Path(start.path), start.request.analysis.input_shapes)


def attempt(start: Snapshot, prover: Prover) -> Attempt:
    """Work out a fix and prove it."""
    made = _worked_out(start)
    return made if made.trouble or made.end is start else _proven(made, prover)


def _proven(made: Attempt, prover: Prover) -> Attempt:
    """The attempt with its proof."""
    start, base, end = made.start, made.base, made.end
    within = {group.id: branches_of(base.graph, group) for group, _ in model_changes.resized(base, end)}
    branches = frozenset().union(*within.values())
    same = element_map(start.graph, end.steps())
    proof, spot = prover.prove(end.data, same=same, branches=branches)
    if proof.equal:
        worse = model_changes.worse(start, end, made.first, model_changes.replaced(made.rewrites))
        return made._replace(proof=proof, trouble=worse, failed=bool(worse))
    trouble = f"it is not proven that the outputs would stay: {proof.reason}" if proof.ran else proof.reason
    classes = base.dimensions.classes
    blamed = [classes[leaf] for leaf, inside in within.items() if inside & {*proof.unreached}]
    names = dict.fromkeys((name_of(base, group) for group in blamed), trouble)
    return made._replace(proof=proof, trouble=trouble, blamed=names, spot=spot)


def _worked_out(start: Snapshot) -> Attempt:
    """The new model without its proof. Raises UnreadableError.

    Free repairs come first, then channel counts, then repairs of what is left. Where the policy
    `faster` changes a channel count to step around a hazard and other repairs fit as well, these are tried before
    channel counts, and the cheaper model is taken. What its plan promises says whether the second model can be that.
    """
    free = rewritten(start, free=True, room=_room(start, start))
    one = _in_turn(start, free, surveyed(free.state))
    if one.trouble or not one.first.decision.repairs or start.request.options.policy != "faster":
        return one
    everything = rewritten(free.state, free=False, room=_room(start, free.state))
    if not everything.layers:
        return one
    first, least = surveyed(everything.state), cost_of(one.end)
    if promised(first) >= least and not start.request.options.unsafe:  # which may open inputs, and more sizes with them
        return one
    other = _in_turn(start, everything._replace(layers=(*free.layers, *everything.layers)), first)
    return one if other.trouble or cost_of(other.end) >= least else other


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
        last = new._replace(state=settled(new.state, surveyed(new.state)), layers=(*last.layers, *new.layers))
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
        new = settled(opened.state, surveyed(opened.state))
        growth, spent = new.stored - end.stored, first.decision.spent + end.stored - start.stored
        if budget is not None and growth > max(0, budget - spent):
            unpadded[opened.name] = f"--fix-budget-bytes {budget} does not allow it: {growth:,} bytes more"
            continue
        added[opened.name] = opened.text
        end = new
    return end, added, unpadded
