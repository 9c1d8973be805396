"""How much a node computes: multiply-accumulates, and where it has none the elements it goes over.

Elements count as multiply-accumulates, so that one limit holds for every rule. In firmware of 60 models under QEMU
(instructions, gcc 12.2, CMSIS-NN 4.0.0, 7.0.0 and main), a multiply-accumulate of CMSIS-NN's layers took 3.6 on
Cortex-M4 and 1.1 on Cortex-M55; 2 lies between. An element of reference code took 5 from a table, 15 to 18 in a copy,
35 to 54 in a pool or Concat that changes the scale, 82 to 270 in a sum of unequal shapes, 180 to 2,200 in Softmax.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.layer import product_of
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import operands_of
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.operators.answers import MOVING, Elements
from onnxlint_cmsis.operators.product import GEMM, MATMUL

TABLE, COPY, ELEMENT = 3, 8, 20
"""Multiply-accumulates that an element counts as: looked up in a table, copied, or computed anew."""
COPIES = (*MOVING, Elements.JOINED, Elements.PADDED)
"""Elements of operators that only copy; what they give out counts."""
ENOUGH = 0.05
"""Share of a model's work from which on reference code is a warning, in every rule."""
SMALLEST = 0.01
"""Least share that is given as a number."""


class Work(NamedTuple):
    """What a node computes in a run of the model."""

    macs: int | None
    """Multiply-accumulates; 0 where it has none, None where a size is unknown, or how often a loop turns."""
    elements: int | None = 0
    """Elements where there are none: of the input or the output, whichever has more; None as for `macs`."""
    per_element: int = ELEMENT
    """Multiply-accumulates that an element counts as."""

    @property
    def effort(self) -> int | None:
        """Multiply-accumulates, or as many as the elements count for; None where one of them is."""
        return self.macs or (None if self.macs is None or self.elements is None else self.per_element * self.elements)

    def times(self, turns: int | None) -> Work:
        """The same so often."""
        macs, elements = (number and product_of(number, turns) for number in self[:2])  # nothing stays nothing
        return self._replace(macs=macs, elements=elements)


def work_of(graph: Graph, record: LoweredLayer) -> Work:
    """Work of one node, from the call that its geometry asks for, or from the shapes of its tensors."""
    macs = record.layer.macs if record.layer else None
    if macs is None:
        macs = macs_of(graph, record.node)
    if macs != 0:
        return Work(macs)
    node = record.node
    if operator_of(node).elements in COPIES and record.cause is not Cause.UNEQUAL_SCALES:
        return Work(0, _elements(graph, node.outputs), COPY)
    both = (*operands_of(node)[:1], *node.outputs[:1])
    return Work(0, _elements(graph, both), TABLE if record.code == "lookup" else ELEMENT)


def share_of_work(work: Mapping[int, Work], nodes: Iterable[int]) -> float | None:
    """Part of all work that some nodes do, each given by its index; None where a size is unknown."""
    part, whole = total(work[index].effort for index in nodes), total(row.effort for row in work.values())
    return None if part is None or not whole else part / whole


def total(numbers: Iterable[int | None]) -> int | None:
    """Sum of numbers, None where one is unknown."""
    sizes = list(numbers)
    known = [number for number in sizes if number is not None]
    return sum(known) if len(known) == len(sizes) else None


def percent(share: float) -> str:
    """`97 %`, `less than 1 %`; 100 % is all."""
    shown = share if share >= 1 else min(share, 1 - SMALLEST)
    return f"{shown:.0%}".replace("%", " %") if share >= SMALLEST else "less than 1 %"


def macs_of(graph: Graph, node: Node) -> int | None:
    """Multiply-accumulates of operators that multiply by weights or matrices; 0 for all others."""
    operator = operator_of(node)
    form = operator.roles.form
    if form is not None and form.convolves:
        return _convolution(graph, node)
    if operator.root in (MATMUL, GEMM):
        roles = operator.roles
        result, left = _shape(graph, node.outputs, 0), _shape(graph, node.inputs, roles.data[0])
        if roles.form is Form.ROWS:  # the data may be rows of another length, taken apart
            left = _shape(graph, node.inputs, roles.weights[0])
        if result is None or not left:
            return None
        turned = len(left) > 1 and node.int(roles.stated("transA").attribute)
        return product_of(*result, left[-2 if turned else -1])
    return _in_steps(graph, node, operator.roles.recurrent) if operator.roles.recurrent else 0


def _convolution(graph: Graph, node: Node) -> int | None:
    """Each element of the output, or of a transposed convolution's input, goes with one filter, for any rank."""
    roles = operator_of(node).roles
    weights, form = _shape(graph, node.inputs, roles.weights[0]), roles.form
    data = _shape(graph, node.inputs, roles.data[0]) if form and form.transposed else _shape(graph, node.outputs, 0)
    if weights is None or data is None or form is None:
        return None
    left_out = (form.inputs if form.transposed else form.outputs)(len(weights))
    return product_of(*data, *(size for axis, size in enumerate(weights) if axis != left_out))


def _elements(graph: Graph, tensors: Iterable[str]) -> int | None:
    """Elements of the largest of some tensors; None where a size is unknown."""
    shapes = [graph.shape(name) for name in tensors if name]
    counts = [None if shape is None else product_of(*shape) for shape in shapes]
    known = [count for count in counts if count is not None]
    return max(known) if len(known) == len(counts) and known else None


def _shape(graph: Graph, names: tuple[str, ...], position: int) -> tuple[Size, ...] | None:
    return graph.shape(names[position]) if position < len(names) and names[position] else None


def _in_steps(graph: Graph, node: Node, matrices: Iterable[int]) -> int | None:
    """Every step of every sequence multiplies by all matrices."""
    data = _shape(graph, node.inputs, 0)
    shapes = [graph.shape(node.inputs[position]) for position in matrices if node.has(position)]
    if data is None or None in shapes:
        return None
    return product_of(*data[:-1], total(product_of(*shape) for shape in shapes if shape is not None))
