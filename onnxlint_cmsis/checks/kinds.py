"""Kinds of checks that several rules run: hazards, quantization, routing, runtimes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.facts import brief_advice, brief_price, group_of, option_apart, price_text, saved_facts
from onnxlint_cmsis.checks.near_by import (
    UNMEASURED,
    Gain,
    about_padding,
    judge,
    met_by,
    pad_in_front,
    right_releases,
    span,
    works,
)
from onnxlint_cmsis.checks.rule import ModelSubject, RuleCause, Subject, freedom_text, with_resize
from onnxlint_cmsis.cmsis_nn.conditions import Condition
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.library import Route, delegations_of, evidence
from onnxlint_cmsis.cmsis_nn.rows import RETRAIN, Origin
from onnxlint_cmsis.ground.findings import MEASURED, Content, Effect, Resize, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom, KernelCall, Level, Target
from onnxlint_cmsis.lower.decision import Cause, Decision
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.work import ENOUGH, SMALLEST, percent, share_of_work, total
from onnxlint_cmsis.model.node_location import node_location
from onnxlint_cmsis.runtimes.remark import RuntimeRemark
from onnxlint_cmsis.runtimes.runtime import TFLM
from onnxlint_cmsis.runtimes.status import status_text, status_use

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.checks.facts import ClassFact
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.model.graph import Graph, Node
    from onnxlint_cmsis.runtimes.conditions import Consequence


# What the execution checks share: report the hazards of a route, and a channel count that steps around them.


RETURNS_ERROR = "returns-error"
"""Kind of hazards whose status a runtime may drop."""


class HazardCheck(NamedTuple):
    """The hazards of some kinds."""

    kinds: tuple[str, ...]
    """Kinds of the hazard rows it reports."""

    def __call__(self, subject: Subject) -> Iterator[Statement]:
        """Yield one statement for each hazard of these kinds on one layer and target."""
        for hazard in subject.route.hazards:
            if hazard.kind in self.kinds:
                yield _statement(subject, hazard)

    def there(self, said: Content, route: Route) -> bool:
        """Whether what was said holds for another route of its layer."""
        return any(hazard.id == said.properties["hazard"] for hazard in route.hazards)


def _statement(subject: Subject, hazard: Hazard) -> Statement:
    # No size helps where a compiler makes the hazard: another compiler does.
    repair = None if hazard.compiler else next(repairs(subject), None)
    numbers = _numbers(subject, hazard)
    near = () if hazard.compiler else tuple(works(subject, hazard))
    exact = pad_in_front(subject) if about_padding(hazard) else ""
    if exact and all(other.retrain for other in near):  # nothing has to be trained again
        near = ()
    sure = hazard.on(subject.target) is not None
    met = met_by(subject, hazard)
    parts = [f"{subject.route.effective} {hazard.brief}{f': {met}' if met else ''}."]
    mending: list[str] = []
    if near:
        others = "".join(f", and so does {other.words}" for other in near[1:])
        verb = "work" if near[0].words.endswith("channels") else "works"
        mending.append(f"{near[0].words} {verb}{others}.")
        if any(other.retrain for other in near):
            mending.append(f"{'This' if len(near) == 1 else 'Either'} {RETRAIN}.")
    open_way = repair is not None and repair[0].freedom is not Freedom.LOCKED
    if repair and open_way:
        mending.append(way_out(*repair))
    if not near and (exact or not open_way):
        mending += _way_round(subject, hazard, exact)
    if repair and not open_way and not mending:
        mending.append(f"{_taken(*repair)}, but {freedom_text(repair[0])}.")
    if not sure:
        parts.append(_not_sure(subject.target))
    if hazard.kind == RETURNS_ERROR:
        seen = status_text(subject.model.settings.runtime.name, subject.layer.call.entry)
        parts += [seen] if seen else []
    releases = span(subject, hazard)
    brief = subject.say(" ".join(parts)).message
    parts += [f"Present {releases}."] if releases else []
    means = f"{repair[0].variable} {repair[0].freedom.value}" if repair else ""
    said = replace(
        subject.say(" ".join(parts)),
        sources=(hazard.origin.source(subject.target.release),),
        properties={**facts(hazard, subject.target.release), **({"sizes": numbers} if numbers else {})},
        group=f"{hazard.id} {means}".strip(),
        remedy=" ".join(mending),
        brief=brief,
        level=None if sure else Level.WARNING,
        effect=_effect(subject, hazard) if sure else None,
    )
    return with_resize(said, *repair) if repair else said


def _effect(subject: Subject, hazard: Hazard) -> Effect | None:
    """Wrong values where the runtime never looks at a status; elsewhere what the rule says."""
    if hazard.kind != RETURNS_ERROR or subject.model.settings.runtime.name != TFLM:
        return None
    use = status_use(subject.layer.call.entry)
    return Effect.WRONG if use is not None and use.unseen else None


def _not_sure(target: Target) -> str:
    """Why a compiler's defect may not be there."""
    if target.compiler_version:
        return f"{target.compiler} {target.compiler_version} was not run and may do the same."
    return f"Which {target.compiler} builds it is not known; --compiler {target.compiler}@VERSION says it."


