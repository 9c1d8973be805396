"""Differences between a model and its fixed form: classes, constants, layers, hazards, totals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.algebra.axes import AxisForm
from onnxlint_cmsis.cmsis_nn.cost.measured import measured_build
from onnxlint_cmsis.fixers.snapshot import Snapshot, bytes_of
from onnxlint_cmsis.planning.locked import locked_gains
from onnxlint_cmsis.planning.price import Price
from onnxlint_cmsis.results.fix_result import (
    ClassChange,
    LayerChange,
    Locked,
    Numbers,
    Repair,
    Rewrite,
    TargetTotal,
    TensorChange,
)

if TYPE_CHECKING:
    from onnxlint_cmsis.cmsis_nn.route import Route
    from onnxlint_cmsis.dims.result import DimensionClass
    from onnxlint_cmsis.fixers.rewriting import RewrittenLayer
    from onnxlint_cmsis.lower.layer import Layer
    from onnxlint_cmsis.planning.plan_model import ModelPlan
    from onnxlint_cmsis.planning.plan_options import FixOptions


def class_changes(before: Snapshot, after: Snapshot, found: ModelPlan) -> Iterator[ClassChange]:
    """Classes whose size differs, in the order of the layers."""
    for group, want in resized(before, after):
        lanes = found.lanes.classes.get(group.id) if found.lanes else None
        yield ClassChange(
            group.size,
            want,
            group.freedom.value,
            tuple(decider.label for decider in group.deciders),
            tuple(reader.label for reader in group.readers),
            len(lanes.constants) if lanes else 0,
            len(lanes.unread) if lanes else 0,
        )


def resized(before: Snapshot, after: Snapshot) -> Iterator[tuple[DimensionClass, int]]:
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


Replaced = Mapping[str, tuple[str, ...]]
"""First outputs of layers that were rewritten, each with those of the layers that do its work now."""


def replaced(rewrites: Iterable[RewrittenLayer]) -> Replaced:
    """What rewriting made of layers, one repair after the other."""
    found: dict[str, tuple[str, ...]] = {}
    for one in rewrites:
        for output, made in found.items():
            if one.output in made:
                found[output] = tuple(dict.fromkeys(name for part in made for name in _made(part, one)))
        if one.made.made_by:
            found.setdefault(one.output, one.made.made_by)
    return found


def _made(part: str, one: RewrittenLayer) -> tuple[str, ...]:
    return one.made.made_by if part == one.output else (part,)


def matched(before: Snapshot, after: Snapshot, rewrites: Replaced) -> Iterator[tuple[Layer, tuple[Layer, ...]]]:
    """Layers of the old model, each with those of the new one that do its work, matched by what they make."""
    new = {layer.node.outputs[0]: layer for layer in after.lowered.layers}
    for layer in before.lowered.layers:
        output = layer.node.outputs[0]
        found = tuple(new[name] for name in rewrites.get(output, (output,)) if name in new)
        if found:
            yield layer, found


def layer_changes(before: Snapshot, after: Snapshot, rewrites: Replaced) -> Iterator[LayerChange]:
    """Layers with other channels or another call; a layer that became several is left out."""
    for old, (new, *more) in matched(before, after, rewrites):
        if not more and old.call._replace(bias=new.call.bias) != new.call:
            had, has = before.prices.of(old.call), after.prices.of(new.call)
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
    for one in rewrites:
        text = one.made.text
        costs = (one.instructions, one.new_instructions)
        yield Rewrite(one.label, one.row.name, text, one.hazards, *costs, one.steps)


def repairs(before: Snapshot, after: Snapshot, rewrites: Replaced) -> Iterator[Repair]:
    """Hazards of the old model's layers that the new one's do not have."""
    for old, new in matched(before, after, rewrites):
        for place, target in enumerate(before.prices.targets):
            now = [after.prices.of(layer.call)[place].route.hazards for layer in new]
            left = {hazard.id for hazards in now for hazard in hazards}
            for hazard in before.prices.of(old.call)[place].route.hazards:
                if hazard.id not in left:
                    yield Repair(old.node.label, target.label, hazard.id, hazard.what)


def totals(before: Snapshot, after: Snapshot, found: ModelPlan, rewrites: Replaced) -> Iterator[TargetTotal]:
    """Predicted instructions of all layers whose cost is known before and after."""
    rows = [
        (old, before.prices.of(old.call), [after.prices.of(layer.call) for layer in new])
        for old, new in matched(before, after, rewrites)
    ]
    decision = found.decision
    prices = zip(decision.repaired.instructions, decision.before.instructions, strict=True)
    for place, (target, (repaired, present)) in enumerate(zip(before.prices.targets, prices, strict=True)):
        costs = [(old, _cost([had[place]]), _cost([row[place] for row in has])) for old, had, has in rows]
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


def _cost(prices: Sequence[Price]) -> int | None:
    """Instructions of the layers that do one layer's work; None where those of one are not known."""
    known = [price.instructions for price in prices if price.instructions is not None]
    return sum(known) if len(known) == len(prices) else None


def worse(before: Snapshot, after: Snapshot, found: ModelPlan, rewrites: Replaced) -> str:
    """How the new model is worse than predicted, as one clause; empty where it is not."""
    for old, new in matched(before, after, rewrites):
        for place, target in enumerate(before.prices.targets):
            had = before.prices.of(old.call)[place].route
            has = [after.prices.of(layer.call)[place].route for layer in new]
            if len(set().union(*map(_risks, has))) > len(_risks(had)):
                return f"{old.node.label} would meet a known hazard on {target.label}"
    gaining = before.request.options.policy == "faster" and next(repairs(before, after, rewrites), None) is None
    for total in totals(before, after, found, rewrites) if gaining else ():
        if total.new_instructions > total.instructions:
            return f"the fixed model would run more instructions on {total.target}"
    return ""


def _risks(route: Route) -> set[str]:
    """Names of the hazards of a route, and of those that symbolic sizes leave open."""
    return {hazard.id for hazard in (*route.hazards, *route.open_hazards)}


def macs(before: Snapshot, after: Snapshot, rewrites: Replaced) -> Numbers:
    """Multiply-accumulates of the layers where they are known in both."""
    rows = [(old.macs, [layer.macs for layer in new]) for old, new in matched(before, after, rewrites)]
    sums = [(old, [number for number in new if number is not None], len(new)) for old, new in rows]
    both = [(old, sum(new)) for old, new, layers in sums if old is not None and new and len(new) == layers]
    return Numbers(sum(old for old, _ in both), sum(new for _, new in both))


def locked(found: ModelPlan, options: FixOptions) -> tuple[Locked, ...]:
    """LOCKED classes of interest to the policy: with a gain, or off the multiple."""
    rows = []
    for one in locked_gains(found.view, found.prices):
        if options.policy != "align" and one.gain == 0:
            break
        if options.policy == "align" and one.group.size % options.align == 0:
            continue
        names = dict.fromkeys(layer.label for layer in (*one.group.deciders, *one.group.readers))
        rows.append(Locked(one.group.size, one.want, one.gain, tuple(names), str(one.group.locks[0])))
    return tuple(rows)
