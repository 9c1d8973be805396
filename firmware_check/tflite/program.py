"""The walk over a `.tflite` model that makes its Program from the calls of TensorFlow Lite Micro."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_check.errors import FirmwareError
from firmware_check.program import Program
from firmware_check.reading.unreadable import Unsupported
from firmware_check.tflite.layers import build
from firmware_check.tflite.state import TfliteSpace
from onnxlint_cmsis.ground.types import Isa, Target
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.preparation import Stage

if TYPE_CHECKING:
    from firmware_check.library import Library
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteOperator
    from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator


VIEWS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators whose output is the same memory."""


def tflite_program(model: TfliteModel, library: Library) -> Program:
    """The layers of the main subgraph.

    Raises:
        FirmwareError: the model has no layer for CMSIS-NN.

    """
    build_of = TflmBuild(Target("", Isa.SCALAR, library.release), own_library=False)
    rows = [row for row in interpret(model, build_of).operators if row.subgraph == 0]
    space = TfliteSpace(model, library)
    foreign: list[tuple[str, str]] = []
    for index in model.subgraphs[0].inputs:
        _host(space, index)
    for operator, row in zip(space.main.operators, rows, strict=True):
        try:
            _operator(space, operator, row)
        except Unsupported as error:
            foreign.append((f"{operator.title}#{row.index}", str(error)))
            for index in operator.outputs:
                _host(space, index)
    if not any(step.call is not None for step in space.steps):
        reasons = "; ".join(f"{label}: {reason}" for label, reason in foreign[:3])
        raise FirmwareError("no layer that CMSIS-NN can run" + (f" ({reasons})" if reasons else ""))
    # Of an output that DEQUANTIZE makes, the integers in front.
    behind = {op.outputs[0]: op.inputs[0] for op in space.main.operators if op.op == "DEQUANTIZE"}
    integers = [behind.get(index, index) for index in space.main.outputs]
    outputs = tuple(space.values[index] for index in integers if index in space.values)
    read = {value.buffer for step in space.steps for value in step.inputs}
    inputs = tuple(value for value in space.inputs if value.buffer in read)
    return Program(inputs, tuple(space.steps), outputs, tuple(foreign))


def _operator(space: TfliteSpace, operator: TfliteOperator, row: TflmOperator) -> None:
    """One operator: a layer, the same memory, or the change to and from float at the model's ends."""
    if row.stage in ("registration", Stage.PREPARE):
        raise Unsupported(row.reason)
    if not operator.inputs or not operator.outputs:
        raise Unsupported("it has no input or no output")
    types = [space.tensor(index).elem_type for index in (operator.inputs[0], operator.outputs[0])]
    if operator.op == "QUANTIZE" and types[0] == "FLOAT32":
        _host(space, operator.outputs[0])
    elif operator.op == "DEQUANTIZE":
        return
    elif operator.op in VIEWS:
        space.values[operator.outputs[0]] = space.view(space.known(operator.inputs[0]), operator.outputs[0])
    else:
        build(space, operator, row)


def _host(space: TfliteSpace, index: int) -> None:
    """Let the host write a tensor where the device could hold it."""
    try:
        space.host_value(index)
    except Unsupported:
        return
