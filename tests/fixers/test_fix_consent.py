"""Which findings --fix may act on: fixable and unfixable rules, suppressions, the baseline."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest

from support.dims_graphs import Builder
from support.fix_command import changes, run, text
from support.fixable_models import dead, gaining, hazardous, nothing, row
from support.linter import fixed, linted

M55 = ("--target", "cortex-m55")

M4 = ("--target", "cortex-m4")
LEFT = "left as it is: "


def both():
    """One class of twenty channels with eight dead ones, and a depthwise multiplier of 3 that should be 4."""
    build = Builder()
    weights = build.random.uniform(-1, 1, (20, 4, 1, 1)).astype(np.float32)
    weights[5:13] = 0
    bias = np.zeros(20, np.float32)
    value = build.op("Conv", build.input("x", 1, 4, 8, 8), build.const(weights), build.const(bias), name="conv0")
    value = build.conv(build.op("Relu", value), 20, 5, name="conv1")
    value = build.op("Conv", value, build.weights(15, 1, 3, 3), name="depthwise", kernel_shape=[3, 3], group=5)
    return build.model(build.conv(value, 15, 2, name="conv2")).SerializeToString()


@pytest.fixture
def folder(tmp_path):
    models = {"gaining": gaining(), "dead": dead(), "both": both(), "wrong": hazardous(), "nothing": nothing()}
    for name, data in models.items():
        (tmp_path / f"{name}.onnx").write_bytes(data)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ((), [(20, 12), (3, 4)]),
        (("--unfixable", "CNN202"), [(3, 4)]),
        (("--unfixable", "dead-channels"), [(3, 4)]),
        (("--unfixable", "CNN201"), [(20, 12)]),
        (("--unfixable", "CNN2"), []),
        (("--unfixable", "CNN2", "--config", 'extend-fixable=["CNN202"]'), [(20, 12)]),
        (("--fixable", "CNN201"), [(3, 4)]),
        (("--fixable", "CNN0,CNN1"), []),
        (("--fixable", "CNN2", "--unfixable", "CNN201"), [(20, 12)]),
        (("--fixable", "CNN201", "--config", 'extend-fixable=["CNN202"]'), [(20, 12), (3, 4)]),
    ],
)
def test_only_what_is_fixable_is_fixed(folder, options, sizes):
    assert changes(folder, "both.onnx", *M4, *options) == sizes


def test_what_is_not_fixable_is_found_all_the_same(folder, told):
    done = run(folder, "--fix", *M4, "--unfixable", "CNN202", "both.onnx")
    assert done.returncode == 1
    assert "CNN202 warning" in text(done)
    assert "CNN201 warning" not in text(done)
    again = run(folder, "--fix", *M4, "--unfixable", "CNN202", "both.onnx")
    told(text(again))


def test_a_repair_is_done_for_the_rule_that_tells_of_the_hazard(folder):
    assert changes(folder, "wrong.onnx", *M55, "--fixable", "CNN303", "--fix-policy", "align") == [(4, 5)]
    assert changes(folder, "wrong.onnx", *M55, "--unfixable", "CNN3,CNN201") == []
    assert changes(folder, "wrong.onnx", *M55, "--unfixable", "CNN303", "--fix-policy", "align") == []


def test_more_channels_that_save_nothing_are_not_asked_for_by_the_rule_on_savings(folder):
    argv = (*M55, "--select", "CNN201")
    assert changes(folder, "wrong.onnx", *argv) == []
    assert run(folder, *argv, "wrong.onnx").returncode == 0


def test_a_missed_kernel_is_reached_for_the_rule_that_tells_of_it(folder):
    argv = ("--fix-policy", "route")
    assert changes(folder, "gaining.onnx", *argv, "--fixable", "CNN113") == [(3, 4)]
    assert changes(folder, "gaining.onnx", *argv, "--unfixable", "CNN1") == []


def test_a_pad_behind_the_input_asks_too(folder):
    (folder / "row.onnx").write_bytes(row(onnx.TensorProto.FLOAT).SerializeToString())
    argv = ("--diff", "--unsafe-fixes", *M55, "row.onnx")
    assert run(folder, *argv).returncode == 1
    assert run(folder, *argv, "--unfixable", "CNN303").returncode == 0


def test_nothing_fixable_is_told_without_a_look_at_the_model(folder, told):
    done = run(folder, "--fix", "--unfixable", "CNN", "gaining.onnx")
    told(text(done))
    assert (folder / "gaining.onnx").read_bytes() == gaining()


def test_the_configuration_file_says_it_too_and_show_settings_tells_where(folder, told):
    (folder / "pyproject.toml").write_text('[tool.onnxlint-cmsis]\ntargets = ["cortex-m4"]\nunfixable = ["CNN202"]\n')
    argv = ("--config", "pyproject.toml")
    options = [("--unfixable", "CNN201"), ("--fixable", "CNN202"), ()]
    changes = [changes_with(folder, *argv, *option) for option in options]
    assert changes == [[], [(20, 12)], [(3, 4)]]
    shown = text(run(folder, "--show-settings", *argv, "both.onnx", isolated=False))
    told(shown)
    assert 'fixable = ["CNN"]  # default' in shown


def changes_with(folder, *argv):
    done = run(folder, "--diff", "--output-format", "json", *argv, "both.onnx", isolated=False)
    return [(group["have"], group["want"]) for group in json.loads(text(done))["files"][0]["fix"]["classes"]]


# the baseline


def baseline(folder, *argv):
    """Accept what there is."""
    assert run(folder, "--write-baseline", "base.json", *argv).returncode == 0
    return ("--baseline", "base.json")


def test_what_the_baseline_has_is_not_fixed(folder, told):
    before = (folder / "both.onnx").read_bytes()
    argv = (*M4, *baseline(folder, *M4, "both.onnx"), "both.onnx")
    done = run(folder, "--fix", *argv)
    assert done.returncode == 0, text(done)
    told(text(done))
    assert (folder / "both.onnx").read_bytes() == before
    assert "CNN091" not in text(run(folder, *argv))


def test_what_the_baseline_does_not_have_is_fixed(folder, told):
    argv = (*M4, *baseline(folder, *M4, "--ignore", "CNN201", "both.onnx"))
    assert changes(folder, "both.onnx", *argv) == [(3, 4)]
    done = run(folder, "--fix", *argv, "both.onnx")
    assert done.returncode == 0, text(done)
    told(text(done))


def test_a_baseline_of_one_file_protects_no_other(folder):
    argv = (*M4, *baseline(folder, *M4, "both.onnx"))
    assert changes(folder, "dead.onnx", *argv) == [(20, 12)]


def test_a_hazard_in_the_baseline_is_not_repaired(folder):
    argv = (*M55, "--fix-policy", "route")
    accepted = baseline(folder, *argv, "--select", "CNN3", "wrong.onnx")
    assert changes(folder, "wrong.onnx", *argv, *accepted, "--select", "CNN3") == []
    assert changes(folder, "wrong.onnx", *argv, "--select", "CNN3") == [(4, 5)]


def test_a_new_baseline_is_written_as_if_there_were_none(folder):
    argv = (*M4, *baseline(folder, *M4, "both.onnx"))
    first = (folder / "base.json").read_text()
    assert run(folder, *argv, "--write-baseline", "base.json", "both.onnx").returncode == 0
    assert (folder / "base.json").read_text() == first


def test_a_baseline_that_cannot_be_read_ends_the_run_before_a_file_is_touched(folder):
    before = (folder / "both.onnx").read_bytes()
    done = run(folder, "--fix", *M4, "--baseline", "none.json", "both.onnx")
    assert done.returncode == 2
    assert b"the baseline cannot be read" in done.stderr
    assert b"internal error" not in done.stderr
    assert (folder / "both.onnx").read_bytes() == before


# suppressions


def test_an_entry_of_the_configuration_keeps_a_class_and_is_used(folder):
    (folder / "c.toml").write_text('targets = ["cortex-m4"]\nsuppress = [{rule = "CNN202", node = "conv0"}]\n')
    assert changes_with(folder, "--config", "c.toml") == [(3, 4)]
    done = run(folder, "--fix", "--config", "c.toml", "both.onnx", isolated=False)
    assert done.returncode == 0, text(done)
    assert "CNN090" not in text(done)


def test_a_suppressed_hazard_is_not_repaired(folder):
    model = onnx.load(folder / "wrong.onnx")
    node = next(node for node in model.graph.node if node.name == "row")
    node.metadata_props.add(key="onnxlint-cmsis:ignore", value="CNN303 checked on the board")
    onnx.save(model, folder / "wrong.onnx")
    assert changes(folder, "wrong.onnx", *M55, "--select", "CNN3") == []


@pytest.mark.parametrize("settings", [{"unfixable": ["CNN201"]}, {"fixable": ["CNN301"]}])
def test_linting_promises_no_sizes_that_a_fix_may_not_give(settings: dict[str, Any]) -> None:
    (told,) = (row for row in linted(gaining(), targets=["cortex-m4"], **settings).findings if row.code == "CNN201")
    assert not told.properties.get("fixable")
    assert "--fix" not in told.remedy
    assert not fixed(gaining(), targets=["cortex-m4"], **settings).result.changed
