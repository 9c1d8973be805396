"""What CMSIS-NN computes of a model on each target, what that needs, and the names that people see."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.memory import activations, plan_arena
from onnxlint_cmsis.analysis.results import FileSummary, LayerShare, TargetSummary, short_names
from onnxlint_cmsis.analysis.verdict import RUNS, WITHOUT, WORDS, TargetVerdict
from onnxlint_cmsis.cmsis_nn.library import SAME, measured_with, parameters
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.findings import OPEN, Effect
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.lower.layer import Verdict
from onnxlint_cmsis.lower.quantization import quantized_model
from onnxlint_cmsis.model.graph import python_places
from onnxlint_cmsis.operators.record import Elements
from onnxlint_cmsis.runtimes.runtime import RuntimeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.fit import DeviceFit
    from onnxlint_cmsis.cmsis_nn.time import PredictedTime
    from onnxlint_cmsis.ground.findings import Finding, PythonPlace
    from onnxlint_cmsis.lower.lowered import LoweredLayer


# Names for people: short forms of the names in a model, and the Python code that layers were exported from.


class LayerNames(NamedTuple):
    """What people call the layers and tensors of a model."""

    names: Mapping[str, str]
    """Short forms of names that have one."""
    places: Mapping[str, PythonPlace]
    """Where layers were written, by label."""


def layer_names(model: ModelAnalysis) -> LayerNames:
    """Short names of all nodes and tensors of a model, and places of its layers, the same for every command.

    Operators of a `.tflite` file have numbers for names; there the tensors that they write are named like layers.
    """
    graph, layers = model.graph, [record.node for record in model.lowered.records]
    sources = python_places(graph) if graph.node_metadata else {}
    places = {node.label: sources[node.index] for node in layers if node.index in sources}
    modules = {label: source.module for label, source in places.items() if source.module}
    written = [node.outputs[0] for node in graph.nodes if node.outputs] if model.interpretation else []
    others = [name for node in graph.nodes for name in (node.label, *node.outputs)]
    others += [*graph.inputs, *graph.constants]
    names = short_names([*(node.label for node in layers), *written], filter(None, others), modules)
    copies = {copy.label: f"{names.get(copy.node.label, copy.node.label)}:transpose" for copy in model.copies}
    return LayerNames({**names, **copies}, places)


# Adds up what a model's layers are and need, from verdicts, routes and costs that the analysis has.


def summarize(model: ModelAnalysis) -> FileSummary:
    """What the model is and needs on each of its targets."""
    macs = [model.work[record.node.index].macs for record in model.repeated]
    targets = tuple(_on_target(model, target) for target in model.settings.targets)
    uses = None if model.interpretation else activations(model.graph, model.lowered)
    arena = None if uses is None else plan_arena(uses).size  # at least: a runtime may lay it out in its own way
    copies = tuple(copy.label for copy in model.copies)
    return FileSummary(targets, sum(number or 0 for number in macs), macs.count(None), arena, copies)


NO_REFERENCE = {
    RuntimeVerdict.REFUSED: Verdict.REFUSED,
    RuntimeVerdict.HALTS: Verdict.REFUSED,
    RuntimeVerdict.UNDECIDED: Verdict.UNDECIDED,
}
"""What a layer counts as that no reference code computes: the runtime stops there, or what runs is not decided."""


def _on_target(model: ModelAnalysis, target: Target) -> TargetSummary:
    groups: dict[Verdict, list[LoweredLayer]] = {verdict: [] for verdict in Verdict}
    for record in model.repeated:
        refusal, judged = model.refusal(record, target), model.judgements.get(record.node.index)
        verdict = refusal.verdict if refusal else Verdict.CMSIS_NN
        if judged is not None and verdict in (Verdict.REFERENCE, Verdict.REFUSED):
            verdict = NO_REFERENCE.get(judged.verdict, verdict)
        groups[verdict].append(record)
    run = groups[Verdict.CMSIS_NN]
    costs = _costs(model, run, groups, target)
    arena = None
    if model.interpretation:
        constants, flash = model.interpretation.constants, model.interpretation.flash
        scratch, arena = model.interpretation.scratch(target), model.interpretation.arena(target)
    else:
        constants = flash = sum(_constants(record, target) for record in model.lowered.records)
        requests = model.scratch(target)
        scratch = max((requests[record.node.index] for record in run if record.layer), default=0)
    return TargetSummary(
        target.label,
        _share(model, run)._replace(nodes=()),
        _share(model, groups[Verdict.REFERENCE]),
        _share(model, groups[Verdict.REFUSED]),
        _share(model, groups[Verdict.UNDECIDED]),
        costs.instructions,
        measured_with(target, floats=any(record.call and record.call.floating for record in run)),
        costs.unknown,
        constants,
        flash,
        scratch,
        arena.used if arena else None,
        arena.needed if arena else None,
        arena.to_write if arena else None,
        time_of(model, target, costs.range or (costs.instructions, costs.instructions), costs.unknown),
        costs.range,
        costs.share,
    )


class _Costs(NamedTuple):
    """Instructions of a model on one target."""

    instructions: int
    """Of the layers whose cost is one number, or one for each compiler: then that of the first."""
    unknown: int
    """Layers with neither a number nor a range."""
    range: tuple[int, int] | None
    """Least and most of all layers and copies; None where none has a range alone."""
    share: tuple[float, float] | None
    """Least and most part of CMSIS-NN; None where no other code is known, or the cost of a layer or copy is not."""


def _costs(
    model: ModelAnalysis, run: Sequence[LoweredLayer], groups: Mapping[Verdict, Sequence[LoweredLayer]], target: Target
) -> _Costs:
    costs = [model.cost(record, target, Verdict.CMSIS_NN) for record in run]
    others = [model.cost(record, target, Verdict.REFERENCE).range for record in groups[Verdict.REFERENCE]]
    copies = [model.copy_range(copy, target) for copy in model.copies]
    refused = len(groups[Verdict.REFUSED]) + len(groups[Verdict.UNDECIDED])
    unknown = sum(cost.ends is None for cost in costs) + others.count(None) + refused
    compilers = max((len(cost.by_compiler) for cost in costs), default=0) or 1
    sums = [
        _added([cost.by_compiler[row] if cost.by_compiler else cost.ends for cost in costs]) for row in range(compilers)
    ]
    least, most = min(end for end, _ in sums), max(end for _, end in sums)
    other_least, other_most = _added([*others, *copies])
    share = None
    known = not unknown and None not in copies and not model.unknown_copies
    if other_most and known and least:
        share = (least / (least + other_most), most / (most + other_least))
    ranges = (least + other_least, most + other_most)
    instructions = sum(cost.instructions or 0 for cost in costs)
    open_data = any(cost.ends and cost.ends[0] != cost.ends[1] for cost in costs)
    open_ends = open_data or other_most or most - least > SAME * most
    return _Costs(instructions, unknown, ranges if open_ends else None, share)


def _added(ranges: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """Sum of the ranges that are known."""
    known = [bounds for bounds in ranges if bounds is not None]
    return sum(least for least, _ in known), sum(most for _, most in known)


def time_of(model: ModelAnalysis, target: Target, instructions: tuple[int, int], unknown: int) -> PredictedTime | None:
    """The time of predicted instructions, the least and the most, without `unknown` layers; None without a clock."""
    clock = dict(zip(model.settings.targets, model.settings.clocks, strict=False)).get(target)
    if clock is None:
        return None
    from onnxlint_cmsis.cmsis_nn.time import predicted_time

    return predicted_time(target, clock, model.settings.memory, instructions, unknown)


def _share(model: ModelAnalysis, records: Sequence[LoweredLayer]) -> LayerShare:
    macs = sum(model.work[record.node.index].macs or 0 for record in records)
    return LayerShare(len(records), macs, tuple(record.node.label for record in records))


def _constants(record: LoweredLayer, target: Target) -> int:
    known = parameters(record.layer.call, target) if record.layer else None
    return known.total if known else 0


# From facts and findings to a verdict. What the reader hides or accepts of the findings changes nothing here.


WHOLE = 8
"""As many different numbers in one layer's weights, each of them whole, are no accident."""
LOOKED_AT = 4096
"""Weights of a layer that are looked at, however many it has."""
ASSUMED = {"s8": "int8", "s16": "int16", "s4": "int8 with int4 weights"}
"""What a model becomes that computes in float, in words."""


