"""What TensorFlow Lite Micro does with a model: operator by operator, and in memory."""

from __future__ import annotations

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict
from onnxlint_cmsis.runtimes.tflm.arena import ArenaLayout, lay_out
from onnxlint_cmsis.runtimes.tflm.kernel_table import kernel_of
from onnxlint_cmsis.runtimes.tflm.lifetimes import TooManySteps
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Refused, Stage, Unpredictable
from onnxlint_cmsis.runtimes.tflm.reference_kernels import DYNAMIC, SIZED, hold
from onnxlint_cmsis.runtimes.tflm.resource_variables import ResourceVariables, resource_variables
from onnxlint_cmsis.runtimes.tflm.structures import ARENA
from onnxlint_cmsis.runtimes.tflm.tflm_build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.verdicts import (
    STAGES,
    TflmOperator,
    TflmReport,
    decided,
    halt,
    printed,
    stopped,
    unregistered,
)

MAX_BUFFERS = 5000
"""Tensors of the largest model that is laid out; the planner takes time with their square."""


def interpret(model: TfliteModel, build: TflmBuild) -> TflmReport:
    """Run a model on paper: every operator's verdict, and the memory of one that is allocated."""
    variables = resource_variables(model)
    operators = _operators(model, build, variables)
    status, message = _outcome(operators)
    arena, no_arena = _arena(model, build, operators, variables.variables)
    return TflmReport(operators, status, message, arena, no_arena)


def _operators(model: TfliteModel, build: TflmBuild, variables: ResourceVariables) -> tuple[TflmOperator, ...]:
    """All operators, those also that the firmware never comes to behind one that stops it."""
    done: list[TflmOperator] = []
    scratch = 0
    for number, index, operator in model.operators():
        view = OperatorView(model, model.subgraphs[number], operator, index, variables.uses.get((number, index)))
        done.append(_operator(Preparation(view, build, scratch), number))
        scratch += len(done[-1].scratch)
    return tuple(done)


def _operator(p: Preparation, number: int) -> TflmOperator:
    """One operator's row, however its kernel ends."""
    view = p.view
    owner = (number, view.number, view.operator.title)
    kernel = kernel_of(view.operator, with_cmsis_nn=p.build.with_cmsis_nn)
    if kernel is None:
        return unregistered(owner, view.operator)
    try:
        hold(p, (SIZED,))
        try:
            kernel(p)
        except Refused as refusal:
            if refusal.stage is Stage.PREPARE:
                raise
            p.fails = refusal
        hold(p, (DYNAMIC,))
    except Unpredictable as found:
        return stopped(owner, RuntimeVerdict.UNDECIDED, str(found))
    except Refused as refusal:
        halted = halt(p, Stage.PREPARE)
        if halted:
            return stopped(owner, RuntimeVerdict.HALTS, halted)
        return stopped(owner, RuntimeVerdict.REFUSED, refusal.reason, printed(view, refusal))
    return decided(p, number)


def _outcome(operators: tuple[TflmOperator, ...]) -> tuple[str, str]:
    """Status and message of the model: the first operator that stops decides, behind what was printed before."""
    printed: list[str] = []
    for stage in STAGES:
        for operator in operators:
            if operator.stage == stage:
                status = "invoke_error" if stage == Stage.INVOKE.value else "alloc_error"
                halts = operator.verdict is RuntimeVerdict.HALTS
                return "halt" if halts else status, "; ".join(filter(None, (*printed, operator.message)))
            if stage == Stage.PREPARE.value and operator.verdict is RuntimeVerdict.UNDECIDED:
                return "undecided", ""
            if stage == Stage.INVOKE.value and operator.message:
                printed.append(operator.message)
    return "ok", "; ".join(printed)


def _arena(
    model: TfliteModel, build: TflmBuild, operators: tuple[TflmOperator, ...], variables: int
) -> tuple[ArenaLayout | None, str]:
    """The arena, or why there is none."""
    if any(operator.stage in ("registration", Stage.PREPARE) for operator in operators):
        return None, "its tensors are not allocated"
    unknown = sorted({operator.op for operator in operators if operator.memory is None})
    if unknown:
        return None, f"the memory of {', '.join(unknown)} has not been measured"
    memory = [operator.memory for operator in operators if operator.memory]
    scratch = tuple((row.subgraph, row.index, size) for row in operators for size in row.scratch)
    tensors = sum(len(subgraph.tensors) for subgraph in model.subgraphs)
    if tensors + len(scratch) > MAX_BUFFERS:
        return None, f"{tensors} tensors are more than the {MAX_BUFFERS} that are laid out"
    try:
        return lay_out(model, memory, scratch, ARENA[build.revision.layout], variables), ""
    except TooManySteps as found:
        return None, str(found)
