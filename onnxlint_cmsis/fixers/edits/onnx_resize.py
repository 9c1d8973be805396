"""A plan applied to an ONNX model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.constants import DEQUANTIZED, Use
from onnxlint_cmsis.fixers.edits.onnx_sites import NodeSites
from onnxlint_cmsis.fixers.edits.onnx_store import Store, connect, dequantizer_domain, set_number
from onnxlint_cmsis.fixers.edits.stated_shapes import follow
from onnxlint_cmsis.fixers.planning.layouts import check_plan
from onnxlint_cmsis.fixers.planning.model_edits import BiasEdit, model_edits
from onnxlint_cmsis.fixers.planning.uses import Uses
from onnxlint_cmsis.formats.onnx.element_codes import require_readable
from onnxlint_cmsis.formats.onnx.whole_model import whole_model

if TYPE_CHECKING:
    from onnx import ModelProto

    from onnxlint_cmsis.analysis.dimensions import Dimensions
    from onnxlint_cmsis.fixers.planning.elements import StoredElements
    from onnxlint_cmsis.fixers.planning.plan import Plan
    from onnxlint_cmsis.model.graph import Graph


def apply(model: ModelProto, graph: Graph, dimensions: Dimensions, plan: Plan) -> ModelProto:
    """A new model with every tensor, attribute and shape of the classes resized; `model` stays as it is.

    `graph` and `dimensions` are those of `model`. External data are read from beside `graph.path` and become part
    of the new model where they change; all others stay where they are. Raises NotAppliedError.
    """
    result = type(model)()
    result.CopyFrom(model)
    uses, sites = Uses(graph, dimensions), NodeSites(result, graph)
    store = Store(result, graph.path)

    def read(use: Use) -> StoredElements:
        return store.read(sites.home(use))

    check_plan(uses, plan)
    for leaf in plan.kept:
        group = dimensions.class_with_id(leaf)
        for tensor, _ in group.members if group is not None else ():
            producer = graph.producers.get(tensor)
            for node in (*([producer] if producer else []), *graph.consumers.get(tensor, ())):
                sites.site(node.index)  # raises where the class reaches into a local function
    edits = model_edits(uses, plan, read)
    for constant in edits.constants:
        home = sites.home(constant.uses[0])
        if not constant.copied:
            store.write(home, constant.codes)
            continue
        index, position = constant.uses[0]
        name = store.add(home.graph, sites.site(index).node.input[position], constant.elem_type, constant.codes)
        for index, position in constant.uses:
            sites.site(index).node.input[position] = name
    for edit in edits.attributes:
        set_number(sites.site(edit.node).node, edit.attribute, edit.element, edit.value)
    for bias in edits.biases:
        _add_bias(uses, sites, store, bias)
    follow(sites, dimensions, plan.kept)
    return result


def _add_bias(uses: Uses, sites: NodeSites, store: Store, bias: BiasEdit) -> None:
    """Give a reader a bias that holds its increments."""
    node, site = uses.graph.nodes[bias.reader], sites.site(bias.node)
    like = f"{node.name or node.outputs[0]}_bias"
    name = store.add(site.scope.graph, like, bias.elem_type, bias.codes)
    if bias.kind == DEQUANTIZED:
        domain = dequantizer_domain(uses.graph, node.inputs[1])
        axis = 0 if bias.scales.ndim else None
        scale = store.add(site.scope.graph, f"{like}_scale", "float32", bias.scales)
        name = store.dequantize(site, name, scale, domain, axis=axis)
    connect(site.node, bias.position, name)


def resized(data: bytes, graph: Graph, dimensions: Dimensions, plan: Plan) -> bytes:
    """The model with a plan applied; `graph` and `dimensions` are those of `data`. Raises NotAppliedError."""
    return serialized(apply(whole_model(data), graph, dimensions, plan))


def check_external_data(data: bytes, path: str) -> None:
    """Raise UnreadableError where constants are damaged, or a file with external data of `path` cannot be opened."""
    require_readable(whole_model(data), path)


def serialized(model: ModelProto) -> bytes:
    """Give the bytes of a model."""
    data: bytes = model.SerializeToString()
    return data
