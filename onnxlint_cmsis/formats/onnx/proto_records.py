"""Records of the operators of nodes that are still protobuf messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.names import operator_named
from onnxlint_cmsis.formats.onnx.functions import domain_of

if TYPE_CHECKING:
    from onnx import NodeProto

    from onnxlint_cmsis.operators.record import Operator


def operator_of_proto(node: NodeProto) -> Operator:
    """Record of a node's operator, UNKNOWN where there is none."""
    return operator_named(domain_of(node.domain), node.op_type)
