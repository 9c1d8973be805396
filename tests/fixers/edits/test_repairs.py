"""Repairs by rewriting: the hazard goes, the outputs stay, and a second fix finds nothing to do."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import parser

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.analysis.price_text import whole_prices
from onnxlint_cmsis.checks.rule_registry import every_rule
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.cmsis_nn.library import all_hazards
from onnxlint_cmsis.fixers.planning.fits.useless_pairs import useless_nodes
from onnxlint_cmsis.fixers.planning.repairable import REPAIRS, repairs_for
from onnxlint_cmsis.fixers.proof.compare import TOLERANCE
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from onnxlint_cmsis.formats.format import ONNX, TFLITE, part
from onnxlint_cmsis.ground.findings import PRICE
from support import linter
from support.fix_command import contents, run, text
from support.repairable_models import convolution, float_groups, float_weights, operator_format, pool

Build = Callable[[], onnx.ModelProto]


TARGETS = ["cortex-m0", "cortex-m4", "cortex-m55"]


def transposed(filters: tuple[int, ...], height: int = 6, **more: object) -> onnx.ModelProto:
    return convolution((1, 4, height, 6), filters, op_type="ConvTranspose", **more)


CASES: dict[str, tuple[str, str, Build, str]] = {
    "grouped without bias": (
        "zero-bias", "conv-grouped-no-bias",
        lambda: convolution((1, 8, 6, 6), (8, 4, 3, 3), bias=False, group=2), "7.0.0",
    ),
    "wide depthwise without bias": (
        "zero-bias", "dw-opt-no-bias",
        lambda: convolution((1, 128, 4, 4), (128, 1, 3, 3), bias=False, group=128), "7.0.0",
    ),
    "1x1 with padding after": (
        "explicit-pad", "conv-1x1-fast-padding-after",
        lambda: convolution((1, 4, 6, 6), (4, 4, 1, 1), pads=[0, 0, 1, 1]), "7.0.0",
    ),
    "1x1 with strides and padding after": (
        "explicit-pad", "conv-1x1-padding-after",
        lambda: convolution((1, 4, 6, 6), (4, 4, 1, 1), pads=[0, 0, 2, 1], strides=[2, 2]), "7.0.0",
    ),
    "QLinearConv with padding after": (
        "explicit-pad", "conv-1x1-fast-padding-after", lambda: operator_format(pads=[0, 0, 1, 1]), "7.0.0",
    ),
    "depthwise 3x3 with two on the right": (
        "explicit-pad", "dw-3x3-padding-after",
        lambda: convolution((1, 4, 6, 6), (4, 1, 3, 3), group=4, pads=[0, 0, 0, 2]), "7.0.0",
    ),
    "depthwise with more padding than window": (
        "explicit-pad", "dw-opt-window-outside",
        lambda: convolution((1, 4, 6, 6), (4, 1, 2, 2), group=4, pads=[3, 3, 3, 3]), "7.0.0",
    ),
    "grouped 1x1": (
        "split-groups", "conv-grouped-no-scratch",
        lambda: convolution((1, 8, 6, 6), (8, 4, 1, 1), group=2, relu=True), "7.0.0",
    ),
    "grouped 1x1 in float": ("split-groups", "conv-grouped-no-scratch", float_groups, "7.0.0"),
    "grouped before groups": (
        "split-groups", "conv-grouped-as-dense",
        lambda: convolution((1, 8, 6, 6), (12, 2, 3, 3), group=4, relu=True), "5.0.0",
    ),
    "grouped with weights behind QuantizeLinear": (
        "split-groups", "conv-grouped-as-dense",
        lambda: float_weights(convolution((1, 8, 6, 6), (12, 2, 3, 3), group=4, relu=True)), "5.0.0",
    ),
    "grouped 1xN": (
        "split-groups", "conv-grouped-1xn-scratch",
        lambda: convolution((1, 8, 12), (8, 4, 5), group=2), "7.0.0",
    ),
    "1xN that is refused": (
        "wider-window", "conv-1xn-geometry-refused",
        lambda: convolution((1, 8, 16), (8, 8, 5), strides=[2], pads=[1, 1]), "7.0.0",
    ),
    "1xN that is wrong": (
        "wider-window", "conv-1xn-wrong-values", lambda: convolution((1, 8, 32), (8, 8, 3), strides=[2]), "7.0.0",
    ),
    "1xN that reads past its input": (
        "wider-window", "conv-1xn-reads-past-input",
        lambda: convolution((1, 8, 15), (8, 8, 4), strides=[2], pads=[1, 2]), "7.0.0",
    ),
    "transposed with output_padding": (
        "output-padding", "tconv-output-past-rows",
        lambda: convolution((1, 4, 6, 6), (4, 4, 3, 3), op_type="ConvTranspose", strides=[2, 2],
                            output_padding=[1, 1]), "7.0.0",
    ),
    "transposed with padding that the stride does not divide": (
        "shifted-taps", "tconv-padding-not-in-strides",
        lambda: transposed((4, 4, 4, 4), strides=[2, 2], pads=[1, 1, 1, 1]), "7.0.0",
    ),
    "transposed with rows past the output": (
        "shifted-taps", "tconv-rows-past-output",
        lambda: transposed((4, 4, 2, 2), strides=[2, 2], pads=[0, 0, 1, 1]), "7.0.0",
    ),
    "transposed with rows past the output in main": (
        "shifted-taps", "tconv-rows-past-output-main",
        lambda: transposed((4, 4, 2, 2), strides=[2, 2], pads=[0, 0, 1, 1]), "main",
    ),
    "transposed with rows of weights that meet no input": (
        "shifted-taps", "tconv-padding-above-input",
        lambda: transposed((4, 4, 9, 3), height=2, strides=[2, 2], pads=[5, 0, 0, 0]), "main",
    ),
    "transposed with wide strides": (
        "shifted-taps", "tconv-scratch-too-small", lambda: transposed((4, 4, 2, 2), strides=[1, 4]), "7.0.0",
    ),
    "dilated before dilation": (
        "spread-taps", "conv-dilation-ignored",
        lambda: convolution((1, 4, 9, 9), (4, 4, 3, 3), dilations=[2, 2]), "cmsis5-5.8.0",
    ),
    "int16 of 522 columns": (
        "more-columns", "conv-s16-odd-channel-columns",
        lambda: convolution((1, 58, 1, 2), (3, 58, 3, 3), kind=np.int16, relu=True, pads=[1, 1, 1, 1]), "7.0.0",
    ),
    "max pool over a batch": ("split-batch", "max-pool-one-image", lambda: pool("MaxPool"), "5.0.0"),
    "average pool over a batch": ("split-batch", "avgpool-one-image", lambda: pool("AveragePool"), "4.1.0"),
}  # fmt: skip


def fixed(model: onnx.ModelProto | bytes, release: str = "7.0.0", **settings: object) -> linter.FixedModel:
    return linter.fixed(model, targets=TARGETS, release=release, **settings)


def hazards(data: bytes, release: str) -> set[str]:
    model = linter.analysed(data, targets=TARGETS, release=release)
    return {hazard.id for layer in model.lowered.layers for _, route in model.routes(layer) for hazard in route.hazards}


def outputs(data: bytes, feeds: list[dict]) -> list[np.ndarray]:
    session = RuntimeSession(data, Optimization.NONE)
    return [session.run(feed)[0] for feed in feeds]


def feeds(model: onnx.ModelProto) -> list[dict]:
    (given,) = model.graph.input
    shape = [size.dim_value for size in given.type.tensor_type.shape.dim]
    kind = onnx.helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)
    random = np.random.default_rng(7)
    if kind == np.float32:
        return [{"x": random.normal(size=shape).astype(kind)} for _ in range(4)]
    limits = np.iinfo(kind)
    return [{"x": random.integers(limits.min, limits.max, shape, endpoint=True).astype(kind)} for _ in range(4)]


def proven(model: onnx.ModelProto, data: bytes) -> bool:
    """Whether a new file is proven to be equal for every input."""
    return verify(ONNX.load("m.onnx", model.SerializeToString()), ONNX.load("m.onnx", data)).equal


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_hazard_goes_and_the_outputs_stay(case):
    repair, hazard, build, release = case
    model = build()
    assert hazard in hazards(model.SerializeToString(), release)
    result, data = fixed(model, release)
    assert data is not None, result.reason
    assert repair in {rewrite.repair for rewrite in result.rewrites}
    assert hazard in {name for rewrite in result.rewrites for name in rewrite.hazards}
    assert hazards(data, release) == set()
    in_float = any(value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT for value in model.graph.input)
    assert proven(model, data) != in_float  # sums of floats depend on their order
    pairs = zip(outputs(model.SerializeToString(), feeds(model)), outputs(data, feeds(model)), strict=True)
    for old, new in pairs:
        if old.dtype == np.float32:  # sums depend on their order, which is ONNX Runtime's
            np.testing.assert_allclose(new, old, rtol=0, atol=TOLERANCE * np.ptp(old))
        else:
            np.testing.assert_array_equal(new, old)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_finding_states_the_price_of_the_report(case):
    _, hazard, build, release = case
    result, _ = fixed(build(), release)
    words = whole_prices(result.prices)
    told = linter.linted(build(), targets=TARGETS, release=release).told
    findings = [row for row in told if row.properties.get(PRICE)]
    assert words
    assert hazard in {row.properties["hazard"] for row in findings}
    assert all(f"--fix repairs it. In all: {words}." in row.mending() for row in findings)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_second_fix_finds_nothing_to_do(case):
    _, _, build, release = case
    data = fixed(build(), release).model
    again = fixed(data, release)
    assert again.model is None
    assert not again.result.rewrites
    assert not again.result.unrewritten


def test_a_layer_that_no_target_needs_a_repair_for_stays():
    model = convolution((1, 8, 6, 6), (12, 2, 3, 3), group=4)
    assert fixed(model).model is None
    assert fixed(model, "5.0.0").model is not None


def test_what_a_split_leaves_is_repaired_too():
    model = convolution((1, 8, 6, 6), (8, 4, 1, 1), group=2, pads=[0, 0, 1, 1])
    result, data = fixed(model, "5.0.0")
    assert {rewrite.repair for rewrite in result.rewrites} == {"split-groups", "explicit-pad"}
    assert hazards(data, "5.0.0") == set()


def test_a_model_without_consent_stays():
    model = convolution((1, 8, 6, 6), (8, 4, 3, 3), bias=False, group=2)
    assert fixed(model, unfixable=["CNN302"]).model is None
    assert fixed(model, fixable=["CNN302"]).model is not None


def test_a_budget_keeps_constants_from_growing(tmp_path):
    model = convolution((1, 8, 6, 6), (8, 4, 3, 3), bias=False, group=2)
    onnx.save(model, tmp_path / "m.onnx")
    before = contents(tmp_path)
    done = run(tmp_path, "--fix-only", "--config", "fix-budget-bytes=8", "--output-format", "json", "m.onnx")
    (file,) = json.loads(text(done))["files"]
    assert contents(tmp_path) == before
    assert [unrewritten["repair"] for unrewritten in file["fix"]["unrewritten"]] == ["zero-bias"]
    assert "fix-budget-bytes" in file["fix"]["reason"]


@pytest.mark.parametrize("options", [("--unfixable", "CNN302"), ("--ignore", "CNN302")])
def test_rules_that_are_not_fixable_are_not_answered(tmp_path, options):
    onnx.save(convolution((1, 8, 6, 6), (8, 4, 3, 3), bias=False, group=2), tmp_path / "m.onnx")
    before = contents(tmp_path)
    run(tmp_path, "--fix-only", *options, "m.onnx")
    assert contents(tmp_path) == before


def test_the_report_names_the_layer_and_what_became_of_it(tmp_path):
    onnx.save(convolution((1, 8, 6, 6), (8, 4, 1, 1), group=2), tmp_path / "m.onnx")
    before = contents(tmp_path)
    told = text(run(tmp_path, "--diff", "m.onnx"))
    line = "'conv_made' becomes 2 convolutions, one per group, between Slices and a Concat (split-groups)"
    assert f"rewrites {line}" in told
    assert contents(tmp_path) == before


def test_fixing_the_file_leaves_no_finding(tmp_path):
    onnx.save(convolution((1, 8, 6, 6), (8, 4, 3, 3), bias=False, group=2), tmp_path / "m.onnx")
    assert run(tmp_path, "m.onnx").returncode == 1
    assert run(tmp_path, "--fix", "m.onnx").returncode == 0


@pytest.mark.parametrize("row", REPAIRS, ids=lambda row: row.name)
def test_rows_name_hazards_or_rules_that_exist(row):
    assert row.hazards or row.rule in {rule.name for rule in every_rule()}
    assert row.hazards <= {hazard.id for hazard in all_hazards()}


def test_each_repair_that_may_fit_is_one_that_can_be_done():
    assert part(ONNX.editor).repairs.keys() == {row.name for row in REPAIRS}
    done = {row.name for row in repairs_for(TFLITE) if row in REPAIRS}
    assert part(TFLITE.editor).repairs.keys() == done == {"zero-bias", "wider-window"}


def test_each_hazard_with_a_repair_is_shown_with_a_model_or_is_one_of_a_kind():
    shown = {hazard for _, hazard, _, _ in CASES.values()}
    alike = {row.name for row in REPAIRS if row.hazards & shown}
    assert alike == {row.name for row in REPAIRS if row.hazards}


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}')


UNSIGNED = """
g (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y)
<float s = {0.05}, uint8 z = {130}, uint8 wz = {128},
 uint8[4, 4, 1, 1] w = {1, 128, 255, 7, 90, 3, 200, 128, 11, 250, 4, 77, 128, 9, 8, 1}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = DequantizeLinear(w, s, wz)
    c = Conv(a, b)
    d = QuantizeLinear(c, s)
    y = DequantizeLinear(d, s)
}
"""
PAIRS = """
g (int8[1, 4, 6, 6] x) => (int8[1, 4, 6, 6] y)
<float s = {0.1}, int8 z = {3}, int8[4, 4, 1, 1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}, int8 k = {0}> {
    d = DequantizeLinear(x, s, z)
    e = QuantizeLinear(d, s, z)
    f = DequantizeLinear(e, s, z)
    h = QuantizeLinear(f, s, z)
    a = DequantizeLinear(h, s, z)
    b = DequantizeLinear(w, s, k)
    c = Conv(a, b)
    y = QuantizeLinear(c, s, z)
}
"""


def nodes(data: bytes) -> list[str]:
    return [node.op_type for node in onnx.ModelProto.FromString(data).graph.node]


@pytest.mark.parametrize(("text_of_model", "repair"), [(UNSIGNED, "signed-integers"), (PAIRS, "useless-pairs")])
def test_notes_are_answered_exactly_and_once(text_of_model, repair):
    model = parsed(text_of_model)
    result, data = fixed(model, extend_fixable=["CNN504"])
    assert {rewrite.repair for rewrite in result.rewrites} == {repair}
    assert proven(model, data)
    pairs = zip(outputs(model.SerializeToString(), feeds(model)), outputs(data, feeds(model)), strict=True)
    assert all(np.array_equal(old, new) for old, new in pairs)
    assert fixed(data).model is None


def test_no_uint8_is_left_where_all_of_it_can_be_int8():
    data = fixed(parsed(UNSIGNED), extend_fixable=["CNN504"]).model
    constants = onnx.ModelProto.FromString(data).graph.initializer
    assert {tensor.data_type for tensor in constants} == {onnx.TensorProto.INT8, onnx.TensorProto.FLOAT}


def test_chained_pairs_go_together():
    data = fixed(parsed(PAIRS)).model
    assert nodes(data) == ["DequantizeLinear", "DequantizeLinear", "Conv", "QuantizeLinear"]


def test_inputs_and_outputs_of_the_model_stay_unsigned():
    model = parsed(PAIRS.replace("int8", "uint8").replace("z = {3}", "z = {131}"))
    result, data = fixed(model, extend_fixable=["CNN504"])
    assert "signed-integers" in {rewrite.repair for rewrite in result.rewrites}
    graph = onnx.ModelProto.FromString(data).graph
    ends = (*graph.input, *graph.output)
    assert [value.type.tensor_type.elem_type for value in ends] == [onnx.TensorProto.UINT8] * 2


@pytest.mark.parametrize(("source", "code"), [(UNSIGNED, "CNN504"), (PAIRS, "CNN514")])
def test_what_is_not_fixable_is_not_rewritten(source, code):
    assert not fixed(parsed(source), extend_fixable=["CNN504"], unfixable=[code]).result.rewrites


def test_a_finding_that_rewriting_repairs_counts_as_fixable():
    told = linter.linted(convolution((1, 8, 6, 6), (8, 4, 3, 3), bias=False, group=2), targets=["cortex-m4"])
    assert {finding.code for finding in told.findings if finding.properties.get("fixable")} == {"CNN302"}
    assert told.fixable


def grouped_beside_if() -> onnx.ModelProto:
    """A grouped convolution whose weights are cut, in a model whose If reads a constant of the main graph."""
    model = convolution((1, 8, 6, 6), (8, 4, 1, 1), group=2)
    extra = parsed(
        """g (bool flag) => (float[1] e) <float[1] kept = {2.0}> {
            e = If(flag) <
                then_branch = yes () => (float[1] i) { i = Neg(kept) },
                else_branch = no () => (float[1] j) { j = Identity(kept) }
            >
        }"""
    )
    model.graph.node.extend(extra.graph.node)
    model.graph.initializer.extend(extra.graph.initializer)
    model.graph.input.extend(extra.graph.input)
    model.graph.output.extend(extra.graph.output)
    return model


def test_weights_that_nothing_reads_go_and_those_that_a_branch_reads_stay():
    result, data = fixed(grouped_beside_if())
    assert {rewrite.repair for rewrite in result.rewrites} == {"split-groups"}
    names = {initializer.name for initializer in onnx.ModelProto.FromString(data).graph.initializer}
    assert "kept" in names
    assert "w" not in names


POOLED = """
    <ir_version: 8, opset_import: ["" : 21, "com.microsoft" : 1]>
    g (uint8[1, 2, 5, 5] x) => (float[1, 2, 1, 1] y)
    <float s = {0.0487}, uint8 z = {0}, float t = {0.0411}, float[2, 2, 1, 1] w = {-0.5, 0, 1.25, 0}> {
        p = com.microsoft.QLinearGlobalAveragePool(x, s, z, t, z)
        r = DequantizeLinear(p, t, z)
        y = Conv(r, w)
    }
