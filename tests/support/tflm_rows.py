"""Rows of real TensorFlow Lite Micro firmware, and what differs from them in a report."""

from __future__ import annotations

from typing import Any

from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.verdicts import TflmReport
from support.targets import target_of

STOPPED = {"abort": "halt", "timeout": "halt"}
"""Ways in which a failing check shows under the emulator."""


def build_of(row: dict[str, Any]) -> TflmBuild:
    """The build that made a row; CMSIS-NN 4ab83cc3 is answered for by `main`."""
    release = "7.0.0" if row["cmsis_nn"] == "v7.0.0" else "main"
    target = target_of(row["cpu"], release)
    own = row["cmsis_nn"] != "v7.0.0"
    return TflmBuild(
        target,
        optimized_for=row["optimized_for"],
        checks=row["build"] == "default",
        with_cmsis_nn=row.get("kernels", "cmsis_nn") == "cmsis_nn",
        own_library=own,
    )


def once(message: str) -> str:
    """A message without its repetition: the firmware allocates twice, with the recording allocator first."""
    parts = message.split("; ")
    half = parts[: len(parts) // 2]
    return "; ".join(half) if half + half == parts else message


def differences(report: TflmReport, row: dict[str, Any]) -> list[str]:
    """What a report says otherwise than a row: (status, message, memory, plan, operators)."""
    status = STOPPED.get(row["status"], row["status"])
    pairs: list[tuple[str, Any, Any]] = [("status", report.status, status)]
    pairs += _message(report, once(row["message"]))
    if row["status"] in ("ok", "invoke_error"):
        pairs += _memory(report, row) + _operators(report, row)
    return [f"{what}: {actual} instead of {wanted}" for what, actual, wanted in pairs if actual != wanted]


def _message(report: TflmReport, printed: str) -> list[tuple[str, Any, Any]]:
    """Lines that the firmware prints of nodes and registrations, and places of sources, which a reason names.

    The words of a check are the firmware's alone.
    """
    parts = printed.split("; ")
    told = [part for part in parts if part.startswith(("Node ", "Failed to ", "Number of ", "All temp "))]
    named = [part.partition(" ")[0].partition("kernels/")[2] for part in parts if part.startswith("tensorflow/")]
    reasons = " ".join(operator.reason for operator in report.operators)
    missing = [("place", reasons, source) for source in named if source not in reasons]
    return [*missing, ("message", report.message, "; ".join(told))]


def _memory(report: TflmReport, row: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    arena = report.arena
    if arena is None:
        return [("arena", None, row["head"] + row["tail"])]
    plan = [[buffer.number, buffer.size, buffer.first, buffer.last, buffer.offset] for buffer in arena.plan]
    return [
        ("head", arena.head, row["head"]),
        ("tail", arena.tail, row["tail"]),
        ("persistent", arena.persistent, row["persistent"]),
        ("plan", plan, row["plan"]),
    ]


def _operators(report: TflmReport, row: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Operators up to the one at which Invoke fails."""
    differing: list[tuple[str, Any, Any]] = []
    for operator, (name, functions, scratch, status) in zip(report.operators, row["operators"], strict=True):
        differing.append((f"functions of {name} {operator.index}", list(operator.functions), functions))
        differing.append((f"scratch of {name} {operator.index}", list(operator.scratch), scratch))
        if status:
            break
    return differing
