"""Channels that go may leave a layer with a bias that it had not: the plan counts its instructions and its bytes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from support.linter import fixed
from support.repairable_models import Parts

TARGETS = ["cortex-m4", "cortex-m55"]


def channels_of_one_value(outputs: int, constants: tuple[int, ...]) -> onnx.ModelProto:
    """Six channels, of which the second to fourth hold one value each, before a 1x1 QLinearConv without a bias.

    The channels are read in float as well, so that what makes them has no kernel and no cost.
    """
    random = np.random.default_rng(4)
    parts = Parts()
    weights = random.integers(-30, 30, (6, 1, 3, 3))
    weights[1:4] = 0
    bias = np.array([514, *constants, -211, 30])
    stored = parts.constant("w", weights, np.int8), parts.constant("b", bias, np.int32)
    real = parts.node("DequantizeLinear", ["x", *parts.parameters("x", 0.05, 7, np.uint8)], "xr")
    filters = parts.node("DequantizeLinear", [stored[0], *parts.parameters("w", 0.01, 0, np.int8)], "wr")
    offsets = parts.node("DequantizeLinear", [stored[1], parts.constant("b_scale", 0.0005, np.float32)], "br")
    last = parts.node("Conv", [real, filters, offsets], "conv")
    parts.node("Conv", [last, parts.constant("d", random.normal(size=(18, 1, 1, 1)), np.float32)], "unread", group=6)
    last = parts.node("QuantizeLinear", [last, *parts.parameters("h", 0.02, 3, np.int8)], "h")
    second = [last, "h_scale", "h_zero", parts.constant("v", random.integers(-30, 30, (outputs, 6, 1, 1)), np.int8)]
    second += [*parts.parameters("v", 0.01, 0, np.int8), *parts.parameters("y", 0.1, 0, np.int8)]
    parts.node("QLinearConv", second, "y")
    return parts.model((TensorProto.UINT8, (1, 1, 5, 5)), "y")


@pytest.mark.parametrize("outputs", range(1, 17))
def test_a_fix_runs_more_instructions_on_no_target(outputs):
    result = fixed(channels_of_one_value(outputs, (901, 0, 0)), targets=TARGETS, release="7.0.0", min_gain=0).result
    assert not result.failed, result.reason
    assert all(total.new_instructions <= total.instructions for total in result.totals)


@pytest.mark.parametrize("constants", [(901, 0, 0), (901, -400, 77), (0, 0, 0)])
def test_constants_grow_by_no_more_than_the_budget(constants):
    model = channels_of_one_value(64, constants)
    settings = {"targets": ["cortex-m4"], "min_gain": 0}
    assert fixed(model, **settings).result.changed
    bound = fixed(model, **settings, fix_budget_bytes=0).result
    assert sum(tensor.new_bytes - tensor.old_bytes for tensor in bound.tensors) <= 0
