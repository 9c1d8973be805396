"""What `layers` says of each layer's classes."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.cmsis_nn.library import LEGACY
from onnxlint_cmsis.config.settings import KEYS
from onnxlint_cmsis.lower.decision import UNDECIDED
from onnxlint_cmsis.lower.outcome import Outcome
from support.goldens import Told, check_golden
from support.linter import analysed, layered
from support.models import text
from support.quantized_models import CASES, transposed
from support.tflite_models import streaming_model
from support.tflite_writer import write

FLATTENED = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 3, 4, 4] x) => (float[1, 6] y) <float[5, 3, 3, 3] w = {0}, float[6, 80] v = {0}, float[6] b = {0}> {
        a = Conv<pads = [1, 1, 1, 1]>(x, w)
        f = Flatten(a)
        y = Gemm<transB = 1>(f, v, b)
    }
"""
MULTIPLIED = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 2, 4, 4] x) => (float[1, 4, 4, 4] y)
    <float[3, 2, 1, 1] u = {0}, float[9, 1, 3, 3] w = {0}, float[4, 9, 1, 1] v = {0}> {
        a = Conv(x, u)
        b = Conv<pads = [1, 1, 1, 1], group = 3>(a, w)
        y = Conv(b, v)
    }
"""


DEPTHWISE = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 16, 16] x) => (float[1, 4, 16, 16] y) <float[4, 1, 3, 3] w = {0}> {
        y = Conv<group = 4, pads = [1, 1, 1, 1]>(x, w)
    }
"""
FOREIGN = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 5, 6] x, float[1, 4, L, 6] z) => (float[] y) <float[4, 4, 1, 1] w = {0}> {
        a = Conv(x, w)
        b = Relu(a)
        c = Sigmoid(b)
        y = Add(c, z)
    }
"""


def rows(source: str, **settings: object) -> list[dict[str, object]]:
    return layered(text(source), **{"targets": ["cortex-m4"], **settings}).rows


def classes(source: str) -> list[object]:
    return [row["classes"] for row in rows(source)]


def test_a_flattened_axis_names_its_classes() -> None:
    conv, gemm = classes(FLATTENED)
    assert conv == {"input_dims.c": "3 LOCKED #0", "output_dims.c": "5 FREE #1"}
    assert gemm["input_dims.c"] == "80 = 5 x 4 x 4: FREE #1, LOCKED #2, LOCKED #3"


def test_a_multiplier_has_a_class_of_its_own() -> None:
    depthwise = classes(MULTIPLIED)[1]
    assert depthwise["ch_mult"] == "3 FREE #2"
    assert depthwise["output_dims.c"] == "9 = 3 x 3: COUPLED #1, FREE #2"


def test_a_multiplier_of_one_has_no_class() -> None:
    (row,) = rows(DEPTHWISE)
    assert isinstance(row["classes"], dict)
    assert set(row["classes"]) == {"input_dims.c", "output_dims.c"}


def test_layers_without_a_kernel_are_listed_with_the_reason(told: Told) -> None:
    conv, sigmoid, add = rows(FOREIGN)
    assert (conv["kernel"], conv["fused"]) == ("arm_convolve_1x1_s8_fast", [{"node": "Relu#1", "op": "Relu"}])
    assert (sigmoid["op"], sigmoid["kernel"], sigmoid["input"]) == ("Sigmoid", "", [1, 5, 6, 4])
    told(str(sigmoid["reason"]))
    assert (add["op"], add["kernel"], add["reason"]) == ("Add", "", UNDECIDED.reason)
    assert [row["verdict"] for row in (conv, sigmoid, add)] == ["CMSIS-NN", "reference code", "undecided"]
    assert [row["cause"] for row in (conv, sigmoid, add)] == ["", "no-function", "shape"]


def test_rows_have_the_multiply_accumulates_that_the_totals_count() -> None:
    source = """<ir_version: 8, opset_import: ["" : 13]>
        g (float[7, 1, 3] x) => (float[7, 1, 1, 4] y) <float[1, 12, 3] w = {1}, float[1, 12, 4] r = {1}> {
            y = GRU<hidden_size = 4, linear_before_reset = 1>(x, w, r)
        }"""
    report = layered(text(source), targets=["cortex-m4"])
    assert [row["macs"] for row in report.rows] == [7 * 12 * (3 + 4)] == [report.totals[0].macs]


@pytest.mark.parametrize("runtime", ["direct", "tflm", "executorch"])
def test_rows_have_the_cost_that_the_totals_count(runtime: str) -> None:
    """A runtime may bring a library that is behind the release in some entry points, such as transpose_conv_s8."""
    report = layered(transposed().model(), targets=["cortex-m4", "cortex-m55"], runtime=runtime)
    costs = [layer.instructions for layer in report.layers]
    assert all(costs)
    assert costs == [total.instructions for total in report.totals]


def test_a_layer_whose_kernel_a_size_leaves_open_is_undecided_in_its_row_as_in_the_summary() -> None:
    """arm_convolve_1_x_n_s8 takes inputs of one row."""
    source = """<ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 4, H, 8] x) => (float[1, 4, H, 8] y) <float[4, 4, 1, 3] w = {1}> {
            y = Conv<pads = [0, 1, 0, 1]>(x, w)
        }"""
    report = layered(text(source), targets=["cortex-m55"])
    (layer,), (row,) = report.layers, report.rows
    assert (layer.verdict, layer.kernel, layer.undecided) == (Outcome.UNDECIDED, "", ("input_dims.h",))
    assert (row["verdict"], row["cause"], row["entry"]) == ("undecided", "shape", "convolve_s8")
    (target,) = analysed(text(source), targets=["cortex-m55"]).once(summarize).targets
    assert target.undecided.nodes == (layer.node,)


def test_every_row_has_the_same_keys() -> None:
    conv, sigmoid, _ = rows(FOREIGN)
    assert [*conv, "instructions_range"] == list(sigmoid)  # reference code has a range in place of one number
    assert len(rows(FOREIGN, targets=["cortex-m4", "cortex-m55"])) == 6


def test_an_entry_point_that_the_release_lacks_is_none_with_the_reason(told: Told) -> None:
    source = """<ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 2, 5, 3] x) => (float[1, 5, 2, 3] y) { y = Transpose<perm = [0, 2, 1, 3]>(x) }"""
    (row,) = rows(source, release="6.0.0")
    assert (row["entry"], row["kernel"]) == ("transpose_s8", "")
    told(str(row["reason"]))


def test_a_release_decides_who_computes_a_layer() -> None:
    """Weights of a fully connected layer with a zero-point, which releases before 6.0.0 do not read."""
    model = CASES["dense weights with a zero-point"]().model()
    answers = {}
    for release in ("5.0.0", "6.0.0"):
        (row,) = layered(model, targets=["cortex-m4"], release=release).rows
        answers[release] = row["verdict"], row["cause"], row["kernel"], row["instructions"]
    assert answers["5.0.0"] == ("reference code", "weight-zero-point", "", None)
    assert answers["6.0.0"] == ("CMSIS-NN", "", "arm_fully_connected_s8", None)


def test_a_grouped_convolution_is_plain_code_before_groups_came() -> None:
    (row,) = layered(CASES["grouped"]().model(), targets=["cortex-m4"], release="5.0.0").rows
    assert (row["verdict"], row["cause"], row["kernel"]) == ("reference code", "groups", "")


def shown(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The table of a file."""
    assert main(["layers", "--isolated", "--target", "cortex-m4", str(path)]) == 0
    return capsys.readouterr().out


