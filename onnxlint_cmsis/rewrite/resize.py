"""Apply a plan to an ONNX model: every tensor, attribute and stated shape of a class at the right indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.dims.bias import DEQUANTIZED
from onnxlint_cmsis.dims.result import Dimensions
from onnxlint_cmsis.graph.model import Graph
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.planning.lane_plan import Plan
from onnxlint_cmsis.rewrite import stated_shapes
from onnxlint_cmsis.rewrite.build import StoredElements
from onnxlint_cmsis.rewrite.constant_layouts import check_plan
from onnxlint_cmsis.rewrite.constant_store import Store, connect, set_number
from onnxlint_cmsis.rewrite.model_edits import BiasEdit, ConstantEdit, model_edits
from onnxlint_cmsis.rewrite.node_places import NodePlaces
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

    def read(use: Use) -> StoredElements:
        return store.read(sites.home(use))

    check_plan(uses, plan)
    _check_nodes(uses, sites, plan)
    edits = model_edits(uses, plan, read)
    for constant in edits.constants:
        _store(sites, store, constant)
    for edit in edits.attributes:
        set_number(sites.site(edit.node).node, edit.attribute, edit.element, edit.value)
    for bias in edits.biases:
        _add_bias(uses, sites, store, bias)
    stated_shapes.follow(sites, dimensions, plan.kept)
    return result


def _store(sites: NodePlaces, store: Store, edit: ConstantEdit) -> None:
    """Write a constant in place, or as a copy for its uses."""
    home = sites.home(edit.uses[0])
    if not edit.copied:
        store.write(home, edit.codes)
        return
    index, position = edit.uses[0]
    name = store.add(home.graph, sites.site(index).node.input[position], edit.elem_type, edit.codes)
    for index, position in edit.uses:
        sites.site(index).node.input[position] = name


def _add_bias(uses: Uses, sites: NodePlaces, store: Store, bias: BiasEdit) -> None:
    """Give a reader a bias that holds its increments."""
    node, site = uses.graph.nodes[bias.reader], sites.site(bias.node)
    like = f"{node.name or node.outputs[0]}_bias"
    name = store.add(site.scope.graph, like, bias.elem_type, bias.codes)
    if bias.kind == DEQUANTIZED:
        domain = _domain_of_weights(uses, node.inputs[1])
        axis = 0 if bias.scales.ndim else None
        scale = store.add(site.scope.graph, f"{like}_scale", "float32", bias.scales)
        name = store.dequantize(site, name, scale, domain, axis=axis)
    connect(site.node, bias.position, name)


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
