"""Layers of ONNX between 16-bit floats: ONNX Runtime computes many in float32, and others in halves.

Where it has no kernel for halves, it puts a Cast around a layer and takes Casts between two such layers away, so that
results of the first stay float32 (insert_cast_transformer.cc). Whether it does hangs on the version of an operator
(Max, Min, Mish, PRelu), on what stands between two layers, and on who else reads a result.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.formats.onnx.signatures import schema
from onnxlint_cmsis.model.graph import TFLITE, Graph, Node

HALVES = frozenset({"float16", "bfloat16"})


def in_halves(node: Node, graph: Graph) -> bool:
    """Tell whether a node of ONNX reads or makes 16-bit floats that are computed."""
    names = (name for name in (*node.inputs, *node.outputs) if name and name not in graph.constants)
    return node.domain != TFLITE and any(graph.elem_type(name) in HALVES for name in names)


def half_layers(graph: Graph) -> Iterator[tuple[object, ...]]:
    """Say each layer between 16-bit floats: operator, exact version, attributes, and its tensors by numbers."""
    numbers: dict[str, int] = {"": -1}
    for node in graph.nodes:
        if in_halves(node, graph):
            told = schema(node.domain, node.op_type, node.opset)
            tensors = [
                [numbers.setdefault(name, len(numbers)) for name in ends] for ends in (node.inputs, node.outputs)
            ]
            version = told.since_version if told is not None else node.opset
            yield node.domain, node.op_type, version, sorted(node.attributes.items()), len(node.outputs), tensors
