"""The search for parts with which a model fits, or takes the least arena within a bound on predicted instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.memory.fitting import Fit, Search
from onnxlint_cmsis.fixers.memory.newly_met import newly_met
from onnxlint_cmsis.fixers.memory.tiled_file import tiled
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.policies import POLICIES
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.snapshot import Snapshot
    from onnxlint_cmsis.runtimes.tflm.interpretation import Interpretation

MOST_PRICED = 40
"""Models with tiles that are written in memory and priced, which takes most of the time."""


def search_of(state: Snapshot, interpretation: Interpretation) -> Search:
    """The search for the RAM that was named; with `smaller` for the least on the target that takes most.

    With `smaller` no target may take more than `most_instructions` besides.
    """
    if not POLICIES[state.request.options.policy].least_arena:
        return Search(interpretation.file, interpretation.arenas_of, state.request.analysis.rooms_of_ram)
    nothing = (0,) * len(state.prices.targets)
    return Search(interpretation.file, interpretation.arenas_of, nothing, PriceBound(state).holds)


def instructions_on_targets(state: Snapshot) -> list[int]:
    """Predicted instructions of the layers of known cost on each target."""
    rows = [state.prices.of_layer(layer) for layer in state.lowered.layers]
    return [sum(row[target].instructions or 0 for row in rows) for target in range(len(state.prices.targets))]


class PriceBound:
    """What tiles may add to the predicted instructions of a model, asked of MOST_PRICED models at most."""

    def __init__(self, state: Snapshot) -> None:
        """`state` is the model without tiles; its request says how many percent they may add."""
        self._state, self._left = state, MOST_PRICED
        share = 1 + state.request.options.most_instructions / 100
        self._most = [share * instructions for instructions in instructions_on_targets(state)]

    def holds(self, fit: Fit) -> bool:
        """Tell whether the layers with tiles cost no more than is allowed, and meet neither hazard nor unknown cost."""
        if self._left == 0:
            return False
        self._left -= 1
        try:
            new = self._state.followed(tiled(self._state.path, self._state.data, fit.tiles), Plan({}))
        except (NotAppliedError, ModelError):
            return False
        if newly_met(self._state.analysis, new.analysis) or _unknown(new) > _unknown(self._state):
            return False
        return all(now <= most for now, most in zip(instructions_on_targets(new), self._most, strict=True))


def _unknown(state: Snapshot) -> int:
    """Layers of unknown cost, on all targets."""
    return sum(price.instructions is None for layer in state.lowered.layers for price in state.prices.of_layer(layer))
