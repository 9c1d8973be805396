"""One model fixed: types, scales, sizes and repairs in turn, each step proven."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.certificate.verifying import certificate_of
from onnxlint_cmsis.analysis.fix_results import FixResult
from onnxlint_cmsis.fixers.left_out import Wishes, left_out, why_nothing, wishes
from onnxlint_cmsis.fixers.memory.written_plan import with_memory_plan
from onnxlint_cmsis.fixers.planning.unchangeable import check_model
from onnxlint_cmsis.fixers.progress import Progress, until_settled
from onnxlint_cmsis.fixers.report import Fixed, changed_result, unchanged
from onnxlint_cmsis.fixers.rescaling import rescaled
from onnxlint_cmsis.fixers.retyping import retyped
from onnxlint_cmsis.fixers.search import best
from onnxlint_cmsis.fixers.snapshot import Snapshot
from onnxlint_cmsis.fixers.within_room import within_room
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.proof_results import Proof
    from onnxlint_cmsis.fixers.attempt import Attempt
    from onnxlint_cmsis.fixers.planning.prices import Prices
    from onnxlint_cmsis.fixers.request import FixRequest


def fix_model(path: str, data: bytes, request: FixRequest, prices: Prices | None = None) -> Fixed:
    """Fix a model in memory; nothing is written. Raises ModelError where the bytes are no model.

    `path` is where the bytes come from, whose folder holds external data. `prices` of the request's targets are cached,
    so that a similar model is fixed faster.
    """
    return _fix(Snapshot(path, data, request, prices))


def rehearsed(start: Snapshot) -> Fixed:
    """Work out what `fix_model` makes of a model that was read, with outputs that are taken as equal."""
    try:
        return _fix(start.rehearsing())
    except ModelError as error:
        return Fixed(FixResult(start.request.options.policy, False, False, str(error), failed=True), None)


def _fix(start: Snapshot) -> Fixed:
    policy = start.request.options.policy
    try:
        check_model(start.graph)
        start.editor.check_readable(start.data, start.path)
        return within_room(start, lambda start: with_memory_plan(start, _fixed(start)))
    except UnreadableError as reason:
        return Fixed(FixResult(policy, False, False, str(reason), failed=True), None)
    except NotAppliedError as reason:
        return Fixed(FixResult(policy, False, False, f"it cannot be changed: {reason}", failed=False), None)


def _fixed(start: Snapshot) -> Fixed:
    """The model fixed and proven, or left with the reason. Raises NotAppliedError.

    Repairs that change types come first, then those that change outputs by a bounded amount. Exact fixes are proven
    against what these make.
    """
    typed = retyped(start)
    scaled = rescaled(typed.state)
    signed = retyped(scaled.state) if scaled.layers else Progress(scaled.state)
    fix, reasons = best(signed.state)
    fix = fix._replace(unrewritten={**typed.left, **scaled.left, **signed.left, **fix.unrewritten})
    decided = fix.first.decision
    wished = wishes(fix.first) if start.request.compared else Wishes(decided, decided)  # a rehearsal tells no reasons
    left = left_out(fix, {**reasons, **fix.unpadded}, wished)
    before = (*typed.layers, *scaled.layers, *signed.layers)
    if before and fix.trouble:
        fix = fix._replace(base=fix.start, end=fix.start, added={}, rewrites=())
    elif fix.trouble:
        return unchanged(fix, fix.trouble, left)
    elif not before and fix.end is fix.start:
        return unchanged(fix, why_nothing(fix, left, wished), left)
    exact = fix.proof if fix.end is not fix.start else None
    fix = fix._replace(rewrites=(*before, *fix.rewrites), proof=_both(_both(typed.proof, signed.proof), exact))
    exact_alone, end = not before, fix.end
    fix = until_settled(fix._replace(start=start), partial(_with_types, start=start))
    if not (exact_alone and fix.end is end):
        known = not scaled.layers and start.request.compared
        fix = fix._replace(certificate=certificate_of(start.analysis, fix.end.analysis) if known else None)
    if fix.proof is not None:
        fix = fix._replace(proof=fix.proof._replace(every_input=fix.certificate is not None))
    return Fixed(changed_result(fix, left)._replace(changes=scaled.changes), fix.end.data, fix.end)


def _with_types(fix: Attempt, start: Snapshot) -> Attempt:
    """Take the types that repairs call for, as a Concat of uint8, and what these types call for."""
    typed = retyped(fix.end) if fix.rewrites else None
    if typed is None or not typed.layers:
        return fix
    room = typed.state.room(start)
    options = start.request.options._replace(budget=None if room is None else max(0, room))
    request = start.request._replace(options=options)
    again, _ = best(Snapshot(start.path, typed.state.data, request, start.prices).without(start.left_alone))
    done = not again.trouble and again.end is not again.start
    return fix._replace(
        end=again.end if done else typed.state,
        added={**fix.added, **again.added} if done else fix.added,
        rewrites=(*fix.rewrites, *typed.layers, *(again.rewrites if done else ())),
        unrewritten={**fix.unrewritten, **typed.left, **again.unrewritten},
        proof=_both(_both(typed.proof, fix.proof), again.proof if done else None),
    )


def _both(typed: Proof | None, rest: Proof | None) -> Proof | None:
    """One proof of two: of the repairs that change types, and of everything done after them."""
    if typed is None or rest is None:
        return rest or typed
    apart = zip(typed.differences, rest.differences, strict=True)
    worst = tuple(max(pair, key=lambda difference: difference.largest) for pair in apart)
    return rest._replace(differences=worst, written=typed.written)