def way_out(change: Resize, kernel: str) -> str:
    """The sentence on a channel count that may change and meets no hazard."""
    return f"{_taken(change, kernel)}, of which no hazard is known ({change.freedom.value})."


def _taken(change: Resize, kernel: str) -> str:
    """`17 input channels for 12 take arm_convolve_s8`."""
    if change.variable == "ch_mult":
        return f"A channel multiplier of {change.want} for {change.have} takes {kernel}"
    return f"{change.want} input channels for {change.have} take {kernel}"


def _way_round(subject: Subject, hazard: Hazard, exact: str) -> Iterator[str]:
    """What helps: nodes that pad in front, what the row says, a release."""
    if exact:
        yield f"{exact}, in place of the layer's padding, {'compute' if ' and a ' in exact else 'computes'} the same."
        if subject.layer.assumed:
            yield "Quantize first: in a float model exporters and ONNX Runtime's pre-processing fold a Pad back."
    elif hazard.way_round:
        yield hazard.way_round
    else:
        others = right_releases(subject)
        if others:
            yield f"CMSIS-NN {others[0]} has no known hazard here."


def facts(hazard: Hazard, release: str) -> dict[str, str | int | float | bool]:
    """What is the same for every layer that meets a hazard: its name, why it happens, how that is known."""
    return {"hazard": hazard.id, "why": hazard.what, "known": evidence(hazard, release)}


def _numbers(subject: Subject, hazard: Hazard) -> str:
    """What the layer has and what is allowed, with the tensors whose sizes these are; empty where none decides."""
    values = subject.route.seen if hazard.kernels else subject.layer.call.variables()
    text = hazard.numbers(values)
    tensors = subject.tensors()
    meant = [dims for dims in tensors if f"{dims}." in text] or ["input_dims", "output_dims"]
    named = ", ".join(f"{dims} of '{tensors[dims]}'" for dims in meant if dims in tensors)
    return f"{text} ({named})" if text and named else text


def repairs(subject: Subject) -> Iterator[tuple[Resize, str]]:
    """Channel counts within reach whose route has no hazard, changeable ones first."""
    sentences = []
    for variable in ("input_dims.c", "ch_mult"):
        if variable == "ch_mult" and not _has_multiplier(subject):
            continue
        for want, route in subject.candidates(variable):
            if route.kernel and not route.undecided and not route.hazards and not route.open_hazards:
                sentences.append((subject.resize(variable, want), route.effective))
                break
    yield from sorted(sentences, key=lambda pair: pair[0].freedom is Freedom.LOCKED)


def _has_multiplier(subject: Subject) -> bool:
    """Tell whether a layer has several outputs per channel: one with one each is of another kind."""
    if (subject.size("ch_mult") or 0) < 2:
        return False
    return subject.model.dimensions.multiplier_class(subject.layer.node.index) is not None


