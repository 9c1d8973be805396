"""Two versions of a model side by side: figures, findings, layers, limits and versions of git."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import onnx
import pytest

from onnxlint_cmsis.analysis.layer_totals import Total
from onnxlint_cmsis.analysis.layers import LayerReport
from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.cli.compare_run import BothVersions, outputs_of_both
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.fixers.proof.prove import Prover
from onnxlint_cmsis.formats.format import ONNX
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.output.comparison import Figure, LayerDifference, ModelVersion, difference
from onnxlint_cmsis.output.comparison_json import comparison_json
from onnxlint_cmsis.output.comparison_markdown import comparison_markdown
from onnxlint_cmsis.output.comparison_text import change_text, comparison_text, layer_name
from onnxlint_cmsis.output.growth_limits import exceeded, growth_limits
from onnxlint_cmsis.output.layers import LayersReport
from onnxlint_cmsis.timing.device import Device
from onnxlint_cmsis.timing.predicted_time import PredictedTime, layer_time, predicted_time
from onnxlint_cmsis.timing.work import LayerWork
from support import paths
from support.goldens import Told, check_golden
from support.linter import layered, linted
from support.models import text
from support.tflite_steps import random_chain

SLOW = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 16, 16] x) => (float[1, 4, 16, 16] y) <float[C, 4, 3, 3] v = {1}, float[4, C, 3, 3] w = {1}> {
        a = Conv<pads = [1, 1, 1, 1]>(x, v)
        y = Conv<pads = [1, 1, 1, 1]>(a, w)
    }
"""
"""Two layers with C channels in between."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, channels in (("small.onnx", 4), ("big.onnx", 8)):
        Path(name).write_bytes(
            text(SLOW.replace("C,", f"{channels},").replace(", C", f", {channels}")).SerializeToString()
        )
    return tmp_path


def compare(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["compare", "--isolated", "--target", "cortex-m4", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    code, out, _ = compare(capsys, "--output-format", "json", *words)
    assert code == 0
    report: dict[str, object] = json.loads(out)
    return report


@pytest.mark.usefixtures("folder")
def test_figures_are_those_of_layers(capsys: pytest.CaptureFixture[str]) -> None:
    report = told(capsys, "small.onnx", "big.onnx")
    assert main(["layers", "--isolated", "--target", "cortex-m4", "--output-format", "json", "big.onnx"]) == 0
    (total,) = json.loads(capsys.readouterr().out)["totals"]
    after = {figure["metric"]: figure["after"] for figure in report["figures"]}  # type: ignore[attr-defined]
    assert (after["instructions"], after["macs"]) == (total["instructions"], 2 * 16 * 16 * 9 * 4 * 8)
    assert (after["flash"], after["arena"], after["scratch"]) == (total["constants"], total["arena"], total["scratch"])
    assert len(report["layers"]) == 2  # type: ignore[arg-type]


@pytest.mark.usefixtures("folder")
def test_a_model_does_not_differ_from_itself(capsys: pytest.CaptureFixture[str]) -> None:
    report = told(capsys, "big.onnx", "big.onnx")
    assert (report["came"], report["went"], report["layers"]) == ([], [], [])
    assert all(figure["change"] in (0, None) for figure in report["figures"])  # type: ignore[attr-defined]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("limits", "code"),
    [("instructions=0", 1), ("instructions=400%", 0), ("macs=0,arena=9999999", 1), ("scratch=1000000,flash=90000", 0)],
)
def test_a_figure_that_grows_too_much_fails(capsys: pytest.CaptureFixture[str], limits: str, code: int) -> None:
    status, out, _ = compare(capsys, "small.onnx", "big.onnx", "--fail-on-increase", limits)
    assert (status, "--fail-on-increase allows" in out) == (code, bool(code))
    assert compare(capsys, "big.onnx", "small.onnx", "--fail-on-increase", limits)[0] == 0


@pytest.mark.parametrize("wrong", ["arean=0", "arena", "arena=-1", "arena=2 %", "arena=1e3"])
def test_a_wrong_limit_is_named(wrong: str) -> None:
    with pytest.raises(UsageError, match="--fail-on-increase"):
        growth_limits([wrong])


def test_a_figure_that_becomes_unknown_counts_as_grown() -> None:
    (limit,) = growth_limits(["arena=10%"])
    assert [limit.exceeded(Figure("arena", "", *pair)) for pair in ((100, 110), (100, 111), (1, None), (None, 1))] == [
        False,
        True,
        True,
        False,
    ]


def test_a_figure_that_neither_version_tells_is_unknown() -> None:
    texts = [change_text(Figure("instructions", "", *pair)) for pair in ((None, None), (None, 1200), (0, 0))]
    assert texts == ["unknown", "unknown -> 1,200", "0"]


def test_a_version_of_git(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    Path("small.onnx").write_bytes(Path("big.onnx").read_bytes())
    report = told(capsys, "HEAD:small.onnx", "small.onnx")
    macs = next(figure for figure in report["figures"] if figure["metric"] == "macs")  # type: ignore[attr-defined]
    assert macs["after"] == 2 * macs["before"]
    code, out, err = compare(capsys, "HEAD:none.onnx", "small.onnx")
    assert (code, out) == (2, "")
    assert err.startswith("onnxlint-cmsis: error: HEAD:none.onnx: ") and err.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_read_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.onnx").write_bytes(b"no model")
    for words in (("bad.onnx", "big.onnx"), ("big.onnx", "missing.onnx")):
        code, out, err = compare(capsys, *words)
        assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.usefixtures("folder")
def test_markdown_escapes_names(capsys: pytest.CaptureFixture[str], told: Told) -> None:
    nasty = "a|b`c*<i>"
    model = text(SLOW.replace("C,", "4,").replace(", C", ", 4"))
    model.graph.node[0].name = nasty
    Path("nasty.onnx").write_bytes(model.SerializeToString())
    _, out, _ = compare(capsys, "big.onnx", "nasty.onnx", "--output-format", "markdown")
    assert "| <code>a&#124;b&#96;c&#42;&#60;i&#62; &#40;Conv&#35;0 before&#41;</code> |" in out
    told(out)
    rows = [line for line in out.splitlines() if line.startswith("| ")]
    assert all(line.count("|") == 5 for line in rows)


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("CONV_2D#2", "CONV_2D#3", "CONV_2D#3 (CONV_2D#2 before)"),
        ("CONV_2D#2", "CONV_2D#2", "CONV_2D#2"),
        ("CONV_2D#2", None, "CONV_2D#2"),
        ("/a/b/Conv", "CONV_2D#0", "CONV_2D#0 (b before)"),
        (None, "c", "c"),
    ],
)
def test_a_layer_has_the_name_that_findings_give_it(before: str | None, after: str | None, name: str) -> None:
    sides = [row(label, 1) if label else None for label in (before, after)]
    assert layer_name(LayerDifference("tensor", "cortex-m4", *sides), {"/a/b/Conv": "b"}) == name


@pytest.mark.usefixtures("folder")
def test_a_layer_of_one_version_is_new_or_gone_and_counts_once_for_all_targets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    short = onnx.load("small.onnx")
    wanted = short.graph.node[0].output[0]
    del short.graph.node[1:], short.graph.output[0]
    short.graph.output.append(onnx.helper.make_tensor_value_info(wanted, 1, None))
    onnx.save(short, "short.onnx")
    wide = ("--target", "cortex-m0")
    for word, versions in (("new", ("short.onnx", "small.onnx")), ("gone", ("small.onnx", "short.onnx"))):
        _, out, _ = compare(capsys, *wide, *versions)
        assert "1 layer changed" in out, out
        assert out.count(f": {word}, arm_convolve_s8; predicted instructions 255,705") == 1, out


TWICE = """
    <ir_version: 8, opset_import: ["" : 13]> g (float[1, 4] x) => (float[1, 4] y) <float two = {2}> { STEP }
