"""What the conditions of a runtime ask about a layer of an ONNX model."""

from __future__ import annotations

from functools import cached_property

from onnxlint_cmsis.graph.model import Graph
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import operands_of
from onnxlint_cmsis.lower.verdict import Cause
from onnxlint_cmsis.runtimes.tflite_names import tflite_name
from onnxlint_cmsis.types import KernelCall, Size, entry_parts


class LayerFacts:
    """One layer, who computes it, and its shapes."""

    def __init__(self, graph: Graph, record: LoweredLayer) -> None:
        self.graph = graph
        self.record = record
        self.node = record.node
        self.op = tflite_name(record)
        """Operator of TensorFlow Lite; conditions of all runtimes use these names."""
        self.cause = record.cause
        """Why CMSIS-NN cannot compute it, if so."""

    @property
    def call(self) -> KernelCall | None:
        """The kernel call that its geometry asks for."""
        return self.record.layer.call if self.record.layer else None

    @property
    def name(self) -> str:
        """Operator in messages."""
        return self.op or self.node.op_type

    @property
    def type(self) -> str:
        """`s8`, `s16`, `s4`, `s8_s16` or `float`."""
        if self.cause in (Cause.FLOAT, Cause.FLOAT_RESULT):
            return "float"
        if self.call:
            return entry_parts(self.call.entry)[1]
        first = self.record.inputs[0] if self.record.inputs else None
        return {8: "s8", 16: "s16", 4: "s4"}[first.bits] if first else "s8"

    @cached_property
    def shapes(self) -> list[tuple[Size, ...] | None]:
        """Shapes of its operands: the activations, and the weights of a layer that has them; no scales, no bounds."""
        return [self.graph.shape(name) for name in operands_of(self.node)]

    @property
    def rank(self) -> int:
        """Axes of its first operand; 0 where unknown."""
        return len(self.shapes[0] or ()) if self.shapes else 0

    @property
    def output_rank(self) -> int:
        """Axes of its result; 0 where unknown."""
        return len(self.graph.shape(self.node.outputs[0]) or ())

    @property
    def batch(self) -> int:
        """Images; 1 where unknown."""
        return (self.call.input_dims.n if self.call else 1) or 1

    @property
    def first(self) -> int:
        """Size of the first axis of its first operand; 1 where unknown."""
        return (self.shapes[0] or (1,))[0] or 1 if self.shapes else 1

    @property
    def broadcasts(self) -> bool:
        """Whether its two operands are known to differ in shape."""
        pair = self.shapes[:2]
        return len(pair) == 2 and None not in pair and pair[0] != pair[1]

    @property
    def depth(self) -> int:
        """Inputs of each output of a dense layer; 0 where unknown."""
        return (self.call.filter_dims.n if self.call else 0) or 0

    @property
    def weight_zero_point(self) -> bool:
        """Whether its weights have a zero-point other than 0, as int8."""
        return self.record.weights is not None and any(self.record.weights.signed_zero_points)

    @property
    def several_weight_scales(self) -> bool:
        """Whether its weights have a scale for each output."""
        scales = self.record.weights.scales if self.record.weights else None
        return scales is not None and len(scales) > 1

    @property
    def activation_types(self) -> frozenset[str]:
        """Types of the integers that it reads and writes, as the file has them."""
        numbers = (*self.record.inputs, self.record.output)
        return frozenset(each.elem_type for each in numbers if each is not None)