def verdicts(
    model: ModelAnalysis, summary: FileSummary, findings: Sequence[Finding], fits: Sequence[DeviceFit] = ()
) -> tuple[TargetVerdict, ...]:
    """A verdict for each target; `findings` are all that there are, before any is hidden or accepted."""
    pairs = zip(model.settings.targets, summary.targets, strict=True)
    given = tuple(_verdict(model, target, totals, summary, findings) for target, totals in pairs)
    by_target = {fit.flash.target: fit for fit in fits}
    return tuple(
        verdict._replace(
            ram=fit.ram.bytes if fit.ram else None,
            ram_room=fit.flash.room.ram,
            flash_room=fit.flash.room.flash,
            fits=fit.fits,
        )
        if (fit := by_target.get(verdict.target))
        else verdict
        for verdict in given
    )


def _conditions(model: ModelAnalysis) -> Iterator[str]:
    """What has to come of the file before it runs."""
    assume = model.settings.assume
    kind = ASSUMED.get(assume, assume)
    converted = model.settings.runtime.judges and not model.interpretation
    assumed = bool(model.lowered.assumed) or _is_float(model)
    if assumed and holds_integers(model):
        yield f"as {kind}{', once converted' if converted else ''}"
    elif assumed:
        yield f"as {kind}, once quantized{' and converted' if converted else ''}"
    elif converted:
        yield "once converted"
    if model.settings.runtime.asked:
        yield f"in {model.settings.runtime.title}, which reads such files"


def _is_float(model: ModelAnalysis) -> bool:
    """Whether code for integers is to compute a model of which nothing is quantized."""
    graph = model.graph
    if model.interpretation or model.settings.assume not in ASSUMED or quantized_model(graph):
        return False
    known = any(record.verdict is Verdict.REFERENCE for record in model.lowered.records)
    return known and any(graph.elem_type(name).startswith("float") for name in graph.inputs)


