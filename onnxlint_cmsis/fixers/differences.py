"""What lies between two models: classes of another size, and layers with those that do their work now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.analysis.fix_results import (
    ClassChange,
    LayerChange,
    ModelPrice,
    Numbers,
    PriceChange,
    Repair,
    TargetTotal,
    TensorChange,
)
from onnxlint_cmsis.analysis.results import TargetSummary
from onnxlint_cmsis.cmsis_nn.library import measured_build
from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan
from onnxlint_cmsis.fixers.planning.policies import POLICIES
from onnxlint_cmsis.fixers.planning.prices import risks
from onnxlint_cmsis.fixers.progress import RewrittenLayer
from onnxlint_cmsis.fixers.rewriting import instructions_of
from onnxlint_cmsis.fixers.snapshot import Snapshot, bytes_of
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.work import macs_of
from onnxlint_cmsis.model.axes import AxisForm

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


def repairs(before: Snapshot, after: Snapshot, rewrites: Replaced) -> Iterator[Repair]:
    """Hazards of the old model's layers that the new one's do not have."""
    for old, new in matched(before, after, rewrites):
        for index, target in enumerate(before.prices.targets):
            now = [after.prices.of_layer(layer)[index].route.hazards for layer in new]
            left = {hazard.id for hazards in now for hazard in hazards}
            for hazard in before.prices.of_layer(old)[index].route.hazards:
                if hazard.id not in left:
                    yield Repair(old.node.label, target.label, hazard.id, hazard.what)


def totals(
    before: Snapshot, after: Snapshot, plan: ModelPlan, rewrites: Replaced, rewritten: Sequence[RewrittenLayer] = ()
) -> Iterator[TargetTotal]:
    """Predicted instructions of all layers whose cost is known before and after."""
    rows = [
        (old, before.prices.of_layer(old), [after.prices.of_layer(layer) for layer in new])
        for old, new in matched(before, after, rewrites)
    ]
    decision = plan.decision
    prices = zip(decision.before.instructions, decision.repaired.instructions, decision.after.instructions, strict=True)
    for index, (target, (present, repaired, sized)) in enumerate(zip(before.prices.targets, prices, strict=True)):
        costs = [(old, had[index].instructions, instructions_of([row[index] for row in has])) for old, had, has in rows]
        both = [(had, has) for _, had, has in costs if had is not None and has is not None]
        unknown = [old.node.label for old, had, has in costs if had is None or has is None]
        steps = [(bool(step.hazards), step.instructions[index], step.new_instructions[index]) for step in rewritten]
        grown = [(mends, has - had) for mends, had, has in steps if had is not None and has is not None]
        yield TargetTotal(
            target.label,
            measured_build(target),
            sum(had for had, _ in both),
            sum(has for _, has in both),
            sized - present,
            (repaired - present if decision.repairs else 0) + sum(more for mends, more in grown if mends),
            len(unknown),
            tuple(unknown),
            sum(more for _, more in grown),
            sum(has for _, had, has in costs if had is None and has is not None),
        )


def price_changes(before: Snapshot, after: Snapshot) -> Iterator[PriceChange]:
    """What the whole model takes before and after, for each target."""
    old, new = (state.analysis.once(summarize) for state in (before, after))
    for had, has in zip(old.targets, new.targets, strict=True):
        yield PriceChange(had.target, model_price(had, old.arena), model_price(has, new.arena))


def model_price(target: TargetSummary, arena: int | None) -> ModelPrice:
    """What a whole model takes on a target; `arena` is that of a model whose runtime has no size to declare."""
    ends = target.instructions_range or (target.instructions, target.instructions)
    size = arena if target.arena_to_write is None else target.arena_to_write
    return ModelPrice(ends, target.unknown_cost, size, target.flash)


def worse_clause(before: Snapshot, after: Snapshot, plan: ModelPlan, rewrites: Replaced) -> str:
    """How the new model is worse than predicted, as one clause; empty where it is not."""
    for old, new in matched(before, after, rewrites):
        for index, target in enumerate(before.prices.targets):
            had = before.prices.of_layer(old)[index].route
            has = [after.prices.of_layer(layer)[index].route for layer in new]
            if not set().union(*map(risks, has)) <= risks(had):
                return f"{old.node.label} would meet a known hazard on {target.label}"
    gaining = POLICIES[before.request.options.policy].must_gain and next(repairs(before, after, rewrites), None) is None
    for total in totals(before, after, plan, rewrites) if gaining else ():
        if total.new_instructions > total.instructions:
            return f"the fixed model would run more instructions on {total.target}"
    return ""


def macs(before: Snapshot, after: Snapshot, rewrites: Replaced) -> Numbers:
    """Multiply-accumulates of the layers where they are known in both."""
    rows = [
        (macs_of(before.graph, old.node), [macs_of(after.graph, layer.node) for layer in new])
        for old, new in matched(before, after, rewrites)
    ]
    sums = [(old, [number for number in new if number is not None], len(new)) for old, new in rows]
    both = [(old, sum(new)) for old, new, layers in sums if old is not None and new and len(new) == layers]
    return Numbers(sum(old for old, _ in both), sum(new for _, new in both))
