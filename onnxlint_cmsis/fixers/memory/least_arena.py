"""The channel tiles with which a model takes the least arena, within a bound on its predicted instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.memory.fitting import Fit, Search
from onnxlint_cmsis.fixers.memory.newly_met import newly_met
from onnxlint_cmsis.fixers.memory.tiled_file import tiled
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.snapshot import Snapshot
    from onnxlint_cmsis.runtimes.tflm.interpretation import Interpretation

MOST_PRICED = 40
"""Models with tiles that are written in memory and priced, which takes most of the time."""


def least_arena(state: Snapshot, interpretation: Interpretation) -> Fit:
    """The tiles with the least arena on the target that takes most, at most `most_instructions` dearer on each."""
    bound = PriceBound(state)
    return Search(interpretation.file, interpretation.arenas_of, (0,) * len(state.prices.targets), bound.holds).best()


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
