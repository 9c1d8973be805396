"""From the bytes of an `.onnx` file to a checked Graph."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx import constants, tensors
from onnxlint_cmsis.formats.onnx import document as external
from onnxlint_cmsis.formats.onnx.axes import refuse_axes
from onnxlint_cmsis.formats.onnx.constants import fold_node
from onnxlint_cmsis.formats.onnx.document import Document
from onnxlint_cmsis.formats.onnx.functions import (
    PATH_KEY,
    RANGE_KEY,
    VERSION_KEY,
    Scope,
    defined,
    domain_of,
    expand_functions,
    imported_versions,
)
from onnxlint_cmsis.formats.onnx.inference import (
    apply_input_shapes,
    forget_impossible_dims,
    infer,
    too_many_axes,
    with_missing,
)
from onnxlint_cmsis.formats.onnx.library import checker_problem, opset_problems
from onnxlint_cmsis.formats.onnx.tensors import elem_bits, elem_name, payload_problem
from onnxlint_cmsis.formats.onnx.wire import (
    UNKNOWN_RANGE,
    Range,
    all_names,
    attribute_tensors,
    inner_ranges,
    open_buffer,
    subgraphs,
)
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size, fits_an_array, packed_bytes
from onnxlint_cmsis.model.graph import (
    Body,
    Constant,
    Graph,
    Leftovers,
    ModelError,
    Node,
    Problem,
    Tensor,
    unlike,
    window_misfit,
)
from onnxlint_cmsis.model.roles import Form, Quantized
from onnxlint_cmsis.operators.control import CONSTANT, CONSTANT_OF_SHAPE
from onnxlint_cmsis.operators.curve import IDENTITY
from onnxlint_cmsis.operators.normalization import BATCH_NORMALIZATION

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray
    from onnx import GraphProto, NodeProto, TensorProto

    from onnxlint_cmsis.formats.onnx.functions import Table


# Rules on operands: weights that fit their operator, scales and zero-points that can be used.


Shape = tuple[Size, ...]
CONVOLVING = (Form.CONVOLUTION, Form.TRANSPOSED)
"""Forms of convolutions' weights."""


def of_nodes(rule: Callable[[Graph, Node], Iterator[str | Problem]]) -> Callable[[Graph], Iterator[Problem]]:
    """A rule on a graph from what is wrong with one node."""

    def problems(graph: Graph) -> Iterator[Problem]:
        for node in graph.nodes:
            for wrong in rule(graph, node):
                problem = Problem("invalid", wrong) if isinstance(wrong, str) else wrong
                yield problem._replace(node=node.label)

    return problems


@of_nodes
def convolution_weights(graph: Graph, node: Node) -> Iterator[str]:
    """Rank, channels per group, kernel_shape and bias of convolutions, as far as the sizes are known."""
    roles = operator_of(node).roles
    if roles.form in CONVOLVING and not node.int("channels_last"):
        x, w, bias = (_shape(graph, node, position) for position in (roles.data[0], roles.weights[0], roles.bias))
        if w is not None:
            yield from islice(_convolution(node, x, w, bias), 1)


def _convolution(node: Node, x: Shape | None, w: Shape, bias: Shape | None) -> Iterator[str]:
    """Problems of one convolution; later ones may follow from the first."""
    group, kernel = node.int("group", 1), node.ints("kernel_shape")
    if len(w) < 3 or (x is not None and len(x) != len(w)):
        yield f"weight has shape {text(w)}, input {text(x)}; allowed are equal ranks from 3"
        return
    if group < 1:
        yield f"group is {group}; allowed is 1 and more"
        return
    if kernel and _differ(kernel, w[2:]):
        yield f"kernel_shape is {list(kernel)}, weight has shape {text(w)}; they must agree"
    channels = x[1] if x is not None else None
    transposed = operator_of(node).roles.form is Form.TRANSPOSED
    yield from (_transposed_channels if transposed else _channels)(w, channels, group)
    filters = w[0]
    if transposed:
        filters = None if w[1] is None else w[1] * group
    if bias is not None and (len(bias) != 1 or _differ(bias, (filters,))):
        yield f"bias has shape {text(bias)}; allowed is {text((filters,))}"


@of_nodes
def window_attributes(graph: Graph, node: Node) -> Iterator[str]:
    """Strides, dilations, pads and kernel of convolutions and pooling: as many as the input has spatial axes."""
    shape = _shape(graph, node, 0)
    sliding = "kernel_shape" in node.attributes or operator_of(node).roles.form in CONVOLVING
    if sliding and shape is not None and len(shape) > 2:
        yield from filter(None, (window_misfit(node, len(shape) - 2),))


