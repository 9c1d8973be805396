"""Why classes, or a whole model, stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.fix_results import SkippedClass
from onnxlint_cmsis.fixers.differences import resized_classes
from onnxlint_cmsis.fixers.planning.decision import SizeDecision, decide, movable_classes
from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan, live_counts
from onnxlint_cmsis.fixers.planning.policies import POLICIES
from onnxlint_cmsis.fixers.rewriting import rewritten
from onnxlint_cmsis.fixers.snapshot import resized_step
from onnxlint_cmsis.fixers.steps import Padded, Reasons, over_budget
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.dimensions import DimensionClass
    from onnxlint_cmsis.fixers.attempt import Attempt


REASONS_SHOWN = 2
"""Reasons that a sentence names."""


class Wishes(NamedTuple):
    """Decisions of a policy with fewer restrictions."""

    unbounded: SizeDecision
    """Without fix-budget-bytes."""
    unrefused: SizeDecision
    """Without fix-budget-bytes, if no class were refused."""


def wishes(plan: ModelPlan) -> Wishes:
    """Decide again without the restrictions that apply."""
    options = plan.options._replace(budget=None)
    live = live_counts(plan.lanes, options)
    unbounded = plan.decision
    if plan.options.budget is not None:
        unbounded = decide(plan.view, plan.prices, options, live, plan.refused)
    unrefused = decide(plan.view, plan.prices, options, live, {}) if plan.refused else unbounded
    return Wishes(unbounded, unrefused)


def left_out(fix: Attempt, reasons: Reasons, wished: Wishes) -> tuple[SkippedClass, ...]:
    """Classes that would change if they were not refused or the budget were larger, in the order of the layers."""
    changed = {group.id for group, _ in resized_classes(fix.base, fix.end)}
    rows = []
    for group in fix.first.view.dimensions.classes:
        wish = wished.unrefused if group.id in fix.first.refused else wished.unbounded
        reason = _reason(fix, reasons, wished, group)
        if group.id in wish.sizes and group.id not in changed and reason:
            names = dict.fromkeys(layer.label for layer in (*group.deciders, *group.readers))
            rows.append(SkippedClass(group.size, wish.sizes[group.id], tuple(names), reason))
    return (*rows, *_unpadded(fix, reasons))


def _unpadded(fix: Attempt, reasons: Reasons) -> Iterator[SkippedClass]:
    """Inputs that a Pad would have widened."""
    dimensions = fix.first.view.dimensions
    for step, reason in reasons.items():
        group = dimensions.class_of(step.tensor, 1) if isinstance(step, Padded) else None
        if group is not None and isinstance(step, Padded):
            layers = dict.fromkeys(layer.label for layer in group.readers)
            yield SkippedClass(group.size, group.size + step.more, tuple(layers), reason)


def _reason(fix: Attempt, reasons: Reasons, wished: Wishes, group: DimensionClass) -> str | None:
    """Why a class stays; None where nothing keeps it."""
    refused = fix.first.refused.get(group.id)
    if refused is not None:
        return reasons.get(resized_step(fix.base, group)) or refused
    budget, decision = fix.first.options.budget, wished.unbounded
    if budget is None or group.id in fix.first.decision.sizes or group.id not in decision.sizes:
        return None
    added = decision.after.bytes - decision.without(group.id).bytes
    return over_budget(budget, added) if added > 0 else None


def why_nothing(fix: Attempt, left: tuple[SkippedClass, ...], wished: Wishes) -> str:
    """Why a policy changes nothing, as one clause."""
    plan = fix.first
    if plan.options.budget is not None and wished.unbounded.sizes:
        return _skipped_over_budget(fix, wished.unbounded)
    reasons = list(dict.fromkeys([skipped.reason for skipped in left] + list(fix.unrewritten.values())))
    if reasons:
        more = len(reasons) - REASONS_SHOWN
        return "; ".join(reasons[:REASONS_SHOWN]) + (f"; and for {more} more reasons" if more > 0 else "")
    return _nothing_found(plan) + "".join(_hint(plan))


def _skipped_over_budget(fix: Attempt, wish: SizeDecision) -> str:
    """Changes that the budget forbids, with bytes that are enough: of channels, or fewer by rewriting."""
    plan = fix.first
    now, policy = plan.decision.after, plan.options.policy
    after = wish.repaired if wish.repairs else wish.after
    spent = plan.decision.spent
    needed = spent + after.bytes - wish.before.bytes
    if wish.repairs:
        left = sum(after.hazards)
        if (fewer := _by_rewriting(fix, left)) is not None and fewer < needed:
            needed, spent = fewer, 0
        aim = f"step around known errors or wrong results ({sum(now.hazards)} -> {left})"
    elif POLICIES[policy].must_gain:
        saved = sum(now.instructions) - sum(after.instructions)
        aim = f"save {saved:,} predicted instructions (not cycles)"
    else:
        aim = f"make channel counts multiples of {plan.options.align}" if policy == "align" else "take missed kernels"
    there = f", {spent:,} of them for channels that do nothing already" if spent else ""
    return f"fix-budget-bytes {plan.options.budget} is too small to {aim}: {needed:,} bytes{there}"


def _by_rewriting(fix: Attempt, hazards: int) -> int | None:
    """Bytes that repairs by rewriting add; None where they leave more than so many hazards."""
    if not fix.unrewritten:
        return None
    new = rewritten(fix.base, free=False, since=None).state
    left = sum(new.plan.decision.before.hazards)
    return new.stored - fix.start.stored if left <= hazards else None


NOTHING = {
    "align": "every channel count that may change is a multiple of {align}, or would run into a known error as one",
    "route": "no missed routing condition can be satisfied by channel counts that may change",
    "smaller": "no fewer channels of the classes that may change cost fewer instructions",
    "faster": "no other sizes of the classes that may change cost fewer instructions",
}
"""Why a policy changes nothing where it found nothing."""


def _nothing_found(plan: ModelPlan) -> str:
    """Why there are no better sizes."""
    decision, options = plan.decision, plan.options
    gains = POLICIES[options.policy].must_gain
    have, best = sum(decision.before.instructions), sum(decision.best.instructions)
    if best < have and gains:
        return (
            f"the best sizes found save {100 * (have - best) / have:.2g} % of the predicted instructions, "
            f"which is less than min-gain {options.min_gain:g} %"
        )
    if not movable_classes(plan.view, {}):
        return (
            "every channel count is LOCKED"
            if plan.view.dimensions.classes
            else "no layer's weights decide a channel count"
        )
    if not have and gains:
        graph, records = plan.view.graph, plan.view.lowered.records
        kinds = [graph.elem_type(record.node.inputs[0]) for record in records if not record.layer]
        if not any(record.assumed for record in records) and any(kind.startswith("float") for kind in kinds):
            return "it computes in float: quantize it first, with calibration data"
        return "no layer's cost is known on these targets"
    several = " on one target and more on none" if len(plan.prices.targets) > 1 and gains else ""
    unread = gains and not options.weights
    note = "; channels that do nothing were not looked for (weights = false)" if unread else ""
    return NOTHING[options.policy].format(align=options.align) + several + note


def _hint(plan: ModelPlan) -> Iterator[str]:
    """Advice where symbolic sizes keep costs or kernels unknown."""
    missing = plan.view.graph.open_inputs
    lowered = plan.view.lowered
    sizes = (size for layer in lowered.layers for dims in layer.call[1:4] for size in dims)
    if missing and (lowered.undecided or None in sizes):
        yield f"; sizes are symbolic: give those marked ? with --input-shape {' --input-shape '.join(missing)}"
