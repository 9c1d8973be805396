"""Channels of the model's input, made more by a Pad node behind it where only that steps around a known hazard.

The input keeps its name, type and shape. A Pad node costs instructions that nobody measured, so it is added for no
other gain, and only with --unsafe-fixes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onnxlint_cmsis.algebra.axes import Form
from onnxlint_cmsis.fixers.plan_types import NotAppliedError, Plan, UnreadableError
from onnxlint_cmsis.fixers.state import ClassName, State
from onnxlint_cmsis.formats.onnx_graph.subgraph_walk import all_names
from onnxlint_cmsis.planning.answers import hazards_along
from onnxlint_cmsis.planning.planning_input import View, view_of
from onnxlint_cmsis.types import Freedom

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from onnxlint_cmsis.dims.result import DimensionClass
    from onnxlint_cmsis.graph.model import Node

PADDED = "input"
"""First part of the name that an input with a Pad has among classes."""
REACH = 16
"""Channels that may be added; see checks.subject.REACH."""
SINCE = 11
"""First operator set whose Pad takes the padding as an input."""


class Unlocked(NamedTuple):
    """A model with a Pad behind an input."""

    state: State
    """The model."""
    name: ClassName
    """The input and the channels that were added: PADDED, tensor, number."""
    text: str
    """What was added, for the report."""


class _Input(NamedTuple):
    """A graph input whose channels are locked by nothing but the interface."""

    name: str
    """The input."""
    group: DimensionClass
    """Class of its axis 1."""
    real: str
    """Tensor in float that carries it: itself, or what DequantizeLinear makes of it."""


def unlocked(state: State, without: Collection[ClassName] = ()) -> Unlocked | None:
    """The model with channels added behind the first input for which that lowers the number of known hazards.

    Only where a fix may act on a finding that tells of one of them, and the input is neither refused nor one
    of `without`. Raises UnreadableError.
    """
    view = view_of(state.analysis, state.prices)
    for given in _inputs(state):
        found = hazards_along(view, state.prices, given.group)
        asked = any(state.request.fixable(state.graph, finding) for finding in found)
        more = _more(state, view, given) if asked else 0
        name = (PADDED, given.name, str(more))
        barred = not more or name in state.request.refused or name in without
        new = None if barred else _behind(state, given, more)
        if new is not None:
            text = f"a Pad node gives input '{given.name}' {more} more channels of zeros; its own cost is not counted"
            return Unlocked(new, name, text)
    return None


def _behind(state: State, given: _Input, more: int) -> State | None:
    """The model with the Pad; None where that cannot be done or lowers the number of known hazards by nothing."""
    try:
        padded = _padded(state, given, more)
    except UnreadableError:
        raise
    except NotAppliedError:
        return None
    new = state.followed(padded, Plan({})) if padded is not None else state
    return new if _hazards(new) < _hazards(state) else None


def _hazards(state: State) -> int:
    return sum(price.hazards for layer in state.lowered.layers for price in state.prices.of(layer.call))


def _inputs(state: State) -> Iterator[_Input]:
    """Inputs of the default operator set's models that may be padded."""
    for name in state.graph.inputs:
        axes, readers = state.dimensions.axes(name), state.graph.consumers.get(name, ())
        if axes is None or len(axes) not in (3, 4) or axes[1].form is not Form.LEAF or name in state.graph.outputs:
            continue
        group = state.dimensions.class_with_id(axes[1].leaf)
        locks = {str(lock) for lock in group.locks} if group else set()
        real = _real(state, name, readers)
        if group and group.freedom is Freedom.LOCKED and locks <= {f"graph input {name}"} and real:
            yield _Input(name, group, real)


def _real(state: State, name: str, readers: tuple[Node, ...]) -> str:
    """The float tensor that carries an input; empty where there is none."""
    if any(node.opset < SINCE or node.graph for node in readers) or not readers:
        return ""
    if state.graph.elem_type(name) == "float32":
        return name
    alone = len(readers) == 1 and readers[0].is_op("DequantizeLinear")
    return readers[0].outputs[0] if alone and readers[0].outputs[0] not in state.graph.outputs else ""


