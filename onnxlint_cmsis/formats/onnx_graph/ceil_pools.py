"""Pools with `ceil_mode`: below operator set 22, ONNX's inference counts windows that start in the padding after.

ONNX Runtime counts none of these in any operator set, as ONNX does from 22 on. The copy of the model that inference
sees gets the padding after that makes the right size without rounding up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx_graph.functions import imported_versions
from onnxlint_cmsis.formats.onnx_graph.proto_operators import operator_of_proto
from onnxlint_cmsis.formats.onnx_graph.subgraph_walk import all_graphs
from onnxlint_cmsis.graph.window_attributes import rounded_up
from onnxlint_cmsis.operators.pooling_operators import AVERAGE_POOL, MAX_POOL

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

    from onnxlint_cmsis.formats.onnx_graph.known_shapes import Table

POOLS = (AVERAGE_POOL, MAX_POOL)
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
    settled: set[str] = set()
    for graph, table in zip(graphs, tables, strict=True):
        _settle(graph, table, settled)
    return bool(settled)


def _settle(graph: GraphProto, table: Table, changed: set[str]) -> None:
    """Settle the pools of a graph; `changed` gets what they make, and what is made of that."""
    for node in graph.node:
        behind = not changed.isdisjoint(node.input)
        if not behind and operator_of_proto(node) in POOLS and _number(node, "ceil_mode"):
            shape = table[node.input[0]][1] if node.input and node.input[0] in table else None
            after = _padding_after(node, shape[2:]) if shape else None
            if after is not None:
                _pad(node, after)
                behind = True
        if behind:
            changed.update(name for name in node.output if name)


def _padding_after(node: NodeProto, size: tuple[int | None, ...]) -> list[int] | None:
    """Padding after along each axis that makes the output as large without rounding; None where it is not known."""
    axes = len(size)
    kernel, pads = _numbers(node, "kernel_shape"), _numbers(node, "pads") or [0] * 2 * axes
    strides, steps = _numbers(node, "strides") or [1] * axes, _numbers(node, "dilations") or [1] * axes
    fitting = {len(kernel), len(strides), len(steps), len(pads) // 2} == {axes} and min((*kernel, *strides, *steps)) > 0
    if not fitting or _same(node) or None in size:
        return None
    made = []
    for axis, full in enumerate(size):
        reach = (kernel[axis] - 1) * steps[axis] + 1
        before, after = pads[axis], pads[axis + axes]
        windows = rounded_up(full or 0, reach, strides[axis], before, after)
        made.append(max((windows - 1) * strides[axis] + reach - (full or 0) - before, 0))
    return made


def _same(node: NodeProto) -> bool:
    return any(each.name == "auto_pad" and each.s.startswith(b"SAME") for each in node.attribute)


def _pad(node: NodeProto, after: list[int]) -> None:
    from onnx import helper

    before = (_numbers(node, "pads") or [0] * 2 * len(after))[: len(after)]
    kept = [each for each in node.attribute if each.name not in ("ceil_mode", "pads", "auto_pad")]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute("pads", [*before, *after])])


def _number(node: NodeProto, name: str) -> int:
    return next((each.i for each in node.attribute if each.name == name), 0)


def _numbers(node: NodeProto, name: str) -> list[int]:
    return next((list(each.ints) for each in node.attribute if each.name == name), [])
