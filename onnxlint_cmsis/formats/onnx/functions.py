"""Local functions laid flat: each call replaced by the function's nodes, with names that say where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.strip import inner_nodes
from onnxlint_cmsis.formats.onnx.walk import all_names, all_nodes, subgraphs
from onnxlint_cmsis.formats.onnx.without_weights import Range
from onnxlint_cmsis.model.graph import Problem
from onnxlint_cmsis.model.made_up_names import unlike
from onnxlint_cmsis.model.model_error import ModelError
from onnxlint_cmsis.operators.curve import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

    from onnxlint_cmsis.formats.onnx.wire import Buffer


RANGE_KEY = "\x01range"
"""metadata_props key that carries a node's byte range through the expansion."""
PATH_KEY = "\x01path"
"""metadata_props key that carries the path of the calls a node comes from."""
VERSION_KEY = "\x01version"
"""metadata_props key that carries the operator set of a function's node, where the model imports another version."""
OWN_KEYS = (RANGE_KEY, PATH_KEY, VERSION_KEY)
MAX_VERSION = 2**31 - 1
"""Largest version of an operator set that the onnx package takes."""
MAX_NODES = 10_000
"""Nodes that the calls may expand to: some hundred layers of a hundred nodes."""
MAX_BYTES = 2**26
"""Bytes that the nodes may have which the calls expand to, names that tell the way of the calls included."""
MAX_CALLS = 100
"""Functions that may call one another before one does something itself."""

FunctionKey = tuple[str, str, str]
"""Domain, name and overload."""


def expand_functions(
    model: ModelProto, buffer: Buffer, nodes: list[Range], functions: list[list[Range]], problems: list[Problem]
) -> bool:
    """Replace every call of a local function by its nodes, in place; True where there are functions.

    Raises ModelError (`too-deep`) where the calls expand to more than MAX_NODES nodes, MAX_BYTES or MAX_CALLS.
    """
    if not model.functions:
        return False
    for node in all_nodes(model):  # metadata of the file's own under the keys used here
        for position in reversed(range(len(node.metadata_props))):
            if node.metadata_props[position].key in OWN_KEYS:
                del node.metadata_props[position]
    _tag(model.graph.node, nodes, buffer)
    for function, ranges in zip(model.functions, functions, strict=False):
        _tag(function.node, ranges, buffer)
    known = imported_versions(model)
    for function in model.functions:
        for opset in function.opset_import:
            if domain_of(opset.domain) not in known:
                known[domain_of(opset.domain)] = opset.version
                model.opset_import.add(domain=opset.domain, version=opset.version)
    expansion = _Expansion(model, problems)
    expansion.graph(model.graph, "", ())
    del model.functions[:]
    return True


def imported_versions(model: ModelProto | FunctionProto) -> dict[str, int]:
    """Version of each operator set that a model or a function imports, by domain; without those of other domains.

    One below 0 or above MAX_VERSION becomes -1 or MAX_VERSION: the onnx package takes no other in a C int.
    """
    return {domain_of(opset.domain): min(max(opset.version, -1), MAX_VERSION) for opset in model.opset_import}


def domain_of(domain: str) -> str:
    """The default domain's two names made one."""
    return "" if domain == "ai.onnx" else domain


def _tag(nodes: Iterable[NodeProto], ranges: list[Range], buffer: Buffer) -> None:
    """Note on every node, and on those inside it, where it is in the file."""
    for node, (offset, length) in zip(nodes, ranges, strict=False):
        node.metadata_props.add(key=RANGE_KEY, value=f"{offset},{length}")
        inner = [graph for _, graph in subgraphs(node)]
        if inner:
            for graph, inner_ranges in zip(inner, inner_nodes(buffer, (offset, length)), strict=False):
                _tag(graph.node, inner_ranges, buffer)


