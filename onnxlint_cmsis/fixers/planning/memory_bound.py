"""Sizes that save instructions and may take longer.

Where the time of a target is predicted, modelled cycles tell. Elsewhere these are outputs of dense layers on CPUs with
MVE, unless their weights lie in tightly coupled memory: of 75 paddings of layers on Cortex-M55 that save more than 2 %
of their instructions, 12 take more modelled cycles where the weights are fetched from MRAM or SRAM, and all of these
add outputs to dense layers (7 to 9: instructions x 0.955, cycles x 1.088). Each output brings a row of weights, which
is read once. No silicon was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.fixers.planning.modelled_cycles import modelled_cycles
from onnxlint_cmsis.fixers.planning.planning_input import PlanningInput
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.sites import Site
from onnxlint_cmsis.ground.types import Function, Isa
from onnxlint_cmsis.model.axes import leaves

LEAST_GAIN = 0.10
"""Part of a dense layer's instructions that more outputs have to save where no cycles are modelled."""
FAST = ("tcm", "0")
"""Memories whose lines cost nothing."""


def may_take_longer(
    view: PlanningInput, prices: Prices, group: DimensionClass, sites: Sequence[Site], sizes: Iterable[int]
) -> set[int]:
    """The sizes above that of a class that make `sites`, the layers along it, slower on some target."""
    leaf, have = group.id, group.size
    wider = sorted({size for size in sizes if size > have})
    if not wider or not sites:
        return set()
    timed, slower = _by_cycles(view, prices, leaf, (have, *wider), sites)
    settings = view.model.settings
    places = dict(zip(settings.targets, settings.memories, strict=False))
    slow = [
        number
        for number, target in enumerate(prices.targets)
        if number not in timed and target.isa is Isa.MVE and places.get(target, ("",))[0] not in FAST
    ]
    for site in sites:
        if slow and site.layer.call.function is Function.FULLY_CONNECTED and leaf in leaves(site.outputs):
            slower |= _by_instructions(prices, site, leaf, wider, slow)
    return slower


def take_longer_together(view: PlanningInput, prices: Prices, sizes: Mapping[int, int]) -> bool:
    """Tell whether new sizes of several classes make the model slower on a target where each of them alone does not."""
    cycles = modelled_cycles(view.model, prices)
    rises = {number: np.zeros(cycles.pairs(number)) for number in cycles.timed}
    for site in view.sites if rises else ():
        pair = site.channels({}), site.channels(sizes)
        if None not in pair and pair[0] != pair[1]:
            grid = np.array(pair, dtype=np.int64).T
            of_targets = cycles.of(site, *grid)
            for number in rises:
                rises[number] += np.nan_to_num(of_targets[number][:, 1] - of_targets[number][:, 0])
    return any((rise > 0).any() for rise in rises.values())


def _by_cycles(
    view: PlanningInput, prices: Prices, leaf: int, sizes: Sequence[int], sites: Sequence[Site]
) -> tuple[tuple[int, ...], set[int]]:
    """Places of the targets whose cycles are modelled, and the sizes at which these rise in some pair of memories.

    The first size is the present one.
    """
    cycles = modelled_cycles(view.model, prices)
    rises = {number: np.zeros((cycles.pairs(number), len(sizes))) for number in cycles.timed}
    for site in sites if rises else ():
        grid = site.grid((leaf,), [sizes])
        if grid is not None:
            of_targets = cycles.of(site, *grid)
            for number in rises:
                rises[number] += np.nan_to_num(of_targets[number] - of_targets[number][:, :1])
    slower = [column for rise in rises.values() for column in np.nonzero((rise > 0).any(axis=0))[0].tolist()]
    return cycles.timed, {sizes[column] for column in slower}


def _by_instructions(prices: Prices, site: Site, leaf: int, sizes: Iterable[int], slow: Sequence[int]) -> set[int]:
    """The sizes that save too little of a dense layer's instructions on some of the targets."""
    present, slower = prices.of_layer(site.layer), set()
    for size in sizes:
        channels = site.channels({leaf: size})
        if channels is None:
            continue
        wanted = prices.at(site, channels)
        pairs = [(present[number].instructions, wanted[number].instructions) for number in slow]
        if any(old and new and new > (1 - LEAST_GAIN) * old for old, new in pairs):
            slower.add(size)
    return slower