def test_a_kernel_that_hands_its_work_on_stands_in_a_column_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """<ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 6, 1, 32] x) => (float[1, 16, 1, 15] y) <float[16, 6, 1, 3] w = {1}> {
            y = Conv<strides = [1, 2]>(x, w)
        }"""
    path = tmp_path / "m.onnx"
    path.write_bytes(text(source).SerializeToString())
    (row,), wide = rows(source), shown(path, capsys)
    monkeypatch.setenv("COLUMNS", "80")
    narrow = shown(path, capsys)
    assert row["kernel"] != row["effective"]
    assert re.search(r"^layer .*\bcalled\b", wide, re.MULTILINE)
    assert str(row["kernel"]) in wide
    assert str(row["effective"]) in narrow
    assert "..." not in narrow


def test_what_the_first_run_alone_computes_costs_later_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The convolution of a CALL_ONCE is a row of its own, and in no total."""
    path = tmp_path / "m.tflite"
    path.write_bytes(write(streaming_model()))
    report = layered(path, targets=["cortex-m4"])
    costs = {row["node"]: (row["once"], row["macs"], row["instructions"]) for row in report.rows}
    assert costs["subgraph1:CONV_2D#1"] == (True, 0, 0)
    assert costs["ADD#3"][0] is False
    total = report.totals[0]
    assert (total.instructions, total.macs) == (costs["ADD#3"][2], 0)
    assert (total.layers, total.unknown_layers) == (1, 3)
    assert "once" in shown(path, capsys)


TYPES = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 8, 12, 12] x) => (float[1, 6, 1, 1] y) <float[6, 8, 3, 3] w = {1}, float[6, 6, 1, 1] v = {1}> {
        [first] a = Conv<pads = [1, 1, 1, 1]>(x, w)
        [curve] b = Tanh(a)
        [root] c = Sqrt(b)
        [second] d = Conv(c, v)
        [mean] y = GlobalAveragePool(d)
    }
"""
"""A float model with a layer that has no kernel, and one whose type decides whether it has."""
STAYS_FLOAT = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 16, 12, 12] x) => (float[1, 8] y) <float[32, 16, 1, 1] w = {1}, float[8, 32] v = {1}> {
        [first] a = Conv(x, w)
        [mean] b = GlobalAveragePool(a)
        c = Flatten(b)
        [last] d = Gemm<transB = 1>(c, v)
        [likely] y = Softmax(d)
    }
