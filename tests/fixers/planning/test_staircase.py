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
from onnxlint_cmsis.cmsis_nn.library import predicted
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fixers.planning import solve
from onnxlint_cmsis.fixers.planning.problem import Plan, Prices, planning_input
from onnxlint_cmsis.fixers.planning.solve import Staircase, WidthStep, staircases
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


def check(data: bytes, each: Staircase, model: ModelAnalysis, step: WidthStep) -> None:
    """Give the class that width, and add up the new model."""
    have = each.group.size
    kept = (*range(min(have, step.size)), *[None] * max(0, step.size - have))
    other = with_plan(onnx.load_model_from_string(data), model.graph, model.dimensions, Plan({each.group.id: kept}))
    new = ModelAnalysis("m.onnx", SETTINGS.analysis, other.SerializeToString())
    found = summarize(new)
    assert step.arena == found.arena
    for place, target in enumerate(found.targets):
        if not step.unknown:
            assert step.instructions[place] == target.instructions
        routes = [new.route(layer.call, SETTINGS.targets[place]) for layer in new.lowered.layers]
        assert step.hazards[place] == sum(len(taken.hazards) for taken in routes)


@needs_models
@pytest.mark.parametrize("name", ["kws_ds_cnn_int8_tf.onnx", "resnet8_int8_tf.onnx"])
def test_each_width_costs_what_the_resized_model_costs(name: str) -> None:
    data = Path(SHARED, name).read_bytes()
    model, found = analysed(data)
    assert found
    for each in found:
        narrow, wide = each.steps[0], each.steps[-1]
        assert (narrow.size, wide.size) == (each.group.size // 2, 2 * each.group.size)
        for step in (narrow, each.steps[len(each.steps) // 3], wide):
            check(data, each, model, step)


@given(random_models(GEOMETRY), st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
def test_each_width_of_a_random_model_costs_what_the_resized_model_costs(made, drawn) -> None:
    data = made[0].SerializeToString()
    model, found = analysed(data)
    for each in found[:3]:
        if not each.unpriced:
            check(data, each, model, drawn.draw(st.sampled_from(each.steps)))


def test_cliffs_dips_and_what_is_free() -> None:
    costs = [100, 101, 102, 300, 299, 300, 301]
    steps = tuple(WidthStep(4 + n, (cost,), False, (0,), 0, 0) for n, cost in enumerate(costs))
    group = analysed(CHAIN)[1][0].group._replace(size=5)
    each = Staircase(group, steps)
    assert each.cliffs(0) == [(7, 198)]
    assert each.dips(0) == [8]
    assert each.as_cheap(0) == 5
    assert Staircase(group._replace(size=8), steps).as_cheap(0) == 9
    broken = tuple(step._replace(hazards=(int(step.size > 8),)) for step in steps)
    assert Staircase(group._replace(size=8), broken).as_cheap(0) == 8
    assert Staircase(group._replace(size=8), steps, "n").as_cheap(0) == 8


@needs_models
def test_the_command_in_all_forms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = ["widths", "--isolated", "--target", "cortex-m4,cortex-m55", str(Path(SHARED, "kws_ds_cnn_int8_tf.onnx"))]
    picture = tmp_path / "widths.svg"
    assert main([*words, "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "conv2d, depthwise_conv2d: 64 channels, COUPLED" in out
    assert "conv2d_4: 64 channels, FREE" in out
    assert max(map(len, out.splitlines())) <= 80
    assert picture.read_text().count('class="line"') == 2 * 5
    assert main([*words, "--output-format", "json"]) == 0
    classes = json.loads(capsys.readouterr().out)["classes"]
    assert [len(each["widths"]) for each in classes] == [97] * 5
    assert main(["widths", "--isolated", "--reach", "0.5", "x.onnx"]) == 2
    assert "is not a number above 1" in capsys.readouterr().err


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
    (found,) = analysed(depthwise)[1]
    assert [step.size for step in found.steps] == [2, 3, 4, 5, 6]


def inception(channels: int) -> bytes:
    """25 convolutions in 4 blocks of branches; the file states their channel counts and holds no weights."""
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def conv(source: str, made: str, *shape: int) -> str:
        weights.append(onnx.TensorProto(name=f"w{made}", data_type=onnx.TensorProto.FLOAT, dims=[*shape, 1, 1]))
        nodes.append(helper.make_node("Conv", [source, f"w{made}"], [made], made))
        return made

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
    plan = solve.plan_arena
    monkeypatch.setattr(solve, "plan_arena", lambda uses, *rest: planned.append(len(uses.sizes)) or plan(uses, *rest))
    path = tmp_path / "inception.onnx"
    path.write_bytes(inception(channels))
    assert main(["widths", "--isolated", "--work", "20000", str(path)]) == 0
    assert 10_000 < sum(planned) <= 20_000
    assert "not searched further: " in capsys.readouterr().out
    assert main(["widths", "--isolated", "--work", "20000", "--output-format", "json", str(path)]) == 0
    classes = json.loads(capsys.readouterr().out)["classes"]
    assert len(classes) > 20
    for each in classes:
        assert each["untried"] + len(each["widths"]) == int(2 * each["size"]) - int(each["size"] / 2) + 1
        assert each["size"] in [step["size"] for step in each["widths"]]


def test_narrow_classes_keep_all_widths_under_a_limit() -> None:
    everything, some, none = (limited(inception(12), placements) for placements in (sys.maxsize, 5000, 1))
    assert not any(each.untried for each in everything)
    for whole, part, least in zip(everything, some, none, strict=True):
        assert len(part.steps) + part.untried == len(least.steps) + least.untried == len(whole.steps)
        assert set(part.steps) <= set(whole.steps)
        assert least.steps == (whole.present,)
    assert any(each.untried for each in some)


def test_counts_share_what_the_narrow_leave() -> None:
    assert solve._share([3, 100, 50], 63) == 30
    assert solve._share([3, 4], 7) == 4
    assert solve._share([], 7) == 0
    assert solve._share([5, 5], 1) == 0


@pytest.mark.parametrize("text", ["-1", "x", "1" * 16, "²"])
def test_a_limit_of_work_is_a_number(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["widths", "--isolated", f"--work={text}", "x.onnx"]) == 2
    assert "is neither a whole number of at most 15 digits nor `unlimited`" in capsys.readouterr().err
