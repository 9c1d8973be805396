"""Apply a plan to a model: every tensor, attribute and stated shape of a class at the right indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.bias import DEQUANTIZED, FLOAT
from onnxlint_cmsis.dims.result import Dimensions
from onnxlint_cmsis.formats.onnx_graph import tensor_codes
from onnxlint_cmsis.formats.onnx_graph.tensor_codes import Codes
from onnxlint_cmsis.graph.model import Graph
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.planning.lane_plan import Plan
from onnxlint_cmsis.rewrite import stated_shapes
from onnxlint_cmsis.rewrite.build import StoredElements, built, placed
from onnxlint_cmsis.rewrite.constant_layouts import SAME, NewBias, Rearrangement, Rearrangements, layouts, new_biases
from onnxlint_cmsis.rewrite.constant_store import Store, connect, set_number
from onnxlint_cmsis.rewrite.node_places import NodePlaces
from onnxlint_cmsis.rewrite.size_numbers import attribute_edits
from onnxlint_cmsis.rewrite.uses import Use, Uses

if TYPE_CHECKING:
    from onnx import ModelProto


def apply(model: ModelProto, graph: Graph, dimensions: Dimensions, plan: Plan) -> ModelProto:
    """A new model with every tensor, attribute and shape of the classes resized; `model` stays as it is.

    `graph` and `dimensions` are those of `model`. External data are read from beside `graph.path` and become part
    of the new model where they change; all others stay where they are. Raises NotAppliedError.
    """
    result = type(model)()
    result.CopyFrom(model)
    uses, sites = Uses(graph, dimensions), NodePlaces(result, graph)
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
    stated_shapes.follow(sites, dimensions, plan.kept)
    return result


def _groups(changed: dict[Use, Rearrangement]) -> list[tuple[Rearrangement, tuple[Use, ...]]]:
    """The different layouts of one constant, each with its uses."""
    found: dict[Rearrangement, list[Use]] = {}
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


def _versions(sites: NodePlaces, store: Store, planned: Rearrangements, plan: Plan) -> list[Version]:
    """Elements of every changed constant, all made before the first is written."""

    def read(use: Use) -> StoredElements:
        return store.read(sites.home(use))

    found: list[Version] = []
    for changed in planned.values():
        for place, (layout, members) in enumerate(_groups(changed)):
            source = read(members[0])
            copied = place > 0 or SAME in changed.values()
            found.append(Version(members, copied, built(source, layout, plan.increments, read), source.elem_type))
    return found


def _store(sites: NodePlaces, store: Store, version: Version) -> None:
    """Write a constant in place, or as a copy for its uses."""
    home = sites.home(version.uses[0])
    if not version.copied:
        store.write(home, version.codes)
        return
    index, position = version.uses[0]
    name = store.add(home.graph, sites.site(index).node.input[position], version.elem_type, version.codes)
    for index, position in version.uses:
        sites.site(index).node.input[position] = name


def _add_bias(uses: Uses, sites: NodePlaces, store: Store, bias: NewBias, plan: Plan) -> None:
    """Give a reader a bias that holds its increments."""
    node, site = uses.graph.nodes[bias.reader], sites.site(bias.slot.node)
    increments = plan.increments[bias.reader]
    elem_type = "int32"
    if bias.slot.kind == FLOAT:
        elem_type = uses.graph.elem_type(node.inputs[0])
    nothing = np.zeros(increments.size, f"<u{tensor_codes.BITS[elem_type] // 8}")
    made = _moved(tensor_codes.added(nothing, elem_type, increments), bias, nothing[:1])
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
    while not operator_of(producer).dequantizes:
        producer = uses.graph.producers[producer.inputs[0]]
    return producer.domain


def _check_nodes(uses: Uses, sites: NodePlaces, plan: Plan) -> None:
    """Raise NotAppliedError where a class reaches into a local function."""
    for leaf in plan.kept:
        found = uses.dimensions.class_with_id(leaf)
        for tensor, _ in found.members if found is not None else ():
            producer = uses.graph.producers.get(tensor)
            for node in (*([producer] if producer else []), *uses.graph.consumers.get(tensor, ())):
                sites.site(node.index)
