"""A Pad node behind a model's input, where only more input channels step around a known hazard.

The input keeps its name, type and shape. A Pad node costs instructions, how many is unknown before CMSIS-NN 7.0.0.
So it is added for no other gain, and only with --unsafe-fixes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.algebra.axes import AxisForm
from onnxlint_cmsis.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.fixers.snapshot import ClassName, Snapshot
from onnxlint_cmsis.formats.suffixes import is_tflite_path
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.planning.answers import hazards_along
from onnxlint_cmsis.planning.lane_plan import Plan
from onnxlint_cmsis.planning.planning_input import PlanningInput, planning_input
from onnxlint_cmsis.rewrite.model_bytes import with_input_pad
from onnxlint_cmsis.rewrite.pad_input import InputPad
from onnxlint_cmsis.types import Freedom

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.dims.result import DimensionClass
    from onnxlint_cmsis.findings import Resize
    from onnxlint_cmsis.graph.model import Node

PADDED = "input"
"""First part of the name that an input with a Pad has among classes."""
REACH = 16
"""Channels that may be added; see checks.subject.REACH."""
SINCE = 11
"""First operator set whose Pad takes the padding as an input."""


class Unlocked(NamedTuple):
    """A model with a Pad behind an input."""

    state: Snapshot
    """The model."""
    name: ClassName
    """The input and the channels that were added: PADDED, tensor, number."""
    text: str
    """What was added, for the report."""


class _Input(NamedTuple):
    """A graph input with channels that only the interface locks."""

    name: str
    """The input."""
    group: DimensionClass
    """Class of its axis 1."""
    real: str
    """Tensor in float that carries it: itself, or what DequantizeLinear makes of it."""


def unlocked(state: Snapshot, without: Collection[ClassName] = ()) -> Unlocked | None:
    """The model with a Pad behind the first input where that lowers the number of known hazards.

    Only where a fix may act on a finding that tells of one of them, and the input is neither refused nor one
    of `without`. Raises UnreadableError.
    """
    if is_tflite_path(state.path):  # a PAD would be one more operator, which the application may not have registered
        return None
    view = planning_input(state.analysis, state.prices)
    for given in _inputs(state):
        found = hazards_along(view, state.prices, given.group)
        asked = any(state.request.fixable(state.graph, finding) for finding in found)
        more = _more(state, view, given) if asked else 0
        name = (PADDED, given.name, str(more))
        barred = not more or name in state.left_alone or name in without
        new = None if barred else _behind(state, given, more)
        if new is not None:
            text = f"a Pad node gives input '{given.name}' {more} more channels of zeros; its own cost is not counted"
            return Unlocked(new, name, text)
    return None


def pad_would_do(model: ModelAnalysis, resize: Resize) -> bool:
    """Whether a channel count is one that only an input locks which may get a Pad. Nothing is tried."""
    if is_tflite_path(model.path) or resize.freedom is not Freedom.LOCKED or resize.want - resize.have > REACH:
        return False
    group = model.dimensions.class_of(resize.tensor, resize.axis)
    return group is not None and any(given.group.id == group.id for given in _inputs(model))


def _behind(state: Snapshot, given: _Input, more: int) -> Snapshot | None:
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
    return sum(price.hazards for layer in state.lowered.layers for price in state.prices.of(layer.call))


def _inputs(state: Snapshot | ModelAnalysis) -> Iterator[_Input]:
    """Inputs of the default operator set's models that may be padded."""
    for name in state.graph.inputs:
        axes, readers = state.dimensions.axes(name), state.graph.consumers.get(name, ())
        if axes is None or len(axes) not in (3, 4) or axes[1].form is not AxisForm.LEAF or name in state.graph.outputs:
            continue
        group = state.dimensions.class_with_id(axes[1].leaf)
        locks = {str(lock) for lock in group.locks} if group else set()
        real = _real(state, name, readers)
        if group and group.freedom is Freedom.LOCKED and locks <= {f"graph input {name}"} and real:
            yield _Input(name, group, real)


def _real(state: Snapshot | ModelAnalysis, name: str, readers: tuple[Node, ...]) -> str:
    """The float tensor that carries an input; empty where there is none."""
    if any(node.opset < SINCE or node.graph for node in readers) or not readers:
        return ""
    if state.graph.elem_type(name) == "float32":
        return name
    alone = len(readers) == 1 and operator_of(readers[0]).dequantizes
    made = readers[0].outputs[:1] if alone else ()
    return made[0] if made and made[0] not in state.graph.outputs else ""


def _more(state: Snapshot, view: PlanningInput, given: _Input) -> int:
    """Fewest channels to add for the fewest hazards; 0 where none helps."""
    sites = [site for site in view.sites if given.group.id in site.leaves]

    def hazards(more: int) -> tuple[int, ...]:
        found = (site.channels({given.group.id: given.group.size + more}) for site in sites)
        prices = [state.prices.at(site, channels) for site, channels in zip(sites, found, strict=True) if channels]
        return tuple(sum(row[place].risks for row in prices) for place in range(len(state.request.analysis.targets)))

    present = hazards(0)
    better = [more for more in range(REACH + 1) if all(a <= b for a, b in zip(hazards(more), present, strict=True))]
    return min(better, key=lambda more: (sum(hazards(more)), more))
