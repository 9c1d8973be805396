"""What TensorFlow Lite Micro does with a model: operator by operator, and in memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.runtimes.tflm.arena import Arena, OperatorMemory, lay_out
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.kernel_table import kernel_of
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Refused, Stage, Unpredictable
from onnxlint_cmsis.runtimes.tflm.structures import ARENA, operator_bytes
from onnxlint_cmsis.types import KernelCall

TEMP_BUFFERS = (
    "Number of allocated temp buffers: -1. Checksum passing status: 1; "
    "All temp buffers must be freed before calling ResetTempAllocations()"
)
"""What a Prepare prints that frees a tensor it never allocated, once for itself and once for what follows."""


class TflmVerdict(str, Enum):
    """What becomes of one operator."""

    CMSIS_NN = "CMSIS-NN"
    REFERENCE = "reference code"
    REFUSED = "refused"
    """AllocateTensors or Invoke returns an error."""
    HALTS = "halts"
    """The firmware stops: a check does not hold."""
    WRONG = "wrong"
    """No error is seen, and the output is not what the model says."""
    UNDECIDED = "undecided"
    """The kernel would read what is not there."""


@dataclass(frozen=True)
class TflmOperator:
    """One operator in one build."""

    subgraph: int
    """Subgraph."""
    index: int
    """Number in the subgraph."""
    op: str
    """Operator in the schema's words; a custom one by its own name."""
    functions: tuple[str, ...]
    """CMSIS-NN functions that are called, outermost; none for reference code."""
    chain: tuple[str, ...]
    """Kernels of the last function in order of delegation."""
    verdict: TflmVerdict
    """What becomes of it."""
    reason: str
    """Why."""
    message: str
    """What the firmware prints; empty where it prints nothing."""
    stage: str
    """`Prepare` or `Invoke` for one that is refused or halts."""
    scratch: tuple[int, ...]
    """Bytes of each scratch request."""
    memory: OperatorMemory | None
    """What it asks for that stays; None where that is not known."""
    call: KernelCall | None
    """The call behind `functions`, where the library chooses among kernels."""


class TflmReport(NamedTuple):
    """A model in one build."""

    operators: tuple[TflmOperator, ...]
    """Operators in file order, up to the one that is refused while tensors are allocated."""
    status: str
    """`ok`, `alloc_error`, `invoke_error`, `halt`, or `undecided`."""
    message: str
    """What the firmware prints."""
    arena: Arena | None
    """Memory; None where tensors are not allocated, or an operator's structures were never measured."""
    unknown_memory: tuple[str, ...]
    """Operators whose structures were never measured."""


def interpret(model: TfliteModel, build: TflmBuild) -> TflmReport:
    """Run a model on paper."""
    missing = _unregistered(model)
    if missing:
        message = f"Failed to get registration from op code {missing[1]}"
        return TflmReport((missing[0],), "alloc_error", message, None, ())
    operators = _prepare_all(model, build)
    status, message = _outcome(operators)
    unknown = tuple(dict.fromkeys(operator.op for operator in operators if operator.memory is None))
    arena = None
    if status not in ("alloc_error", "undecided") and not unknown and not _stopped_early(operators):
        memory = [operator.memory for operator in operators if operator.memory]
        scratch = tuple((o.subgraph, o.index, size) for o in operators for size in o.scratch)
        arena = lay_out(model, memory, scratch, ARENA[build.revision.commit])
    return TflmReport(operators, status, message, arena, unknown)


def _unregistered(model: TfliteModel) -> tuple[TflmOperator, str] | None:
    """The first operator that no resolver of TensorFlow Lite Micro's own can add, and its name in the message."""
    for number, subgraph in enumerate(model.subgraphs):
        for index, operator in enumerate(subgraph.operators):
            if kernel_of(operator.op) is None:
                message = f"Failed to get registration from op code {operator.op}"
                reason = f"TensorFlow Lite Micro has no operator {operator.title}"
                return _stopped((number, index, operator.title), TflmVerdict.REFUSED, reason, message), operator.op
    return None


def _stopped(owner: tuple[int, int, str], verdict: TflmVerdict, reason: str, message: str = "") -> TflmOperator:
    """The row of an operator at which the allocation stops."""
    stage = "" if verdict is TflmVerdict.UNDECIDED else Stage.PREPARE.value
    return TflmOperator(*owner, (), (), verdict, reason, message, stage, (), None, None)


