"""Real models under every policy: fixed with proof and stable, or left alone with a reason."""

from __future__ import annotations

import sys

import pytest

from support import paths
from support.linter import fixed
from support.proofs import prove
from support.versions import needs_lasting_runtime, needs_right_products

ROOT = paths.ROOT
MODELS = paths.SHARED / "models"
sys.path.insert(0, str(ROOT / "scripts"))

import fix_models  # noqa: E402

SAMPLE = [
    ("ad01_toycar_int8_tf", "faster", "cortex-m0"),
    ("deeploy_tinyvit_demo", "faster", "cortex-m4"),
    ("deeploy_tinyvit_demo", "align", "cortex-m55"),
    ("dory_tcn_int_1d", "align", "cortex-m55"),
    ("kws_ds_cnn_int8_tf", "faster", "cortex-m55"),
    ("light_shufflenet_op9", "faster", "cortex-m4"),
    ("mnist_convinteger", "route", "cortex-m4"),
    ("ort_conv_qdq_external_ini", "align", "cortex-m4"),
    ("ort_convtranspose_conv_qdq_s8", "align", "cortex-m0"),
    ("silero_vad_16k_op15", "route", "cortex-m55"),
    pytest.param("vww96_int8_tf", "faster", "cortex-m55", marks=needs_right_products),
    pytest.param("yunet_n_dynamic", "align", "cortex-m4", marks=needs_lasting_runtime),
]
"""One of each kind; scripts/fix_models.py does them all."""

needs_models = pytest.mark.skipif(
    not MODELS.exists(), reason="needs the models in a folder `shared` beside the project"
)


@needs_models
@pytest.mark.parametrize(("name", "policy", "target"), SAMPLE)
def test_fixed_or_left_with_a_reason(name, policy, target):
    outcomes = list(fix_models.outcomes(MODELS / f"{name}.onnx", policy, target))
    assert all(good for good, _ in outcomes), outcomes


@needs_models
@needs_right_products
def test_visual_wake_words_loses_three_quarters_of_its_weights_and_no_bit_of_its_output():
    """More than 75 % of the convolution weights, 40 % of the multiply-accumulates; 1,000 inputs."""
    data = (MODELS / "vww96_int8_tf.onnx").read_bytes()
    result, new = fixed(data, targets=["cortex-m4"])
    weights = [tensor for tensor in result.tensors if tensor.old_shape and len(tensor.old_shape) == 4]
    unchanged = 207_600 - sum(tensor.old_bytes for tensor in weights)
    assert unchanged + sum(tensor.new_bytes for tensor in weights) <= 0.25 * 207_600
    assert result.macs.after <= 0.6 * result.macs.before
    assert len(result.classes) >= 9
    proof = prove(data, new or b"", inputs=range(1000), seed=7)
    assert proof.equal, proof.reason
    assert proof.inputs >= 1000
    assert [difference.largest for difference in proof.differences] == [0]


@needs_models
def test_a_published_voice_activity_detector_is_repaired_for_the_m55():
    """Two of its one-dimensional layers return an error there; one more channel each, and they do not."""
    path = MODELS / "silero_vad_16k_op15.onnx"
    targets = ["cortex-m4", "cortex-m55"]
    result = fixed(path.read_bytes(), targets=targets, input_shapes={"input": [1, 576]}).result
    assert result.changed
    assert {repair.hazard for repair in result.repairs} == {"conv-1xn-geometry-refused"}
    assert len(result.repairs) == 2
    assert [(group.have, group.want) for group in result.classes] == [(128, 129), (64, 65)]
    m4, m55 = result.totals
    assert m4.repair_price == m4.new_instructions - m4.instructions > 0
    assert m55.unknown > 0
