"""Classes that a policy would change and that stay, with the reason; and why a whole model stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.missing_sizes import missing_sizes
from onnxlint_cmsis.fixers import model_changes
from onnxlint_cmsis.fixers.pad_inputs import PADDED
from onnxlint_cmsis.fixers.rewriting import rewritten
from onnxlint_cmsis.fixers.settle import surveyed
from onnxlint_cmsis.fixers.snapshot import Reasons, name_of
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.planning.decide import SizeDecision, decide, movable_classes
from onnxlint_cmsis.planning.plan_model import live_counts
from onnxlint_cmsis.results.fix_result import SkippedClass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.dims.result import DimensionClass
    from onnxlint_cmsis.fixers.attempt import Attempt
    from onnxlint_cmsis.planning.plan_model import ModelPlan

SHOWN = 2
"""Reasons that a sentence names."""


class Wishes(NamedTuple):
    """Decisions of a policy with fewer restrictions."""

    unbounded: SizeDecision
    """Without --fix-budget-bytes."""
    unrefused: SizeDecision
    """The same, if no class were refused."""


def wishes(found: ModelPlan) -> Wishes:
    """Decide again without the restrictions that apply."""
    options = found.options._replace(budget=None)
    live = live_counts(found.lanes, options)
    unbounded = found.decision
    if found.options.budget is not None:
        unbounded = decide(found.view, found.prices, options, live, found.refused)
    unrefused = decide(found.view, found.prices, options, live, {}) if found.refused else unbounded
    return Wishes(unbounded, unrefused)


def left_out(made: Attempt, reasons: Reasons, wished: Wishes) -> tuple[SkippedClass, ...]:
    """Classes that would change if they were not refused or the budget were larger, in the order of the layers."""
    changed = {group.id for group, _ in model_changes.resized(made.base, made.end)}
    rows = []
    for group in made.first.view.dimensions.classes:
        wish = wished.unrefused if group.id in made.first.refused else wished.unbounded
        reason = _reason(made, reasons, wished, group)
        if group.id in wish.sizes and group.id not in changed and reason:
            names = dict.fromkeys(layer.label for layer in (*group.deciders, *group.readers))
            rows.append(SkippedClass(group.size, wish.sizes[group.id], tuple(names), reason))
    return (*rows, *_unpadded(made, reasons))


def _unpadded(made: Attempt, reasons: Reasons) -> Iterator[SkippedClass]:
    """Inputs that a Pad would have widened."""
    dimensions = made.first.view.dimensions
    for name, reason in reasons.items():
        group = dimensions.class_of(name[1], 1) if name[0] == PADDED else None
        if group is not None:
            layers = dict.fromkeys(layer.label for layer in group.readers)
            yield SkippedClass(group.size, group.size + int(name[2]), tuple(layers), reason)


def _reason(made: Attempt, reasons: Reasons, wished: Wishes, group: DimensionClass) -> str:
    """Why a class stays; empty where nothing keeps it."""
    refused = made.first.refused.get(group.id)
    if refused is not None:
        return reasons.get(name_of(made.base, group)) or refused
    budget, decision = made.first.options.budget, wished.unbounded
    if budget is None or group.id in made.first.decision.sizes or group.id not in decision.sizes:
        return ""
    added = decision.after.bytes - decision.without(group.id).bytes
    return f"--fix-budget-bytes {budget} does not allow it: {added:,} bytes more" if added > 0 else ""


def why_nothing(made: Attempt, left: tuple[SkippedClass, ...], wished: Wishes) -> str:
    """Why a policy changes nothing, as one clause."""
    found = made.first
    if found.options.budget is not None and wished.unbounded.sizes:
        return _over_budget(made, wished.unbounded)
    reasons = list(dict.fromkeys([one.reason for one in left] + list(made.unrewritten.values())))
    if reasons:
        more = len(reasons) - SHOWN
        return "; ".join(reasons[:SHOWN]) + (f"; and for {more} more reasons" if more > 0 else "")
    return _nothing_found(found) + "".join(_hint(found))


def _over_budget(made: Attempt, wish: SizeDecision) -> str:
    """Changes that the budget forbids, with bytes that are enough: of channels, or fewer by rewriting."""
    found = made.first
    now, policy = found.decision.after, found.options.policy
    after = wish.repaired if wish.repairs else wish.after
    spent = found.decision.spent
    needed = spent + after.bytes - wish.before.bytes
    if wish.repairs:
        left = sum(after.hazards)
        if (fewer := _by_rewriting(made, left)) is not None and fewer < needed:
            needed, spent = fewer, 0
        aim = f"step around known errors or wrong results ({sum(now.hazards)} -> {left})"
    elif policy == "faster":
        saved = sum(now.instructions) - sum(after.instructions)
        aim = f"save {saved:,} predicted instructions (not cycles)"
    else:
        aim = f"make channel counts multiples of {found.options.align}" if policy == "align" else "take missed kernels"
    there = f", {spent:,} of them for channels that do nothing already" if spent else ""
    return f"--fix-budget-bytes {found.options.budget} is too small to {aim}: {needed:,} bytes{there}"


def _by_rewriting(made: Attempt, hazards: int) -> int | None:
    """Bytes that repairs by rewriting add; None where they leave more than so many hazards."""
    if not made.unrewritten:
        return None
    new = rewritten(made.base, free=False, room=None).state
    left = sum(surveyed(new).decision.before.hazards)
    return new.stored - made.start.stored if left <= hazards else None


NOTHING = {
    "align": "every channel count that may change is a multiple of {align}, or would run into a known error as one",
    "route": "no missed routing condition can be satisfied by channel counts that may change",
    "faster": "no other sizes of the classes that may change cost fewer instructions",
}
"""Why a policy changes nothing where it found nothing."""


def _nothing_found(found: ModelPlan) -> str:
    """Why there are no better sizes."""
    decision, options = found.decision, found.options
    have, best = sum(decision.before.instructions), sum(decision.best.instructions)
    if best < have and options.policy == "faster":
        return (
            f"the best sizes found save {100 * (have - best) / have:.2g} % of the predicted instructions, "
            f"which is less than --min-gain {options.min_gain:g} %"
        )
    if not movable_classes(found.view, {}):
        return (
            "every channel count is LOCKED"
            if found.view.dimensions.classes
            else "no layer's weights decide a channel count"
        )
    if not have and options.policy == "faster":
        return "no layer's cost is known on these targets"
    several = " on one target and more on none" if len(found.prices.targets) > 1 and options.policy == "faster" else ""
    unread = options.policy == "faster" and not options.weights
    note = "; channels that do nothing were not looked for (--no-weights)" if unread else ""
    return NOTHING[options.policy].format(align=options.align) + several + note


def _hint(found: ModelPlan) -> Iterator[str]:
    """Advice where symbolic sizes keep costs or kernels unknown."""
    missing = missing_sizes(found.view.graph)
    lowered = found.view.lowered
    sizes = (size for layer in lowered.layers for dims in layer.call[1:4] for size in dims)
    if missing and (lowered.undecided or None in sizes):
        yield f"; sizes are symbolic: give those marked ? with --input-shape {' --input-shape '.join(missing)}"
