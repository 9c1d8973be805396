"""A Pad node behind an input of the model, which keeps its name, type and shape."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.classes import analyse
from onnxlint_cmsis.formats.onnx_graph.load import load
from onnxlint_cmsis.formats.onnx_graph.subgraph_walk import all_names
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.convolution_operators import CONV
from onnxlint_cmsis.operators.slicing_operators import PAD
from onnxlint_cmsis.planning.lane_plan import Plan
from onnxlint_cmsis.rewrite.resize import apply
from onnxlint_cmsis.types import Freedom

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from onnxlint_cmsis.types import InputShapes


class InputPad(NamedTuple):
    """Channels to add behind an input."""

    name: str
    """The input."""
    tensor: str
    """Tensor in float that carries it: itself, or what DequantizeLinear makes of it."""
    rank: int
    """Number of its axes."""
    channels: int
    """Channels that it has."""
    more: int
    """Channels to add."""


def pad_input(model: ModelProto, path: str, input_shapes: InputShapes, pad: InputPad) -> ModelProto | None:
    """The model with the Pad; None where what reads the input cannot grow. Raises NotAppliedError, UnreadableError.

    A convolution that copies every channel takes the Pad's place at first: its output channels are a class like any
    other, and growing that class grows all that reads it. `path` is the model's, whose folder holds external data.
    """
    between = type(model)()
    between.CopyFrom(model)
    copier = _insert_copier(between, pad)
    graph = load(path, input_shapes=input_shapes, data=between.SerializeToString())
    dimensions = analyse(graph)
    group = dimensions.class_of(copier, 1)
    if group is None or group.freedom is Freedom.LOCKED:
        return None
    grown = apply(between, graph, dimensions, Plan({group.id: (*range(group.size), *[None] * pad.more)}))
    _replace_copier(grown, pad, copier)
    return grown


def _insert_copier(model: ModelProto, pad: InputPad) -> str:
    """Put a 1x1 convolution with the unit matrix behind the tensor; the name of its output."""
    from onnx import helper, numpy_helper

    made = _unused(model, f"{pad.tensor}_padded")
    for node in model.graph.node:
        node.input[:] = [made if name == pad.tensor else name for name in node.input]
    unit = np.eye(pad.channels, dtype=np.float32).reshape(pad.channels, -1, *[1] * (pad.rank - 2))
    model.graph.initializer.append(numpy_helper.from_array(unit, _unused(model, f"{made}/unit")))
    copier = helper.make_node(CONV.name, [pad.tensor, model.graph.initializer[-1].name], [made], f"{made}/copy")
    model.graph.node.insert(_place(model, pad.tensor), copier)
    return made


def _unused(model: ModelProto, like: str) -> str:
    """A name that is unused in the model."""
    names = {name for name in all_names(model) if isinstance(name, str)}
    return next(name for number in count(1) if (name := like if number == 1 else f"{like}_{number}") not in names)


def _place(model: ModelProto, tensor: str) -> int:
    """Where a node that reads the tensor may stand: after the one that makes it."""
    return next((place + 1 for place, node in enumerate(model.graph.node) if tensor in node.output), 0)


def _replace_copier(model: ModelProto, pad: InputPad, copier: str) -> None:
    """Take the convolution out again and pad the input itself, in its own type."""
    from onnx import helper, numpy_helper

    _drop(model, copier)
    reader = next((node for node in model.graph.node if pad.tensor in node.output), None)
    source = pad.name if reader is not None else pad.tensor
    padded = _unused(model, f"{pad.name}_more_channels") if reader is not None else copier
    pads = np.zeros(2 * pad.rank, np.int64)
    pads[pad.rank + 1] = pad.more
    model.graph.initializer.append(numpy_helper.from_array(pads, _unused(model, f"{padded}/pads")))
    inputs = [source, model.graph.initializer[-1].name]
    if reader is not None:
        inputs += [reader.input[2]] if len(reader.input) > 2 and reader.input[2] else []
        reader.input[0] = padded
        _forget(model, pad.tensor)
        for node in model.graph.node:
            node.input[:] = [pad.tensor if name == copier else name for name in node.input]
    place = next(place for place, node in enumerate(model.graph.node) if padded in node.input)
    model.graph.node.insert(place, helper.make_node(PAD.name, inputs, [padded], _unused(model, f"{padded}/pad")))


def _drop(model: ModelProto, copier: str) -> None:
    """Take out the convolution with its constants."""
    node: NodeProto = next(node for node in model.graph.node if copier in node.output)
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in node.input[1:]]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model.graph.node.remove(node)
    _forget(model, copier)


def _forget(model: ModelProto, tensor: str) -> None:
    """Remove the stated shape of a tensor."""
    for value in [value for value in model.graph.value_info if value.name == tensor]:
        model.graph.value_info.remove(value)
