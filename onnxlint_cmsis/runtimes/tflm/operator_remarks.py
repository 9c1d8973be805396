"""From what TensorFlow Lite Micro does with each operator to remarks: one for each reason, with its operators."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.findings import Location
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.remark import RuntimeRemark, named
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict
from onnxlint_cmsis.runtimes.tflm.kernel_table import KERNELS
from onnxlint_cmsis.runtimes.tflm.operator_versions import HIGHEST_VERSION
from onnxlint_cmsis.runtimes.tflm.plain_layer_kernels import WITHOUT
from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator
from onnxlint_cmsis.types import Level

NAME = "TensorFlow Lite Micro"
FREE = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators that copy bytes at most."""
INTEGERS = ("int32", "int64")
"""Types of arithmetic on sizes and indices, which is short."""
REASONS = {
    "float": "it computes in float",
    **{name: f"its type is {name}" for name in (*INTEGERS, "int16")},
}
"""Reasons that are one word, as clauses."""
_PREFIX = "tensorflow/lite/micro/"


class Said(NamedTuple):
    """What is said of one operator."""

    kind: str
    """Kind of the remark."""
    verdict: RuntimeVerdict
    """What becomes of it in a build with checks."""
    text: str
    """What follows the operator's name."""
    level: Level | None = None
    """A milder level than the rule's."""


def remarks(
    default: tuple[TflmOperator, ...], release: tuple[TflmOperator, ...], places: list[Location], target: str
) -> list[RuntimeRemark]:
    """Remarks on a model on one target, from its operators in a build with checks and in one without.

    `places` are the operators' locations, in the same order.
    """
    groups: dict[Said, list[Location]] = {}
    for strict, lax, place in zip(default, release, places, strict=True):
        for said in _of_operator(strict, lax):
            groups.setdefault(said, []).append(place)
    return [_remark(said, found, target) for said, found in groups.items()]


def version_remarks(model: TfliteModel, places: list[Location], targets: tuple[str, ...]) -> list[RuntimeRemark]:
    """One remark for each operator of which a version is asked for that nobody knew when the runtime was reviewed.

    `places` are the operators' locations, in the order of the subgraphs; `targets` the labels of all targets.
    """
    groups: dict[tuple[str, int], list[Location]] = {}
    for (_, _, operator), place in zip(model.operators(), places, strict=True):
        if operator.version > HIGHEST_VERSION.get(operator.op, operator.version):
            groups.setdefault((operator.op, operator.version), []).append(place)
    found = []
    for (op, version), same in groups.items():
        labels = tuple(place.node for place in same)
        text = (
            f"{named(labels)}: the file asks for version {version} of {op}; {HIGHEST_VERSION[op]} is the highest that"
            f" was known when {NAME} was reviewed. {NAME} compares no versions: its kernel runs, without what a later"
            f" version added."
        )
        verdict = RuntimeVerdict.UNDECIDED
        found.append(RuntimeRemark("runtime-version", verdict, text, same[0], labels, targets))
    return found


def _remark(said: Said, places: list[Location], target: str) -> RuntimeRemark:
    labels = tuple(place.node for place in places)
    message = f"{named(labels)}: {said.text}"
    return RuntimeRemark(said.kind, said.verdict, message, places[0], labels, (target,), said.level)


def _of_operator(strict: TflmOperator, lax: TflmOperator) -> Iterator[Said]:
    """What is to be said of one operator; what its function's hazards say is left to their rules."""
    if strict.stage == "registration":
        yield _unregistered(strict)
    elif strict.verdict is RuntimeVerdict.REFUSED:
        yield Said(_kind_of_refusal(strict), strict.verdict, f"{_refusal(strict)}.")
    elif strict.verdict is RuntimeVerdict.HALTS:
        covered = strict.stage == "Invoke" and lax.verdict is RuntimeVerdict.WRONG and not lax.own
        if not covered:
            yield Said("runtime-stops", strict.verdict, f"{_halt(strict)}; {_without_checks(lax)}.")
    elif strict.verdict is RuntimeVerdict.WRONG and strict.own:
        kind = "runtime-rank" if strict.op in ("TRANSPOSE", "PAD", "PADV2") else "runtime-wrong"
        text = f"wrong values with status kTfLiteOk: {'; '.join(strict.own)}."
        yield Said(kind, strict.verdict, text)
    elif strict.verdict is RuntimeVerdict.REFERENCE and strict.op not in FREE and strict.reason != WITHOUT:
        yield _reference(strict)
    elif strict.verdict is RuntimeVerdict.UNDECIDED:
        text = f"what {NAME} does cannot be told: {strict.reason}; it may read memory that is not the tensor's."
        yield Said("runtime-stops", strict.verdict, text, Level.WARNING)


def _unregistered(row: TflmOperator) -> Said:
    """An operator that no resolver of the runtime's own adds; the application can add custom ones."""
    if row.reason.endswith("the application would have to register"):
        text = "a custom operator: AllocateTensors fails unless the application registers a kernel for it."
        return Said("runtime-operator", row.verdict, text, Level.WARNING)
    return Said("runtime-operator", row.verdict, f"{_refusal(row)}.")


def _refusal(row: TflmOperator) -> str:
    when = "Invoke returns an error" if row.stage == "Invoke" else "AllocateTensors fails"
    return f"{NAME} refuses it, {when}: {row.reason.removeprefix(_PREFIX).rstrip('.')}"


def _halt(row: TflmOperator) -> str:
    return f"a build of {NAME} with checks halts in {row.stage}: {row.reason.replace(_PREFIX, '')}"


def _without_checks(row: TflmOperator) -> str:
    """What a release build does where one with checks halts."""
    if row.verdict is RuntimeVerdict.WRONG:
        return f"a release build (NDEBUG) gives wrong values: {row.reason.rstrip('.')}"
    if row.verdict is RuntimeVerdict.REFUSED:
        return f"in a release build (NDEBUG) {_refusal(row).removeprefix(f'{NAME} refuses it, ')}"
    if row.verdict is RuntimeVerdict.HALTS:
        return "a release build (NDEBUG) halts there too"
    computed = "CMSIS-NN" if row.verdict is RuntimeVerdict.CMSIS_NN else row.verdict.value
    return f"a release build (NDEBUG) goes on and computes it, by {computed}"


def _kind_of_refusal(row: TflmOperator) -> str:
    return "runtime-hybrid" if "Hybrid" in row.reason else "runtime-stops"


def _reference(row: TflmOperator) -> Said:
    """Reference code, where there is a kernel of CMSIS-NN that was not taken a warning."""
    text = f"{NAME} runs reference code, no CMSIS-NN: {REASONS.get(row.reason, row.reason)}."
    if row.op == "MEAN":
        return Said("runtime-mean", row.verdict, text)
    if row.op not in KERNELS:
        return Said("runtime-reference", row.verdict, text, Level.NOTE)
    if row.reason.startswith("float"):
        return Said("runtime-float", row.verdict, text)
    if row.reason.startswith("the shapes differ"):
        return Said("runtime-broadcast", row.verdict, text)
    if row.reason in INTEGERS:
        return Said("runtime-reference", row.verdict, text, Level.NOTE)
    return Said("runtime-reference", row.verdict, text)
