"""From facts and findings to a verdict. What the reader hides or accepts of the findings changes nothing here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict import RUNS, WITHOUT, WORDS, TargetVerdict
from onnxlint_cmsis.ground.findings import OPEN, Effect, Finding
from onnxlint_cmsis.lower.find_quantization import quantized_model
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.work import share_of_work

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.memory_needs import DeviceFit
    from onnxlint_cmsis.analysis.results import FileSummary, TargetSummary
    from onnxlint_cmsis.ground.types import Target


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
    converted = model.execution.judged is not None
    assumed = bool(model.lowered.assumed) or _is_float(model)
    if assumed and model.holds_integers:
        yield f"as {kind}{', once converted' if converted else ''}"
    elif assumed:
        yield f"as {kind}, once quantized{' and converted' if converted else ''}"
    elif converted:
        yield "once converted"
    if model.settings.runtime.asked:
        yield f"in {model.settings.runtime.title}, which reads such files"


def _is_float(model: ModelAnalysis) -> bool:
    """Tell whether code for integers is to compute a model of which nothing is quantized."""
    graph = model.graph
    if model.execution.reads_file or model.settings.assume not in ASSUMED or quantized_model(graph):
        return False
    known = any(record.verdict is Outcome.REFERENCE for record in model.lowered.records)
    return known and any(graph.elem_type(name).startswith("float") for name in graph.inputs)


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
        of_image = any(said.effect is Effect.STOPS and not said.location.node for said in findings)
        everywhere = of_image or model.execution.stop(target)
        conditions += [] if everywhere else ["in builds with checks"]
    given = {effect.value: effect for effect in WORDS}
    open_to = [given[str(said.properties[OPEN])] for said in findings if said.properties.get(OPEN) in given]
    if worst and any(effect.rank < worst.rank for effect in open_to) and worst is not Effect.UNKNOWN:
        conditions.append(f"with some sizes {WORDS[min(open_to, key=lambda effect: effect.rank)]}")
    word = WORDS[worst] if worst else RUNS
    missing = [label for label in layers[worst] if label in order] if worst is Effect.NO_KERNEL else []
    if worst is Effect.REFERENCE and not totals.cmsis_nn.layers:
        word = WITHOUT
    known = not stops and totals.cost_known
    exact = model.execution.reads_file
    arena = totals.arena_needed if exact else summary.arena
    share = totals.cmsis_nn_share if worst is Effect.REFERENCE else None
    return TargetVerdict(
        totals.target,
        word,
        tuple(sorted(layers[worst], key=lambda label: order.get(label, len(order)))) if worst else (),
        tuple(sorted(codes[worst])) if worst else (),
        "; ".join(conditions),
        every=totals.layers,
        share=(1 - share[1], 1 - share[0]) if share else None,
        work=share_of_work(model.work, [order[label] for label in missing]) if missing else None,
        instructions=(totals.instructions_range or (totals.instructions, totals.instructions)) if known else None,
        unknown_cost=totals.unknown_cost,
        time=totals.time.at_clock if known and totals.time and totals.time.milliseconds else "",
        milliseconds=totals.time.milliseconds if known and totals.time else None,
        arena=None if stops else arena,
        arena_exact=exact,
        arena_to_write=None if stops else totals.arena_to_write if exact else summary.arena,
        flash=totals.flash,
    )


def _facts(model: ModelAnalysis, target: Target) -> Iterator[tuple[str, Effect, bool]]:
    """Operators of a `.tflite` file, and other layers that CMSIS-NN does not compute.

    (label, effect, whether it halts, which builds with checks alone do)
    """
    computed = {record.node.index for record in model.repeated}
    for operator in model.execution.operators(target):
        effect, own = operator.row.effect, operator.row.own
        if effect is Effect.REFERENCE and (operator.node is None or operator.node.index not in computed):
            continue
        if effect is not Effect.WRONG or own:  # what a function of CMSIS-NN does wrong is a finding
            yield operator.row.label, effect, operator.row.verdict is Outcome.HALTS
    for record in () if model.execution.reads_file else model.repeated:
        refusal, judged = model.refusal(record, target), model.judgement(record, target)
        if judged is not None and judged.row is not None:
            effect = judged.effect(model.settings.runtime)
            yield record.node.label, effect, judged.verdict is Outcome.HALTS
        elif refusal is not None and refusal.verdict is Outcome.REFERENCE and judged is None:
            yield record.node.label, Effect.REFERENCE, False
        elif refusal is not None:
            missing = refusal.verdict is Outcome.NO_KERNEL and judged is None
            yield record.node.label, Effect.NO_KERNEL if missing else Effect.UNKNOWN, False
