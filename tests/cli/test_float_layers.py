"""Layers that stay float: the kernels, scratch, hazards and verdict that `--assume f32` and `f16` give a model."""

from __future__ import annotations

import onnx
import pytest

from onnxlint_cmsis.analysis.grouped import grouped
from onnxlint_cmsis.config.file_reading import ConfigError
from onnxlint_cmsis.ground.findings import Effect, Finding
from onnxlint_cmsis.ground.types import FloatCall
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.outcome import Outcome
from support.goldens import Told
from support.linter import analysed, fixed, layered, linted
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
    judged = analysed(model(FEW), assume="f32", runtime=runtime).execution.judged
    assert judged is not None
    assert [layer.verdict for layer in judged.layers] == [Outcome.REFERENCE]
    told(judged.layers[0].reason)
    (finding,) = linted(model(FEW), assume="f32", runtime=runtime).findings
    assert (finding.cause, finding.effect) == ("activation-type", Effect.REFERENCE)


def test_by_default_a_float_model_becomes_int8() -> None:
    assert [layer.call.entry for layer in analysed(model(FEW)).lowered.layers] == ["convolve_s8"]


def faster(source: str, **settings: object) -> list[Finding]:
    findings = linted(model(source), **{"assume": "f32", "targets": ["cortex-m4"], **settings}).findings
    return [finding for finding in findings if finding.code == "CNN141"]


POINTWISE = "g (float[1, 64, 25, 5] x) => (y) <float[64, 64, 1, 1] w = {1}, float[64] b = {1}> { y = Conv(x, w, b) }"


@pytest.mark.parametrize(
    ("kind", "cpu", "standard", "packed"),
    [
        ("f32", "cortex-m55", 539_754, 348_117),
        ("f16", "cortex-m55", 278_629, 175_859),
        ("f32", "cortex-m4", 3_226_120, 4_304_840),
        ("f16", "cortex-m4", 6_350_200, 6_841_160),
    ],
)
def test_weights_are_better_in_the_form_that_ran_fewer_instructions(
    kind: str, cpu: str, standard: int, packed: int
) -> None:
    """The numbers are measured: a layer of DS-CNN in an emulator."""
    worse, option = ("standard", "packed") if packed < standard else ("packed", "standard")
    (finding,) = faster(POINTWISE, assume=kind, targets=[cpu], float_weights=worse)
    assert finding.properties["options"] == f"--config float-weights={option}"
    saved = finding.properties[f"instructions_saved.{cpu}"]
    assert isinstance(saved, int)
    assert saved == pytest.approx(abs(standard - packed), abs=0.02 * max(standard, packed))
    assert faster(POINTWISE, assume=kind, targets=[cpu], float_weights=option) == []


SPREAD = """g (float[1, 8, 6, 6] x) => (y) <float[8, 8, 3, 3] w = {1}, float[8, 4, 2, 2] t = {1}>
{ c = Conv(x, w) BEHIND y = ConvTranspose<strides = [2, 2]>(r, t) }"""


@pytest.mark.parametrize(
    ("behind", "zeros"),
    [
        ("r = Relu(c)", True),
        ("q = Relu(c) p = MaxPool<kernel_shape = [2, 2]>(q) r = Sqrt(p)", True),
        ("r = Sigmoid(c)", False),
        ("q = Relu(c) r = Exp(q)", False),
    ],
)
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
def test_a_transposed_convolution_that_may_skip_zeros_has_a_range(cpu: str, behind: str, zeros: bool) -> None:
    source = SPREAD.replace("BEHIND", behind)
    layer = layered(model(source), assume="f32", targets=[cpu]).layers[-1]
    assert layer.entry == "transpose_conv_f32"
    ends = layer.instructions_range
    if zeros:
        assert layer.instructions is None
        assert ends and 1.5 * ends[0] < ends[1]
    else:
        assert layer.instructions and not ends


@pytest.mark.parametrize(
    ("cpu", "least", "most"), [("cortex-m4", 0.8, 0.95), ("cortex-m55", 1, 1), ("cortex-m3", 1, 1)]
)
def test_one_instruction_that_multiplies_and_adds_saves_what_was_measured(cpu: str, least: float, most: float) -> None:
    apart, fused = (
        layered(model(POINTWISE), assume="f32", targets=[cpu], float_contract=contract).layers[0]
        for contract in ("off", "fast")
    )
    pairs = [(fused.instructions, apart.instructions)]
    if cpu == "cortex-m3":  # software computes: a range, and the same code
        pairs = list(zip(fused.instructions_range or (), apart.instructions_range or (), strict=True))
    assert pairs
    for number, usual in pairs:
        assert number and usual
        assert least <= number / usual <= most


TALL = "g (float[1, 4, 16, 5] x) => (y) <float[4, 1, 3, 5] w = {1}> { y = Conv<group = 4>(x, w) }"
WIDE = (
    "g (float[1, 16, 12, 12] x) => (y) <float[16, 1, 5, 5] w = {1}> { y = Conv<group = 16, pads = [2, 2, 2, 2]>(x, w) }"
)


@pytest.mark.parametrize(("kind", "ratio"), [("f32", 0.53), ("f16", 0.74)])
def test_a_depthwise_layer_is_faster_without_its_buffer_on_a_scalar_fpu(kind: str, ratio: float, told: Told) -> None:
    """The ratios are measured: another layer with a 5x5 window in an emulator."""
    (finding,) = faster(WIDE, assume=kind)
    told(finding.text)
    assert finding.properties["options"] == "--config float-scratch=none"
    (now,) = layered(model(WIDE), assume=kind, targets=["cortex-m4"]).layers
    (then,) = layered(model(WIDE), assume=kind, targets=["cortex-m4"], float_scratch="none").layers
    assert now.instructions and then.instructions
    assert now.instructions - then.instructions == finding.properties["instructions_saved.cortex-m4"]
    assert then.instructions / now.instructions == pytest.approx(ratio, abs=0.05)