"""


def test_run_tells_what_outputs_are_where_no_certificate_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, told: Told
) -> None:
    monkeypatch.chdir(tmp_path)
    steps = {
        "times": "y = Mul(x, two)", "sum": "y = Add(x, x)", "none": "y = Add(x, two)", "named": "z = Add(x, x)",
        "ended": "y = Foo(x)",
    }  # fmt: skip
    for name, step in steps.items():
        source = TWICE.replace("STEP", step)
        Path(f"{name}.onnx").write_bytes(
            text(source.replace(" y)", " z)") if name == "named" else source).SerializeToString()
        )
    Path("chain.tflite").write_bytes(random_chain(3))
    lines = []
    versions = ["times.onnx", *(f"{name}.onnx" for name in [*steps][1:]), "chain.tflite"]
    for after in versions:
        code, out, _ = compare(capsys, "--run", "times.onnx", after)
        assert code == 0
        outputs = " ".join(out.split()).partition("outputs: ")[2].partition(" findings: ")[0]
        lines.append(f"{after}: {outputs}")
    told(lines)
    _, out, _ = compare(capsys, "--run", "--output-format", "json", "times.onnx", "none.onnx")
    sample = json.loads(out)["outputs"]["sample"]
    assert (sample["equal"], sample["differences"][0]["output"]) == (False, "y")


def test_inputs_that_have_other_names_are_given_in_their_order(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    source = '<ir_version: 8, opset_import: ["" : 13]> g (float[2] A, float[N] B) => (float[2] y) { y = Sub(A, B) }'
    for name, (first, second, size) in {
        "a": ("a", "b", "2"), "c": ("c", "d", "2"), "swapped": ("b", "a", "2"), "long": ("a", "b", "1")
    }.items():  # fmt: skip
        written = source.replace("A", first).replace("B", second).replace("N", size)
        Path(f"{name}.onnx").write_bytes(text(written).SerializeToString())
    said = {}
    for after in ("c", "swapped", "long"):
        assert main(["compare", "--run", "--isolated", "--output-format", "json", "a.onnx", f"{after}.onnx"]) == 0
        said[after] = json.loads(capsys.readouterr().out)["outputs"]["sample"]
    assert said["c"]["equal"] and said["swapped"]["equal"]
    assert said["long"]["reason"] == "its inputs have other sizes or types"


def test_a_runtime_that_ends_its_process_ends_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    given = BothVersions(ONNX, "a.onnx", b"", ONNX, b"", {})
    monkeypatch.setattr(Prover, "outputs", _ending)
    assert outputs_of_both(given).reason == "their process ended with exit code 3"


def _ending(*_: object) -> None:
    os._exit(3)


@pytest.mark.usefixtures("folder")
def test_layers_of_tflite_files_are_named_by_operator(capsys: pytest.CaptureFixture[str]) -> None:
    for name, wide in (("a.tflite", False), ("b.tflite", True)):
        Path(name).write_bytes(random_chain(3, wide=wide))
    _, out, _ = compare(capsys, "a.tflite", "b.tflite")
    changed = out[out.index("layers changed") :].splitlines()[1:]
    names = [line.split(" on ")[0].strip() for line in changed if " on cortex-m4" in line]
    assert len(names) > 3
    assert all(re.fullmatch(r"[A-Z0-9_]+#\d+( \(.* before\))?", name) for name in names)


NETWORKS = ("kws_ds_cnn_int8_tf.onnx", "tflite/kws_ref_model.tflite")
"""One network in two formats."""
M4_TFLM = {"targets": ["cortex-m4"], "runtime": "tflm"}


@pytest.mark.skipif(
    not (paths.SHARED / "models").exists(), reason="needs the models in a folder `shared` beside the project"
)
def test_a_layer_that_both_formats_run_alike_has_not_changed() -> None:
    before, after = (
        ModelVersion(path.name, linted(path, **M4_TFLM), layered(path, **M4_TFLM))
        for path in (paths.SHARED / "models" / name for name in NETWORKS)
    )
    changed = difference(before, after).layers
    assert len(changed) < len(before.layers.layers) < len(after.layers.layers)
    for layer in changed:
        assert layer.before is None or layer.after is None or layer.before.cost != layer.after.cost, layer


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_screens(form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    limits = ("--fail-on-increase", "instructions=2%", "--clock", "120MHz")
    code, out, _ = compare(capsys, "small.onnx", "big.onnx", "--output-format", form, *limits)
    assert code == 1
    check_golden(f"screens/compare.{form}", out)
    assert form == "markdown" or max(map(len, out.splitlines())) <= 80


DEVICE = Device("cortex-m4", 120_000_000)


def row(node: str, instructions: int | None, op: str = "Conv") -> LayerReport:
    time = None if instructions is None else layer_time(DEVICE, work(instructions))
    return LayerReport(node, op, "cortex-m4, x", Outcome.CMSIS_NN, instructions=instructions, time=time)


def work(instructions: int) -> LayerWork:
    return LayerWork("convolution", instructions, instructions)


def version(*rows: LayerReport) -> ModelVersion:
    known = [row.instructions for row in rows if row.instructions is not None]
    total = Total("cortex-m4, x", "", sum(known), len(known), len(rows) - len(known), 0, 0, 0, 0, 0)
    clocked = predicted_time(DEVICE, [*map(work, known)], total.unknown_layers)
    report = LayersReport(rows, [total._replace(time=clocked)], {})
    return ModelVersion("m", FileResult("m", (), Level.WARNING), report)


@pytest.mark.parametrize(
    ("before", "after", "figure", "left_out", "grown"),
    [
        ([row("a", 100), row("b", None)], [row("a", 110), row("b", 1595)], (100, 110), [("b", None, 1595)], True),
        ([row("a", 100), row("b", None)], [row("a", 100), row("b", 1595)], (100, 100), [("b", None, 1595)], False),
        ([row("a", 100), row("b", 70)], [row("a", 100), row("b", None)], (100, 100), [("b", 70, None)], True),
        ([row("a", 100), row("b", None)], [row("a", 100), row("b_0", 9)], (100, 100), [("b_0", None, 9)], False),
        ([row("a", 100)], [row("a", 100), row("b", 9)], (100, 109), [], True),
        ([row("a", 100), row("b", None, "Sin")], [row("a", 100), row("c", 9)], (100, 109), [], True),
    ],
    ids=["known now", "a repair", "unknown now", "split", "one more", "another operator goes"],
)
def test_instructions_are_compared_where_both_versions_know_them(
    before: list[LayerReport],
    after: list[LayerReport],
    figure: tuple[int, int],
    left_out: list[tuple[str, int | None, int | None]],
    grown: bool,
) -> None:
    comparison = difference(version(*before), version(*after))
    (instructions,) = (figure for figure in comparison.figures if figure.metric == "instructions")
    assert (instructions.before, instructions.after) == figure
    assert [*instructions.left_out] == left_out
    (pair,) = comparison.times
    times = [time for time in pair if isinstance(time, PredictedTime)]
    expected = [layer_time(DEVICE, work(instructions)).cycles for instructions in figure]
    assert [time.cycles for time in times] == [pytest.approx(cycles) for cycles in expected]
    assert {time.left_out for time in times} <= {sum(row.instructions is None for row in before), len(left_out)}
    over = exceeded(comparison, growth_limits(["instructions=2%"]))
    assert bool(over) is grown
    forms = (
        comparison_text(comparison, over, 0),
        comparison_markdown(comparison, over),
        json.dumps(comparison_json(comparison, over)),
    )
    assert all(name in form for name, _, _ in left_out for form in forms)
    assert all(("in one version alone" in form) is bool(left_out) for form in forms[:2])
