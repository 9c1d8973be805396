"""The staircase of a class says what the model costs when it really has that width."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.cmsis_nn.library import Route, predicted
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fixers.planning import staircases as widths
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.planning_input import planning_input
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.staircases import Staircase, WidthStep, staircases
from onnxlint_cmsis.ground.types import KernelCall, Target
from support.draws import draws
from support.goldens import Told, check_golden
from support.linter import with_plan
from support.models import text
from support.random_models import GEOMETRY, random_models
from support.third_party_models import SHARED, needs_models

SETTINGS = make_settings(targets=["cortex-m4", "cortex-m55"])

CHAIN = text("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y) <float[4, 3, 1, 1] v = {1}, float[3, 4, 1, 1] w = {1}> {
        a = Conv(x, v)
        y = Conv(a, w)
    }
""").SerializeToString()


def analysed(data: bytes, name: str = "m.onnx") -> tuple[ModelAnalysis, list[Staircase]]:
    model = ModelAnalysis(name, SETTINGS.analysis, data)
    prices = Prices(SETTINGS.targets, predicted, model.route)
    return model, list(staircases(planning_input(model, prices), prices))


def check(data: bytes, staircase: Staircase, model: ModelAnalysis, step: WidthStep) -> None:
    """Give the class that width, and add up the new model."""
    have = staircase.group.size
    kept = (*range(min(have, step.size)), *[None] * max(0, step.size - have))
    other = with_plan(
        onnx.load_model_from_string(data), model.graph, model.dimensions, Plan({staircase.group.id: kept})
    )
    new = ModelAnalysis("m.onnx", SETTINGS.analysis, other.SerializeToString())
    summary = summarize(new)
    assert step.arena == summary.arena
    for index, target in enumerate(summary.targets):
        if not step.unknown:
            assert step.instructions[index] == target.instructions
        routes = [new.route(layer.call, SETTINGS.targets[index]) for layer in new.lowered.layers]
        assert step.hazards[index] == sum(len(taken.hazards) for taken in routes)


