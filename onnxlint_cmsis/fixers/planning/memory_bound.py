"""Sizes that save instructions and may take longer: outputs of dense layers whose weights lie in slow memory.

Of 75 paddings of layers on Cortex-M55 that save more than 2 % of their instructions, 12 take more modelled cycles where
the weights are fetched from MRAM or SRAM; all of these add outputs to dense layers (7 to 9: instructions x 0.955,
cycles x 1.088). Each output brings a row of weights, which is read once. No silicon was measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.types import Function, Isa
from onnxlint_cmsis.model.axes import leaves

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxlint_cmsis.fixers.planning.planning_input import PlanningInput
    from onnxlint_cmsis.fixers.planning.prices import Prices

LEAST_GAIN = 0.10
"""Part of a dense layer's instructions that more outputs have to save."""
FAST = ("tcm", "0")
"""Memories whose lines cost nothing."""


def may_take_longer(view: PlanningInput, prices: Prices, leaf: int, have: int, sizes: Iterable[int]) -> set[int]:
    """The sizes above `have` that a dense layer's weights may make slower on some target."""
    settings = view.model.settings
    places = dict(zip(settings.targets, settings.memories, strict=False))
    slow = [
        number
        for number, target in enumerate(prices.targets)
        if target.isa is Isa.MVE and places.get(target, ("",))[0] not in FAST
    ]
    dense = [
        site
        for site in view.sites
        if slow and site.layer.call.function is Function.FULLY_CONNECTED and leaf in leaves(site.outputs)
    ]
    slower: set[int] = set()
    for site in dense:
        present = prices.of_layer(site.layer)
        for size in sizes:
            channels = site.channels({leaf: size}) if size > have else None
            if channels is None:
                continue
            wanted = prices.at(site, channels)
            pairs = [(present[number].instructions, wanted[number].instructions) for number in slow]
            if any(old and new and new > (1 - LEAST_GAIN) * old for old, new in pairs):
                slower.add(size)
    return slower