# What the rules of quantization share: nodes that CMSIS-NN does not compute for one reason are told of together.


class Offence(NamedTuple):
    """Nodes that no function of CMSIS-NN computes for one reason."""

    decision: Decision
    """Who computes them instead, and why."""
    records: tuple[LoweredLayer, ...]
    """The nodes, in file order."""
    targets: tuple[str, ...] = ()
    """Labels of the targets whose release decides it; empty where the model's own facts do."""


EFFECTS = {
    Outcome.CMSIS_NN: Effect.NOTE,
    Outcome.REFERENCE: Effect.REFERENCE,
    Outcome.NO_KERNEL: Effect.NO_KERNEL,
    Outcome.UNDECIDED: Effect.UNKNOWN,
}
"""What it does to whoever runs the model that a node is computed so."""
WHO = {Outcome.REFERENCE: "your reference code computes it", Outcome.NO_KERNEL: "no kernel computes it"}
"""Who computes a node beside CMSIS-NN where no runtime does, as a clause."""
Remedy = Callable[["Graph", Sequence[LoweredLayer]], str]
"""What to change about the quantization of some nodes, as sentences."""


class QuantizationCheck(NamedTuple):
    """The nodes that are not computed for some causes."""

    causes: tuple[str, ...]
    """Causes it reports, as its rule claims them."""
    remedy: Remedy
    """What it says to do."""
    always_warn: bool = False
    """Whether reference code is worth a warning whatever its share of the work."""

    def __call__(self, subject: ModelSubject) -> Iterator[Statement]:
        """Yield one statement for each node; those of one reason have one level, and the first says what mends all."""
        for offence in offences(subject, self.causes):
            level = Level.WARNING if self.always_warn else None
            yield from statements(subject, offence, self.remedy, level)


def offences(subject: ModelSubject, causes: tuple[str, ...]) -> Iterator[Offence]:
    """Nodes that the model's own facts keep off CMSIS-NN, one group for each reason, then those of a release."""
    judged = subject.model.judged
    elsewhere: frozenset[int] = judged.elsewhere if judged else frozenset()
    groups: dict[tuple[Outcome, str, str], list[LoweredLayer]] = {}
    for record in subject.lowered.beside:
        if record.cause in causes and record.node.index not in elsewhere:
            groups.setdefault((record.verdict, record.reason, _becomes(subject, record)), []).append(record)
    for same in groups.values():
        first = same[0]
        yield Offence(Decision(first.verdict, first.cause or Cause.NO_FUNCTION, first.reason, first.code), tuple(same))
    yield from _of_releases(subject, causes)


def _of_releases(subject: ModelSubject, causes: tuple[str, ...]) -> Iterator[Offence]:
    groups: dict[Decision, dict[int, LoweredLayer]] = {}
    targets: dict[Decision, dict[str, None]] = {}
    for record, refusal, layer in subject.release_refusals:
        if refusal.cause in causes:
            groups.setdefault(refusal, {})[record.node.index] = record
            targets.setdefault(refusal, {})[layer.target.label] = None
    for decision, releases in groups.items():
        yield Offence(decision, tuple(releases.values()), tuple(targets[decision]))


