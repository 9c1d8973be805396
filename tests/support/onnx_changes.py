"""One thing of an ONNX model changed: an attribute, a type, a constant, an option, a name, an operand."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from support.onnx_operations import MICROSOFT

OPSETS = (7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)


def changed(old: onnx.ModelProto, rng: random.Random) -> tuple[str, onnx.ModelProto]:
    """What was changed, and the model with it."""
    new = onnx.ModelProto.FromString(old.SerializeToString())
    kind = rng.choice((*CHANGES,))
    CHANGES[kind](new, rng)
    return kind, new


STRINGS = (b"NOTSET", b"VALID", b"SAME_UPPER", b"SAME_LOWER", b"reflect", b"edge", b"constant", b"linear", b"nearest",
           b"floor", b"ceil", b"asymmetric", b"align_corners", b"CRD", b"tanh", b"none", b"Relu",
           b"DCR", b"cubic", b"", b"abcd,de->aebc")  # fmt: skip


def change_attribute(new: onnx.ModelProto, rng: random.Random) -> None:
    """An attribute that stands there, left out or another."""
    stated = [(node, a) for node in new.graph.node for a in node.attribute]
    if not stated:
        return add_attribute(new, rng)
    node, attribute = rng.choice(stated)
    if rng.random() < 0.15:
        node.attribute.remove(attribute)
    elif attribute.type == onnx.AttributeProto.FLOAT:
        near = float(np.nextafter(np.float32(attribute.f), np.float32(9)))
        attribute.f = rng.choice((0.0, -0.0, 1.0, near, np.nan, np.inf))
    elif attribute.type == onnx.AttributeProto.INT:
        attribute.i = rng.choice((0, 1, 2, -1, attribute.i + 1, attribute.i - 1, 10))
    elif attribute.type == onnx.AttributeProto.STRING:
        attribute.s = rng.choice(STRINGS)
    elif attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] += rng.choice((1, -1, 2))
    return None


def add_attribute(new: onnx.ModelProto, rng: random.Random) -> None:
    """An attribute of the operator's schema, most often of no effect or of a default."""
    node = rng.choice(new.graph.node)
    version = new.opset_import[0].version if rng.random() < 0.8 else 23
    if not defs.has(node.op_type, version, node.domain):
        return
    options = [*defs.get_schema(node.op_type, version, node.domain).attributes.values()]
    options = [option for option in options if option.name not in {a.name for a in node.attribute}]
    if not options:
        return
    option = rng.choice(options)
    kinds = defs.OpSchema.AttrType
    value: object = {
        kinds.FLOAT: rng.choice((0.0, 1.0, 0.5, 0.01, np.inf)), kinds.INT: rng.choice((0, 1, 2, -1, 3, 10)),
        kinds.STRING: rng.choice(STRINGS), kinds.INTS: rng.choice(([1, 1], [0, 0, 0, 0], [2, 2], [1], [0, 1])),
    }.get(option.type)  # fmt: skip
    if value is not None:
        node.attribute.append(helper.make_attribute(option.name, value))


def change_constant(new: onnx.ModelProto, rng: random.Random) -> None:
    """An element, the shape or the type of a constant."""
    if not new.graph.initializer:
        return change_attribute(new, rng)
    tensor = rng.choice(new.graph.initializer)
    array = numpy_helper.to_array(tensor).copy()
    drawn = rng.random()
    if drawn < 0.15:
        fewer = array.shape[1:] if array.shape[:1] == (1,) else array.shape
        array = array.reshape(rng.choice(((1, *array.shape), fewer)))
    elif drawn < 0.3:
        array = array.astype(rng.choice(("float32", "float16", "int8", "uint8", "int32", "int64", "float64")))
    elif array.size and array.dtype.kind == "f":
        position = rng.randrange(array.size)
        element = array.flat[position]
        more = (0.0, -0.0, -element, np.nan, np.inf, np.nextafter(element, array.dtype.type(9)), element * 2)
        array.flat[position] = rng.choice(more)
    elif array.size:
        position, info = rng.randrange(array.size), np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
        if info is not None:
            wanted = int(array.flat[position]) + rng.choice((1, -1, 2, 2**53 + 1))
            array.flat[position] = min(max(wanted, info.min), info.max)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return None


def change_type(new: onnx.ModelProto, rng: random.Random) -> None:
    """The type of an input, one that is stated of a result, or one that a Cast makes."""
    kind = rng.choice((1, 2, 3, 5, 6, 7, 10, 11, 13))
    if rng.random() < 0.4:
        rng.choice(new.graph.input).type.tensor_type.elem_type = kind
    elif rng.random() < 0.5:
        name = rng.choice([name for node in new.graph.node for name in node.output if name])
        value = helper.make_tensor_value_info(name, kind, None)
        new.graph.output[0].CopyFrom(value) if name == "y" else new.graph.value_info.append(value)
    else:
        inserted(new, rng, helper.make_node("Cast", ["?"], ["!"], to=kind))


