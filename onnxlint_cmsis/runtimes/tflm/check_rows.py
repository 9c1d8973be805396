"""Rows of what a kernel checks in Prepare and in Eval, and from which day to which."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from onnxlint_cmsis.runtimes.tflm.broken_conditions import INVOKE, PREPARE, KernelOutcome
from onnxlint_cmsis.runtimes.tflm.operands import DATA, KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_conditions import always, where
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Unpredictable
from onnxlint_cmsis.runtimes.tflm.rows import Condition, KernelLimit, Objection, condition

REFERENCE = KernelOutcome.REFERENCE


Row = KernelLimit
CheckTable = tuple[tuple[str, tuple[KernelLimit, ...]], ...]
"""Operators, and the checks of their kernels."""


def rows(outcome: KernelOutcome, file: str, conditions: Mapping[int, Condition]) -> tuple[KernelLimit, ...]:
    """Checks of one outcome, each with its line in the file; the file is empty where `in_file` adds it."""
    return tuple(Row(f"{file}:{line}", outcome, condition) for line, condition in conditions.items())


def asked_since(day: str, *limits: KernelLimit) -> tuple[KernelLimit, ...]:
    """Rows from a day on. Before it the kernel did not look, and what it made of such an operator was not read."""
    return tuple(
        dated
        for limit in limits
        for dated in (
            limit._replace(since=day),
            limit._replace(until=day, condition=unread(limit.condition)),
        )
    )


@condition
def unread(view: OperatorView, rule: Condition) -> Objection | None:
    """The condition, of a revision without the check. Raises Unpredictable where it is broken."""
    text = rule(view)
    if text:
        raise Unpredictable(f"{text}, which this revision does not check")
    return None


def checks(
    file: str, prepare: Mapping[int, Condition], invoke: Mapping[int, Condition] | None = None
) -> tuple[KernelLimit, ...]:
    """Checks of Prepare, then of Eval, which return an error; each with its line in the file."""
    return (*rows(PREPARE, file, prepare), *rows(INVOKE, file, invoke or {}))


def type_until(kind: str, location: str, day: str, operand: KernelOperand = DATA) -> KernelLimit:
    """A type that Eval takes from a day on."""
    return Row(location, INVOKE, where(operand, (kind,), always(f"{operand.title} is {kind}")), until=day)


int16_until = partial(type_until, "INT16")