def statements(
    subject: ModelSubject, offence: Offence, remedy: Remedy, level: Level | None = None
) -> Iterator[Statement]:
    """What is said of nodes with one reason; reference code is milder than no code, by its share of the work."""
    graph, decision, records = subject.model.graph, offence.decision, offence.records
    consequence, judged = _consequence(subject, records[0]), subject.model.settings.runtime.judges
    share = share_of_macs(subject.model, records)
    facts: dict[str, str | int | float | bool] = {"verdict": decision.verdict.value, "cause": decision.cause.value}
    if share:
        facts["share"] = round(share, 4)
    if consequence:
        level = Level.ERROR if consequence.level is None else consequence.level
        facts["runtime"] = consequence.reason
    if level is None:
        refused = offence.decision.verdict is Outcome.NO_KERNEL and any(record.weighted for record in offence.records)
        level = Level.WARNING if is_much(subject.model, offence.records) else Level.NOTE
        level = Level.ERROR if refused else level
    for rank, record in enumerate(records):
        mending, option = option_apart(remedy(graph, records if rank == 0 else [record]))
        becomes = _becomes(subject, record)
        text = f"{described(record.node)}: {becomes or _instead(offence, share, judged=judged)}: {decision.reason}."
        where = node_location(graph.path, record.node)
        group = ": ".join(filter(None, (becomes, decision.reason)))
        more = {**facts, **({"option": option} if option else {})}
        said = Statement(text, where, offence.targets, level=level, properties=more, group=group)
        less = becomes or _instead(offence, share, judged=judged, brief=True)
        brief = f"{described(record.node)}: {less}: {decision.reason}."
        effect = consequence.effect if consequence else EFFECTS[decision.verdict]
        yield replace(said, remedy=mending, brief=brief, brief_remedy=brief_advice(mending), effect=effect)


def _becomes(subject: ModelSubject, record: LoweredLayer) -> str:
    """What the runtime makes of a node for this reason, as a clause; empty where CMSIS-NN is called directly."""
    consequence = _consequence(subject, record)
    return consequence.text if consequence else ""


def _consequence(subject: ModelSubject, record: LoweredLayer) -> Consequence | None:
    judged = subject.model.judged
    return judged.consequences.get(record.node.index) if judged else None


def described(node: Node) -> str:
    """`Conv 'n0'`, with the domain in front where it is not the default one."""
    operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    return f"{operator} '{node.label}'"


def share_of_macs(model: ModelAnalysis, records: Sequence[LoweredLayer]) -> float:
    """Part of the model's multiply-accumulates, 0 where a size is unknown."""
    mine = total(model.work[record.node.index].macs for record in records)
    every = total(work.macs for work in model.work.values())
    return mine / every if mine and every else 0.0


def is_much(model: ModelAnalysis, records: Sequence[LoweredLayer]) -> bool:
    """Whether nodes in reference code are worth a warning; weights are, where a size is unknown."""
    share = share_of_work(model.work, [record.node.index for record in records])
    return any(record.weighted for record in records) if share is None else share >= ENOUGH


def _instead(offence: Offence, share: float, *, judged: bool, brief: bool = False) -> str:
    """Who computes them, and how much of the model's work they are where they multiply by weights, as a clause.

    `judged` is False where the application calls the functions itself, and brings reference code too.
    """
    refused = offence.decision.verdict is Outcome.NO_KERNEL
    who = "no kernel computes" if refused else f"{'' if judged else 'your '}reference code computes"
    part = "MACs" if brief else "model's multiply-accumulates"
    share_text = f" ({percent(share)} of the {part})" if share >= SMALLEST else ""
    count = len(offence.records)
    return f"{who} {'it' if count == 1 else f'these {count} nodes'}{share_text}"


# What the routing checks share: find a miss, look for a channel count that reaches the kernel, weigh the evidence.


