"""A layer and a tensor have one name and one short form in all commands and formats."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from onnxlint_cmsis import lint
from onnxlint_cmsis.analysis.layer_names import layer_names
from onnxlint_cmsis.analysis.short_names import QUOTED, WIDEST, cut
from onnxlint_cmsis.cli.main import main
from support.linter import analysed
from support.nightly import one_of
from support.paths import SHARED
from support.report_models import NET, write_model
from support.tflite_steps import as_converted

REAL = [
    "resnet8_int8_tf.onnx", "super_resolution_op10.onnx", "kws_ds_cnn_int8_tf.onnx", "person_detect_int8_tflm.onnx",
    "ort_qdq_multi_consumer_dq.onnx", "ort_convtranspose_conv_qdq_s8.onnx", "tflite/person_detect.tflite",
    "tflite/vww_96_int8.tflite", "tflite/kws_ref_model.tflite", "tflite/micro_speech_quantized.tflite",
]  # fmt: skip
TARGET = ("--isolated", "--target", "cortex-m55")
PATHS = {
    "first": "/net/encoder/encoder.0/Conv", "second": "/net/encoder/encoder.1/Conv", "sum": "/net/Add",
    "strided": "net/a/long/path/of/parts/conv2d_4/BiasAdd;net/a/long/path/of/parts/conv2d_4/Conv2D_prequant",
}  # fmt: skip
"""Names as exporters make them."""


@pytest.fixture(params=["net.onnx", "chain.tflite", *one_of(2, REAL)])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    name = str(request.param)
    path = tmp_path / Path(name).name
    if name == "net.onnx":
        return write_model(path, NET, **PATHS)
    if name == "chain.tflite":
        path.write_bytes(as_converted(3))
        return path
    if not SHARED.exists():
        pytest.skip("the folder of third-party models is not there")
    shutil.copyfile(SHARED / "models" / name, path)
    return path


class Said:
    """What the commands print about a model on Cortex-M55."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._path, self._capsys = path, capsys

    def text(self, command: str, *options: str) -> str:
        self._capsys.readouterr()
        assert main([command, *TARGET, *options, str(self._path)]) in (0, 1)
        return self._capsys.readouterr().out

    def json(self, command: str, *options: str, form: str = "json") -> Any:
        return json.loads(self.text(command, "--output-format", form, *options))


def test_one_name_everywhere(model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "4000")
    said = Said(model, capsys)
    known = layer_names(analysed(model, targets=["cortex-m55"])).names

    def short(name: str) -> str:
        return known.get(name, name)

    rows = said.json("layers")["layers"]
    layers = {row["node"] for row in rows}
    shown = dict.fromkeys(short(row["node"]) for row in rows)
    assert len(shown) == len(layers) == len(rows)
    for full in (False, True):
        lines = said.text("layers", *["--full-names"] * full).split("layer  ", 1)[-1].splitlines()[1:]
        names = [row["node"] if full else short(row["node"]) for row in rows]
        assert all(
            line[3:].lstrip().startswith(f"{name} ") or line.startswith(f"{name} ")
            for line, name in zip(lines, names, strict=False)
        )
    findings = said.json("lint", "--min-level", "note")["findings"]
    of_layers = [finding["location"]["node"] for finding in findings if finding["location"]["node"]]
    text = said.text("lint", "--min-level", "note")
    quoted = {name for message in (finding["message"] for finding in findings) for name in re.findall(QUOTED, message)}
    assert all(f"'{known.get(name) or cut(name, WIDEST)}'" in text for name in of_layers if name in quoted)
    results = said.json("lint", "--min-level", "note", form="sarif")["runs"][0]["results"]
    places = [result["locations"][0].get("logicalLocations", [{}])[0] for result in results]
    assert [location.get("name", "") for location in places if location.get("kind") == "node"] == of_layers
    (memory,) = said.json("memory")["targets"]
    plan = memory.get("plan", [])
    assert {entry["node"] for entry in plan} - {""} <= layers
    table = [re.split(" {2,}", line) for line in said.text("memory").splitlines()]
    for entry in plan:
        cells = [short(entry["name"]), *filter(None, [short(entry["node"])])]
        assert any(line[: len(cells)] == cells for line in table), entry
    page = model.parent / "page.html"
    said.text("report", "-o", str(page))
    written = page.read_text(encoding="utf-8")
    of_page = [html.unescape(name) for name in re.findall(r'<span class="layer" title[^>]*>(.*?)</span>', written)]
    assert sorted(of_page) == sorted(short(row["node"]) for row in rows if row.get("layer", True))
    as_it_is = next((map_ for map_ in re.findall(r"<svg.*?</svg>", written, re.DOTALL) if '"buffer' in map_), "")
    drawn = re.findall(r'<rect class="buffer[^>]*><title>(.*?): [\d,]+ bytes', as_it_is)
    assert sorted(map(html.unescape, drawn)) == sorted(
        short(entry["name"]) + (f", written by {short(entry['node'])}" if entry["node"] else "") for entry in plan
    )
    other = write_model(model.parent / "other.onnx", NET)
    comparison = said.json("compare", str(other))
    assert {row["node"] for layer in comparison["layers"] if (row := layer["after"])} <= layers
    lines = said.text("compare", str(other)).splitlines()
    before = [layer["before"]["node"] for layer in comparison["layers"] if layer["before"]]
    assert before or model.name == "net.onnx"  # other names alone are no change
    assert all(any(short(name) in line for line in lines) for name in before)


def test_a_suppression_takes_the_name_that_is_shown(model: Path) -> None:
    known = layer_names(analysed(model, targets=["cortex-m55"])).names
    findings = [row for row in lint(model, targets=["cortex-m55"]).findings if row.location.node]
    shown = {(row.code, known.get(row.location.node, row.location.node)): row for row in findings}
    rows = [{"rule": code, "node": name, "reason": "known"} for code, name in shown]
    accepted = lint(model, targets=["cortex-m55"], suppress=rows)
    assert len(accepted.matches) == len(rows) and all(accepted.matches.values())
    assert not {*findings} & {*accepted.findings}
    assert findings or model.name != "net.onnx"