def inserted(new: onnx.ModelProto, rng: random.Random, *nodes: onnx.NodeProto) -> None:
    """Nodes in a chain from `?` to `!` in front of a result or an operand."""
    node = rng.choice(new.graph.node)
    position = rng.randrange(len(node.input))
    if not node.input[position]:
        return
    name = node.input[position]
    for more in nodes:
        more.input[:] = [name if item == "?" else item for item in more.input]
        more.output[:] = ["inserted" if item == "!" else item for item in more.output]
    node.input[position] = "inserted"
    start = [*new.graph.node].index(node)
    for shift, more in enumerate(nodes):
        new.graph.node.insert(start + shift, more)


def change_opset(new: onnx.ModelProto, rng: random.Random) -> None:
    new.opset_import[0].version = rng.choice(OPSETS)


SIBLINGS = (
    ("Relu", "Identity", "Abs", "Clip", "LeakyRelu"), ("Max", "Min", "Add", "Mul", "Sub"), ("MaxPool", "AveragePool"),
    ("Softmax", "LogSoftmax", "Hardmax"), ("ReduceMean", "ReduceMax", "ReduceSum"), ("Floor", "Ceil", "Round"),
    ("Flatten", "Identity", "Squeeze"), ("GlobalAveragePool", "GlobalMaxPool"), ("QLinearAdd", "QLinearMul"),
    ("Sum", "Add", "Mean"), ("PRelu", "Mul"), ("Dropout", "Identity"), ("Sigmoid", "HardSigmoid", "Tanh"),
)  # fmt: skip


def change_operator(new: onnx.ModelProto, rng: random.Random) -> None:
    """A like operator, or the same name in the other domain."""
    node = rng.choice(new.graph.node)
    others = [name for group in SIBLINGS if node.op_type in group for name in group if name != node.op_type]
    if others and rng.random() < 0.8:
        node.op_type = rng.choice(others)
    else:
        node.domain = "" if node.domain else MICROSOFT


def change_operand(new: onnx.ModelProto, rng: random.Random) -> None:
    """Operands in another order, another operand, or one left out."""
    node = rng.choice(new.graph.node)
    names = [name for some in new.graph.node for name in some.input if name]
    drawn = rng.random()
    if drawn < 0.4 and len(node.input) > 1:
        first, second = rng.sample(range(len(node.input)), 2)
        node.input[first], node.input[second] = node.input[second], node.input[first]
    elif drawn < 0.6 and len(node.input) > 1:
        del node.input[-1]
    elif drawn < 0.75:
        node.input.append("")
    else:
        node.input[rng.randrange(len(node.input))] = rng.choice(names)


def change_names(new: onnx.ModelProto, rng: random.Random) -> None:
    """Inner names, node names, the order of inputs or constants."""
    drawn = rng.random()
    if drawn < 0.3:
        new.graph.initializer.reverse()
    elif drawn < 0.5:
        new.graph.input.reverse()
    elif drawn < 0.7:
        rng.choice(new.graph.input).name = "other"
    else:
        inner = {name for node in new.graph.node for name in node.output if name not in ("", "y")}
        inner |= {tensor.name for tensor in new.graph.initializer}
        for node in new.graph.node:
            node.input[:] = [f"n_{name}" if name in inner else name for name in node.input]
            node.output[:] = [f"n_{name}" if name in inner else name for name in node.output]
            node.name = "named"
        for tensor in new.graph.initializer:
            tensor.name = f"n_{tensor.name}"


def keep_meaning(new: onnx.ModelProto, rng: random.Random) -> None:
    """What most often changes nothing: two turns, an Identity, a constant made by a node, a local function."""
    drawn = rng.random()
    if drawn < 0.25:
        inserted(new, rng, helper.make_node("Transpose", ["?"], ["t_"], perm=[0, 2, 3, 1]),
                 helper.make_node("Transpose", ["t_"], ["!"], perm=[0, 3, 1, 2]))  # fmt: skip
    elif drawn < 0.5:
        inserted(new, rng, helper.make_node("Identity", ["?"], ["!"]))
    elif drawn < 0.75 and new.graph.initializer:
        tensor = rng.choice(new.graph.initializer)
        node = helper.make_node("Constant", [], [tensor.name], value=tensor)
        new.graph.initializer.remove(tensor)
        new.graph.node.insert(0, node)
    else:
        nodes = [*new.graph.node]
        held = {tensor.name for tensor in new.graph.initializer}
        results = {name for node in nodes for name in node.output}
        inputs = list(dict.fromkeys(n for node in nodes for n in node.input if n and (n in held or n not in results)))
        function = helper.make_function("local", "Whole", inputs, ["y"], nodes, [*new.opset_import])
        new.functions.append(function)
        del new.graph.node[:]
        new.graph.node.append(helper.make_node("Whole", inputs, ["y"], domain="local"))
        new.opset_import.add(domain="local", version=1)


CHANGES: dict[str, Callable[[onnx.ModelProto, random.Random], None]] = {
    "attribute": change_attribute, "option": add_attribute, "constant": change_constant, "type": change_type,
    "operator set": change_opset, "operator": change_operator, "operand": change_operand, "name": change_names,
    "same meaning": keep_meaning,
}  # fmt: skip
