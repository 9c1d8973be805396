"""--fix, --diff and their options, on real models through the command line."""

from __future__ import annotations

import json
import os
import re
import stat
import sys

import numpy as np
import onnx
import pytest

from support import paths
from support.dims_graphs import Builder
from support.fix_command import contents, run, text
from support.fixable_models import dead, gaining, nothing, row

ROOT = paths.ROOT
sys.path.insert(0, str(ROOT / "examples"))

from inverted_residual import inverted_residual  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    for name, build in (("gaining", gaining), ("dead", dead), ("nothing", nothing)):
        (tmp_path / f"{name}.onnx").write_bytes(build())
    (tmp_path / "broken.onnx").write_bytes(gaining()[:-7])
    return tmp_path


def test_diff_shows_the_plan_touches_nothing_and_exits_with_1(folder, told):
    before = contents(folder)
    done = run(folder, "--diff", "--target", "cortex-m4", "gaining.onnx")
    assert done.returncode == 1, done.stderr
    assert contents(folder) == before
    shown = text(done)
    told(shown)
    for part in ("class    3 -> 4 padded, FREE", "made by 'depthwise'", "layer ", "tensor ", "[15,1,3,3] -> [20,1,3,3]",
                 "total    cortex-m4, CMSIS-NN 7.0.0, gcc: ", "predicted instructions (not cycles)", "MACs ", "file ",
                 "proof    "):  # fmt: skip
        assert part in shown
    assert run(folder, "--diff", "nothing.onnx").returncode == 0


def test_fix_rewrites_the_file_and_finds_nothing_the_second_time(folder, told):
    model = folder / "gaining.onnx"
    model.chmod(0o640)
    done = run(folder, "--fix", "gaining.onnx")
    assert done.returncode == 0, text(done)
    told(text(done))
    assert stat.S_IMODE(model.stat().st_mode) == 0o640
    fixed = model.read_bytes()
    assert fixed != gaining()
    onnx.checker.check_model(onnx.load_model_from_string(fixed), full_check=True)
    again = run(folder, "--fix", "--exit-non-zero-on-fix", "gaining.onnx")
    assert again.returncode == 0
    told(text(again))
    assert model.read_bytes() == fixed
    assert run(folder, "--select", "CNN2", "gaining.onnx").returncode == 0


def test_dead_channels_go_and_outputs_stay(folder, told):
    done = run(folder, "--select", "CNN202", "--target", "cortex-m4", "dead.onnx")
    assert done.returncode == 1
    told(text(done))
    assert run(folder, "--fix", "--target", "cortex-m4", "dead.onnx").returncode == 0
    weights = onnx.load(folder / "dead.onnx").graph.initializer[0]
    assert list(weights.dims) == [12, 4, 1, 1]


def folded():
    """Three channels hold a positive constant in float; the 1x1 layer that reads them has a float bias."""
    build = Builder()
    weights = build.random.uniform(-1, 1, (20, 4, 1, 1)).astype(np.float32)
    weights[:3] = 0
    bias = build.const(np.full(20, 0.3, np.float32))
    value = build.op("Conv", build.input("x", 1, 4, 8, 8), build.const(weights), bias, name="conv0")
    after = build.op("Conv", build.op("Sigmoid", value), build.weights(8, 20, 1, 1), build.weights(8), name="conv1")
    return build.model(after).SerializeToString()


def test_float_biases_take_constants_up_only_if_allowed(folder, told):
    (folder / "folded.onnx").write_bytes(folded())
    assert run(folder, "--diff", "--target", "cortex-m4", "folded.onnx").returncode == 0
    done = run(folder, "--fix-only", "--unsafe-fixes", "--target", "cortex-m4", "folded.onnx")
    told(text(done))
    assert list(onnx.load(folder / "folded.onnx").graph.initializer[1].dims) == [17, 4, 1, 1]


