"""What is told of a fix: what changed, or why nothing did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.fix_results import FixResult, Locked, Numbers, Rewrite, SkippedClass, SkippedRewrite
from onnxlint_cmsis.fixers import differences
from onnxlint_cmsis.fixers.planning.locked import locked_gains
from onnxlint_cmsis.fixers.steps import Rewritten, Step
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.attempt import Attempt
    from onnxlint_cmsis.fixers.memory.tiled_model import LeastArena
    from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan
    from onnxlint_cmsis.fixers.planning.policies import FixOptions
    from onnxlint_cmsis.fixers.progress import RewrittenLayer
    from onnxlint_cmsis.fixers.snapshot import Snapshot


class Fixed(NamedTuple):
    """A result, and the new model where there is one."""

    result: FixResult
    """What was done."""
    model: bytes | None
    """The proven model; None where nothing changes."""
    end: Snapshot | None = None
    """The proven model with its analysis, or the one that stays; None where it was not analysed."""
    least: LeastArena | None = None
    """The least arena that was found; None where none was looked for, or none is known."""
    outgrown: str = ""
    """What it would need with all steps, as a clause; empty where there is room for that."""
    unroomed: Mapping[Step, str] = {}
    """Classes that do not grow for that reason; none where the whole model stays for it, or there is room."""


def changed_result(fix: Attempt, left: tuple[SkippedClass, ...]) -> FixResult:
    """Tell of a model that changes."""
    start, base, end, first = fix.start, fix.base, fix.end, fix.first
    rewrites = differences.replaced(fix.rewrites)
    return FixResult(
        policy=start.request.options.policy,
        changed=True,
        written=False,
        reason="",
        failed=False,
        classes=tuple(differences.class_changes(base, end, first)),
        tensors=tuple(differences.tensor_changes(start, end)),
        layers=tuple(differences.layer_changes(start, end, rewrites)),
        prices=tuple(differences.price_changes(start, end)),
        totals=tuple(differences.totals(start, end, first, rewrites, fix.rewrites)),
        repairs=tuple(differences.repairs(start, end, rewrites)),
        rewrites=tuple(rewrite_rows(fix.rewrites)),
        unrewritten=_unrewritten(fix),
        locked=locked(first, start.request.options),
        left=left,
        macs=differences.macs(start, end, rewrites),
        bytes=Numbers(len(start.data), len(end.data)),
        added=tuple(fix.added.values()),
        notes=first.ended,
        proof=fix.proof,
        certificate=fix.certificate,
    )


def unchanged(fix: Attempt, reason: str, left: tuple[SkippedClass, ...]) -> Fixed:
    """Tell of a model that stays as it is."""
    start = fix.start
    result = FixResult(
        policy=start.request.options.policy,
        changed=False,
        written=False,
        reason=reason,
        failed=fix.failed,
        totals=tuple(differences.totals(start, start, fix.first, {})),
        unrewritten=_unrewritten(fix),
        locked=locked(fix.first, start.request.options),
        left=left,
        macs=differences.macs(start, start, {}),
        bytes=Numbers(len(start.data), len(start.data)),
        notes=fix.first.ended,
        proof=fix.proof,
    )
    return Fixed(result, None, start)


def _unrewritten(fix: Attempt) -> tuple[SkippedRewrite, ...]:
    """Repairs that were needed and not done, in the order of the layers."""
    nodes = fix.start.graph.producers | fix.end.graph.producers
    left = ((step, why) for step, why in fix.unrewritten.items() if isinstance(step, Rewritten))
    return tuple(SkippedRewrite(nodes[step.output].label, step.repair, why) for step, why in left)


def rewrite_rows(rewrites: Iterable[RewrittenLayer]) -> Iterator[Rewrite]:
    """Layers that were rewritten."""
    for layer in rewrites:
        costs = (layer.instructions, layer.new_instructions)
        yield Rewrite(layer.label, layer.row.name, layer.repair.text, layer.hazards, *costs, layer.steps)


def locked(plan: ModelPlan, options: FixOptions) -> tuple[Locked, ...]:
    """LOCKED classes of interest to the policy: with a gain, or off the multiple."""
    rows = []
    for row in locked_gains(plan.view, plan.prices):
        if options.policy != "align" and row.gain == 0:
            break
        if options.policy == "align" and row.group.size % options.align == 0:
            continue
        names = dict.fromkeys(layer.label for layer in (*row.group.deciders, *row.group.readers))
        rows.append(Locked(row.group.size, row.want, row.gain, tuple(names), str(row.group.locks[0])))
    return tuple(rows)
