"""Layers that stay float: the kernels, scratch, hazards and verdict that `--assume f32` and `f16` give a model."""

from __future__ import annotations

import onnx
import pytest

from onnxlint_cmsis.config.files import ConfigError
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import FloatCall
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.runtimes.runtime import RuntimeVerdict
from support.goldens import Told
from support.linter import analysed, layered, linted
from support.models import read, text

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
NET = """g (float[1, 4, 16, 16] x) => (float[1, 3] y)
<float[16, 4, 3, 3] w1 = {1}, float[16, 1, 5, 5] w2 = {1}, float[16, 16, 1, 1] w3 = {1}, float[3, 16] w4 = {1},
 float[16] scale = {1}, float[16] shift = {0}, float[16] mean = {0}, float[16] variance = {1}> {
    a = Conv<pads = [1, 1, 1, 1]>(x, w1)
    b = Relu(a)
    c = Conv<group = 16, pads = [2, 2, 2, 2]>(b, w2)
    d = BatchNormalization(c, scale, shift, mean, variance)
    e = Conv(d, w3)
    f = Tanh(e)
    h = GlobalAveragePool(f)
    i = Flatten(h)
    j = Gemm<transB = 1>(i, w4)
    y = Softmax(j)
}"""


def model(source: str) -> onnx.ModelProto:
    return text(f"{HEAD}{source}")


def kernels(source: str, **settings: object) -> list[str]:
    return [
        layer.kernel
        for layer in layered(model(source), **{"assume": "f32", "targets": ["cortex-m4"], **settings}).layers
        if layer.kernel
    ]


def hazards(source: str, **settings: object) -> list[str]:
    findings = linted(model(source), **{"assume": "f32", "targets": ["cortex-m4"], **settings}).findings
    return [str(finding.properties["hazard"]) for finding in findings if "hazard" in finding.properties]


@pytest.mark.parametrize(
    ("behind", "written", "biased"),
    [
        ("y = Identity(a)", "y", False),
        ("y = Cast<to = 10>(a)", "y", False),
        ("b = Cast<to = 6>(a) y = Cast<to = 1>(b)", "a", False),
        ("y = Mul(a, s)", "y", True),
    ],
)
def test_a_layer_ends_before_a_cast_to_integers(behind: str, written: str, biased: bool) -> None:
    """What only changes the storage is no bias either; a Cast to integers cuts off digits, which no call does."""
    constants = "<float[8, 4, 1, 1] w = {1}, float s = {2}>"
    graph = read(model(f"g (float[1, 4, 8, 8] x) => (y) {constants} {{ a = Conv(x, w) {behind} }}"))
    (record,) = [record for record in lower(graph, "f32", floating=FloatCall()).records if record.weighted]
    assert record.layer is not None
    assert record.epilogue is not None
    assert (record.epilogue.tensor, record.layer.call.bias) == (written, biased)


def test_a_net_runs_on_float_functions() -> None:
    assert kernels(NET) == [
        "arm_convolve_nhwc_patch_gemm_f32",
        "arm_depthwise_conv_nhwc_fast_chmult1_kc_nt_t_f32",
        "arm_convolve_1x1_nhwc_f32",
        "arm_nn_activation_f32",
        "arm_avg_pool_f32",
        "arm_fully_connected_nhwc_f32",
        "arm_softmax_f32",
    ]


def test_without_a_buffer_other_kernels_run() -> None:
    assert kernels(NET, float_scratch="none")[:2] == [
        "arm_convolve_nhwc_f32",
        "arm_depthwise_conv_nhwc_fast_chmult1_kc_f32",
    ]


def test_a_call_knows_its_bias_and_its_clamp() -> None:
    calls = [layer.call for layer in analysed(model(NET), assume="f16").lowered.layers]
    clamps = [call.floating.clamped for call in calls if call.floating]
    assert clamps == [True, *[False] * 6]
    assert [call.bias for call in calls[:3]] == [False, True, False]


def test_each_activation_and_weight_has_the_bytes_of_its_type() -> None:
    for kind, width in (("f32", 4), ("f16", 2)):
        (total,) = layered(model(NET), assume=kind, targets=["cortex-m4"]).totals
        assert total.constants == width * (16 * 4 * 9 + 16 * 25 + 16 + 16 * 16 + 3 * 16)
        assert total.arena == width * 2 * 16 * 16 * 16


