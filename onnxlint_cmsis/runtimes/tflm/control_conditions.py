"""What kernels check of variables, and of the subgraphs that they call."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.runtimes.tflm.operands import KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView, tensor_bytes
from onnxlint_cmsis.runtimes.tflm.rows import Objection, condition


def no_outputs(view: OperatorView) -> Objection | None:
    """No output."""
    count = len(view.operator.outputs)
    return f"it has {count} outputs; none is taken" if count else None


@condition
def single_value(view: OperatorView, operand: KernelOperand) -> Objection | None:
    """The operand has one element."""
    count = prod(operand.of(view).shape)
    return None if count == 1 else f"{operand.title} has {count} elements; 1 alone is taken"


VARIABLE = "tensorflow/lite/micro/micro_resource_variable.cc"


@condition
def fits_variable(view: OperatorView, operand: KernelOperand) -> Objection | None:
    """The operand has as many bytes as the resource variable, which is what is copied."""
    use, size = view.variable, tensor_bytes(operand.of(view))
    if use is None or use.bytes_ == size:
        return None
    return f"the variable has {use.bytes_} bytes, which are copied, and {operand.title} has {size}"


def subgraphs_of_if(view: OperatorView) -> Objection | None:
    """The subgraphs of IF are there, and the first takes and gives as much as the operator (K/if.cc:74-83)."""
    return _subgraph(view, "then_subgraph_index", 1) or _subgraph(view, "else_subgraph_index", None)


def subgraphs_of_while(view: OperatorView) -> Objection | None:
    """The subgraphs of WHILE take and give as much as the operator (K/while.cc:60-72)."""
    ends = len(view.operator.inputs), len(view.operator.outputs)
    if ends[0] != ends[1]:
        return f"it has {ends[0]} inputs and {ends[1]} outputs"
    return _subgraph(view, "cond_subgraph_index", 0, gives=False) or _subgraph(view, "body_subgraph_index", 0)


def _subgraph(view: OperatorView, option: str, first: int | None, *, gives: bool = True) -> Objection | None:
    """What is wrong with a subgraph that takes the inputs from `first` on; None where its ends are not compared."""
    index = view.option(option)
    if not 0 <= index < len(view.model.subgraphs):
        return f"{option} is {index} of {len(view.model.subgraphs)} subgraphs"
    if first is None:
        return None
    body = view.model.subgraphs[index]
    taken, given_out = len(view.operator.inputs) - first, len(view.operator.outputs)
    alike = len(body.inputs) == taken and (not gives or len(body.outputs) == given_out)
    ends = f"{len(body.inputs)} inputs and {len(body.outputs)} outputs"
    return None if alike else f"subgraph {index} has {ends}; the operator hands on {taken} and takes {given_out}"