class _Expansion:
    """One model's functions and the nodes made so far."""

    def __init__(self, model: ModelProto, problems: list[Problem]) -> None:
        self.table: dict[FunctionKey, FunctionProto] = {
            (domain_of(f.domain), f.name, f.overload): f for f in model.functions
        }
        self.problems = problems
        self.versions = imported_versions(model)
        self.made = 0
        self.taken = {str(name) for name in all_names(model)}
        """Names of the file, and those made up so far."""
        self.bytes = 0

    def graph(self, graph: GraphProto, path: str, calls: tuple[FunctionKey, ...]) -> None:
        """Expand the calls in a graph and in all graphs inside it."""
        expanded = [new for position, node in enumerate(graph.node) for new in self.node(node, position, path, calls)]
        copies = [type(node).FromString(node.SerializeToString()) for node in expanded]
        del graph.node[:]
        graph.node.extend(copies)

    def node(self, node: NodeProto, position: int, path: str, calls: tuple[FunctionKey, ...]) -> list[NodeProto]:
        """The nodes that stand for one node."""
        key = (domain_of(node.domain), node.op_type, node.overload)
        function = self.table.get(key)
        if function is not None and key not in calls:
            return self.call(function, node, f"{path}{node.name or f'{node.op_type}#{position}'}", (*calls, key))
        if function is not None:
            text = f"function `{node.op_type}` calls itself; functions may not be recursive"
            self.problems.append(Problem("invalid", text, node.name or f"{node.op_type}#{position}"))
        for _, inner in subgraphs(node):
            self.graph(inner, path, calls)
        return [node]

    def call(
        self, function: FunctionProto, call: NodeProto, label: str, calls: tuple[FunctionKey, ...]
    ) -> list[NodeProto]:
        """A function's nodes with the call's tensors and attributes in place of the formal ones."""
        self.made += len(function.node)
        if self.made > MAX_NODES:
            raise ModelError("too-deep", f"calls of local functions expand to more than {MAX_NODES} nodes")
        if len(calls) > MAX_CALLS:
            raise ModelError("too-deep", f"more than {MAX_CALLS} local functions call one another, which is all")
        here, versions = f"{label}.{function.name}", imported_versions(function)
        names = _Names(f"{here}/", self.taken)
        names |= dict(zip(function.input, call.input, strict=False))
        names |= dict.fromkeys(function.input[len(call.input) :], "")
        passed = {
            formal: actual for formal, actual in zip(function.output, call.output, strict=False) if formal in names
        }
        names |= {f: a for f, a in zip(function.output, call.output, strict=False) if a and f not in names}
        out: list[NodeProto] = []
        for position, original in enumerate(function.node):
            node = type(original).FromString(original.SerializeToString())
            rename(node, names)
            _bind_attributes(node, function, call)
            node.metadata_props.add(key=PATH_KEY, value=here)
            version = versions.get(domain_of(node.domain), 0)
            if version not in (0, self.versions.get(domain_of(node.domain))):
                node.metadata_props.add(key=VERSION_KEY, value=str(version))
            self.bytes += node.ByteSize()
            if self.bytes > MAX_BYTES:
                raise ModelError("too-deep", f"calls of local functions expand to more than {MAX_BYTES} bytes")
            out += self.node(node, position, f"{here}/" if not node.name else "", calls)
        return out + [_identity(names[formal], actual, here) for formal, actual in passed.items() if actual]


class _Names(dict[str, str]):
    """Names of tensors of one call, by those of its function; one that is not there is made up."""

    def __init__(self, prefix: str, taken: set[str]) -> None:
        super().__init__()
        self.prefix = prefix
        self.taken = taken

    def __missing__(self, name: str) -> str:
        self[name] = unlike(self.prefix + name, self.taken)
        return self[name]


def rename(node: NodeProto, names: _Names) -> None:
    """Rename the tensors of a function's node, and of the graphs inside it, for one call."""
    node.name = names.prefix + node.name if node.name else ""
    for values in (node.input, node.output):
        values[:] = [names[v] if v else v for v in values]
    for _, graph in subgraphs(node):
        for named in (graph.input, graph.output, graph.value_info, graph.initializer):
            for item in named:
                item.name = names[item.name]
        for sparse in graph.sparse_initializer:
            sparse.values.name = names[sparse.values.name]
        for inner in graph.node:
            rename(inner, names)


def _bind_attributes(node: NodeProto, function: FunctionProto, call: NodeProto) -> None:
    """Replace references to the function's attributes by the call's values, the defaults, or nothing."""
    given = {a.name: a for a in (*function.attribute_proto, *call.attribute)}
    kept = []
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            source = given.get(attribute.ref_attr_name)
            if source is None:
                continue
            name = attribute.name
            attribute.CopyFrom(source)
            attribute.name = name
        kept.append(type(attribute).FromString(attribute.SerializeToString()))
    del node.attribute[:]
    node.attribute.extend(kept)
    for _, graph in subgraphs(node):
        for inner in graph.node:
            _bind_attributes(inner, function, call)


def _identity(source: str, target: str, path: str) -> NodeProto:
    """A node for a function that hands an input straight to an output."""
    from onnx import NodeProto as Proto

    node = Proto(op_type=IDENTITY.name, input=[source], output=[target])
    node.metadata_props.add(key=PATH_KEY, value=path)
    return node
