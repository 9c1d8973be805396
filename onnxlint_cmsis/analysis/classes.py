"""The dimension classes of a model: channel counts that move together, and their freedom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnxlint_cmsis.analysis.dimensions import Decider, DimensionClass, Dimensions, SizeName
from onnxlint_cmsis.analysis.risks import risks
from onnxlint_cmsis.analysis.walk import walk
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.axes import Axis, Resolver, leaves
from onnxlint_cmsis.model.context import Context, Naming
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.model.variables import MAX_LANES, Dimension, Lock, find, leaves_of

Layers = dict[int, dict[int, None]]
"""Leaf to the indices of its layers, in order."""

LayerPair = tuple[tuple[Decider, ...], tuple[Decider, ...]]
"""Deciders and readers."""


def analyse(graph: Graph) -> Dimensions:
    """Dimension classes of a graph. Reads no weights, only constants that hold sizes, scales or axes."""
    context = walk(graph)
    locks = _locks(context)
    if risky := risks(graph):
        from onnxlint_cmsis.analysis.new_lanes import lock_new_lanes

        lock_new_lanes(context, risky)
        locks = _locks(context)
    resolver = Resolver(_class_roots(context))
    deciders, readers = _layers(context, resolver)
    axes, uses = _axes(context, resolver)
    by_leaf = {number: tuple(locks.get(root, ())) for number, root in enumerate(resolver.leaves)}
    for number, reason in resolver.opaque.items():
        by_leaf[number] += (Lock("", reason),)
    for number, root in enumerate(resolver.leaves):
        if (root.size or 0) > MAX_LANES:
            by_leaf[number] += (Lock("", f"it has {root.size} channels; followed are up to {MAX_LANES}"),)
    members = _members(context, axes, uses, deciders.keys() | readers.keys())
    classes: dict[int, DimensionClass] = {}
    for leaf in sorted(members):
        layers = _named(graph, deciders.get(leaf, ())), _named(graph, readers.get(leaf, ()))
        if (size := resolver.leaves[leaf].size) and size > 0:
            classes[leaf] = _class(leaf, size, members[leaf], layers, by_leaf[leaf])
    multipliers = {node: resolver.axis(dimension) for node, dimension in context.multipliers.items()}
    names = tuple(_size_name(resolver, naming) for naming in context.namings)
    return Dimensions(tuple(classes.values()), names, axes, uses, by_leaf, multipliers, classes)


def _locks(context: Context) -> dict[Dimension, dict[Lock, None]]:
    """Locks of each leaf, in the order they were put; also marks the leaves as fixed."""
    locks: dict[Dimension, dict[Lock, None]] = {}
    for dimension, lock in context.variables.pins:
        for leaf in leaves_of(dimension):
            leaf.fixed = True
            locks.setdefault(leaf, {})[lock] = None
    return locks


def _class_roots(context: Context) -> list[Dimension]:
    """Leaves of known size that some layer decides or reads, in the order of the layers."""
    resolver = Resolver()
    deciders, readers = _layers(context, resolver)
    known = (resolver.leaves[leaf] for leaf in sorted(deciders.keys() | readers.keys()))
    return [root for root in known if (root.size or 0) > 0]  # damaged files have negative ones


def _layers(context: Context, resolver: Resolver) -> tuple[Layers, Layers]:
    """Layers that decide each leaf, and layers that read it."""
    deciders: Layers = {}
    readers: Layers = {}
    for layer in context.layers:
        for dimensions, table in ((layer.reads, readers), (layer.decides, deciders)):
            for dimension in dimensions:
                for leaf in leaves(resolver.axis(dimension)):
                    table.setdefault(leaf, {})[layer.node] = None
    return deciders, readers


def _axes(
    context: Context, resolver: Resolver
) -> tuple[dict[str, tuple[Axis, ...]], dict[tuple[int, int], tuple[Axis, ...]]]:
    """Resolved axes of every tensor, and of every use of a constant vector."""
    axes: dict[str, tuple[Axis, ...]] = {}
    uses: dict[tuple[int, int], tuple[Axis, ...]] = {}
    for name, position, dimensions in _appearances(context):
        resolved = tuple(resolver.axis(dimension) for dimension in dimensions)
        if position is not None:
            uses[position] = resolved
        axes.setdefault(name, resolved)
    return axes, uses


def _appearances(context: Context) -> Iterator[tuple[str, tuple[int, int] | None, tuple[Dimension, ...]]]:
    """Each tensor once, in order of first appearance, and each use of a constant vector."""
    left = dict(context.tensors)
    for node in context.graph.nodes:
        for position, name in enumerate(node.inputs):
            use = (node.index, position)
            if use in context.uses:
                yield name, use, context.uses[use]
            elif name in left:
                yield name, None, left.pop(name)
        for name in node.outputs:
            if name in left:
                yield name, None, left.pop(name)
    for name, dimensions in left.items():
        yield name, None, dimensions


def _members(
    context: Context,
    axes: dict[str, tuple[Axis, ...]],
    uses: dict[tuple[int, int], tuple[Axis, ...]],
    chosen: Iterable[int],
) -> dict[int, dict[tuple[str, int], None]]:
    """Tensor and axis of every appearance of the chosen leaves."""
    members: dict[int, dict[tuple[str, int], None]] = {leaf: {} for leaf in chosen}
    for name, use, _ in _appearances(context):
        for position, axis in enumerate(axes[name] if use is None else uses[use]):
            for leaf in leaves(axis):
                if leaf in members:
                    members[leaf][name, position] = None
    return members


def _class(
    leaf: int, size: int, members: Iterable[tuple[str, int]], layers: LayerPair, locks: tuple[Lock, ...]
) -> DimensionClass:
    deciders, readers = layers
    if not deciders and not locks:
        locks = (Lock("", "no layer's weights decide it"),)
    freedom = Freedom.LOCKED if locks else Freedom.FREE if len(deciders) == 1 else Freedom.COUPLED
    return DimensionClass(leaf, size, tuple(members), deciders, readers, freedom, locks)


def _named(graph: Graph, nodes: Iterable[int]) -> tuple[Decider, ...]:
    return tuple(Decider(index, graph.nodes[index].label, graph.nodes[index].op_type) for index in nodes)


def _size_name(resolver: Resolver, naming: Naming) -> SizeName:
    origin = naming.origin
    parts = tuple(resolver.axis(find(part)) for part in naming.parts)
    tensor, index = (origin.tensor, origin.position) if origin is not None else ("", -1)
    return SizeName(naming.node, naming.position, naming.attribute, naming.element, tensor, index, parts, naming.sign)
