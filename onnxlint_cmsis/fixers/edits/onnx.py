"""Edits put into an ONNX model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.classes import Use
from onnxlint_cmsis.fixers.planning.elements import StoredElements
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx import document
from onnxlint_cmsis.formats.onnx.document import Codes
from onnxlint_cmsis.formats.onnx.functions import domain_of, operator_of_proto
from onnxlint_cmsis.formats.onnx.tensors import ELEM_TYPES, elem_name
from onnxlint_cmsis.formats.onnx.wire import all_graphs, all_names, subgraphs
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.operators.control import CONSTANT
from onnxlint_cmsis.operators.quantization import DEQUANTIZE_LINEAR, QUANTIZE_LINEAR

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Node


# From the flat graph back to the protobuf: nodes by index, constants by where they are defined.


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


# Putting changed constants, attributes and biases into a model.


NUMBERS = {name: number for number, (name, _) in ELEM_TYPES.items()}
"""Element type numbers by name."""
INPUTS_TOO = 4
"""IR version from which an initializer need not be a graph input as well."""


class Store:
    """Reads and writes the constants of one model."""

    def __init__(self, model: ModelProto, path: str) -> None:
        self.model = model
        self.path = path
        self._names = {name for name in all_names(model) if isinstance(name, str)}

    def read(self, home: Home) -> StoredElements:
        """Elements of a stored constant. Raises NotAppliedError."""
        if home.tensor is not None:
            return StoredElements(document.read(home.tensor, self.path), elem_name(home.tensor.data_type))
        value = home.attribute
        if value is not None and value.name == "value_ints":
            return StoredElements(np.array(value.ints, dtype="<i8").view("<u8"), "int64")
        if value is not None and value.name == "value_floats":
            return StoredElements(np.array(value.floats, dtype="<f4").view("<u4"), "float32")
        raise NotAppliedError(f"a Constant in the form of {value.name if value else 'nothing'} is not edited")

    def write(self, home: Home, codes: Codes) -> None:
        """Replace a stored constant."""
        if home.tensor is not None:
            document.write(home.tensor, codes)
        elif home.attribute is not None and home.attribute.name == "value_ints":
            home.attribute.ints[:] = codes.view("<i8").tolist()
        elif home.attribute is not None:
            home.attribute.floats[:] = codes.view("<f4").tolist()

    def add(self, graph: GraphProto, like: str, elem_type: str, codes: Codes) -> str:
        """Store a new constant under a name like another's; returns the name."""
        return self.store(graph, self.fresh(like), elem_type, codes)

    def store(self, graph: GraphProto, name: str, elem_type: str, codes: Codes) -> str:
        """Store a new constant under a name that is kept for it; returns the name."""
        from onnx import TensorProto

        tensor = TensorProto(name=name, data_type=NUMBERS[elem_type])
        document.write(tensor, codes)
        if self.model.ir_version >= INPUTS_TOO:
            graph.initializer.append(tensor)
        else:
            from onnx import helper

            constant = helper.make_node(CONSTANT.name, [], [tensor.name], value=tensor)
            constant.attribute[0].t.ClearField("name")
            graph.node.insert(0, constant)
        return tensor.name

    def fresh(self, like: str) -> str:
        """A name that nothing in the model has."""
        number, name = 2, f"{like}_2"
        while name in self._names:
            number += 1
            name = f"{like}_{number}"
        self._names.add(name)
        return name

    def unused(self, name: str) -> str:
        """The name itself where nothing in the model has it, else one like it."""
        if name in self._names:
            return self.fresh(name)
        self._names.add(name)
        return name

    def dequantize(self, site: NodeSite, values: str, scales: str, domain: str, *, axis: int | None) -> str:
        """Put a DequantizeLinear before a node; returns the name of its output.

        `axis` is None for a single scale: operator sets before 13 know no other and no such attribute.
        """
        from onnx import helper

        real = self.fresh(f"{values}_real")
        node = helper.make_node(DEQUANTIZE_LINEAR.name, [values, scales], [real], real, domain=domain, axis=axis)
        index = next(index for index, present in enumerate(site.scope.graph.node) if present is site.node)
        site.scope.graph.node.insert(index, node)
        return real


