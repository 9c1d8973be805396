"""What an `.onnx` file says and its graph does not keep: attributes of other types than numbers and text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.attributes import keeps
from onnxlint_cmsis.formats.onnx.functions import domain_of
from onnxlint_cmsis.formats.onnx.walk import attribute_tensors, subgraphs
from onnxlint_cmsis.model.leftovers import Left, Leftovers
from onnxlint_cmsis.operators.record import MICROSOFT

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

    from onnxlint_cmsis.formats.onnx.document import Document

ACTING = ("ort_config",)
"""Metadata that a runtime acts on (ONNX Runtime, core/session/inference_session_utils.h)."""


def leftovers(document: Document, stored: Mapping[str, TensorProto | None]) -> Leftovers:
    """What nodes, constants and the file say beside the graph; `stored` has the tensor of each constant."""
    tensors = {
        key: (Left("segment", tensor.segment.SerializeToString()),)
        for key, tensor in stored.items()
        if tensor is not None and tensor.HasField("segment")
    }
    graph = document.model.graph
    given = Counter((*(t.name for t in graph.initializer), *(s.values.name for s in graph.sparse_initializer)))
    tensors |= {name: (Left("values, which stand twice", None),) for name, count in given.items() if count > 1}
    nodes = {index: tuple(_of_node(document, node)) for index, node in enumerate(_flat(graph))}
    return Leftovers(nodes, tensors, tuple(_of_file(document)))


def _flat(graph: GraphProto) -> Iterator[NodeProto]:
    """Nodes in the order of the graph's: each one's subgraphs behind it."""
    for node in graph.node:
        yield node
        for _, inner in subgraphs(node):
            yield from _flat(inner)


def _of_node(document: Document, node: NodeProto) -> Iterator[Left]:
    counted = Counter(attribute.name for attribute in node.attribute)
    for attribute in node.attribute:
        if counted[attribute.name] > 1 or not keeps(attribute):
            yield Left(f"attribute '{attribute.name}'", _content(document, attribute))
    if node.overload:
        yield Left("overload", node.overload.encode())
    if "device_configurations" in node.DESCRIPTOR.fields_by_name and node.device_configurations:
        yield Left("device_configurations", None)


def _shadowing(document: Document) -> Iterator[str]:
    """Local functions under an operator's name: which of both a runtime runs is its own choice (onnx.proto)."""
    from onnx import ModelProto, defs

    if document.stripped.functions:  # they are laid flat in the document's model
        for function in ModelProto.FromString(document.stripped.model).functions:
            domain = domain_of(function.domain)
            if domain == MICROSOFT or defs.has(function.name, domain):
                yield function.name


def _content(document: Document, attribute: AttributeProto) -> bytes | None:
    """What stands for an attribute with its tensors; None where values lie in another file."""
    import hashlib

    told = hashlib.sha256(attribute.SerializeToString(deterministic=True))
    for tensor in attribute_tensors(attribute):
        payload = document.payload(tensor)
        if tensor.data_location == tensor.EXTERNAL or (payload is not None and payload.external is not None):
            return None
        if payload is not None:  # the copy of the model has a placeholder for it
            start, length = payload.message
            told.update(document.buffer[start : start + length])
    return told.digest()


def _of_file(document: Document) -> Iterator[Left]:
    model = document.model
    for entry in model.metadata_props:
        if entry.key in ACTING:
            yield Left(f"metadata '{entry.key}'", entry.value.encode())
    for annotation in model.graph.quantization_annotation:
        yield Left("quantization_annotation", annotation.SerializeToString(deterministic=True))
    if "configuration" in model.DESCRIPTOR.fields_by_name and model.configuration:
        yield Left("configuration", None)
    yield from (Left(f"local function '{name}', an operator's name", None) for name in _shadowing(document))
    known = type(model).FromString(model.SerializeToString(deterministic=True))
    known.DiscardUnknownFields()
    if known.SerializeToString(deterministic=True) != model.SerializeToString(deterministic=True):
        yield Left("fields that the onnx package does not know", None)
