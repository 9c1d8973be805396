"""How much a node computes: multiply-accumulates, and where it has none the elements it goes over.

Elements count as multiply-accumulates, so that one limit holds for every rule. In firmware of 60 models under QEMU
(instructions, gcc 12.2, CMSIS-NN 4.0.0, 7.0.0 and main), a multiply-accumulate of CMSIS-NN's layers took 3.6 on
Cortex-M4 and 1.1 on Cortex-M55; 2 lies between. An element of plain code took 5 from a table, 15 to 18 in a copy, 35 to
54 in a pool or Concat that changes the scale, 82 to 270 in a sum of unequal shapes, 180 to 2,200 in Softmax.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.graph.model import TFLITE
from onnxlint_cmsis.lower.layer import product
from onnxlint_cmsis.lower.operands import operands, operands_of
from onnxlint_cmsis.lower.verdict import Cause
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.facets import MOVING, Elements
from onnxlint_cmsis.operators.registry import operator_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import LoweredLayer

RECURRENT = ("LSTM", "GRU", "RNN")
PRODUCTS = ("MatMul", "MatMulInteger", "QLinearMatMul", "FusedMatMul", "Gemm", "FusedGemm")
TABLE, COPY, ELEMENT = 3, 8, 20
"""Multiply-accumulates that an element counts as: looked up in a table, copied, or computed anew."""
COPIES = (*MOVING, Elements.JOINED, Elements.PADDED)
"""Elements of operators that only copy; what they give out counts."""
ENOUGH = 0.05
"""Share of a model's work from which on code beside CMSIS-NN is a warning, in every rule."""
SMALLEST = 0.01
"""Least share that is given as a number."""


class Work(NamedTuple):
    """What a node computes."""

    macs: int | None
    """Multiply-accumulates; 0 where it has none, None where a size is unknown."""
    elements: int | None = 0
    """Elements where there are none: of the input or the output, whichever has more; None where a size is unknown."""
    each: int = ELEMENT
    """Multiply-accumulates that an element counts as."""

    @property
    def effort(self) -> int | None:
        """Multiply-accumulates, or as many as the elements count for; None where a size is unknown."""
        return self.macs or (None if self.macs is None or self.elements is None else self.each * self.elements)


def work_of(graph: Graph, record: LoweredLayer) -> Work:
    """Work of one node, from the call that its geometry asks for, or from the shapes of its tensors."""
    macs = record.layer.macs if record.layer else None
    if macs is None:
        macs = _macs(graph, record.node)
    if macs != 0:
        return Work(macs)
    node = record.node
    if operator_of(node).elements in COPIES and record.cause is not Cause.UNEQUAL_SCALES:
        return Work(0, _elements(graph, node.outputs), COPY)
    both = (*operands_of(node)[:1], *node.outputs[:1])
    return Work(0, _elements(graph, both), TABLE if record.code == "lookup" else ELEMENT)


def share_of_work(work: Mapping[int, Work], nodes: Iterable[int]) -> float | None:
    """Part of all work that some nodes do, each given by its index; None where a size is unknown."""
    mine, every = total(work[index].effort for index in nodes), total(each.effort for each in work.values())
    return None if mine is None or not every else mine / every


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
    if node.domain == TFLITE:
        from onnxlint_cmsis.lower.tflite_work import tflite_macs

        return tflite_macs(graph, node)
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
    place = operands(node.domain, node.op_type).weights
    weights = graph.shape(node.inputs[place]) if len(node.inputs) > place else None
    data = graph.shape(node.inputs[0] if node.op_type == "ConvTranspose" else node.outputs[0])
    return None if weights is None or data is None else product(*data, *weights[1:])


def _elements(graph: Graph, tensors: Iterable[str]) -> int | None:
    """Elements of the largest of some tensors; None where a size is unknown."""
    shapes = [graph.shape(name) for name in tensors if name]
    counts = [None if shape is None else product(*shape) for shape in shapes]
    known = [count for count in counts if count is not None]
    return max(known) if len(known) == len(counts) and known else None