def connect(node: NodeProto, position: int, name: str) -> None:
    """Make a node read a tensor at an input, present or new."""
    node.input.extend([""] * (position + 1 - len(node.input)))
    node.input[position] = name


def dequantizer_domain(graph: Graph, weights: str) -> str:
    """Domain of the DequantizeLinear that makes a layer's weights real."""
    producer = graph.producers[weights]
    while not operator_of(producer).dequantizes:
        producer = graph.producers[producer.inputs[0]]
    return producer.domain


def forget(graph: GraphProto, tensors: Collection[str]) -> None:
    """Take out what a graph states of the types and shapes of tensors."""
    for value in [value for value in graph.value_info if value.name in tensors]:
        graph.value_info.remove(value)


def set_number(node: NodeProto, name: str, element: int, value: int) -> None:
    """Write one number of an integer attribute."""
    attribute = next(candidate for candidate in node.attribute if candidate.name == name)
    if attribute.ints:
        attribute.ints[element] = value
    else:
        attribute.i = value


# Edits of nodes and constants of the main graph, for repairs.


class GraphEdit:
    """A copy of a model in the making; nodes are named by `Node.index` of its graph before all edits."""

    def __init__(
        self,
        data: bytes,
        graph: Graph,
        clean: Callable[[KernelCall], bool],
        records: tuple[LoweredLayer, ...] = (),
    ) -> None:
        """`graph` is that of `data`, and `records` what it lowers to. Raises NotAppliedError.

        `clean` tells that a call meets no hazard on a target.
        """
        from onnx import ModelProto

        self._model: ModelProto = ModelProto.FromString(data)
        self.graph, self.clean, self.records = graph, clean, records
        self.requantized_tensors: set[str] = set()
        """Tensors of integers that got another scale or zero-point."""
        self._sites = NodeSites(self._model, graph)
        self._store = Store(self._model, graph.path)

    @property
    def default_opset(self) -> int:
        """Version of the default operator set that the model imports; 0 where it does not."""
        return next((opset.version for opset in self._model.opset_import if opset.domain in ("", "ai.onnx")), 0)

    def inputs(self, node: Node) -> list[str]:
        """Names of a node's inputs as they are now."""
        return list(self.site(node).node.input)

    def data(self) -> bytes:
        """The model as it is now."""
        data: bytes = self._model.SerializeToString()
        return data

    def site(self, node: Node) -> NodeSite:
        """A node of the main graph. Raises NotAppliedError for one in a subgraph or local function."""
        if node.graph:
            raise NotAppliedError(f"{node.label} is in a subgraph")
        return self._sites.site(node.index)

    def stored(self, node: Node, position: int) -> StoredElements:
        """Elements of the stored constant that a node reads. Raises NotAppliedError."""
        self.site(node)
        return self._store.read(self._sites.home((node.index, position)))

    def add_constant(self, name: str, elem_type: str, codes: Codes) -> str:
        """Store a new constant of these bit patterns under a name, or one like it; returns the name."""
        return self._store.store(self._model.graph, self._store.unused(name), elem_type, codes)

    def add_integers(self, name: str, values: Sequence[int]) -> str:
        """Store a vector of int64 under a name, or one like it; returns the name."""
        return self.add_constant(name, "int64", np.array(values, "<i8").view("<u8"))

    def fresh(self, name: str) -> str:
        """The name where nothing in the model has it, else one like it."""
        return self._store.unused(name)

    def connect(self, node: Node, position: int, name: str) -> None:
        """Make a node read another tensor at an input, which it may not have had so far."""
        connect(self.site(node).node, position, name)

    def insert(self, before: Node, op_type: str, inputs: Sequence[str], outputs: Sequence[str], **more: Any) -> None:
        """Put a new node right before another one; `more` are its domain and attributes."""
        from onnx import helper

        self._insert(
            before, helper.make_node(op_type, list(inputs), list(outputs), self.fresh(f"{outputs[0]}_node"), **more)
        )

    def insert_behind(
        self, node: Node, op_type: str, inputs: Sequence[str], outputs: Sequence[str], **more: Any
    ) -> None:
        """Put a new node right behind another one; `more` are its domain and attributes."""
        from onnx import helper

        position = self._position(self.site(node).node) + 1
        name = self.fresh(f"{outputs[0]}_node")
        self._model.graph.node.insert(position, helper.make_node(op_type, list(inputs), list(outputs), name, **more))

    def insert_like(
        self, before: Node, node: Node, name: str, inputs: Sequence[str], outputs: Sequence[str], **changed: Any
    ) -> None:
        """Put a copy of a node, with other inputs and outputs and some attributes changed, right before another one."""
        new = type(self.site(node).node)()
        new.CopyFrom(self.site(node).node)
        new.name = self.fresh(name)
        new.input[:], new.output[:] = list(inputs), list(outputs)
        _set(new, changed, ())
        self._insert(before, new)

    def set_attributes(self, node: Node, *dropped: str, **values: Any) -> None:
        """Give a node these attributes, and take others away."""
        _set(self.site(node).node, values, dropped)

    def forget(self, tensor: str) -> None:
        """Take out what the model states of a tensor's type and shape."""
        forget(self._model.graph, {tensor})

    def remove(self, node: Node) -> None:
        """Take a node out, with what the model states of its outputs' shapes."""
        self._take_out(self.site(node).node)

    def requantized(self, before: Node, tensor: str, like: Node) -> str:
        """Put a QuantizeLinear and a DequantizeLinear before a node, of the parameters of the DequantizeLinear `like`.

        Returns the name of what the second one makes of the tensor.
        """
        proto = self.site(like).node
        integers, reals = self.fresh(f"{tensor}_quantized"), self.fresh(f"{tensor}_real")
        parameters = list(proto.input)[1:]
        axis = {attribute.name: attribute.i for attribute in proto.attribute if attribute.name == "axis"}
        for op_type, source, result in (
            (QUANTIZE_LINEAR.name, tensor, integers),
            (DEQUANTIZE_LINEAR.name, integers, reals),
        ):
            self.insert(before, op_type, [source, *parameters], [result], domain=proto.domain, **axis)
        return reals

    def drop_unread(self) -> None:
        """Take out nodes and initializers of the main graph that these edits left without a reader.

        Graphs inside nodes read tensors of the main graph as well.
        """
        before = {name for node in self.graph.nodes for name in node.inputs}
        handed = {value.name for value in (*self._model.graph.output, *self._model.graph.input)}
        while True:
            graphs = list(all_graphs(self._model.graph))
            kept = {name for graph in graphs for node in graph.node for name in node.input} | handed
            kept |= {value.name for graph in graphs[1:] for value in graph.output}
            gone = [node for node in self._model.graph.node if _idle(node.output, before, kept)]
            if not gone:
                break
            for node in gone:
                self._take_out(node)
        for tensor in [tensor for tensor in self._model.graph.initializer if _idle([tensor.name], before, kept)]:
            self._model.graph.initializer.remove(tensor)

    def _take_out(self, node: NodeProto) -> None:
        outputs = {*node.output}
        del self._model.graph.node[self._position(node)]
        forget(self._model.graph, outputs)

    def _insert(self, before: Node, node: NodeProto) -> None:
        self._model.graph.node.insert(self._position(self.site(before).node), node)

    def _position(self, node: NodeProto) -> int:
        """Where a node stands in the main graph; one of the same contents beside it is another node."""
        return next(index for index, present in enumerate(self._model.graph.node) if present is node)


def _idle(names: Sequence[str], before: set[str], kept: set[str]) -> bool:
    """Whether values that had a reader have none any more."""
    return any(name in before for name in names) and not any(name in kept for name in names)


def _set(node: NodeProto, values: Mapping[str, Any], dropped: Collection[str]) -> None:
    """Give a node these attributes, none for an empty list, and drop others."""
    from onnx import helper

    new = type(node)()
    new.attribute.extend(
        attribute for attribute in node.attribute if attribute.name not in values and attribute.name not in dropped
    )
    new.attribute.extend(helper.make_attribute(key, value) for key, value in values.items() if value != [])
    del node.attribute[:]
    node.attribute.extend(new.attribute)