def test_packed_weights_are_filled_up_to_blocks() -> None:
    source = "g (float[1, 16, 8, 8] x) => (float[1, 9, 8, 8] y) <float[9, 16, 1, 1] w = {1}> { y = Conv(x, w) }"
    for kind, filled in (("f32", 12 * 4), ("f16", 16 * 2)):
        (total,) = layered(model(source), assume=kind, float_weights="packed", targets=["cortex-m55"]).totals
        assert total.constants == 16 * filled


CONV_3 = """g (float[1, 4, 1, 9] x) => (float[1, 6, 1, 8] y) <float[6, 4, 1, 3] w = {1}> {
    y = Conv<pads = [0, 0, 0, 1]>(x, w)
}"""
CONV_5 = "g (float[1, 4, 1, 9] x) => (float[1, 6, 1, 5] y) <float[6, 4, 1, 5] w = {1}> { y = Conv(x, w) }"
FEW = "g (float[1, 3, 8, 8] x) => (float[1, 6, 6, 6] y) <float[6, 3, 3, 3] w = {1}> { y = Conv(x, w) }"
GROUPS = "g (float[1, 8, 8, 8] x) => (float[1, 8, 6, 6] y) <float[8, 4, 3, 3] w = {1}> { y = Conv<group = 2>(x, w) }"
LONG = "g (float[1, 2048] x) => (float[1, 4] y) <float[2048, 4] w = {1}> { y = MatMul(x, w) }"


@pytest.mark.parametrize(
    ("source", "settings", "expected"),
    [
        (CONV_3, {}, ["conv1d-padding-after-f32"]),
        (CONV_3, {"float_build": "no-specialization"}, []),
        (CONV_5, {"float_weights": "packed"}, []),
        (CONV_5, {"float_weights": "packed", "targets": ["cortex-m55"]}, ["conv1d-packed-channels-left-f32"]),
        (CONV_5, {"float_weights": "packed", "targets": ["cortex-m55"], "assume": "f16"}, []),
        (FEW, {}, []),
        (FEW, {"float_weights": "packed"}, ["conv-packed-direct-f32"]),
        (GROUPS, {}, ["conv-grouped-f32"]),
        (LONG, {}, []),
        (LONG, {"assume": "f16"}, ["fc-half-sum-f16"]),
    ],
)
def test_what_a_shape_meets_is_told(source: str, settings: dict[str, object], expected: list[str]) -> None:
    assert hazards(source, **settings) == expected


def test_wrong_values_are_the_verdict_and_inexact_ones_are_not() -> None:
    wrong = linted(model(GROUPS), assume="f32", targets=["cortex-m4"])
    assert [(finding.code, finding.level.name) for finding in wrong.findings] == [("CNN302", "ERROR")]
    inexact = linted(model(LONG), assume="f16", targets=["cortex-m4"])
    assert [(finding.code, finding.level.name) for finding in inexact.findings] == [("CNN305", "NOTE")]


def test_a_product_of_two_activations_has_its_right_side_as_onnx_stores_it() -> None:
    source = "g (float[2, 3, 5] a, float[2, 5, 7] b) => (float[2, 3, 7] y) { y = MatMul(a, b) }"
    (layer,) = analysed(model(source), assume="f32", float_weights="packed").lowered.layers
    call = layer.call
    assert (call.input_dims.c, call.input_dims.w, call.filter_dims.c, call.filter_dims.w) == (3, 5, 7, 5)
    assert call.floating is not None
    assert (call.floating.adj_y, call.floating.packed) == (True, False)


def test_float_functions_are_those_of_main() -> None:
    assert {target.release for target in analysed(model(FEW), assume="f16").settings.targets} == {"main"}
    with pytest.raises(ConfigError, match=r"CMSIS-NN 7\.0\.0 has no functions for f32 and f16; allowed: main"):
        analysed(model(FEW), assume="f32", release="7.0.0")
    with pytest.raises(ConfigError, match=r"f32 is of another API; allowed with legacy: q7, q15, q7q15"):
        analysed(model(FEW), assume="f32", api="legacy")


@pytest.mark.parametrize("runtime", ["tflm", "executorch", "tvm"])
def test_no_runtime_calls_them(runtime: str, told: Told) -> None:
    judged = analysed(model(FEW), assume="f32", runtime=runtime).judged
    assert judged is not None
    assert [layer.verdict for layer in judged.layers] == [RuntimeVerdict.REFERENCE]
    told(judged.layers[0].reason)
    (finding,) = linted(model(FEW), assume="f32", runtime=runtime).findings
    assert (finding.cause, finding.effect) == ("activation-type", Effect.REFERENCE)


def test_by_default_a_float_model_becomes_int8() -> None:
    assert [layer.call.entry for layer in analysed(model(FEW)).lowered.layers] == ["convolve_s8"]
