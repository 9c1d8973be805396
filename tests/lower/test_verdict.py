"""Who computes a layer, and why: one small model for each fact, and the named cases with a known truth."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxlint_cmsis.analysis.risks import risks
from onnxlint_cmsis.cmsis_nn.library import cost
from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.find_quantization import of_input
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.model.model_error import ModelError
from support import paths
from support.goldens import Told
from support.models import finished, one_node, read, text
from support.quantized_models import CASES, convolution, dense
from support.targets import target_of

CMSIS_NN = (Outcome.CMSIS_NN, None)

EXPECTED: dict[str, tuple[Outcome, Cause | None]] = {
    "plain convolution": CMSIS_NN,
    "weights with a zero-point": (Outcome.NO_KERNEL, Cause.WEIGHT_ZERO_POINT),
    "second convolution with a zero-point": (Outcome.NO_KERNEL, Cause.WEIGHT_ZERO_POINT),
    "int16": CMSIS_NN,
    "int16 with a zero-point": (Outcome.NO_KERNEL, Cause.ZERO_POINT_S16),
    "uint8": CMSIS_NN,
    "dense": CMSIS_NN,
    "dense weights with a zero-point": CMSIS_NN,
    "dense weights of several scales": CMSIS_NN,
    "int16 dense of several scales": (Outcome.NO_KERNEL, Cause.WEIGHT_SCALES),
    "Gemm with factors": CMSIS_NN,
    "Gemm with an alpha below 0": (Outcome.NO_KERNEL, Cause.ATTRIBUTE),
    "average pool of unequal scales": (Outcome.REFERENCE, Cause.UNEQUAL_SCALES),
    "average pool of equal scales": CMSIS_NN,
    "max pool of unequal scales": (Outcome.REFERENCE, Cause.UNEQUAL_SCALES),
    "softmax as the function has it": CMSIS_NN,
    "softmax of another scale": (Outcome.REFERENCE, Cause.SOFTMAX_SCALE),
    "int16 softmax of the quantizer's scale": CMSIS_NN,
    "int16 softmax of another scale": (Outcome.NO_KERNEL, Cause.SOFTMAX_SCALE),
    "clamp of the same scale": CMSIS_NN,
    "clamp of another scale": (Outcome.REFERENCE, Cause.CLAMP_SCALE),
    "constant per position": (Outcome.REFERENCE, Cause.OPERAND_CONSTANT),
    "constant per channel behind a scale": (Outcome.REFERENCE, Cause.OPERAND_CONSTANT),
    "one number": (Outcome.REFERENCE, Cause.OPERAND_CONSTANT),
    "several numbers to divide by": (Outcome.NO_KERNEL, Cause.OPERAND_CONSTANT),
    "float result": (Outcome.NO_KERNEL, Cause.FLOAT_RESULT),
    "change of scale": (Outcome.REFERENCE, Cause.UNEQUAL_SCALES),
    "sigmoid": (Outcome.REFERENCE, Cause.NO_FUNCTION),
    "clamp in a softmax": (Outcome.NO_KERNEL, Cause.CLAMP_SCALE),
    "layer in float": (Outcome.NO_KERNEL, Cause.FLOAT),
    "pad of equal scales": CMSIS_NN,
    "pad of unequal scales": (Outcome.REFERENCE, Cause.UNEQUAL_SCALES),
    "concat of equal scales": CMSIS_NN,
    "concat of unequal scales": (Outcome.REFERENCE, Cause.UNEQUAL_SCALES),
    "grouped": CMSIS_NN,
}
"""What is special about a model, to the verdict on the layer that it is about."""
BEFORE_LAST = ("pad of equal scales", "pad of unequal scales")
"""Models whose layer in question has another behind it."""


@pytest.mark.parametrize("name", CASES)
def test_a_fact_decides_who_computes_a_layer(name: str) -> None:
    record = lower(read(CASES[name]().model())).records[-2 if name in BEFORE_LAST else -1]
    assert (record.verdict, record.cause) == EXPECTED[name]
    assert bool(record.reason) == (record.verdict is not Outcome.CMSIS_NN)
    assert (record.call is None) == (record.verdict is not Outcome.CMSIS_NN)


def only(lowered: Lowered) -> LoweredLayer:
    (record,) = lowered.records
    return record


def test_a_record_knows_the_numbers_of_its_layer() -> None:
    record = only(lower(read(CASES["plain convolution"]().model())))
    (source,) = record.inputs
    assert source is not None
    assert (source.elem_type, source.scale, source.zero_points) == ("int8", pytest.approx(0.1), (0,))
    assert record.weights is not None
    assert (record.weights.scale, record.weights.axis) == (pytest.approx(0.01), 0)
    assert record.output is not None
    assert record.output.scale == pytest.approx(0.2)


@pytest.mark.parametrize(("zero", "known"), [(0, True), (4, False)])
def test_weights_with_a_zero_point_take_instructions_that_were_not_measured(zero: int, known: bool) -> None:
    layer = only(lower(read(dense(zero=zero).model()))).layer
    assert layer is not None
    assert layer.call.weight_offset is not known
    assert (cost(layer.call, target_of("cortex-m4", "7.0.0", "gcc")) is not None) is known


def test_a_clamp_behind_an_equal_scale_is_part_of_the_layer() -> None:
    record = only(lower(read(CASES["clamp of the same scale"]().model())))
    assert [node.op_type for node in record.fused] == ["Relu"]
    assert record.epilogue is not None
    assert [node.op_type for node in record.epilogue.absorbed] == [
        "QuantizeLinear",
        "DequantizeLinear",
        "Relu",
        "QuantizeLinear",
    ]


def test_unsigned_integers_count_from_minus_128() -> None:
    graph = read(CASES["uint8"]().model())
    conv = next(node for node in graph.nodes if node.op_type == "Conv")
    quantization = of_input(graph, conv, 0)
    assert quantization is not None
    assert (quantization.zero_points, quantization.signed_zero_points) == ((128,), (0,))


def test_a_scale_of_zero_is_refused() -> None:
    model = CASES["plain convolution"]().model()
    for tensor in model.graph.initializer:
        if tensor.name == "x_dq_scale":
            tensor.CopyFrom(numpy_helper.from_array(np.array(0, np.float32), tensor.name))
    record = only(lower(read(model)))
    assert (record.verdict, record.cause) == (Outcome.NO_KERNEL, Cause.SCALE)


def test_a_zero_point_that_is_no_number_is_not_known() -> None:
    model = CASES["plain convolution"]().model()
    for tensor in model.graph.initializer:
        if tensor.name == "x_dq_zero":
            tensor.CopyFrom(numpy_helper.from_array(np.array(np.nan, np.float16), tensor.name))
    (source,) = only(lower(read(model))).inputs
    assert source is not None
    assert source.zero_points is None


@pytest.mark.parametrize(
    ("attribute", "values"),
    [("strides", [1]), ("pads", [1, 1, 1]), ("dilations", [1, 1, 1]), ("kernel_shape", [3]), ("strides", [0, 1])],
)
@pytest.mark.parametrize("op_type", ["Conv", "ConvTranspose", "MaxPool"])
def test_lists_of_a_wrong_length_are_refused(op_type: str, attribute: str, values: list[int]) -> None:
    weights = {} if op_type == "MaxPool" else {"w": (4, 4, 3, 3)}
    attributes: dict[str, object] = {"kernel_shape": [3, 3], attribute: values}
    node = helper.make_node(op_type, ["x", *weights], ["y"], "n", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 4, 8, 8])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(np.zeros(shape, np.float32), name) for name, shape in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    record = only(lower(read(model)))
    assert (record.verdict, record.cause) == (Outcome.NO_KERNEL, Cause.ATTRIBUTE)
    assert attribute in record.reason


@pytest.mark.parametrize(
    ("attributes", "bias", "reason"),
    [({"transA": 1}, None, "its transA is set"), ({}, (4, 5), "its C is not one number for each output channel")],
)
def test_a_gemm_that_is_no_fully_connected_layer_is_refused(
    attributes: dict[str, int], bias: tuple[int, ...] | None, reason: str
) -> None:
    weights = {"w": (3, 5), **({"c": bias} if bias else {})}
    model = one_node("Gemm", [3, 4] if attributes else [4, 3], weights, **attributes)
    assert only(lower(read(model))).reason.startswith(reason)


@pytest.mark.parametrize("op_type", ["Add", "Mul", "Sub", "Div"])
@pytest.mark.parametrize(("shape", "fused"), [((1, 4, 1, 1), True), ((), True), ((1, 4, 8, 8), False)])
def test_a_constant_behind_a_convolution_vanishes_only_with_one_number_per_channel(
    op_type: str, shape: tuple[int, ...], fused: bool
) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node(op_type, ["a", "k"], ["y"]),
    ]
    constants = {"w": np.zeros((4, 4, 3, 3), np.float32), "k": np.ones(shape, np.float32)}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 4, 8, 8])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    operators = [record.node.op_type for record in lower(read(finished(graph))).records]
    assert operators == (["Conv"] if fused else ["Conv", op_type])


@pytest.mark.parametrize("pool", ["MaxPool<kernel_shape = [8, 8]>", "GlobalAveragePool", "GlobalMaxPool"])
def test_a_pool_of_int16_takes_any_zero_point(pool: str) -> None:
    source = f"""<ir_version: 10, opset_import: ["" : 21]>
    g (int16[1, 4, 8, 8] x) => (int16[1, 4, 1, 1] y) <float s = {{0.1}}, int16 z = {{12}}> {{
        a = DequantizeLinear(x, s, z)
        b = {pool}(a)
        y = QuantizeLinear(b, s, z)
    }}"""
    record = only(lower(read(text(source))))
    assert (record.verdict, record.cause) == CMSIS_NN


def shared(name: str) -> Lowered:
    path = paths.SHARED / "cases" / f"{name}.onnx"
    if not path.exists():
        pytest.skip(f"needs {path.name} in a folder `shared` beside the project")
    return lower(load(str(path)))


@pytest.mark.parametrize(
    ("name", "op_type", "verdict", "cause", "count"),
    [
        ("torch/dscnn_u8u8", "Conv", Outcome.NO_KERNEL, Cause.WEIGHT_ZERO_POINT, 5),
        ("torch/dscnn_asym", "Conv", Outcome.NO_KERNEL, Cause.WEIGHT_ZERO_POINT, 5),
        ("torch/dscnn_a16", "Conv", Outcome.NO_KERNEL, Cause.ZERO_POINT_S16, 9),
        ("torch/dscnn_def", "GlobalAveragePool", Outcome.REFERENCE, Cause.UNEQUAL_SCALES, 1),
        ("torch/dscnn_def", "Softmax", Outcome.REFERENCE, Cause.SOFTMAX_SCALE, 1),
        ("torch/unet_def", "Concat", Outcome.REFERENCE, Cause.UNEQUAL_SCALES, 2),
        ("torch/dscnn_dynq", "ConvInteger", Outcome.NO_KERNEL, Cause.DYNAMIC_QUANTIZATION, 9),
        ("torch/dscnn_a16sym", "Gemm", Outcome.NO_KERNEL, Cause.WEIGHT_SCALES, 1),
        ("torch/dscnn_qop", "QLinearGlobalAveragePool", Outcome.REFERENCE, Cause.UNEQUAL_SCALES, 1),
        ("small/conv_add_then_conv", "Add", Outcome.REFERENCE, Cause.OPERAND_CONSTANT, 1),
        ("small/add_same", "Add", Outcome.REFERENCE, Cause.OPERAND_CONSTANT, 1),
        ("small/conv_addpos", "Add", Outcome.REFERENCE, Cause.OPERAND_CONSTANT, 1),
        ("small/conv_mulpos", "Mul", Outcome.REFERENCE, Cause.OPERAND_CONSTANT, 1),
        ("small/mulpos_only", "Mul", Outcome.REFERENCE, Cause.OPERAND_CONSTANT, 1),
        ("small/gemm_transA", "Gemm", Outcome.NO_KERNEL, Cause.ATTRIBUTE, 1),
        ("small/gemm_biasmat", "Gemm", Outcome.NO_KERNEL, Cause.ATTRIBUTE, 1),
        ("small/pad21", "Pad", Outcome.CMSIS_NN, None, 1),
        ("small/l_causal", "Pad", Outcome.CMSIS_NN, None, 1),
    ],
)
def test_named_cases(name: str, op_type: str, verdict: Outcome, cause: Cause | None, count: int) -> None:
    records = [record for record in shared(name).records if record.node.op_type == op_type and record.cause is cause]
    assert [record.verdict for record in records] == [verdict] * count


@pytest.mark.parametrize("name", ["pad12", "pad2d"])
def test_a_pad_that_is_taken_over_makes_the_call_of_padding_in_the_convolution(name: str) -> None:
    (inside,), (before,) = (shared(f"small/{exporter}_{name}").layers for exporter in "dl")
    assert inside.call == before.call
    assert (len(inside.folded), len(before.folded)) == (0, 1)


def test_a_pad_that_no_kernel_can_take_over_stays_a_layer() -> None:
    pad, conv = shared("small/l_causal").layers
    assert (pad.call.entry, conv.folded) == ("pad_s8", ())


def test_amounts_of_a_pad_that_follow_from_constants_are_constants() -> None:
    constants = {"shape": [4], "front": [0, 0, 2, 2], "order": [2, -1], "last": [-1], "least": [-(1 << 63)]}
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["back"], value=numpy_helper.from_array(np.array([1]))),
        helper.make_node("Concat", ["front", "back"], ["all"], axis=0),
        helper.make_node("Reshape", ["all", "order"], ["pairs"]),
        helper.make_node("Transpose", ["pairs"], ["turned"], perm=[1, 0]),
        helper.make_node("Transpose", ["turned"], ["again"], perm=[1, 0]),
        helper.make_node("Reshape", ["again", "last"], ["flat"]),
        helper.make_node("Cast", ["flat"], ["amounts"], to=onnx.TensorProto.INT64),
        helper.make_node("Pad", ["x", "amounts"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 4, 8, 8])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in constants.items()],
    )
    loaded = read(finished(graph))
    assert loaded.constants["amounts"].values() == (0, 0, 2, 2, 1, 1, 1, 1)
    (layer,) = lower(loaded).layers
    assert layer.call.output_dims == (2, 11, 11, 5)


WIDENED = """
g (SOURCE[2, 5] x) => (int16[2, 5] y)
<float s = {0.1}, SOURCE z = {ZERO}, float t = {SCALE}, int16 u = {POINT}> {
    a = DequantizeLinear(x, s, z)
    b = Softmax<axis = AXIS>(a)
    y = QuantizeLinear(b, t, u)
}
"""
"""A softmax whose input has 8 bits and whose output has 16."""


def widened(scale: float, point: int, source: str = "int8", axis: int = 1) -> LoweredLayer:
    words = {"SOURCE": source, "ZERO": "128" if source == "uint8" else "0", "SCALE": f"{scale:.12g}"}
    text = WIDENED
    for name, value in {**words, "POINT": str(point), "AXIS": str(axis)}.items():
        text = text.replace(name, value)
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]>{text}')
    return only(lower(read(model)))


@pytest.mark.parametrize("source", ["int8", "uint8"])
def test_a_softmax_from_eight_bits_to_sixteen_has_a_function(source: str) -> None:
    record = widened(1 / 65536, -32768, source)
    assert record.verdict is Outcome.CMSIS_NN
    assert record.call is not None
    assert record.call.entry == "softmax_s8_s16"


@pytest.mark.parametrize(("scale", "point"), [(1 / 32768, 0), (1 / 65536, 0), (1 / 32768, -32768)])
def test_its_output_has_one_scale_and_zero_point(scale: float, point: int) -> None:
    record = widened(scale, point)
    assert (record.verdict, record.cause) == (Outcome.NO_KERNEL, Cause.SOFTMAX_SCALE)
    assert record.reason.endswith("not 1/65536 and -32768")


def test_plain_code_does_not_widen() -> None:
    record = widened(1 / 65536, -32768, axis=0)
    assert (record.verdict, record.cause) == (Outcome.NO_KERNEL, Cause.ACTIVATION_TYPE)


def test_a_transpose_of_an_axis_that_is_not_there_is_no_model() -> None:
    graph = helper.make_graph(
        [helper.make_node("Transpose", ["x"], ["y"], perm=[0, -9, 2, 1])], "g",
        [helper.make_tensor_value_info("x", 1, [1, 4, 5, 6])], [helper.make_tensor_value_info("y", 1, None)],
    )  # fmt: skip
    with pytest.raises(ModelError, match="names axis -9"):
        read(helper.make_model(graph))


def test_a_scale_is_what_keeps_a_clamp_out_only_of_a_function_that_clamps(told: Told) -> None:
    """Behind reference code, or where another node reads the result as well, one scale would change nothing."""
    behind_plain = convolution().layer("Sigmoid").rounded(1 / 256, -128).layer("Relu").rounded(0.01)
    branches = convolution()
    other = branches.real
    branches.layer("Relu").rounded(0.01).layer("Add", other).rounded(0.3)
    for built in (behind_plain, branches):
        records = lower(read(built.model())).records
        (relu,) = [record for record in records if record.node.op_type == "Relu"]
        assert (relu.verdict, relu.cause) == (Outcome.REFERENCE, Cause.NO_FUNCTION)
        told(relu.reason)


@pytest.mark.parametrize("op_type", ["QuantizeLinear", "Cast", "Div", "Conv"])
def test_readers_without_operands_are_no_error(op_type: str) -> None:
    """A node without outputs reads a result and a Pad, one without inputs stands beside them."""
    built = convolution()
    model = built.model()
    for node in (helper.make_node(op_type, [built.nodes[2].output[0]], []), helper.make_node(op_type, [], ["lost"])):
        model.graph.node.append(node)
    graph = read(model)
    assert lower(graph).records
    assert isinstance(risks(graph), list)


ISLAND = """
g (int8[1, 8, 6, 6] x) => (int8[1, 8, 6, 6] y)
<float s = {0.1}, int8 z = {0}> {
    a = DequantizeLinear(x, s, z)
    v = DequantizeLinear(k, s, z)
    c = Conv(a, v)
    q = QuantizeLinear(c, s, z)
    d = DequantizeLinear(q, s, z)
    f = Conv(d, w)
    r = Relu(f)
    t = Tanh(r)
    y = QuantizeLinear(t, s, z)
}
"""


@pytest.mark.parametrize(
    ("assume", "entries"),
    [("s8", ["convolve_s8"]), ("f32", ["convolve_s8", "convolve_f32", "activation_f32"]),
     ("f16", ["convolve_s8", "convolve_f16", "activation_f16"])],
)  # fmt: skip
def test_what_stays_float_in_a_quantized_model_goes_to_functions_for_floats(assume: str, entries: list[str]) -> None:
    model = text(f'<ir_version: 8, opset_import: ["" : 17]> {ISLAND}')
    model.graph.initializer.append(numpy_helper.from_array(np.ones((8, 8, 1, 1), np.int8), "k"))
    model.graph.initializer.append(numpy_helper.from_array(np.ones((8, 8, 1, 1), np.float32), "w"))
    lowered = lower(read(model), assume)
    called = [record for record in lowered.records if record.verdict is Outcome.CMSIS_NN]
    assert [record.layer.call.entry for record in called if record.layer] == entries
    refused = [record.cause for record in lowered.records if record.verdict is Outcome.NO_KERNEL]
    assert refused == ([Cause.FLOAT_RESULT, Cause.FLOAT, Cause.FLOAT] if assume == "s8" else [])
    if assume != "s8":
        floating = called[1].layer.call.floating if called[1].layer else None
        assert floating is not None
        assert floating.clamped
