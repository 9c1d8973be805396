"""One file fixed: sizes, repairs, rescaling and retyping in rounds until nothing changes, each step proven."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.certified import certificate_of
from onnxlint_cmsis.analysis.fix_results import (
    Certificate,
    ClassChange,
    FixResult,
    LayerChange,
    Locked,
    Numbers,
    Proof,
    Repair,
    Rewrite,
    SkippedClass,
    SkippedRewrite,
    TargetTotal,
    TensorChange,
    shipped_text,
)
from onnxlint_cmsis.cmsis_nn.library import measured_build
from onnxlint_cmsis.fixers.planning.decision import SizeDecision, decide, movable_classes
from onnxlint_cmsis.fixers.planning.locked import locked_gains
from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan, live_counts
from onnxlint_cmsis.fixers.planning.plan import PlanStep
from onnxlint_cmsis.fixers.planning.policies import FixOptions
from onnxlint_cmsis.fixers.planning.prices import Price, Prices
from onnxlint_cmsis.fixers.planning.repairable import repairs_for
from onnxlint_cmsis.fixers.planning.subgraphs import branches_of
from onnxlint_cmsis.fixers.planning.unchangeable import check_model
from onnxlint_cmsis.fixers.proof.compare import RuntimeRefusalError, element_map
from onnxlint_cmsis.fixers.proof.prove import BESIDE, INPUTS, Affine, Prover, Side, Spot, Watched, most_apart
from onnxlint_cmsis.fixers.rewriting import (
    PADDED,
    ClassName,
    FixRequest,
    Reasons,
    Rewritten,
    RewrittenLayer,
    Snapshot,
    asked,
    bytes_of,
    instructions_of,
    name_of,
    name_of_site,
    plan_of,
    rewritten,
    rewritten_by,
    risks,
    unlocked,
)
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.layer import Verdict
from onnxlint_cmsis.lower.quantization import STORED, AffineQuantization, dequantizes, of_input, of_integers
from onnxlint_cmsis.model.axes import AxisForm, leaves

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.classes import DimensionClass, Dimensions
    from onnxlint_cmsis.analysis.fix_results import ValueChange
    from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
    from onnxlint_cmsis.fixers.planning.repairable import RepairSite
    from onnxlint_cmsis.lower.layer import Layer
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.axes import Axis
    from onnxlint_cmsis.model.graph import Graph


class Fixed(NamedTuple):
    """A result, and the new model where there is one."""

    result: FixResult
    """What was done."""
    model: bytes | None
    """The proven model; None where nothing changes."""
    end: Snapshot | None = None
    """The proven model with its analysis, or the one that stays; None where it was not analysed."""


def fix_model(path: str, data: bytes, request: FixRequest, prices: Prices | None = None) -> Fixed:
    """Fix a model in memory; nothing is written. Raises ModelError where the bytes are no model.

    `path` is where the bytes come from, whose folder holds external data. `prices` of the request's targets are cached,
    so that a similar model is fixed faster.
    """
    start = Snapshot(path, data, request, prices)
    try:
        check_model(start.graph)
        start.editor.check_readable(data, path)
        return _fixed(start)
    except UnreadableError as reason:
        return Fixed(FixResult(request.options.policy, False, False, str(reason), failed=True), None)
    except NotAppliedError as reason:
        return Fixed(FixResult(request.options.policy, False, False, f"it cannot be changed: {reason}", False), None)


def _fixed(start: Snapshot) -> Fixed:
    """The model fixed and proven, or left with the reason. Raises NotAppliedError.

    Repairs that change types come first, then those that change outputs by a bounded amount. Exact fixes are proven
    against what these make.
    """
    typed = retyped(start)
    scaled = rescaled(typed.state)
    signed = retyped(scaled.state) if scaled.layers else Retyped(scaled.state, (), {}, None)
    fix, reasons = best(signed.state)
    fix = fix._replace(unrewritten={**typed.left, **scaled.left, **signed.left, **fix.unrewritten})
    wished = wishes(fix.first)
    left = left_out(fix, {**reasons, **fix.unpadded}, wished)
    before = (*typed.layers, *scaled.layers, *signed.layers)
    if before and fix.trouble:
        fix = fix._replace(base=fix.start, end=fix.start, added={}, rewrites=())
    elif fix.trouble:
        return _unchanged(fix, fix.trouble, left)
    elif not before and fix.end is fix.start:
        return _unchanged(fix, why_nothing(fix, left, wished), left)
    exact = fix.proof if fix.end is not fix.start else None
    fix = fix._replace(rewrites=(*before, *fix.rewrites), proof=_joined(_joined(typed.proof, signed.proof), exact))
    exact_alone, end = not before, fix.end
    fix = _settled_types(start, fix._replace(start=start))
    if not (exact_alone and fix.end is end):
        fix = fix._replace(certificate=None if scaled.layers else certificate_of(start.analysis, fix.end.analysis))
    if fix.proof is not None:
        fix = fix._replace(proof=fix.proof._replace(every_input=fix.certificate is not None))
    return Fixed(_result(fix, left)._replace(changes=scaled.changes), fix.end.data, fix.end)


def _settled_types(start: Snapshot, fix: Attempt) -> Attempt:
    """The fix with the types that its repairs call for, as a Concat of uint8, and what these types call for."""
    for _ in range(MAX_ROUNDS):
        typed = retyped(fix.end) if fix.rewrites else None
        if typed is None or not typed.layers:
            break
        options = start.request.options
        room = None if options.budget is None else max(0, options.budget - (typed.state.stored - start.stored))
        request = start.request._replace(options=options._replace(budget=room))
        again, _ = best(Snapshot(start.path, typed.state.data, request, start.prices))
        done = not again.trouble and again.end is not again.start
        fix = fix._replace(
            end=again.end if done else typed.state,
            added={**fix.added, **again.added} if done else fix.added,
            rewrites=(*fix.rewrites, *typed.layers, *(again.rewrites if done else ())),
            unrewritten={**fix.unrewritten, **typed.left, **again.unrewritten},
            proof=_joined(_joined(typed.proof, fix.proof), again.proof if done else None),
        )
    return fix


def _joined(typed: Proof | None, rest: Proof | None) -> Proof | None:
    """One proof of two: of the repairs that change types, and of everything done after them."""
    if typed is None or rest is None:
        return rest or typed
    apart = zip(typed.differences, rest.differences, strict=True)
    worst = tuple(max(pair, key=lambda difference: difference.largest) for pair in apart)
    return rest._replace(differences=worst, written=typed.written)


# Repairs that give integers another type, done first and proven as the file is written.


class Retyped(NamedTuple):
    """A model whose integers have other types."""

    state: Snapshot
    """The model, as a start for all other fixes; the same one where nothing was done."""
    layers: tuple[RewrittenLayer, ...]
    """What was done."""
    left: Reasons
    """What was needed and not done, with the reason as a clause."""
    proof: Proof | None
    """The proof; None where nothing was done."""


def retyped(start: Snapshot) -> Retyped:
    """The model with the repairs that change types, where they are proven. Raises UnreadableError, NotAppliedError.

    ONNX Runtime fuses other nodes, and takes other kernels, for int8 than for uint8: a Concat or MaxPool of int8 and
    the layer before it may stay in float. With its optimisers off both models compute the same numbers, as a device
    does, and have to be equal bit for bit. Where outputs differ with those that it is shipped with, only --unsafe-fixes
    does the repair.
    """
    state = start
    layers: tuple[RewrittenLayer, ...] = ()
    left: Reasons = {}
    for row in (row for row in repairs_for(start.analysis.format) if row.as_written):
        new = rewritten_by(row, state, start.request.options.budget)
        state, layers, left = new.state, (*layers, *new.layers), left | new.left
    if not layers:
        return Retyped(start, (), left, None)
    proof = prover_of(start).written(state.data)
    if not proof.equal:
        trouble = f"it is not proven that the outputs would stay: {proof.reason}" if proof.ran else proof.reason
        return Retyped(start, (), {layer.name: trouble for layer in layers}, None)
    differs = shipped_text(proof)
    if differs and not start.request.options.unsafe:
        return Retyped(start, (), {layer.name: f"{differs}; --unsafe-fixes does it" for layer in layers}, None)
    return Retyped(_restarted(start, state.data), layers, left, proof)


def _restarted(start: Snapshot, data: bytes) -> Snapshot:
    """A model that replaces the first one: nothing is compared with what was before it."""
    return Snapshot(start.path, data, start.request, start.prices)


# Repairs that change outputs by a bounded amount, done before exact ones and only with --unsafe-fixes.


LIMIT = 1.0
"""Steps by which a value may change."""
ROUNDING = 1e-3
"""Steps that floating point takes besides."""
RESCALING_STAYS = "it was tried, and CMSIS-NN would not compute the layer or another one then"


class Rescaled(NamedTuple):
    """A model after its inexact repairs."""

    state: Snapshot
    """The model, as a start for all other fixes; the same one where nothing was done."""
    layers: tuple[RewrittenLayer, ...]
    """What was done."""
    changes: tuple[ValueChange, ...]
    """The largest change seen of each output of the model, and of each result of a repaired layer."""
    left: Reasons
    """Repairs that were needed and not done, with the reason as a clause."""


class _Tried(NamedTuple):
    """Repairs of some layers, measured."""

    data: bytes
    """The model; empty where it was not made."""
    repairs: tuple[tuple[RepairSite, RepairMade], ...]
    """What was done to which layer."""
    changes: tuple[ValueChange, ...]
    """The largest changes seen."""
    why: str = ""
    """Why it may not be taken, as a clause; empty where it may."""


def rescaled(start: Snapshot) -> Rescaled:
    """The model with all inexact repairs that keep their promise. Raises UnreadableError, NotAppliedError.

    The promise: no output of the model is seen to change by more than one step, nor is the result of a layer by its own
    repair. Results that were repaired earlier may change a little more; the report has all.
    """
    done = Rescaled(start, (), (), {})
    if not start.request.options.unsafe:
        return done
    prover = prover_of(start)
    for row in (row for row in repairs_for(start.analysis.format) if not row.exact):
        sites = []
        for site in asked(row, done.state):
            why = row.refusal(done.state.graph, site.record)
            if why:
                done.left[name_of_site(site)] = why
            else:
                sites.append(site)
        done = _together(start, done, sites, prover)
    return done


def _together(start: Snapshot, done: Rescaled, sites: Sequence[RepairSite], prover: Prover) -> Rescaled:
    """The model with all of these repairs, or else with those that can be done one after the other."""
    if not sites:
        return done
    tried = _tried(start, done, sites, prover)
    if not tried.why and len(tried.repairs) == len(sites):
        unknown = (None,) * len(start.prices.targets)
        steps = max(change.steps for change in tried.changes)
        layers = [
            RewrittenLayer(
                site.row, site.record.node.outputs[0], site.record.node.label, (), repair, unknown, unknown, steps
            )
            for site, repair in tried.repairs
        ]
        return Rescaled(_restarted(start, tried.data), (*done.layers, *layers), tried.changes, done.left)
    if len(sites) == 1:
        return done._replace(left={**done.left, name_of_site(sites[0]): tried.why})
    for site in sites:
        name = name_of_site(site)
        fresh = next((again for again in asked(site.row, done.state) if name_of_site(again) == name), None)
        if fresh is not None:
            done = _together(start, done, [fresh], prover)
    return done


def _tried(start: Snapshot, done: Rescaled, sites: Sequence[RepairSite], prover: Prover) -> _Tried:
    """Repairs done together, with what they change."""
    state = done.state
    repaired = state.repaired(sites, state.lowered.records)
    if not repaired.repairs:
        return _Tried(b"", (), (), repaired.refused[0][1])
    new, rescaled_layers = _restarted(start, repaired.data), [_name(site.record) for site, _ in repaired.repairs]
    had, has = (
        {_name(record) for record in snapshot.lowered.records if record.verdict is Verdict.CMSIS_NN}
        for snapshot in (state, new)
    )
    if not had <= has or not {_name(record) for record in new.lowered.beside}.isdisjoint(rescaled_layers):
        return _Tried(b"", repaired.repairs, (), RESCALING_STAYS)
    mine = [
        Watched(name, name, _affine(_output_numbers(start.graph, name)), _affine(_output_numbers(new.graph, name)))
        for name in start.graph.outputs
    ]
    mine += _results(start, new, rescaled_layers)
    earlier = _results(start, new, [layer.output for layer in done.layers])
    watched = [*mine, *(value for value in earlier if value not in mine)]
    apart = most_apart(*(Side(snapshot.graph, snapshot.analysis.read) for snapshot in (start, new)))
    try:
        changes = prover.changes(repaired.data, watched, INPUTS)
    except RuntimeRefusalError as error:
        return _Tried(b"", repaired.repairs, (), f"ONNX Runtime: {error}")
    if isinstance(changes, str):
        return _Tried(b"", repaired.repairs, (), changes)
    changes = tuple(change._replace(bound=apart.get(change.value)) for change in changes)
    worst = max(changes[: len(mine)], key=lambda change: change.steps)
    over = f"`{worst.value}` would change by {worst.steps:.3g} steps of {worst.step:.3g}; allowed is {LIMIT:g}"
    return _Tried(repaired.data, repaired.repairs, changes, over if worst.steps > LIMIT + ROUNDING else "")


def _output_numbers(graph: Graph, name: str) -> AffineQuantization | None:
    """Quantization of an output, in integers or as real numbers that a DequantizeLinear makes."""
    producer = graph.producers.get(name)
    if graph.elem_type(name) in STORED:
        return of_integers(graph, name)
    return of_input(graph, producer, 0) if producer is not None and dequantizes(producer) else None


def _results(old: Snapshot, new: Snapshot, outputs: Sequence[str]) -> Iterator[Watched]:
    """What the repaired layers make, by their first outputs, where both models have it as integers."""
    before, after = ({_name(record): record.epilogue for record in snapshot.lowered.records} for snapshot in (old, new))
    graph = old.graph
    for name in outputs:
        old_end, new_end = before.get(name), after.get(name)
        if old_end is None or new_end is None:
            continue
        readers = [reader for reader in graph.consumers.get(old_end.tensor, ()) if dequantizes(reader)]
        if old_end.tensor in graph.outputs or any(reader.outputs[0] in graph.outputs for reader in readers):
            continue  # it is watched as an output of the model
        old_numbers, new_numbers = _affine(old_end.quantization), _affine(new_end.quantization)
        if old_numbers is not None and new_numbers is not None:
            yield Watched(old_end.tensor, new_end.tensor, old_numbers, new_numbers)


def _affine(numbers: AffineQuantization | None) -> Affine | None:
    """A quantization with one known scale; None for any other."""
    if numbers is None or not numbers.known or len(numbers.scales or ()) != 1:
        return None
    return Affine(numbers.scale, (numbers.zero_points or (0,))[0])


def _name(record: LoweredLayer) -> str:
    return record.node.outputs[0]


# The most classes that are proven together, with few proofs: a failed one leaves out the classes to blame.


MAX_PROOFS = 4
"""Proofs of one model."""


def best(start: Snapshot) -> tuple[Attempt, Reasons]:
    """The largest proven attempt, and why other classes are left out of it.

    Where nothing can be proven it is one with all classes that nothing else keeps, with its trouble. Raises
    NotAppliedError.
    """
    search = _Search(start)
    return search.best(), search.refused


class _Search:
    """The search for classes that can be proven together."""

    def __init__(self, start: Snapshot) -> None:
        self.refused: Reasons = {}
        """Classes left out, with the reason."""
        self._start, self._prover, self._proofs = start, prover_of(start), 0

    def best(self) -> Attempt:
        """The largest proven attempt; where none is proven the one without classes known to be unprovable."""
        fix = self._tried()
        while fix.blamed.keys() - self.refused.keys() and self._proofs < MAX_PROOFS:
            self.refused |= fix.blamed
            fix = self._tried()
        whole, known = fix, dict(self.refused)
        while fix.trouble and (fix.proof is None or fix.proof.ran) and self._proofs < MAX_PROOFS:
            self.refused |= fix.blamed or self._suspects(fix)
            fix = self._tried()
        if fix.trouble or (whole.trouble and fix.end is fix.start):
            self.refused = known
            return whole
        return fix

    def _tried(self) -> Attempt:
        """The attempt without the classes left out."""
        fix = attempt(self._start.without(self.refused), self._prover)
        self._proofs += fix.proof is not None
        return fix

    def _suspects(self, failed: Attempt) -> Reasons:
        """Classes or repairs to leave out next."""
        if failed.rewrites:
            return {layer.name: failed.trouble for layer in failed.rewrites}
        culprits = Culprits(failed, self._prover)
        blamed = culprits.reasons()
        if blamed:
            return blamed
        names = list(culprits.changed)
        later = names[len(names) // 2 :]
        return dict.fromkeys(later, LATE if len(later) > 1 else failed.trouble)


# One attempt: sizes and exact repairs in turn, until nothing changes, and the proof.


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


# Channel counts decided and applied until nothing changes.


MAX_ROUNDS = 8
"""Rounds of deciding and applying; each makes the model better, and two are the most that were ever needed."""


class ClassesError(Exception):
    """A plan that cannot be applied, with the classes that cannot be resized even alone."""

    def __init__(self, text: str, classes: Reasons) -> None:
        super().__init__(text)
        self.classes = classes


def settled(state: Snapshot, plan: ModelPlan) -> Snapshot:
    """The model after as many rounds as change anything. Raises ClassesError, UnreadableError."""
    for _ in range(MAX_ROUNDS):
        if not plan.decision.sizes:
            break
        state = _applied(state, plan)
        plan = state.plan
    return state


def _applied(state: Snapshot, plan: ModelPlan) -> Snapshot:
    """The model with its decision applied. Raises ClassesError, UnreadableError."""
    try:
        return state.changed(plan_of(plan, state.request.options))
    except UnreadableError:
        raise
    except NotAppliedError as reason:
        raise ClassesError(str(reason), dict(_not_alone(state, plan))) from None


def _not_alone(state: Snapshot, plan: ModelPlan) -> Iterator[tuple[ClassName, str]]:
    """Classes whose new size cannot be applied even without the others."""
    for leaf, size in plan.decision.sizes.items():
        alone = plan._replace(decision=plan.decision._replace(sizes={leaf: size}))
        try:
            state.editor.resized(state.data, state.graph, state.dimensions, plan_of(alone, state.request.options))
        except NotAppliedError as reason:
            yield name_of(state, plan.view.dimensions.classes[leaf]), f"it cannot be changed: {reason}"


# Cost of a model, as it is and as a plan promises it.


Cost = tuple[int, int, int]
"""Known hazards, layers of unknown cost, and predicted instructions of the others, over all targets."""


def cost_of(state: Snapshot) -> Cost:
    """What a model costs."""
    return _summed(state.prices.of_layer(layer) for layer in state.lowered.layers)


def promised(plan: ModelPlan) -> Cost:
    """What a model costs with the channel counts of a plan; a symbolic one stays."""
    sizes, prices = plan.decision.sizes, plan.prices
    after = [(site, site.channels(sizes)) for site in plan.view.sites]
    sized = [prices.of_layer(site.layer) if new is None else prices.at(site, new) for site, new in after]
    return _summed([*sized, *(prices.of_layer(layer) for layer in plan.view.others)])


def _summed(rows: Iterable[tuple[Price, ...]]) -> Cost:
    prices = [price for row in rows for price in row]
    known = [price.instructions for price in prices if price.instructions is not None]
    return sum(price.hazards for price in prices), len(prices) - len(known), sum(known)


# The classes that made a proof fail: those resized where two models first differ, found without further proofs.


MAX_LOOKS = 32
"""Looks for the first difference; what is behind the last one is left out."""
LATE = "it was not tried: a proof with more classes failed"
"""Why a class stays that is at the last difference seen or behind it."""


class Culprits:
    """The classes that a failed attempt differs by."""

    def __init__(self, failed: Attempt, prover: Prover) -> None:
        self._failed, self._prover = failed, prover
        self.changed = dict(_changed(failed))
        self._same = element_map(failed.start.graph, failed.end.steps())
        self._differs = ""
        self._looks = 0

    def reasons(self) -> Reasons:
        """Classes without which no difference is seen, with the reason; none where they are not found."""
        if self._failed.spot is None:
            return {}
        self._differs = self._prover.look(self._failed.end.data, self._same, self._failed.spot)
        blamed: set[ClassName] = set()
        while self._differs and self._looks < MAX_LOOKS:
            into, along = self._blamed(blamed)
            for names in filter(None, (into, along, into | along)):
                seen = self._without(blamed | names)
                if seen != self._differs:
                    break
            else:
                break
            blamed |= names
            self._differs = seen
        graph = self._failed.base.graph
        producer = graph.producers.get(self._differs)
        last = len(graph.nodes) if producer is None else producer.index  # no layer is behind where nothing differs
        late = [
            name
            for name, group in self.changed.items()
            if group and any(layer.node >= last for layer in (*group.deciders, *group.readers))
        ]
        return dict.fromkeys(blamed, self._failed.trouble) | dict.fromkeys(late, LATE)

    def _blamed(self, known: Iterable[ClassName]) -> tuple[set[ClassName], set[ClassName]]:
        """Classes of the inputs of the nodes before the difference, then those of their outputs."""
        base = self._failed.base
        between = blame(base.graph, base.dimensions, self._differs, self._same.keys())
        groups = {name: group for name, group in self.changed.items() if name not in known}
        into = {name for name, group in groups.items() if group and group.id in between.into}
        pads = {name for name, group in groups.items() if group is None and name[1] in between.inputs}
        along = {name for name, group in groups.items() if group and group.id in between.along - between.into}
        return into | pads, along

    def _without(self, names: set[ClassName]) -> str:
        """The first tensor that differs where some of the classes stay; empty where none is seen to."""
        self._looks += 1
        base, first = self._failed.base, self._failed.first
        left = {group.id for name, group in self.changed.items() if group and name in names}
        sizes = {leaf: size for leaf, size in first.decision.sizes.items() if leaf not in left}
        if not sizes or self._failed.spot is None:
            return ""
        plan = plan_of(first._replace(decision=first.decision._replace(sizes=sizes)), base.request.options)
        try:
            data = base.editor.resized(base.data, base.graph, base.dimensions, plan)
        except NotAppliedError:
            return ""
        step = PlanStep(base.graph, base.dimensions, plan)
        same = element_map(self._failed.start.graph, [*base.steps(), step])
        return self._prover.look(data, same, self._failed.spot)


def _changed(failed: Attempt) -> Iterator[tuple[ClassName, DimensionClass | None]]:
    """Classes that an attempt changes, or would have, and inputs that it pads."""
    decided = [failed.base.dimensions.classes[leaf] for leaf in failed.first.decision.sizes]
    changed = [group for group, _ in resized_classes(failed.base, failed.end)]
    for group in sorted({group.id: group for group in (*decided, *changed)}.values(), key=lambda group: group.id):
        yield name_of(failed.base, group), group
    for name in failed.added:
        yield name, None


class Blame(NamedTuple):
    """Classes resized between a differing tensor and the agreeing ones before it."""

    into: frozenset[int]
    """Leaves along the tensors that agree and that the nodes between read."""
    along: frozenset[int]
    """Other leaves along what these nodes make, and along their constants."""
    inputs: frozenset[str]
    """Inputs of the model that these nodes read."""


def blame(graph: Graph, dimensions: Dimensions, tensor: str, agreeing: Collection[str]) -> Blame:
    """Classes to blame where `tensor` is the first of those compared that differs; `agreeing` are all compared."""
    read: set[int] = set()
    computed = set(_leaves(dimensions.axes(tensor)))
    inputs: set[str] = set()
    pending, seen = [tensor], {tensor}
    while pending:
        name = pending.pop()
        producer = graph.producers.get(name)
        if producer is None:
            inputs |= {name} & set(graph.inputs)
            continue
        for position, source in enumerate(producer.inputs):
            axes = dimensions.input_axes(producer.index, position) or dimensions.axes(source)
            (read if source in agreeing or source in graph.inputs else computed).update(_leaves(axes))
            if source and source not in seen and source not in agreeing:
                seen.add(source)
                pending.append(source)
        pending += [output for body in producer.bodies for output in body.outputs if output not in seen]
        seen.update(output for body in producer.bodies for output in body.outputs)
    return Blame(frozenset(read), frozenset(computed - read), frozenset(inputs))


def _leaves(axes: tuple[Axis, ...] | None) -> Iterator[int]:
    return (leaf for axis in axes or () for leaf in leaves(axis))


# Why classes, or a whole model, stay.


SHOWN = 2
"""Reasons that a sentence names."""


class Wishes(NamedTuple):
    """Decisions of a policy with fewer restrictions."""

    unbounded: SizeDecision
    """Without fix-budget-bytes."""
    unrefused: SizeDecision
    """Without fix-budget-bytes, if no class were refused."""


def wishes(plan: ModelPlan) -> Wishes:
    """Decide again without the restrictions that apply."""
    options = plan.options._replace(budget=None)
    live = live_counts(plan.lanes, options)
    unbounded = plan.decision
    if plan.options.budget is not None:
        unbounded = decide(plan.view, plan.prices, options, live, plan.refused)
    unrefused = decide(plan.view, plan.prices, options, live, {}) if plan.refused else unbounded
    return Wishes(unbounded, unrefused)


def left_out(fix: Attempt, reasons: Reasons, wished: Wishes) -> tuple[SkippedClass, ...]:
    """Classes that would change if they were not refused or the budget were larger, in the order of the layers."""
    changed = {group.id for group, _ in resized_classes(fix.base, fix.end)}
    rows = []
    for group in fix.first.view.dimensions.classes:
        wish = wished.unrefused if group.id in fix.first.refused else wished.unbounded
        reason = _reason(fix, reasons, wished, group)
        if group.id in wish.sizes and group.id not in changed and reason:
            names = dict.fromkeys(layer.label for layer in (*group.deciders, *group.readers))
            rows.append(SkippedClass(group.size, wish.sizes[group.id], tuple(names), reason))
    return (*rows, *_unpadded(fix, reasons))


def _unpadded(fix: Attempt, reasons: Reasons) -> Iterator[SkippedClass]:
    """Inputs that a Pad would have widened."""
    dimensions = fix.first.view.dimensions
    for name, reason in reasons.items():
        group = dimensions.class_of(name[1], 1) if name[0] == PADDED else None
        if group is not None:
            layers = dict.fromkeys(layer.label for layer in group.readers)
            yield SkippedClass(group.size, group.size + int(name[2]), tuple(layers), reason)


def _reason(fix: Attempt, reasons: Reasons, wished: Wishes, group: DimensionClass) -> str:
    """Why a class stays; empty where nothing keeps it."""
    refused = fix.first.refused.get(group.id)
    if refused is not None:
        return reasons.get(name_of(fix.base, group)) or refused
    budget, decision = fix.first.options.budget, wished.unbounded
    if budget is None or group.id in fix.first.decision.sizes or group.id not in decision.sizes:
        return ""
    added = decision.after.bytes - decision.without(group.id).bytes
    return f"fix-budget-bytes {budget} does not allow it: {added:,} bytes more" if added > 0 else ""


def why_nothing(fix: Attempt, left: tuple[SkippedClass, ...], wished: Wishes) -> str:
    """Why a policy changes nothing, as one clause."""
    plan = fix.first
    if plan.options.budget is not None and wished.unbounded.sizes:
        return _skipped_over_budget(fix, wished.unbounded)
    reasons = list(dict.fromkeys([skipped.reason for skipped in left] + list(fix.unrewritten.values())))
    if reasons:
        more = len(reasons) - SHOWN
        return "; ".join(reasons[:SHOWN]) + (f"; and for {more} more reasons" if more > 0 else "")
    return _nothing_found(plan) + "".join(_hint(plan))


def _skipped_over_budget(fix: Attempt, wish: SizeDecision) -> str:
    """Changes that the budget forbids, with bytes that are enough: of channels, or fewer by rewriting."""
    plan = fix.first
    now, policy = plan.decision.after, plan.options.policy
    after = wish.repaired if wish.repairs else wish.after
    spent = plan.decision.spent
    needed = spent + after.bytes - wish.before.bytes
    if wish.repairs:
        left = sum(after.hazards)
        if (fewer := _by_rewriting(fix, left)) is not None and fewer < needed:
            needed, spent = fewer, 0
        aim = f"step around known errors or wrong results ({sum(now.hazards)} -> {left})"
    elif policy == "faster":
        saved = sum(now.instructions) - sum(after.instructions)
        aim = f"save {saved:,} predicted instructions (not cycles)"
    else:
        aim = f"make channel counts multiples of {plan.options.align}" if policy == "align" else "take missed kernels"
    there = f", {spent:,} of them for channels that do nothing already" if spent else ""
    return f"fix-budget-bytes {plan.options.budget} is too small to {aim}: {needed:,} bytes{there}"


def _by_rewriting(fix: Attempt, hazards: int) -> int | None:
    """Bytes that repairs by rewriting add; None where they leave more than so many hazards."""
    if not fix.unrewritten:
        return None
    new = rewritten(fix.base, free=False, room=None).state
    left = sum(new.plan.decision.before.hazards)
    return new.stored - fix.start.stored if left <= hazards else None


NOTHING = {
    "align": "every channel count that may change is a multiple of {align}, or would run into a known error as one",
    "route": "no missed routing condition can be satisfied by channel counts that may change",
    "faster": "no other sizes of the classes that may change cost fewer instructions",
}
"""Why a policy changes nothing where it found nothing."""


def _nothing_found(plan: ModelPlan) -> str:
    """Why there are no better sizes."""
    decision, options = plan.decision, plan.options
    have, best = sum(decision.before.instructions), sum(decision.best.instructions)
    if best < have and options.policy == "faster":
        return (
            f"the best sizes found save {100 * (have - best) / have:.2g} % of the predicted instructions, "
            f"which is less than min-gain {options.min_gain:g} %"
        )
    if not movable_classes(plan.view, {}):
        return (
            "every channel count is LOCKED"
            if plan.view.dimensions.classes
            else "no layer's weights decide a channel count"
        )
    if not have and options.policy == "faster":
        graph, records = plan.view.graph, plan.view.lowered.records
        kinds = [graph.elem_type(record.node.inputs[0]) for record in records if not record.layer]
        if not any(record.assumed for record in records) and any(kind.startswith("float") for kind in kinds):
            return "it computes in float: quantize it first, with calibration data"
        return "no layer's cost is known on these targets"
    several = " on one target and more on none" if len(plan.prices.targets) > 1 and options.policy == "faster" else ""
    unread = options.policy == "faster" and not options.weights
    note = "; channels that do nothing were not looked for (weights = false)" if unread else ""
    return NOTHING[options.policy].format(align=options.align) + several + note


def _hint(plan: ModelPlan) -> Iterator[str]:
    """Advice where symbolic sizes keep costs or kernels unknown."""
    missing = plan.view.graph.open_inputs
    lowered = plan.view.lowered
    sizes = (size for layer in lowered.layers for dims in layer.call[1:4] for size in dims)
    if missing and (lowered.undecided or None in sizes):
        yield f"; sizes are symbolic: give those marked ? with --input-shape {' --input-shape '.join(missing)}"


# What is told of a fix: classes, constants, layers, hazards, totals.


def _result(fix: Attempt, left: tuple[SkippedClass, ...]) -> FixResult:
    start, base, end, first = fix.start, fix.base, fix.end, fix.first
    rewrites = replaced(fix.rewrites)
    return FixResult(
        policy=start.request.options.policy,
        changed=True,
        written=False,
        reason="",
        failed=False,
        classes=tuple(class_changes(base, end, first)),
        tensors=tuple(tensor_changes(start, end)),
        layers=tuple(layer_changes(start, end, rewrites)),
        totals=tuple(totals(start, end, first, rewrites)),
        repairs=tuple(repairs(start, end, rewrites)),
        rewrites=tuple(rewrite_rows(fix.rewrites)),
        unrewritten=_unrewritten(fix),
        locked=locked(first, start.request.options),
        left=left,
        macs=macs(start, end, rewrites),
        bytes=Numbers(len(start.data), len(end.data)),
        added=tuple(fix.added.values()),
        notes=first.ended,
        proof=fix.proof,
        certificate=fix.certificate,
    )


def _unchanged(fix: Attempt, reason: str, left: tuple[SkippedClass, ...]) -> Fixed:
    """A model that stays as it is."""
    start = fix.start
    result = FixResult(
        policy=start.request.options.policy,
        changed=False,
        written=False,
        reason=reason,
        failed=fix.failed,
        totals=tuple(totals(start, start, fix.first, {})),
        unrewritten=_unrewritten(fix),
        locked=locked(fix.first, start.request.options),
        left=left,
        macs=macs(start, start, {}),
        bytes=Numbers(len(start.data), len(start.data)),
        notes=fix.first.ended,
        proof=fix.proof,
    )
    return Fixed(result, None, start)


def _unrewritten(fix: Attempt) -> tuple[SkippedRewrite, ...]:
    """Repairs that were needed and not done, in the order of the layers."""
    nodes = fix.start.graph.producers | fix.end.graph.producers
    rows = [(nodes[name[2]].label, name[1], reason) for name, reason in fix.unrewritten.items()]
    return tuple(SkippedRewrite(*row) for row in rows)


Replaced = Mapping[str, tuple[str, ...]]
"""First outputs of layers that were rewritten, each with those of the layers that do its work now."""


def replaced(rewrites: Iterable[RewrittenLayer]) -> Replaced:
    """What rewriting made of layers, one repair after the other."""
    outputs: dict[str, tuple[str, ...]] = {}
    for layer in rewrites:
        for output, parts in outputs.items():
            if layer.output in parts:
                split = ((layer.repair.made_by if part == layer.output else (part,)) for part in parts)
                outputs[output] = tuple(dict.fromkeys(name for names in split for name in names))
        if layer.repair.made_by:
            outputs.setdefault(layer.output, layer.repair.made_by)
    return outputs


def matched(before: Snapshot, after: Snapshot, rewrites: Replaced) -> Iterator[tuple[Layer, tuple[Layer, ...]]]:
    """Layers of the old model, each with those of the new one that do its work, matched by what they make."""
    new = {layer.node.outputs[0]: layer for layer in after.lowered.layers}
    for layer in before.lowered.layers:
        output = layer.node.outputs[0]
        working = tuple(new[name] for name in rewrites.get(output, (output,)) if name in new)
        if working:
            yield layer, working


def class_changes(before: Snapshot, after: Snapshot, plan: ModelPlan) -> Iterator[ClassChange]:
    """Classes whose size differs, in the order of the layers."""
    for group, want in resized_classes(before, after):
        lanes = plan.lanes.classes.get(group.id) if plan.lanes else None
        yield ClassChange(
            group.size,
            want,
            group.freedom.value,
            tuple(decider.label for decider in group.deciders),
            tuple(reader.label for reader in group.readers),
            len(lanes.constants) if lanes else 0,
            len(lanes.unread) if lanes else 0,
        )


def resized_classes(before: Snapshot, after: Snapshot) -> Iterator[tuple[DimensionClass, int]]:
    """Classes whose size differs, with the new one."""
    for group in before.dimensions.classes:
        want = _new_size(group, before, after)
        if want != group.size:
            yield group, want


def _new_size(group: DimensionClass, before: Snapshot, after: Snapshot) -> int:
    """Size of a class in the other model, by an axis that is the class alone, else by its number and layers."""
    for tensor, position in group.members:
        old, new = before.dimensions.axes(tensor), after.dimensions.axes(tensor)
        if old and new and old[position].form is AxisForm.LEAF and old[position].leaf == group.id:
            return new[position].size or group.size
    same = after.dimensions.class_with_id(group.id)
    layers = [layer.label for layer in group.deciders]
    return same.size if same and [layer.label for layer in same.deciders] == layers else group.size


def tensor_changes(before: Snapshot, after: Snapshot) -> Iterator[TensorChange]:
    """Stored constants that have another shape, are new, or are gone."""
    old, new = before.graph.constants, after.graph.constants
    for name, constant in old.items():
        if name not in new:
            yield TensorChange(name, constant.shape, None, bytes_of(constant), 0)
        elif constant.shape != new[name].shape:
            yield TensorChange(name, constant.shape, new[name].shape, bytes_of(constant), bytes_of(new[name]))
    for name, constant in new.items():
        if name not in old:
            yield TensorChange(name, None, constant.shape, 0, bytes_of(constant))


def layer_changes(before: Snapshot, after: Snapshot, rewrites: Replaced) -> Iterator[LayerChange]:
    """Layers with other channels or another call; a layer that became several is left out."""
    for old, (new, *more) in matched(before, after, rewrites):
        if not more and old.call._replace(bias=new.call.bias) != new.call:
            had, has = before.prices.of_layer(old), after.prices.of_layer(new)
            yield LayerChange(
                old.node.label,
                new.call.entry,
                (old.call.input_dims.c, old.call.output_dims.c),
                (new.call.input_dims.c, new.call.output_dims.c),
                tuple(price.route.effective for price in had),
                tuple(price.route.effective for price in has),
                tuple(price.instructions for price in had),
                tuple(price.instructions for price in has),
            )


def rewrite_rows(rewrites: Iterable[RewrittenLayer]) -> Iterator[Rewrite]:
    """Layers that were rewritten."""
    for layer in rewrites:
        costs = (layer.instructions, layer.new_instructions)
        yield Rewrite(layer.label, layer.row.name, layer.repair.text, layer.hazards, *costs, layer.steps)


def repairs(before: Snapshot, after: Snapshot, rewrites: Replaced) -> Iterator[Repair]:
    """Hazards of the old model's layers that the new one's do not have."""
    for old, new in matched(before, after, rewrites):
        for index, target in enumerate(before.prices.targets):
            now = [after.prices.of_layer(layer)[index].route.hazards for layer in new]
            left = {hazard.id for hazards in now for hazard in hazards}
            for hazard in before.prices.of_layer(old)[index].route.hazards:
                if hazard.id not in left:
                    yield Repair(old.node.label, target.label, hazard.id, hazard.what)


def totals(before: Snapshot, after: Snapshot, plan: ModelPlan, rewrites: Replaced) -> Iterator[TargetTotal]:
    """Predicted instructions of all layers whose cost is known before and after."""
    rows = [
        (old, before.prices.of_layer(old), [after.prices.of_layer(layer) for layer in new])
        for old, new in matched(before, after, rewrites)
    ]
    decision = plan.decision
    prices = zip(decision.repaired.instructions, decision.before.instructions, strict=True)
    for index, (target, (repaired, present)) in enumerate(zip(before.prices.targets, prices, strict=True)):
        costs = [(old, had[index].instructions, instructions_of([row[index] for row in has])) for old, had, has in rows]
        both = [(had, has) for _, had, has in costs if had is not None and has is not None]
        unknown = [old.node.label for old, had, has in costs if had is None or has is None]
        yield TargetTotal(
            target.label,
            measured_build(target),
            sum(had for had, _ in both),
            sum(has for _, has in both),
            repaired - present if decision.repairs else 0,
            len(unknown),
            tuple(unknown),
        )


def worse_clause(before: Snapshot, after: Snapshot, plan: ModelPlan, rewrites: Replaced) -> str:
    """How the new model is worse than predicted, as one clause; empty where it is not."""
    for old, new in matched(before, after, rewrites):
        for index, target in enumerate(before.prices.targets):
            had = before.prices.of_layer(old)[index].route
            has = [after.prices.of_layer(layer)[index].route for layer in new]
            if not set().union(*map(risks, has)) <= risks(had):
                return f"{old.node.label} would meet a known hazard on {target.label}"
    gaining = before.request.options.policy == "faster" and next(repairs(before, after, rewrites), None) is None
    for total in totals(before, after, plan, rewrites) if gaining else ():
        if total.new_instructions > total.instructions:
            return f"the fixed model would run more instructions on {total.target}"
    return ""


def macs(before: Snapshot, after: Snapshot, rewrites: Replaced) -> Numbers:
    """Multiply-accumulates of the layers where they are known in both."""
    rows = [(old.macs, [layer.macs for layer in new]) for old, new in matched(before, after, rewrites)]
    sums = [(old, [number for number in new if number is not None], len(new)) for old, new in rows]
    both = [(old, sum(new)) for old, new, layers in sums if old is not None and new and len(new) == layers]
    return Numbers(sum(old for old, _ in both), sum(new for _, new in both))


def locked(plan: ModelPlan, options: FixOptions) -> tuple[Locked, ...]:
    """LOCKED classes of interest to the policy: with a gain, or off the multiple."""
    rows = []
    for row in locked_gains(plan.view, plan.prices):
        if options.policy != "align" and row.gain == 0:
            break
        if options.policy == "align" and row.group.size % options.align == 0:
            continue
        names = dict.fromkeys(layer.label for layer in (*row.group.deciders, *row.group.readers))
        rows.append(Locked(row.group.size, row.want, row.gain, tuple(names), str(row.group.locks[0])))
    return tuple(rows)
