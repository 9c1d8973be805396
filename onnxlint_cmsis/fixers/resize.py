"""Apply a plan to a model: every tensor, attribute and stated shape of a class at the right indices."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onnxlint_cmsis.dims.bias import DEQUANTIZED, FLOAT
from onnxlint_cmsis.dims.result import Dimensions
from onnxlint_cmsis.fixers import codes, shapes
from onnxlint_cmsis.fixers.build import Source, built, placed
from onnxlint_cmsis.fixers.codes import Codes
from onnxlint_cmsis.fixers.layouts import SAME, Layout, Layouts, NewBias, layouts, new_biases, new_shape
from onnxlint_cmsis.fixers.plan_types import Plan, TensorEdit
from onnxlint_cmsis.fixers.sites import Sites
from onnxlint_cmsis.fixers.sizes import attribute_edits
from onnxlint_cmsis.fixers.store import Store, connect, set_number
from onnxlint_cmsis.fixers.uses import Use, Uses
from onnxlint_cmsis.graph.model import Graph

if TYPE_CHECKING:
    from onnx import ModelProto


def apply(model: ModelProto, graph: Graph, dimensions: Dimensions, plan: Plan) -> ModelProto:
    """A new model with every tensor, attribute and shape of the classes resized; `model` stays as it is.

    `graph` and `dimensions` are those of `model`. External data are read from beside `graph.path` and become part
    of the new model where they change; all others stay where they are. Raises NotAppliedError.
    """
    result = type(model)()
    result.CopyFrom(model)
    uses, sites = Uses(graph, dimensions), Sites(result, graph)
    store = Store(result, graph.path)
    planned = layouts(uses, plan)
    _check_nodes(uses, sites, plan)
    attributes, biases = attribute_edits(uses, plan.kept), new_biases(uses, plan)
    for version in _versions(sites, store, planned, plan):
        _store(sites, store, version)
    for edit in attributes:
        set_number(sites.site(edit.node).node, edit.attribute, edit.element, edit.value)
    for bias in biases:
        _add_bias(uses, sites, store, bias, plan)
    shapes.follow(sites, dimensions, plan.kept)
    return result


def edits(graph: Graph, dimensions: Dimensions, plan: Plan) -> list[TensorEdit]:
    """Stored constants that the plan changes, and those that it adds. Reads no weights.

    Raises NotAppliedError.
    """
    uses = Uses(graph, dimensions)
    found = []
    for key, changed in layouts(uses, plan).items():
        old = graph.constants[key]
        for place, (layout, members) in enumerate(_groups(changed)):
            copied = place > 0 or SAME in changed.values()
            shape = new_shape(old.shape, layout)
            sizes = _bytes(old.shape, old.elem_type), _bytes(shape, old.elem_type)
            found.append(TensorEdit(key, members, copied, old.shape, shape, 0 if copied else sizes[0], sizes[1]))
    for bias in new_biases(uses, plan):
        found += _bias_edits(uses, bias, plan)
    return found


def _bytes(shape: tuple[int, ...], elem_type: str) -> int:
    return (prod(shape) * codes.BITS[elem_type] + 7) // 8


def _bias_edits(uses: Uses, bias: NewBias, plan: Plan) -> list[TensorEdit]:
    node, use = uses.graph.nodes[bias.reader], (bias.slot.node, bias.slot.position)
    size = len(bias.places or plan.increments[bias.reader])
    elem_type = uses.graph.elem_type(node.inputs[0]) if bias.slot.kind == FLOAT else "int32"
    scales = len(bias.slot.scales) if bias.slot.kind == DEQUANTIZED else 0
    made = [TensorEdit("", (use,), True, (), (size,), 0, _bytes((size,), elem_type))]
    if scales:
        shape = (size,) if scales > 1 else ()
        made.append(TensorEdit("", (use,), True, (), shape, 0, _bytes(shape, "float32")))
    return made


def _groups(changed: dict[Use, Layout]) -> list[tuple[Layout, tuple[Use, ...]]]:
    """The different layouts of one constant, each with its uses."""
    found: dict[Layout, list[Use]] = {}
    for use, layout in changed.items():
        if layout != SAME:
            found.setdefault(layout, []).append(use)
    return [(layout, tuple(members)) for layout, members in found.items()]


class Version(NamedTuple):
    """One form of a stored constant after the plan."""

    uses: tuple[Use, ...]
    """Uses that read it."""
    copied: bool
    """A new tensor, because other uses need another form."""
    codes: Codes
    """Bit patterns."""
    elem_type: str
    """numpy-like name of the type."""


def _versions(sites: Sites, store: Store, planned: Layouts, plan: Plan) -> list[Version]:
    """Elements of every changed constant, all made before the first is written."""

    def read(use: Use) -> Source:
        return store.read(sites.home(use))

    found: list[Version] = []
    for changed in planned.values():
        for place, (layout, members) in enumerate(_groups(changed)):
            source = read(members[0])
            copied = place > 0 or SAME in changed.values()
            found.append(Version(members, copied, built(source, layout, plan.increments, read), source.elem_type))
    return found


def _store(sites: Sites, store: Store, version: Version) -> None:
    """Write a constant in place, or as a copy that its uses read instead."""
    home = sites.home(version.uses[0])
    if not version.copied:
        store.write(home, version.codes)
        return
    index, position = version.uses[0]
    name = store.add(home.graph, sites.site(index).node.input[position], version.elem_type, version.codes)
    for index, position in version.uses:
        sites.site(index).node.input[position] = name


def _add_bias(uses: Uses, sites: Sites, store: Store, bias: NewBias, plan: Plan) -> None:
    """Give a reader a bias that holds its increments."""
    node, site = uses.graph.nodes[bias.reader], sites.site(bias.slot.node)
    increments = plan.increments[bias.reader]
    elem_type = "int32"
    if bias.slot.kind == FLOAT:
        elem_type = uses.graph.elem_type(node.inputs[0])
    nothing = np.zeros(increments.size, f"<u{codes.BITS[elem_type] // 8}")
    made = _moved(codes.added(nothing, elem_type, increments), bias, nothing[:1])
    like = f"{node.name or node.outputs[0]}_bias"
    name = store.add(site.scope.graph, like, elem_type, made)
    if bias.slot.kind == DEQUANTIZED:
        scales = np.array(bias.slot.scales, "<f4").view("<u4")
        scales = _moved(scales, bias, scales[:1]) if scales.size > 1 else scales.reshape(())
        domain = _domain_of_weights(uses, node.inputs[1])
        axis = 0 if scales.ndim else None
        scale = store.add(site.scope.graph, f"{like}_scale", "float32", scales)
        name = store.dequantize(site, name, scale, domain, axis=axis)
    connect(site.node, bias.slot.position, name)


def _moved(vector: Codes, bias: NewBias, filler: Codes) -> Codes:
    return vector if bias.places is None else placed(vector, [bias.places], filler)


def _domain_of_weights(uses: Uses, key: str) -> str:
    """Domain of the DequantizeLinear that makes a layer's weights real."""
    producer = uses.graph.producers[key]
    while producer.op_type != "DequantizeLinear":
        producer = uses.graph.producers[producer.inputs[0]]
    return producer.domain


def _check_nodes(uses: Uses, sites: Sites, plan: Plan) -> None:
    """Raise NotAppliedError where a class reaches into a local function."""
    for leaf in plan.kept:
        found = uses.dimensions.class_with_id(leaf)
        for tensor, _ in found.members if found is not None else ():
            producer = uses.graph.producers.get(tensor)
            for node in (*([producer] if producer else []), *uses.graph.consumers.get(tensor, ())):
                sites.site(node.index)