"""
CORTEX_M4 = ("layers", "--isolated", "--target", "cortex-m4")


@pytest.fixture
def float_model(tmp_path: Path) -> Path:
    path = tmp_path / "float.onnx"
    path.write_bytes(text(TYPES).SerializeToString())
    return path


def assumable() -> list[str]:
    """The types that one API allows, from the table of settings."""
    (key,) = (key for key in KEYS if key.name == "assume")
    return [kind for kind in key.allowed if kind not in LEGACY.types]


def test_data_types_stand_side_by_side(
    float_model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(float_model.parent)
    assert main([*CORTEX_M4, "--assume", "s8,s16,s4", float_model.name]) == 0
    check_golden("screens/layers-assume", capsys.readouterr().out)


def test_each_type_tells_what_it_tells_alone(float_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All types that a model may be assumed as, so that a new one needs nothing more."""
    kinds = assumable()
    assert len(kinds) >= 3
    assert main([*CORTEX_M4, "--assume", ", ".join(kinds), str(float_model)]) == 0
    shown = capsys.readouterr().out
    assert main([*CORTEX_M4, "--output-format", "json", "--assume", ",".join(kinds), str(float_model)]) == 0
    types = json.loads(capsys.readouterr().out)["types"]
    assert [answer.pop("assume") for answer in types] == kinds
    for kind, answer in zip(kinds, types, strict=True):
        assert main([*CORTEX_M4, "--output-format", "json", "--assume", kind, str(float_model)]) == 0
        assert json.loads(capsys.readouterr().out).items() >= answer.items()
        (total,) = answer["totals"]
        assert f"{total['constants']:,}" in shown
        assert f"{total['arena']:,}" in shown
        for row in answer["layers"]:
            assert row["instructions"] is None or f"{row['instructions']:,}" in shown


def test_one_type_is_told_as_ever(float_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for words in ((), ("--assume", "s8"), ("--assume", "s8,s8")):
        assert main([*CORTEX_M4, *words, str(float_model)]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] == told[2]


def test_types_that_change_nothing_are_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(write(streaming_model()))
    assert main([*CORTEX_M4, "--assume", "s8,s16", str(path)]) == 0
    told(" ".join(capsys.readouterr().out.split()))


FLASH = re.compile(r"(f16|f32)( packed)? costs (\d+)(?: to (\d+))? % (less|more) than s8 here and (.*) the flash")


@pytest.mark.parametrize("packed", [False, True])
def test_what_stays_float_is_told_against_s8(
    packed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "float.onnx"
    path.write_bytes(text(STAYS_FLOAT).SerializeToString())
    asked = [
        "layers",
        "--isolated",
        "--target",
        "cortex-m55",
        "--config",
        f"float-weights={'packed' * packed or 'standard'}",
    ]
    assert main([*asked, "--assume", "s8,f16,f32", str(path)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "the flash" in line]
    assert main([*asked, "--output-format", "json", "--assume", "s8,f16,f32", str(path)]) == 0
    types = {answer["assume"]: answer for answer in json.loads(capsys.readouterr().out)["types"]}
    assert len(lines) == 2
    for line in lines:
        kind, form, least, most, change, times = FLASH.fullmatch(line).groups()
        assert bool(form) is packed
        kept = ("Conv", "GlobalAveragePool", "Gemm", "Softmax")
        rows = [{row["op"]: row for row in types[name]["layers"]} for name in (kind, "s8")]
        (low, high), (base_low, base_high) = (
            [sum(of[op]["instructions"] or of[op]["instructions_range"][end] for op in kept) for end in (0, 1)]
            for of in rows
        )
        shares = sorted(abs(round(100 * (mine / base - 1))) for mine, base in ((low, base_high), (high, base_low)))
        assert [int(least), int(most or least)] == shares
        assert (change == "less") is (high < base_low)
        flash = types[kind]["totals"][0]["constants"] / types["s8"]["totals"][0]["constants"]
        assert times == ("twice" if round(flash, 1) == 2 else f"{flash:.1f} times")


def test_nothing_is_told_of_float_where_a_layer_with_weights_has_no_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "float.onnx"
    path.write_bytes(text(STAYS_FLOAT).SerializeToString())
    assert main([*CORTEX_M4, "--compiler", "armclang", "--assume", "s8,f32", str(path)]) == 0
    assert "the flash" not in capsys.readouterr().out


def test_types_of_a_model_from_standard_input(
    float_model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read once, for all types."""
    assert main([*CORTEX_M4, "--assume", "s8,s16", str(float_model)]) == 0
    told = capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(float_model.read_bytes())))
    assert main([*CORTEX_M4, "--assume", "s8,s16", "-"]) == 0
    assert capsys.readouterr().out.replace("<stdin>", str(float_model)) == told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--assume", "s8,s17"), "'s17' is not"),
        (("--assume", "s8,"), "'' is not"),
        (("--assume", "s8,q7"), "q7 is of another API"),
        (("--assume", "s8,s16", "--output-format", "c"), "--output-format c is for one data type"),
        (("--assume", "s8,s16", "--against-host"), "--against-host is for one data type"),
    ],
)
def test_types_that_cannot_stand_side_by_side(
    words: tuple[str, ...], sentence: str, float_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*CORTEX_M4, *words, str(float_model)]) == 2
    assert sentence in capsys.readouterr().err
