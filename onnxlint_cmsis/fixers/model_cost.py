"""The cost of a model, as it is and as a plan promises it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan
    from onnxlint_cmsis.fixers.planning.prices import Price
    from onnxlint_cmsis.fixers.snapshot import Snapshot


Cost = tuple[int, int, int]
"""Known hazards, layers of unknown cost, and predicted instructions of the others, over all targets."""


def cost_of(state: Snapshot) -> Cost:
    """What a model costs."""
    return _summed(state.prices.of_layer(layer) for layer in state.lowered.layers)


def promised(plan: ModelPlan) -> Cost:
    """What a model costs with the channel counts of a plan; a symbolic one stays."""
    sizes, prices = plan.decision.sizes, plan.prices
    after = [(site, site.channels(sizes)) for site in plan.view.sites]
    sized = [prices.of_layer(site.layer) if new is None else prices.at(site, new) for site, new in after]
    return _summed([*sized, *(prices.of_layer(layer) for layer in plan.view.others)])


def _summed(rows: Iterable[tuple[Price, ...]]) -> Cost:
    prices = [price for row in rows for price in row]
    known = [price.instructions for price in prices if price.instructions is not None]
    return sum(price.hazards for price in prices), len(prices) - len(known), sum(known)
