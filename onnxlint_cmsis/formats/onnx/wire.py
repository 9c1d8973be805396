"""Protobuf's wire format, read without decoding: varints, fields, byte ranges, weights left out."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.format import file_of, is_c, part
from onnxlint_cmsis.model.graph import ModelError

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto


Buffer = bytes | mmap.mmap
"""The file, mapped or in memory; only the bytes that are looked at are ever touched."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class WireError(Exception):
    """Bytes that are no protobuf message."""

    def __init__(self, offset: int, problem: str) -> None:
        super().__init__(f"{problem} at byte {offset}")


def varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Value of a base-128 integer and the position after it."""
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise WireError(position, "a number of more than ten bytes")


def varints(buffer: Buffer, position: int, end: int) -> list[int]:
    """Every number in `position:end` as a signed 64-bit one."""
    numbers: list[int] = []
    while position < end:
        value, position = varint(buffer, position)
        numbers.append((value & 0xFFFFFFFFFFFFFFFF ^ 1 << 63) - (1 << 63))
    return numbers


def encode_varint(value: int) -> bytes:
    """A number in base 128."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def length_delimited(tag: int, body: bytes) -> bytes:
    """A field of wire type 2 with the given tag (`field << 3 | 2`)."""
    return encode_varint(tag) + encode_varint(len(body)) + body


def fields(buffer: Buffer, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Every field of the message in `start:end`: tag, where the field starts, where its value starts and ends.

    The value of a length-delimited field starts after its length. Values are not touched.

    Raises WireError where the message is cut short or is no message, IndexError where the buffer itself ends.
    """
    position = start
    while position < end:
        field_start = position
        tag = buffer[position]
        position += 1
        if tag > 0x7F:
            tag, position = varint(buffer, field_start)
        kind = tag & 7
        if kind == BYTES:
            length = buffer[position]
            position += 1
            if length > 0x7F:
                length, position = varint(buffer, position - 1)
            stop = position + length
        else:
            stop = _after_scalar(buffer, position, kind)
        if stop > end or tag < 8:
            raise _broken(buffer, (field_start, stop), end)
        yield tag, field_start, position, stop
        position = stop


def _broken(buffer: Buffer, field: tuple[int, int], end: int) -> WireError:
    """Problem of a field that is cut short, too long for its message, or has no number."""
    start, stop = field
    if stop <= end:
        return WireError(start, "a field without number")
    if end == len(buffer):
        return WireError(start, f"the file is truncated: it has {end} bytes and lacks {stop - end} of the field")
    return WireError(start, "a field longer than its message")


def _after_scalar(buffer: Buffer, position: int, kind: int) -> int:
    """Position after a number of the given wire type."""
    if kind == VARINT:
        return varint(buffer, position)[1]
    if kind == FIXED64:
        return position + 8
    if kind == FIXED32:
        return position + 4
    raise WireError(position, f"wire type {kind}, which ONNX does not use,")


# What is left of a model without the bytes of its weights.


Range = tuple[int, int]
"""Offset and length of a message's body in the file."""
UNKNOWN_RANGE = (-1, -1)
"""Range of a message that the file does not hold."""


class Payload:
    """Where the values of a stripped tensor are in the file."""

    __slots__ = ("counts", "dims", "external", "length", "message", "offset")

    def __init__(self, message: Range, offset: int, length: int, counts: dict[str, int], dims: tuple[int, ...]) -> None:
        self.message = message
        """Byte range of the TensorProto."""
        self.offset = offset
        """First byte of the (last) field with values."""
        self.length = length
        """Its bytes."""
        self.counts = counts
        """Bytes per payload field."""
        self.dims = dims
        """The tensor's dims; its placeholder has none."""
        self.external: External | None = None
        """Where the values are, if in another file."""


class External:
    """Values in a file beside the model."""

    __slots__ = ("length", "location", "offset")

    def __init__(self, location: str, offset: int, length: int) -> None:
        self.location = location
        """Path relative to the model's folder."""
        self.offset = offset
        """First byte."""
        self.length = length
        """Bytes; -1 for all bytes to the end of the file."""


class Stripped:
    """The outcome of `strip`."""

    __slots__ = ("functions", "has_graph", "in_sparse", "link", "model", "nodes", "payloads")

    def __init__(self) -> None:
        self.link = f"\x01payload {os.urandom(8).hex()} "
        """Start of the doc_string that links a stripped tensor to its Payload, such as no file can hold."""
        self.model = b""
        """Serialized model without large payloads."""
        self.has_graph = False
        """False where the file has no graph at all."""
        self.in_sparse = False
        """True where a sparse tensor's payload is left out."""
        self.nodes: list[Range] = []
        """Byte ranges of the main graph's nodes, in file order."""
        self.functions: list[list[Range]] = []
        """The same for each local function."""
        self.payloads: list[Payload] = []
        """Payloads left out; a stripped tensor's doc_string holds its position here."""


# Opening a model file: a mapped buffer, or an error that says what the file is instead.


LFS_START = b"version https://git-lfs.github.com/spec/v1"
SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"PK\x03\x04", "a zip archive (PyTorch's .pt and .pth, numpy's .npz and Keras' .keras are such)"),
    (4, b"TFL3", "a TensorFlow Lite model"),
    (4, b"ORTM", "an ONNX Runtime model (.ort)"),
    (0, b"\x89HDF", "an HDF5 file (Keras .h5)"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"\x80\x02", "a Python pickle"),
    (0, b"GGUF", "a GGUF model"),
)
"""Position, bytes and name of files that get mistaken for ONNX."""


