"""What is said of two third-party models, against golden files; UPDATE_GOLDEN=1 writes these."""

from __future__ import annotations

import json
import os

import pytest

from onnxlint_cmsis.config.files import Configuration, SettingsLayer
from onnxlint_cmsis.linting.engine import lint_file
from onnxlint_cmsis.output.fixes import summary_fields
from onnxlint_cmsis.output.layers import layers_report
from support import paths

FOLDER = paths.SHARED / "models" / "tflite"
NAMES = ("kws_ref_model", "vww_96_int8")
pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason="needs the third-party models in a folder `shared` beside the project"
)


def settings():
    """Two targets."""
    layer = SettingsLayer("command line", "/", {"targets": ["cortex-m4", "cortex-m55"]})
    return Configuration(isolated=True, options=layer).settings_for("a.tflite")


def said(name):
    """Findings, summary and layers of a model, as far as they are not its long names."""
    path = str(FOLDER / f"{name}.tflite")
    linted, layers = lint_file(path, settings()), layers_report(path, settings())
    keys = ("index", "op", "target", "functions", "chain", "macs", "instructions", "classes", "hazards")
    return {
        "findings": [[each.code, each.level.name, each.location.node, each.message] for each in linted.findings],
        "summary": summary_fields(linted),
        "layers": [{key: row[key] for key in keys} for row in layers.rows],
        "totals": [total._asdict() for total in layers.totals],
    }


@pytest.mark.parametrize("name", NAMES)
def test_golden(name):
    golden = paths.GOLDEN / "tflite" / f"{name}.json"
    text = json.dumps(said(name), indent=1) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert json.loads(text) == json.loads(golden.read_text())


def test_figures_of_firmware_and_of_the_file_stand_in_the_summary():
    found = said("vww_96_int8")["summary"]
    assert found["macs"] == 7489664
    assert found["arena_at_least"] is None
    assert [target["arena_used"] for target in found["targets"]] == [100708, 100772]  # rows of real firmware
    assert {target["cmsis_nn"]["layers"] for target in found["targets"]} == {30}
    assert {target["constants"] for target in found["targets"]} == {219072}
