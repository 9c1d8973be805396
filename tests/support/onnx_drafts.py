"""Random ONNX models of one or two operations: in floats, in integers, between QDQ nodes, or as a QOperator."""

from __future__ import annotations

import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from support.onnx_operations import FLOATS, IMAGE, MICROSOFT, QUANTIZED, WHOLE, Operation, Shape, f, i


def model(rng: random.Random) -> onnx.ModelProto:
    """A small model. It may be one that no runtime takes."""
    return rng.choice((in_floats, in_floats, in_integers, quantized, quantized, qoperators))(rng)


def in_floats(rng: random.Random) -> onnx.ModelProto:
    kind = np.dtype(rng.choice((np.float16, *[np.float32] * 9)))
    return built([rng.choice(FLOATS) for _ in range(rng.choice((1, 1, 2)))], kind, rng)


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
