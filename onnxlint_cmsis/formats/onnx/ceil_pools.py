"""Pools with `ceil_mode`: below operator set 22, ONNX's inference counts windows that start in the padding after.

ONNX Runtime counts none of these in any operator set, as ONNX does from 22 on. The copy of the model that inference
sees gets the padding after that makes the right size without rounding up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.attributes import int_attribute, ints_attribute
from onnxlint_cmsis.formats.onnx.functions import imported_versions
from onnxlint_cmsis.formats.onnx.known_types import Table
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.formats.onnx.walk import all_graphs
from onnxlint_cmsis.model.windows import padding_for, reach, rounded_up
from onnxlint_cmsis.operators.pooling import AVERAGE_POOL, MAX_POOL

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto


CEIL_POOLS = (AVERAGE_POOL, MAX_POOL)
MENDED = 22
"""First operator set whose inference is right."""


def settle_ceil_pools(model: ModelProto, tables: list[Table]) -> bool:
    """Give pools whose input has known sizes the padding that makes their output's, in place; True where any did.

    One behind another waits for the next call, whose tables have the right size of what it reads.
    """
    versions = imported_versions(model)
    if versions.get("", MENDED) >= MENDED:
        return False
    graphs = [model.graph] if len(tables) == 1 else list(all_graphs(model.graph))
    settled: set[str] = set()  # what settled pools make, and what is made of that
    for node, table in ((node, table) for graph, table in zip(graphs, tables, strict=True) for node in graph.node):
        behind = not settled.isdisjoint(node.input)
        if not behind and operator_of_proto(node) in CEIL_POOLS and int_attribute(node, "ceil_mode"):
            shape = table[node.input[0]][1] if node.input and node.input[0] in table else None
            after = _padding_after(node, shape[2:]) if shape else None
            if after is not None:
                _pad(node, after)
                behind = True
        if behind:
            settled.update(name for name in node.output if name)
    return bool(settled)


def _padding_after(node: NodeProto, size: tuple[int | None, ...]) -> list[int] | None:
    """Padding after along each axis that makes the output as large without rounding; None where it is not known."""
    axes = len(size)
    kernel, pads = ints_attribute(node, "kernel_shape"), ints_attribute(node, "pads") or [0] * 2 * axes
    strides, steps = ints_attribute(node, "strides") or [1] * axes, ints_attribute(node, "dilations") or [1] * axes
    fitting = {len(kernel), len(strides), len(steps), len(pads) // 2} == {axes} and min((*kernel, *strides, *steps)) > 0
    same = any(attribute.name == "auto_pad" and attribute.s.startswith(b"SAME") for attribute in node.attribute)
    if not fitting or same or None in size:
        return None
    padding = []
    for axis, full in enumerate(size):
        span, stride, before = reach(kernel[axis], steps[axis]), strides[axis], pads[axis]
        windows = rounded_up(full or 0, span, stride, before, pads[axis + axes])
        padding.append(max(padding_for(windows, full or 0, span, stride) - before, 0))
    return padding


def _pad(node: NodeProto, after: list[int]) -> None:
    from onnx import helper

    before = (ints_attribute(node, "pads") or [0] * 2 * len(after))[: len(after)]
    kept = [attribute for attribute in node.attribute if attribute.name not in ("ceil_mode", "pads", "auto_pad")]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute("pads", [*before, *after])])


def forget_results(graph: GraphProto) -> None:
    """Drop the shapes a file states for computed values, so that stale ones do no harm."""
    del graph.value_info[:]
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
