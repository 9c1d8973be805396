"""Going through a ModelProto: graphs inside graphs, and all tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.strip import MAX_DEPTH, TOO_DEEP
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto


UNDEFINED, TENSOR, GRAPH, TENSORS, GRAPHS, SPARSE, SPARSES = 0, 4, 5, 9, 10, 11, 12
"""AttributeProto.AttributeType (onnx.proto)."""


GRAPH_KINDS = (UNDEFINED, GRAPH, GRAPHS)


TENSOR_KINDS = (UNDEFINED, TENSOR, TENSORS, SPARSE, SPARSES)


def subgraphs(node: NodeProto) -> list[tuple[str, GraphProto]]:
    """Attribute name and graph, for each graph a node holds."""
    graphs: list[tuple[str, GraphProto]] = []
    for attribute in node.attribute:
        if attribute.type in GRAPH_KINDS:
            if attribute.HasField("g"):
                graphs.append((attribute.name, attribute.g))
            graphs += [(f"{attribute.name}[{i}]", graph) for i, graph in enumerate(attribute.graphs)]
    return graphs


def all_graphs(graph: GraphProto, depth: int = 1) -> Iterator[GraphProto]:
    """A graph and all inside it, in file order.

    Raises ModelError (`too-deep`).
    """
    if depth > MAX_DEPTH:
        raise ModelError("too-deep", TOO_DEEP)
    yield graph
    for node in graph.node:
        if node.attribute:
            for _, inner in subgraphs(node):
                yield from all_graphs(inner, depth + 1)


def _function_graphs(model: ModelProto) -> Iterator[GraphProto]:
    """Graphs inside the nodes of local functions. Raises ModelError (`too-deep`)."""
    for function in model.functions:
        for node in function.node:
            for _, inner in subgraphs(node):
                yield from all_graphs(inner)


def all_nodes(model: ModelProto) -> Iterator[NodeProto]:
    """Every node of the model, of its subgraphs and local functions.

    Raises ModelError (`too-deep`).
    """
    for graph in all_graphs(model.graph):
        yield from graph.node
    for function in model.functions:
        yield from function.node
    for graph in _function_graphs(model):
        yield from graph.node


def attribute_tensors(attribute: AttributeProto) -> Iterator[TensorProto]:
    """Tensors an attribute holds."""
    if attribute.type in TENSOR_KINDS:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
            if sparse.HasField("values"):
                yield sparse.values
                yield sparse.indices


def all_tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Every tensor with values in the model.

    Raises ModelError (`too-deep`).
    """
    for graph in (*all_graphs(model.graph), *_function_graphs(model)):
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield sparse.values
            yield sparse.indices
    for node in all_nodes(model):
        for attribute in node.attribute:
            yield from attribute_tensors(attribute)


def all_names(model: ModelProto) -> Iterator[str | bytes]:
    """Every name in the model; protobuf hands one over as bytes where it is not UTF-8.

    Raises ModelError (`too-deep`).
    """
    for graph in all_graphs(model.graph):
        for named in (graph.input, graph.output, graph.value_info, graph.initializer):
            for item in named:
                yield item.name
        yield from (sparse.values.name for sparse in graph.sparse_initializer)
    for node in all_nodes(model):
        yield node.name
        yield node.op_type
        yield node.domain
        yield node.overload
        yield from node.input
        yield from node.output
        yield from (text for attribute in node.attribute for text in (attribute.name, attribute.ref_attr_name))
        yield from (text for entry in node.metadata_props for text in (entry.key, entry.value))
    for function in model.functions:
        yield from (function.name, function.domain, function.overload, *function.input, *function.output)
        yield from (opset.domain for opset in function.opset_import)
    yield from (opset.domain for opset in model.opset_import)
    yield from (text for entry in model.metadata_props for text in (entry.key, entry.value))


def external_names(tensor: TensorProto) -> Iterator[str | bytes]:
    """Names in a tensor's external data."""
    yield from (text for entry in tensor.external_data for text in (entry.key, entry.value))
