"""Node data for Model Explorer, in the shape that ai-edge-model-explorer 0.1.34 reads (node_data_builder.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.formats.tflite.read import read_tflite
from support.goldens import Told
from support.models import one_node
from support.report_models import written_report
from support.tflite_steps import random_chain

GRAPH_NODE_DATA = {
    "type": "object",
    "required": ["results"],
    "additionalProperties": False,
    "properties": {
        "results": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "type": "object",
                "required": ["value"],
                "additionalProperties": False,
                "properties": {
                    "value": {"type": "number"},
                    "bgColor": {"type": "string"},
                    "textColor": {"type": "string"},
                },
            },
        },
        "name": {"type": "string"},
        "gradient": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["stop", "bgColor"],
                "additionalProperties": False,
                "properties": {"stop": {"enum": [0, 1]}, "bgColor": {"pattern": "^#[0-9a-f]{6}$"}},
            },
        },
    },
}
"""The fields of `GraphNodeData`, `NodeDataResult` and `GradientItem` that are written here, as recorded there."""


def overlay(path: Path, *options: str) -> dict[str, object]:
    written = path.parent / "overlay.json"
    words = ["report", "--isolated", str(path), "-o", str(written), "--overlay", "model-explorer", *options]
    assert main(words) == 0
    report: dict[str, object] = json.loads(written.read_text(encoding="utf-8"))
    return report


def test_values_are_the_instructions_of_layers_by_the_tensors_they_make(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import jsonschema

    path = tmp_path / "net.tflite"
    path.write_bytes(random_chain(1))
    values = overlay(path, "--target", "cortex-m4")
    jsonschema.validate(values, GRAPH_NODE_DATA)
    tensors = {tensor.name for tensor in read_tflite(str(path)).subgraphs[0].tensors}
    results: dict[str, dict[str, object]] = values["results"]  # type: ignore[assignment]
    assert results.keys() <= tensors
    capsys.readouterr()
    assert main(["layers", "--isolated", "--target", "cortex-m4", "--output-format", "json", str(path)]) == 0
    rows = json.loads(capsys.readouterr().out)["layers"]
    known = {row["output"]: row["instructions"] for row in rows if row["instructions"] is not None}
    assert {name: result["value"] for name, result in results.items()} == known


def test_a_layer_with_a_hazard_is_red(tmp_path: Path, told: Told) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(one_node("Conv", [1, 4, 8, 8], {"w": (4, 4, 1, 1)}, pads=[0, 0, 1, 1]).SerializeToString())
    (result,) = overlay(path, "--target", "cortex-m4")["results"].values()  # type: ignore[attr-defined]
    assert result["bgColor"] == "#b3261e"
    page = written_report(path, "--target", "cortex-m4", "--ignore", "CNN3")
    assert 'class="hazard"' in page
    told(page)


def test_an_overlay_is_for_one_target_and_one_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(random_chain(1))
    words = ["report", "--isolated", str(path), "-o", str(tmp_path / "x.json"), "--overlay", "model-explorer"]
    assert main([*words, "--target", "cortex-m4", "--target", "cortex-m55"]) == 2
    told(capsys.readouterr().err)
    assert main([*words, "--target", "cortex-m4", "--against", str(path)]) == 2
    assert "leave out --against" in capsys.readouterr().err
