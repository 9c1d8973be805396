"""Where a node is, for findings."""

from __future__ import annotations

from onnxlint_cmsis.findings import Location
from onnxlint_cmsis.graph.model import Node


def node_location(path: str, node: Node) -> Location:
    """Place of a node; its tensor is the first output."""
    tensor = node.outputs[0] if node.outputs else ""
    return Location(path, node.label, node.op_type, tensor, node.graph, node.offset, node.length)