@pytest.mark.parametrize("elem_type", [onnx.TensorProto.FLOAT, onnx.TensorProto.INT8])
def test_wrong_values_are_stepped_around_exactly_also_where_a_pad_behind_the_input_is_allowed(folder, elem_type, told):
    model = row(elem_type)
    (folder / "row.onnx").write_bytes(model.SerializeToString())
    target = ("--target", "cortex-m55")
    allowed_less = text(run(folder, "--diff", *target, "row.onnx"))
    told(allowed_less)
    assert "a Pad node" not in allowed_less
    done = run(folder, "--fix", "--unsafe-fixes", *target, "row.onnx")
    told(text(done))
    told(text(done))
    assert "CNN303 error" not in text(done)
    fixed = onnx.load(folder / "row.onnx")
    assert fixed.graph.input == model.graph.input
    assert fixed.graph.output == model.graph.output
    assert [node.op_type for node in fixed.graph.node].count("Pad") == 0
    told(text(run(folder, "--fix", "--unsafe-fixes", *target, "row.onnx")))


def test_no_weights_removes_nothing_and_says_that_it_did_not_look(folder, told):
    done = run(folder, "--diff", "--config", "weights=false", "--target", "cortex-m4", "dead.onnx")
    assert done.returncode == 0
    told(text(done))
    told(text(done))


def test_several_files_in_processes_and_one_that_is_no_model(folder, told):
    before = contents(folder)
    done = run(folder, "--fix", "--jobs", "2", "--exit-non-zero-on-fix", ".")
    assert done.returncode == 2
    after = contents(folder)
    assert {name for name in before if before[name] != after[name]} == {"gaining.onnx", "dead.onnx"}
    assert set(before) == set(after)
    told(text(done))


def test_exit_codes_of_fix_only_and_exit_non_zero_on_fix(folder):
    assert run(folder, "--fix-only", "gaining.onnx").returncode == 0
    assert run(folder, "--fix-only", "--exit-non-zero-on-fix", "dead.onnx").returncode == 1
    assert run(folder, "--fix-only", "--exit-non-zero-on-fix", "dead.onnx").returncode == 0
    assert run(folder, "--fix-only", "broken.onnx").returncode == 2


@pytest.mark.parametrize("option", ["--diff", "--fix-only"])
@pytest.mark.parametrize("name", ["broken.onnx", "absent.onnx"])
def test_what_is_no_model_exits_with_2_even_where_no_rule_asks_for_a_fix(folder, option, name):
    done = run(folder, option, "--unfixable", "CNN", name)
    assert done.returncode == 2
    assert re.search(rf"^{name}: INVALID FILE on .*: CNN00", text(done), re.MULTILINE)


@pytest.mark.parametrize("option", ["--diff", "--fix-only"])
def test_a_fix_alone_says_what_it_analyses_float_layers_as(folder, option, told):
    done = run(folder, option, "--assume", "s16", "nothing.onnx")
    told(text(done))
    told(text(done))


@pytest.mark.parametrize("option", ["--fix", "--diff", "--fix-only"])
def test_standard_input_cannot_be_fixed(folder, option):
    done = run(folder, option, "-", data=gaining())
    assert done.returncode == 2
    assert b"standard input cannot be fixed" in done.stderr


def test_a_baseline_and_a_fix_exclude_each_other(folder):
    assert run(folder, "--fix", "--write-baseline", "b.json", "nothing.onnx").returncode == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into any folder")
def test_a_folder_that_cannot_be_written_to_leaves_the_file(folder, told):
    folder.chmod(0o500)
    try:
        done = run(folder, "--fix", "gaining.onnx")
    finally:
        folder.chmod(0o700)
    assert done.returncode == 2
    told(text(done))
    assert (folder / "gaining.onnx").read_bytes() == gaining()


def test_a_file_that_its_settings_leave_out_is_not_fixed(folder, told):
    done = run(folder, "--fix", "--select", "CNN0", "gaining.onnx")
    assert done.returncode == 0
    told(text(done))
    assert (folder / "gaining.onnx").read_bytes() == gaining()


def test_json_has_every_fact_of_the_fix(folder):
    done = run(folder, "--diff", "--output-format", "json", "--target", "cortex-m4", "gaining.onnx", "nothing.onnx")
    first, second = (file["fix"] for file in json.loads(text(done))["files"])
    assert first["changed"]
    assert not first["written"]
    assert (first["classes"][0]["have"], first["classes"][0]["want"]) == (3, 4)
    assert first["totals"][0]["new_instructions"] < first["totals"][0]["instructions"]
    assert first["proof"]["equal"]
    assert first["proof"]["inputs"] >= 16
    assert {"tensor": "c2", "old_shape": [15, 1, 3, 3], "new_shape": [20, 1, 3, 3]}.items() <= first["tensors"][
        0
    ].items()
    assert second["reason"]


