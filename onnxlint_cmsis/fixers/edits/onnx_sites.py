"""From the flat graph back to the protobuf: nodes by index, constants by where they are defined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.functions import domain_of
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.formats.onnx.walk import subgraphs
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.operators.control import CONSTANT

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

    from onnxlint_cmsis.analysis.constants import Use
    from onnxlint_cmsis.model.graph import Graph


class Home(NamedTuple):
    """Where the file keeps a constant: an initializer, or the attribute of a Constant node."""

    graph: GraphProto
    """Graph that defines it."""
    tensor: TensorProto | None
    """The initializer, or the tensor in the attribute; None for a Constant of plain numbers."""
    attribute: AttributeProto | None
    """The attribute of a Constant node."""

    def shape(self) -> tuple[int, ...] | None:
        """Sizes; None for a form that is not edited."""
        if self.tensor is not None:
            return tuple(self.tensor.dims)
        values = None if self.attribute is None else self.attribute.ints or self.attribute.floats
        return (len(values),) if values else None


class GraphScope:
    """One graph with the constants that it stores, inside another one."""

    def __init__(self, graph: GraphProto, parent: GraphScope | None) -> None:
        self.graph = graph
        self.parent = parent
        self.homes = {tensor.name: Home(graph, tensor, None) for tensor in graph.initializer}
        for node in graph.node:
            if operator_of_proto(node) is CONSTANT and len(node.attribute) == 1:
                attribute = node.attribute[0]
                home = Home(graph, attribute.t if attribute.HasField("t") else None, attribute)
                if home.shape() is not None:
                    self.homes[node.output[0]] = home

    def home(self, name: str) -> Home | None:
        """Home of a visible name; None where it is sparse or not stored."""
        scope: GraphScope | None = self
        while scope is not None:
            if name in scope.homes:
                return scope.homes[name]
            scope = scope.parent
        return None


class NodeSite(NamedTuple):
    """A node of the file and the graph that it is in."""

    node: NodeProto
    """The node."""
    scope: GraphScope
    """Graph that holds the node."""


class NodeSites:
    """All nodes of a model by `Node.index`, and its values by the flat graph's keys."""

    def __init__(self, model: ModelProto, graph: Graph) -> None:
        self.graph = graph
        self.scopes: list[GraphScope] = []
        self.keys: dict[tuple[int, str], str] = {}
        """Graph (position in `scopes`) and name there to key, for values inside subgraphs."""
        self._sites: dict[int, NodeSite] = {}
        functions = {(domain_of(function.domain), function.name, function.overload) for function in model.functions}
        if not functions:
            self._match(list(self._all(model.graph, None)), [node.index for node in graph.nodes])
            return
        scope = GraphScope(model.graph, None)
        self.scopes.append(scope)
        called = [(domain_of(node.domain), node.op_type, node.overload) in functions for node in model.graph.node]
        sites = [NodeSite(node, scope) for node, call in zip(model.graph.node, called, strict=True) if not call]
        self._match(sites, [node.index for node in graph.nodes if not node.graph])

    def site(self, index: int) -> NodeSite:
        """A node by index. Raises NotAppliedError for one that is inside a local function."""
        if index not in self._sites:
            label = self.graph.nodes[index].label
            raise NotAppliedError(f"{label} is in a local function or a subgraph of a model with such functions")
        return self._sites[index]

    def home(self, use: Use) -> Home:
        """Where the constant that a node reads is stored. Raises NotAppliedError where it cannot be edited."""
        node, scope = self.site(use[0])
        home = scope.home(node.input[use[1]])
        if home is None:
            raise NotAppliedError(f"constant `{node.input[use[1]]}` is sparse or stored in a form that is not edited")
        return home

    def key(self, scope: GraphScope, name: str) -> str:
        """Key of a value that a graph names."""
        return name if scope.parent is None else self.keys.get((id(scope), name), "")

    def _all(self, graph: GraphProto, parent: GraphScope | None) -> Iterator[NodeSite]:
        """Nodes in the order of the flat graph: each subgraph's after the node that holds it."""
        scope = GraphScope(graph, parent)
        self.scopes.append(scope)
        for node in graph.node:
            yield NodeSite(node, scope)
            for _, inner in subgraphs(node):
                yield from self._all(inner, scope)

    def _match(self, sites: list[NodeSite], indices: list[int]) -> None:
        if len(sites) != len(indices):
            raise NotAppliedError("the graph is not that of the model")
        for site, index in zip(sites, indices, strict=True):
            flat = self.graph.nodes[index]
            if site.node.op_type != flat.op_type or len(site.node.input) != len(flat.inputs):
                raise NotAppliedError("the graph is not that of the model")
            self._sites[index] = site
            for names, keys in ((site.node.output, flat.outputs), (site.node.input, flat.inputs)):
                for name, key in zip(names, keys, strict=True):
                    self.keys[id(site.scope), name] = key
        self._bodies(indices)

    def _bodies(self, indices: list[int]) -> None:
        """Keys of the formal inputs and outputs of subgraphs."""
        scopes = {id(scope.graph): scope for scope in self.scopes}
        for index in indices:
            for (_, inner), body in zip(
                subgraphs(self._sites[index].node), self.graph.nodes[index].bodies, strict=False
            ):
                scope = scopes.get(id(inner))
                for values, keys in ((inner.input, body.inputs), (inner.output, body.outputs)):
                    for value, key in zip(values, keys, strict=True):
                        if scope is not None:
                            self.keys[id(scope), value.name] = key
