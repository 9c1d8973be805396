"""How much a node computes: multiply-accumulates, and where it has none the elements it goes over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.lower.layer import product
from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import LoweredLayer

RECURRENT = ("LSTM", "GRU", "RNN")
PRODUCTS = ("MatMul", "MatMulInteger", "QLinearMatMul", "FusedMatMul", "Gemm", "FusedGemm")
ENOUGH = 0.05
"""Share of a model's work from which on code beside CMSIS-NN is a warning."""
SMALLEST = 0.01
"""Least share that is given as a number."""


class Work(NamedTuple):
    """What a node computes."""

    macs: int | None
    """Multiply-accumulates; 0 where it has none, None where a size is unknown."""
    operations: int | None
    """The same, or one for each element where there are none: of the input or the output, whichever has more."""


def work_of(graph: Graph, record: LoweredLayer) -> Work:
    """Work of one node, from the call that its geometry asks for, or from the shapes of its tensors."""
    macs = record.layer.macs if record.layer else None
    if macs is None:
        macs = _macs(graph, record.node)
    return Work(macs, _elements(graph, record.node) if macs == 0 else macs)


def total(numbers: Iterable[int | None]) -> int | None:
    """Sum of numbers, None where one is unknown."""
    found = list(numbers)
    known = [number for number in found if number is not None]
    return sum(known) if len(known) == len(found) else None


def percent(share: float) -> str:
    """`97 %`, `less than 1 %`."""
    return f"{share:.0%}".replace("%", " %") if share >= SMALLEST else "less than 1 %"


def _macs(graph: Graph, node: Node) -> int | None:
    """Multiply-accumulates of operators that multiply by weights or matrices; 0 for all others."""
    if node.op_type in RECURRENT:
        return _recurrent(graph, node)
    if node.op_type in PRODUCTS:
        first, made = graph.shape(node.inputs[0]), graph.shape(node.outputs[0])
        if not first or made is None:
            return None
        return product(*made, first[0] if node.int("transA") else first[-1])
    if node.op_type.startswith(("Conv", "QLinearConv", "FusedConv")) and len(node.inputs) > 1:
        return _convolution(graph, node)
    return 0


def _recurrent(graph: Graph, node: Node) -> int | None:
    """Each step of each sequence multiplies by W and R, which have all gates and directions."""
    shapes = [graph.shape(name) for name in node.inputs[:3]]
    if len(shapes) < 3 or None in shapes:
        return None
    data, weights, recurrent = (shape or () for shape in shapes)
    steps = product(*data[:2])
    columns = total((product(*weights), product(*recurrent)))
    return product(steps, columns)


def _convolution(graph: Graph, node: Node) -> int | None:
    """Each element of the output, or of a transposed convolution's input, goes with one filter, for any rank."""
    place = 3 if node.op_type.startswith("QLinear") else 1
    weights = graph.shape(node.inputs[place]) if len(node.inputs) > place else None
    data = graph.shape(node.inputs[0] if node.op_type == "ConvTranspose" else node.outputs[0])
    return None if weights is None or data is None else product(*data, *weights[1:])


def _elements(graph: Graph, node: Node) -> int | None:
    shapes = [graph.shape(name) for name in (*node.inputs[:1], *node.outputs[:1]) if name]
    counts = [None if shape is None else product(*shape) for shape in shapes]
    known = [count for count in counts if count is not None]
    return max(known) if len(known) == len(counts) and known else None
