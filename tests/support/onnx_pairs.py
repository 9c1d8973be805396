"""Random pairs of ONNX models: PYTHONPATH=tests python -m support.onnx_pairs [--count 10000] [--seed 1].

A pair is a small model of one or two operators, in float, in plain integers, between QuantizeLinear and
DequantizeLinear or as QOperators, and the same with one thing changed: an attribute, a type, a constant, an option, the
operator set, a name, an operand. Some changes keep the meaning. What the checker calls equal runs in ONNX Runtime
without optimisers, on random and extreme inputs; a difference is printed, and the exit code is 1. Integers that the
device computes may differ by a step in ONNX Runtime, which computes QDQ nodes in float.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, defs, helper, numpy_helper

from onnxlint_cmsis.analysis.certified import verify
from onnxlint_cmsis.formats.format import ONNX
from onnxlint_cmsis.model.model_error import ModelError

EQUAL, REFUSED, DIFFERS, STEP, NOT_LOADED, NOT_RUN = "equal", "refused", "differs", "one step", "not loaded", "not run"
OUTCOMES = (EQUAL, REFUSED, DIFFERS, STEP, NOT_LOADED, NOT_RUN)
MICROSOFT = "com.microsoft"
OPSETS = (7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)
Shape = tuple[int, ...]
IMAGE: Shape = (1, 4, 5, 5)
ROUNDS = 6
"""Inputs that a pair runs on."""
Array = np.ndarray


class Operation(NamedTuple):
    """A way to use an operator: constants behind its first input `x`, and attributes."""

    op: str
    held: tuple[Array | None, ...] = ()
    attributes: dict[str, object] = {}  # noqa: RUF012 - read only
    data: int = 1
    """Inputs that are no constants."""
    opset: int = 13
    domain: str = ""
    shape: Shape = IMAGE
    """Of `x` and `m`."""


def f(*shape: int) -> Array:
    """Real constants of a shape, the same in every run."""
    return np.random.default_rng(len(shape) + sum(shape)).normal(0, 1, shape).astype(np.float32)


def i(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


FLOATS = [
    *(Operation(op) for op in ("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Exp", "Sqrt", "Floor", "Ceil", "Erf", "Round",
                               "Reciprocal", "Softsign", "Softplus", "Sign", "Identity", "Cos", "Log", "IsNaN", "Not")),
    *(Operation(op, (), {"alpha": 0.1}) for op in ("LeakyRelu", "Elu", "HardSigmoid", "Selu", "ThresholdedRelu")),
    Operation("HardSwish", opset=14), Operation("Celu", (), {"alpha": 0.7}), Operation("Mish", opset=18),
    *(Operation(op, data=2) for op in ("Add", "Mul", "Sub", "Div", "Max", "Min", "Pow", "Sum", "Mean", "MatMul",
                                       "Greater", "Equal", "Less", "PRelu")),
    *(Operation(op, (f(4, 1, 1),)) for op in ("Add", "Mul", "Sub", "Div", "Max", "Min", "PRelu")),
    Operation("Clip", (np.float32(-1), np.float32(1))), Operation("Clip", (None, np.float32(6))), Operation("Clip"),
    Operation("Conv", (f(6, 4, 3, 3), f(6)), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    Operation("Conv", (f(4, 1, 3, 3),), {"group": 4}), Operation("ConvTranspose", (f(4, 3, 2, 2), f(3))),
    Operation("MatMul", (f(5, 3),)), Operation("Softmax", (), {"axis": 1}), Operation("LogSoftmax"),
    Operation("Hardmax"), Operation("MaxPool", (), {"kernel_shape": [2, 2], "ceil_mode": 1, "strides": [2, 2]}),
    Operation("AveragePool", (), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    Operation("GlobalAveragePool"), Operation("GlobalMaxPool"), Operation("LpPool", (), {"kernel_shape": [2, 2]}),
    *(Operation(op, (), {"axes": [2, 3], "keepdims": 1}) for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2",
                                                                     "ReduceProd", "ReduceSumSquare")),
    Operation("ReduceMean", (i(2, 3),), opset=18), Operation("ReduceSum", (i(1),)),
    Operation("BatchNormalization", (f(4), f(4), f(4), np.abs(f(4)) + 1)), Operation("LRN", (), {"size": 3}),
    Operation("InstanceNormalization", (f(4), f(4))), Operation("LayerNormalization", (f(5), f(5)), opset=17),
    Operation("Pad", (i(0, 0, 1, 1, 0, 0, 1, 1), np.float32(0))), Operation("Transpose", (), {"perm": [0, 2, 3, 1]}),
    Operation("Reshape", (i(0, -1),)), Operation("Flatten"), Operation("Squeeze", (i(0),)),
    Operation("Unsqueeze", (i(0),)),
    Operation("Slice", (i(0, 1), i(2, 4), i(1, 2), i(1, 2))), Operation("Gather", (i(2, 0, 1),), {"axis": 1}),
    Operation("Concat", (), {"axis": 1}, data=2), Operation("Concat", (f(1, 4, 5, 5),), {"axis": -1}),
    Operation("DepthToSpace", (), {"blocksize": 2}), Operation("Tile", (i(1, 2, 1, 1),)),
    Operation("Expand", (i(2, 4, 5, 5),)),
    Operation("Resize", (None, np.array([1, 1, 2, 2], np.float32)), {"mode": "nearest"}),
    Operation("Resize", (None, np.array([1, 1, 2, 2], np.float32)), {"mode": "linear"}),
    Operation("Cast", (), {"to": TensorProto.INT8}), Operation("Cast", (), {"to": TensorProto.FLOAT16}),
    Operation("CumSum", (i(1),)), Operation("TopK", (i(2),)), Operation("ArgMax", (), {"axis": 1}),
    Operation("Shape"), Operation("Dropout"),
    Operation("GatherElements", (np.zeros((1, 4, 5, 2), np.int64),), {"axis": 3}),
    Operation("QuantizeLinear", (np.float32(0.1), np.int8(3))), Operation("QuantizeLinear", (np.float32(0.1),)),
    Operation("QuantizeLinear", (np.float32(0.1), np.uint8(3)), opset=23), Operation("DynamicQuantizeLinear"),
    Operation("Einsum", (f(5, 3),), {"equation": "abcd,de->abce"}), Operation("Trilu", opset=14),
    Operation("ScatterElements", (np.zeros((1, 1, 1, 1), np.int64), f(1, 1, 1, 1)), {"axis": 2}),
    Operation("Where"), Operation("CastLike", (np.int8(1),), opset=15), Operation("Gelu", opset=20),
    Operation("Size"),
    *(Operation(op) for op in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sin", "Sinh", "Tan", "IsInf",
                               "GlobalLpPool", "LpNormalization", "MeanVarianceNormalization", "ReduceL1",
                               "ReduceLogSum", "ReduceLogSumExp", "Shrink", "BitwiseNot")),
    *(Operation(op, data=2) for op in ("GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr",
                                       "BitwiseXor", "Mod")),
    Operation("BitShift", (), {"direction": "LEFT"}, data=2), Operation("ArgMin", (), {"axis": 1}),
    Operation("GroupNormalization", (f(4), f(4)), {"num_groups": 2}, opset=21),
    Operation("RMSNormalization", (f(5),), opset=23),
    Operation("SpaceToDepth", (), {"blocksize": 5}), Operation("Split", (i(1, 3),), {"axis": 1}),
    Operation("Swish", opset=24),
    Operation("Gemm", (f(5, 3), f(3)), shape=(2, 5)), Operation("Gemm", (f(3, 5), f(3)), {"transB": 1}, shape=(2, 5)),
    Operation("LSTM", (f(1, 12, 5), f(1, 12, 3)), {"hidden_size": 3}, shape=(2, 1, 5)),
    Operation("GRU", (f(1, 9, 5), f(1, 9, 3)), {"hidden_size": 3}, shape=(2, 1, 5)),
    Operation("RNN", (f(1, 3, 5), f(1, 3, 3)), {"hidden_size": 3}, shape=(2, 1, 5)),
    Operation("BiasGelu", (f(5),), domain=MICROSOFT), Operation("FastGelu", (f(5),), domain=MICROSOFT),
    Operation("Gelu", domain=MICROSOFT), Operation("QuickGelu", (), {"alpha": 1.702}, domain=MICROSOFT),
    Operation("FusedConv", (f(6, 4, 3, 3), f(6)), {"activation": "Relu"}, domain=MICROSOFT),
    Operation("FusedGemm", (f(5, 3), f(3)), {"activation": "Relu"}, domain=MICROSOFT, shape=(2, 5)),
    Operation("FusedMatMul", (f(5, 3),), {"alpha": 0.5}, domain=MICROSOFT),
    Operation("DynamicQuantizeMatMul", (np.ones((5, 3), np.int8), np.float32(0.1), np.int8(0)), domain=MICROSOFT),
    Operation("QuantizeLinear", (np.float32(0.1), np.int8(3)), domain=MICROSOFT), Operation("DequantizeLinear"),
]  # fmt: skip
QUANTIZED = [op for op in FLOATS if op.op not in (
    "Shape", "ArgMax", "Cast", "TopK", "Where", "Not", "IsNaN", "Equal", "Greater", "Less", "DynamicQuantizeLinear",
    "QuantizeLinear", "CastLike", "Size", "IsInf", "ArgMin", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor",
    "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "DequantizeLinear",
) and len(op.shape) == 4]  # fmt: skip
WHOLE = ("Relu", "Abs", "Neg", "Sign", "Identity", "Add", "Mul", "Sub", "Div", "Max", "Min", "MatMul", "Clip", "Equal",
         "Transpose", "Reshape", "Flatten", "Squeeze", "Slice", "Gather", "Concat", "Tile", "Expand", "Pad", "ArgMax",
         "CumSum", "ReduceSum", "ReduceMax", "ReduceMin", "MaxPool", "Cast", "Where", "Pow", "Sum", "Less",
         "TopK", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "Mod", "ArgMin", "Size", "Split",
         "CastLike", "And", "Not", "Or", "Xor")  # fmt: skip


# Models: one or two operations in one of four forms.


def model(rng: random.Random) -> onnx.ModelProto:
    """A small model. It may be one that no runtime takes."""
    return rng.choice((in_floats, in_floats, in_integers, quantized, quantized, qoperators))(rng)


def in_floats(rng: random.Random) -> onnx.ModelProto:
    return built([rng.choice(FLOATS) for _ in range(rng.choice((1, 1, 2)))], np.dtype(np.float32), rng)


def in_integers(rng: random.Random) -> onnx.ModelProto:
    kind = np.dtype(rng.choice(("int8", "uint8", "int32", "int64", "uint64", "int16", "float16", "float64")))
    return built([rng.choice([op for op in FLOATS if op.op in WHOLE]) for _ in range(rng.choice((1, 2)))], kind, rng)


def built(operations: list[Operation], kind: np.dtype, rng: random.Random) -> onnx.ModelProto:
    nodes, held, name = [], [], "x"
    if any(len(operation.shape) != 4 for operation in operations):
        del operations[1:]
    for number, operation in enumerate(operations):
        steps, kept = step(operation, name, f"t{number}", kind)
        nodes, held, name = [*nodes, *steps], [*held, *kept], f"t{number}"
    return whole(nodes, held, kind, name, max(op.opset for op in operations), rng, operations[0].shape)


def step(operation: Operation, name: str, output: str, kind: np.dtype) -> tuple[list, list]:
    """A node behind a tensor, with its constants."""
    inputs, held = [name, "m"][: operation.data], []
    if operation.op == "Where":
        inputs, operation = ["c", name, "m"], operation._replace(data=2)
    for number, array in enumerate(operation.held):
        inputs.append("" if array is None else f"{output}_{number}")
        if array is not None:
            own = np.asarray(array)
            kept = ("Resize", "QuantizeLinear", "DynamicQuantizeMatMul")
            typed = own.astype(kind) if own.dtype == np.float32 and operation.op not in kept else own
            held.append(numpy_helper.from_array(typed, inputs[-1]))
    outputs = [output, f"{output}_i"] if operation.op in ("TopK", "Split") else [output]
    if operation.op == "DynamicQuantizeLinear":
        outputs += [f"{output}_s", f"{output}_z"]
    return [helper.make_node(operation.op, inputs, outputs, domain=operation.domain, **operation.attributes)], held


def whole(
    nodes: list, held: list, kind: np.dtype, last: str, opset: int, rng: random.Random, shape: Shape = IMAGE
) -> onnx.ModelProto:
    read = {name for node in nodes for name in node.input}
    number = helper.np_dtype_to_tensor_dtype(kind)
    kinds = {"x": number, "m": number, "c": TensorProto.BOOL}
    inputs = [helper.make_tensor_value_info(name, kinds[name], shape) for name in kinds if name in read]
    nodes[-1].output[list(nodes[-1].output).index(last)] = "y"
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name="y")], held)
    opset = max(opset, rng.choice((13, 13, 17, 21, 23)))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def scaled(name: str, kind: type, rng: random.Random) -> tuple[list, list[str]]:
    """Constants of a scale and a zero-point."""
    zero = rng.choice((0, 0, 3)) if kind is not np.int32 else 0
    arrays = [np.float32(rng.choice((0.05, 0.1, 0.5, 1.0))), kind(zero)]
    names = [f"{name}_s", f"{name}_z"]
    return [numpy_helper.from_array(np.asarray(a), n) for a, n in zip(arrays, names, strict=True)], names


def quantized(rng: random.Random) -> onnx.ModelProto:
    """Operations between DequantizeLinear and QuantizeLinear; integers are inputs or come from floats."""
    kind = rng.choice((np.int8, np.uint8, np.int16, np.uint16)) if rng.random() < 0.3 else np.int8
    nodes, held, name = [], [], "x"
    whole_inputs = rng.random() < 0.5
    opset = 21 if kind in (np.int16, np.uint16) else 13
    for number in range(rng.choice((1, 1, 2))):
        operation = rng.choice(QUANTIZED)
        opset = max(opset, operation.opset)
        more, names = scaled(f"a{number}", kind, rng)
        held += more
        if number == 0 and not whole_inputs:
            nodes.append(helper.make_node("QuantizeLinear", [name, *names], ["x_q"]))
            name = "x_q"
        nodes.append(helper.make_node("DequantizeLinear", [name, *names], [f"r{number}"]))
        steps, kept = step(operation, f"r{number}", f"w{number}", np.dtype(np.float32))
        if operation.data == 2:
            nodes.append(helper.make_node("DequantizeLinear", ["m", *names], [f"m{number}"]))
            steps[0].input[1] = f"m{number}"
        if kept and operation.op in ("Conv", "ConvTranspose", "MatMul") and kept[0].data_type == TensorProto.FLOAT:
            array = numpy_helper.to_array(kept[0])
            kept[0] = numpy_helper.from_array(np.clip(np.rint(array * 50), -127, 127).astype(np.int8), f"w{number}_q")
            kept += [numpy_helper.from_array(np.float32(0.02), f"w{number}_s"),
                     numpy_helper.from_array(np.int8(0), f"w{number}_z")]  # fmt: skip
            nodes.append(helper.make_node("DequantizeLinear", [f"w{number}_{e}" for e in "qsz"], [f"w{number}_0"]))
        after, names = scaled(f"b{number}", kind, rng)
        nodes += [*steps, helper.make_node("QuantizeLinear", [f"w{number}", *names], [f"q{number}"])]
        held, name = [*held, *kept, *after], f"q{number}"
    file = whole(nodes, held, np.dtype(kind), name, opset, rng)
    if not whole_inputs:
        for value in file.graph.input:
            if value.name == "x":
                value.type.tensor_type.elem_type = TensorProto.FLOAT
    return file


QOPERATORS = (
    *("QLinearConv", "QLinearMatMul", "QGemm", "QLinearAdd", "QLinearMul", "QLinearSigmoid", "MatMulInteger"),
    *("QLinearLeakyRelu", "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearConcat", "ConvInteger"),
    *("QLinearWhere", "MatMulIntegerToFloat", "QLinearSoftmax"),
)


def qoperators(rng: random.Random) -> onnx.ModelProto:
    """One QOperator, or an operator that computes with integers."""
    kind = rng.choice((np.int8, np.uint8))
    held: list = []

    def s(name: str) -> list[str]:
        more, names = scaled(name, kind, rng)
        held.extend(more)
        return names

    def weight(*shape: int) -> str:
        held.append(numpy_helper.from_array(np.clip(f(*shape) * 60, -127, 127).astype(np.int8), "w"))
        held.append(numpy_helper.from_array(np.float32(0.02), "w_s"))
        held.append(numpy_helper.from_array(np.int8(0), "w_z"))
        return "w"

    a = s("a")
    op = rng.choice(QOPERATORS)
    domain = "" if op in ("QLinearConv", "QLinearMatMul", "MatMulInteger", "ConvInteger") else MICROSOFT
    attributes: dict[str, object] = {}
    if op in ("QLinearConv", "ConvInteger"):
        weight(6, 4, 3, 3)
        inputs = ["x", *a, "w", "w_s", "w_z", *s("b")] if op == "QLinearConv" else ["x", "w", a[1]]
        attributes = {"pads": [1, 1, 1, 1]}
    elif op in ("QLinearMatMul", "MatMulInteger", "MatMulIntegerToFloat"):
        weight(5, 3)
        inputs = {
            "QLinearMatMul": ["x", *a, "w", "w_s", "w_z", *s("b")],
            "MatMulInteger": ["x", "w", a[1]],
            "MatMulIntegerToFloat": ["x", "w", a[0], "w_s", a[1], "w_z"],
        }[op]
    elif op == "QGemm":
        weight(5, 3)
        inputs = ["t", *a, "w", "w_s", "w_z", "", *s("b")]
    elif op in ("QLinearAdd", "QLinearMul"):
        inputs = ["x", *a, "m", *s("c"), *s("b")]
    elif op == "QLinearWhere":
        inputs = ["c", "x", *a, "m", *s("d"), *s("b")]
    elif op == "QLinearConcat":
        inputs, attributes = [*s("b"), "x", *a, "m", *s("d")], {"axis": 1}
    else:
        inputs = ["x", *a, *s("b")]
        attributes = {
            "QLinearLeakyRelu": {"alpha": 0.1}, "QLinearAveragePool": {"kernel_shape": [2, 2]},
            "QLinearSoftmax": {"opset": 13, "axis": 1},
        }.get(op, {})  # fmt: skip
    nodes = [helper.make_node(op, inputs, ["q"], domain=domain, **attributes)]
    if op == "QGemm":
        held.append(numpy_helper.from_array(i(-1, 5), "shape"))
        nodes.insert(0, helper.make_node("Reshape", ["x", "shape"], ["t"]))
    return whole(nodes, held, np.dtype(kind), "q", 13, rng)


# Changes of one thing.


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


# The runtime.


def session(data: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


EXTREMES = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38, 1e-40, 0.5, -0.5, 127.5, 3.4028235e38)


def drawn(item: onnxruntime.NodeArg, number: int, rng: np.random.Generator) -> Array:
    """Values of an input: random ones, and in odd rounds extreme ones among them."""
    kind = np.dtype({"float": "float32", "double": "float64"}.get(item.type[7:-1], item.type[7:-1]))
    shape = [size if isinstance(size, int) else 1 for size in item.shape]
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    if kind.kind == "f":
        values = rng.normal(0, (1, 10, 1e4)[number % 3], shape)
        extreme = rng.choice(np.array(EXTREMES), shape)
        with np.errstate(over="ignore"):
            return np.where((rng.random(shape) < 0.3) & bool(number % 2), extreme, values).astype(kind)
    info = np.iinfo(kind)
    values = rng.integers(info.min, info.max, shape, kind, endpoint=True)
    ends = [info.min, info.min + 1, 0, 1, info.max, info.max - 1, min(2**53 + 1, info.max)]
    near = rng.choice(np.array(ends, kind), shape)
    return np.where((rng.random(shape) < 0.3) & bool(number % 2), near, values)


def run_pair(old: bytes, new: bytes, seed: int) -> str:
    """How outputs of two models that are called equal compare in ONNX Runtime."""
    first, second = _session(old), _session(new)
    if first is None or second is None:
        return NOT_RUN if first is None else NOT_LOADED
    rng, ends = np.random.default_rng(seed), {EQUAL}
    for number in range(ROUNDS):
        feeds = {item.name: drawn(item, number, rng) for item in first.get_inputs()}
        try:
            before, after = (runtime.run(["y"], feeds)[0] for runtime in (first, second))
        except Exception:
            return NOT_RUN
        ends.add(compared(before, after))
    return next((end for end in ends if end.startswith(DIFFERS)), STEP if STEP in ends else EQUAL)


def _session(data: bytes) -> onnxruntime.InferenceSession | None:
    """None for a model that the runtime does not load."""
    try:
        return session(data)
    except Exception:
        return None


def compared(before: Array, after: Array) -> str:
    """How two results compare: by their bits, but for those of NaN; or by a step of short integers."""
    if before.dtype != after.dtype or before.shape != after.shape:
        return f"{DIFFERS}: {before.dtype} {before.shape}, {after.dtype} {after.shape}"
    alike = before == after
    if before.dtype.kind == "f":
        alike = (alike & (np.signbit(before) == np.signbit(after))) | (np.isnan(before) & np.isnan(after))
    if alike.all():
        return EQUAL
    short = before.dtype.kind in "iu" and before.dtype.itemsize < 4
    if short and abs(before.astype(int) - after.astype(int)).max() == 1:
        return STEP
    return f"{DIFFERS}: {before[~alike].flat[0]}, {after[~alike].flat[0]}"


# The hunt.


class Apart:
    """The runtime in a process of its own, which damaged models may end."""

    def __init__(self) -> None:
        self.pool = ProcessPoolExecutor(1)

    def run_pair(self, old: bytes, new: bytes, seed: int) -> str:
        try:
            return self.pool.submit(run_pair, old, new, seed).result()
        except BrokenProcessPool:
            self.pool = ProcessPoolExecutor(1)
            return NOT_RUN


def hunt(count: int, seed: int, tell: Callable[[str], None] = print) -> Counter[tuple[str, str]]:
    """How many changes of each kind came to which end; those that make a difference are told."""
    counted: Counter[tuple[str, str]] = Counter()
    runtime = Apart()
    for number in range(seed, seed + count):
        rng = random.Random(number)
        old = model(rng)
        kind, new = changed(old, rng)
        before, after = old.SerializeToString(), new.SerializeToString()
        if before == after:
            continue
        try:
            equal = verify(ONNX.load("a.onnx", before), ONNX.load("b.onnx", after)).equal
        except ModelError:
            counted[kind, NOT_LOADED] += 1
            continue
        outcome = runtime.run_pair(before, after, number) if equal else REFUSED
        if outcome.startswith((DIFFERS, STEP)):
            tell(f"{number} {kind}: {outcome} ({', '.join(node.op_type for node in old.graph.node)})")
        counted[kind, outcome.partition(":")[0]] += 1
    runtime.pool.shutdown()
    return counted


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    counted = hunt(args.count, args.seed, lambda line: print(line, flush=True))
    print(f"| change | {' | '.join(OUTCOMES)} |\n|---|{'---|' * len(OUTCOMES)}")
    for kind in CHANGES:
        print(f"| {kind} | {' | '.join(str(counted[kind, outcome]) for outcome in OUTCOMES)} |")
    print(f"| all | {' | '.join(str(sum(counted[kind, end] for kind in CHANGES)) for end in OUTCOMES)} |")
    return int(any(counted[kind, DIFFERS] for kind in CHANGES))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