def open_buffer(path: str) -> Buffer:
    """Map a file for reading; nothing is read yet, unless it is an array of a C file.

    Raises ModelError (`unreadable`, for C `not-a-model` too).
    """
    if is_c(file_of(path)):
        data: bytes = part("formats.c_arrays:array_at")(path).read()
        return data
    try:
        status = os.stat(path)  # noqa: PTH116 - the name may be any string a user types
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise ModelError("unreadable", f"is {what}; a model is one file, or - for standard input")
        if status.st_size == 0:
            return b""
        with Path(path).open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelError("unreadable", f"cannot be read: {reason}") from None


def reject_other_files(buffer: Buffer) -> None:
    """Raise ModelError for what is plainly no ONNX file: empty, a Git-LFS pointer, another known format, text."""
    head = buffer[:512]
    if not head:
        raise ModelError("not-a-model", "not an ONNX model: the file is empty")
    if head.startswith(LFS_START):
        size = next((line[5:] for line in head.decode("utf-8", "replace").splitlines() if line[:5] == "size "), "?")
        raise ModelError(
            "lfs-pointer",
            f"a Git-LFS pointer to a file of {size} bytes that has not been fetched: run `git lfs pull`",
        )
    for position, signature, name in SIGNATURES:
        if head[position : position + len(signature)] == signature:
            raise ModelError("not-a-model", f"not an ONNX model: it is {name}")
    text = _as_text(head)
    if text is not None:
        raise ModelError("not-a-model", f"not an ONNX model: it is text that starts with {text[:40]!r}")


def _as_text(head: bytes) -> str | None:
    """The bytes as text, if no ONNX file could start so: only printable characters and line ends."""
    try:
        text = head.decode("utf-8") if len(head) < 512 else head.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return None
    return text if all(c.isprintable() or c in "\t\r\n" for c in text) else None


# A copy of a model without the bytes of its weights, and where those bytes are in the file.


MAX_INLINE = 1024
"""Payloads of at most this many bytes stay in the copy."""
MAX_INLINE_INT64 = 65536
"""The same for int64 tensors: shapes, axes and indices are such."""
MAX_DEPTH = 30
"""Graphs inside one another; protobuf itself stops at 100 nested messages, three for each subgraph."""
TOO_DEEP = f"more than {MAX_DEPTH} graphs inside one another, which is all that is read"

INT64, STRING = 7, 8
DIMS, DATA_TYPE, STRING_DATA, RAW_DATA, DOC_STRING = 1, 2, 6, 9, 12
DATA_FIELDS = {
    4: "float_data",
    5: "int32_data",
    6: "string_data",
    7: "int64_data",
    9: "raw_data",
    10: "double_data",
    11: "uint64_data",
}
"""TensorProto's payload fields (onnx.proto)."""

TRAINING_TAG = 20 << 3 | 2
"""ModelProto.training_info, which no deployed model needs."""
CHILDREN: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
"""Which fields of a message hold messages with tensors in them (onnx.proto)."""
CHILD_TAGS = {kind: {number << 3 | 2: child for number, child in table.items()} for kind, table in CHILDREN.items()}


def strip(buffer: Buffer) -> Stripped:
    """Read a serialized ModelProto without touching weights.

    Raises ModelError (`not-a-model`, `too-deep`).
    """
    out = Stripped()
    with _damage_explained(buffer):
        out.model = _rewrite(buffer, (0, len(buffer)), "model", out, 0)
    return out


@contextmanager
def _damage_explained(buffer: Buffer) -> Iterator[None]:
    """Turn what the wire format's reader raises into a ModelError (`not-a-model`)."""
    try:
        yield
    except IndexError:
        problem = f"the file is truncated: it ends inside a field, at byte {len(buffer)}"
        raise ModelError("not-a-model", f"not an ONNX model: {problem}") from None
    except WireError as error:
        raise ModelError("not-a-model", f"not an ONNX model: {error}") from None


def explain_rejection(buffer: Buffer, nodes: list[Range]) -> None:
    """Raise the ModelError that says why protobuf does not read a model, if it can be found in its nodes."""
    with _damage_explained(buffer):
        if any(_nested_too_deep(buffer, node) for node in nodes):
            raise ModelError("too-deep", TOO_DEEP)


