"""A repair costs what its finding promised, and what its report says of the whole model."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from onnxlint_cmsis import fix, lint
from onnxlint_cmsis.analysis.fix_results import ModelPrice, PriceChange
from onnxlint_cmsis.analysis.price_text import whole_price, whole_prices
from onnxlint_cmsis.cli.fix_promises import repaired_by_fix
from onnxlint_cmsis.ground.findings import PRICE
from support.expanding_nets import Net
from support.linter import fixed, layered, linted
from support.paths import SHARED
from support.tflite_writer import write
from support.third_party_models import needs_models

TARGETS = ["cortex-m4", "cortex-m55"]
TWO_STRIDES = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 1, 1, 512] x) => (float[1, 14, 1, 64] y) {
    c1 = Conv<kernel_shape = [1, 16], strides = [1, 4], pads = [0, 6, 0, 6]>(x, w1, b1)
    a = Relu(c1)
    y = Conv<kernel_shape = [1, 5], strides = [1, 2], pads = [0, 2, 0, 1]>(a, w2, b2)
}
"""
"""The first layer reads past its input and is rewritten; the second is refused and gets an input channel more."""
PADDED_ROWS = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 4, 1, 8] x) => (float[1, 6, 3, 8] y) {
    y = Conv<kernel_shape = [1, 3], pads = [1, 1, 1, 1]>(x, w)
}
"""


UPSAMPLED = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 1, 8, 8] x) => (float[1, 1, 32, 32] y) {
    c = Conv<pads = [1, 1, 1, 1]>(x, w1, b1)
    u = ConvTranspose<strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]>(c, w2, b2)
    y = ConvTranspose<strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]>(u, w3, b3)
}
"""
"""Both layers write rows from the wrong place: 17 input channels mend each, and so do rows of zeros, for far less."""


def model(text: str, **shapes: tuple[int, ...]) -> onnx.ModelProto:
    net, generator = parser.parse_model(text), np.random.default_rng(0)
    net.graph.initializer.extend(
        numpy_helper.from_array(generator.normal(size=shape).astype(np.float32), name) for name, shape in shapes.items()
    )
    return net


def two_strides() -> onnx.ModelProto:
    return model(TWO_STRIDES, w1=(10, 1, 1, 16), b1=(10,), w2=(14, 10, 1, 5), b2=(14,))


def test_a_finding_says_what_a_layer_takes_whose_cost_is_unknown_before_the_repair() -> None:
    (refused,) = (row for row in linted(two_strides(), targets=TARGETS).told if row.code == "CNN301")
    done = fixed(two_strides(), targets=TARGETS)
    cost = {(row.node, row.target[:10]): row.instructions for row in layered(done.model, targets=TARGETS).layers}
    after = cost[refused.location.node, "cortex-m55"]
    assert refused.properties["repair_became_known.cortex-m55"] == after > 0
    assert "repair_became_known.cortex-m4" not in refused.properties
    assert f" and {after:,} for '{refused.location.node}', whose cost is unknown until then" in refused.remedy
    assert done.result.totals[1].became_known == after


def test_sizes_and_rewrites_add_up_to_the_total() -> None:
    result = fixed(two_strides(), targets=TARGETS).result
    assert result.rewrites and result.classes
    for total in result.totals:
        grown = total.new_instructions - total.instructions
        assert total.promised > 0 < total.rewrites
        assert total.promised + total.rewrites == total.repair_price == grown


def test_layers_without_multiplications_leave_no_layer_out_of_the_macs() -> None:
    result = fixed(model(PADDED_ROWS, w=(6, 4, 1, 3)), targets=["cortex-m55"]).result
    assert [row.repair for row in result.rewrites] == ["explicit-pad"]
    assert result.macs.before == result.macs.after == 3 * 8 * 6 * 4 * 3


def test_the_price_of_a_pad_in_front_is_that_of_its_layers() -> None:
    done = fixed(model(PADDED_ROWS, w=(6, 4, 1, 3)), targets=["cortex-m55"])
    (rewrite,) = done.result.rewrites
    assert "cost" not in rewrite.what
    (total,) = layered(done.model, targets=["cortex-m55"]).totals
    assert rewrite.new_instructions == (total.instructions,)


