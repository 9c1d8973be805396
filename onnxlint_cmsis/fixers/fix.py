"""Fixing one model: decide and apply until nothing changes, prove the outcome, hand over its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.fixers import model_changes
from onnxlint_cmsis.fixers.attempt import Attempt
from onnxlint_cmsis.fixers.rescaling import rescaled
from onnxlint_cmsis.fixers.retyping import Retyped, retyped
from onnxlint_cmsis.fixers.search import best
from onnxlint_cmsis.fixers.skipped import left_out, why_nothing, wishes
from onnxlint_cmsis.fixers.snapshot import Snapshot
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.results.fix_result import FixResult, Numbers, SkippedClass, SkippedRewrite
from onnxlint_cmsis.rewrite.changeable import check_model
from onnxlint_cmsis.rewrite.model_bytes import check_external_data

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.fixers.request import FixRequest
    from onnxlint_cmsis.planning.price import Prices
    from onnxlint_cmsis.results.proof_result import Proof


class Fixed(NamedTuple):
    """A result, and the new model where there is one."""

    result: FixResult
    """What was done."""
    model: bytes | None
    """The proven model; None where nothing changes."""
    analysis: ModelAnalysis | None = None
    """Analysis of the proven model, or of the one that stays; None where it was not analysed."""


def fix_model(path: str, data: bytes, request: FixRequest, prices: Prices | None = None) -> Fixed:
    """Fix a model in memory; nothing is written. Raises ModelError where the bytes are no model.

    `path` is where the bytes come from, whose folder holds external data. `prices` of the request's targets are cached,
    so that a similar model is fixed faster.
    """
    start = Snapshot(path, data, request, prices)
    try:
        check_model(start.graph)
        check_external_data(data, path)
        return _fixed(start)
    except UnreadableError as reason:
        return Fixed(FixResult(request.options.policy, False, False, str(reason), failed=True), None)
    except NotAppliedError as reason:
        return Fixed(FixResult(request.options.policy, False, False, f"it cannot be changed: {reason}", False), None)


def _fixed(start: Snapshot) -> Fixed:
    """The model fixed and proven, or left with the reason. Raises NotAppliedError."""
    typed = retyped(start)
    scaled = rescaled(typed.state)
    signed = retyped(scaled.state) if scaled.layers else Retyped(scaled.state, (), {}, None)
    made, reasons = best(signed.state)
    made = made._replace(unrewritten={**typed.left, **scaled.left, **signed.left, **made.unrewritten})
    wished = wishes(made.first)
    left = left_out(made, {**reasons, **made.unpadded}, wished)
    before = (*typed.layers, *scaled.layers, *signed.layers)
    if before:
        made = made if not made.trouble else made._replace(base=made.start, end=made.start, added={}, rewrites=())
        exact = _joined(typed.proof, signed.proof)
        proof = _joined(exact, made.proof if made.end is not made.start else None)
        made = made._replace(start=start, rewrites=(*before, *made.rewrites), proof=proof)
        return Fixed(_result(made, left)._replace(changes=scaled.changes), made.end.data, made.end.analysis)
    if made.trouble:
        return _unchanged(made, made.trouble, left)
    if made.end is made.start:
        return _unchanged(made, why_nothing(made, left, wished), left)
    return Fixed(_result(made, left), made.end.data, made.end.analysis)


def _joined(typed: Proof | None, rest: Proof | None) -> Proof | None:
    """One proof of two: of the repairs that change types, and of everything done after them."""
    if typed is None or rest is None:
        return rest or typed
    apart = zip(typed.differences, rest.differences, strict=True)
    worst = tuple(max(pair, key=lambda one: one.largest) for pair in apart)
    return rest._replace(differences=worst, written=typed.written)


def _result(made: Attempt, left: tuple[SkippedClass, ...]) -> FixResult:
    start, base, end, first = made.start, made.base, made.end, made.first
    rewrites = model_changes.replaced(made.rewrites)
    return FixResult(
        policy=start.request.options.policy,
        changed=True,
        written=False,
        reason="",
        failed=False,
        classes=tuple(model_changes.class_changes(base, end, first)),
        tensors=tuple(model_changes.tensor_changes(start, end)),
        layers=tuple(model_changes.layer_changes(start, end, rewrites)),
        totals=tuple(model_changes.totals(start, end, first, rewrites)),
        repairs=tuple(model_changes.repairs(start, end, rewrites)),
        rewrites=tuple(model_changes.rewrite_rows(made.rewrites)),
        unrewritten=_unrewritten(made),
        locked=model_changes.locked(first, start.request.options),
        left=left,
        macs=model_changes.macs(start, end, rewrites),
        bytes=Numbers(len(start.data), len(end.data)),
        added=tuple(made.added.values()),
        notes=first.ended,
        proof=made.proof,
    )


def _unrewritten(made: Attempt) -> tuple[SkippedRewrite, ...]:
    """Repairs that were needed and not done, in the order of the layers."""
    nodes = made.start.graph.producers | made.end.graph.producers
    rows = [(nodes[name[2]].label, name[1], reason) for name, reason in made.unrewritten.items()]
    return tuple(SkippedRewrite(*row) for row in rows)


def _unchanged(made: Attempt, reason: str, left: tuple[SkippedClass, ...]) -> Fixed:
    """A model that stays as it is."""
    start = made.start
    result = FixResult(
        policy=start.request.options.policy,
        changed=False,
        written=False,
        reason=reason,
        failed=made.failed,
        totals=tuple(model_changes.totals(start, start, made.first, {})),
        unrewritten=_unrewritten(made),
        locked=model_changes.locked(made.first, start.request.options),
        left=left,
        macs=model_changes.macs(start, start, {}),
        bytes=Numbers(len(start.data), len(start.data)),
        notes=made.first.ended,
        proof=made.proof,
    )
    return Fixed(result, None, start.analysis)