def _channels(w: Shape, channels: Size, group: int) -> Iterator[str]:
    """Weight [out_c, in_c / group, ...] against the channels of the input."""
    if channels is not None and channels % group:
        yield f"{channels} input channels in {group} groups; allowed is a multiple"
    elif channels is not None and _differ((w[1],), (channels // group,)):
        per_group = f"{channels} input channels in {group} groups"
        yield f"weight has shape {text(w)} for {per_group}; allowed is {channels // group} in axis 1"
    elif w[0] is not None and w[0] % group:
        yield f"{w[0]} output channels in {group} groups; allowed is a multiple"


def _transposed_channels(w: Shape, channels: Size, group: int) -> Iterator[str]:
    """Weight [in_c, out_c / group, ...] against the channels of the input."""
    if _differ((w[0],), (channels,)):
        yield f"weight has shape {text(w)} for {channels} input channels; allowed is {channels} in axis 0"
    elif w[0] is not None and w[0] % group:
        yield f"{w[0]} input channels in {group} groups; allowed is a multiple"


@of_nodes
def product_sizes(graph: Graph, node: Node) -> Iterator[str]:
    """Inner sizes of matrix products, as far as they are known."""
    roles = operator_of(node).roles
    if roles.form not in (Form.MATMUL, Form.GEMM) or node.int("transBatchA") or node.int("transBatchB"):
        return
    a, b = _shape(graph, node, roles.data[0]), _shape(graph, node, roles.weights[0])
    if a is None or b is None:
        return
    if roles.form is Form.GEMM and (len(a) != 2 or len(b) != 2):
        yield f"factors have shapes {text(a)} and {text(b)}; allowed is rank 2"
        return
    a, b = _swapped(a, node.int("transA")), _swapped(b, node.int("transB"))
    if not a or not b:
        yield f"factors have shapes {text(a)} and {text(b)}; allowed is rank 1 and more"
    elif _differ(a[-1:], b[-2:-1] or b):
        yield f"multiplies {text(a)} by {text(b)}; the inner sizes must be equal"


def _swapped(shape: Shape, swap: int) -> Shape:
    """A factor's shape with the last two sizes swapped; a vector has only one."""
    return (*shape[:-2], shape[-1], shape[-2]) if swap and len(shape) > 1 else shape


@of_nodes
def normalization_sizes(graph: Graph, node: Node) -> Iterator[str]:
    """Scale, bias, mean and variance of BatchNormalization: one number per channel."""
    x = _shape(graph, node, 0) if operator_of(node) is BATCH_NORMALIZATION else None
    if x is None or len(x) < 2:
        return
    for position in range(1, 5):
        shape = _shape(graph, node, position)
        if shape is not None and (len(shape) != 1 or _differ(shape, x[1:2])):
            yield f"`{node.inputs[position]}` has shape {text(shape)}; allowed is {text(x[1:2])}"
            return


def scale_values(graph: Graph) -> Iterator[Problem]:
    """Scales that are not finite and above zero, each once."""
    seen: set[str] = set()
    for node in graph.nodes:
        for _, position, _ in _quantized(node):
            key = node.inputs[position] if node.has(position) else ""
            constant = graph.constants.get(key)
            if constant is None or key in seen:
                continue
            seen.add(key)
            values = constant.values() or ()
            if not values or (math.isfinite(sum(values)) and min(values) > 0):  # the sum is quick, and NaN if one is
                continue
            bad = [(index, value) for index, value in enumerate(values) if not (math.isfinite(value) and value > 0)]
            for index, value in bad[:1]:
                wrong = f"scale `{key}` has {value} at {index}; allowed are finite numbers above 0"
                yield Problem("invalid", wrong, node.label)


@of_nodes
def quantization_sizes(graph: Graph, node: Node) -> Iterator[str | Problem]:
    """Per-axis scales: as many as the axis has elements; zero-points: as many as scales."""
    operator = operator_of(node)
    per_axis = operator.quantizes or operator.dequantizes
    for value, scale, zero in _quantized(node):
        scales, zeros = _shape(graph, node, scale), _shape(graph, node, zero)
        if scales is None:
            continue
        one_for_all = not per_axis and (zeros or (1,)) == (1,)
        if zeros is not None and not one_for_all and _differ(zeros or (1,), scales or (1,)):
            yield f"zero-point `{node.inputs[zero]}` has shape {text(zeros)}, scale {text(scales)}; they must agree"
        elif per_axis and not node.int("block_size"):
            yield from _axis(node, _shape(graph, node, max(value, 0)), scales)


def _axis(node: Node, shape: Shape | None, scales: Shape) -> Iterator[Problem]:
    """Problem of a per-axis scale of Q or DQ, as far as the shapes are known; the one axis that fits mends it."""
    if shape is None or len(scales) != 1 or scales[0] in (None, 1):
        return
    axis, fitting = node.int("axis", 1), [number for number, size in enumerate(shape) if size in scales]
    do = f"Set axis to {fitting[0]}." if len(fitting) == 1 and None not in shape else ""
    if not -len(shape) <= axis < len(shape):
        message = f"axis is {axis}, input has shape {text(shape)}; allowed are axes the input has"
        yield Problem("invalid", message, do=do)
    elif _differ(scales, (shape[axis],)):
        allowed = "allowed is one for each element of the axis, or one"
        yield Problem("invalid", f"{scales[0]} scales for axis {axis} of {text(shape)}; {allowed}", do=do)


@of_nodes
def zero_points(graph: Graph, node: Node) -> Iterator[str]:
    """Zero-points whose type is not that of their values."""
    for value, _, zero in _quantized(node):
        if value < 0 or not node.has(zero):
            continue
        have, want = graph.elem_type(node.inputs[zero]), graph.elem_type(node.inputs[value])
        if have and want and have != want:
            yield f"zero-point `{node.inputs[zero]}` is {have}; allowed is the values' own type, {want}"


def _quantized(node: Node) -> tuple[Quantized, ...]:
    return operator_of(node).roles.quantized_of(len(node.inputs))


def _shape(graph: Graph, node: Node, position: int) -> Shape | None:
    """Shape of an input, None where it is omitted or unknown."""
    return graph.shape(node.inputs[position]) if node.has(position) else None


def _differ(left: Shape, right: Shape) -> bool:
    """Whether two shapes certainly differ."""
    return len(left) != len(right) or any(a != b for a, b in zip(left, right, strict=True) if None not in (a, b))


def text(shape: Shape | None) -> str:
    """A shape for messages: `[1, ?, 3]`."""
    return (
        "of unknown rank" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
    )


# Weights as numpy arrays: constants of a model read one at a time, when they are asked for.


NUMPY = (
    *("bool", "float16", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
"""Element types that numpy has too; the file's bytes are little-endian."""


def _array(document: Document, tensor: TensorProto) -> NDArray[Any] | None:
    name, bits, count = elem_name(tensor.data_type), elem_bits(tensor.data_type), math.prod(tensor.dims)
    raw = _raw(document, tensor, packed_bytes(count, bits))
    if raw is None or len(raw) * 8 // max(bits, 1) < count or not fits_an_array(tensor.dims):
        return None
    if name == "bool" and max(raw[:count], default=0) > 1:
        return None
    if name in NUMPY:
        flat: NDArray[Any] = np.frombuffer(raw, dtype=np.dtype(name).newbyteorder("<")).astype(name)
    elif name == "bfloat16":
        flat = (np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    elif name in ("int4", "uint4"):
        flat = external.unpacked(raw, bits, (count,))
        flat = flat if name == "uint4" else (flat ^ 8).astype(np.int8) - np.int8(8)
    else:
        return None
    return flat[:count].reshape(tuple(tensor.dims))


def _raw(document: Document, tensor: TensorProto, needed: int) -> bytes | None:
    """Little-endian bytes of a tensor's values, wherever they are; None where they are not `needed` bytes."""
    from onnx import TensorProto as Proto

    payload = document.payload(tensor)
    if payload is not None and payload.external is not None:
        if document.path == "-":
            return None
        return external.read_bytes(document.path, payload.external, needed)
    if payload is not None and set(payload.counts) == {"raw_data"} and payload.counts["raw_data"] == payload.length:
        data = bytes(document.buffer[payload.offset : payload.offset + payload.length])
        return data if len(data) == needed else None
    if payload is not None:
        start, length = payload.message
        try:
            tensor = Proto.FromString(document.buffer[start : start + length])
        except Exception:  # protobuf's DecodeError: a list that was not looked into before
            return None
    data = external.stored_bytes(tensor)
    return data if len(data) == needed else None


# From a parsed model to the flat graph: unique keys, nodes with byte ranges, constants, producers and consumers.


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
        """One graph's values and nodes."""
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
        """One node, then its subgraphs."""
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
        version, plain = int(own[0]) if own else self.opsets.get(domain, 0), tensors.plain(node.attribute)
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


# Rules on how nodes are connected: every value made once, by something, before it is read.


def duplicate_names(graph: Graph) -> Iterator[Problem]:
    """Nodes of one graph under one name: findings, baselines and suppressions tell nodes apart by it."""
    named: dict[tuple[str, str], list[Node]] = {}
    for node in graph.nodes:
        if node.name:
            named.setdefault((node.graph, node.name), []).append(node)
    repeated = [nodes for nodes in named.values() if len(nodes) > 1]
    if repeated:
        first = repeated[0]
        which = ", ".join(f"{node.op_type}#{node.index}" for node in first[:3]) + (", ..." if len(first) > 3 else "")
        more = f" ({len(repeated) - 1} more names are given twice)" if len(repeated) > 1 else ""
        wrong = f"{len(first)} nodes are named `{first[0].name}`: {which}{more}; a name is given once, or not at all"
        yield Problem("invalid", wrong)


def unproduced(graph: Graph, given: AbstractSet[str]) -> Iterator[Problem]:
    """Values that are read and that nothing makes, each once."""
    what = "which is no input, initializer or output of a node"
    for key, readers in graph.consumers.items():
        if key not in given and key not in graph.producers:
            yield Problem("invalid", f"reads `{key}`, {what}", readers[0].label)
    for key in graph.outputs:
        if key not in given and key not in graph.producers and key not in graph.consumers:
            yield Problem("invalid", f"the model gives out `{key}`, {what}")


def unsorted(graph: Graph, given: AbstractSet[str]) -> Iterator[Problem]:
    """A value read before it is made: nodes in the wrong order."""
    for node in graph.nodes:
        for key in node.inputs:
            if key not in given and key in graph.producers and graph.producers[key].index >= node.index:
                late = f"reads what {graph.producers[key].label} makes later; nodes come in the order of their data"
                yield Problem("invalid", late, node.label)
                return


def refuse_loops(graph: Graph, given: AbstractSet[str]) -> None:
    """Raise ModelError for a value that is made twice and for a cycle: whoever follows the data would never end.

    onnx.checker rejects both, and no runtime loads them.
    """
    for node in graph.nodes:
        for key in filter(None, node.outputs):
            maker = graph.producers[key]
            if key in given or maker is not node:
                what = "is an input or initializer" if key in given else f"{maker.label} makes"
                raise ModelError("not-a-model", f"{node.label} makes `{key}`, which {what} too; a value is made once")
    early = (
        node.bodies or any(key in graph.producers and graph.producers[key].index >= node.index for key in node.inputs)
        for node in graph.nodes
    )
    cycle = find_cycle(graph) if any(early) else []
    if cycle:
        path = " -> ".join(node.label for node in (*cycle[:8], cycle[0]))
        raise ModelError("not-a-model", f"its nodes make a cycle: {path}; ONNX allows none")


def find_cycle(graph: Graph) -> list[Node]:
    """The nodes of one cycle in the order of the data, empty where there is none."""
    sources = {
        node.index: [graph.producers[key].index for key in node.reads if key in graph.producers] for node in graph.nodes
    }
    waiting = {index: len(makers) for index, makers in sources.items()}
    readers: dict[int, list[int]] = {}
    for index, makers in sources.items():
        for maker in makers:
            readers.setdefault(maker, []).append(index)
    ready = [index for index, count in waiting.items() if not count]
    while ready:
        for reader in readers.get(ready.pop(), ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    stuck = {index for index, count in waiting.items() if count}
    if not stuck:
        return []
    path: list[int] = []
    index = min(stuck)
    while index not in path:
        path.append(index)
        index = next(maker for maker in sources[index] if maker in stuck)
    return [graph.nodes[i] for i in reversed(path[path.index(index) :])]


# What ONNX asks of a graph and can be decided from it: each rule a small function in a table.


STRUCTURE: tuple[Callable[[Graph, AbstractSet[str]], Iterator[Problem]], ...] = (
    unproduced,
    unsorted,
)
"""Rules that onnx.checker has too, in more words and for the first place only."""
MEANING: tuple[Callable[[Graph], Iterator[Problem]], ...] = (
    duplicate_names,
    convolution_weights,
    window_attributes,
    product_sizes,
    normalization_sizes,
    scale_values,
    quantization_sizes,
    zero_points,
)
"""Rules that onnx.checker does not have."""


# `load`: an ONNX file to a Graph, without reading its weights; `load_model` keeps the way to read them later.


__all__ = ["LoadedModel", "ModelError", "load", "load_model"]


class LoadedModel(NamedTuple):
    """A model and the way back to its weights."""

    graph: Graph
    """Nodes, tensors and constants."""
    document: Document
    """The parsed file."""
    tensors: dict[str, TensorProto | None]
    """Where each stored constant's values are, by its key in the graph; None where a key has several tensors."""

    def digest(self) -> bytes | None:
        """SHA-256 of the file and of its external data; None where these cannot be read."""
        return self.document.digest()

    def reader(self) -> Callable[[str], NDArray[Any] | None]:
        """A way to read the constants of the model by their key in its graph.

        Initializers and Constant nodes of any size, and up to `MAX_VALUES` elements of what follows from them; None
        for anything else, for external data that the loader refuses or that belongs to a model without a path, and
        for strings. 4-bit integers come as int8 and uint8, bfloat16 as float32.
        """

        def read(key: str) -> NDArray[Any] | None:
            tensor, constant = self.tensors.get(key), self.graph.constants.get(key)
            if constant is None:
                return None
            if tensor is not None:
                return _array(self.document, tensor)
            values = constant.values() if constant.elem_type in NUMPY else None
            return None if values is None else np.array(values, dtype=constant.elem_type).reshape(constant.shape)

        return read

    def leftovers(self) -> Leftovers:
        """What the file says and the graph does not keep."""
        from onnxlint_cmsis.formats.onnx.left import leftovers

        return leftovers(self.document, self.tensors)

    def computed_sizes(self) -> Mapping[str, tuple[int, ...]]:
        """Sizes of the main graph's values as ONNX's inference finds them without those that the file states."""
        table = infer(self.document.model, believing=False)[0]
        shapes = {name: shape for name, (_, shape) in table.items() if shape is not None}
        return {name: tuple(size or 0 for size in shape) for name, shape in shapes.items() if None not in shape}


def load(
    path: str | PathLike[str],
    *,
    input_shapes: Mapping[str, tuple[Size, ...]] | None = None,
    data: bytes | None = None,
) -> Graph:
    """The graph of a model file; arguments and errors are those of `load_model`."""
    return load_model(path, input_shapes=input_shapes, data=data).graph


def load_model(
    path: str | PathLike[str],
    *,
    input_shapes: Mapping[str, tuple[Size, ...]] | None = None,
    data: bytes | None = None,
) -> LoadedModel:
    """Read a model file, or `data` in its place (`path` is then its name, `-` for standard input).

    `input_shapes` gives sizes of inputs by name, None for one that stays symbolic; the batch of all other inputs
    (a symbolic axis 0 of rank 2 and more) is 1.

    Raises ModelError with kind `unreadable`, `not-a-model`, `lfs-pointer`, `too-deep` or `input-shape`.
    """
    collecting = gc.isenabled()
    gc.disable()  # tens of thousands of small lasting objects: looking for garbage among them takes a fifth of the time
    try:
        name = str(path)
        document = Document(name, open_buffer(name) if data is None else data)
        stripped = document.stripped
        forget_impossible_dims(document.model, document.problems)
        apply_input_shapes(document.model, input_shapes)
        calls = stripped.nodes, stripped.functions
        expanded = expand_functions(document.model, document.buffer, *calls, document.problems)
        flattener = Flattener(document, infer(document.model), expanded)
        graph = flattener.run()
        graph = replace(graph, problems=_problems(document, graph, flattener.given))
        return LoadedModel(graph, document, flattener.stored)
    finally:
        if collecting:
            gc.enable()


def _problems(document: Document, graph: Graph, given: set[str]) -> tuple[Problem, ...]:
    """Problems met on the way and those of the finished graph; onnx.checker is asked where there are none so far."""
    problems = [*graph.problems, *opset_problems(document.model)]
    refuse_loops(graph, given)
    refuse_axes(graph)
    problems += [problem for rule in STRUCTURE for problem in rule(graph, given)]
    if document.checkable and not any(problem.kind == "invalid" for problem in problems):
        rejected = checker_problem(document.checkable)
        problems += [rejected] if rejected else []
    return (*problems, *(problem for rule in MEANING for problem in rule(graph)))
