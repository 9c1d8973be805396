"""Paddings that save instructions, weighed by the cycles that they are modelled to take."""

from __future__ import annotations

from itertools import product

import pytest

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.cli.api import lint
from onnxlint_cmsis.cmsis_nn.library import predicted, route
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fixers.planning.memory_bound import LEAST_GAIN, may_take_longer, take_longer_together
from onnxlint_cmsis.fixers.planning.planning_input import planning_input
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.timing.cores import core_of, kind_of
from onnxlint_cmsis.timing.device import Device
from onnxlint_cmsis.timing.fetches import fetches
from onnxlint_cmsis.timing.predicted_time import layer_time
from onnxlint_cmsis.timing.work import LayerWork
from support.models import text

ONE = Pair(1, 1)


def convolution(inputs, outputs, window=3, side=16):
    plane, pad = Dims(1, side, side, inputs), Pair(window // 2, window // 2)
    weights = Dims(outputs, window, window, inputs)
    return KernelCall("convolve_s8", plane, weights, Dims(1, side, side, outputs), ONE, pad, pad)


def point(inputs, outputs):
    return convolution(inputs, outputs, 1)


def depthwise(inputs, outputs):
    del outputs
    plane = Dims(1, 16, 16, inputs)
    return KernelCall("depthwise_s8", plane, Dims(1, 3, 3, inputs), plane, ONE, ONE, ONE, ch_mult=1)


def dense(inputs, outputs):
    sizes = (Dims(1, 1, 1, inputs), Dims(inputs, 1, 1, outputs), Dims(1, 1, 1, outputs))
    return KernelCall("fully_connected_s8", *sizes, per_channel=False)


COUNTS = (3, 5, 7, 9, 10, 13, 15, 17, 21, 30, 33, 50, 63)
TARGETS = {
    (target.cpu, release): target
    for release in ("5.0.0", "6.0.0", "7.0.0")
    for target in make_settings("x.tflite", targets=["cortex-m4", "cortex-m7", "cortex-m55"], release=release).targets
}


def paddings(target):
    """Calls before and after each padding by 1 to 4 channels that saves more than 2 % of the instructions."""
    for make, count, other, more in product((convolution, point, depthwise, dense), COUNTS, (16, 64), range(1, 5)):
        for before, after in (
            ((other, count), (other, count + more)),
            ((count, other), (count + more, other)),
        ):
            calls = make(*before), make(*after)
            costs = [predicted(call, target, route(call, target)) for call in calls]
            if all(cost.known for cost in costs) and costs[1].instructions < 0.98 * costs[0].instructions:
                yield calls


def cycles(call, target, weights):
    taken = route(call, target)
    instructions = predicted(call, target, taken).instructions
    device = Device(target.cpu, 250_000_000, weights, "tcm")
    lines = fetches(call, core_of(target.cpu), taken.effective)
    work = LayerWork(kind_of(taken.effective), instructions, instructions, lines)
    return sum(layer_time(device, work).placed[0].parts)


def slower(calls, target, weights):
    before, after = (cycles(call, target, weights) for call in calls)
    return after > before


def test_no_padding_that_saves_instructions_is_slower_from_fast_memory():
    every = [(calls, target) for target in TARGETS.values() for calls in paddings(target)]
    assert len({*every}) >= 306
    assert not [calls for calls, target in every if slower(calls, target, "tcm")]


@pytest.mark.parametrize("release", ["5.0.0", "6.0.0", "7.0.0"])
def test_only_outputs_of_dense_layers_are_slower_from_mram(release):
    """Each of these saves less than LEAST_GAIN of its instructions, the bound where no memory is known."""
    target = TARGETS["cortex-m55", release]
    late = [calls for calls in paddings(target) if slower(calls, target, "mram")]
    assert len({*late}) >= 4
    for before, after in late:
        assert before.entry == "fully_connected_s8"
        assert before.output_dims.c < after.output_dims.c
        costs = [predicted(call, target, route(call, target)).instructions for call in (before, after)]
        assert costs[1] > (1 - LEAST_GAIN) * costs[0]
    for have, want in ((7, 9), (30, 32)):
        assert (dense(64, have), dense(64, want)) in late


NET = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 64] x) => (float[1, 16] y) <float[64, 7] v = {1}, float[7, 16] w = {1}> {
        a = MatMul(x, v)
        y = MatMul(a, w)
    }
"""


def planned(net=NET, **given):
    settings = make_settings("net.onnx", targets=["cortex-m55"], release="7.0.0", **given)
    model = ModelAnalysis("net.onnx", settings.analysis, text(net).SerializeToString())
    prices = Prices(settings.targets, predicted, model.route)
    return planning_input(model, prices), prices


@pytest.mark.parametrize(
    ("given", "left_out"),
    [
        ({}, {9, 11}),
        ({"weights_in": "mram"}, {9, 11}),
        ({"weights_in": "tcm"}, set()),
        ({"clock": "250MHz"}, {9, 11}),
        ({"clock": "250MHz", "weights_in": "mram"}, {9, 11}),
        ({"clock": "250MHz", "weights_in": "1"}, {11}),
        ({"clock": "250MHz", "weights_in": "tcm"}, {11}),
    ],
)
def test_modelled_cycles_decide_where_the_memory_of_weights_is_known(given, left_out):
    """8 outputs save a quarter; 9 save 4 %; 11 cost more. The smaller bound of instructions is for open memory."""
    view, prices = planned(**given)
    (group,) = (group for group in view.dimensions.classes if group.size == 7)
    along = [site for site in view.sites if group.id in site.leaves]
    assert may_take_longer(view, prices, group, along, [8, 9, 11]) == left_out
    assert take_longer_together(view, prices, {group.id: 11}) == ("clock" in given and "weights_in" in given)


THREE = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 16] x) => (float[1, 16] y) <float[16, 7] u = {1}, float[7, 7] v = {1}, float[7, 16] w = {1}> {
        a = MatMul(x, u)
        b = MatMul(a, v)
        y = MatMul(b, w)
    }
"""


def test_sizes_that_each_save_cycles_may_take_longer_together():
    """Both pad the layer between them, whose weights grow by the product, so that some memory is slow enough for it."""
    answers = set()
    for line in range(20, 40):
        view, prices = planned(THREE, clock="250MHz", weights_in=str(line), arena_in="tcm")
        first, second = (group.id for group in view.dimensions.classes if group.size == 7)
        choices = ({first: 9}, {second: 9}, {first: 9, second: 9})
        answers.add(tuple(take_longer_together(view, prices, sizes) for sizes in choices))
    assert answers == {(False, False, False), (False, False, True), (True, True, True)}


def test_a_plan_that_is_slower_as_a_whole_is_not_taken(monkeypatch, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(text(NET).SerializeToString())
    given = {"targets": ["cortex-m55"], "clock": "250MHz", "weights_in": "tcm", "arena_in": "tcm"}
    assert "CNN201" in [finding.code for finding in lint(str(path), **given).findings]
    slower = "onnxlint_cmsis.fixers.planning.decision.take_longer_together"
    monkeypatch.setattr(slower, lambda *_: True)
    assert "CNN201" not in [finding.code for finding in lint(str(path), **given).findings]