def inner_ranges(buffer: Buffer, node: Range, count: int) -> list[list[Range]]:
    """Byte ranges of the nodes of each of a node's `count` subgraphs; none of a node whose range is not known."""
    ranges = inner_nodes(buffer, node) if count and node != UNKNOWN_RANGE else []
    return ranges if len(ranges) == count else [[] for _ in range(count)]


def inner_nodes(buffer: Buffer, node: Range) -> list[list[Range]]:
    """Byte ranges of the nodes of each subgraph of a node, in file order; none where only protobuf can read it."""
    try:
        return _subgraph_nodes(buffer, node)
    except (WireError, IndexError):
        return []


def _subgraph_nodes(buffer: Buffer, node: Range) -> list[list[Range]]:
    attributes = [r for tag, *r in fields(buffer, node[0], sum(node)) if tag in CHILD_TAGS["node"]]
    graph_tags = [tag for tag, child in CHILD_TAGS["attribute"].items() if child == "graph"]
    graphs = [r for _, start, stop in attributes for tag, *r in fields(buffer, start, stop) if tag in graph_tags]
    return [node_ranges(buffer, "graph", (start, stop - start)) for _, start, stop in graphs]


def node_ranges(buffer: Buffer, kind: str, body: Range) -> list[Range]:
    """Byte ranges of the nodes that a graph or function holds itself."""
    tags = [tag for tag, child in CHILD_TAGS[kind].items() if child == "node"]
    return [(start, stop - start) for tag, _, start, stop in fields(buffer, body[0], sum(body)) if tag in tags]


def _nested_too_deep(buffer: Buffer, node: Range, room: int = MAX_DEPTH) -> bool:
    """Whether a node holds more graphs inside one another than `room`."""
    if room == 0:
        return True
    return any(_nested_too_deep(buffer, inner, room - 1) for graph in _subgraph_nodes(buffer, node) for inner in graph)


def _rewrite(buffer: Buffer, body: Range, kind: str, out: Stripped, depth: int) -> bytes:
    """The message without large payloads; small messages are copied in runs, unread."""
    if kind == "tensor":
        return _strip_tensor(buffer, body, out)
    if kind == "graph" and depth == MAX_DEPTH:
        raise ModelError("too-deep", TOO_DEEP)
    depth += kind == "graph"
    children, unread = CHILD_TAGS[kind], 0 if kind == "model" else MAX_INLINE
    chunks: list[bytes] = []
    run = body[0]
    for tag, field_start, start, stop in fields(buffer, body[0], sum(body)):
        child = children.get(tag)
        if child and stop - start > unread:
            before = len(out.payloads)
            rewritten = length_delimited(tag, _rewrite(buffer, (start, stop - start), child, out, depth))
            out.in_sparse |= kind == "sparse" and len(out.payloads) > before
            chunks += buffer[run:field_start], rewritten
            run = stop
        elif kind == "model" and tag == TRAINING_TAG:
            chunks.append(buffer[run:field_start])
            run = stop
        if kind == "model" and child:
            ranges = node_ranges(buffer, child, (start, stop - start))
            if child == "function":
                out.functions.append(ranges)
            else:
                out.has_graph = True
                out.nodes += ranges
    chunks.append(buffer[run : sum(body)])
    return b"".join(chunks)


def _strip_tensor(buffer: Buffer, body: Range, out: Stripped) -> bytes:
    """A TensorProto of one zero element in place of one with a large payload."""
    kept: list[bytes] = []
    counts: dict[str, int] = {}
    dims: list[int] = []
    data_type = offset = length = 0
    for tag, field_start, start, stop in fields(buffer, body[0], sum(body)):
        number = tag >> 3
        if number in DATA_FIELDS:
            counts[DATA_FIELDS[number]] = counts.get(DATA_FIELDS[number], 0) + stop - start
            offset, length = start, stop - start
        elif number == DIMS:
            dims += varints(buffer, start, stop)
        elif number != DOC_STRING:
            kept.append(buffer[field_start:stop])
            if number == DATA_TYPE and not tag & 7:
                data_type = varint(buffer, start)[0]
    if sum(counts.values()) <= (MAX_INLINE_INT64 if data_type == INT64 else MAX_INLINE):
        return buffer[body[0] : sum(body)]
    out.payloads.append(Payload(body, offset, length, counts, tuple(dims)))
    return b"".join((*kept, placeholder(data_type == STRING, f"{out.link}{len(out.payloads) - 1}")))


def placeholder(is_string: bool, link: str) -> bytes:
    """Fields of one zero element of any type, with a link to its Payload for a doc_string."""
    field = STRING_DATA if is_string else RAW_DATA
    return length_delimited(field << 3 | 2, bytes(16)) + length_delimited(DOC_STRING << 3 | 2, link.encode())


# Going through a ModelProto: graphs inside graphs, and all tensors.


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
