"""A Pad node behind a model's input, where only more input channels step around a known hazard."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.edits.onnx_input_pad import InputPad, with_input_pad
from onnxlint_cmsis.fixers.planning.answers import hazards_along
from onnxlint_cmsis.fixers.planning.fits.input_pad import MOST_ADDED, PaddableInput, paddable_inputs
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.planning_input import PlanningInput, planning_input
from onnxlint_cmsis.fixers.steps import Padded, Step
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.snapshot import Snapshot


class Unlocked(NamedTuple):
    """A model with a Pad behind an input."""

    state: Snapshot
    """The model."""
    step: Padded
    """The input, and the channels that were added."""
    text: str
    """What was added, for the report."""


def unlocked(state: Snapshot, without: Collection[Step] = ()) -> Unlocked | None:
    """The model with a Pad behind the first input where that lowers the number of known hazards.

    Only where a fix may act on a finding that tells of one of them, and the input is neither refused nor one
    of `without`. How many instructions a Pad costs is unknown before CMSIS-NN 7.0.0, so it is added for no other gain,
    and only with --unsafe-fixes. Raises UnreadableError.
    """
    if not state.analysis.format.adds_operators:
        return None
    view = planning_input(state.analysis, state.prices)
    for given in paddable_inputs(state.graph, state.dimensions):
        hazards = hazards_along(view, state.prices, given.group)
        asked = any(state.request.fixable(state.graph, finding) for finding in hazards)
        more = _more(state, view, given) if asked else 0
        step = Padded(given.name, more)
        barred = not more or step in state.left_alone or step in without
        new = None if barred else _behind(state, given, more)
        if new is not None:
            text = f"a Pad node gives input '{given.name}' {more} more channels of zeros; its own cost is not counted"
            return Unlocked(new, step, text)
    return None


def _behind(state: Snapshot, given: PaddableInput, more: int) -> Snapshot | None:
    """The model with the Pad; None where that fails or does not lower the number of known hazards."""
    try:
        rank = len(state.dimensions.axes(given.name) or ())
        pad = InputPad(given.name, given.real, rank, given.group.size, more)
        padded = with_input_pad(state.data, state.path, state.request.analysis.input_shapes, pad)
    except UnreadableError:
        raise
    except NotAppliedError:
        return None
    new = state.followed(padded, Plan({})) if padded is not None else state
    return new if _hazards(new) < _hazards(state) else None


def _hazards(state: Snapshot) -> int:
    return sum(price.hazards for layer in state.lowered.layers for price in state.prices.of_layer(layer))


def _more(state: Snapshot, view: PlanningInput, given: PaddableInput) -> int:
    """Fewest channels to add for the fewest hazards; 0 where none helps."""
    sites = [site for site in view.sites if given.group.id in site.leaves]

    def hazards(more: int) -> tuple[int, ...]:
        sized = ((site, site.channels({given.group.id: given.group.size + more})) for site in sites)
        prices = [state.prices.at(site, channels) for site, channels in sized if channels]
        return tuple(sum(row[target].risks for row in prices) for target in range(len(state.request.analysis.targets)))

    present = hazards(0)
    better = [
        more for more in range(MOST_ADDED + 1) if all(a <= b for a, b in zip(hazards(more), present, strict=True))
    ]
    return min(better, key=lambda more: (sum(hazards(more)), more))