def holds_integers(model: ModelAnalysis) -> bool:
    """Whether its floats are integers already, as tools for DORY and Deeploy store them.

    They are where it requantizes; else the smallest weights of more than WHOLE numbers decide.
    """
    graph = model.graph
    if any(operator_of(node).elements is Elements.REQUANTIZED for node in graph.nodes):
        return True
    layers = [record.node for record in model.lowered.records if record.assumed and record.weighted]
    weights = {node.inputs[operator_of(node).roles.second] for node in layers} & graph.constants.keys()
    sizes = {key: prod(graph.constants[key].shape) for key in weights}
    smallest = min((key for key in sizes if sizes[key] > WHOLE), key=lambda key: (sizes[key], key), default="")
    values = model.read_allowed(smallest) if smallest else None
    some = values.ravel()[:LOOKED_AT] if values is not None and values.dtype.kind == "f" else None
    numbers = set() if some is None else {*some.tolist()}
    return len(numbers) >= WHOLE and all(float(number).is_integer() for number in numbers)


def _verdict(
    model: ModelAnalysis, target: Target, totals: TargetSummary, summary: FileSummary, findings: Sequence[Finding]
) -> TargetVerdict:
    layers: dict[Effect, dict[str, None]] = {effect: {} for effect in WORDS}
    facts = [*_facts(model, target)]
    for label, effect, _ in facts:
        if effect in layers:
            layers[effect][label] = None
    codes: dict[Effect, dict[str, None]] = {effect: {} for effect in WORDS}
    for finding in findings:
        if finding.effect in codes and (not finding.targets or target.label in finding.targets):
            codes[finding.effect][finding.selector] = None
            layers[finding.effect].update(dict.fromkeys(filter(None, [finding.location.node])))
    worst = next((effect for effect in WORDS if layers[effect] or codes[effect]), None)
    order = {node.label: node.index for node in model.graph.nodes}
    stops = worst is Effect.STOPS
    conditions = [*_conditions(model)]
    if stops and layers[Effect.STOPS].keys() <= {label for label, _, halts in facts if halts}:
        everywhere = model.interpretation is not None and model.interpretation.stop(target)
        conditions += [] if everywhere else ["in builds with checks"]
    given = {effect.value: effect for effect in WORDS}
    open_to = [given[str(said.properties[OPEN])] for said in findings if said.properties.get(OPEN) in given]
    if worst and any(effect.rank < worst.rank for effect in open_to) and worst is not Effect.UNKNOWN:
        conditions.append(f"with some sizes {WORDS[min(open_to, key=lambda effect: effect.rank)]}")
    word = WORDS[worst] if worst else RUNS
    if worst is Effect.REFERENCE and not totals.cmsis_nn.layers:
        word = WITHOUT
    known = not stops and totals.cost_known
    arena = totals.arena_needed if model.interpretation else summary.arena
    share = totals.cmsis_nn_share if worst is Effect.REFERENCE else None
    return TargetVerdict(
        totals.target,
        word,
        tuple(sorted(layers[worst], key=lambda label: order.get(label, len(order)))) if worst else (),
        tuple(sorted(codes[worst])) if worst else (),
        "; ".join(conditions),
        every=sum(share.layers for share in (totals.cmsis_nn, totals.reference_code, totals.refused, totals.undecided)),
        share=(1 - share[1], 1 - share[0]) if share else None,
        instructions=(totals.instructions_range or (totals.instructions, totals.instructions)) if known else None,
        unknown_cost=totals.unknown_cost,
        time=totals.time.range if known and totals.time and totals.time.milliseconds else "",
        arena=None if stops else arena,
        arena_exact=model.interpretation is not None,
        arena_to_write=None if stops else totals.arena_to_write if model.interpretation else summary.arena,
        flash=totals.flash,
    )


def _facts(model: ModelAnalysis, target: Target) -> Iterator[tuple[str, Effect, bool]]:
    """Operators of a `.tflite` file, and other layers that CMSIS-NN does not compute.

    (label, effect, whether it halts, which builds with checks alone do)
    """
    computed = {record.node.index for record in model.repeated}
    for operator in model.interpretation.operators(target) if model.interpretation else ():
        effect, own = operator.row.effect, operator.row.own
        if effect is Effect.REFERENCE and (operator.node is None or operator.node.index not in computed):
            continue
        if effect is not Effect.WRONG or own:  # what a function of CMSIS-NN does wrong is a finding
            yield operator.row.label, effect, operator.row.verdict is RuntimeVerdict.HALTS
    for record in () if model.interpretation else model.repeated:
        refusal, judged = model.refusal(record, target), model.judgement(record, target)
        if judged is not None and judged.row is not None:
            effect = judged.effect(model.settings.runtime)
            yield record.node.label, effect, judged.verdict is RuntimeVerdict.HALTS
        elif refusal is not None and refusal.verdict is Verdict.REFERENCE and judged is None:
            yield record.node.label, Effect.REFERENCE, False
        elif refusal is not None:
            yield record.node.label, Effect.UNKNOWN, False
