"""What a message tells users of ONNX Runtime's quantizer to pass makes its finding go."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import QuantFormat, QuantType

from onnxlint_cmsis.ground.findings import Finding
from support.goldens import Told
from support.models import text as parsed
from support.quantizer_runs import findings, joined, levels, quantized, quantized_dynamically, reshaped
from support.versions import since

WORDS = {"np": np, "QuantType": QuantType}
INT16 = {"activation_type": QuantType.QInt16}
SYMMETRIC = {"ActivationSymmetric": True}


def options_of(finding: Finding) -> dict[str, Any]:
    """The value of `extra_options` in a message, or beside it; nothing where neither names it."""
    _, separator, rest = f"{finding.properties.get('option', finding.text)}".partition("extra_options=")
    if not separator:
        return {}
    end = max(
        index
        for index, character in enumerate(rest)
        if character == "}" and rest[: index + 1].count("{") == rest[: index + 1].count("}")
    )
    expression = ast.parse(rest[: end + 1], mode="eval")
    return dict(eval(compile(expression, "message", "eval"), WORDS))


def merged(findings: list[Finding], options: dict[str, Any]) -> dict[str, Any]:
    """Options with those that messages name; tensors of several messages come together."""
    options_so_far = {name: dict(value) if isinstance(value, dict) else value for name, value in options.items()}
    for finding in findings:
        for name, value in options_of(finding).items():
            options_so_far[name] = {**options_so_far.get(name, {}), **value} if isinstance(value, dict) else value
    return options_so_far


@pytest.mark.parametrize(
    ("options", "extra", "codes"),
    [
        ({}, {}, {"CNN509", "CNN510"}),
        ({"quant_format": QuantFormat.QOperator}, {}, {"CNN510"}),
        ({}, {"WeightSymmetric": False}, {"CNN501", "CNN509", "CNN510"}),
        (INT16, {}, {"CNN505", "CNN510"}),
        ({**INT16, "per_channel": True}, SYMMETRIC, {"CNN502", "CNN510"}),
        ({"weight_type": QuantType.QInt4, "per_channel": True}, {}, {"CNN502", "CNN509", "CNN510"}),
    ],
    ids=["default", "operators", "asymmetric", "int16", "int16 per channel", "int4 per channel"],
)
def test_extra_options_of_messages_make_their_findings_go(
    options: dict[str, Any], extra: dict[str, Any], codes: set[str], tmp_path: Path
) -> None:
    before = quantized(tmp_path, **options, extra_options=extra)
    assert set(levels(before)) == codes
    better = merged(before, extra)
    after = quantized(tmp_path, **options, extra_options=better)
    if "first" in " ".join(finding.text for finding in before):
        after = quantized(tmp_path, **options, extra_options=merged(after, better))
    assert not codes & set(levels(after))


@pytest.mark.parametrize(
    ("options", "code", "text", "better"),
    [
        (
            {"weight_type": QuantType.QUInt8, "activation_type": QuantType.QUInt8},
            "CNN501",
            "weight_type=QuantType.QInt8",
            {},
        ),
        ({"activation_type": QuantType.QUInt8}, "CNN504", "activation_type=QuantType.QInt8", {}),
        ({"weight_type": QuantType.QInt16}, "CNN503", "weight_type=QuantType.QInt8", {}),
        ({"nodes_to_exclude": ["second"]}, "CNN503", "leave it out of nodes_to_exclude", {}),
        ({"activation_type": QuantType.QUInt16}, "CNN506", "activation_type=QuantType.QInt8", {}),
        pytest.param(
            *({"op_types_to_quantize": ["Conv", "Gemm"]}, "CNN513", "in op_types_to_quantize", {}),
            marks=since("onnxruntime", (1, 23), "this quantizer fails on the outputs of Softmax"),
        ),
        ({"extra_options": {"QuantizeBias": False}}, "CNN508", '{"QuantizeBias": False}', {}),
    ],
    ids=["u8 weights", "u8", "int16 weights", "excluded", "u16", "two operators", "float bias"],
)
def test_arguments_of_messages_make_their_findings_go(
    options: dict[str, Any], code: str, text: str, better: dict[str, Any], tmp_path: Path
) -> None:
    said = [finding.text for finding in quantized(tmp_path, **options) if finding.code == code]
    assert said
    assert text in said[0]
    assert code not in levels(quantized(tmp_path, **better))


def test_dynamic_quantization_is_one_reason_and_static_quantization_mends_it(tmp_path: Path, told: Told) -> None:
    findings = quantized_dynamically(tmp_path)
    assert levels(findings) == {"CNN507": "error"}
    told(findings[0].text)
    assert len({finding.group for finding in findings}) == 1
    assert "CNN507" not in levels(quantized(tmp_path))


@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator], ids=["QDQ", "operators"])
def test_pools_and_concats_that_share_tensors_are_mended_at_once(form: QuantFormat, tmp_path: Path) -> None:
    before = quantized(tmp_path, joined(), quant_format=form)
    assert set(levels(before)) == {"CNN510"}
    assert len(before) > 2
    first = options_of(before[0])
    assert quantized(tmp_path, joined(), quant_format=form, extra_options=first) == []


def test_what_has_a_scale_apart_behind_a_flatten_is_named_too(tmp_path: Path) -> None:
    """As ONNX Runtime's quantizer before 1.28 writes it."""
    quantized(tmp_path)
    path = tmp_path / "quantized.onnx"
    model = onnx.load(path)
    quantizer = next(node for node in model.graph.node if node.op_type == "QuantizeLinear" and node.input[0] == "f")
    (scale,) = (tensor for tensor in model.graph.initializer if tensor.name == quantizer.input[1])
    model.graph.initializer.add().CopyFrom(scale)
    model.graph.initializer[-1].name = "apart"
    quantizer.input[1] = "apart"
    onnx.save(model, path)
    scales = options_of(next(finding for finding in findings(str(path)) if finding.code == "CNN510"))[
        "TensorQuantOverrides"
    ]
    assert scales["f"] == scales["p"]


