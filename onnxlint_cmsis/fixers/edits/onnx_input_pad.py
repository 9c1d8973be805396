"""A Pad node behind an input of the model, which keeps its name, type and shape."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, NodeProto

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.fixers.edits.onnx_resize import apply, serialized
from onnxlint_cmsis.fixers.edits.onnx_store import Store, forget
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.formats.onnx.whole_model import whole_model
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom, InputShapes
from onnxlint_cmsis.operators.convolution import CONV
from onnxlint_cmsis.operators.slicing import PAD


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

    names = Store(model, "")
    padded = names.unused(f"{pad.tensor}_padded")
    for node in model.graph.node:
        node.input[:] = [padded if name == pad.tensor else name for name in node.input]
    unit = np.eye(pad.channels, dtype=np.float32).reshape(pad.channels, -1, *[1] * (pad.rank - 2))
    model.graph.initializer.append(numpy_helper.from_array(unit, names.unused(f"{padded}/unit")))
    copier = helper.make_node(CONV.name, [pad.tensor, model.graph.initializer[-1].name], [padded], f"{padded}/copy")
    index = next((index + 1 for index, node in enumerate(model.graph.node) if pad.tensor in node.output), 0)
    model.graph.node.insert(index, copier)
    return padded


def _replace_copier(model: ModelProto, pad: InputPad, copier: str) -> None:
    """Take the convolution out again and pad the input itself, in its own type."""
    from onnx import helper, numpy_helper

    names = Store(model, "")
    convolution: NodeProto = next(node for node in model.graph.node if copier in node.output)
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in convolution.input[1:]]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model.graph.node.remove(convolution)
    forget(model.graph, {copier})
    reader = next((node for node in model.graph.node if pad.tensor in node.output), None)
    source = pad.name if reader is not None else pad.tensor
    padded = names.unused(f"{pad.name}_more_channels") if reader is not None else copier
    pads = np.zeros(2 * pad.rank, np.int64)
    pads[pad.rank + 1] = pad.more
    model.graph.initializer.append(numpy_helper.from_array(pads, names.unused(f"{padded}/pads")))
    inputs = [source, model.graph.initializer[-1].name]
    if reader is not None:
        inputs += [reader.input[2]] if len(reader.input) > 2 and reader.input[2] else []
        reader.input[0] = padded
        forget(model.graph, {pad.tensor})
        for node in model.graph.node:
            node.input[:] = [pad.tensor if name == copier else name for name in node.input]
    position = next(index for index, node in enumerate(model.graph.node) if padded in node.input)
    model.graph.node.insert(position, helper.make_node(PAD.name, inputs, [padded], names.unused(f"{padded}/pad")))


def with_input_pad(data: bytes, path: str, input_shapes: InputShapes, pad: InputPad) -> bytes | None:
    """The model with a Pad behind an input; None where what reads it cannot grow. Raises NotAppliedError."""
    padded = pad_input(whole_model(data), path, input_shapes, pad)
    return None if padded is None else serialized(padded)
