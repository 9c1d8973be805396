"""Adds up what a model's layers are and need, from verdicts, routes and costs that the analysis has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.cost.measured import measured_build
from onnxlint_cmsis.cmsis_nn.parameters import parameters
from onnxlint_cmsis.lower.release_verdict import on_release
from onnxlint_cmsis.lower.verdict import Verdict
from onnxlint_cmsis.memory.activations import activations
from onnxlint_cmsis.memory.arena_plan import plan_arena
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.results.file_summary import FileSummary, LayerShare, TargetSummary
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.cmsis_nn.cost.predicted_time import PredictedTime
    from onnxlint_cmsis.cmsis_nn.route import Route
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.types import Target


def summarize(model: ModelAnalysis) -> FileSummary:
    """What the model is and needs on each of its targets."""
    macs = [model.work[record.node.index].macs for record in model.repeated]
    targets = tuple(_on_target(model, target) for target in model.settings.targets)
    arena = None if model.stored_constants() is not None else _arena(model)
    copies = tuple(copy.label for copy in model.copies)
    return FileSummary(targets, sum(number or 0 for number in macs), macs.count(None), arena, copies, model.beside)


def _arena(model: ModelAnalysis) -> int | None:
    """Bytes of activations, at least, of a model that some runtime will lay out in its own way."""
    uses = activations(model.graph, model.lowered)
    return None if uses is None else plan_arena(uses).size


def _on_target(model: ModelAnalysis, target: Target) -> TargetSummary:
    groups: dict[Verdict, list[LoweredLayer]] = {verdict: [] for verdict in Verdict}
    refused = _refused(model)
    for record in model.repeated:
        verdict = _verdict(model, record, target)
        in_vain = verdict is Verdict.PLAIN and record.node.index in refused
        groups[Verdict.REFUSED if in_vain else verdict].append(record)
    run = groups[Verdict.CMSIS_NN]
    costs = _costs(model, run, groups, target)
    stored, arena, scratch = model.stored_constants(), model.runtime_arena(target), model.runtime_scratch(target)
    constants = sum(_constants(record, target) for record in model.lowered.records) if stored is None else stored
    return TargetSummary(
        target.label,
        _share(model, run)._replace(nodes=()),
        _share(model, groups[Verdict.PLAIN]),
        _share(model, groups[Verdict.REFUSED]),
        _share(model, groups[Verdict.UNDECIDED]),
        costs.instructions,
        measured_build(target),
        costs.unknown,
        constants,
        _largest_scratch(model, run, target) if scratch is None else scratch,
        arena.used if arena else None,
        arena.needed if arena else None,
        time_of(model, target, costs.range or (costs.instructions, costs.instructions), costs.unknown),
        costs.range,
        costs.share,
    )


class _Costs(NamedTuple):
    """Instructions of a model on one target."""

    instructions: int
    """Of the layers whose cost is one number."""
    unknown: int
    """Layers with neither a number nor a range."""
    range: tuple[int, int] | None
    """Least and most of all layers and copies; None where none has a range alone."""
    share: tuple[float, float] | None
    """Least and most part of CMSIS-NN; None where no other code is known, or the cost of a layer or copy is not."""


def _costs(
    model: ModelAnalysis, run: Sequence[LoweredLayer], groups: Mapping[Verdict, Sequence[LoweredLayer]], target: Target
) -> _Costs:
    numbers = [model.cost(record, target) for record in run]
    open_ = [record for record, number in zip(run, numbers, strict=True) if number is None]
    ends = [model.instructions_range(record.layer.call, target) if record.layer else None for record in open_]
    beside = [model.plain_range(record, target) for record in groups[Verdict.PLAIN]]
    copies = [model.copy_range(copy, target) for copy in model.copies]
    refused = len(groups[Verdict.REFUSED]) + len(groups[Verdict.UNDECIDED])
    unknown = ends.count(None) + beside.count(None) + refused
    instructions = sum(number or 0 for number in numbers)
    least, most = _added(ends)
    other_least, other_most = _added([*beside, *copies])
    ranges = (instructions + least + other_least, instructions + most + other_most)
    share = None
    known = not unknown and None not in copies and not model.unknown_copies
    if other_most and known and instructions + least:
        share = (
            (instructions + least) / (instructions + least + other_most),
            (instructions + most) / (instructions + most + other_least),
        )
    return _Costs(instructions, unknown, ranges if most or other_most else None, share)


def _added(ranges: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """Sum of the ranges that are known."""
    known = [found for found in ranges if found is not None]
    return sum(least for least, _ in known), sum(most for _, most in known)


def time_of(model: ModelAnalysis, target: Target, instructions: tuple[int, int], unknown: int) -> PredictedTime | None:
    """The time of predicted instructions, the least and the most, without `unknown` layers; None without a clock."""
    clock = dict(zip(model.settings.targets, model.settings.clocks, strict=False)).get(target)
    if clock is None:
        return None
    from onnxlint_cmsis.cmsis_nn.cost.predicted_time import predicted_time

    return predicted_time(target, clock, model.settings.memory, instructions, unknown)


def _refused(model: ModelAnalysis) -> frozenset[int]:
    """Nodes at which the runtime stops, so that no code beside CMSIS-NN computes them; none where none is judged."""
    layers = model.judged.layers if model.judged else ()
    stops = (RuntimeVerdict.REFUSED, RuntimeVerdict.HALTS)
    return frozenset(each.record.node.index for each in layers if each.verdict in stops)


def _verdict(model: ModelAnalysis, record: LoweredLayer, target: Target) -> Verdict:
    taken = model.route(record.layer.call, target) if record.layer and record.call else None
    decision = on_release(record, taken, target.release)
    if decision is not None:
        return decision.verdict
    return Verdict.UNDECIDED if taken is not None and not taken.kernel else Verdict.CMSIS_NN


def _share(model: ModelAnalysis, records: Sequence[LoweredLayer]) -> LayerShare:
    macs = sum(model.work[record.node.index].macs or 0 for record in records)
    return LayerShare(len(records), macs, tuple(record.node.label for record in records))


def _constants(record: LoweredLayer, target: Target) -> int:
    known = parameters(record.layer.call, target) if record.layer else None
    return known.total if known else 0


def _largest_scratch(model: ModelAnalysis, run: Sequence[LoweredLayer], target: Target) -> int:
    """Bytes of the largest scratch buffer that a function asks for."""
    routes = (model.route(record.layer.call, target) for record in run if record.layer)
    return max(map(_scratch, routes), default=0)


def _scratch(taken: Route) -> int:
    return max(taken.buffer_size or 0, 0) + max(taken.reverse_buffer_size or 0, 0)
