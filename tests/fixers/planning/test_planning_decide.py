"""Sizes that the policies ask for, with costs made up for the test."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.cmsis_nn.library import Prediction, predicted
from onnxlint_cmsis.config import keys
from onnxlint_cmsis.fixers.planning.decision import decide
from onnxlint_cmsis.fixers.planning.locked import locked_gains
from onnxlint_cmsis.fixers.planning.planning_input import planning_input
from onnxlint_cmsis.fixers.planning.policies import POLICIES, REACH, FixOptions
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.ground.types import Dims
from support.conv_chains import chain
from support.dims_graphs import Builder
from support.models import text
from support.targets import target_of

M4, M55 = (target_of(name, "7.0.0", "gcc") for name in ("cortex-m4", "cortex-m55"))


def blocks(call, _target):
    """Four input channels cost as much as one left over, in every layer with another filter."""
    inputs, outputs = call.input_dims.c, call.output_dims.c
    if not call.entry.startswith(("convolve", "depthwise", "fully_connected")):
        return None
    return 100 * (inputs // 4 + inputs % 4) * outputs


def predictions(cost, calls, target):
    """What a cost of single calls says of many that differ in their channel counts."""
    sizes = [*calls.input_dims, *calls.filter_dims, *calls.output_dims, calls.ch_mult]
    rows = np.broadcast_arrays(*sizes)
    costs = []
    for numbers in zip(*(row.reshape(-1).tolist() for row in rows), strict=True):
        dims = Dims(*numbers[:4]), Dims(*numbers[4:8]), Dims(*numbers[8:12])
        call = calls._replace(input_dims=dims[0], filter_dims=dims[1], output_dims=dims[2], ch_mult=numbers[12])
        costs.append(cost(call, target))
    known = [number is not None for number in costs]
    numbers = [float(number or 0) for number in costs]
    return Prediction(np.array(numbers), np.array(known)) if rows[0].ndim else Prediction(numbers[0], known[0])


def looked_at(build, *outputs, cost=blocks, targets=(M4,)):
    graph = build.graph(*outputs)
    prices = Prices(tuple(targets), lambda call, target, _route: predictions(cost, call, target))
    return planning_input(ModelAnalysis("test", AnalysisSettings(prices.targets), graph=graph), prices), prices


def decided(build, *outputs, cost=blocks, targets=(M4,), live=None, refused=None, **options):
    view, prices = looked_at(build, *outputs, cost=cost, targets=targets)
    return decide(view, prices, FixOptions(**options), live or {}, refused or {})


def sizes_of(build, output, decision):
    """Tensor of each class that changes, with its new size."""
    dimensions = build.analyse(output)
    return {dimensions.classes[leaf].deciders[0].label: size for leaf, size in decision.sizes.items()}


def test_faster_pads_where_the_reader_gains_more_than_the_maker_loses():
    build, out = chain(8, 7, 32)
    assert sizes_of(build, out, decided(build, out)) == {"conv0": 8}


def test_faster_leaves_alone_what_the_maker_loses_more_by():
    build, out = chain(64, 7, 1)
    assert decided(build, out).sizes == {}


def test_two_classes_that_only_gain_together_are_found():
    """Each layer is cheap only where both its sides are multiples of four."""

    def pairs(call, _target):
        both = call.input_dims.c % 4 == 0 and call.output_dims.c % 4 == 0
        return (10 if both else 1000) + call.input_dims.c + call.output_dims.c

    build, out = chain(4, 6, 6, 4)
    assert sizes_of(build, out, decided(build, out, cost=pairs)) == {"conv0": 8, "conv1": 8}


def test_the_choice_is_the_minimum_over_all_sizes():
    def rough(call, _target):
        return (call.input_dims.c * 37 + call.output_dims.c * 91) % 53 + call.input_dims.c

    build, out = chain(4, 3, 5, 2)
    view, prices = looked_at(build, out, cost=rough)
    decision = decide(view, prices, FixOptions(min_gain=0), {}, {})

    def total(a, b):
        calls = [site.call(pair) for site, pair in zip(view.sites, ((4, a), (a, b), (b, 2)), strict=True)]
        return sum(rough(call, M4) for call in calls)

    best = min(total(a, b) for a, b in product(range(3, 3 + REACH), range(5, 5 + REACH)))
    assert decision.after.instructions == (best,)


def test_removal_keeps_the_live_lanes_and_takes_the_cheapest_size_above():
    build, out = chain(8, 30, 32)
    (leaf,) = [group.id for group in build.analyse(out).classes if group.size == 30]
    assert decided(build, out, live={leaf: 11}).sizes == {leaf: 12}


def test_less_than_min_gain_is_left_alone_and_says_what_it_would_gain():
    build, out = chain(8, 7, 32)
    decision = decided(build, out, min_gain=99)
    assert decision.sizes == {}
    assert decision.best.instructions < decision.before.instructions == decision.after.instructions


def test_no_target_gets_worse():
    """What gains on one CPU loses on the other: nothing is done for both, and one alone gets its size."""

    def opposed(call, target):
        return 1000 + (-50 if target is M4 else 20) * (call.input_dims.c == 8)

    build, out = chain(4, 7, 4)
    assert decided(build, out, cost=opposed, targets=(M4,)).sizes != {}
    assert decided(build, out, cost=opposed, targets=(M4, M55)).sizes == {}


def test_a_class_along_a_node_of_unknown_cost_shrinks_but_never_grows():
    build = Builder()
    value = build.conv(build.input("x", 1, 8, 8, 8), 8, 7, name="conv0")
    out = build.conv(build.op("Sigmoid", value), 7, 32, name="conv1")
    view, prices = looked_at(build, out)
    (leaf,) = view.unpriced
    assert decide(view, prices, FixOptions(), {}, {}).sizes == {}
    assert decide(view, prices, FixOptions(), {leaf: 4}, {}).sizes == {leaf: 4}


def test_locked_and_refused_classes_stay():
    build, out = chain(8, 7, 32)
    (leaf,) = [group.id for group in build.analyse(out).classes if group.size == 7]
    assert decided(build, out, refused={leaf: "reason"}).sizes == {}
    view, prices = looked_at(build, out)
    assert {gain.group.size for gain in locked_gains(view, prices)} == {8, 32}


def test_align_pads_all_it_may_whatever_it_costs():
    build, out = chain(3, 6, 10, 2)
    decision = decided(build, out, policy="align")
    assert sizes_of(build, out, decision) == {"conv0": 8, "conv1": 12}
    assert sizes_of(build, out, decided(build, out, policy="align", align=16)) == {"conv0": 16, "conv1": 16}


def test_a_budget_bounds_what_is_added_and_nothing_else():
    build, out = chain(8, 7, 32)
    (leaf,) = [group.id for group in build.analyse(out).classes if group.size == 7]
    added = 4 * (8 + 1 + 32)
    assert decided(build, out, budget=added).sizes == {leaf: 8}
    assert decided(build, out, budget=added - 1).sizes == {}


def test_a_budget_counts_what_an_earlier_fix_added():
    lane = 4 * (8 + 1 + 32)

    def falling(call, _target):
        return 10_000 - 10 * call.input_dims.c

    build, out = chain(8, 7, 32)
    (leaf,) = [group.id for group in build.analyse(out).classes if group.size == 7]
    assert decided(build, out, cost=falling, budget=3 * lane, min_gain=0).sizes == {leaf: 10}
    build, out = chain(8, 10, 32)
    assert decided(build, out, cost=falling, budget=3 * lane, min_gain=0, live={leaf: 7}).sizes == {}


def row_of(channels, columns=32):
    """A 1x5 convolution of stride 2 behind a 1x1 convolution: wrong on M55 with four input channels."""
    build = Builder()
    value = build.conv(build.input("x", 1, 4, 1, columns), 4, channels, name="conv0")
    weights = build.weights(8, channels, 1, 5)
    shape = {"kernel_shape": [1, 5], "strides": [1, 2], "auto_pad": "SAME_UPPER"}
    return build, build.op("Conv", value, weights, name="row", **shape)


def test_hazards_are_repaired_first_at_whatever_price():
    build, out = row_of(4)
    decision = decided(build, out, cost=lambda call, _target: call.input_dims.c * 1000, targets=(M55,))
    assert list(decision.sizes.values()) == [5]
    assert decision.repairs
    assert decision.repaired.instructions > decision.before.instructions


def test_seventeen_channels_lead_a_transposed_convolution_round_a_wrong_kernel():
    """3x3, stride 2, padding 1 on 7.0.0: the direct kernel is wrong; more than 16 input channels take another."""
    build = Builder()
    value = build.conv(build.input("x", 1, 3, 6, 6), 3, 8, name="conv0")
    out = build.op("ConvTranspose", value, build.weights(8, 4, 3, 3), name="up", strides=[2, 2], pads=[1] * 4)
    decision = decided(build, out, targets=(M4, M55))
    assert list(decision.sizes.values()) == [17]
    assert sum(decision.before.hazards) == 2 > sum(decision.after.hazards) == 0


def upsampling(have):
    """Conv 4 -> have, Relu, 3x3 ConvTranspose of stride 2 and padding 1: wrong on 7.0.0 below 17 input channels."""
    build = Builder()
    value = build.op("Relu", build.conv(build.input("x", 1, 4, 6, 6), 4, have, name="conv0"))
    return build, build.op("ConvTranspose", value, build.weights(have, 4, 3, 3), strides=[2, 2], pads=[1] * 4)


@pytest.mark.parametrize("have", [4, 6, 16])
@pytest.mark.parametrize(("align", "want"), [(4, 20), (3, 18), (16, 32), (64, 64)])
def test_align_repairs_a_hazard_beyond_the_next_multiple_with_the_least_multiple_that_does(have, align, want):
    build, out = upsampling(have)
    decision = decided(build, out, policy="align", align=align, targets=(M55,))
    assert list(decision.sizes.values()) == [want]
    assert decision.repairs
    assert decision.repaired.instructions[0] > decision.before.instructions[0]


def test_align_takes_the_least_repairing_size_where_no_multiple_repairs():
    """A 1x5 layer of stride 2 is wrong on M55 with every multiple of four."""
    build, out = row_of(4)
    assert list(decided(build, out, policy="align", targets=(M55,)).sizes.values()) == [5]
    build, out = row_of(5)
    assert decided(build, out, policy="align", targets=(M55,)).sizes == {}


def test_align_leaves_classes_without_a_hazard_at_the_next_multiple():
    build, out = upsampling(6)
    last = build.conv(build.op("Relu", build.conv(out, 4, 6, name="after")), 6, 2)
    decision = decided(build, last, policy="align", targets=(M55,))
    assert sizes_of(build, last, decision) == {"conv0": 20, "after": 8}


@pytest.mark.parametrize("policy", ["route", "faster"])
def test_the_other_policies_take_the_least_repairing_size(policy):
    build, out = upsampling(6)
    assert list(decided(build, out, policy=policy, targets=(M55,)).sizes.values()) == [17]
    build, out = row_of(4)
    assert list(decided(build, out, policy=policy, targets=(M55,)).sizes.values()) == [5]


def test_a_repair_may_cost_another_target_instructions():
    build, out = row_of(4)
    decision = decided(build, out, cost=lambda call, _target: call.input_dims.c * 1000, targets=(M4, M55))
    assert list(decision.sizes.values()) == [5]


def test_no_policy_walks_into_a_hazard():
    build, out = row_of(3)
    cheap = decided(build, out, cost=lambda call, _target: 1000 - (call.input_dims.c == 4), targets=(M55,), min_gain=0)
    assert 4 not in cheap.sizes.values()
    assert decided(build, out, policy="align", targets=(M55,)).sizes == {}
    assert list(decided(build, out, policy="align", targets=(M4,)).sizes.values()) == [4]


def test_route_satisfies_missed_conditions_and_nothing_else():
    """A depthwise multiplier of 3 misses the tile of four; the 1x1 convolutions around it miss nothing on M4."""
    build = Builder()
    value = build.conv(build.input("x", 1, 4, 8, 8), 4, 5, name="conv0")
    weights = build.weights(15, 1, 3, 3)
    value = build.op("Conv", value, weights, name="depthwise", kernel_shape=[3, 3], group=5)
    out = build.conv(value, 15, 2, name="conv1")
    decision = decided(build, out, policy="route")
    dimensions = build.analyse(out)
    multiplier = next(group for group in dimensions.classes if group.size == 3)
    assert decision.sizes == {multiplier.id: 4}
    assert decision.after.misses == 0 < decision.before.misses


def test_the_policies_are_those_of_the_configuration():
    assert tuple(POLICIES) == keys.POLICIES


@pytest.mark.parametrize("policy", [*POLICIES])
def test_a_second_decision_changes_nothing(policy):
    """Sizes chosen once are chosen again from the resized model."""
    build, out = chain(4, 6, 10, 7, 4)
    first = sizes_of(build, out, decided(build, out, policy=policy, min_gain=0))
    widths = [4, first.get("conv0", 6), first.get("conv1", 10), first.get("conv2", 7), 4]
    build, out = chain(*widths)
    live = {
        group.id: {widths[1]: 6, widths[2]: 10, widths[3]: 7}.get(group.size, group.size)
        for group in build.analyse(out).classes
    }
    assert decided(build, out, policy=policy, min_gain=0, live=live).sizes == {}


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
    assert OUTPUTS
    for outputs in OUTPUTS:
        assert padded(tmp_path, outputs, "cortex-m4", "flash") == padded(tmp_path, outputs, "cortex-m4", "tcm")
