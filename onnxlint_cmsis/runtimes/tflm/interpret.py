"""What TensorFlow Lite Micro's interpreter does with a `.tflite` model: operator by operator, and in memory."""

from __future__ import annotations

from collections.abc import Iterable

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.formats.tflite.open_sizes import is_open
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.tflm.arena import ArenaLayout, lay_out
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.kernels import came_on, kernel_of
from onnxlint_cmsis.runtimes.tflm.lifetimes import TooManySteps
from onnxlint_cmsis.runtimes.tflm.operator_view import operator_views
from onnxlint_cmsis.runtimes.tflm.preparation import Known, Preparation, Refused, Stage, Unpredictable
from onnxlint_cmsis.runtimes.tflm.prepare_requests import hold
from onnxlint_cmsis.runtimes.tflm.reference_checks import DYNAMIC, SIZED
from onnxlint_cmsis.runtimes.tflm.resource_variables import ResourceVariables, resource_variables
from onnxlint_cmsis.runtimes.tflm.revisions import ALL_READ, TflmRevision
from onnxlint_cmsis.runtimes.tflm.rows import KernelLimit
from onnxlint_cmsis.runtimes.tflm.stated_plans import refusal
from onnxlint_cmsis.runtimes.tflm.structures import ARENA
from onnxlint_cmsis.runtimes.tflm.verdicts import (
    OPEN_SIZE,
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
"""Tensors of the largest model that is laid out; with gaps between them, the planner takes time with their square."""


def interpret(model: TfliteModel, build: TflmBuild, *, laid_out: bool = True, known: Known | None = None) -> TflmReport:
    """Run a model on paper: every operator's verdict, and, `laid_out`, the memory of one that is allocated.

    `known` has what other builds of the same model found out, and takes what this one does.
    """
    variables = resource_variables(model)
    operators = _operators(model, build, variables, known)
    refused = refusal(model)
    status, message = _outcome(operators, refused)
    if not laid_out:
        return TflmReport(operators, status, message, None, "it was not laid out", refused)
    arena, no_arena = _arena(model, build, operators, variables.variables)
    return TflmReport(operators, status, message, arena, no_arena, refused)


def nothing_known(model: TfliteModel) -> Known:
    """What is known of a model that no build has run yet."""
    return Known([{} for _ in model.operators()], {})


def wrong_operators(model: TfliteModel, target: Target) -> tuple[TflmOperator, ...]:
    """Operators of which reference kernels alone make wrong values and say that all is well."""
    build = TflmBuild(target, checks=False, with_cmsis_nn=False)
    operators = _operators(model, build, resource_variables(model))
    return tuple(operator for operator in operators if operator.verdict is Outcome.WRONG)


def _operators(
    model: TfliteModel, build: TflmBuild, variables: ResourceVariables, known: Known | None = None
) -> tuple[TflmOperator, ...]:
    """All operators, those also that the firmware never comes to behind one that stops it."""
    known = known or nothing_known(model)
    done: list[TflmOperator] = []
    scratch = 0
    for row, ((number, index, _), alone) in enumerate(zip(model.operators(), operator_views(model), strict=True)):
        view = alone._replace(variable=variables.uses.get((number, index)), scratch_before=scratch)
        done.append(_operator(Preparation(view, build, known, row), number))
        scratch += len(done[-1].scratch)
    return tuple(done)


def _operator(p: Preparation, number: int) -> TflmOperator:
    """One operator's row, however its kernel ends."""
    view = p.view
    owner = (number, view.number, view.operator.title)
    kernel = kernel_of(view.operator, p.build.revision, with_cmsis_nn=p.build.with_cmsis_nn)
    if kernel is None:
        return unregistered(owner, view.operator, came_on(view.operator))
    open_ = next((tensor for tensor in view.tensors if is_open(tensor)), None)
    if open_ is not None:
        return stopped(owner, Outcome.UNDECIDED, f"a size of '{open_.name}' is open", cause=OPEN_SIZE)
    try:
        p.reference = kernel.reference
        hold(p, (*not_read(view.operator.op, p.build.revision), SIZED, *kernel.rows))
        kernel.then(p)
        hold(p, (DYNAMIC,))
    except Unpredictable as reason:
        return stopped(owner, Outcome.UNDECIDED, str(reason), cause=reason.cause)
    except Refused as refusal:
        halted = halt(p, Stage.PREPARE)
        if halted:
            return stopped(owner, Outcome.HALTS, halted.reason, cause=halted.cause)
        return stopped(owner, Outcome.REFUSED, refusal.reason, printed(view, refusal), refusal.cause)
    return decided(p, number)


def not_read(op: str, revision: TflmRevision) -> Iterable[KernelLimit]:
    """Rows of what a kernel did before it changed, and nobody read."""
    if revision.since >= ALL_READ:
        return ()
    from onnxlint_cmsis.runtimes.tflm.unread import unread

    return unread(op)


def _outcome(operators: tuple[TflmOperator, ...], refused: str | None) -> tuple[str, str]:
    """Status and message of the model: the first operator that stops decides, behind what was printed before.

    Memory is planned between Prepare and Invoke, where the file's plan may be `refused`.
    """
    printed: list[str] = []
    for stage in STAGES:
        if stage == Stage.INVOKE.value and refused:
            return "alloc_error", refused
        for operator in operators:
            if operator.stage == stage:
                status = "invoke_error" if stage == Stage.INVOKE.value else "alloc_error"
                halts = operator.verdict is Outcome.HALTS
                return "halt" if halts else status, "; ".join(filter(None, (*printed, operator.message)))
            if stage == Stage.PREPARE.value and operator.verdict is Outcome.UNDECIDED:
                return "undecided", ""
            if stage == Stage.INVOKE.value and operator.message:
                printed.append(operator.message)
    return "ok", "; ".join(printed)


def _arena(
    model: TfliteModel, build: TflmBuild, operators: tuple[TflmOperator, ...], variables: int
) -> tuple[ArenaLayout | None, str]:
    """The arena, or why there is none."""
    if not build.revision.layout:
        return None, f"how revision {build.revision.commit[:8]} lays it out has not been measured"
    if refusal(model) or any(operator.stage in ("registration", Stage.PREPARE) for operator in operators):
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
    except TooManySteps as reason:
        return None, str(reason)
