"""Rules of quantization: which rule claims which cause, what they say of built models and of named cases."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.checks.quantizer_advice import ONNX_RUNTIME, float_name
from onnxlint_cmsis.checks.rule_registry import every_rule
from onnxlint_cmsis.checks.run_checks import model_findings
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause
from support import paths
from support.goldens import Told
from support.linter import analysed
from support.quantized_models import CASES, Qdq, convolution, dense
from support.quantizer_runs import M4, findings, levels
from support.rule_examples import codes_and_levels
from support.targets import target_of

BUILT = {
    "plain convolution": {},
    "weights with a zero-point": {"CNN501": "error"},
    "second convolution with a zero-point": {"CNN501": "error"},
    "int16": {},
    "int16 with a zero-point": {"CNN505": "error"},
    "uint8": {"CNN504": "note"},
    "dense": {},
    "dense weights with a zero-point": {},
    "dense weights of several scales": {},
    "int16 dense of several scales": {"CNN502": "error"},
    "average pool of unequal scales": {"CNN510": "warning"},
    "average pool of equal scales": {},
    "max pool of unequal scales": {"CNN510": "warning"},
    "softmax as the function has it": {},
    "softmax of another scale": {"CNN509": "warning"},
    "clamp of the same scale": {},
    "clamp of another scale": {"CNN511": "warning"},
    "float result": {"CNN513": "warning"},
    "change of scale": {"CNN510": "warning"},
    "clamp in a softmax": {"CNN511": "warning"},
    "layer in float": {"CNN513": "warning"},
    "pad of equal scales": {},
    "pad of unequal scales": {"CNN510": "warning"},
    "concat of equal scales": {},
    "concat of unequal scales": {"CNN510": "warning"},
}
"""Models of `CASES` to the rules of quantization that report them, and how."""

NAMED = {
    "torch/cnn1d_a16": {"CNN505": "error"},
    "torch/cnn1d_asym": {"CNN501": "error"},
    "torch/cnn1d_def": {},
    "torch/cnn1d_dynq": {"CNN507": "error"},
    "torch/cnn1d_leg": {},
    "torch/cnn1d_qop": {},
    "torch/cnn1d_tfl": {},
    "torch/cnn1d_u8u8": {"CNN501": "error", "CNN504": "note"},
    "torch/dscnn_a16": {"CNN505": "error", "CNN510": "warning"},
    "torch/dscnn_a16sym": {"CNN502": "error", "CNN510": "warning"},
    "torch/dscnn_asym": {"CNN501": "error", "CNN509": "warning", "CNN510": "warning"},
    "torch/dscnn_def": {"CNN509": "warning", "CNN510": "warning"},
    "torch/dscnn_dynq": {"CNN507": "error"},
    "torch/dscnn_leg": {},
    "torch/dscnn_qop": {"CNN510": "warning"},
    "torch/dscnn_tfl": {"CNN509": "warning", "CNN510": "warning"},
    "torch/dscnn_u8u8": {"CNN501": "error", "CNN504": "note", "CNN509": "warning", "CNN510": "warning"},
    "torch/dscnn_w4": {"CNN502": "error", "CNN509": "warning", "CNN510": "warning"},
    "torch/tcn_a16": {"CNN505": "error"},
    "torch/tcn_asym": {"CNN501": "error"},
    "torch/tcn_def": {},
    "torch/tcn_dynq": {"CNN507": "error"},
    "torch/tcn_qop": {},
    "torch/tcn_tfl": {},
    "torch/tcn_u8u8": {"CNN501": "error", "CNN504": "note"},
    "torch/unet_a16": {"CNN505": "error"},
    "torch/unet_asym": {"CNN501": "error", "CNN510": "warning"},
    "torch/unet_def": {"CNN510": "warning"},
    "torch/unet_dynq": {"CNN507": "error"},
    "torch/unet_qop": {"CNN503": "error", "CNN510": "warning"},
    "torch/unet_tfl": {"CNN510": "warning"},
    "torch/unet_u8u8": {"CNN501": "error", "CNN504": "note", "CNN510": "warning"},
}
"""Networks of PyTorch, quantized by ONNX Runtime in many ways."""
SOUND = ("ad01_toycar_int8_tf", "emza_ssd_slim_int8_tf", "kws_ds_cnn_int8_tf", "person_detect_int8_tflm",
         "resnet8_int8_tf", "vww96_int8_tf")  # fmt: skip
"""int8 models of others, quantized by TensorFlow Lite."""


def of(model: Qdq, producer: str = "") -> list[Finding]:
    """Findings of the rules of quantization on a built model."""
    data = model.model()
    data.producer_name = producer
    analysis = analysed(data, **M4)
    return [finding for finding in model_findings(analysis, analysis.lowered) if finding.code.startswith("CNN5")]


def test_every_cause_and_every_other_kind_belongs_to_one_rule() -> None:
    claims = Counter(kind for rule in every_rule() for kind in rule.kinds)
    assert [kind for kind, count in claims.items() if count > 1] == []
    unclaimed = {Cause.RUNTIME.value: "rules of runtimes ask the runtime", Cause.LAYOUT.value: "a copy is no finding"}
    assert {cause.value for cause in Cause} - set(claims) == unclaimed.keys()


@pytest.mark.parametrize("name", BUILT)
def test_built_models_get_the_rules_that_their_fact_asks_for(name: str) -> None:
    assert levels(of(CASES[name]())) == BUILT[name]


@pytest.mark.parametrize("name", NAMED)
def test_networks_quantized_by_onnx_runtime(name: str) -> None:
    path = paths.SHARED / "cases" / f"{name}.onnx"
    if not path.exists():
        pytest.skip(f"needs {path.name} in a folder `shared` beside the project")
    assert levels(findings(str(path))) == NAMED[name]


@pytest.mark.parametrize("name", SOUND)
def test_models_that_tensorflow_lite_quantized_get_notes_at_most(name: str) -> None:
    path = paths.SHARED / "models" / f"{name}.onnx"
    if not path.exists():
        pytest.skip(f"needs {path.name} in a folder `shared` beside the project")
    assert [finding.text for finding in findings(str(path)) if finding.level > Level.NOTE] == []


def test_nodes_of_one_reason_have_one_cause_and_one_level(told: Told) -> None:
    findings = of(convolution(convolution(zero=5), zero=3))
    assert [finding.code for finding in findings] == ["CNN501", "CNN501"]
    assert len({(finding.group, finding.level) for finding in findings}) == 1
    told(finding.text for finding in findings)


def test_options_are_named_where_onnx_runtime_wrote_the_model(told: Told) -> None:
    model = convolution(zero=3)
    assert "WeightSymmetric" in of(model, ONNX_RUNTIME)[0].text
    other = of(model, "tf2onnx")[0].text
    assert "WeightSymmetric" not in other
    told(other)


@pytest.mark.parametrize(
    ("tensor", "name"),
    [
        ("y_QuantizeLinear_Input", "y"),
        ("y_DequantizeLinear_Output_2", "y"),
        ("y_QuantizeLinear_Output", "y"),
        ("y_quantized", "y"),
        ("quantized_y", "quantized_y"),
    ],
)
def test_names_of_the_float_model(tensor: str, name: str) -> None:
    assert float_name(tensor) == name


def test_a_softmax_whose_input_has_a_vanishing_scale_is_refused() -> None:
    for exponent, codes in ((-26, {"CNN512"}), (-25, set())):
        model = dense()
        model.real = model.nodes[-3].output[0]
        del model.nodes[-2:]
        model.rounded(2.0**exponent).layer("Softmax", axis=-1).rounded(1 / 256, -128)
        assert {finding.code for finding in of(model)} - {"CNN515"} == codes


@pytest.mark.parametrize(("factor", "zero", "level"), [(1.0, 0, None), (2.0, 0, "warning"), (1.0, 900, "warning")])
def test_a_bias_of_another_scale_is_told_with_what_it_does_to_results(
    factor: float, zero: int, level: str | None, told: Told
) -> None:
    model = Qdq()
    weights = model.weights("w", (4, 4, 3, 3))
    model.constant("b", np.full(4, 4000, np.int32))
    scale = model.constant("b_scale", np.array(0.1 * 0.01 * factor, np.float32))
    model.constant("b_zero", np.array(zero, np.int32))
    model.nodes.append(helper.make_node("DequantizeLinear", ["b", scale, "b_zero"], ["b_real"]))
    findings = of(model.layer("Conv", weights, "b_real").rounded(0.2))
    assert levels(findings) == ({} if level is None else {"CNN508": level})
    if factor != 1.0:
        told(findings[0].text)


def test_channels_whose_multiplier_counts_as_zero_are_counted() -> None:
    model = Qdq()
    weights = model.weights("w", (4, 4, 3, 3), zero=[0] * 4, scale=[0.01, 0.02, 1e-12, 0.01])
    (finding,) = of(model.layer("Conv", weights).rounded(0.2))
    assert (finding.code, finding.level) == ("CNN512", Level.NOTE)
    assert "1 of its 4 channels" in finding.text


def test_weights_are_left_unread_where_the_settings_say_so(tmp_path: Path) -> None:
    (rule,) = (rule for rule in every_rule() if rule.name == "sum-overflow")
    unread = rule.bad._replace(options="--config weights=false")
    assert rule.code not in {code for code, _ in codes_and_levels(unread, tmp_path)}


def test_a_zero_point_that_only_old_releases_ignore_is_told_for_those(told: Told) -> None:
    targets = tuple(target_of("cortex-m4", release, "gcc") for release in ("5.0.0", "6.0.0"))
    data = CASES["dense weights with a zero-point"]().model().SerializeToString()
    analysis = ModelAnalysis("-", AnalysisSettings(targets), data)
    (finding,) = [finding for finding in model_findings(analysis, analysis.lowered) if finding.code == "CNN501"]
    assert finding.targets == (targets[0].label,)
    assert finding.level is Level.WARNING
    told(finding.text)


POOLS = [
    ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2]}),
    ("AveragePool", {"kernel_shape": [3, 3], "strides": [2, 2]}),
    ("GlobalAveragePool", {}),
]


@pytest.mark.parametrize(("op_type", "attributes"), POOLS)
def test_s16_pools_take_any_zero_point(op_type: str, attributes: dict[str, object]) -> None:
    """Pools work on stored integers: firmware gives ONNX Runtime's integers (300 as zero-point, M4 and M55)."""
    assert of(Qdq(kind=np.int16, zero=300).layer(op_type, **attributes).rounded(0.1)) == []
