"""Remarks on what TensorFlow Lite Micro does with each operator: one for each reason, with its operators."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.formats.tflite.memory_plan import OFFLINE_PLAN
from onnxlint_cmsis.ground.findings import Location
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.remark import NOT_REVIEWED, USUAL_CAUSES, RuntimeRemark, named
from onnxlint_cmsis.runtimes.tflm.advice import advice
from onnxlint_cmsis.runtimes.tflm.kernels import KERNELS
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.shared_rows import WITHOUT
from onnxlint_cmsis.runtimes.tflm.stated_plans import CAUSE, plan_faults
from onnxlint_cmsis.runtimes.tflm.verdicts import OPEN_SIZE, TflmOperator
from onnxlint_cmsis.runtimes.tflm.versions import HIGHEST_VERSION

NAME = "TensorFlow Lite Micro"
FREE = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "WHILE", "IF", "CALL_ONCE", "VAR_HANDLE"})
"""Operators that copy bytes at most, run others, or point at what others keep."""
INTEGERS = ("int32", "int64")
"""Types of arithmetic on sizes and indices, which is short."""

REASONS = {
    "float": "it computes in float",
    **{name: f"its type is {name}" for name in (*INTEGERS, "int16")},
}
"""Reasons that are one word, as clauses."""


class Said(NamedTuple):
    """What is said of one operator."""

    cause: str
    """Cause of the finding."""
    verdict: Outcome
    """What becomes of it in a build with checks."""
    text: str
    """What follows the operator's name."""
    level: Level | None = None
    """A milder level than the rule's."""
    do: str = ""
    """What to do; empty where the words of the cause hold."""


def remarks(
    default: tuple[TflmOperator, ...],
    release: tuple[TflmOperator, ...],
    views: list[OperatorView],
    places: list[Location],
    target: str,
) -> list[RuntimeRemark]:
    """Remarks on a model on one target, from its operators in a build with checks and in one without.

    `views` are the operators with their tensors and `places` their locations, in the same order.
    """
    groups: dict[Said, list[Location]] = {}
    loops = any(operator.op == "WHILE" for operator in default)
    for strict, lax, view, location in zip(default, release, views, places, strict=True):
        for said in _of_operator(strict, lax):
            cause = "recurrent" if loops and said.cause == "float" else said.cause
            groups.setdefault(said._replace(cause=cause, do=advice(view, cause)), []).append(location)
    return [_remark(said, locations, target) for said, locations in groups.items()]


def version_remarks(model: TfliteModel, places: list[Location], targets: tuple[str, ...]) -> list[RuntimeRemark]:
    """One remark for each operator of which a version is asked for that nobody knew when the runtime was reviewed.

    `places` are the operators' locations, in the order of the subgraphs; `targets` the labels of all targets.
    """
    groups: dict[tuple[str, int], list[Location]] = {}
    for (_, _, operator), location in zip(model.operators(), places, strict=True):
        if operator.version > HIGHEST_VERSION.get(operator.op, operator.version):
            groups.setdefault((operator.op, operator.version), []).append(location)
    result = []
    for (op, version), same in groups.items():
        labels = tuple(location.node for location in same)
        text = (
            f"{named(labels)}: the kernel of {NAME} may leave out what version {version} of {op} added: no version is "
            f"compared, and {HIGHEST_VERSION[op]} is the highest that was known when the kernel was reviewed."
        )
        verdict = Outcome.UNDECIDED
        result.append(RuntimeRemark("operator-version", verdict, text, same[0], labels, targets))
    return result


def plan_remarks(model: TfliteModel, places: list[Location], targets: tuple[str, ...]) -> Iterator[RuntimeRemark]:
    """Remarks on the memory plan that a file brings along; `places` are the operators' locations."""
    writers: dict[int, Location] = {}
    locations = iter(places)
    start = 0
    for subgraph in model.subgraphs:
        for operator, location in zip(subgraph.operators, locations, strict=False):
            for tensor in operator.outputs:
                writers.setdefault(start + tensor, location)
        start += len(subgraph.tensors)
    for fault in plan_faults(model):
        text = f"its memory plan ({OFFLINE_PLAN}) is wrong: {fault.text}."
        where = writers.get(fault.tensor, Location(model.path))
        nodes = (where.node,) if where.node else ()
        yield RuntimeRemark(CAUSE, fault.verdict, text, where, nodes, targets, fault.level)