"""
"""A pool of two scales in uint8, whose new scale brings a pair of nodes that can become int8."""


def test_what_new_scales_bring_is_repaired_in_the_same_run():
    result, data = fixed(parser.parse_model(POOLED), unsafe_fixes=True)
    assert {rewrite.repair for rewrite in result.rewrites} >= {"equal-scales"}
    assert not fixed(data, unsafe_fixes=True).result.changed


def test_a_pair_that_nothing_reads_is_no_pair_to_take_out():
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (int8[1, 4] x) => (float[1, 4] y) <float s = {0.5}, int8 z = {0}> {
            a = DequantizeLinear(x, s, z)
            b = QuantizeLinear(a, s, z)
            y = DequantizeLinear(x, s, z)
        }
    """)
    assert list(useless_nodes(linter.analysed(model).graph)) == []


def test_weights_that_no_flash_holds_are_not_written(tmp_path, capsys):
    """An output_padding of 2^31 in a damaged file would take 96 GB of zeros."""
    path = tmp_path / "wide.onnx"
    paddings = {"strides": [1, 4], "output_padding": [0, 2**31 - 1]}
    model = convolution((1, 8, 4, 4), (8, 3, 2, 2), op_type="ConvTranspose", **paddings)
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    for options in ((), ("--diff",)):
        assert main(["--isolated", *options, str(path)]) in (0, 1)
        assert "internal error" not in capsys.readouterr().err