def test_both_switches_are_told_where_both_pay() -> None:
    (finding, *_) = faster(NET, targets=["cortex-m55"], float_scratch="none")
    assert finding.properties["options"] == "--config float-scratch=given --config float-weights=packed"
    assert (finding.level.name, finding.effect) == ("WARNING", Effect.COSTS)


def test_layers_that_want_the_same_are_told_as_one() -> None:
    (finding,) = grouped(faster(NET, targets=["cortex-m55"]))
    assert [other.location.node for other in finding.others] == ["Conv#4", "Gemm#8"]
    saved = sum(int(same.properties["instructions_saved.cortex-m55"]) for same in (finding, *finding.others))
    assert finding.properties["plan_instructions_saved.cortex-m55"] == saved


@pytest.mark.parametrize(
    ("source", "settings"),
    [
        # packed weights would be ignored: wrong values
        (FEW, {"targets": ["cortex-m55"]}),
        (CONV_5, {"targets": ["cortex-m55"]}),
        # the two costs are ranges that overlap, their middles 15 % apart
        (TALL, {"targets": ["cortex-m55"], "assume": "f16"}),
        # no buffer is used
        (WIDE.replace("5, 5", "3, 3").replace("2, 2, 2, 2", "1, 1, 1, 1"), {}),
        # nothing was measured
        (WIDE, {"targets": ["cortex-m3"]}),
        (WIDE, {"compiler": "armclang"}),
        # a wrong result costs nothing
        (GROUPS, {"targets": ["cortex-m55"], "float_scratch": "none"}),
    ],
)  # fmt: skip
def test_nothing_is_said_of_calls_where_no_other_is_surely_better(source: str, settings: dict[str, object]) -> None:
    assert faster(source, **settings) == []


@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("given", [{}, {"float_scratch": "none"}, {"float_weights": "packed"}])
def test_whoever_follows_the_advice_gets_what_it_says(kind: str, cpu: str, given: dict[str, str]) -> None:
    judged = {"assume": kind, "targets": [cpu], **given}
    before = {layer.node: layer for layer in layered(model(NET), **judged).layers}
    cases = [*faster(NET, **judged)]
    assert bool(cases) is not (cpu == "cortex-m55" and "float_weights" in given)  # nothing is faster there
    for finding in cases:
        words = str(finding.properties["options"]).replace("--config ", "").split()
        changed = {key.replace("-", "_"): value for key, value in (word.split("=") for word in words)}
        after = {layer.node: layer for layer in layered(model(NET), **{**judged, **changed}).layers}
        now, then = (layers[finding.location.node] for layers in (before, after))
        assert not then.hazards
        least, most = (layer.instructions_range or (layer.instructions or 0,) * 2 for layer in (now, then))
        assert least[0] - most[1] == finding.properties[f"instructions_saved.{cpu}"] > 0.04 * least[0]


def packed_chain(window: str, inner: int, width: int = 9) -> str:
    """Two layers, of which the first has hazards with packed weights."""
    h, w = map(int, window.split("x"))
    plane = f"1, {width}" if h == 1 else f"{width}, {width}"
    return f"""g (float[1, 4, {plane}] x) => (y)
    <float[{inner}, 4, {h}, {w}] w = {{1}}, float[8, {inner}, 1, 1] v = {{1}}> {{ a = Conv(x, w) y = Conv(a, v) }}"""


@pytest.mark.parametrize(
    ("source", "hazard", "channels"),
    [
        (packed_chain("1x5", 6), "conv1d-packed-channels-left-f32", 8),
        (packed_chain("3x3", 6), "conv-packed-direct-f32", 8),
    ],
)
def test_channels_are_added_where_packed_weights_would_be_wrong(source: str, hazard: str, channels: int) -> None:
    """ONNX Runtime proves that the outputs stay; the price is that of the layers before and after."""
    judged = {"assume": "f32", "float_weights": "packed", "targets": ["cortex-m55"]}
    (finding,) = (finding for finding in linted(model(source), **judged).findings if finding.code == "CNN302")
    assert (finding.properties["hazard"], finding.properties["fixable"]) == (hazard, True)
    after = fixed(model(source), **judged).model
    assert after is not None
    assert [left.code for left in linted(after, **judged).findings if left.code == "CNN302"] == []
    sizes = {tensor.name: list(tensor.dims) for tensor in onnx.load_from_string(after).graph.initializer}
    assert (sizes["w"][0], sizes["v"][1]) == (channels, channels)
    costs = [
        sum(layer.instructions or 0 for layer in layered(chain, **judged).layers)
        for chain in (model(source), onnx.load_from_string(after))
    ]
    assert costs[0] - costs[1] == finding.properties["repair_instructions_saved.cortex-m55"]


def test_no_channel_count_gives_more_positions() -> None:
    source = packed_chain("2x2", 8, 3)
    judged = {"assume": "f32", "float_weights": "packed", "targets": ["cortex-m55"]}
    (finding,) = (finding for finding in linted(model(source), **judged).findings if finding.code == "CNN302")
    assert not finding.properties.get("fixable")
    assert fixed(model(source), **judged).model is None
