"""Outputs of dense layers that are not padded where the weights may lie in slow memory."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.analysis.analysis import AnalysisSettings, ModelAnalysis
from onnxlint_cmsis.cmsis_nn.cost import predicted
from onnxlint_cmsis.fixers.planning.memory_bound import LEAST_GAIN, may_take_longer
from onnxlint_cmsis.fixers.planning.planning_input import planning_input
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


def slower(tmp_path, outputs, cpu, weights):
    """Sizes up to 40 of the class between two dense layers that are left out, and their gains in instructions."""
    path = tmp_path / "net.onnx"
    path.write_bytes(text(DENSE.replace("N", str(outputs))).SerializeToString())
    target = target_of(cpu, "7.0.0", "gcc")
    model = ModelAnalysis(str(path), AnalysisSettings((target,), memories=((weights, "sram"),)))
    prices = Prices((target,), predicted)
    view = planning_input(model, prices)
    site = next(site for site in view.sites if site.layer.call.output_dims.c == outputs)
    (leaf,) = {leaf for leaf in site.leaves if model.dimensions.classes[leaf].size == outputs}
    left_out = may_take_longer(view, prices, leaf, outputs, range(1, 41))
    (have,) = prices.of_layer(site.layer)
    gains = {}
    for size in range(outputs + 1, 41):
        (price,) = prices.at(site, site.channels({leaf: size}))
        gains[size] = 1 - price.instructions / have.instructions
    return left_out, gains


@pytest.mark.parametrize("outputs", [7, 9, 18, 30])
def test_outputs_that_save_less_than_a_tenth_are_left_out(tmp_path, outputs):
    left_out, gains = slower(tmp_path, outputs, "cortex-m55", "mram")
    assert gains
    assert left_out == {size for size, gain in gains.items() if gain < LEAST_GAIN}


@pytest.mark.parametrize(("cpu", "weights"), [("cortex-m55", "tcm"), ("cortex-m4", "flash")])
def test_fast_memory_and_other_cores_leave_nothing_out(tmp_path, cpu, weights):
    assert slower(tmp_path, 7, cpu, weights)[0] == set()


def test_nothing_below_the_present_size_is_left_out(tmp_path):
    assert min(slower(tmp_path, 9, "cortex-m55", "unknown")[0]) > 9
