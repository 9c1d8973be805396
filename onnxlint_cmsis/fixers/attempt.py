"""One fix of a model worked out, applied until nothing changes, and proven."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from onnxlint_cmsis.analysis import Place
from onnxlint_cmsis.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.fixers import model_changes
from onnxlint_cmsis.fixers.pad_inputs import unlocked
from onnxlint_cmsis.fixers.rewriting import Rewritten, RewrittenLayer, rewritten
from onnxlint_cmsis.fixers.snapshot import ClassName, Reasons, Snapshot, name_of, plan_of
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.planning.plan_model import ModelPlan
from onnxlint_cmsis.proof.check_constants import disproved
from onnxlint_cmsis.proof.element_map import element_map
from onnxlint_cmsis.proof.prover import Prover, Spot
from onnxlint_cmsis.proof.subgraph_classes import branches_of
from onnxlint_cmsis.results.proof_result import Proof
from onnxlint_cmsis.rewrite.model_bytes import resized

MAX_ROUNDS = 8
"""Rounds of deciding and applying; each makes the model better, and two are the most that were ever needed."""


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


class _ClassesError(Exception):
    """A plan that cannot be applied, with the classes that cannot be resized even alone."""

    def __init__(self, text: str, classes: Reasons) -> None:
        super().__init__(text)
        self.classes = classes


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
    channel counts, and the cheaper model is taken.
    """
    free = rewritten(start, free=True, room=_room(start, start))
    one = _in_turn(start, free)
    if one.trouble or not one.first.decision.repairs or start.request.options.policy != "faster":
        return one
    everything = rewritten(free.state, free=False, room=_room(start, free.state))
    if not everything.layers:
        return one
    other = _in_turn(start, everything._replace(layers=(*free.layers, *everything.layers)))
    return one if other.trouble else min(one, other, key=_cost)


def _in_turn(start: Snapshot, base: Rewritten) -> Attempt:
    """Channel counts of a model decided, then repairs of what is left. Raises UnreadableError."""
    first = _surveyed(base.state)
    try:
        sized, added, unpadded = _sized(base.state, first)
        last = _finished(start, sized)
    except _ClassesError as error:
        trouble = f"it cannot be changed: {error}"
        return Attempt(start, base.state, first, start, trouble=trouble, blamed=error.classes)
    return Attempt(start, base.state, first, last.state, added, unpadded, (*base.layers, *last.layers), last.left)


def _finished(start: Snapshot, sized: Snapshot) -> Rewritten:
    """The model with what channel counts leave rewritten, and new channel counts wherever that makes better ones."""
    last = Rewritten(sized, (), {})
    for _ in range(MAX_ROUNDS):
        new = rewritten(last.state, free=False, room=_room(start, last.state))
        if not new.layers:
            return last._replace(left=new.left)
        last = new._replace(state=_settled(new.state, _surveyed(new.state)), layers=(*last.layers, *new.layers))
    return last


def _room(start: Snapshot, state: Snapshot) -> int | None:
    """By how many bytes constants may still grow; None for as many as it takes."""
    budget = start.request.options.budget
    return None if budget is None else budget - (state.stored - start.stored)


def _cost(made: Attempt) -> tuple[int, int, int]:
    """Known hazards, layers of unknown cost, and predicted instructions of the others, over all targets."""
    prices = [price for layer in made.end.lowered.layers for price in made.end.prices.of(layer.call)]
    known = [price.instructions for price in prices if price.instructions is not None]
    return sum(price.hazards for price in prices), len(prices) - len(known), sum(known)


def _sized(start: Snapshot, first: ModelPlan) -> tuple[Snapshot, Reasons, Reasons]:
    """The new model, its added Pads, and the changes that the budget forbade. Raises _ClassesError, UnreadableError."""
    added: Reasons = {}
    unpadded: Reasons = {}
    budget, end = start.request.options.budget, _settled(start, first)
    while start.request.options.unsafe and (opened := unlocked(end, unpadded)):
        new = _settled(opened.state, _surveyed(opened.state))
        growth, spent = new.stored - end.stored, first.decision.spent + end.stored - start.stored
        if budget is not None and growth > max(0, budget - spent):
            unpadded[opened.name] = f"--fix-budget-bytes {budget} does not allow it: {growth:,} bytes more"
            continue
        added[opened.name] = opened.text
        end = new
    return end, added, unpadded


def _settled(state: Snapshot, found: ModelPlan) -> Snapshot:
    """The model after as many rounds as change anything. Raises _ClassesError, UnreadableError."""
    for _ in range(MAX_ROUNDS):
        if not found.decision.sizes:
            break
        state = _applied(state, found)
        found = _surveyed(state)
    return state


def _applied(state: Snapshot, found: ModelPlan) -> Snapshot:
    """The model with its decision applied. Raises _ClassesError, UnreadableError."""
    try:
        return state.changed(plan_of(found, state.request.options))
    except UnreadableError:
        raise
    except NotAppliedError as reason:
        raise _ClassesError(str(reason), dict(_not_alone(state, found))) from None


def _not_alone(state: Snapshot, found: ModelPlan) -> Iterator[tuple[ClassName, str]]:
    """Classes whose new size cannot be applied even without the others."""
    for leaf, size in found.decision.sizes.items():
        alone = found._replace(decision=found.decision._replace(sizes={leaf: size}))
        try:
            resized(state.data, state.graph, state.dimensions, plan_of(alone, state.request.options))
        except NotAppliedError as reason:
            yield name_of(state, found.view.dimensions.classes[leaf]), f"it cannot be changed: {reason}"


def _surveyed(state: Snapshot) -> ModelPlan:
    """The plan of a model, after a check at run time of the constants that it relies on."""
    wrong: set[Place] = set()
    while True:
        found = state.survey(wrong)
        more = _disproved(state, found) - wrong
        if not more:
            return found
        wrong |= more


def _disproved(state: Snapshot, found: ModelPlan) -> set[Place]:
    """Constants along the classes to cut that ONNX Runtime shows to be wrong."""
    if found.lanes is None:
        return set()
    classes = state.dimensions.classes
    cut = [classes[leaf] for leaf, want in found.decision.sizes.items() if want < classes[leaf].size]
    axes = [member for group in cut for member in group.members if member[0] in state.graph.producers]
    return disproved(state.data, state.path, state.request.analysis.input_shapes, found.lanes, axes)
