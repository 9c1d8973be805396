"""Sizes: batch and given shapes, inference, what the file states, and operators inference does not know."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import onnxruntime
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from onnxlint_cmsis.model.model_error import ModelError
from support.draws import draws
from support.read_models import FLOAT, conv_model, model, read, tensor, value
from support.versions import since

INT64, INT8, UINT8 = TensorProto.INT64, TensorProto.INT8, TensorProto.UINT8
X = value("x", ["N", 4, 8, 8])
rounds_pools_up = since("onnxruntime", (1, 23), "this ONNX Runtime lets a window begin behind the padding")


def run(nodes, inputs, initializers=(), **options):
    """Graph of a model that gives out what its last node makes."""
    output = value(nodes[-1].output[0], None)
    output.type.tensor_type.ClearField("elem_type")
    outputs = [helper.make_empty_tensor_value_info(nodes[-1].output[0])]
    proto = model(
        nodes, inputs, outputs, initializers, **{k: options.pop(k) for k in ("opset", "opsets") if k in options}
    )
    return read(proto, **options)


def relu(*shape):
    return run([helper.make_node("Relu", ["x"], ["y"])], [value("x", shape)]).shape("y")


@pytest.mark.parametrize(
    ("shape", "becomes"),
    [
        (("N", 3, 4, 5), (1, 3, 4, 5)),
        ((None, 3), (1, 3)),
        (("N",), (None,)),
        ((2, "W"), (2, None)),
        (("N", "N", "M"), (1, 1, None)),
        ((), ()),
        ((0, 3), (0, 3)),
    ],
)
def test_batch_is_one(shape, becomes):
    assert relu(*shape) == becomes


def test_batch_symbol_is_one_everywhere():
    graph = run(
        [helper.make_node("Concat", ["x", "state"], ["y"], axis=2)],
        [value("x", ["B", 2, 3]), value("state", [1, "B", 4])],
    )
    assert graph.shape("state") == (1, 1, 4)


def test_batch_of_a_stated_output_and_a_stated_inner_value():
    node = helper.make_node("Odd", ["x"], ["y"], domain="other")
    proto = model([node], [X], [value("y", ["N", 7])], opsets=[("other", 1)])
    assert read(proto).shape("y") == (1, 7)


def test_given_sizes():
    graph = read(conv_model(), input_shapes={"x": (2, 4, 16, 16)})
    assert graph.shape("x") == (2, 4, 16, 16)
    assert graph.shape("y") == (2, 8, 14, 14)


def test_a_name_without_a_letter_is_no_size_of_its_own():
    graph = read(
        model([helper.make_node("Relu", ["x"], ["y"])], [value("x", ["N", 3, "?", "?"])], [value("y", None)]),
        input_shapes={"x": (1, 3, 48, 192)},
    )
    assert graph.shape("y") == (1, 3, 48, 192)


def test_a_batch_stated_as_minus_one_is_one():
    assert relu(-1, 3) == (1, 3)


def test_given_sizes_may_stay_symbolic():
    graph = run(
        [helper.make_node("Relu", ["x"], ["y"])], [value("x", ["N", "C", "H"])], input_shapes={"x": (None, 3, None)}
    )
    assert graph.shape("y") == (None, 3, None)


def test_given_sizes_bind_the_symbol_everywhere():
    inputs = [value("x", [1, "T"]), value("z", [1, "T"])]
    graph = run([helper.make_node("Add", ["x", "z"], ["y"])], inputs, input_shapes={"x": (1, 9)})
    assert graph.shape("z") == (1, 9)


def test_given_sizes_replace_stated_ones_and_what_followed_from_them():
    node = helper.make_node("Relu", ["x"], ["y"])
    odd = helper.make_node("Odd", ["y"], ["z"], domain="other")
    proto = model([node, odd], [value("x", [1, 5])], [value("y", [1, 5]), value("z", [1, 5])], opsets=[("other", 1)])
    graph = read(proto, input_shapes={"x": (1, 6)})
    assert graph.shape("y") == (1, 6)
    assert graph.shape("z") is None


def test_rank_of_an_input_may_be_given():
    proto = model([helper.make_node("Relu", ["x"], ["y"])], [value("x", None)], [value("y", None)])
    assert read(proto).shape("y") is None
    assert read(proto, input_shapes={"x": (2, 3)}).shape("y") == (2, 3)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"input": (1, 4, 8, 8)}, "no input `input`; the model's inputs: `x` [N, 4, 8, 8]"),
        ({"w": (1,)}, "no input `w`"),
        ({"x": (1, 4, 8)}, "`x` is [N, 4, 8, 8]: 4 sizes, not 3"),
        ({"x": (1, 4, 8, -1)}, "axis 3: -1; allowed are 1 to"),
        ({"x": (1, 4, 8, 2**40)}, "allowed are 1 to"),
    ],
)
def test_given_sizes_that_cannot_be(given, says):
    with pytest.raises(ModelError) as caught:
        read(conv_model(), input_shapes=given)
    assert caught.value.kind == "input-shape"
    assert says in caught.value.message


def test_given_sizes_that_contradict_each_other():
    inputs = [value("x", [1, "T"]), value("z", [1, "T"])]
    with pytest.raises(ModelError, match="`T` is 9 elsewhere"):
        run([helper.make_node("Add", ["x", "z"], ["y"])], inputs, input_shapes={"x": (1, 9), "z": (1, 8)})


def shape_chain(opset):
    """Reshape to [N, -1] with the batch taken from the input's Shape."""
    axes = {"axes": [0]} if opset < 13 else {}
    more = [] if opset < 13 else ["axes"]
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["batch"], axis=0),
        helper.make_node("Unsqueeze", ["batch", *more], ["batch1"], **axes),
        helper.make_node("Cast", ["batch1"], ["batch2"], to=INT64),
        helper.make_node("Concat", ["batch2", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    numbers = [tensor("zero", np.int64(0)), tensor("rest", np.array([-1])), tensor("axes", np.array([0]))]
    return nodes, numbers[: 2 if opset < 13 else 3]


@pytest.mark.parametrize("opset", [9, 11, 13, 17, 21])
def test_reshape_to_a_computed_shape(opset):
    nodes, numbers = shape_chain(opset)
    graph = run(nodes, [X], numbers, opset=opset)
    assert graph.shape("y") == (1, 256)
    assert "target" not in graph.constants


@pytest.mark.parametrize(
    ("nodes", "shape"),
    [
        ([("Slice", ["s", "one", "three"], {})], (4, 64)),
        ([("Slice", ["s", "zero", "two", "zero", "one"], {})], (1, 256)),
        ([("Gather", ["s", "both"], {})], (8, 32)),
        ([("Gather", ["s", "zero0"], {}), ("Squeeze", ["t0", "zero"], {})], None),
        ([("Gather", ["s", "both"], {}), ("Mul", ["t0", "two"], {})], (16, 16)),
        ([("Gather", ["s", "both"], {}), ("Div", ["t0", "two"], {})], (4, 64)),
        ([("Gather", ["s", "both"], {}), ("Sub", ["t0", "one"], {}), ("Add", ["t1", "one"], {})], (8, 32)),
        ([("Gather", ["s", "both"], {}), ("Identity", ["t0"], {})], (8, 32)),
    ],
)
def test_shape_arithmetic(nodes, shape):
    """Each chain ends in [first, -1] of the numbers it yields."""
    numbers = {"zero": [0], "one": [1], "two": [2], "three": [3], "both": [2, 3], "minus": [-1]}
    chain = [helper.make_node("Shape", ["x"], ["s"])]
    chain += [helper.make_node(op, inputs, [f"t{i}"], **more) for i, (op, inputs, more) in enumerate(nodes)]
    last = f"t{len(nodes) - 1}"
    chain += [
        helper.make_node("Gather", [last, "zero"], ["first"], axis=0),
        helper.make_node("Concat", ["first", "minus"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = [tensor(name, np.array(n)) for name, n in numbers.items()] + [tensor("zero0", np.int64(0))]
    graph = run(chain, [X], constants)
    if shape is None:
        assert graph.shape("y") is None or None in graph.shape("y")
    else:
        assert graph.shape("y") == shape


def test_slice_with_attributes_and_a_long_chain_of_reshapes():
    nodes, numbers, x = [], [tensor("rest", np.array([-1]))], "x"
    for i in range(20):
        nodes += [
            helper.make_node("Shape", [x], [f"s{i}"]),
            helper.make_node("Slice", [f"s{i}"], [f"h{i}"], starts=[0], ends=[1]),
            helper.make_node("Concat", [f"h{i}", "rest"], [f"t{i}"], axis=0),
            helper.make_node("Reshape", [x, f"t{i}"], [f"x{i}"]),
        ]
        x = f"x{i}"
    assert run(nodes, [X], numbers, opset=9).shape("x19") == (1, 256)


@pytest.mark.parametrize(("target", "shape"), [((0, -1), (1, 256)), ((1, 0, 64), (1, 4, 64)), ((-1,), (256,))])
def test_reshape_to_a_constant(target, shape):
    graph = run([helper.make_node("Reshape", ["x", "t"], ["y"])], [X], [tensor("t", np.array(target))])
    assert graph.shape("y") == shape


def test_shape_arithmetic_inside_a_subgraph():
    nodes, numbers = shape_chain(13)
    branch = helper.make_graph(nodes, "b", [], [value("y", None)])
    outer = helper.make_node("If", ["c"], ["z"], name="if", then_branch=branch, else_branch=branch)
    graph = run([outer], [X, value("c", [], TensorProto.BOOL)], numbers)
    assert graph.shape("if.then_branch/y") == (1, 256)


def test_stale_statements_lose():
    node = helper.make_node("Relu", ["x"], ["y"])
    proto = model(
        [node, helper.make_node("Relu", ["y"], ["z"])], [X], [value("z", [1, 2])], value_info=[value("y", [9, 9])]
    )
    graph = read(proto)
    assert graph.shape("y") == graph.shape("z") == (1, 4, 8, 8)


def test_statements_help_where_inference_cannot_tell():
    nodes = [
        helper.make_node("Odd", ["x"], ["y"], domain="other"),
        helper.make_node("Flatten", ["y"], ["z"]),
    ]
    proto = model(nodes, [X], [value("z", None)], value_info=[value("y", ["N", 4, 2])], opsets=[("other", 1)])
    graph = read(proto)
    assert (graph.shape("y"), graph.shape("z")) == ((1, 4, 2), (1, 8))
    assert graph.elem_type("y") == "float32"


def test_unknown_operators_leave_shapes_unknown():
    graph = run([helper.make_node("Odd", ["x"], ["y"], domain="other")], [X], opsets=[("other", 1)])
    assert graph.shape("y") is None
    assert graph.elem_type("y") == ""


def test_element_types():
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("Cast", ["q"], ["y"], to=10)]
    graph = run(nodes, [X], [tensor("s", np.float32(1)), tensor("z", np.int8(0))])
    assert [graph.elem_type(k) for k in ("x", "s", "z", "q", "y")] == ["float32", "float32", "int8", "int8", "float16"]


SCALE, ZERO = ("s", "z")
Q = [SCALE, ZERO]
A, B, NHWC = value("a", ["N", 4, 8, 8], INT8), value("b", [1, 4, 1, 1], INT8), value("a", ["N", 8, 6, 4], INT8)
M, K = value("m", [2, 3], INT8), value("k", [3, 5], INT8)
F, G = value("f", [2, 3], FLOAT), value("g", [5, 3], FLOAT)
MICROSOFT = "com.microsoft"
KNOWN = [
    ("QLinearAdd", MICROSOFT, ["a", *Q, "b", *Q, *Q], [A, B], {}, (1, 4, 8, 8), "int8"),
    ("QLinearMul", MICROSOFT, ["b", *Q, "a", *Q, *Q], [A, B], {}, (1, 4, 8, 8), "int8"),
    ("QLinearSigmoid", MICROSOFT, ["a", *Q, *Q], [A], {}, (1, 4, 8, 8), "int8"),
    ("QLinearLeakyRelu", MICROSOFT, ["a", *Q, *Q], [A], {"alpha": 0.1}, (1, 4, 8, 8), "int8"),
    ("QLinearConcat", MICROSOFT, [*Q, "a", *Q, "a", *Q], [A], {"axis": 1}, (1, 8, 8, 8), "int8"),
    (
        "QLinearAveragePool",
        MICROSOFT,
        ["a", *Q, *Q],
        [A],
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        (1, 4, 4, 4),
        "int8",
    ),
    (
        "QLinearAveragePool",
        MICROSOFT,
        ["a", *Q, *Q],
        [NHWC],
        {"kernel_shape": [2, 3], "strides": [2, 3], "channels_last": 1},
        (1, 4, 2, 4),
        "int8",
    ),
    ("QLinearGlobalAveragePool", MICROSOFT, ["a", *Q, *Q], [A], {"channels_last": 0}, (1, 4, 1, 1), "int8"),
    ("QLinearGlobalAveragePool", MICROSOFT, ["a", *Q, *Q], [NHWC], {"channels_last": 1}, (1, 1, 1, 4), "int8"),
    ("QLinearReduceMean", MICROSOFT, ["a", *Q, *Q], [A], {"axes": [2, 3], "keepdims": 0}, (1, 4), "int8"),
    ("QGemm", MICROSOFT, ["m", *Q, "k", *Q, "", *Q], [M, K], {}, (2, 5), "int8"),
    ("QGemm", MICROSOFT, ["m", *Q, "k", *Q], [M, K], {}, (2, 5), "float32"),
    ("FusedConv", MICROSOFT, ["x", "w"], [X], {"activation": "Relu"}, (1, 8, 6, 6), "float32"),
    ("FusedMatMul", MICROSOFT, ["f", "g"], [F, G], {"transB": 1}, (2, 5), "float32"),
    ("FusedMatMul", MICROSOFT, ["g", "f"], [F, value("g", [2, 7])], {"transA": 1}, (7, 3), "float32"),
    ("FusedGemm", MICROSOFT, ["f", "g"], [F, G], {"transB": 1, "activation": "Relu"}, (2, 5), "float32"),
    ("QuantizeLinear", MICROSOFT, ["x", "s", "z"], [X], {}, (1, 4, 8, 8), "int8"),
    ("DequantizeLinear", MICROSOFT, ["a", "s", "z"], [A], {}, (1, 4, 8, 8), "float32"),
    ("Gelu", MICROSOFT, ["x"], [X], {}, (1, 4, 8, 8), "float32"),
    ("FastGelu", MICROSOFT, ["x"], [X], {}, (1, 4, 8, 8), "float32"),
    ("BiasGelu", MICROSOFT, ["f", "v"], [F, value("v", [3])], {}, (2, 3), "float32"),
    ("DynamicQuantizeMatMul", MICROSOFT, ["f", "k", "s", "z"], [F, K], {}, (2, 5), "float32"),
    ("MatMulIntegerToFloat", MICROSOFT, ["m", "k", "s", "s"], [M, K], {}, (2, 5), "float32"),
    ("RequantShift", "PACTOps", ["x", "s", "s"], [X], {}, (1, 4, 8, 8), "float32"),
    ("iGELU", "PACTOps", ["x"], [X], {}, (1, 4, 8, 8), "float32"),
    ("IntegerDiv", "PACTOps", ["x", "s"], [X], {}, (1, 4, 8, 8), "float32"),
    ("IntegerMean", "PACTOps", ["x"], [X], {"axes": 2, "keepdims": 0}, (1, 4, 8), "float32"),
    ("RequantShift", "", ["x", "s", "s"], [X], {}, (1, 4, 8, 8), "float32"),
]


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize(("op_type", "domain", "names", "inputs", "attributes", "shape", "elem_type"), KNOWN)
def test_operators_of_other_domains(op_type, domain, names, inputs, attributes, shape, elem_type, opset):
    nodes = [
        helper.make_node(op_type, names, ["y"], domain=domain, name="n", **attributes),
        helper.make_node("Identity", ["y"], ["out"]),
    ]
    numbers = [tensor("s", np.float32(1)), tensor("z", np.int8(0)), tensor("w", np.ones((8, 4, 3, 3), np.float32))]
    graph = run(nodes, inputs, numbers, opset=opset, opsets=[(domain, 1)] if domain else [])
    assert (graph.shape("out"), graph.elem_type("out")) == (shape, elem_type)
    assert (graph.nodes[0].op_type, graph.nodes[0].domain) == (op_type, domain)


def test_an_operator_that_onnx_has_gets_no_surrogate():
    """LayerNormalization is of the default domain from opset 17; another operator there keeps its own shapes."""
    graph = run([helper.make_node("GlobalAveragePool", ["x"], ["y"])], [X])
    assert graph.shape("y") == (1, 4, 1, 1)


def test_layer_normalization_over_several_axes():
    ones = tensor("one", np.ones((4, 8, 8), np.float32))
    graph = run([helper.make_node("LayerNormalization", ["x", "one"], ["y"], axis=1)], [X], [ones])
    assert graph.shape("y") == (1, 4, 8, 8)


@rounds_pools_up
@given(
    op_type=st.sampled_from(["MaxPool", "AveragePool"]),
    opset=st.sampled_from([11, 13, 19, 21, 22]),
    windows=st.lists(
        st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=2
    ),
    size=st.integers(5, 19),
)
@settings(max_examples=draws(60), deadline=None)
def test_pools_that_round_up_have_the_size_of_onnx_runtime(op_type, opset, windows, size):
    kernel, strides, before, after = (list(sizes) for sizes in zip(*windows, strict=True))
    assume(all(max(b, a) < k for k, _, b, a in windows))
    pool = helper.make_node(
        op_type, ["x"], ["p"], kernel_shape=kernel, strides=strides, pads=before + after, ceil_mode=1
    )
    shape = [1, 2] + [size] * len(windows)
    proto = model([pool, helper.make_node("Relu", ["p"], ["y"])], [value("x", shape)], [value("y", None)], opset=opset)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (output,) = session.run(None, {"x": np.zeros(shape, np.float32)})
    graph = read(proto)
    assert graph.shape("p") == graph.shape("y") == output.shape


@rounds_pools_up
def test_a_pool_that_rounds_up_behind_another_has_the_size_of_onnx_runtime() -> None:
    window = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}
    pools = [
        helper.make_node("MaxPool", ["x"], ["p"], strides=[3, 3], **window),
        helper.make_node("Relu", ["p"], ["r"]),
        helper.make_node("AveragePool", ["r"], ["q"], strides=[2, 2], **window),
        helper.make_node("MaxPool", ["q"], ["y"], strides=[3, 3], **window),
    ]
    for size in range(2, 12):
        proto = model(pools, [value("x", [1, 2, size, size])], [value("y", None)], opset=13)
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        (output,) = session.run(None, {"x": np.zeros((1, 2, size, size), np.float32)})
        assert read(proto).shape("y") == output.shape, size


@rounds_pools_up
@pytest.mark.parametrize("opset", [13, 22])
def test_windows_have_the_size_of_onnx_runtime_or_none(opset: int) -> None:
    """Pools and ConvTranspose with each kind of padding: a size that two runtimes make otherwise is left open."""
    told = Counter()
    for op_type, auto, size, kernel, stride, step in itertools.product(
        ("MaxPool", "ConvTranspose"), ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"), (2, 5), (1, 3), (1, 3), (1, 2)
    ):
        window = {"kernel_shape": [kernel], "strides": [stride], "dilations": [step], "auto_pad": auto}
        further = (
            [{}, {"ceil_mode": 1}]
            if op_type == "MaxPool"
            else [{}, {"output_padding": [stride - 1]}, {"output_shape": [1]}, {"output_shape": [size * stride]}]
        )
        for more in further:
            node = helper.make_node(op_type, ["x", "w"][: 1 + (op_type != "MaxPool")], ["y"], **window, **more)
            weights = tensor("w", np.ones((1, 2, kernel), np.float32))
            proto = model([node], [value("x", [1, 1, size])], [value("y", None)], [weights], opset=opset)
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            try:
                session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
                (output,) = session.run(None, {"x": np.zeros((1, 1, size), np.float32)})
            except Exception:  # ONNX Runtime takes no such window
                continue
            shape = read(proto).shape("y")
            told[shape is None] += 1
            assert shape in (None, output.shape), (node, output.shape)
            assert (shape is None) <= (op_type == "MaxPool"), node
    assert told[False] > 100 > told[True] > 0


@rounds_pools_up
@pytest.mark.parametrize(
    ("op_type", "attributes", "known"),
    [
        ("MaxPool", {"kernel_shape": [3], "strides": [3], "auto_pad": "VALID", "pads": [1, 1]}, True),
        ("AveragePool", {"kernel_shape": [2], "strides": [2], "auto_pad": "SAME_UPPER", "pads": [1, 0]}, True),
        ("Resize", {"axes": [2], "keep_aspect_ratio_policy": "not_larger"}, True),
        ("Resize", {"axes": [2], "keep_aspect_ratio_policy": "not_smaller"}, True),
        ("Resize", {"axes": [-1], "keep_aspect_ratio_policy": "not_larger"}, False),
        ("Resize", {"axes": [-1], "keep_aspect_ratio_policy": "not_smaller"}, False),
    ],
)
def test_padding_and_ratios_that_onnx_runtime_takes_otherwise(op_type, attributes, known):
    inputs = ["x", "", "", "w"] if op_type == "Resize" else ["x"]
    node = helper.make_node(op_type, inputs, ["y"], **attributes)
    sizes = tensor("w", np.array([5], np.int64))
    proto = model([node], [value("x", [1, 1, 7])], [value("y", None)], [sizes] * (op_type == "Resize"), opset=19)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    (output,) = session.run(None, {"x": np.zeros((1, 1, 7), np.float32)})
    assert read(proto).shape("y") == (output.shape if known else None)
