"""Where a node is, for findings."""

from __future__ import annotations

from onnxlint_cmsis.ground.findings import Location
from onnxlint_cmsis.model.graph import Node


def node_location(path: str, node: Node) -> Location:
    """Place of a node; its tensor is the first output."""
    return Location(path, node.label, node.op_type, node.outputs[0], node.graph, node.offset, node.length)
