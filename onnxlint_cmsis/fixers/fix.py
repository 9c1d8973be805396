"""Fixing one model: decide and apply until nothing changes, prove the outcome, hand over its bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.fixers import differences
from onnxlint_cmsis.fixers.codes import require_readable
from onnxlint_cmsis.fixers.correspond import correspondence
from onnxlint_cmsis.fixers.doubt import disproved
from onnxlint_cmsis.fixers.plan_types import NotAppliedError, UnreadableError
from onnxlint_cmsis.fixers.result import FixResult, Numbers
from onnxlint_cmsis.fixers.state import Place, Request, State, plan_of
from onnxlint_cmsis.fixers.unlock import unlocked
from onnxlint_cmsis.fixers.verify import Proof, prove
from onnxlint_cmsis.planning.decide import movable_classes

if TYPE_CHECKING:
    from onnxlint_cmsis.planning.survey import Survey

MAX_ROUNDS = 8
"""Rounds of deciding and applying; each makes the model better, and two are the most that were ever needed."""
INPUTS = 16
"""Inputs that the proof tries."""


class Fixed(NamedTuple):
    """A result, and the new model where there is one."""

    result: FixResult
    """What was done."""
    model: bytes | None
    """The proven model; None where nothing changes."""


def fix_model(path: str, data: bytes, request: Request) -> Fixed:
    """Fix a model in memory; nothing is written. Raises ModelError where the bytes are no model.

    `path` is where the bytes come from, whose folder holds external data.
    """
    start = State(path, data, request)
    try:
        require_readable(start.model, path)
        return _fixed(start)
    except UnreadableError as reason:
        return Fixed(FixResult(request.options.policy, False, False, str(reason), failed=True), None)
    except NotAppliedError as reason:
        return Fixed(FixResult(request.options.policy, False, False, f"it cannot be changed: {reason}", False), None)


def _fixed(start: State) -> Fixed:
    """The model fixed and proven, or left with the reason. Raises NotAppliedError."""
    first = _surveyed(start)
    end = _settled(start, first)
    added = []
    while start.request.options.unsafe and (opened := unlocked(end)):
        added.append(opened.text)
        end = _settled(opened.state, _surveyed(opened.state))
    if end is start:
        return _left(start, first, _why_not(first, start.request))
    shapes, same = start.request.input_shapes, correspondence(end)
    proof = prove(start.data, end.data, inputs=INPUTS, input_shapes=shapes, beside=Path(start.path), same=same)
    if not proof.equal:
        what = f"it is not proven that the outputs would stay: {proof.reason}" if proof.ran else proof.reason
        return _left(start, first, what, proof=proof)
    worse = differences.worse(start, end, first)
    if worse:
        return _left(start, first, worse, failed=True, proof=proof)
    result = _result(start, end, first, proof)
    return Fixed(result._replace(added=tuple(added)), end.data)


def _settled(state: State, found: Survey) -> State:
    """The model after as many rounds as change anything. Raises NotAppliedError."""
    for _ in range(MAX_ROUNDS):
        if not found.decision.sizes:
            break
        state = state.changed(plan_of(found, state.request.options))
        found = _surveyed(state)
    return state


def _surveyed(state: State) -> Survey:
    """What planning makes of a model, once no constant that it relies on is seen to be another."""
    wrong: set[Place] = set()
    while True:
        found = state.survey(wrong)
        more = disproved(state, found) - wrong
        if not more:
            return found
        wrong |= more


def _result(start: State, end: State, first: Survey, proof: Proof) -> FixResult:
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
        macs=differences.macs(start, end),
        bytes=Numbers(len(start.data), len(end.data)),
        proof=proof,
    )


def _left(start: State, found: Survey, reason: str, *, failed: bool = False, proof: Proof | None = None) -> Fixed:
    """A model that stays as it is."""
    result = FixResult(
        policy=start.request.options.policy,
        changed=False,
        written=False,
        reason=reason,
        failed=failed,
        totals=tuple(differences.totals(start, start, found)),
        locked=differences.locked(found, start.request.options),
        macs=differences.macs(start, start),
        bytes=Numbers(len(start.data), len(start.data)),
        proof=proof,
    )
    return Fixed(result, None)


NOTHING = {
    "align": "no channel count that may change would become a multiple of {align}",
    "route": "no missed routing condition can be satisfied by channel counts that may change",
    "faster": "no other sizes of the classes that may change cost fewer instructions",
}
"""Why a policy changes nothing where it found nothing."""


def _why_not(found: Survey, request: Request) -> str:
    """Why a policy changes nothing, as one clause."""
    decision, options = found.decision, request.options
    if found.accepted:
        return "its findings are ignored or suppressed"
    have, best = sum(decision.before.instructions), sum(decision.best.instructions)
    if best < have and options.policy == "faster":
        return (
            f"the best sizes found save {100 * (have - best) / have:.2g} % of the predicted instructions, "
            f"which is less than --min-gain {options.min_gain:g} %"
        )
    if not movable_classes(found.view, {}):
        return "every channel count is LOCKED" if found.view.dimensions.classes else "no layer has channels of its own"
    if not have and options.policy == "faster":
        return "no layer's cost is known on these targets"
    several = " on one target and more on none" if len(request.targets) > 1 and options.policy == "faster" else ""
    return NOTHING[options.policy].format(align=options.align) + several
