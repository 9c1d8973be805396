"""What becomes of an operator and of a model, decided from the steps of each kernel."""

from __future__ import annotations

from dataclasses import dataclass

from onnxlint_cmsis.formats.tflite.file_model import TfliteOperator, operator_label
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.tflm.arena import ArenaLayout, OperatorMemory
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import FailedCheck, Preparation, Refused, Stage
from onnxlint_cmsis.runtimes.tflm.structures import operator_bytes

STAGES = ("registration", *(stage.value for stage in Stage))
"""Stages at which a model stops, in order."""
TEMP_BUFFERS = (
    "Number of allocated temp buffers: -1. Checksum passing status: 1; "
    "All temp buffers must be freed before calling ResetTempAllocations()"
)
"""What a Prepare prints that frees a tensor it never allocated, once for itself and once for what follows."""


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
    verdict: Outcome
    """What becomes of it."""
    reason: str
    """Why."""
    own: tuple[str, ...]
    """Reasons for wrong values that lie in the runtime and not in a function it calls."""
    message: str
    """What the firmware prints last of it, or empty; the words of a check before, whose line `reason` has, are not."""
    stage: str
    """`registration`, `Prepare` or `Invoke` for one at which the firmware stops; empty otherwise."""
    scratch: tuple[int, ...]
    """Bytes of each scratch request."""
    memory: OperatorMemory | None
    """What it asks for that stays; None where that is not known."""
    call: KernelCall | None
    """Call of the last function; None for reference code and for arm_depthwise_conv_s16, called past its wrapper."""
    cause: str = ""
    """Cause of the finding on it; empty for the usual one of its verdict."""

    @property
    def effect(self) -> Effect:
        """What it does to whoever runs the model."""
        return self.verdict.effect()

    @property
    def label(self) -> str:
        """Its name in messages."""
        return operator_label(self.subgraph, self.index, self.op)


class TflmReport(NamedTuple):
    """A model in one build."""

    operators: tuple[TflmOperator, ...]
    """Operators in file order, all subgraphs."""
    status: str
    """`ok`, `alloc_error`, `invoke_error`, `halt`, or `undecided`."""
    message: str
    """What the firmware prints."""
    arena: ArenaLayout | None
    """Memory of a model whose tensors are allocated; None where it is not known."""
    no_arena: str
    """Why it is not known."""
    refused: str | None = None
    """What AllocateTensors prints where it refuses the file's memory plan; None where it does not."""

    @property
    def stop(self) -> str | None:
        """The operator that stops the model, and why; None where it runs, or where that cannot be told."""
        if self.status in ("ok", "undecided"):
            return None
        before = [row for stage in STAGES for row in self.operators if row.stage == stage]
        rows = [row for row in before if not self.refused or row.stage != Stage.INVOKE.value]
        return next((f"{row.op}#{row.index}: {row.reason.rstrip('.')}" for row in rows), self.refused)


def stopped(
    owner: tuple[int, int, str], verdict: Outcome, reason: str, message: str = "", cause: str = ""
) -> TflmOperator:
    """The row of an operator at which the allocation stops."""
    stage = "" if verdict is Outcome.UNDECIDED else Stage.PREPARE.value
    return TflmOperator(*owner, (), (), verdict, reason, (), message, stage, (), None, None, cause)


def unregistered(owner: tuple[int, int, str], operator: TfliteOperator, since: str) -> TflmOperator:
    """The row of an operator that no resolver of the runtime's own can add; `since` is the day from which one can."""
    reason = f"TensorFlow Lite Micro has no operator {operator.title}"
    if since:
        reason = f"this revision has no operator {operator.title}, which came on {since}"
    elif operator.op == "CUSTOM":
        reason = f"{operator.title} is a custom operator, which the application would have to register"
    message = f"Failed to get registration from op code {operator.op}"
    verdict = Outcome.NO_KERNEL if operator.op == "CUSTOM" else Outcome.REFUSED
    return TflmOperator(*owner, (), (), verdict, reason, (), message, "registration", (), None, None, "operator")


def decided(p: Preparation, number: int) -> TflmOperator:
    """The row of an operator whose Prepare runs to its end."""
    view, build = p.view, p.build
    verdict, reason, message, stage, cause = _verdict(p)
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
        tuple(p.wrong),
        message,
        stage,
        tuple(p.scratch),
        memory,
        p.call,
        cause,
    )


def _verdict(p: Preparation) -> tuple[Outcome, str, str, str, str]:
    """Outcome, reason, message, stage and cause."""
    for stage in Stage:
        check = halt(p, stage)
        if check:
            return Outcome.HALTS, check.reason, "", stage.value, check.cause
        if stage is Stage.PREPARE and p.forgotten_bias:
            reason = "the bias has index -1; Prepare frees a tensor that it never allocated"
            return Outcome.REFUSED, reason, f"{TEMP_BUFFERS}; {TEMP_BUFFERS}", stage.value, "bias"
    if p.fails:
        return Outcome.REFUSED, p.fails.reason, printed(p.view, p.fails), Stage.INVOKE.value, p.fails.cause
    if p.dropped or p.wrong or p.hazards:
        reasons = [*p.hazards, *p.wrong] or [f"an error is dropped: {p.dropped}"]
        return Outcome.WRONG, "; ".join(reasons), "", "", p.wrong_cause
    if p.functions:
        return Outcome.CMSIS_NN, "", "", "", ""
    return Outcome.REFERENCE, p.reference, "", "", p.reference_cause


def printed(view: OperatorView, refusal: Refused) -> str:
    """The last line that the firmware prints of a kernel that refuses; the one before names the line of the source."""
    return f"Node {view.operator.title} (number {view.number}) failed to {refusal.stage.value.lower()} with status 1"


def halt(p: Preparation, stage: Stage) -> FailedCheck | None:
    """The first check of a stage that stops this build, its reason as a clause; None where none does."""
    checks = [p.halted] if p.halted and p.halted.stage is stage else []
    checks += [check for check in p.failed_checks if check.stage is stage and p.build.checks]
    return checks[0]._replace(reason=f"a check does not hold: {checks[0].reason}") if checks else None


OPEN_SIZE = "open-size"
"""Cause of an operator whose sizes are placeholders, of which the rule on open sizes tells."""