def _more(state: State, view: View, given: _Input) -> int:
    """Channels to add so that the fewest hazards are left, the fewest channels of equals; 0 where none helps."""
    sites = [site for site in view.sites if given.group.id in site.leaves]

    def hazards(more: int) -> tuple[int, ...]:
        found = (site.channels({given.group.id: given.group.size + more}) for site in sites)
        prices = [state.prices.at(site, channels) for site, channels in zip(sites, found, strict=True) if channels]
        return tuple(sum(row[place].risks for row in prices) for place in range(len(state.request.targets)))

    present = hazards(0)
    better = [more for more in range(REACH + 1) if all(a <= b for a, b in zip(hazards(more), present, strict=True))]
    return min(better, key=lambda more: (sum(hazards(more)), more))


def _padded(state: State, given: _Input, more: int) -> ModelProto | None:
    """The model with the Pad, None where what reads the input cannot grow. Raises NotAppliedError.

    A convolution that copies every channel takes the Pad's place at first: its output channels are a class like any
    other, and growing that class grows all that reads it.
    """
    from onnxlint_cmsis.fixers.resize import apply

    model = type(state.model)()
    model.CopyFrom(state.model)
    copier = _insert_copier(model, state, given)
    between = State(state.path, model.SerializeToString(), state.request, state.prices)
    group = between.dimensions.class_of(copier, 1)
    if group is None or group.freedom is Freedom.LOCKED:
        return None
    grown = apply(model, between.graph, between.dimensions, Plan({group.id: (*range(group.size), *[None] * more)}))
    _replace_copier(grown, state, given, copier, more)
    return grown


def _insert_copier(model: ModelProto, state: State, given: _Input) -> str:
    """Put a 1x1 convolution with the unit matrix behind the tensor; the name of its output."""
    from onnx import helper, numpy_helper

    made = _unused(model, f"{given.real}_padded")
    for node in model.graph.node:
        node.input[:] = [made if name == given.real else name for name in node.input]
    rank = len(state.dimensions.axes(given.name) or ())
    unit = np.eye(given.group.size, dtype=np.float32).reshape(given.group.size, -1, *[1] * (rank - 2))
    model.graph.initializer.append(numpy_helper.from_array(unit, _unused(model, f"{made}/unit")))
    copier = helper.make_node("Conv", [given.real, model.graph.initializer[-1].name], [made], f"{made}/copy")
    model.graph.node.insert(_place(model, given.real), copier)
    return made


def _unused(model: ModelProto, like: str) -> str:
    """A name that nothing in the model has."""
    names = {name for name in all_names(model) if isinstance(name, str)}
    return next(name for number in count(1) if (name := like if number == 1 else f"{like}_{number}") not in names)


def _place(model: ModelProto, tensor: str) -> int:
    """Where a node that reads the tensor may stand: after the one that makes it."""
    return next((place + 1 for place, node in enumerate(model.graph.node) if tensor in node.output), 0)


def _replace_copier(model: ModelProto, state: State, given: _Input, copier: str, more: int) -> None:
    """Take the convolution out again and pad the input itself, in its own type."""
    from onnx import helper, numpy_helper

    _drop(model, copier)
    reader = next((node for node in model.graph.node if given.real in node.output), None)
    source = given.name if reader is not None else given.real
    padded = _unused(model, f"{given.name}_more_channels") if reader is not None else copier
    rank = len(state.dimensions.axes(given.name) or ())
    pads = np.zeros(2 * rank, np.int64)
    pads[rank + 1] = more
    model.graph.initializer.append(numpy_helper.from_array(pads, _unused(model, f"{padded}/pads")))
    inputs = [source, model.graph.initializer[-1].name]
    if reader is not None:
        inputs += [reader.input[2]] if len(reader.input) > 2 and reader.input[2] else []
        reader.input[0] = padded
        _forget(model, given.real)
        for node in model.graph.node:
            node.input[:] = [given.real if name == copier else name for name in node.input]
    place = next(place for place, node in enumerate(model.graph.node) if padded in node.input)
    model.graph.node.insert(place, helper.make_node("Pad", inputs, [padded], _unused(model, f"{padded}/pad")))


def _drop(model: ModelProto, copier: str) -> None:
    """Take out the convolution with its constants."""
    node: NodeProto = next(node for node in model.graph.node if copier in node.output)
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in node.input[1:]]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model.graph.node.remove(node)
    _forget(model, copier)


def _forget(model: ModelProto, tensor: str) -> None:
    """Take out what the model states of a tensor's shape."""
    for value in [value for value in model.graph.value_info if value.name == tensor]:
        model.graph.value_info.remove(value)
