"""Pooling that rounds its output's size up: ONNX counts no window that starts in the padding at the end.

onnx's shape inference counts such windows below opset 22; ONNX Runtime never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx_graph.functions import domain_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnx import GraphProto, NodeProto

    from onnxlint_cmsis.formats.onnx_graph.known_shapes import Table

POOLS = ("MaxPool", "AveragePool", "LpPool")
"""Operators with `ceil_mode`."""


def round_down(graphs: Iterable[GraphProto], tables: Iterable[Table]) -> bool:
    """Give each such node whose input's sizes are known the padding at the end that makes rounding down right.

    In place, in copies for inference alone; True where there was any.
    """
    found = [(node, shape) for graph, table in zip(graphs, tables, strict=True) for node, shape in _known(graph, table)]
    for node, sizes in found:
        _pad(node, sizes)
    return bool(found)


def _known(graph: GraphProto, table: Table) -> Iterator[tuple[NodeProto, tuple[int, ...]]]:
    """Nodes that round up, with the sizes of their plane."""
    for node in graph.node:
        if node.op_type not in POOLS or domain_of(node.domain) or not _ints(node, "ceil_mode", (0,))[0]:
            continue
        shape = table[node.input[0]][1] if node.input and node.input[0] in table else None
        kernel = _ints(node, "kernel_shape", ())
        if shape is None or None in shape or len(shape) != len(kernel) + 2 or _automatic(node):
            continue
        yield node, tuple(size for size in shape[2:] if size is not None)


def _automatic(node: NodeProto) -> bool:
    return any(each.name == "auto_pad" and each.s not in (b"", b"NOTSET") for each in node.attribute)


def _ints(node: NodeProto, name: str, missing: tuple[int, ...]) -> tuple[int, ...]:
    for each in node.attribute:
        if each.name == name:
            return tuple(each.ints) or (each.i,)
    return missing


def _pad(node: NodeProto, sizes: tuple[int, ...]) -> None:
    """Replace `ceil_mode` by the padding at the end that the last window reaches to."""
    from onnx import helper

    rank = len(sizes)
    kernel, ones = _ints(node, "kernel_shape", ()), (1,) * rank
    strides, dilations = _ints(node, "strides", ones), _ints(node, "dilations", ones)
    pads = _ints(node, "pads", (0,) * 2 * rank)
    if not len(strides) == len(dilations) == rank or len(pads) != 2 * rank or min(strides) < 1:
        return
    after = []
    for size, taps, step, reach, before, end in zip(
        sizes, kernel, strides, dilations, pads[:rank], pads[rank:], strict=True
    ):
        width = reach * (taps - 1) + 1
        count = -((width - size - before - end) // step) + 1
        count -= (count - 1) * step >= size + before  # the last window would see padding alone
        after.append(max(end, (count - 1) * step + width - size - before))
    kept = [each for each in node.attribute if each.name not in ("ceil_mode", "pads")]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute("pads", [*pads[:rank], *after])])
