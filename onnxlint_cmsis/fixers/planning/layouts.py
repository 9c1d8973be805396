"""The new layout of each stored constant, use by use; the weights are not read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.constants import (
    BiasSlot,
    Fill,
    FillKind,
    NotFilledError,
    Use,
    bias_slot,
    check_weights,
    fill,
)
from onnxlint_cmsis.fixers.planning.size_numbers import number_edits
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.axes import Axis, leaves, placement, resized
from onnxlint_cmsis.model.roles import Form

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.dimensions import DimensionClass
    from onnxlint_cmsis.fixers.planning.plan import Kept, Plan
    from onnxlint_cmsis.fixers.planning.uses import Axes, Uses
    from onnxlint_cmsis.model.graph import Node


Places = tuple[int | None, ...]
"""For each new index of an axis the old one, or None for a new element."""


class Rearrangement(NamedTuple):
    """Change of a stored constant for one use; uses of equal layout share the result."""

    places: tuple[Places | None, ...] = ()
    """For each axis where its elements come from, None where all stay; empty where no axis changes."""
    fill: Fill | None = None
    """What new elements are; None where there are none."""
    zero_points: Places | None = None
    """Where the zero-points come from that the fill consists of; None where they all stay or are not needed."""
    numbers: tuple[tuple[int, int], ...] = ()
    """Elements that name sizes, with the new number."""
    reader: int = -1
    """Reader whose increments are added first; -1 for none."""


SYMBOLIC = "an axis of a constant cannot be followed: it has a symbolic size, so its indices are not known"
"""Why such a constant cannot change."""
SAME = Rearrangement()
"""Layout of a constant that stays as it is."""

Rearrangements = dict[str, dict[Use, Rearrangement]]
"""For every stored constant that changes, each of its uses; SAME where a use keeps it."""


class NewBias(NamedTuple):
    """A bias for a reader that has none."""

    slot: BiasSlot
    """Input that reads it."""
    reader: int
    """Reader whose increments it holds."""
    places: Places | None
    """Where its elements come from; None where all output channels stay."""


def layouts(uses: Uses, plan: Plan) -> Rearrangements:
    """Every stored constant that the plan changes. Raises NotAppliedError."""
    check_plan(uses, plan)
    grown = {leaf for leaf, lanes in plan.kept.items() if None in lanes}
    layouts = _layouts(uses, plan.sizes, grown, lambda axis: _rearranged(axis, plan.kept))
    for reader in plan.increments:
        _add_increments(uses, reader, layouts)
    return {key: changed for key, changed in layouts.items() if _changes(uses, key, changed)}


def growing(uses: Uses, group: DimensionClass) -> dict[str, list[Use]]:
    """Stored constants that one more lane of a class changes, with the uses that change; no lane is looked at.

    Raises NotAppliedError where `layouts` does so for such a plan of a class that is not LOCKED.
    """
    sizes = {group.id: group.size + 1}

    def places(axis: Axis) -> Places | None:
        if group.id not in leaves(axis):
            return None
        if not axis.indexed:
            raise NotAppliedError(SYMBOLIC)
        return None if resized(axis, sizes) == axis.size else ()

    _check_new_lanes(uses, group)
    layouts = _layouts(uses, sizes, {group.id}, places)
    return {
        key: [use for use, layout in changed.items() if layout != SAME]
        for key, changed in layouts.items()
        if _changes(uses, key, changed)
    }


def _layouts(
    uses: Uses, sizes: Mapping[int, int], grown: set[int], places: Callable[[Axis], Places | None]
) -> Rearrangements:
    """Stored constants with an axis that has a class of `sizes`, or with a number that names one's size.

    `grown` are the classes that have new lanes; `places` says where the elements of an axis come from.
    """
    layouts: Rearrangements = {}
    for leaf in sizes:
        for key in uses.by_leaf.get(leaf, ()):
            if key not in layouts:
                layouts[key] = {use: _layout(uses, use, axes, grown, places) for use, axes in uses.by_key[key].items()}
    for key, numbers in number_edits(uses, sizes).items():
        changed = layouts.setdefault(key, dict.fromkeys(uses.by_key[key], SAME))
        for use, values in numbers.items():
            changed[use] = changed[use]._replace(numbers=tuple(sorted(values.items())))
    return layouts


def new_biases(uses: Uses, plan: Plan) -> list[NewBias]:
    """Biases to add to readers that have none. Raises NotAppliedError."""
    biases = []
    for reader in plan.increments:
        slot = _slot(uses, reader)
        if not slot.tensor:
            axes = uses.dimensions.axes(uses.graph.nodes[reader].outputs[0])
            if axes is None or len(axes) < 2:
                raise NotAppliedError(f"the output channels of {uses.graph.nodes[reader].label} are not known")
            roles = operator_of(uses.graph.nodes[reader]).roles
            channels = axes[-1 if roles.channels_last or roles.form is Form.ROWS else 1]
            biases.append(NewBias(slot, reader, _rearranged(channels, plan.kept)))
    return biases


def check_plan(uses: Uses, plan: Plan) -> None:
    """Raise NotAppliedError unless every class may change and keeps at least one lane, each at most once."""
    for leaf, lanes in plan.kept.items():
        group = uses.dimensions.class_with_id(leaf)
        if group is None:
            raise NotAppliedError(f"there is no class {leaf}")
        if group.locks:
            raise NotAppliedError(f"class {leaf} is locked: {group.locks[0]}")
        old = [lane for lane in lanes if lane is not None]
        if not old or len(set(old)) != len(old) or not 0 <= min(old) <= max(old) < group.size:
            raise NotAppliedError(f"class {leaf} has lanes 0 to {group.size - 1}; the plan keeps {list(lanes)}")
        if None in lanes:
            _check_new_lanes(uses, group)


def _changes(uses: Uses, key: str, changed: dict[Use, Rearrangement]) -> bool:
    if all(layout == SAME for layout in changed.values()):
        return False
    if uses.handed_out(key):
        raise NotAppliedError(f"constant `{key}` is an output")
    return True


def _layout(
    uses: Uses, use: Use, axes: Axes, grown: set[int], places: Callable[[Axis], Places | None]
) -> Rearrangement:
    """New layout of a constant for one use."""
    moved = tuple(map(places, axes))
    if all(chosen is None for chosen in moved):
        return SAME
    if not any(leaf in grown for axis in axes for leaf in leaves(axis)):
        return Rearrangement(moved)
    chosen = _fill(uses, uses.graph.nodes[use[0]], use[1])
    if chosen.kind is not FillKind.ZERO_POINTS:
        return Rearrangement(moved, chosen)
    node, position = chosen.zero_points
    along = uses.by_key[uses.graph.nodes[node].inputs[position]][chosen.zero_points]
    return Rearrangement(moved, chosen, places(along[0]) if along else None)


def _fill(uses: Uses, node: Node, position: int) -> Fill:
    try:
        return fill(uses, node, position)
    except NotFilledError as reason:
        raise NotAppliedError(str(reason)) from reason


def _check_new_lanes(uses: Uses, group: DimensionClass) -> None:
    """Raise NotAppliedError unless new lanes of the weights that read a class can be filled."""
    for reader in group.readers:
        try:
            check_weights(uses, uses.graph.nodes[reader.node])
        except NotFilledError as reason:
            raise NotAppliedError(str(reason)) from reason


def _rearranged(axis: Axis, kept: Kept) -> Places | None:
    if not any(leaf in kept for leaf in leaves(axis)):
        return None
    if not axis.indexed:
        raise NotAppliedError(SYMBOLIC)
    places = placement(axis, kept)
    same = len(places) == axis.size and places == tuple(range(axis.size))
    return None if same else places


def _slot(uses: Uses, reader: int) -> BiasSlot:
    node = uses.graph.nodes[reader]
    slot = bias_slot(uses.graph, node)
    if slot is None:
        raise NotAppliedError(f"{node.label} has no bias that could take a constant")
    return slot


def _add_increments(uses: Uses, reader: int, layouts: Rearrangements) -> None:
    """Note at the use of a reader's bias that it grows by the reader's increments."""
    slot = _slot(uses, reader)
    if not slot.tensor:
        return
    key = uses.graph.nodes[slot.node].inputs[slot.position]
    use = (slot.node, slot.position)
    if key != slot.tensor:  # the DequantizeLinear before it reads the stored constant
        use = (uses.graph.producers[key].index, 0)
    changed = layouts.setdefault(slot.tensor, dict.fromkeys(uses.by_key[slot.tensor], SAME))
    if changed[use].reader >= 0:
        raise NotAppliedError(f"two layers share the bias `{slot.tensor}` of {uses.graph.nodes[slot.node].label}")
    changed[use] = changed[use]._replace(reader=reader)
