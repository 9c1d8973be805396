"""Types of results and versions of operators, held against ONNX Runtime and ONNX's schemas."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import defs, helper, numpy_helper

from onnxlint_cmsis.formats.format import ONNX
from onnxlint_cmsis.formats.onnx.attributes import plain
from onnxlint_cmsis.formats.onnx.same_versions import SAME_MEANING, since
from onnxlint_cmsis.formats.onnx.signatures import result_types, schema

MICROSOFT = "com.microsoft"
HELD = {
    "s": np.float32(0.1), "z": np.uint8(3), "n": np.int8(1), "h": np.float16(0.1),
    "w": np.ones((4, 4), np.int8), "k": np.ones((4, 4, 1, 1), np.int8),
}  # fmt: skip
U, B, F = ("uint8", [1, 4]), ("int8", [1, 4]), ("float32", [1, 4])
IMAGE, CHOICE = ("uint8", [1, 4, 2, 2]), ("bool", [1, 4])
Result = tuple[str, str, int, str, str, dict[str, object]]
RESULTS: dict[str, Result] = {
    "QGemm with a zero-point": ("uint8", MICROSOFT, 13, "QGemm", "u s z w s n - s z", {}),
    "QGemm without one": ("float32", MICROSOFT, 13, "QGemm", "u s z w s n - s", {}),
    "QGemm without a scale": ("float32", MICROSOFT, 13, "QGemm", "u s z w s n", {}),
    "QLinearConv": ("uint8", "", 13, "QLinearConv", "i s z k s n s z", {}),
    "MatMulIntegerToFloat": ("float32", MICROSOFT, 13, "MatMulIntegerToFloat", "u w s s z n", {}),
    "DynamicQuantizeMatMul": ("float32", MICROSOFT, 13, "DynamicQuantizeMatMul", "f w s n", {}),
    "QLinearAdd": ("uint8", MICROSOFT, 13, "QLinearAdd", "u s z u s z s z", {}),
    "QLinearConcat": ("uint8", MICROSOFT, 13, "QLinearConcat", "s z u s z", {"axis": 1}),
    "QLinearWhere": ("uint8", MICROSOFT, 13, "QLinearWhere", "c u s z u s z s z", {}),
    "QLinearSigmoid": ("uint8", MICROSOFT, 13, "QLinearSigmoid", "u s z s z", {}),
    "QuantizeLinear without a zero-point": ("uint8", "", 13, "QuantizeLinear", "f s", {}),
    "QuantizeLinear with one": ("int8", "", 13, "QuantizeLinear", "f s n", {}),
    "output_dtype": ("int8", "", 21, "QuantizeLinear", "f s", {"output_dtype": 3}),
    "QuantizeLinear of ONNX Runtime": ("int8", MICROSOFT, 13, "QuantizeLinear", "f s n", {}),
    "a scale of another type": ("float16", "", 21, "DequantizeLinear", "b h", {}),
    "DequantizeLinear of ONNX Runtime": ("float32", MICROSOFT, 13, "DequantizeLinear", "b s n", {}),
    "ConvInteger": ("int32", "", 13, "ConvInteger", "i k z", {}),
    "MatMulInteger": ("int32", "", 13, "MatMulInteger", "u w z", {}),
    "Cast": ("int16", "", 13, "Cast", "f", {"to": 5}),
    "CastLike": ("int8", "", 15, "CastLike", "f n", {}),
    "DynamicQuantizeLinear": ("uint8", "", 13, "DynamicQuantizeLinear", "f", {}),
    "Shape": ("int64", "", 13, "Shape", "f", {}),
    "Where": ("float32", "", 16, "Where", "c f f", {}),
}
"""Type, domain, operator set, operator, inputs and attributes."""


def model_of(case: Result) -> onnx.ModelProto:
    _, domain, opset, op, inputs, attributes = case
    names = [name.replace("-", "") for name in inputs.split()]
    given = {"u": U, "b": B, "f": F, "i": IMAGE, "c": CHOICE}
    outputs = ["y", "a", "b2"] if op == "DynamicQuantizeLinear" else ["y"]
    node = helper.make_node(op, names, outputs, domain=domain, **attributes)
    ends = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(given[name][0])), given[name][1])
        for name in dict.fromkeys(names)
        if name in given
    ]
    held = [numpy_helper.from_array(np.asarray(HELD[name]), name) for name in dict.fromkeys(names) if name in HELD]
    graph = helper.make_graph([node], "g", ends, [onnx.ValueInfoProto(name="y")], held)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


@pytest.mark.parametrize("case", RESULTS.values(), ids=RESULTS)
def test_the_type_of_a_result_is_that_of_onnx_runtime(case: Result) -> None:
    data = model_of(case).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(data, options)
    kinds = {"tensor(float)": "float32"}
    feeds = {item.name: np.ones(item.shape, kinds.get(item.type, item.type[7:-1])) for item in session.get_inputs()}
    assert session.run(["y"], feeds)[0].dtype.name == case[0]
    graph = ONNX.load("m.onnx", data).graph
    (node,) = graph.nodes
    given = [graph.elem_type(name) if name else None for name in node.inputs]
    types = result_types((node.domain, node.op_type), node.opset, node.attributes, given, len(node.outputs))
    assert types[0] == graph.elem_type("y") == case[0]


def test_precisions_and_types_that_disagree_are_no_type() -> None:
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], output_dtype=2)
    given = ["float32", "float32", "int8"]
    assert result_types(("", "QuantizeLinear"), 21, plain(node.attribute), given, 1) == [""]


@pytest.mark.parametrize("opset", [13, 21, 23])
def test_an_option_of_a_later_version_is_none(opset: int) -> None:
    types = result_types(("", "DequantizeLinear"), opset, {"output_dtype": 10}, ["int8", "float32", "int8"], 1)
    assert types == ["float16" if opset >= 23 else ""]


def test_nothing_is_known_of_operator_sets_that_onnx_does_not_know() -> None:
    assert result_types(("", "Relu"), 999, {}, ["float32"], 1) == [""]
    assert since("", "Relu", 999) == 999


OPTIONAL = defs.OpSchema.FormalParameterOption.Optional
SAME_OPTIONS = [(name, versions) for name, rows in SAME_MEANING.items() for versions in rows]


@pytest.mark.parametrize(("name", "versions"), SAME_OPTIONS, ids=str)
def test_versions_that_mean_the_same_have_the_same_inputs_and_defaults(name: str, versions: tuple[int, ...]) -> None:
    """Options that a later version adds may be left out, and do what the earlier one does."""
    known = [version for version in versions if version <= defs.onnx_opset_version()]
    assert len(known) == 1 or [*known] == sorted({*known})
    for older, newer in itertools.pairwise(known):
        before, after = schema("", name, older), schema("", name, newer)
        assert before is not None and after is not None
        assert (before.since_version, after.since_version) == (older, newer)
        count = len(before.inputs)
        pairs = zip(before.inputs, after.inputs, strict=False)
        assert len(after.inputs) >= count and all(new.option in (old.option, OPTIONAL) for old, new in pairs)
        assert all(item.option == OPTIONAL for item in after.inputs[count:])
        for option, told_ in before.attributes.items():
            kept = after.attributes.get(option)
            assert kept is None or kept.type == told_.type, option
            assert kept is None or str(kept.default_value) == str(told_.default_value), option
        assert not any(item.required for option, item in after.attributes.items() if option not in before.attributes)


def test_the_version_is_the_first_that_means_the_same() -> None:
    assert [since("", "Softmax", opset) for opset in (7, 11, 12, 13, 20)] == [1, 1, 1, 13, 13]
    assert [since("", "Relu", opset) for opset in (6, 13, 14, 21)] == [6, 6, 6, 6]
    assert since("com.microsoft", "QGemm", 1) == 1
