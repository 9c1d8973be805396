"""Checks: what each finds, at which level, and what it says of the channel count."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from models import finished, one_node, qdq
from onnxlint_cmsis.checks.registry import CHECKS
from onnxlint_cmsis.checks.table import RULES, rule
from onnxlint_cmsis.config.resolve import make_settings
from onnxlint_cmsis.engine import lint_file
from onnxlint_cmsis.types import Finding, Freedom, Level, targets_text


def lint(model: onnx.ModelProto, **settings: object) -> list[Finding]:
    """Findings on weights that are all zero, but for those about that."""
    settings = {"targets": ["cortex-m55"], "release": "7.0.0", "ignore": ["CNN201", "CNN202"]} | settings
    return list(lint_file("-", make_settings(**settings), model.SerializeToString()).findings)


def codes(model: onnx.ModelProto, **settings: object) -> list[str]:
    return [finding.code for finding in lint(model, **settings)]


def chain(*convolutions: tuple[int, int, dict[str, object]], shape: list[int], extra: list[object] | None = None):
    """Make convolutions one after the other: (out_c, in_c per group, attributes with `kernel`)."""
    nodes, weights, value = [], [], "x"
    for index, (out_c, in_c, given) in enumerate(convolutions):
        attributes = dict(given)
        kernel = attributes.pop("kernel")
        weights.append(numpy_helper.from_array(np.zeros((out_c, in_c, *kernel), np.float32), f"w{index}"))
        nodes.append(helper.make_node("Conv", [value, f"w{index}"], [f"v{index}"], f"conv{index}", **attributes))
        value = f"v{index}"
    graph = helper.make_graph(
        [*nodes, *(extra or [])],
        "chain",
        [helper.make_tensor_value_info("x", 1, shape)],
        [helper.make_tensor_value_info(value, 1, None)],
        weights,
    )
    return finished(graph)


def test_every_rule_has_a_page_and_every_check_a_rule() -> None:
    from importlib import import_module

    for row in RULES:
        page = import_module(f"onnxlint_cmsis.checks.{row.module}").__doc__
        assert page.startswith(row.summary), row.code
        assert "**What to do.**" in page
    assert {check.code for check in CHECKS} <= {row.code for row in RULES}
    assert [row.code for row in RULES] == sorted({row.code for row in RULES})


def test_multiplier_tile_is_a_warning_with_the_class_behind_it() -> None:
    model = chain(
        (6, 3, {"kernel": (1, 1)}),
        (18, 1, {"kernel": (3, 3), "group": 6, "pads": [1, 1, 1, 1]}),
        (4, 18, {"kernel": (1, 1)}),
        shape=[1, 3, 8, 8],
    )
    for target in ("cortex-m0", "cortex-m4", "cortex-m55"):
        (found,) = lint(model, targets=[target])
        assert (found.code, found.level) == ("CNN113", Level.WARNING)
        assert found.resize is not None
        assert (found.resize.variable, found.resize.have, found.resize.want) == ("ch_mult", 3, 4)
        assert found.resize.freedom is Freedom.FREE
        assert found.resize.layers == ("conv1",)
        assert found.wanted == "depthwise_conv_s8_mult_4"
        assert "ch_mult % 4 == 0" in found.message
        assert "arm_depthwise_conv_s8.c:" in found.complete


def test_what_was_not_measured_is_not_claimed() -> None:
    model = chain(
        (6, 3, {"kernel": (1, 1)}),
        (18, 1, {"kernel": (3, 3), "group": 6, "pads": [1, 1, 1, 1]}),
        (4, 18, {"kernel": (1, 1)}),
        shape=[1, 3, 8, 8],
    )
    for settings in ({"compiler": "armclang"}, {"release": "cmsis5-5.9.0"}):
        (found,) = [one for one in lint(model, targets=["cortex-m4"], **settings) if one.code == "CNN113"]
        assert found.level is Level.NOTE
        assert "not been measured" in found.message


def one_dimensional(in_c: int, **attributes: object) -> onnx.ModelProto:
    return chain(
        (in_c, 3, {"kernel": (1,)}),
        (16, in_c, {"kernel": (5,), **attributes}),
        (4, 16, {"kernel": (1,)}),
        shape=[1, 3, 48],
    )


def test_one_by_n_is_a_warning_on_mve_only() -> None:
    model = one_dimensional(7, pads=[2, 2])
    (found,) = lint(model)
    assert (found.code, found.level) == ("CNN103", Level.WARNING)
    assert found.resize is not None
    assert (found.resize.variable, found.resize.want, found.resize.freedom) == ("input_dims.c", 8, Freedom.FREE)
    for target in ("cortex-m0", "cortex-m4", "cortex-m55+nomve"):
        assert lint(model, targets=[target]) == []


def test_padding_onto_a_defective_kernel_is_advised_against() -> None:
    # width 48, filter 5, stride 2, padding 1 before and 2 after: the 1xN kernel of 7.0.0 is wrong there.
    (found,) = lint(one_dimensional(7, pads=[1, 2], strides=[2]))
    assert (found.code, found.level) == ("CNN103", Level.NOTE)
    assert "Do not" in found.message
    assert "wrong values" in found.message


def test_the_defective_kernel_is_an_error_with_the_count_that_repairs() -> None:
    (found,) = lint(one_dimensional(8, pads=[1, 2], strides=[2]))
    assert (found.code, found.level) == ("CNN302", Level.ERROR)
    assert found.resize is not None
    assert (found.resize.have, found.resize.want, found.resize.freedom) == (8, 9, Freedom.FREE)
    assert "arm_convolve_s8" in found.wanted
    assert codes(one_dimensional(8, pads=[1, 2], strides=[2]), release="5.0.0") == []


def test_refused_geometry_is_an_error() -> None:
    (found,) = lint(one_dimensional(8, pads=[3, 0]))
    assert (found.code, found.level) == ("CNN301", Level.ERROR)
    assert codes(one_dimensional(8, pads=[3, 0]), targets=["cortex-m4"]) == []


def test_locked_by_the_interface() -> None:
    model = chain((16, 6, {"kernel": (5,), "pads": [2, 2]}), (4, 16, {"kernel": (1,)}), shape=[1, 6, 48])
    (found,) = lint(model)
    assert (found.code, found.level) == ("CNN103", Level.NOTE)
    assert found.resize is not None
    assert found.resize.freedom is Freedom.LOCKED
    assert "graph input x" in found.resize.lock


def test_coupled_by_a_residual_add() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], "left"),
        helper.make_node("Conv", ["x", "w1"], ["b"], "right"),
        helper.make_node("Add", ["a", "b"], ["s"], "add"),
        helper.make_node("Conv", ["s", "w2"], ["c"], "after", pads=[2, 2]),
        helper.make_node("Conv", ["c", "w3"], ["y"], "last"),
    ]
    shapes = {"w0": (6, 3, 1), "w1": (6, 3, 1), "w2": (16, 6, 5), "w3": (4, 16, 1)}
    graph = helper.make_graph(
        nodes,
        "residual",
        [helper.make_tensor_value_info("x", 1, [1, 3, 48])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(np.zeros(size, np.float32), name) for name, size in shapes.items()],
    )
    model = finished(graph)
    (found,) = lint(model)
    assert found.resize is not None
    assert (found.resize.freedom, found.resize.layers) == (Freedom.COUPLED, ("left", "right"))
    assert "'left', 'right' decide it" in found.message


@pytest.mark.parametrize(
    ("attributes", "weights", "code", "settings"),
    [
        ({"pads": [1, 1, 1, 1]}, (4, 8, 1, 1), "CNN101", {}),
        ({"strides": [2, 2]}, (4, 8, 1, 1), "CNN102", {}),
        ({"dilations": [2, 2]}, (4, 8, 1, 1), "CNN101", {}),
        ({"group": 8, "dilations": [2, 2]}, (8, 1, 3, 3), "CNN111", {"targets": ["cortex-m4"]}),
        ({"group": 8, "dilations": [2, 2]}, (8, 1, 3, 3), "CNN112", {}),
        ({"group": 8, "pads": [2, 2, 0, 0]}, (8, 1, 3, 3), "CNN111", {"targets": ["cortex-m4"]}),
        ({"dilations": [2, 2]}, (4, 8, 3, 3), "CNN104", {"assume": "s16", "release": "5.0.0", "targets": ["m4"]}),
        ({}, (4, 8, 9, 8), "CNN104", {"assume": "s16", "release": "5.0.0", "targets": ["m4"]}),
        ({"group": 8, "dilations": [2, 2]}, (8, 1, 3, 3), "CNN115", {"assume": "s16"}),
    ],
)
def test_misses_for_other_reasons_are_notes(
    attributes: dict[str, object], weights: tuple[int, ...], code: str, settings: dict[str, object]
) -> None:
    found = lint(one_node("Conv", [1, 8, 9, 9], {"w": weights}, **attributes), **settings)
    assert code in [one.code for one in found]
    assert all(one.level is Level.NOTE for one in found if one.code == code)


def test_even_columns_of_s4() -> None:
    model = chain(
        (3, 4, {"kernel": (1, 1)}), (4, 3, {"kernel": (3, 3)}), (4, 4, {"kernel": (1, 1)}), shape=[1, 4, 8, 8]
    )
    (found,) = lint(model, assume="s4")
    assert (found.code, found.level, found.resize.want) == ("CNN105", Level.NOTE, 4)
    assert lint(model, assume="s4", targets=["cortex-m4"]) == []


def test_transpose_convolution_of_every_day_is_wrong_and_padding_repairs_it() -> None:
    shapes = {"w0": (8, 3, 1, 1), "w1": (8, 4, 3, 3)}
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], "before"),
        helper.make_node("ConvTranspose", ["a", "w1"], ["y"], "up", strides=[2, 2], pads=[1, 1, 1, 1]),
    ]
    graph = helper.make_graph(
        nodes,
        "up",
        [helper.make_tensor_value_info("x", 1, [1, 3, 6, 6])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(np.zeros(size, np.float32), name) for name, size in shapes.items()],
    )
    model = finished(graph)
    found = lint(model, targets=["cortex-m4"])
    wrong = [one for one in found if one.code == "CNN302"]
    assert len(wrong) == 1
    assert (wrong[0].resize.have, wrong[0].resize.want, wrong[0].resize.freedom) == (8, 17, Freedom.FREE)
    assert "CNN302" not in codes(model, targets=["cortex-m4"], release="main")
    assert codes(model, release="4.1.0", targets=["cortex-m4"]) == ["CNN190"]


@pytest.mark.parametrize(("release", "expected"), [("6.0.0", ["CNN131"]), ("7.0.0", [])])
def test_per_channel_fully_connected_needs_a_release(release: str, expected: list[str]) -> None:
    weights = {"w": np.zeros((3, 5), np.int8), "ws": np.ones(5, np.float32), "wz": np.zeros(5, np.int8)}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=1),
        helper.make_node("MatMul", ["xf", "wf"], ["y"], "dense"),
    ]
    assert codes(qdq(nodes, [1, 3], weights, {"y": [1, 5]}), release=release) == expected


def test_grouped_convolution_before_6_is_wrong() -> None:
    model = one_node("Conv", [1, 8, 9, 9], {"w": (4, 4, 3, 3)}, group=2)
    assert "CNN302" in codes(model, release="5.0.0")
    assert codes(model, release="7.0.0") == []


def test_symbolic_sizes_are_told_once() -> None:
    model = chain((4, 3, {"kernel": (3,)}), (4, 4, {"kernel": (3,)}), (4, 4, {"kernel": (3,)}), shape=[1, 3, "width"])
    (found,) = [one for one in lint(model) if one.code == "CNN005"]
    assert "--input-shape" in found.message
    assert "x=1,3,?" in found.message
    assert "CNN005" not in codes(model, input_shapes={"x": [1, 3, 40]})


def test_the_same_finding_on_several_targets_is_one() -> None:
    model = one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 1, 1)}, strides=[2, 2])
    (found,) = lint(model, targets=["cortex-m0", "cortex-m4", "cortex-m55"])
    assert len(found.targets) == 3
    assert "on cortex-m0, cortex-m4, cortex-m55 (CMSIS-NN 7.0.0, gcc)" in found.complete


def test_targets_are_grouped_by_release() -> None:
    labels = ("cortex-m0, CMSIS-NN 7.0.0, gcc", "cortex-m4, CMSIS-NN 7.0.0, gcc", "cortex-m4, CMSIS-NN main, gcc")
    assert targets_text(labels) == "cortex-m0, cortex-m4 (CMSIS-NN 7.0.0, gcc), cortex-m4 (CMSIS-NN main, gcc)"


def test_a_float_model_says_what_it_was_taken_for() -> None:
    model = one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 3, 3)})
    report = lint_file("-", make_settings(targets=["cortex-m4"]), model.SerializeToString())
    assert len(report.notes) == 1
    assert "s8 layers they will become" in report.notes[0]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "CNN002"),
        (b"hello world, this is text\n", "CNN002"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", "CNN003"),
    ],
)
def test_files_that_are_no_models(data: bytes, code: str) -> None:
    report = lint_file("m.onnx", make_settings(), data)
    assert [one.code for one in report.findings] == [code]
    assert not report.readable


def test_missing_file(tmp_path) -> None:
    report = lint_file(str(tmp_path / "no.onnx"), make_settings())
    assert [one.code for one in report.findings] == ["CNN001"]


def test_rule_lookup_knows_only_what_exists() -> None:
    assert rule("CNN113").module == "depthwise_multiplier_tile"
    with pytest.raises(KeyError):
        rule("CNN999")