def test_sarif_carries_the_fix_as_properties(folder):
    done = run(folder, "--fix", "--output-format", "sarif", "gaining.onnx")
    (artifact,) = json.loads(text(done))["runs"][0]["artifacts"]
    assert artifact["roles"] == ["analysisTarget", "modified"]
    assert artifact["properties"]["fix"]["written"]


def test_github_and_junit_tell_of_the_fix(folder, told):
    told(text(run(folder, "--diff", "--output-format", "github", "gaining.onnx")))
    told(text(run(folder, "--fix", "--output-format", "github", "gaining.onnx")))


@pytest.mark.parametrize(
    ("option", "value"),
    [("--config", "align=0"), ("--config", "align=x"), ("--config", "min-gain=101"), ("--config", "min-gain=-1"),
     ("--config", "fix-budget-bytes=-5"), ("--fix-policy", "best"), ("--config", "size-checks-limit=many"),
     ("--config", "size-checks-layers=-1")],
)  # fmt: skip
def test_values_that_make_no_sense_are_usage_errors(folder, option, value):
    done = run(folder, option, value, "nothing.onnx")
    assert done.returncode == 2
    assert option.encode() in done.stderr


def test_align_pads_the_inverted_residual_and_names_the_locked_stem(folder, told):
    (folder / "ir.onnx").write_bytes(inverted_residual().SerializeToString())
    done = run(folder, "--fix", "--fix-policy", "align", "ir.onnx")
    told(text(done))
    told(text(done))
    told(text(done))
    shapes = {weights.name: list(weights.dims) for weights in onnx.load(folder / "ir.onnx").graph.initializer}
    assert shapes["stem.weight"] == [8, 3, 3, 3]
    assert shapes["depthwise.weight"] == [12, 1, 3, 3]
    assert shapes["project.weight"] == [8, 12, 1, 1]
    assert shapes["dense.weight"] == [8, 5]
    told(text(run(folder, "--diff", "--fix-policy", "align", "ir.onnx")))


def test_a_budget_of_no_bytes_pads_nothing(folder):
    done = run(folder, "--diff", "--config", "fix-budget-bytes=0", "gaining.onnx")
    assert done.returncode == 0
    assert run(folder, "--diff", "--config", "fix-budget-bytes=100000", "gaining.onnx").returncode == 1


def test_files_above_the_limit_are_linted_without_the_size_checks_and_say_so(folder, told):
    done = run(folder, "--config", "size-checks-limit=10", "gaining.onnx")
    told(text(done))
    assert "CNN201 warning" not in text(done)
    assert "CNN201 warning" in text(run(folder, "gaining.onnx"))


def test_models_of_many_layers_are_linted_without_the_size_checks_and_say_so(folder, told):
    build = Builder()
    value = build.input("x", 1, 3, 4, 4)
    for _ in range(301):
        value = build.conv(value, 3, 3, 1)
    onnx.save(build.model(value), folder / "deep.onnx")
    done = text(run(folder, "deep.onnx"))
    told(done)
    assert "did not run" not in text(run(folder, "--config", "size-checks-layers=unlimited", "deep.onnx"))


def test_a_suppressed_class_stays_and_its_suppression_is_used(folder, told):
    model = onnx.load(folder / "gaining.onnx")
    depthwise = next(node for node in model.graph.node if node.name == "depthwise")
    depthwise.metadata_props.add(key="onnxlint-cmsis:ignore", value="CNN2 trained so")
    (folder / "gaining.onnx").write_bytes(model.SerializeToString())
    before = (folder / "gaining.onnx").read_bytes()
    told(text(run(folder, "--fix-only", "gaining.onnx")))
    assert (folder / "gaining.onnx").read_bytes() == before
    assert "1 finding accepted" in text(run(folder, "--select", "CNN2,CNN090", "gaining.onnx"))


def test_each_rule_stands_for_its_own_changes(folder):
    assert run(folder, "--diff", "--ignore", "CNN201", "gaining.onnx").returncode == 0
    assert run(folder, "--diff", "--ignore", "CNN202", "gaining.onnx").returncode == 1
    assert run(folder, "--diff", "--ignore", "CNN202", "--target", "cortex-m4", "dead.onnx").returncode == 0
