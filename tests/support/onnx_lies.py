"""An `.onnx` file with one initializer, attribute or operand changed."""

from __future__ import annotations

import random

import numpy as np
import onnx
from onnx import numpy_helper

from support.one_off import Lie, kind_of, other


def onnx_lie(data: bytes, rng: random.Random) -> Lie | None:
    model = onnx.ModelProto.FromString(data)
    nodes = [*model.graph.node]
    drawn = rng.random()
    if drawn < 0.75:
        held = [tensor for tensor in model.graph.initializer if tensor.data_type in (1, 2, 3, 4, 5, 6, 7)]
        held = [tensor for tensor in held if numpy_helper.to_array(tensor).size and not tensor.external_data]
        if not held:
            return None
        tensor = rng.choice(held)
        array = numpy_helper.to_array(tensor)
        reads = [(node, position) for node in nodes for position, name in enumerate(node.input) if name == tensor.name]
        read_as_scale = any("Linear" in node.op_type and position % 2 for node, position in reads)
        kind = kind_of(array, read_as_scale, rng)
        tensor.CopyFrom(numpy_helper.from_array(other(array, kind, rng), tensor.name))
        return Lie(kind, model.SerializeToString())
    if drawn < 0.9:
        stated = [attribute for node in nodes for attribute in node.attribute if attribute.type in (1, 2, 7)]
        if not stated:
            return None
        attribute = rng.choice(stated)
        if attribute.type == onnx.AttributeProto.FLOAT:
            attribute.f = float(other(np.array([attribute.f], np.float32), "option", rng)[0])
        elif attribute.type == onnx.AttributeProto.INT:
            attribute.i += rng.choice((1, -1))
        elif attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] += rng.choice((1, -1))
        return Lie("option", model.SerializeToString())
    node = rng.choice([node for node in nodes if node.input])
    if node.op_type in ("Relu", "Clip") and rng.random() < 0.7:
        node.op_type = "Identity"
        del node.input[1:], node.attribute[:]
        return Lie("bound", model.SerializeToString())
    names = [name for some in nodes for name in some.input if name]
    node.input[rng.randrange(len(node.input))] = rng.choice(names)
    return Lie("operand", model.SerializeToString())