@needs_models
@pytest.mark.parametrize("name", ["kws_ds_cnn_int8_tf.onnx", "resnet8_int8_tf.onnx"])
def test_each_width_costs_what_the_resized_model_costs(name: str) -> None:
    data = Path(SHARED, name).read_bytes()
    model, staircases = analysed(data)
    assert staircases
    for staircase in staircases:
        narrow, wide = staircase.steps[0], staircase.steps[-1]
        assert (narrow.size, wide.size) == (staircase.group.size // 2, 2 * staircase.group.size)
        for step in (narrow, staircase.steps[len(staircase.steps) // 3], wide):
            check(data, staircase, model, step)


@given(random_models(GEOMETRY), st.data())
@settings(
    max_examples=draws(40), deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
def test_each_width_of_a_random_model_costs_what_the_resized_model_costs(case, drawn) -> None:
    data = case[0].SerializeToString()
    model, staircases = analysed(data)
    for staircase in staircases[:3]:
        if not staircase.unpriced:
            check(data, staircase, model, drawn.draw(st.sampled_from(staircase.steps)))


def test_cliffs_and_what_is_free() -> None:
    costs = [100, 101, 102, 300, 299, 300, 301]
    steps = tuple(WidthStep(4 + n, (cost,), False, (0,), 0, 0) for n, cost in enumerate(costs))
    group = analysed(CHAIN)[1][0].group._replace(size=5)
    staircase = Staircase(group, steps)
    assert staircase.cliffs(0) == [(7, 198)]
    assert staircase.as_cheap(0) == 5
    assert Staircase(group._replace(size=8), steps).as_cheap(0) == 9
    broken = tuple(step._replace(hazards=(int(step.size > 8),)) for step in steps)
    assert Staircase(group._replace(size=8), broken).as_cheap(0) == 8
    assert Staircase(group._replace(size=8), steps, "n").as_cheap(0) == 8


def stairs(costs: list[int], now: int, first: int = 1, hazards: tuple[int, ...] = ()) -> Staircase:
    """A class on one target; counts in `hazards` run into one."""
    steps = tuple(
        WidthStep(first + n, (cost,), False, (int(first + n in hazards),), 0, 0) for n, cost in enumerate(costs)
    )
    return Staircase(analysed(CHAIN)[1][0].group._replace(size=now), steps)


def sizes(nearest: tuple[WidthStep | None, WidthStep | None]) -> tuple[int | None, ...]:
    return tuple(step and step.size for step in nearest)


def test_the_nearest_cheap_counts_are_the_last_in_front_of_a_step() -> None:
    """As depthwise layers cost on Cortex-M55, four channels at a time."""
    fours = [100 + 50 * (n // 4) + n for n in range(16)]
    assert [step.size for step in stairs(fours, 8).cheap(0)] == [4, 8, 12]
    assert sizes(stairs(fours, 8).nearest(0)) == (4, 12)
    assert sizes(stairs(fours, 7).nearest(0)) == (4, 8)
    assert stairs(fours, 7).cliff(0) == (9, 51)
    assert sizes(stairs(fours, 7, hazards=(8,)).nearest(0)) == (4, 12)


def test_a_wider_count_may_cost_less() -> None:
    pairs = [100, 90, 120, 110, 140, 130, 160, 150]
    assert sizes(stairs(pairs, 3).nearest(0)) == (2, 4)


def test_where_every_channel_costs_the_same_the_next_counts_are_told() -> None:
    line = [10 * n for n in range(1, 9)]
    assert stairs(line, 4).cheap(0) == ()
    assert sizes(stairs(line, 4).nearest(0)) == (3, 5)
    assert stairs(line, 4).cliff(0) is None
    assert sizes(stairs(line, 4, hazards=(3, 5)).nearest(0)) == (None, None)
    assert sizes(stairs([5], 1).nearest(0)) == (None, None)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12), st.data())
def test_no_count_that_is_told_has_a_further_hazard(costs: list[int], drawn: st.DataObject) -> None:
    now = drawn.draw(st.integers(1, len(costs)))
    bad = tuple(drawn.draw(st.sets(st.integers(1, len(costs)))) - {now})
    nearest = stairs(costs, now, hazards=bad)
    down, up = nearest.nearest(0)
    assert down is None or (down.size < now and down.size not in bad)
    assert up is None or (up.size > now and up.size not in bad)
    assert {step.size for step in nearest.cheap(0)}.isdisjoint(bad)


@needs_models
def test_the_command_in_all_forms(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, told: Told
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(SHARED)
    words = ["widths", "--isolated", "--target", "cortex-m4,cortex-m55", "kws_ds_cnn_int8_tf.onnx"]
    assert main(words) == 0
    check_golden("screens/widths", capsys.readouterr().out)
    assert main([*words, "--plot"]) == 0
    plotted = capsys.readouterr().out
    assert max(map(len, plotted.splitlines())) <= 80
    assert plotted.count("  >  ") == 2 * 5
    assert main([*words, "--output-format", "json"]) == 0
    classes = json.loads(capsys.readouterr().out)["classes"]
    assert [len(group["widths"]) for group in classes] == [97] * 5
    assert [(group["down"], group["up"]) for group in classes][-1] == ([62, 48], [66, 80])
    assert main(["widths", "--isolated", "--reach", "0.5", "x.onnx"]) == 2
    told(capsys.readouterr().err)


ROW = text("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 1, 32] x) => (float[1, 8, 1, 15] y) <float[5, 4, 1, 1] v = {1}, float[8, 5, 1, 3] w = {1}> {
        [first] a = Conv(x, v)
        [row] y = Conv<strides = [1, 2]>(a, w)
    }
""").SerializeToString()
"""A convolution in one row: even counts run into CNN302 on Cortex-M55."""


def test_a_count_that_runs_into_a_hazard_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("row.onnx").write_bytes(ROW)
    words = ["widths", "--isolated", "--target", "cortex-m55", "row.onnx"]
    assert main([*words, "--output-format", "json"]) == 0
    (group,) = json.loads(capsys.readouterr().out)["classes"]
    broken = [step["size"] for step in group["widths"] if step["hazards"] != [0]]
    assert broken == [2, 4, 6, 8, 10]
    assert group["down"][0] not in broken and group["up"][0] not in broken
    assert main([*words, "--plot"]) == 0
    verdict, _, _, heads, row, *bars = capsys.readouterr().out.splitlines()
    assert verdict.startswith("row.onnx: RUNS (as int8, once quantized) on cortex-m55") and heads.endswith("not at")
    assert row.endswith("2, 4 and 3 more")
    marks = {int(line.split()[1]): line.split()[0] for line in bars[: len(group["widths"])] if line[2] in "!>*"}
    assert {size for size, mark in marks.items() if mark == "!"} == set(broken)
    assert marks[5] == ">"


def test_layers_in_groups_keep_two_channels() -> None:
    """With one channel a depthwise layer would be a convolution."""
    depthwise = text("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y)
        <float[3, 3, 1, 1] u = {1}, float[3, 1, 3, 3] v = {1}, float[3, 3, 1, 1] w = {1}> {
            a = Conv(x, u)
            b = Conv<group = 3, pads = [1, 1, 1, 1]>(a, v)
            y = Conv(b, w)
        }
    """).SerializeToString()
    (staircase,) = analysed(depthwise)[1]
    assert [step.size for step in staircase.steps] == [2, 3, 4, 5, 6]


def inception(channels: int) -> bytes:
    """25 convolutions in 4 blocks of branches; the file states their channel counts and holds no weights."""
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def conv(source: str, output: str, *shape: int) -> str:
        weights.append(onnx.TensorProto(name=f"w{output}", data_type=onnx.TensorProto.FLOAT, dims=[*shape, 1, 1]))
        nodes.append(helper.make_node("Conv", [source, f"w{output}"], [output], output))
        return output

    source, have = "x", 3
    for block in range(4):
        branches = [conv(source, f"b{block}_{branch}", channels, have) for branch in range(4)]
        branches[2:] = [conv(branch, f"c{branch}", channels, channels) for branch in branches[2:]]
        nodes.append(helper.make_node("Concat", branches, [f"j{block}"], f"j{block}", axis=1))
        source, have = f"j{block}", 4 * channels
    conv(source, "y", 3, have)
    given, result = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 3, 8, 8]) for name in ("x", "y"))
    graph = helper.make_graph(nodes, "g", [given], [result], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return model.SerializeToString()


def limited(data: bytes, placements: int) -> list[Staircase]:
    model = ModelAnalysis("m.onnx", SETTINGS.analysis, data)
    prices = Prices(SETTINGS.targets, predicted, model.route)
    return list(staircases(planning_input(model, prices), prices, placements=placements))


@pytest.mark.parametrize("channels", [4096, 10**6])
def test_the_work_for_widths_has_a_limit_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, channels: int
) -> None:
    """Damaged channel counts of an inception network once made millions of plans of the arena."""
    planned = []
    plan = widths.plan_arena
    monkeypatch.setattr(widths, "plan_arena", lambda uses, *rest: planned.append(len(uses.sizes)) or plan(uses, *rest))
    path = tmp_path / "inception.onnx"
    path.write_bytes(inception(channels))
    assert main(["widths", "--isolated", "--work", "20000", str(path)]) == 0
    assert 10_000 < sum(planned) <= 20_000
    assert "not searched further: " in capsys.readouterr().out
    assert main(["widths", "--isolated", "--work", "20000", "--output-format", "json", str(path)]) == 0
    classes = json.loads(capsys.readouterr().out)["classes"]
    assert len(classes) > 20
    for group in classes:
        assert group["untried"] + len(group["widths"]) == int(2 * group["size"]) - int(group["size"] / 2) + 1
        assert group["size"] in [step["size"] for step in group["widths"]]


def test_the_widths_of_today_are_one_plan_of_the_arena_for_all_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of thousands of convolutions was planned again for each of them."""
    planned = []
    plan = widths.plan_arena
    monkeypatch.setattr(widths, "plan_arena", lambda uses, *rest: planned.append(uses) or plan(uses, *rest))
    classes = limited(inception(16), 0)
    assert len(classes) > 20
    assert all(len(staircase.steps) == 1 for staircase in classes)
    assert len(planned) == 1
    assert len({staircase.steps[0].arena for staircase in classes}) == 1


def wide_chain(channels: int, plane: int) -> bytes:
    """Two convolutions with so many channels between them; the weights take no bytes."""
    return text(f"""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 4, {plane}, {plane}] x) => (y) <int64[4] s = {{{channels}, 4, 3, 3}},
          int64[4] t = {{4, {channels}, 3, 3}}> {{
            v = ConstantOfShape<value: tensor = float[1] {{1}}>(s)
            w = ConstantOfShape<value: tensor = float[1] {{1}}>(t)
            a = Conv(x, v)
            y = Conv(a, w)
        }}
    """).SerializeToString()


def test_a_layer_too_large_to_be_priced_is_not_routed_at_each_width() -> None:
    """A million channels of large planes took 47,000 routes for each layer and target."""
    model = ModelAnalysis("m.onnx", SETTINGS.analysis, wide_chain(10**6, 4096))
    routed: list[KernelCall] = []

    def counting(call: KernelCall, target: Target) -> Route:
        routed.append(call)
        return model.route(call, target)

    prices = Prices(SETTINGS.targets, predicted, counting)
    view = planning_input(model, prices)
    (staircase,) = staircases(view, prices, placements=10**5)
    assert len(staircase.steps) > 3000
    assert all(price.instructions is None for site in view.sites for price in prices.of_layer(site.layer))
    assert len(routed) < 200


def test_narrow_classes_keep_all_widths_under_a_limit() -> None:
    everything, some, none = (limited(inception(12), placements) for placements in (sys.maxsize, 5000, 1))
    assert not any(staircase.untried for staircase in everything)
    for whole, part, least in zip(everything, some, none, strict=True):
        assert len(part.steps) + part.untried == len(least.steps) + least.untried == len(whole.steps)
        assert set(part.steps) <= set(whole.steps)
        assert least.steps == (whole.present,)
    assert any(staircase.untried for staircase in some)


def test_counts_share_what_the_narrow_leave() -> None:
    assert widths._share([3, 100, 50], 63) == 30
    assert widths._share([3, 4], 7) == 4
    assert widths._share([], 7) == 0
    assert widths._share([5, 5], 1) == 0


@pytest.mark.parametrize("text", ["-1", "x", "1" * 16, "²"])
def test_a_limit_of_work_is_a_number(text: str, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    assert main(["widths", "--isolated", f"--work={text}", "x.onnx"]) == 2
    told(capsys.readouterr().err)