def _remark(said: Said, locations: list[Location], target: str) -> RuntimeRemark:
    labels = tuple(location.node for location in locations)
    message = f"{named(labels)}: {said.text}"
    return RuntimeRemark(said.cause, said.verdict, message, locations[0], labels, (target,), said.level, do=said.do)


def _of_operator(strict: TflmOperator, lax: TflmOperator) -> Iterator[Said]:
    """What is to be said of one operator; what its function's hazards say is left to their rules."""
    if strict.stage == "registration":
        yield _unregistered(strict)
    elif strict.verdict is Outcome.REFUSED:
        yield Said(_cause(strict), strict.verdict, f"{_refusal(strict)}.")
    elif strict.verdict is Outcome.HALTS:
        covered = strict.stage == "Invoke" and lax.verdict is Outcome.WRONG and not lax.own
        if not covered:
            builds = f"a build of {NAME} with checks halts in {strict.stage}, and {_without_checks(lax)}"
            if lax.verdict is Outcome.HALTS:
                builds = f"every build of {NAME} halts in {strict.stage}"
            yield Said(_cause(strict), strict.verdict, f"{builds}: {strict.reason}.")
    elif strict.verdict is Outcome.WRONG and strict.own:
        text = f"wrong values with status kTfLiteOk: {'; '.join(strict.own)}."
        yield Said(_cause(strict), strict.verdict, text)
    elif strict.verdict is Outcome.REFERENCE and strict.op not in FREE and strict.reason != WITHOUT:
        yield _reference(strict)
    elif strict.verdict is Outcome.UNDECIDED and strict.cause != OPEN_SIZE:
        astray = "" if strict.cause == NOT_REVIEWED else "; it may read memory that is not the tensor's"
        text = f"what {NAME} does cannot be told: {strict.reason}{astray}."
        yield Said(strict.cause, strict.verdict, text, Level.WARNING)


def _cause(row: TflmOperator) -> str:
    return row.cause or USUAL_CAUSES[row.verdict]


def _unregistered(row: TflmOperator) -> Said:
    """An operator that no resolver of the runtime's own adds; the application can add custom ones."""
    if row.verdict is Outcome.NO_KERNEL:
        text = "a custom operator: AllocateTensors fails unless the application registers a kernel for it."
        if row.op == "ethos-u":  # K/ethos_u/ethosu.cc has its kernel, K/ethosu.cc nothing for other boards
            text = (
                "Vela compiled the model for an Ethos-U: AllocateTensors fails without one; there use the file from"
                " before Vela. On a board with one, AddEthosU() registers its kernel."
            )
        return Said(row.cause, row.verdict, text, Level.WARNING)
    return Said(row.cause, row.verdict, f"{_refusal(row)}.")


def _refusal(row: TflmOperator) -> str:
    when = "Invoke returns an error" if row.stage == "Invoke" else "AllocateTensors fails"
    return f"{when}: {row.reason.rstrip('.')}"


def _without_checks(row: TflmOperator) -> str:
    """What a release build does where one with checks halts."""
    if row.verdict is Outcome.WRONG:
        return f"a release build (NDEBUG) gives wrong values ({row.reason.rstrip('.')})"
    if row.verdict is Outcome.REFUSED:
        when, _, reason = _refusal(row).partition(": ")
        return f"in a release build (NDEBUG) {when} ({reason})"
    computed = "CMSIS-NN" if row.verdict is Outcome.CMSIS_NN else row.verdict.value
    return f"a release build (NDEBUG) goes on and computes it, by {computed}"


def _reference(row: TflmOperator) -> Said:
    """Reference code, where there is a kernel of CMSIS-NN that was not taken a warning."""
    text = f"{NAME} runs its reference code: {REASONS.get(row.reason, row.reason)}."
    level = None if row.cause == "mean" or (row.op in KERNELS and row.reason not in INTEGERS) else Level.NOTE
    return Said("no-function" if row.reason in INTEGERS else _cause(row), row.verdict, text, level)
