"""A plan as edits: where each stored constant is read, with which axes, and what a resized class makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.analysis.classes import (
    FLOAT,
    BiasSlot,
    Constants,
    DimensionClass,
    Dimensions,
    Fill,
    FillKind,
    NotFilledError,
    SizeName,
    Use,
    bias_slot,
    check_weights,
    fill,
)
from onnxlint_cmsis.fixers.planning.plan import Kept, Plan
from onnxlint_cmsis.formats.names import derived_values, operator_of
from onnxlint_cmsis.formats.onnx import document
from onnxlint_cmsis.formats.onnx.document import Codes
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.axes import Axis, leaves, placement, resized
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.operators.record import Elements

# Where each stored constant is read, and with which axes.


__all__ = ["Axes", "Use", "Uses"]

Axes = tuple[Axis, ...]


class Uses(Constants):
    """Every use of the constants that the file stores: initializers and values of Constant nodes."""

    def __init__(self, graph: Graph, dimensions: Dimensions) -> None:
        super().__init__(graph, derived_values(graph))
        self.dimensions = dimensions
        self.by_key: dict[str, dict[Use, Axes]] = {}
        """Uses of a stored constant with the axes it has there; none where nothing is known of them."""
        self.by_leaf: dict[int, dict[str, None]] = {}
        """Stored constants that have a leaf in one of their axes."""
        for node in graph.nodes:
            for position, key in enumerate(node.inputs):
                if key and self.stored(key):
                    axes = self._axes(node, position, key)
                    self.by_key.setdefault(key, {})[node.index, position] = axes
                    for leaf in (leaf for axis in axes for leaf in leaves(axis)):
                        self.by_leaf.setdefault(leaf, {})[key] = None

    def handed_out(self, key: str) -> bool:
        """Whether a constant is an output of the model or of a subgraph, where its name cannot change."""
        bodies = (body for node in self.graph.consumers.get(key, ()) for body in node.bodies)
        return key in self.graph.outputs or any(key in body.outputs for body in bodies)

    def _axes(self, node: Node, position: int, key: str) -> Axes:
        """Axes of one use: a vector has its own for each, anything else the same for all."""
        own = self.dimensions.input_axes(node.index, position)
        if own is not None:
            return own
        vector = sum(size != 1 for size in self.graph.constants[key].shape) <= 1
        return () if vector else self.dimensions.axes(key) or ()


# Edits of the numbers in the file that name sizes.


class AttributeEdit(NamedTuple):
    """One number of one attribute."""

    node: int
    """`Node.index`."""
    attribute: str
    """Attribute."""
    element: int
    """Element of a list, 0 for a single number."""
    value: int
    """New number."""


Numbers = dict[Use, dict[int, int]]
"""For each use of a constant of sizes: element to new number."""


def attribute_edits(uses: Uses, sizes: Mapping[int, int]) -> list[AttributeEdit]:
    """Attributes that name the sizes of changed classes."""
    return [
        AttributeEdit(name.node, name.attribute, name.element, _value(name, sizes))
        for name in _touched(uses, sizes)
        if name.position < 0
    ]


def number_edits(uses: Uses, sizes: Mapping[int, int]) -> dict[str, Numbers]:
    """Stored constants that name the sizes of changed classes, use by use.

    Raises NotAppliedError where such a number is read for other things as well, or is not in the file itself.
    """
    edits: dict[str, Numbers] = {}
    for name in _touched(uses, sizes):
        if name.position < 0:
            continue
        key = _origin(uses, name)
        if not key:
            raise NotAppliedError(f"the size in `{name.tensor}` is computed, so it cannot be written")
        for use in _uses_of(uses, name, key, sizes):
            edits.setdefault(key, {}).setdefault(use, {})[name.index] = _value(name, sizes)
    return edits


def _touched(uses: Uses, sizes: Mapping[int, int]) -> Iterator[SizeName]:
    """Numbers in the file that name a size which changes."""
    for name in uses.dimensions.size_names:
        if any(leaf in sizes for part in name.parts for leaf in leaves(part)):
            yield name


def _value(name: SizeName, sizes: Mapping[int, int]) -> int:
    """The new number. Raises NotAppliedError where it names a size that is not known."""
    parts = [resized(part, sizes) for part in name.parts]
    if None in parts:
        raise NotAppliedError("a number in the file names a size that is not known")
    return name.sign * sum(part or 0 for part in parts)


def _origin(uses: Uses, name: SizeName) -> str:
    """Stored constant that the number is in; empty where it is computed, or in an attribute."""
    key = name.tensor
    while key and not uses.stored(key):
        producer = uses.graph.producers.get(key)
        key = producer.inputs[0] if producer is not None and operator_of(producer).elements is Elements.SAME else ""
    return key


def _uses_of(uses: Uses, name: SizeName, key: str, sizes: Mapping[int, int]) -> list[Use]:
    """The use that reads the number, or all uses that hand it on to its reader."""
    if uses.graph.nodes[name.node].inputs[name.position] == key:
        return [(name.node, name.position)]
    _check_readers(uses, key)
    for other in uses.dimensions.size_names:
        if other.index != name.index or _origin(uses, other) != key:
            continue
        direct = uses.graph.nodes[other.node].inputs[other.position] == key
        if not direct and _value(other, sizes) != _value(name, sizes):
            raise NotAppliedError(f"element {name.index} of `{key}` names two sizes that change differently")
    return [use for use in uses.by_key[key] if operator_of(uses.graph.nodes[use[0]]).carries_sizes]


def _check_readers(uses: Uses, key: str) -> None:
    """Raise NotAppliedError if a node reads the number for anything but a size, directly or through others."""
    known = {name.node for name in uses.dimensions.size_names if _origin(uses, name) == key}
    pending = [node for node, _ in uses.consumers(key) if operator_of(node).carries_sizes]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if node.index in seen:
            continue
        seen.add(node.index)
        if operator_of(node).carries_sizes:
            if any(uses.handed_out(output) for output in node.outputs):
                raise NotAppliedError(f"the size in `{key}` leaves the graph")
            pending.extend(reader for output in node.outputs for reader, _ in uses.consumers(output))
        elif node.index not in known:
            raise NotAppliedError(f"{node.label} reads the size in `{key}` for something else")


# New layout of each stored constant, use by use; the weights are not read.


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


# Elements of a resized constant.


class StoredElements(NamedTuple):
    """What a resized constant is made from."""

    codes: Codes
    """Bit patterns before."""
    elem_type: str
    """numpy-like name of the type."""


Read = Callable[[Use], StoredElements]
"""Reads the stored constant that a node reads."""


def built(
    source: StoredElements, layout: Rearrangement, increments: Mapping[int, npt.NDArray[np.generic]], read: Read
) -> Codes:
    """Bit patterns of a constant after a layout. Raises NotAppliedError."""
    codes = source.codes
    if layout.reader >= 0:
        codes = document.added(codes, source.elem_type, increments[layout.reader])
    if layout.numbers:
        codes = codes.copy()
        for element, value in layout.numbers:
            codes.reshape(-1)[element] = document.number(source.elem_type, value)
    return placed(codes, layout.places, _filler(source, layout, read)) if layout.places else codes


def placed(old: Codes, places: Sequence[Places | None], filler: Codes) -> Codes:
    """Old elements at their new indices, and the filler, broadcast, where an index is new."""
    codes, new = old, np.zeros((1,) * old.ndim, bool)
    for axis, chosen in enumerate(places):
        if chosen is None:
            continue
        codes = np.take(codes, [index or 0 for index in chosen], axis=axis)
        shape = [1] * old.ndim
        shape[axis] = len(chosen)
        new = new | np.array([index is None for index in chosen]).reshape(shape)
    return np.where(new, filler, codes).astype(old.dtype)


def _filler(source: StoredElements, layout: Rearrangement, read: Read) -> Codes:
    """Bit patterns for new elements, to be broadcast."""
    chosen = layout.fill
    if chosen is None:
        return _scalar(source, 0)  # nothing is new
    if chosen.kind is FillKind.NUMBER:
        return _scalar(source, document.number(source.elem_type, chosen.number))
    if chosen.kind is FillKind.FIRST:
        return _scalar(source, document.first(source.codes, source.elem_type))
    vector = read(chosen.zero_points).codes
    if layout.zero_points is not None:
        vector = placed(vector, [layout.zero_points], vector[0])
    shape = [1] * source.codes.ndim
    shape[chosen.axis] = vector.size
    return vector.reshape(shape)


def _scalar(source: StoredElements, value: int) -> Codes:
    return np.array(value, source.codes.dtype)


# Models and constants that no fix can change, such as a model without its external data.


def check_model(graph: Graph) -> None:
    """Raise UnreadableError for a model that no fix can change: its external data are missing or refused."""
    for problem in graph.problems:
        if problem.kind == "external":
            raise UnreadableError(problem.message)


def can_change(graph: Graph) -> bool:
    """Whether `check_model` accepts a model."""
    try:
        check_model(graph)
    except NotAppliedError:
        return False
    return True


def check_constant(graph: Graph, key: str) -> None:
    """Refuse a constant whose values cannot be changed one by one.

    Raises:
        NotAppliedError: the constant is sparse, or stored in a form that is not edited.

    """
    if not graph.constants[key].editable:
        raise NotAppliedError(f"constant `{key}` is sparse or stored in a form that is not edited")


# Classes that the analysis leaves free but whose tensors cannot be edited in the file.


def refused(graph: Graph, dimensions: Dimensions) -> dict[int, str]:
    """Classes that are not LOCKED and that no plan can be applied to, with the reason; by class id."""
    uses = Uses(graph, dimensions)
    reasons = {}
    for group in dimensions.classes:
        if group.freedom is not Freedom.LOCKED:
            try:
                _check_class(uses, group)
            except NotAppliedError as reason:
                reasons[group.id] = str(reason)
    return reasons


def _check_class(uses: Uses, group: DimensionClass) -> None:
    """Raise NotAppliedError where one more lane of a class cannot be written."""
    graph = uses.graph
    for tensor, _ in group.members:
        producer = graph.producers.get(tensor)
        for node in (*([producer] if producer else []), *graph.consumers.get(tensor, ())):
            check_node(graph, node)
    for key, changed in growing(uses, group).items():
        for index, _ in changed:
            check_node(graph, graph.nodes[index])
            check_constant(graph, key)


def check_node(graph: Graph, node: Node) -> None:
    """Raise NotAppliedError for a node that the file has once for several calls."""
    if graph.has_functions and node.graph:
        raise NotAppliedError(f"{node.label} is in a local function or a subgraph of a model with such functions")


# What a plan changes in a file, as data: constants, attributes and new biases. Each format has a writer for them.


class ConstantEdit(NamedTuple):
    """One form of a stored constant after the plan."""

    uses: tuple[Use, ...]
    """Uses that read it."""
    copied: bool
    """A new tensor, because other uses need another form."""
    codes: Codes
    """Bit patterns in the new shape."""
    elem_type: str
    """numpy-like name of the type."""
    places: tuple[Places | None, ...]
    """For each axis where its elements come from; empty where no axis changes."""


class BiasEdit(NamedTuple):
    """A new bias."""

    node: int
    """`Node.index` of the node that reads it."""
    position: int
    """Input of that node."""
    reader: int
    """`Node.index` of the layer whose sum it is added to: the node itself, or the one before it."""
    kind: str
    """Kind of the bias slot (`analysis/classes.py`)."""
    codes: Codes
    """Bit patterns of the bias."""
    elem_type: str
    """numpy-like name of the type."""
    scales: Codes
    """Bit patterns of the float32 scales of a `dequantized` bias: one for each element, or a single number."""


class ModelEdits(NamedTuple):
    """Everything that a plan changes, but for the shapes that follow from it."""

    constants: tuple[ConstantEdit, ...]
    """Constants, all made before the first is written."""
    attributes: tuple[AttributeEdit, ...]
    """Numbers in attributes."""
    biases: tuple[BiasEdit, ...]
    """New biases."""


def model_edits(uses: Uses, plan: Plan, read: Read) -> ModelEdits:
    """Work out what a plan changes. Raises NotAppliedError."""
    planned = layouts(uses, plan)
    attributes, biases = attribute_edits(uses, plan.sizes), new_biases(uses, plan)
    constants = tuple(edit for changed in planned.values() for edit in _versions(changed, plan, read))
    return ModelEdits(constants, tuple(attributes), tuple(_bias(uses, bias, plan) for bias in biases))


def _versions(changed: dict[Use, Rearrangement], plan: Plan, read: Read) -> list[ConstantEdit]:
    """Every form that one constant has after the plan; the first takes its place unless some use keeps the old one."""
    groups: dict[Rearrangement, list[Use]] = {}
    for use, layout in changed.items():
        if layout != SAME:
            groups.setdefault(layout, []).append(use)
    edits: list[ConstantEdit] = []
    for layout, members in groups.items():
        source = read(members[0])
        copied = bool(edits) or SAME in changed.values()
        codes = built(source, layout, plan.increments, read)
        edits.append(ConstantEdit(tuple(members), copied, codes, source.elem_type, layout.places))
    return edits


def _bias(uses: Uses, bias: NewBias, plan: Plan) -> BiasEdit:
    """A bias that holds a reader's increments. Raises NotAppliedError."""
    node, slot = uses.graph.nodes[bias.reader], bias.slot
    elem_type = uses.graph.elem_type(node.inputs[0]) if slot.kind == FLOAT else "int32"
    increments = plan.increments[bias.reader]
    nothing = np.zeros(increments.size, f"<u{document.BITS[elem_type] // 8}")
    codes = _moved(document.added(nothing, elem_type, increments), bias, nothing[:1])
    scales = np.array(slot.scales, "<f4").view("<u4")
    scales = _moved(scales, bias, scales[:1]) if scales.size > 1 else scales.reshape(()) if scales.size else scales
    return BiasEdit(slot.node, slot.position, bias.reader, slot.kind, codes, elem_type, scales)


def _moved(vector: Codes, bias: NewBias, filler: Codes) -> Codes:
    return vector if bias.places is None else placed(vector, [bias.places], filler)