def test_a_pair_for_each_reader_changes_nothing(tmp_path: Path) -> None:
    pairs = quantized(tmp_path, extra_options={"DedicatedQDQPair": True})
    assert levels(pairs) == levels(quantized(tmp_path))


def test_integer_sums_of_a_fixed_scale_ask_for_layers_that_give_integers(tmp_path: Path, told: Told) -> None:
    """What ONNX Runtime's quantizer wrote in its mode of integer operators; `quantize_static` writes none of them."""
    model = parsed("""<ir_version: 10, opset_import: ["" : 13], producer_name: "onnx.quantize">
    g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
    <float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}, float t = {0.001}> {
        q = QuantizeLinear(x, s, z)
        c = ConvInteger(q, w, z, z)
        f = Cast<to = 1>(c)
        y = Mul(f, t)
    }""")
    path = tmp_path / "sums.onnx"
    onnx.save(model, path)
    (finding,) = [finding for finding in findings(str(path)) if finding.code == "CNN513"]
    told(finding.text)
    assert "CNN513" not in levels(quantized(tmp_path, quant_format=QuantFormat.QDQ))


def test_messages_are_short_and_options_whole(tmp_path: Path) -> None:
    told_findings = quantized(tmp_path, joined())
    assert told_findings
    assert max(len(finding.text) for finding in told_findings) < 300
    assert options_of(told_findings[0])["TensorQuantOverrides"]


def test_options_name_the_tensor_whose_scale_the_quantizer_hands_on(tmp_path: Path) -> None:
    """It gives results of Transpose and Reshape the scale of what they read, whatever an option says of them."""
    before = [finding for finding in quantized(tmp_path, reshaped()) if finding.code == "CNN510"]
    options = merged(before, {})
    assert set(options["TensorQuantOverrides"]) <= {"a", "c", "k"}
    assert not [
        finding for finding in quantized(tmp_path, reshaped(), extra_options=options) if finding.code == "CNN510"
    ]
