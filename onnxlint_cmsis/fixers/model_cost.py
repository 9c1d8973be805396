"""Cost of a model, as it is and as a plan promises it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxlint_cmsis.fixers.snapshot import Snapshot
    from onnxlint_cmsis.planning.plan_model import ModelPlan
    from onnxlint_cmsis.planning.price import Price

Cost = tuple[int, int, int]
"""Known hazards, layers of unknown cost, and predicted instructions of the others, over all targets."""


def cost_of(state: Snapshot) -> Cost:
    """What a model costs."""
    return _summed(state.prices.of(layer.call) for layer in state.lowered.layers)


def promised(found: ModelPlan) -> Cost:
    """What a model costs with the channel counts of a plan; a symbolic one stays."""
    sizes, prices = found.decision.sizes, found.prices
    after = [(site, site.channels(sizes)) for site in found.view.sites]
    sized = [prices.of(site.layer.call) if new is None else prices.at(site, new) for site, new in after]
    return _summed([*sized, *(prices.of(layer.call) for layer in found.view.others)])


def _summed(rows: Iterable[tuple[Price, ...]]) -> Cost:
    prices = [price for row in rows for price in row]
    known = [price.instructions for price in prices if price.instructions is not None]
    return sum(price.hazards for price in prices), len(prices) - len(known), sum(known)
