"""What the conditions of a runtime ask about a layer of an ONNX model."""

from __future__ import annotations

from functools import cached_property

from onnxlint_cmsis.ground.types import KernelCall, Size
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.find_quantization import of_input, of_result
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import activations_of, operands_of
from onnxlint_cmsis.lower.stored_types import quantizes
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.runtimes.tflite_names import LEFT_QUANTIZED, REAL, WHOLE, tflite_name


class LayerFacts:
    """One layer, who computes it, and its shapes."""

    def __init__(self, graph: Graph, record: LoweredLayer, commit: str = "", unreleased: tuple[str, ...] = ()) -> None:
        """`commit` is the revision of TensorFlow Lite Micro, where that is the runtime; empty for the newest.

        `unreleased` has the entry points whose kernels in its library are those of no release.
        """
        self.commit = commit
        self.unreleased = unreleased
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
            return self.call.types
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
    def batch(self) -> int:
        """Images; 1 where unknown."""
        return (self.call.input_dims.n if self.call else 1) or 1

    @property
    def broadcasts(self) -> bool:
        """Tell whether its two operands are known to differ in shape."""
        pair = self.shapes[:2]
        return len(pair) == 2 and None not in pair and pair[0] != pair[1]

    @property
    def clamped(self) -> bool:
        """Tell whether a Relu or Clip behind it is part of the layer."""
        return self.record.epilogue is not None and bool(self.record.epilogue.clamps)

    @property
    def weight_zero_point(self) -> bool:
        """Tell whether its weights have a zero-point other than 0, as int8."""
        return self.record.weights is not None and any(self.record.weights.signed_zero_points)

    @property
    def several_weight_scales(self) -> bool:
        """Tell whether its weights have a scale for each output."""
        scales = self.record.weights.scales if self.record.weights else None
        return scales is not None and len(scales) > 1

    @property
    def converted_types(self) -> tuple[str, ...]:
        """Types, in TensorFlow Lite's words, that converters may give its data; none where it is of whole numbers."""
        if self.type == "float":
            return ("FLOAT32",)
        position = next(iter(activations_of(self.node)), 0)
        source, result = of_input(self.graph, self.node, position), self.node.outputs[0]
        readers = self.graph.consumers.get(result, ()) if result not in self.graph.ends else ()
        rounded = of_result(self.graph, self.node) or (readers and all(map(quantizes, readers)))
        if source and rounded and source.bits in WHOLE and self.op in LEFT_QUANTIZED:
            return (WHOLE[source.bits],)
        real = source or self.graph.elem_type(self.node.inputs[position]) in REAL
        return (*WHOLE.values(), "FLOAT32") if real else ()

    @property
    def activation_types(self) -> frozenset[str]:
        """Types of the integers that it reads and writes, as the file has them."""
        numbers = (*self.record.inputs, self.record.output)
        return frozenset(number.elem_type for number in numbers if number is not None)