@needs_models
@pytest.mark.parametrize(
    ("name", "release", "rewrites"),
    [
        ("cases/device/models/h_1x1_after.onnx", "7.0.0", {"explicit-pad"}),
        ("cases/device/models/h_1xn_refused_left2.onnx", "5.0.0", {"wider-window"}),
        ("cases/device/models/h_g1x1_2.onnx", "5.0.0", {"split-groups"}),
        ("cases/device/models/h_tc_above.onnx", "7.0.0", {"shifted-taps"}),
        ("cases/device/models/maxpool_n2.onnx", "5.0.0", {"split-batch"}),
        ("cases/device/models/op_k2s2p0op1_c8.onnx", "7.0.0", {"output-padding"}),
        ("cases/torch/cnn1d_def.onnx", "7.0.0", {"wider-window"}),
    ],
)
def test_findings_and_report_state_one_price(name: str, release: str, rewrites: set[str]) -> None:
    settings: dict[str, Any] = {"targets": TARGETS, "release": release}
    told = [row for row in lint(SHARED / name, **settings).told if repaired_by_fix(row)]
    report = fix(SHARED / name, **settings)
    words = whole_prices(report.prices)
    assert {row.repair for row in report.rewrites} >= rewrites
    assert told
    assert all(row.properties[PRICE] == words and f" In all: {words}." in row.mending(brief=True) for row in told)


def test_a_finding_names_no_channels_where_the_fix_rewrites() -> None:
    net = model(UPSAMPLED, w1=(4, 1, 3, 3), b1=(4,), w2=(4, 8, 3, 3), b2=(8,), w3=(8, 1, 3, 3), b3=(1,))
    findings = [row for row in linted(net, targets=TARGETS).told if row.code == "CNN302"]
    report = fixed(net, targets=TARGETS).result
    words = whole_prices(report.prices)
    assert len(findings) == len(report.rewrites) == 2
    assert not report.classes
    for finding in findings:
        assert f"--fix repairs it. In all: {words}." in finding.mending()
        assert not [name for name in finding.properties if name.startswith("repair_")]


def test_what_a_rewrite_changes_by_little_is_told_to_the_last_digit() -> None:
    before = ModelPrice((51_600, 51_600), 0, 544, 64)
    costlier = PriceChange("cortex-m4", before, before._replace(instructions=(51_604, 51_604)))
    assert whole_prices([costlier]) == "on cortex-m4 51,600 -> 51,604 instructions"
    same = PriceChange("cortex-m55", before, before)
    assert whole_prices([same]) == ""
    opened = PriceChange("cortex-m7", before._replace(instructions=(0, 0), unknown=2), before)
    assert whole_price(opened) == (
        "unknown -> 51.6k instructions, layers of unknown cost 2 -> 0; arena 544 -> 544, flash 64 -> 64 bytes"
    )


def test_what_is_no_path_is_told_in_a_sentence() -> None:
    for given in (None, 3, b"model"):
        with pytest.raises(TypeError) as error:
            fix(given)  # type: ignore[arg-type]
        assert str(error.value) == f"a model file is a path; given is {given!r}"


def strided_row() -> bytes:
    """A `.tflite` file whose 1x5 layer of stride 2 computes wrong values on Cortex-M55 with four channels."""
    net = Net(0)
    before = net.convolution(net.activation([1, 1, 256, 3]), 4)
    inputs = [before, *net.weights(before, [8, 1, 5, 4], 0)]
    options = {"padding": "SAME", "stride_w": 2, "stride_h": 1, "dilation_w_factor": 1, "dilation_h_factor": 1}
    row = net.operator("CONV_2D", inputs, net.activation([1, 1, 128, 8]), ("Conv2DOptions", options))
    return write(net.model(net.convolution(row, 5)))


@pytest.mark.parametrize("room", [{}, {"ram": 1 << 20}, {"ram": 100}])
def test_the_price_of_a_file_has_the_memory_plan_that_is_written_with_the_repair(room: dict[str, int]) -> None:
    settings: dict[str, Any] = {"targets": ["cortex-m55"], **room}
    report = fixed(strided_row(), "m.tflite", **settings).result
    told = [row for row in linted(strided_row(), "m.tflite", **settings).told if repaired_by_fix(row)]
    assert report.changed
    assert [row.properties.get(PRICE) for row in told] == [whole_prices(report.prices)]
