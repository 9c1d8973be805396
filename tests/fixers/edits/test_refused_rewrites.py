"""Nodes that a Slice, a pool or a convolution does not compute as they stand: what is promised is done."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from support.linter import fixed, linted
from support.models import text

SOURCE = '<ir_version: 8, opset_import: ["" : {opset}]>\ng ({inputs}) => ({outputs}) {constants} {{ {body} }}'
FOUR = "<int64 i = {1}, float[4] s = {0.1, 0.2, 0.3, 0.4}, int8[4] z = {0, 0, 0, 0}>"
NUMBERS = "<float[2] s = {1, 2}, float[2] b = {1, 2}, float[2] m = {1, 2}, float[2] v = {1, VARIANCE}>"


def model(inputs: str, outputs: str, body: str, constants: str = "", opset: int = 13) -> onnx.ModelProto:
    return text(SOURCE.format(opset=opset, inputs=inputs, outputs=outputs, constants=constants, body=body))


def rewritten(given: onnx.ModelProto, batch: int = 1) -> list[str]:
    """Operators of the fixed model, which computes the same, bit for bit; none where the fix leaves it."""
    _, data = fixed(given, targets=["cortex-m4"])
    if data is None:
        return []
    sizes = [size.dim_value or batch for size in given.graph.input[0].type.tensor_type.shape.dim]
    values = np.random.default_rng(0).normal(size=sizes).astype(np.float32)
    outputs = [
        onnxruntime.InferenceSession(side, providers=["CPUExecutionProvider"]).run(None, {"x": values})
        for side in (given.SerializeToString(), data)
    ]
    for before, after in zip(*outputs, strict=True):
        np.testing.assert_array_equal(before, after)
    return [node.op_type for node in onnx.ModelProto.FromString(data).graph.node]


def promised(given: onnx.ModelProto) -> list[str]:
    """Nodes of which a lint says that the fix rewrites them."""
    findings = linted(given, targets=["cortex-m4"]).findings
    return [finding.location.node for finding in findings if finding.properties.get("fixable")]


def test_an_index_of_two_axes_adds_one() -> None:
    given = model("float[1, 6, 4] x", "float[1, 1, 1, 4] y", "y = Gather<axis = 1>(x, i)", "<int64[1, 1] i = {2}>")
    assert rewritten(given) == ["Slice", "Reshape"]


def test_an_element_of_a_vector_has_no_axes() -> None:
    given = model("float[6] x", "float y", "a = Relu(x)\n y = Gather<axis = 0>(a, i)", "<int64 i = {2}>")
    assert rewritten(given) == ["Relu", "Slice", "Reshape"]


@pytest.mark.parametrize("axis", ["axis = 0", "axis = 1", "axis = -1"])
def test_a_quantizer_with_a_scale_for_each_channel_stays_behind_the_reshape(axis: str) -> None:
    body = f"a = Gather<axis = 0>(x, i)\n y = QuantizeLinear<{axis}>(a, s, z)"
    assert rewritten(model("float[4, 4, 4] x", "int8[4, 4] y", body, FOUR)) == ["Slice", "Reshape", "QuantizeLinear"]


def test_a_result_may_be_the_scale_of_a_quantizer() -> None:
    body = "a = Abs(x)\n c = Gather<axis = 0>(a, i)\n y = QuantizeLinear(a, c, z)"
    given = model("float[4] x", "int8[4] y", body, "<int64 i = {1}, int8 z = {0}>")
    assert rewritten(given) == ["Abs", "Slice", "Reshape", "QuantizeLinear"]


@pytest.mark.parametrize(
    ("sizes", "axes", "result"),
    [("N, 8, 4, 5", "3", "N, 8, 4"), ("N, C, 4, 5", "2, 3", "N, C"), ("1, 8, 5, W", "2", "1, 8, W")],
)
def test_open_sizes_stay_open_behind_a_pool(sizes: str, axes: str, result: str) -> None:
    """The Reshape had a 1 in place of the batch, and what was promised was not proven."""
    given = model(f"float[{sizes}] x", f"float[{result}] y", f"y = ReduceMax<axes = [{axes}], keepdims = 0>(x)")
    assert rewritten(given, batch=3) == ["MaxPool", "Reshape"]


def test_an_open_batch_stays_open_behind_a_slice() -> None:
    given = model("float[N, 6, 4] x", "float[N, 4] y", "y = Gather<axis = 1>(x, i)", "<int64 i = {-1}>")
    assert rewritten(given, batch=3) == ["Slice", "Reshape"]


IMAGE = "1, 2, 6, 6"
SMALL = f"[{IMAGE}] x", f"[{IMAGE}] y"
AVERAGE = "y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>(x)"
NORMALIZED = "y = BatchNormalization(x, s, b, m, v)"


@pytest.mark.parametrize(
    ("inputs", "outputs", "body", "constants", "opset"),
    [
        (f"float16{SMALL[0]}", f"float16{SMALL[1]}", AVERAGE, "", 13),
        (f"float16{SMALL[0]}", f"float16{SMALL[1]}", NORMALIZED, NUMBERS.replace("VARIANCE", "1"), 15),
        (f"float{SMALL[0]}", f"float{SMALL[1]}", NORMALIZED, NUMBERS.replace("VARIANCE", "-1"), 13),
        (
            f"float{SMALL[0]}",
            f"float{SMALL[1]}, float[2] c",
            "y, c, d, e, f = BatchNormalization(x, s, b, m, v)",
            NUMBERS.replace("VARIANCE", "1"),
            9,
        ),
        (f"double{SMALL[0]}", "double[1, 2, 1, 1] y", "y = ReduceMean<axes = [2, 3]>(x)", "", 13),
        (f"int8{SMALL[0]}", "int8[1, 2, 1, 1] y", "y = ReduceMax<axes = [2, 3]>(x)", "", 11),
        (f"float{SMALL[0]}, float[2] w", f"float{SMALL[1]}", "y = Sub<broadcast = 1, axis = 1>(x, w)", "", 6),
        ("float[N, 3] x", "float[1, 3] y, float[M, 3] z", "y, z = Split<axis = 0, num_outputs = 2>(x)", "", 18),
        ("float[N, 3] x", "float[3] y", "y = Gather<axis = 0>(x, i)", "<int64 i = {-1}>", 13),
        (
            "float[1, 6, 4] x, int64[2] i",
            "float[1, A, 4] y, float[1, B, 4] z",
            "y, z = Split<axis = 1>(x, i)",
            "<int64[2] i = {2, 4}>",
            13,
        ),
    ],
    ids=[
        "average in float16", "normalization in float16", "variance below 0", "training", "mean in float64",
        "pool of integers", "broadcast by attributes", "pieces of the batch", "last of the batch",
        "sizes of the caller",
    ],
)  # fmt: skip
def test_what_no_other_node_computes_is_neither_promised_nor_done(
    inputs: str, outputs: str, body: str, constants: str, opset: int
) -> None:
    given = model(inputs, outputs, body, constants, opset)
    assert not promised(given)
    assert fixed(given, targets=["cortex-m4"])[1] is None


def test_a_mean_that_is_quantized_behind_other_layers_may_change_by_a_step() -> None:
    """Its repair was taken for an exact one: a tie that another order of sums broke stopped the whole fix."""
    body = (
        "a = DequantizeLinear(x, s, z)\n b = MaxPool<kernel_shape = [1, 1]>(a)\n"
        "c = ReduceMean<axes = [2, 3]>(b)\n y = QuantizeLinear(c, s, z)"
    )
    given = model("int8[1, 8, 6, 5] x", "int8[1, 8, 1, 1] y", body, "<float s = {0.1}, int8 z = {0}>")
    assert not promised(given)
    assert fixed(given, targets=["cortex-m4"])[1] is None
    result, _ = fixed(given, targets=["cortex-m4"], unsafe_fixes=True)
    assert [rewrite.repair for rewrite in result.rewrites] == ["integer-mean-pool"]
