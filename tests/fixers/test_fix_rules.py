"""--select, --ignore and suppressions say which rules a fix acts on: one that is not selected fixes nothing."""

from __future__ import annotations

import onnx
import pytest

from support.dims_graphs import Builder
from support.fix_command import changes, run, text
from support.fixable_models import gaining, hazardous, row

M55 = ("--target", "cortex-m55")


def missed():
    """A depthwise multiplier of 3 misses the tile of four (CNN113)."""
    return gaining()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "missed.onnx").write_bytes(missed())
    (tmp_path / "wrong.onnx").write_bytes(hazardous())
    return tmp_path


@pytest.mark.parametrize(
    "options", [("--select", "CNN1"), ("--select", "CNN113"), ("--ignore", "CNN2"), ("--ignore", "CNN201"), ()]
)
def test_route_acts_on_the_selected_rules_of_missed_kernels(folder, options):
    assert changes(folder, "missed.onnx", "--fix-policy", "route", *options) == [(3, 4)]


@pytest.mark.parametrize("options", [("--select", "CNN2"), ("--select", "CNN101"), ("--ignore", "CNN113")])
def test_route_does_nothing_for_rules_that_are_not_selected(folder, options):
    argv = ("--fix-policy", "route", *options)
    assert changes(folder, "missed.onnx", *argv) == []
    done = run(folder, *argv, "missed.onnx")
    assert "CNN201" not in text(done)


def test_route_and_its_findings_agree(folder):
    argv = ("--fix-policy", "route", "--select", "CNN1,CNN2")
    assert "CNN113" in text(run(folder, *argv, "missed.onnx"))
    done = run(folder, "--fix", *argv, "missed.onnx")
    assert done.returncode == 0, text(done)
    assert "CNN113 warning" not in text(done)
    assert "CNN201 warning" not in text(done)


def test_route_takes_a_convolution_to_the_1xn_kernel(folder):
    """The kernel that it leaves is one that other entry points' rules ask for (CNN114, CNN121)."""
    build = Builder()
    value = build.conv(build.input("x", 1, 4, 1, 128), 4, 6, name="before")
    value = build.op("Conv", value, build.weights(8, 6, 1, 5), name="row", kernel_shape=[1, 5], pads=[0, 2, 0, 2])
    (folder / "row.onnx").write_bytes(build.model(value).SerializeToString())
    argv = ("--fix-policy", "route", *M55, "--min-level", "note", "row.onnx")
    assert "CNN103" in text(run(folder, *argv))
    assert changes(folder, argv[-1], *argv[:-1]) == [(6, 8)]
    assert run(folder, "--fix", *argv).returncode == 0
    assert "CNN103" not in text(run(folder, *argv))
    assert changes(folder, argv[-1], *argv[:-1]) == []


@pytest.mark.parametrize("policy", ["faster", "align"])
def test_sizes_are_chosen_only_where_their_rule_is_selected(folder, policy):
    argv = ("--fix-policy", policy)
    assert changes(folder, "missed.onnx", *argv, "--select", "CNN2")
    assert changes(folder, "missed.onnx", *argv, "--select", "CNN1,CNN3") == []
    assert changes(folder, "missed.onnx", *argv, "--ignore", "CNN201") == []


@pytest.mark.parametrize("policy", ["route", "align"])
def test_a_hazard_is_repaired_where_the_rule_that_tells_of_it_is_selected(folder, policy):
    argv = ("--fix-policy", policy, *M55)
    assert changes(folder, "wrong.onnx", *argv, "--select", "CNN303") == [(4, 5)]
    assert changes(folder, "wrong.onnx", *argv, "--select", "CNN301") == []
    assert changes(folder, "wrong.onnx", *argv, "--ignore", "CNN2") == [(4, 5)]


def test_the_cheaper_of_channels_and_rewriting_is_taken(folder):
    argv = (*M55, "--select", "CNN303", "wrong.onnx")
    assert changes(folder, "wrong.onnx", *M55, "--select", "CNN303") == []
    assert "(wider-window;" in text(run(folder, "--diff", *argv))
    assert "wider-window" not in text(run(folder, "--diff", "--fix-policy", "route", *argv))


@pytest.mark.parametrize("policy", ["faster", "route", "align"])
def test_no_rule_that_a_policy_acts_on_is_told_without_a_look_at_the_model(folder, policy, told):
    done = run(folder, "--diff", "--fix-policy", policy, "--select", "CNN0", "missed.onnx")
    assert done.returncode == 0
    told(text(done))


@pytest.mark.parametrize("policy", ["faster", "route"])
def test_a_suppressed_size_stays_whatever_the_policy(folder, policy):
    model = onnx.load(folder / "missed.onnx")
    node = next(node for node in model.graph.node if node.name == "depthwise")
    node.metadata_props.add(key="onnxlint-cmsis:ignore", value="CNN2 trained so")
    onnx.save(model, folder / "missed.onnx")
    assert changes(folder, "missed.onnx", "--fix-policy", policy) == []


def test_a_suppressed_missed_kernel_is_not_fixed_by_route(folder):
    model = onnx.load(folder / "missed.onnx")
    node = next(node for node in model.graph.node if node.name == "depthwise")
    node.metadata_props.add(key="onnxlint-cmsis:ignore", value="CNN113 fast enough")
    onnx.save(model, folder / "missed.onnx")
    assert changes(folder, "missed.onnx", "--fix-policy", "route") == []


def test_a_pad_behind_the_input_is_added_only_for_a_selected_rule(folder):
    (folder / "row.onnx").write_bytes(row(onnx.TensorProto.FLOAT).SerializeToString())
    argv = ("--diff", "--unsafe-fixes", *M55, "row.onnx")
    assert run(folder, *argv, "--select", "CNN303").returncode == 1
    assert run(folder, *argv, "--select", "CNN2").returncode == 0


def test_a_finding_on_a_hazard_names_the_size_that_repairs_it_and_its_price(folder, told):
    printed = text(run(folder, *M55, "--select", "CNN201,CNN303", "wrong.onnx"))
    assert "CNN201" not in printed
    told(printed)
