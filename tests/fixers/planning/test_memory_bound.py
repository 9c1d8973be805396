"""Outputs of dense layers that are not padded where the weights may lie in slow memory."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.analysis.analysis import AnalysisSettings, ModelAnalysis
from onnxlint_cmsis.cmsis_nn.library import predicted
from onnxlint_cmsis.fixers.planning.decision import decide
from onnxlint_cmsis.fixers.planning.planning_input import planning_input
from onnxlint_cmsis.fixers.planning.policies import FixOptions
from onnxlint_cmsis.fixers.planning.prices import Prices
from support.linter import target_of
from support.models import text

DENSE = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 64] x) => (float[1, 4] y) <float[64, N] v = {1}, float[N, 4] w = {1}> {
        a = MatMul(x, v)
        y = MatMul(a, w)
    }
"""
OUTPUTS = range(3, 34)
LEAST_GAIN = 0.1
"""Part of the instructions of a dense layer that more outputs have to save."""


def padded(tmp_path, outputs, cpu, weights):
    """The size that is chosen between two dense layers, and the part of the first one's instructions that it saves."""
    path = tmp_path / "net.onnx"
    path.write_bytes(text(DENSE.replace("N", str(outputs))).SerializeToString())
    target = target_of(cpu, "7.0.0", "gcc")
    model = ModelAnalysis(str(path), AnalysisSettings((target,), memories=((weights, "sram"),)))
    prices = Prices((target,), predicted)
    view = planning_input(model, prices)
    sizes = decide(view, prices, FixOptions(), {}, {}).sizes
    if not sizes:
        return outputs, 0.0
    ((leaf, size),) = sizes.items()
    site = next(site for site in view.sites if site.layer.call.output_dims.c == outputs)
    (have,), (want,) = prices.of_layer(site.layer), prices.at(site, site.channels({leaf: size}))
    return size, 1 - want.instructions / have.instructions


def test_outputs_are_padded_for_a_tenth_of_the_instructions(tmp_path):
    fast = {outputs: padded(tmp_path, outputs, "cortex-m55", "tcm") for outputs in OUTPUTS}
    slow = {outputs: padded(tmp_path, outputs, "cortex-m55", "mram") for outputs in OUTPUTS}
    assert any(size > outputs and gain < LEAST_GAIN for outputs, (size, gain) in fast.items())
    assert any(size > outputs for outputs, (size, _) in slow.items())
    assert all(gain >= LEAST_GAIN for outputs, (size, gain) in slow.items() if size > outputs)
    assert {outputs: pair for outputs, pair in fast.items() if pair[1] >= LEAST_GAIN}.items() <= slow.items()


@pytest.mark.parametrize("weights", ["unknown", "sram", "40"])
def test_every_other_memory_may_be_slow(tmp_path, weights):
    for outputs in (7, 9, 30):
        size, gain = padded(tmp_path, outputs, "cortex-m55", weights)
        assert size == outputs or gain >= LEAST_GAIN


def test_a_core_without_mve_asks_for_no_memory(tmp_path):
    for outputs in OUTPUTS:
        assert padded(tmp_path, outputs, "cortex-m4", "flash") == padded(tmp_path, outputs, "cortex-m4", "tcm")
