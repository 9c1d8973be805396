"""What a model's layers are and need, added up from verdicts, routes and costs that the analysis has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.activations import activations
from onnxlint_cmsis.analysis.arena_plan import plan_arena
from onnxlint_cmsis.analysis.layer_times import model_times
from onnxlint_cmsis.analysis.results import FileSummary, LayerShare, TargetSummary
from onnxlint_cmsis.cmsis_nn.library import SAME, measured_with
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.ground.types import Target
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def summarize(model: ModelAnalysis) -> FileSummary:
    """What the model is and needs on each of its targets."""
    macs = [model.work[record.node.index].macs for record in model.repeated]
    targets = tuple(_on_target(model, target) for target in model.settings.targets)
    uses = None if model.execution.reads_file else activations(model.graph, model.lowered)
    arena = None if uses is None else plan_arena(uses).size  # at least: a runtime may lay it out in its own way
    copies = tuple(copy.label for copy in model.copies)
    return FileSummary(targets, sum(number or 0 for number in macs), macs.count(None), arena, copies)


NO_REFERENCE = {
    Outcome.REFUSED: Outcome.NO_KERNEL,
    Outcome.NO_KERNEL: Outcome.NO_KERNEL,
    Outcome.HALTS: Outcome.NO_KERNEL,
    Outcome.UNDECIDED: Outcome.UNDECIDED,
}
"""What a layer counts as that no reference code computes: the runtime stops there, or what runs is not decided."""


def _on_target(model: ModelAnalysis, target: Target) -> TargetSummary:
    groups: dict[Outcome, list[LoweredLayer]] = {verdict: [] for verdict in Outcome}
    for record in model.repeated:
        refusal, judged = model.refusal(record, target), model.execution.judgements.get(record.node.index)
        verdict = refusal.verdict if refusal else Outcome.CMSIS_NN
        if judged is not None and verdict in (Outcome.REFERENCE, Outcome.NO_KERNEL):
            verdict = NO_REFERENCE.get(judged.verdict, verdict)
        groups[verdict].append(record)
    run = groups[Outcome.CMSIS_NN]
    costs = _costs(model, run, groups, target)
    needs = model.execution.needs(target, run)
    arena = needs.arena
    times = model_times(model, target, run, groups[Outcome.REFERENCE], costs.unknown)
    return TargetSummary(
        target.label,
        _share(model, run)._replace(nodes=()),
        _share(model, groups[Outcome.REFERENCE]),
        _share(model, groups[Outcome.NO_KERNEL]),
        _share(model, groups[Outcome.UNDECIDED]),
        costs.instructions,
        measured_with(target, floats=any(record.call and record.call.floating for record in run)),
        costs.unknown,
        needs.constants,
        needs.flash,
        needs.scratch,
        arena.used if arena else None,
        arena.needed if arena else None,
        arena.to_write if arena else None,
        times.model,
        costs.range,
        costs.share,
        times.layers,
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
    model: ModelAnalysis, run: Sequence[LoweredLayer], groups: Mapping[Outcome, Sequence[LoweredLayer]], target: Target
) -> _Costs:
    costs = [model.cost(record, target, Outcome.CMSIS_NN) for record in run]
    others = [model.cost(record, target, Outcome.REFERENCE).range for record in groups[Outcome.REFERENCE]]
    copies = [model.copy_range(copy, target) for copy in model.copies]
    refused = len(groups[Outcome.NO_KERNEL]) + len(groups[Outcome.UNDECIDED])
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


def _share(model: ModelAnalysis, records: Sequence[LoweredLayer]) -> LayerShare:
    macs = sum(model.work[record.node.index].macs or 0 for record in records)
    return LayerShare(len(records), macs, tuple(record.node.label for record in records))
