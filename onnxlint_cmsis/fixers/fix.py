"""Fixing one model: decide and apply until nothing changes, prove the outcome, hand over its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.fixers import differences
from onnxlint_cmsis.fixers.attempt import Attempt
from onnxlint_cmsis.fixers.codes import require_readable
from onnxlint_cmsis.fixers.left import left_out, why_nothing, wishes
from onnxlint_cmsis.fixers.plan_types import NotAppliedError, UnreadableError
from onnxlint_cmsis.fixers.result import FixResult, Left, Numbers
from onnxlint_cmsis.fixers.search import best
from onnxlint_cmsis.fixers.state import Request, State

if TYPE_CHECKING:
    from onnxlint_cmsis.planning.price import Prices


class Fixed(NamedTuple):
    """A result, and the new model where there is one."""

    result: FixResult
    """What was done."""
    model: bytes | None
    """The proven model; None where nothing changes."""


def fix_model(path: str, data: bytes, request: Request, prices: Prices | None = None) -> Fixed:
    """Fix a model in memory; nothing is written. Raises ModelError where the bytes are no model.

    `path` is where the bytes come from, whose folder holds external data. `prices` of the request's targets keep what
    they were asked for, so that a model like an earlier one is quicker to fix.
    """
    start = State(path, data, request, prices)
    try:
        require_readable(start.model, path)
        return _fixed(start)
    except UnreadableError as reason:
        return Fixed(FixResult(request.options.policy, False, False, str(reason), failed=True), None)
    except NotAppliedError as reason:
        return Fixed(FixResult(request.options.policy, False, False, f"it cannot be changed: {reason}", False), None)


def _fixed(start: State) -> Fixed:
    """The model fixed and proven, or left with the reason. Raises NotAppliedError."""
    made, reasons = best(start)
    wished = wishes(made.first)
    left = left_out(made, {**reasons, **made.unpadded}, wished)
    if made.trouble:
        return _unchanged(made, made.trouble, left)
    if made.end is made.start:
        return _unchanged(made, why_nothing(made, left, wished), left)
    return Fixed(_result(made, left), made.end.data)


def _result(made: Attempt, left: tuple[Left, ...]) -> FixResult:
    start, end, first = made.start, made.end, made.first
    return FixResult(
        policy=start.request.options.policy,
        changed=True,
        written=False,
        reason="",
        failed=False,
        classes=tuple(differences.class_changes(start, end, first)),
        tensors=tuple(differences.tensor_changes(start, end)),
        layers=tuple(differences.layer_changes(start, end)),
        totals=tuple(differences.totals(start, end, first)),
        repairs=tuple(differences.repairs(start, end)),
        locked=differences.locked(first, start.request.options),
        left=left,
        macs=differences.macs(start, end),
        bytes=Numbers(len(start.data), len(end.data)),
        added=tuple(made.added.values()),
        proof=made.proof,
    )


def _unchanged(made: Attempt, reason: str, left: tuple[Left, ...]) -> Fixed:
    """A model that stays as it is."""
    start = made.start
    result = FixResult(
        policy=start.request.options.policy,
        changed=False,
        written=False,
        reason=reason,
        failed=made.failed,
        totals=tuple(differences.totals(start, start, made.first)),
        locked=differences.locked(made.first, start.request.options),
        left=left,
        macs=differences.macs(start, start),
        bytes=Numbers(len(start.data), len(start.data)),
        proof=made.proof,
    )
    return Fixed(result, None)
