"""The walk over an ONNX model that makes its Program: what each verdict of the linter asks for, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import onnx

from firmware_check.errors import FirmwareError
from firmware_check.program import Program, Value
from firmware_check.reading.builders import BUILDS, Build
from firmware_check.reading.left_out import advice_on
from firmware_check.reading.pools import (
    build_moved,
)
from firmware_check.reading.state import Workspace, on_device
from firmware_check.reading.stored_numbers import StoredNumbers
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.types import Isa, Target, entry_parts
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.find_quantization import of_input, of_integers, of_result
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.memory_order import reshaped, transposed
from onnxlint_cmsis.lower.on_release import on_release
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.stored_types import MOVES, STORED
from onnxlint_cmsis.operators.answers import Elements
from onnxlint_cmsis.operators.shaping import TRANSPOSE

if TYPE_CHECKING:
    from firmware_check.library import Library
    from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
    from onnxlint_cmsis.model.graph import Graph, Node


def best_program(programs: Iterable[Program]) -> Program:
    """The program with the fewest transpositions.

    Raises:
        FirmwareError: none has a layer for CMSIS-NN.

    """
    best = min(programs, key=lambda program: sum(step.op_type == TRANSPOSE.name for step in program.steps))
    if not any(step.call is not None for step in best.steps):
        reasons = "; ".join(f"{label}: {reason}" for label, reason in best.foreign[:3])
        advice = "".join(f"; {text}" for text in advice_on(reason for _, reason in best.foreign))
        said = f" ({reasons})" if reasons else ""
        raise FirmwareError(f"no layer that CMSIS-NN can run{said}{advice}")
    return best


def read_program(path: str, graph: Graph, library: Library, bias_of_zeros: bool = False) -> Program:
    """The layers of a quantized model, with the memory order of its inputs that needs the fewest transpositions.

    With `bias_of_zeros` a layer without a bias gets one of zeros.

    Raises:
        FirmwareError: the model has no layer for CMSIS-NN.

    """
    stored, lowered = StoredNumbers(onnx.load(path), graph), lower(graph)
    spaces = [Workspace(graph, stored, library, last, bias_of_zeros) for last in (True, False)]
    return best_program(Walk(space, lowered).program() for space in spaces)


class Walk:
    """One walk over the nodes in file order."""

    builds: Mapping[str, Build] = BUILDS
    """What builds a layer, by the stem of its entry point or its kind of reference code."""

    def __init__(self, space: Workspace, lowered: Lowered) -> None:
        self._space = space
        self._graph = space.graph
        self._records = lowered.by_index
        self._absorbed = {
            node.index for record in lowered.records if record.epilogue for node in record.epilogue.absorbed
        }
        self._target = Target("", Isa.SCALAR, space.library.release)
        self._foreign: list[tuple[str, str]] = []

    def program(self) -> Program:
        """All layers, and why others are none."""
        for node in self._graph.nodes:
            before = len(self._space.steps)
            try:
                self.node(node)
            except Unsupported as error:
                del self._space.steps[before:]  # what only moved its operands
                self._foreign.append((node.label, str(error)))
        outputs = {name: self._space.integers.get(name) or self._space.reals.get(name) for name in self._graph.outputs}
        known = tuple(value for value in outputs.values() if value is not None)
        lost = [
            (name, "no layer of the firmware makes this output") for name, value in outputs.items() if value is None
        ]
        return Program(tuple(self._space.inputs), tuple(self._space.steps), known, (*self._foreign, *lost))

    def node(self, node: Node) -> None:
        """A node: a layer, another way to read memory, or a change of what stands for numbers."""
        record = self._records.get(node.index)
        if operator_of(node).elements in MOVES and self.moves(node, record):
            self._move(node)
            if record is not None and record.epilogue is not None and record.epilogue.absorbed:
                build_moved(self._space, record)
        elif record is not None:
            self._layer(record)
        elif node.index in self._absorbed or not node.inputs or self._space.stored.fixed(node.inputs[0]):
            return
        elif operator_of(node).quantizes:
            quantization = on_device(of_result(self._graph, node))
            source = self._space.reals.get(node.inputs[0]) or self._quantized_alike(node)
            if source is None:
                self._space.integers[node.outputs[0]] = self._space.host_value(node.outputs[0], quantization)
            else:
                self._space.integers[node.outputs[0]] = replace(source, tensor=node.outputs[0], real=False)
        elif operator_of(node).dequantizes:
            self._dequantize(node)

    def moves(self, node: Node, record: LoweredLayer | None) -> bool:
        """Tell if a node is another way to read memory: reference code moves elements where a layer wants an order."""
        known = node.inputs[0] in self._space.integers or node.inputs[0] in self._space.reals
        refused = record is not None and record.verdict not in (Outcome.CMSIS_NN, Outcome.REFERENCE)
        return not refused and (known or self._graph.elem_type(node.inputs[0]) in STORED)

    def _layer(self, record: LoweredLayer) -> None:
        """A layer, by what the verdict says of it in this release."""
        taken = route(record.call, self._target) if record.call else None
        decision = on_release(record, taken, self._target.release)
        if decision is not None and decision.cause is Cause.GROUPS:
            decision = None  # a function computes it, wrongly: that is to be seen on the device
        if decision is not None and decision.verdict is not Outcome.REFERENCE:
            raise Unsupported(decision.reason)
        entry = record.call.entry if record.call else ""
        build = self.builds.get(decision.code if decision else entry_parts(entry)[0])
        if build is None:
            raise Unsupported(f"this firmware has no call of arm_{entry}")
        build(self._space, record, decision.reason if decision else "")

    def _quantized_alike(self, node: Node) -> Value | None:
        """The integers that another node makes of the same tensor; lowering has them from the layer in front."""
        result, integers = of_result(self._graph, node), self._space.integers
        for other in self._graph.consumers.get(node.inputs[0], ()):
            if operator_of(other).quantizes and other.outputs[0] in integers:
                other_result = of_result(self._graph, other)
                if result is not None and other_result is not None and other_result.equals(result):
                    return integers[other.outputs[0]]
        return None

    def _dequantize(self, node: Node) -> None:
        name, quantization = node.inputs[0], on_device(of_input(self._graph, node, 0))
        value = self._space.integers.get(name) or self._space.host_value(name, quantization)
        self._space.integers[name] = value
        self._space.reals[node.outputs[0]] = replace(value, quantization=quantization)

    def _move(self, node: Node) -> None:
        """Transpose, Reshape and their like, on integers or on reals."""
        name, space = node.inputs[0], self._space
        if space.stored.fixed(name):
            return
        known = space.reals if name in space.reals else space.integers
        if name not in known:
            known[name] = self._space.host_value(name, on_device(of_integers(self._graph, name)))
        value = known[name]
        elements = operator_of(node).elements
        if elements is Elements.TRANSPOSED:
            permutation = node.permutation(len(value.shape))
            if permutation is None:
                raise Unsupported(f"{node.label} has no order of {len(value.shape)} axes as perm")
            moved = transposed(space.plain(node, value), permutation)
        elif elements is Elements.SAME:
            moved = value
        else:
            moved = reshaped(value, space.shape(node.outputs[0]))
        known[node.outputs[0]] = replace(moved, tensor=node.outputs[0], real=known is space.reals)
