"""From a parsed model to the flat graph: unique keys, nodes with byte ranges, constants, producers and consumers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from onnx import GraphProto, NodeProto, TensorProto

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx import attributes, constants
from onnxlint_cmsis.formats.onnx.constants import fold_node
from onnxlint_cmsis.formats.onnx.document import Document
from onnxlint_cmsis.formats.onnx.functions import PATH_KEY, RANGE_KEY, VERSION_KEY, domain_of, imported_versions
from onnxlint_cmsis.formats.onnx.input_sizes import too_many_axes
from onnxlint_cmsis.formats.onnx.known_types import Table
from onnxlint_cmsis.formats.onnx.missing_inputs import with_missing
from onnxlint_cmsis.formats.onnx.payloads import payload_problem
from onnxlint_cmsis.formats.onnx.scope import Scope, defined
from onnxlint_cmsis.formats.onnx.strip import inner_ranges
from onnxlint_cmsis.formats.onnx.tensors import elem_name
from onnxlint_cmsis.formats.onnx.walk import all_names, attribute_tensors, subgraphs
from onnxlint_cmsis.formats.onnx.without_weights import UNKNOWN_RANGE, Range
from onnxlint_cmsis.model.graph import Body, Constant, Graph, Node, Problem, Tensor
from onnxlint_cmsis.model.made_up_names import unlike
from onnxlint_cmsis.operators.control import CONSTANT, CONSTANT_OF_SHAPE
from onnxlint_cmsis.operators.curve import IDENTITY

OVERRIDABLE_IR = 4
"""IR version from which an initializer that is also an input may be replaced by the caller (onnx/docs/IR.md)."""


FIXED = (CONSTANT, IDENTITY, CONSTANT_OF_SHAPE)
"""Operators whose results `constants.py` knows whatever their size."""


class Flattener:
    """Collects the flat graph of one document."""

    def __init__(self, document: Document, tables: list[Table], expanded: bool) -> None:
        self.document = document
        self.expanded = expanded
        """Whether local functions were laid flat, which leaves ranges and paths in the metadata of nodes."""
        self.tables = iter(tables)
        self.opsets = imported_versions(document.model)
        self.nodes: list[Node] = []
        self.tensors: dict[str, Tensor] = {}
        self.constants: dict[str, Constant] = {}
        self.producers: dict[str, Node] = {}
        self.consumers: dict[str, list[Node]] = {}
        self.paths: set[str] = set()
        self.node_metadata: dict[int, dict[str, str]] = {}
        self.problems: list[Problem] = []
        self.given: set[str] = set()
        """Inputs and initializers of all graphs."""
        self.stored: dict[str, TensorProto | None] = {}
        """Tensors of initializers and Constant nodes; None where a key has several tensors. A sparse one has two."""

    def run(self) -> Graph:
        """The whole model."""
        document, graph = self.document, self.document.model.graph
        scope = Scope("", None)
        self._graph(graph, scope, document.stripped.nodes)
        return Graph(
            document.path,
            tuple(self.nodes),
            self.tensors,
            self.constants,
            tuple(v.name for v in graph.input if v.name not in self.constants),
            tuple(v.name for v in graph.output),
            self.producers,
            {key: tuple(nodes) for key, nodes in self.consumers.items()},
            (*document.problems, *self.problems),
            {p.key: p.value for p in document.model.metadata_props},
            self.node_metadata,
            self.expanded,
            producer=document.model.producer_name,
        )

    def _graph(self, graph: GraphProto, scope: Scope, ranges: Sequence[Range]) -> None:
        self._define(graph, scope)
        if len(ranges) != len(graph.node):
            ranges = [UNKNOWN_RANGE] * len(graph.node)
        for node, where in zip(graph.node, ranges, strict=True):
            self._node(node, scope, where)

    def _define(self, graph: GraphProto, scope: Scope) -> None:
        """Keys, types and constants of a graph's values."""
        table = next(self.tables)
        for name, (elem, shape) in table.items():
            key = scope.key(name)
            self.tensors[key] = Tensor(key, elem_name(elem), shape)
        main_inputs = {v.name for v in graph.input} if scope.parent is None else set()
        overridable = main_inputs if self.document.model.ir_version >= OVERRIDABLE_IR else set()
        self.given |= {scope.key(v.name) for v in graph.input}
        for tensor in graph.initializer:
            key = scope.key(tensor.name)
            self.given.add(key)
            self._payload(key, tensor)
            self._keep(constants.from_tensor(self.document, key, tensor, tensor.name in overridable))
        for sparse in graph.sparse_initializer:
            key = scope.key(sparse.values.name)
            self.given.add(key)
            self._keep(constants.from_sparse(self.document, key, sparse, key in overridable))

    def _keep(self, constant: Constant | None) -> None:
        if constant is not None:
            self.constants[constant.name] = constant
            self.tensors[constant.name] = Tensor(constant.name, constant.elem_type, constant.shape)

    def _payload(self, key: str, tensor: TensorProto, node: str = "") -> None:
        wrong = payload_problem(tensor, self.document.payload(tensor))
        if wrong:
            self.problems.append(Problem("invalid", f"tensor `{key}` {wrong}", node))
        many = too_many_axes(key, len(tensor.dims))
        if many:
            self.problems.append(Problem("undecided", many, node))
        if not node or operator_of(self.nodes[-1]) is CONSTANT:
            self.stored[key] = None if key in self.stored else tensor

    def _node(self, node: NodeProto, scope: Scope, where: Range) -> None:
        index, path = len(self.nodes), scope.path
        if node.metadata_props:
            where, path = self._metadata(node, index, scope.path, where)
        inner = subgraphs(node) if node.attribute else []
        label = f"{path}/{node.name or f'{node.op_type}#{index}'}".lstrip("/") if inner else ""
        scopes = [Scope(self._unique(f"{label}.{attribute}"), scope) for attribute, _ in inner]
        bodies = tuple(self._body(a, graph, inside) for (a, graph), inside in zip(inner, scopes, strict=True))
        self._connect(self._flat(node, scope, path, bodies, where))
        self._fold(node)
        ranges = inner_ranges(self.document.buffer, where, len(inner))
        for (_, graph), inside, held in zip(inner, scopes, ranges, strict=True):
            self._graph(graph, inside, held)

    def _flat(self, node: NodeProto, scope: Scope, path: str, bodies: tuple[Body, ...], where: Range) -> Node:
        """The node with keys for its tensors."""
        domain = domain_of(node.domain)
        if scope.parent is None:
            inputs, outputs = tuple(node.input), tuple(node.output)
        else:
            inputs = tuple([scope.key(name) for name in node.input])
            outputs = tuple([scope.key(name) for name in node.output])
        own = [entry.value for entry in node.metadata_props if self.expanded and entry.key == VERSION_KEY]
        version, plain = int(own[0]) if own else self.opsets.get(domain, 0), attributes.plain(node.attribute)
        name, op_type = node.name, node.op_type
        inputs = with_missing(inputs, domain, op_type, version)
        return Node(
            len(self.nodes), name, op_type, domain, version, inputs, outputs, plain, path, bodies, where[0], where[1]
        )

    def _fold(self, node: NodeProto) -> None:
        """Keep what the node just connected makes, if the file fixes it."""
        flat = self.nodes[-1]
        if len(flat.outputs) != 1 or not flat.outputs[0]:
            return
        if operator_of(flat) not in FIXED:
            self._work_out(node, flat)
            return
        for tensor in (tensor for attribute in node.attribute for tensor in attribute_tensors(attribute)):
            self._payload(flat.outputs[0], tensor, flat.label)
        self._keep(constants.from_node(self.document, node, flat.outputs[0], self.constants, flat.inputs))

    def _work_out(self, node: NodeProto, flat: Node) -> None:
        """Keep what a node makes of small integer constants, as the amounts of a Pad are made."""
        operands = [self.constants.get(name) for name in flat.inputs]
        if not operands or any(name and not known for name, known in zip(flat.inputs, operands, strict=True)):
            return
        folded = fold_node(node, operands)
        if folded is not None:
            elem_type = self.tensors[flat.outputs[0]].elem_type or "int64"
            self._keep(Constant(flat.outputs[0], elem_type, folded[0], lambda: folded[1]))

    def _metadata(self, node: NodeProto, index: int, path: str, where: Range) -> tuple[Range, str]:
        """Keep a node's metadata_props; the range and path of one that comes from a local function."""
        kept: dict[str, str] = {}
        for entry in node.metadata_props:
            if entry.key == RANGE_KEY and self.expanded:
                offset, _, length = entry.value.partition(",")
                where = int(offset), int(length)
            elif entry.key == PATH_KEY and self.expanded:
                path = entry.value
            elif entry.key == VERSION_KEY and self.expanded:
                continue
            else:
                kept[entry.key] = entry.value
        if kept:
            self.node_metadata[index] = kept
        return where, path

    @cached_property
    def taken(self) -> set[str]:
        """Names of the file, and those made up so far: keys in subgraphs are unlike both."""
        return {str(name) for name in all_names(self.document.model)}

    def _unique(self, path: str) -> str:
        """Path of a subgraph, unlike any other even where node names repeat."""
        unique, number = path, 1
        while unique in self.paths:
            number += 1
            unique = f"{path}~{number}"
        self.paths.add(unique)
        return unique

    def _body(self, attribute: str, graph: GraphProto, scope: Scope) -> Body:
        """Formal inputs and outputs of a subgraph."""
        for name in defined(graph):
            scope.names[name] = unlike(f"{scope.path}/{name}", self.taken)
        inputs, outputs = [v.name for v in graph.input], [v.name for v in graph.output]
        return Body(attribute, tuple(map(scope.key, inputs)), tuple(map(scope.key, outputs)), scope.path)

    def _connect(self, node: Node) -> None:
        """Producers and consumers, and an entry for every value even where nothing is known of it."""
        self.nodes.append(node)
        for key in node.outputs:
            if key:
                self.producers.setdefault(key, node)
                if key not in self.tensors:
                    self.tensors[key] = Tensor(key, "", None)
        for key in dict.fromkeys(node.reads):
            if key:
                self.consumers.setdefault(key, []).append(node)
                if key not in self.tensors:
                    self.tensors[key] = Tensor(key, "", None)
