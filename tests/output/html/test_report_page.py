"""The HTML report: one page that loads nothing, whatever the model is called."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import runpy
import sys
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.output.comparison import ModelVersion
from onnxlint_cmsis.output.html.page import bar, graph_rows, ways
from onnxlint_cmsis.output.html.report_input import ReportInput
from support.goldens import Told, check_golden
from support.html_pages import HtmlPage
from support.linter import analysed, layered, linted
from support.paths import ROOT
from support.pte_programs import random_program
from support.repairable_models import convolution
from support.report_models import NET, write_model, written_report
from support.tflite_steps import random_chain

NASTY = "</svg><script>alert('x')</script>&\"\u202e"


@pytest.fixture
def net(tmp_path: Path) -> Path:
    return write_model(tmp_path / "net.onnx")


def check(page: str) -> HtmlPage:
    """What holds of every page."""
    parsed = HtmlPage(page)
    assert parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids))
    assert parsed.loads == []
    assert {link.removeprefix("#") for link in parsed.links} <= set(parsed.ids)
    assert parsed.drawings == parsed.titles_of_drawings > 0
    assert "url(" not in page and "@import" not in page
    assert page.count("<script") == page.count("<script>") == 1
    return parsed


def test_a_page_is_whole_and_loads_nothing(net: Path) -> None:
    parsed = check(written_report(net))
    assert {"mark", "refused", "free", "coupled", "locked", "peak"} <= parsed.classes


def test_the_policy_allows_the_style_sheet_and_the_script_of_the_page_and_nothing_else(net: Path) -> None:
    page = written_report(net)
    hashes = []
    for tag in ("style", "script"):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert text is not None
        hashes.append(f"{tag}-src 'sha256-{base64.b64encode(hashlib.sha256(text[1].encode()).digest()).decode()}'")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)
    assert policy is not None
    allowed = html.unescape(policy[1])
    assert allowed == f"default-src 'none'; {'; '.join(hashes)}; base-uri 'none'; form-action 'none'"


def test_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    path = write_model(tmp_path / "net.onnx", NET, first=NASTY, second=f"{NASTY}2", root=f"{NASTY}3")
    page = written_report(path, "--against", str(path))
    parsed = check(page)
    assert "\u202e" not in page
    assert any("alert('x')" in text for text in parsed.texts)


def test_the_page_tells_what_layers_and_lint_tell(net: Path, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    parsed = check(written_report(net, "--target", "cortex-m4"))
    capsys.readouterr()
    assert main(["layers", "--isolated", "--target", "cortex-m4", "--output-format", "json", str(net)]) == 0
    layers = json.loads(capsys.readouterr().out)
    (total,) = layers["totals"]
    shown = "".join(parsed.texts)
    assert f"{total['instructions']:,}" in shown
    assert f"{total['scratch']:,} bytes" in shown
    for row in layers["layers"]:
        assert row["node"] in shown
        assert row["instructions"] is None or f"{row['instructions']:,}" in shown
    assert "arm_convolve_1x1_s8_fast" in shown
    told(shown)


def test_the_verdict_and_the_findings_stand_above_all_else(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = html.unescape(written_report(net, "--target", "cortex-m4"))
    capsys.readouterr()
    assert main(["lint", "--isolated", "--target", "cortex-m4", "--output-format", "concise", str(net)]) in (0, 1)
    verdict = capsys.readouterr().out.splitlines()[0].removeprefix(f"{net}: ")
    told = re.sub(r"<[^>]*>", "", page)
    assert verdict in told
    places = [page.index(f'<section id="{part}">') for part in ("findings", "layers", "memory", "graph", "classes")]
    assert page.index('<p class="verdict') < places[0]
    assert places == sorted(places)


def test_a_browser_breaks_no_option(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(convolution((1, 8, 6, 6), (8, 8, 1, 1), pads=[0, 0, 1, 1]).SerializeToString())
    page = written_report(path, "--target", "cortex-m4")
    assert '<span class="option">--fix</span> repairs it. In all: on' in page
    assert ".option{white-space:nowrap}" in page


def test_a_browser_breaks_a_list_of_operators_between_names(tmp_path: Path) -> None:
    path = tmp_path / "program.pte"
    path.write_bytes(random_program(3, Isa.DSP).data())
    page = written_report(path, "--target", "cortex-m4")
    (listed,) = re.findall(r"EXECUTORCH_SELECT_OPS_LIST=<wbr>([^ <]*(?:<wbr>[^ <]*)*)", page)
    assert listed.count("<wbr>") == listed.count(",") >= 1
    assert ",<wbr>cortex_m::" in listed


def test_what_decides_the_verdict_is_not_folded_away(tmp_path: Path) -> None:
    """A note may decide: CNN190 of an operator that the application has to bring, beside those of plain code."""
    source = NET.replace("e = Identity(d)", "").replace("d = Sqrt(c)", "s = Slice(c, b0, b1) d = Sqrt(s)")
    source = source.replace("> {", ", int64[4] b0 = {0, 0, 0, 0}, int64[4] b1 = {1, 10, 16, 16}> {")
    path = write_model(tmp_path / "net.onnx", source)
    result = linted(path, targets=["cortex-m4"])
    deciding = {finding.location.node for finding in result.told if finding.decides}
    assert deciding == {*result.verdicts[0].layers}
    page = written_report(path, "--target", "cortex-m4")
    shown = page.partition('<section id="findings">')[2].partition("</ul>")[0]
    assert deciding
    assert all(f"&#x27;{label}&#x27;" in shown for label in deciding)


def test_a_finding_stands_beside_the_bars_of_its_layers(net: Path) -> None:
    page = written_report(net, "--target", "cortex-m4")
    rows = re.findall(r'<tr><th scope="row"><span class="layer".*?</tr>', page, re.DOTALL)
    marks = {
        name: [page[page.index(f'id="{anchor}"') :].partition("<b>")[2].partition("<")[0] for anchor in anchors]
        for row in rows
        for name in re.findall(r'<span class="layer"[^>]*>(.*?)</span>', row)
        if (anchors := re.findall(r'<a class="mark [a-z]+" href="#(finding-\d+)"', row))
    }
    result = linted(net, targets=["cortex-m4"])
    of_layers: dict[str, set[str]] = {}
    for finding in result.told:
        if finding.location.node:
            of_layers.setdefault(finding.location.node, set()).add(finding.selector)
    assert {name: set(codes) for name, codes in marks.items()} == of_layers


def test_equal_rows_and_equal_targets_are_shown_once(tmp_path: Path, told: Told) -> None:
    source = """
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 8, 16, 16] x) => (float[1, 8, 16, 16] y)
        <float[8, 8, 3, 3] u = {1}, float[8, 8, 3, 3] v = {1}, float[8, 8, 3, 3] w = {1}> {
            [first] a = Conv<pads = [1, 1, 1, 1]>(x, u)
            [second] b = Conv<pads = [1, 1, 1, 1]>(a, v)
            [third] y = Conv<pads = [1, 1, 1, 1]>(b, w)
        }
    """
    path = write_model(tmp_path / "net.onnx", source)
    page = written_report(path, "--target", "cortex-m4", "--target", "cortex-m7", "--target", "cortex-m55")
    check(page)
    rows = re.findall(r'<tr><th scope="row"><span class="layer".*?</tr>', page, re.DOTALL)
    total, row = rows
    assert re.findall(r'<span class="layer"[^>]*>(.*?)</span>', row) == ["first", "second", "third"]
    assert [row.count("<td"), total.count("<td")] == [2, 2]
    (cost, *_) = (layer.instructions for layer in layered(path, targets=["cortex-m4"]).layers)
    assert cost is not None
    assert f"3 × {cost:,}" in row
    assert f'data-value="{3 * cost}"' in row
    told(page)


def test_a_figure_is_one_tile_with_its_cpus_and_a_note_that_they_share(net: Path) -> None:
    page = written_report(net, "--target", "cortex-m4", "--target", "cortex-m55")
    (tile,) = re.findall(r"<dt>predicted instructions</dt>(.*?)</div>", page, re.DOTALL)
    values = [re.sub(r"<[^>]*>", "", value) for value in re.findall(r"<dd>(.*?)</dd>", tile)]
    assert [f"on {cpu}" in value for cpu, value in zip(CPUS, values, strict=True)] == [True, True]
    assert tile.count("not cycles") == 1


CPUS = ("cortex-m4", "cortex-m55")


def test_sections_stand_in_their_order(net: Path) -> None:
    parsed = HtmlPage(written_report(net, "--target", "cortex-m4", "--against", str(net)))
    check_golden("report_outline.txt", "\n".join(parsed.outline) + "\n")


def test_connections_see_through_nodes_that_compute_nothing(tmp_path: Path) -> None:
    source = NET.replace("(d, w)", "(e, w)").replace("[strided]", "e = Identity(d)\n[strided]")
    path = write_model(tmp_path / "net.onnx", source)
    model = analysed(path)
    version = ModelVersion("net", linted(path), layered(path))
    rows = graph_rows(ReportInput(version, model, ()))
    assert [row.name for row in rows] == ["x", "first", "second", "sum", "root", "strided", "last"]
    assert [row.reads for row in rows] == [(), (0,), (1,), (1, 2), (3,), (4,), (5,)]
    assert [row.shape for row in rows] == ["16x16x4", *["16x16x10"] * 4, "8x8x6", "8x8x4"]
    assert ways(rows) == (
        (0, (1,), 0),
        (1, (2,), 0),
        (1, (3,), 1),
        (2, (3,), 0),
        (3, (4,), 0),
        (4, (5,), 0),
        (5, (6,), 0),
    )


def test_before_and_after_stand_side_by_side(net: Path, tmp_path: Path, told: Told) -> None:
    bigger = write_model(tmp_path / "bigger.onnx", NET.replace("10, ", "12, ").replace(", 10", ", 12"))
    page = written_report(bigger, "--against", str(net), "--target", "cortex-m4")
    shown = "".join(check(page).texts)
    told(shown)
    assert "Findings gone" in shown


def test_a_tflite_file_has_the_same_parts(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(random_chain(1))
    shown = "".join(check(written_report(path, "--target", "cortex-m4")).texts)
    assert "Peak:" in shown


def test_a_file_that_is_no_model_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"no model")
    assert main(["report", str(path), "-o", str(tmp_path / "report.html")]) == 2
    assert str(path) in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


def test_the_report_does_not_take_the_place_of_the_model(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = net.read_bytes()
    assert main(["report", str(net), "-o", str(net)]) == 2
    assert "name another file" in capsys.readouterr().err
    assert net.read_bytes() == before


def test_without_jinja2_one_line_says_what_to_install(
    net: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["report", str(net), "-o", str(net.parent / "report.html")]) == 2
    told(capsys.readouterr().err)


def test_mobilenet_takes_less_than_a_megabyte(tmp_path: Path) -> None:
    runpy.run_path(str(ROOT / "bench" / "models.py"))["mobilenet"](tmp_path / "mobilenet.onnx", 0.25)
    page = written_report(tmp_path / "mobilenet.onnx")
    check(page)
    assert len(page.encode()) < 1_000_000


def test_several_models_have_a_page_each_in_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / name for name in ("net.onnx", "a/net.onnx", "b/NET.onnx", "other.onnx")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        write_model(path)
    folder = tmp_path / "new" / "pages"
    assert main(["report", "--isolated", *map(str, paths), "-o", str(folder)]) == 0
    assert sorted(page.name for page in folder.iterdir()) == [
        "NET.onnx-3.html", "net.onnx-2.html", "net.onnx.html", "other.onnx.html"
    ]  # fmt: skip
    for path, name in zip(paths, ("net.onnx", "net.onnx-2", "NET.onnx-3", "other.onnx"), strict=True):
        page = (folder / f"{name}.html").read_text(encoding="utf-8")
        check(page)
        assert f'<p class="faint">{path}.' in page
    assert main(["report", "--isolated", str(paths[3]), "-o", str(folder)]) == 0
    overlay = ["--overlay", "model-explorer", "--target", "cortex-m4"]
    assert main(["report", "--isolated", *map(str, paths[2:]), "-o", str(folder), *overlay]) == 0
    assert len(list(folder.glob("*.json"))) == 2
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["net.onnx", "other.onnx", "-o", "page.html"], "-o page.html: name a folder for several models"),
        (["net.onnx", "other.onnx", "-o", "net.onnx"], "-o net.onnx: name a folder for several models"),
        (["net.onnx", "-o", "net.onnx"], "-o net.onnx is one of the models: name another file"),
        (["net.onnx", "other.onnx", "--against", "net.onnx", "-o", "pages"], "--against shows two versions of one"),
        (["net.onnx", "missing.onnx", "-o", "pages"], "missing.onnx: "),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    models = {name: write_model(Path(name)).read_bytes() for name in ("net.onnx", "other.onnx")}
    assert main(["report", "--isolated", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == models


def test_a_range_is_a_bar_from_its_least_to_its_most() -> None:
    exact, ranged, unknown = (bar("", 2, ends, 200) for ends in ((50, 50), (50, 100), None))
    assert 'width="25.00%"' in exact and "range" not in exact
    assert '<rect class="q2 range" x="25.00%" width="25.00%"' in ranged
    assert "unknown" in unknown and "q2" not in unknown


def test_a_finding_has_one_badge_in_a_column_and_links_in_the_rows_below(tmp_path: Path) -> None:
    source = """
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 8, 16, 16] x) => (float[1, 8, 4, 4] y) {
            a = Sin(x)
            b = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(a)
            c = Sin(b)
            d = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(c)
            y = Sin(d)
        }
    """
    page = written_report(write_model(tmp_path / "net.onnx", source), "--target", "cortex-m4")
    assert page.count('<a class="mark warning"') == 1
    assert page.count('<a class="again warning"') == 2
