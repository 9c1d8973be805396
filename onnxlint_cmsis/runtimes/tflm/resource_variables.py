"""Variables of TensorFlow Lite Micro that operators name: VAR_HANDLE, ASSIGN_VARIABLE, READ_VARIABLE.

The application creates their table, MicroResourceVariables, and hands it to the interpreter
(lite/micro/micro_resource_variable.cc). VAR_HANDLE finds its row by container and name. The first ASSIGN_VARIABLE
that is prepared with the handle of a row allocates the variable's values, as many bytes as the value it assigns.
"""

from __future__ import annotations

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.operator_view import VariableUse, tensor_bytes

HANDLE, ASSIGN, READ = "VAR_HANDLE", "ASSIGN_VARIABLE", "READ_VARIABLE"


class ResourceVariables(NamedTuple):
    """The variables of a model."""

    variables: int
    """How many VAR_HANDLE creates, by container and name; the application has to make room for as many."""
    uses: dict[tuple[int, int], VariableUse]
    """What operators do with them, by the numbers of the operator's subgraph and of itself there."""


def resource_variables(model: TfliteModel) -> ResourceVariables:
    """The variables as the Prepare of all operators leaves them, subgraph by subgraph in file order."""
    numbers: dict[tuple[str, str], int] = {}
    handles: dict[tuple[int, int], int] = {}
    variables: dict[tuple[int, int], int] = {}
    allocated: dict[int, tuple[tuple[int, int], int]] = {}
    for number, index, operator in model.operators():
        owner = number, index
        if operator.op == HANDLE and operator.outputs:
            name = str(operator.options.get("container", "")), str(operator.options.get("shared_name", ""))
            variables[owner] = handles[number, operator.outputs[0]] = numbers.setdefault(name, len(numbers))
        elif operator.op in (ASSIGN, READ) and operator.inputs and (number, operator.inputs[0]) in handles:
            variables[owner] = handles[number, operator.inputs[0]]
            if operator.op == ASSIGN and len(operator.inputs) > 1 and operator.inputs[1] >= 0:
                value = model.subgraphs[number].tensors[operator.inputs[1]]
                allocated.setdefault(variables[owner], (owner, tensor_bytes(value)))
    uses = {}
    for owner, variable in variables.items():
        by, size = allocated.get(variable, ((-1, -1), 0))
        uses[owner] = VariableUse(size, by == owner, len(numbers))
    return ResourceVariables(len(numbers), uses)
