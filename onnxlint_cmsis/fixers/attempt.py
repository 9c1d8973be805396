"""One attempt: sizes and exact repairs in turn, until nothing changes, and the proof."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from onnxlint_cmsis.analysis.certificate.facts import Certificate
from onnxlint_cmsis.analysis.certificate.verifying import certificate_of
from onnxlint_cmsis.analysis.proof_results import Proof
from onnxlint_cmsis.fixers.differences import replaced, resized_classes, worse_clause
from onnxlint_cmsis.fixers.input_pads import unlocked
from onnxlint_cmsis.fixers.model_cost import cost_of, promised
from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan
from onnxlint_cmsis.fixers.planning.policies import POLICIES
from onnxlint_cmsis.fixers.planning.subgraphs import branches_of
from onnxlint_cmsis.fixers.progress import Progress, RewrittenLayer, until_settled
from onnxlint_cmsis.fixers.proof.element_map import element_map
from onnxlint_cmsis.fixers.proof.prove import BESIDE, INPUTS, Prover, Spot
from onnxlint_cmsis.fixers.rewriting import rewritten
from onnxlint_cmsis.fixers.sizing import ClassesError, with_sizes
from onnxlint_cmsis.fixers.snapshot import Snapshot, resized_step
from onnxlint_cmsis.fixers.steps import Reasons, Step, over_budget
from onnxlint_cmsis.ground.named_tuples import NamedTuple

NOT_KNOWN_EQUAL = "its outputs are not known to be equal for every input"
"""Why a model is not taken whose outputs no runtime compared."""


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
    added: Mapping[Step, str] = {}
    """Inputs with an added Pad, each with a clause that describes it."""
    unpadded: Mapping[Step, str] = {}
    """Inputs behind which a Pad would help but does not go into the budget, with that as a clause."""
    rewrites: tuple[RewrittenLayer, ...] = ()
    """Layers that were rewritten."""
    unrewritten: Mapping[Step, str] = {}
    """Repairs that were needed and not done, with the reason as a clause."""
    proof: Proof | None = None
    """The proof; None where nothing changes or the plan could not be applied."""
    trouble: str = ""
    """Why the new model may not take the old one's place, as a clause; empty where it may."""
    failed: bool = False
    """Whether the proven model breaks a promise of the plan."""
    blamed: Mapping[Step, str] = {}
    """Classes that cause the failure, with the reason; empty where unknown."""
    spot: Spot | None = None
    """How to see that the new model differs; None where it does not, or computes nothing."""
    certificate: Certificate | None = None
    """Why it is equal for every input, in the integers of a device; None where that is not known."""

    @property
    def state(self) -> Snapshot:
        """The new model."""
        return self.end


def prover_of(start: Snapshot) -> Prover:
    """The prover of a model's fixes."""
    return Prover(lambda: start.proven, Path(start.path), start.request.analysis.input_shapes)


def attempt(start: Snapshot, prover: Prover) -> Attempt:
    """Work out a fix and prove it. Raises UnreadableError.

    Constants are what the weights make them: a certificate proves that. Without one they are held against a run.
    """
    fix = _with_proof(worked_out(start), prover)
    if fix.certificate or not start.request.compared:
        return fix
    if not any(before.disproved(before.plan) for before, plan in fix.end.changes() if plan.kept):
        return fix
    return _with_proof(worked_out(start.held_against_run()), prover)


def _with_proof(fix: Attempt, prover: Prover) -> Attempt:
    start, base, end = fix.start, fix.base, fix.end
    if fix.trouble or end is start:
        return fix
    if not start.request.compared:
        worse = worse_clause(start, end, fix.first, replaced(fix.rewrites))
        return fix._replace(trouble=worse, failed=bool(worse))
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
    names: Reasons = dict.fromkeys((resized_step(base, group) for group in blamed), trouble)
    return fix._replace(proof=proof, trouble=trouble, blamed=names, spot=spot)


def worked_out(start: Snapshot) -> Attempt:
    """Work out the new model without its proof. Raises UnreadableError.

    Free repairs come first, then channel counts, then repairs of what is left. Where a policy
    that has to gain changes a channel count to step around a hazard and other repairs fit as well, these are tried
    before channel counts, and the cheaper model is taken. What its plan promises says whether the second model can be
    that.
    """
    free = rewritten(start, free=True, since=start)
    sized = _in_turn(start, free)
    if sized.trouble or not sized.first.decision.repairs or not POLICIES[start.request.options.policy].must_gain:
        return sized
    everything = rewritten(free.state, free=False, since=start)
    if not everything.layers:
        return sized
    least = cost_of(sized.end)
    if promised(everything.state.plan) >= least and not start.request.options.unsafe:
        return sized  # --unsafe-fixes may open inputs, and more sizes with them
    other = _in_turn(start, everything._replace(layers=(*free.layers, *everything.layers)))
    return sized if other.trouble or cost_of(other.end) >= least else other


def _in_turn(start: Snapshot, base: Progress) -> Attempt:
    """Take channel counts, repairs of what they leave, Pads, and repairs once more. Raises UnreadableError."""
    first = base.state.plan

    def repaired(sized: Progress) -> Progress:
        """Repair what channel counts leave; new channel counts wherever that makes better ones."""
        new = rewritten(sized.state, free=False, since=start)
        return sized._replace(left=new.left) if not new.layers else with_sizes(sized.then(new)._replace(left=new.left))

    try:
        done = until_settled(with_sizes(Progress(base.state)), repaired)
        padded, unpadded = _padded(base.state, done, first)
        last = until_settled(padded, repaired)
    except ClassesError as error:
        trouble = f"it cannot be changed: {error}"
        return Attempt(start, base.state, first, start, trouble=trouble, blamed=error.classes)
    return Attempt(start, base.state, first, last.state, last.added, unpadded, (*base.layers, *last.layers), last.left)


def _padded(base: Snapshot, done: Progress, first: ModelPlan) -> tuple[Progress, Reasons]:
    """Put Pads behind inputs, and name those that the budget forbids. Raises ClassesError, UnreadableError.

    A Pad is added for a hazard that no exact repair removes.
    """
    unpadded: Reasons = {}

    def with_pad(done: Progress) -> Progress:
        while opened := unlocked(done.state, unpadded):
            new = with_sizes(Progress(opened.state)).state
            growth, room = new.stored - done.state.stored, done.state.room(base)
            if room is None or growth <= max(0, room - first.decision.spent):
                return done._replace(state=new, added={**done.added, opened.step: opened.text})
            unpadded[opened.step] = over_budget(base.request.options.budget, growth)
        return done

    return (until_settled(done, with_pad, None) if base.request.options.unsafe else done), unpadded
