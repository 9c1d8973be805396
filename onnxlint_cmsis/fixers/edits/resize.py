"""Apply a plan to an ONNX model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.classes import DEQUANTIZED, Dimensions, Use, analyse
from onnxlint_cmsis.fixers.edits.onnx import (
    GraphScope,
    NodeSites,
    Store,
    connect,
    dequantizer_domain,
    forget,
    set_number,
)
from onnxlint_cmsis.fixers.planning.elements import StoredElements
from onnxlint_cmsis.fixers.planning.layouts import check_plan
from onnxlint_cmsis.fixers.planning.model_edits import BiasEdit, model_edits
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.uses import Uses
from onnxlint_cmsis.formats.onnx.document import require_readable
from onnxlint_cmsis.formats.onnx.inference import stated_size
from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.axes import Axis, leaves
from onnxlint_cmsis.model.axes import resized as resized_axis
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.operators.movement import PAD
from onnxlint_cmsis.operators.weighted import CONV

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import ModelProto, NodeProto, TensorShapeProto, ValueInfoProto

    from onnxlint_cmsis.fixers.planning.plan import Kept
    from onnxlint_cmsis.ground.types import InputShapes


def apply(model: ModelProto, graph: Graph, dimensions: Dimensions, plan: Plan) -> ModelProto:
    """A new model with every tensor, attribute and shape of the classes resized; `model` stays as it is.

    `graph` and `dimensions` are those of `model`. External data are read from beside `graph.path` and become part
    of the new model where they change; all others stay where they are. Raises NotAppliedError.
    """
    result = type(model)()
    result.CopyFrom(model)
    uses, sites = Uses(graph, dimensions), NodeSites(result, graph)
    store = Store(result, graph.path)

    def read(use: Use) -> StoredElements:
        return store.read(sites.home(use))

    check_plan(uses, plan)
    for leaf in plan.kept:
        group = dimensions.class_with_id(leaf)
        for tensor, _ in group.members if group is not None else ():
            producer = graph.producers.get(tensor)
            for node in (*([producer] if producer else []), *graph.consumers.get(tensor, ())):
                sites.site(node.index)  # raises where the class reaches into a local function
    edits = model_edits(uses, plan, read)
    for constant in edits.constants:
        home = sites.home(constant.uses[0])
        if not constant.copied:
            store.write(home, constant.codes)
            continue
        index, position = constant.uses[0]
        name = store.add(home.graph, sites.site(index).node.input[position], constant.elem_type, constant.codes)
        for index, position in constant.uses:
            sites.site(index).node.input[position] = name
    for edit in edits.attributes:
        set_number(sites.site(edit.node).node, edit.attribute, edit.element, edit.value)
    for bias in edits.biases:
        _add_bias(uses, sites, store, bias)
    follow(sites, dimensions, plan.kept)
    return result


def _add_bias(uses: Uses, sites: NodeSites, store: Store, bias: BiasEdit) -> None:
    """Give a reader a bias that holds its increments."""
    node, site = uses.graph.nodes[bias.reader], sites.site(bias.node)
    like = f"{node.name or node.outputs[0]}_bias"
    name = store.add(site.scope.graph, like, bias.elem_type, bias.codes)
    if bias.kind == DEQUANTIZED:
        domain = dequantizer_domain(uses.graph, node.inputs[1])
        axis = 0 if bias.scales.ndim else None
        scale = store.add(site.scope.graph, f"{like}_scale", "float32", bias.scales)
        name = store.dequantize(site, name, scale, domain, axis=axis)
    connect(site.node, bias.position, name)


# Shapes that the model states, after a resize.


def follow(sites: NodeSites, dimensions: Dimensions, kept: Kept) -> None:
    """Write the new sizes into every stated shape; drop a shape whose new sizes are not known."""
    sizes = {leaf: len(lanes) for leaf, lanes in kept.items()}
    for scope in sites.scopes:
        graph = scope.graph
        for value in (*graph.input, *graph.output):
            if not _follow(sites, scope, value, dimensions, sizes):
                value.type.tensor_type.ClearField("shape")
        dropped = [
            index for index, value in enumerate(graph.value_info) if not _follow(sites, scope, value, dimensions, sizes)
        ]
        for index in reversed(dropped):
            del graph.value_info[index]


def _follow(
    sites: NodeSites, scope: GraphScope, value: ValueInfoProto, dimensions: Dimensions, sizes: Mapping[int, int]
) -> bool:
    """Write the new sizes into one stated shape; False where they are not known."""
    shape = value.type.tensor_type.shape
    if not value.type.HasField("tensor_type") or not shape.dim:
        return True
    home = scope.homes.get(value.name)
    if home is not None:  # a constant, whose own shape is stated
        stated = home.shape()
        if stated is None or len(shape.dim) != len(stated):
            return False
        for dim, size in zip(shape.dim, stated, strict=True):
            if dim.dim_value != size:
                dim.dim_value = size
        return True
    axes = dimensions.axes(sites.key(scope, value.name)) or ()
    touched = [position for position, axis in enumerate(axes) if any(leaf in sizes for leaf in leaves(axis))]
    if touched and len(axes) != len(shape.dim):
        return False
    return all(_write(shape.dim[position], axes[position], sizes) for position in touched)


def _write(dim: TensorShapeProto.Dimension, axis: Axis, sizes: Mapping[int, int]) -> bool:
    new = resized_axis(axis, sizes)
    if new is None or stated_size(dim) not in (None, axis.size):
        return False
    if dim.HasField("dim_value") or dim.HasField("dim_param"):
        dim.dim_value = new
    return True


# A Pad node behind an input of the model, which keeps its name, type and shape.


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


# Rewriting from bytes to bytes, so that no other room handles a protobuf.


def resized(data: bytes, graph: Graph, dimensions: Dimensions, plan: Plan) -> bytes:
    """The model with a plan applied; `graph` and `dimensions` are those of `data`. Raises NotAppliedError."""
    return _serialized(apply(_parsed(data), graph, dimensions, plan))


def with_input_pad(data: bytes, path: str, input_shapes: InputShapes, pad: InputPad) -> bytes | None:
    """The model with a Pad behind an input; None where what reads it cannot grow. Raises NotAppliedError."""
    padded = pad_input(_parsed(data), path, input_shapes, pad)
    return None if padded is None else _serialized(padded)


def check_external_data(data: bytes, path: str) -> None:
    """Raise UnreadableError where a file with external data of a model at `path` cannot be opened; read nothing."""
    require_readable(_parsed(data), path)


def _parsed(data: bytes) -> ModelProto:
    from onnx import ModelProto

    model: ModelProto = ModelProto.FromString(data)
    return model


def _serialized(model: ModelProto) -> bytes:
    data: bytes = model.SerializeToString()
    return data