def _prepare_all(model: TfliteModel, build: TflmBuild) -> tuple[TflmOperator, ...]:
    """Operators in order; the rest is left out behind one that stops the allocation."""
    done: list[TflmOperator] = []
    for number, subgraph in enumerate(model.subgraphs):
        for index, operator in enumerate(subgraph.operators):
            view = OperatorView(model, subgraph, operator, index)
            done.append(_prepare(view, build, number, sum(len(row.scratch) for row in done)))
            if done[-1].stage == Stage.PREPARE or done[-1].verdict is TflmVerdict.UNDECIDED:
                return tuple(done)
    return tuple(done)


def _prepare(view: OperatorView, build: TflmBuild, number: int, scratch_before: int) -> TflmOperator:
    preparation = Preparation(view, build, scratch_before)
    kernel = kernel_of(view.operator.op)
    owner = (number, view.number, view.operator.title)
    try:
        if kernel:
            kernel(preparation)
    except Unpredictable as found:
        return _stopped(owner, TflmVerdict.UNDECIDED, str(found))
    except Refused as refusal:
        if refusal.stage is Stage.INVOKE:
            preparation.fails = refusal.message
            return _decided(preparation, number)
        halted = _halt(preparation, build, Stage.PREPARE)
        if halted:
            return _stopped(owner, TflmVerdict.HALTS, halted)
        message = f"{refusal.message}; Node {view.operator.op} (number {view.number}) failed to prepare with status 1"
        return _stopped(owner, TflmVerdict.REFUSED, refusal.message, message)
    return _decided(preparation, number)


def _decided(p: Preparation, number: int) -> TflmOperator:
    """The row of an operator whose Prepare runs to its end."""
    view, build = p.view, p.build
    verdict, reason, message, stage = _verdict(p)
    structures = operator_bytes(view.operator.op, build)
    memory = None
    if structures and p.memory_known:
        init = (structures.init,) if structures.init else ()
        memory = OperatorMemory(structures.options, structures.alignment, init, tuple(p.persistent))
    return TflmOperator(
        number,
        view.number,
        view.operator.title,
        tuple(p.functions),
        p.chain,
        verdict,
        reason,
        message,
        stage,
        tuple(p.scratch),
        memory,
        p.call,
    )


def _verdict(p: Preparation) -> tuple[TflmVerdict, str, str, str]:
    """Verdict, reason, message and stage."""
    for stage in Stage:
        place = _halt(p, p.build, stage)
        if place:
            return TflmVerdict.HALTS, place, "", stage.value
        if stage is Stage.PREPARE and p.forgotten_bias:
            reason = "the bias has index -1; Prepare frees a tensor that it never allocated"
            return TflmVerdict.REFUSED, reason, f"{TEMP_BUFFERS}; {TEMP_BUFFERS}", stage.value
    if p.fails:
        message = f"{p.fails}; Node {p.view.operator.op} (number {p.view.number}) failed to invoke with status 1"
        return TflmVerdict.REFUSED, p.fails, message, Stage.INVOKE.value
    if p.dropped or p.wrong:
        message = p.dropped if p.dropped.startswith("tensorflow/") else ""
        return TflmVerdict.WRONG, "; ".join(p.wrong) or f"an error is dropped: {p.dropped}", message, ""
    if p.functions:
        return TflmVerdict.CMSIS_NN, "", "", ""
    return TflmVerdict.REFERENCE, p.reference, "", ""


def _halt(p: Preparation, build: TflmBuild, stage: Stage) -> str:
    """The first check of a stage that stops this build; empty where none does."""
    if p.halted and p.halted[0] is stage:
        return f"a check does not hold: {p.halted[1]}"
    places = [place for when, place in p.failed_checks if when is stage]
    return f"a check does not hold: {places[0]}" if places and build.checks else ""


def _stopped_early(operators: tuple[TflmOperator, ...]) -> bool:
    return any(operator.stage == Stage.PREPARE for operator in operators)


def _outcome(operators: tuple[TflmOperator, ...]) -> tuple[str, str]:
    """Status and message of the whole model: the first operator that stops decides, and what was printed before."""
    printed: list[str] = []
    for stage in Stage:
        for operator in operators:
            if operator.verdict is TflmVerdict.UNDECIDED:
                return "undecided", ""
            if operator.stage == stage and operator.verdict is TflmVerdict.HALTS:
                return "halt", "; ".join(printed)
            if operator.stage == stage:
                status = "alloc_error" if stage is Stage.PREPARE else "invoke_error"
                return status, "; ".join((*printed, operator.message))
            if stage is Stage.INVOKE and operator.message:
                printed.append(operator.message)
    return "ok", "; ".join(printed)