class RoutingCheck(NamedTuple):
    """One routing constraint of the wrappers."""

    entries: frozenset[str]
    """Entry points it speaks of."""
    kernels: frozenset[str]
    """Kernels that satisfy it, taken or effective."""
    scope: Condition
    """When a miss is worth telling: the layer is of the kernel's kind."""
    variables: tuple[str, ...] = ()
    """Channel counts that may reach the kernel."""
    told: frozenset[str] = frozenset()
    """Kernels whose unmet conditions are told; empty for all."""
    gain: Gain = UNMEASURED
    """Where the kernels are known to be faster."""
    builds: Callable[[Target], bool] | None = None
    """Which builds it speaks of, where the kernels are the same code in others; None for all."""

    def __call__(self, subject: Subject) -> Iterator[Statement]:
        """Yield at most one statement on one layer and target."""
        if not self.misses(subject):
            return
        reached = next(self.reach(subject), None)
        if reached is None:
            yield from _out_of_reach(self, subject)
        elif reached.route.effective not in ("", subject.route.effective):  # undecided, or the same work as before
            yield from _reachable(self, subject, reached)

    def misses(self, subject: Subject) -> bool:
        """Tell whether the layer is of the kernels' kind, and decided, and takes another kernel."""
        taken = subject.route
        if not taken.kernel or taken.undecided or self.satisfied(taken):
            return False
        if self.builds is not None and not self.builds(subject.target):
            return False
        return self.concerns(subject.layer.call)

    def concerns(self, call: KernelCall) -> bool:
        """Tell whether the layer is of the kernels' kind, whichever it takes."""
        return call.entry in self.entries and self.scope.evaluate(call.variables()) is True

    def satisfied(self, route: Route) -> bool:
        """Tell whether a route takes a wanted kernel, by the wrapper or by delegation."""
        return route.kernel in self.kernels or route.effective in self.kernels

    def there(self, _said: Content, route: Route) -> bool:
        """Whether what was said holds for another route of its layer."""
        return not self.satisfied(route)

    def reach(self, subject: Subject) -> Iterator[Reached]:
        """Channel counts above the present ones that take a wanted kernel, nearest first."""
        for variable in self.variables:
            for want, route in subject.candidates(variable):
                if self.satisfied(route):
                    yield Reached(variable, want, route)


class Reached(NamedTuple):
    """A channel count that takes the wanted kernel."""

    variable: str
    """CMSIS-NN's name of the count."""
    want: int
    """Nearest size above."""
    route: Route
    """Route at that size."""


class Miss(NamedTuple):
    """Why a wanted kernel is not taken."""

    kernel: str
    """The wanted kernel."""
    failed: tuple[Condition, ...]
    """Conditions that do not hold."""
    origin: Origin
    """Where they stand in the C source."""

    def explain(self, subject: Subject) -> str:
        """Name the conditions with what the layer has."""
        values = subject.layer.call.variables()
        return f"{self.kernel} needs {' and '.join(part.explain_with(values) for part in self.failed)}"


def misses_of(check: RoutingCheck, subject: Subject) -> Iterator[Miss]:
    """Branches and tiles of this release and instruction set that lead to a wanted kernel, with what failed."""
    taken, values = subject.route, subject.layer.call.variables()
    told = check.told or check.kernels
    for branch, failed in taken.tried:
        if branch.kernel in told and failed and not _same_work(branch.kernel, subject):
            yield Miss(branch.kernel, failed, branch.place_of(failed[0]))
    for kernel in taken.chain:
        for row in delegations_of(kernel, subject.target.release, subject.target.isa):
            failed = row.when.failures(values)
            if row.callee in told and failed:
                yield Miss(row.callee, failed, row.origin)


def _same_work(kernel: str, subject: Subject) -> bool:
    """Tell whether a kernel only hands on to what runs already, as 1xN does without MVE."""
    values, target = subject.layer.call.variables(), subject.target
    while kernel:
        if kernel == subject.route.effective:
            return True
        rows = delegations_of(kernel, target.release, target.isa)
        kernel = next((row.callee for row in rows if row.when.evaluate(values)), "")
    return False


def _reachable(check: RoutingCheck, subject: Subject, reached: Reached) -> Iterator[Statement]:
    miss = next(misses_of(check, subject), None)
    if miss is None or reached.route.hazards:  # nobody should take a size at which the kernel fails
        return
    change = subject.resize(reached.variable, reached.want)
    after = subject.layer.resized(reached.variable, reached.want)
    level, verdict = judge(check.gain, subject.target, subject.layer.call, after)
    text = (
        f"{change.variable} {change.have} -> {change.want} would take {reached.route.effective} instead of "
        f"{subject.route.effective}"
    )
    said = replace(
        subject.say(f"{text}: {miss.explain(subject)}. {freedom_text(change)}."),
        level=Level.NOTE if change.freedom is Freedom.LOCKED else level,
        properties={f"{MEASURED}{subject.target.cpu}": f"{verdict}."},
        brief=subject.say(f"{text}.").message,
    )
    yield _cited(with_resize(said, change, reached.route.effective), subject, miss)


