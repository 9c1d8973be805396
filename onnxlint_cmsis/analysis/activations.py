"""The activations of a model as buffers: what each layer reads and writes, from its verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.arena_plan import ArenaStep, ArenaUses
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.layer import product_of
from onnxlint_cmsis.lower.without_function import INTEGERS

if TYPE_CHECKING:
    from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
    from onnxlint_cmsis.model.graph import Graph, Node


IN_PLACE = ("requantize", "lookup")
"""Kinds of reference code that may overwrite what they read."""
ELEMENTWISE = (Function.ADD, Function.MUL, Function.RELU, Function.ACTIVATION)
"""Functions that read each element before they write the same one."""


def activations(graph: Graph, lowered: Lowered) -> ArenaUses | None:
    """Buffers and steps of a model; None where a size is unknown.

    A node without a verdict only reads memory another way, or a layer in front computes it along: its result is the
    buffer that it reads. Each element has `element_bytes`.
    """
    walk = _Walk(graph, lowered)
    for node in graph.nodes:
        walk.visit(node)
    return None if walk.unknown else walk.uses()


def element_bytes(lowered: Lowered) -> int:
    """Bytes of an element of every activation: 4 where layers are f32, 2 where s16, f16 or q15, 1 elsewhere."""
    types = {record.layer.call.types for record in lowered.records if record.layer}
    if "f32" in types:
        return 4
    return 2 if any(kind.endswith(("s16", "f16", "q15")) for kind in types) else 1


class _Walk:
    """A walk over the nodes in file order."""

    def __init__(self, graph: Graph, lowered: Lowered) -> None:
        self._graph = graph
        self._records = lowered.by_index
        self._width = element_bytes(lowered)
        self._buffers: dict[str, int] = {}
        self._sizes: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._channels: dict[int, int] = {}
        self._steps: list[ArenaStep] = []
        self.unknown = False
        self._inputs = tuple(self._new(name) for name in graph.inputs if graph.elem_type(name) not in INTEGERS)

    def visit(self, node: Node) -> None:
        """Take in one node: a step, another name for a buffer, or arithmetic on shapes."""
        read = tuple(dict.fromkeys(self._buffers[name] for name in node.inputs if name in self._buffers))
        results = [name for name in node.outputs if name and self._graph.elem_type(name) not in INTEGERS]
        if not read or not results:
            return
        record = self._records.get(node.index)
        if record is None:
            self._buffers.update(dict.fromkeys(results, read[0]))
        else:
            outputs = tuple(self._new(name, record) for name in results)
            label = f"{node.op_type} '{node.label}'"
            could = record.layer is not None and record.layer.call.function in ELEMENTWISE
            self._steps.append(ArenaStep(read, outputs, record.code in IN_PLACE, label, node.index, could))

    def uses(self) -> ArenaUses:
        """The buffers and steps met."""
        outputs = tuple(dict.fromkeys(self._buffers[name] for name in self._graph.outputs if name in self._buffers))
        return ArenaUses(self._sizes, self._inputs, tuple(self._steps), outputs, self._names, self._channels)

    def _new(self, tensor: str, record: LoweredLayer | None = None) -> int:
        """A buffer for a tensor; one that a kernel ends in further behind has the size of that."""
        written = record.epilogue.tensor if record and record.epilogue and tensor == record.node.outputs[0] else tensor
        shape = self._graph.shape(written)
        size = None if shape is None else product_of(*shape)
        self.unknown = self.unknown or size is None
        number = len(self._sizes)
        self._sizes[number] = self._width * (size or 0)
        self._names[number] = written
        if shape is not None and len(shape) in (2, 4):
            self._channels[number] = shape[1] or 1
        self._buffers[tensor] = number
        return number
