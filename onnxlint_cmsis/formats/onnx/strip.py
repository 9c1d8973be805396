"""A copy of a model without the bytes of its weights, and where those bytes are in the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onnxlint_cmsis.formats.onnx.wire import Buffer, WireError, fields, length_delimited, varint, varints
from onnxlint_cmsis.formats.onnx.without_weights import UNKNOWN_RANGE, Payload, Range, Stripped
from onnxlint_cmsis.model.model_error import ModelError

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
    """Tell whether a node holds more graphs inside one another than `room`."""
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