STEPS = frozenset({"stride.h", "stride.w", "dilation.h", "dilation.w"})
"""Variables that are no sizes: what a layer computes hangs on them, and no size makes up for them."""


def _out_of_reach(check: RoutingCheck, subject: Subject) -> Iterator[Statement]:
    """A miss that no channel count changes; silent where no other size does either."""
    miss = next(misses_of(check, subject), None)
    sized = miss is not None and all(part.names() - STEPS for part in miss.failed)
    if miss is not None and sized and not subject.route.hazards:
        text = f"runs {subject.route.effective}: {miss.explain(subject)}."
        yield _cited(replace(subject.say(text), level=Level.NOTE, wanted=miss.kernel), subject, miss)


def _cited(said: Statement, subject: Subject, miss: Miss) -> Statement:
    conditions = " and ".join(part.explain() for part in miss.failed)
    change = said.resize.freedom.value if said.resize else str(said.properties.get("hazard", ""))
    group = f"{miss.kernel}: {conditions}; {change}"
    return replace(said, sources=(miss.origin.source(subject.target.release),), group=group)


# What the rules of scope RUNTIME share: one remark becomes one finding.


CONVERTER_DECIDES = "converter_decides"
"""Property of findings on an ONNX model that hold only if the converter writes what is expected."""


_NAMES = r"#(?:, #)*(?: and # more)?"
"""Names and numbers in what `group_of` makes of a message: as many layers as have one reason."""


def about_remark(remark: RuntimeRemark) -> Statement:
    """What a runtime makes of some layers, and where its source says so."""
    text = f"{remark.message} [{remark.source}]" if remark.source else remark.message
    facts: dict[str, str | int | float | bool] = {"verdict": remark.verdict.value, "nodes": ", ".join(remark.nodes)}
    if remark.converter:
        facts[CONVERTER_DECIDES] = True
    said = Statement(text, remark.location, remark.targets, properties=facts, level=remark.level, effect=remark.effect)
    group = f"{remark.verdict.value}: {re.sub(_NAMES, '#', group_of(remark.message))}"
    return replace(said, brief=remark.message, group=group)


class RemarkCheck(NamedTuple):
    """The remarks on a runtime that a rule claims, each with what its cause says to do."""

    causes: tuple[RuleCause, ...]
    """Causes of the rule."""

    def __call__(self, remark: RuntimeRemark) -> Iterator[Statement]:
        """Yield the one statement."""
        do = remark.do or next(cause.do for cause in self.causes if cause.key == remark.cause)
        yield replace(about_remark(remark), cause=remark.cause, remedy=do)


# What `--fix` does about errors and wrong results, and at which price: told with the finding that it repairs.


def priced(findings: Iterable[Finding], repairs: Iterable[ClassFact]) -> Iterator[Finding]:
    """The findings on layers; those that a class's new size repairs say so."""
    by_hazard = {hazard: fact for fact in repairs for hazard in fact.repaired}
    for finding in findings:
        fact = by_hazard.get((str(finding.properties.get("hazard", "")), finding.location.node))
        yield finding if fact is None else _priced(finding, fact)


def _priced(finding: Finding, fact: ClassFact) -> Finding:
    repair = f"--fix repairs it with {fact.want} channels for {fact.group.size}"
    properties = {**finding.properties, **{f"repair_{name}": value for name, value in saved_facts(fact).items()}}
    return replace(
        finding,
        remedy=f"{finding.remedy} {repair}: {price_text(fact)}.".strip(),
        brief_remedy=f"{_beside(finding, fact)} {repair}: {brief_price(fact)}.".strip(),
        properties={**properties, "fixable": True},
    )


def _beside(finding: Finding, fact: ClassFact) -> str:
    """The remedy without the sentence on the channel count that the fix gives as well."""
    change = finding.resize
    if change is None or (change.have, change.want) != (fact.group.size, fact.want):
        return finding.remedy
    return finding.remedy.replace(way_out(change, finding.wanted), "").strip()
