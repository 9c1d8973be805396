"""What is said to do about an operand that is a constant, and that it can be done."""

from __future__ import annotations

import numpy as np
import pytest

from onnxlint_cmsis.checks.rule_registry import rule
from support.linter import linted
from support.quantized_models import IMAGE, Qdq, constant_operand, convolution

PER_CHANNEL = (1, 4, 1, 1)
FOLD = (
    "Fold the constant into the layer in front before that is quantized: run --fix on the float model, then "
    "ONNX Runtime's quant_pre_process."
)
NOTHING = "Nothing: reference code computes it."
OWN_CODE = "Write it in the application, or train without it."


def advice(model: Qdq) -> list[str]:
    """What CNN190 says to do."""
    findings = linted(model.model(), "m.onnx", targets=("cortex-m4",)).findings
    return [finding.remedy for finding in findings if finding.code == "CNN190"]


def with_constant(model: Qdq, op_type: str = "Mul", shape: tuple[int, ...] = PER_CHANNEL) -> Qdq:
    """A product with a quantized constant."""
    return model.layer(op_type, model.dequantized(model.constant("k", np.ones(shape, np.int8)), 0.05)).rounded(0.3)


@pytest.mark.parametrize("shape", [(1,), PER_CHANNEL])
@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div"])
def test_a_constant_for_each_channel_is_folded_into_a_convolution(op_type: str, shape: tuple[int, ...]) -> None:
    assert advice(constant_operand(op_type, shape)) == [FOLD]
    assert advice(convolution()) == []


@pytest.mark.parametrize(
    ("model", "do"),
    [
        (with_constant(Qdq()), NOTHING),
        (with_constant(Qdq().layer("MaxPool", kernel_shape=[1, 1]).rounded()), NOTHING),
        (with_constant(convolution().layer("Relu").rounded(0.2)), NOTHING),
        (constant_operand("Mul", IMAGE), NOTHING),
        (constant_operand("Add", IMAGE), NOTHING),
        (with_constant(Qdq(), "Sub"), OWN_CODE),
        (constant_operand("Div", IMAGE), OWN_CODE),
    ],
    ids=["input", "pool", "relu", "product per position", "sum per position", "Sub of the input", "Div per position"],
)
def test_a_constant_that_no_layer_in_front_can_take_in_is_not_folded(model: Qdq, do: str) -> None:
    assert advice(model) == [do]


def test_a_layer_that_others_read_too_takes_in_no_constant() -> None:
    model = convolution()
    before = model.real
    assert advice(with_constant(model).layer("Add", before).rounded(0.3)) == [NOTHING]


def test_a_float_constant_that_is_quantized_is_taken_by_reference_code() -> None:
    model = Qdq()
    model.layer("Mul", model.constant("k", np.ones(PER_CHANNEL, np.float32))).rounded(0.3)
    assert advice(model) == ["Quantize the constant too, which reference code takes."]
    assert advice(with_constant(Qdq())) == [NOTHING]


def test_a_sum_with_a_constant_that_is_no_bias_needs_a_quantized_result_in_front() -> None:
    model = Qdq()
    model.layer("Conv", model.weights("w", (4, 4, 3, 3)), pads=[1, 1, 1, 1])
    assert advice(with_constant(model, "Add", IMAGE)) == ["Quantize its result in front of the constant too."]
    assert advice(constant_operand("Add", IMAGE)) == [NOTHING]


@pytest.mark.parametrize("code", ["CNN402", "CNN403"])
def test_a_constant_in_the_shape_of_the_other_operand_is_not_broadcast(code: str) -> None:
    broadcast = next(cause for cause in rule(code).causes if cause.key == "broadcast")
    assert broadcast.do.startswith("Give both one shape: store a constant as often as the other operand repeats it.")
    assert "Nothing helps where a layer of Keras stores it" in broadcast.do
    assert "int8[1, 4, 1, 1] k" in str(broadcast.bad.model)
    assert "int8[1, 4, 8, 8] k" in str(broadcast.good.model)
