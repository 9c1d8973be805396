"""The walk over a model that makes its Program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import onnx

from firmware_check.errors import FirmwareError
from firmware_check.numbers import quantize_multiplier
from firmware_check.program import Program, Quantization, Step, Value
from firmware_check.reading.constants import BITS, Constants
from firmware_check.reading.forms import formed
from firmware_check.reading.moves import move_step, strides_of
from firmware_check.reading.table import MOVES, OPERATORS
from firmware_check.reading.unsupported import Unsupported
from firmware_check.reading.views import channels_last, lies_in, reshaped, row_major, transposed
from onnxlint_cmsis.operators.derived import derived_values

if TYPE_CHECKING:
    from firmware_check.library import Library
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import Lowered


def read_program(path: str, graph: Graph, library: Library, lowered: Lowered | None = None) -> Program:
    """The layers of a quantized model, with the memory order of its inputs that needs the fewest transpositions.

    `lowered` has the calls; without it they follow from the graph.

    Raises:
        FirmwareError: the model has no layer for CMSIS-NN.

    """
    from onnxlint_cmsis.lower import lower

    constants = Constants(onnx.load(path), graph)
    lowered = lowered or lower(graph)
    programs = [Builder(graph, constants, lowered, library, last).build() for last in (True, False)]
    best = min(programs, key=lambda program: sum(step.op_type == "Transpose" for step in program.steps))
    if not any(step.call is not None for step in best.steps):
        reasons = "; ".join(f"{label}: {reason}" for label, reason in best.foreign[:3])
        raise FirmwareError("no layer that CMSIS-NN can run as int8 or int16" + (f" ({reasons})" if reasons else ""))
    return best


class Builder:
    """One walk: values known so far, layers made so far."""

    def __init__(
        self, graph: Graph, constants: Constants, lowered: Lowered, library: Library, inputs_channels_last: bool
    ) -> None:
        self.graph = graph
        self.constants = constants
        self.layers = {layer.node.index: layer for layer in lowered.layers}
        self.refused = {node.index: reason for node, reason in lowered.foreign}
        self.library = library
        self.derived = derived_values(graph)
        self.inputs_channels_last = inputs_channels_last
        self.integers: dict[str, Value] = {}
        self.reals: dict[str, Value] = {}
        self.inputs: list[Value] = []
        self.steps: list[Step] = []
        self.foreign: list[tuple[str, str]] = []
        self.done: set[int] = set()
        self.buffers = 0

    def build(self) -> Program:
        """Walk the nodes in file order."""
        for node in self.graph.nodes:
            if node.index in self.done or node.outputs[0] in self.derived:
                continue
            before = len(self.steps)
            try:
                self._node(node)
            except Unsupported as error:
                del self.steps[before:]  # what only moved its operands
                self.foreign.append((node.label, str(error)))
        outputs = [self.integers.get(name) or self.reals.get(name) for name in self.graph.outputs]
        known = tuple(value for value in outputs if value is not None)
        lost = [
            (name, "no layer of the firmware makes this output")
            for name, v in zip(self.graph.outputs, outputs, strict=True)
            if v is None
        ]
        return Program(tuple(self.inputs), tuple(self.steps), known, (*self.foreign, *lost))

    def _node(self, node: Node) -> None:
        if node.op_type == "QuantizeLinear":
            self._quantize(node)
        elif node.op_type == "DequantizeLinear":
            self._dequantize(node)
        elif node.is_op(*MOVES):
            self._move(node)
        elif (node.domain, node.op_type) in OPERATORS:
            if not all(self.constants.fixed(name) for name in node.inputs if name):
                OPERATORS[node.domain, node.op_type].build(self, node)
        elif not node.is_op("Constant") and node.outputs:
            raise Unsupported(f"{node.op_type} has no form in this firmware")

    def _quantize(self, node: Node) -> None:
        if self.constants.fixed(node.inputs[0]):
            return
        quantization = self.constants.quantization(node)
        source = self.reals.get(node.inputs[0])
        if source is None:
            self.integers[node.outputs[0]] = self._host_value(node.outputs[0], quantization)
        elif source.quantization == quantization:
            self.integers[node.outputs[0]] = replace(source, tensor=node.outputs[0], real=False)
        else:
            self.requantize(node, source, node.outputs[0], quantization)

    def _dequantize(self, node: Node) -> None:
        name = node.inputs[0]
        if self.constants.known(name):
            return
        if name not in self.integers:
            self.integers[name] = self._host_value(name, self.constants.quantization(node))
        found = self.integers[name]
        self.reals[node.outputs[0]] = replace(found, quantization=self.constants.quantization(node))

    def _host_value(self, tensor: str, quantization: Quantization) -> Value:
        """A value that the host writes: an input, or what a node outside the firmware makes."""
        shape = self.shape(tensor)
        order = channels_last(len(shape)) if self.inputs_channels_last else tuple(range(len(shape)))
        value = self.new(tensor, shape, order, quantization)
        self.inputs.append(value)
        return value

    def _move(self, node: Node) -> None:
        """Transpose, Reshape and their like, on integers or on reals."""
        name = node.inputs[0]
        if self.constants.fixed(name):
            return
        known = self.integers if name in self.integers else self.reals
        if name not in known and self.graph.elem_type(name) in BITS:
            known = self.integers
            known[name] = self._host_value(name, self._quantization_behind(name))
        value = self.known(name) if known is self.reals else known[name]
        if node.op_type == "Transpose":
            permutation = node.ints("perm") or tuple(reversed(range(len(value.shape))))
            moved = transposed(self.plain(node, value), permutation)
        elif node.op_type == "Identity":
            moved = value
        else:
            moved = reshaped(value, self.shape(node.outputs[0]))
        known[node.outputs[0]] = replace(moved, tensor=node.outputs[0], real=known is self.reals)

    def _quantization_behind(self, name: str) -> Quantization:
        """Quantization of an integer tensor, from the DequantizeLinear behind what moves it."""
        for reader in self.graph.consumers.get(name, ()):
            if reader.op_type == "DequantizeLinear":
                return self.constants.quantization(reader)
            if reader.is_op(*MOVES) and reader.inputs[0] == name:
                return self._quantization_behind(reader.outputs[0])
        raise Unsupported(f"the scale of the integers in '{name}' is not known")

    def known(self, name: str) -> Value:
        """The value that a tensor is, or that is behind a float one."""
        if name in self.integers:
            return self.integers[name]
        if name not in self.reals:
            raise Unsupported(f"its input '{name}' is not quantized")
        return self.reals[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor, all sizes known."""
        shape = self.graph.shape(name)
        if shape is None or any(size is None for size in shape):
            raise Unsupported(f"the shape of '{name}' is not fixed")
        return tuple(size for size in shape if size is not None)

    def new(self, tensor: str, shape: tuple[int, ...], order: tuple[int, ...], quantization: Quantization) -> Value:
        """A value in memory of its own."""
        self.buffers += 1
        return Value(tensor, self.buffers - 1, shape, order, quantization)

    def beside(self, source: Value, tensor: str, quantization: Quantization) -> Value:
        """A value that lies in memory of its own as another one does."""
        output = self.new(tensor, source.shape, source.order, quantization)
        return replace(output, folded_from=source.folded_from)  # what it was before a Reshape lies there alike

    def ordered(self, node: Node, value: Value, order: tuple[int, ...]) -> Value:
        """The value in this memory order; plain C moves it where it lies otherwise."""
        if lies_in(value, order):
            return replace(value, order=order)
        if value.folded_from is not None:
            source = value.folded_from
            plain = self._moved(node, source, tuple(range(len(source.shape))))
            return self.ordered(node, reshaped(plain, value.shape), order)
        return self._moved(node, value, order)

    def plain(self, node: Node, value: Value) -> Value:
        """The value with a memory order that its shape describes."""
        return value if value.folded_from is None else self.ordered(node, value, tuple(range(len(value.shape))))

    def _moved(self, node: Node, value: Value, order: tuple[int, ...]) -> Value:
        moved = replace(value, buffer=self.buffers, order=order, folded_from=None)
        self.buffers += 1
        strides = strides_of(value)
        places = [(value.shape[axis], strides[axis]) for axis in order]
        reason = (
            "CMSIS-NN wants channels last here" if row_major(value) else "ONNX counts elements in another order here"
        )
        self.steps.append(move_step((f"{node.label}:transpose", "Transpose", reason), value, moved, places))
        return moved

    def add(self, step: Step) -> None:
        """A layer, by the function of its form or in plain C."""
        self.steps.append(formed(step, self.library))
        self.integers[step.output.tensor] = step.output

    def requantize(
        self, node: Node, source: Value, tensor: str, quantization: Quantization, limits: tuple[int, int] | None = None
    ) -> None:
        """A layer that changes scale and zero-point, and perhaps clamps."""
        output = self.beside(source, tensor, quantization)
        limits = limits or (quantization.lowest, quantization.highest)
        numbers = {"limits": limits, "rescale": quantize_multiplier(source.quantization.scale / quantization.scale)}
        self.add(
            Step(
                node.label, node.op_type, "requantize", (source,), output, numbers=numbers,
                reason="CMSIS-NN has no function that changes scales", in_place=True,
            )
        )  # fmt: skip
