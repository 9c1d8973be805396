"""What is said of two third-party models, against golden files; UPDATE_GOLDEN=1 writes these."""

from __future__ import annotations

import json

import pytest

from support import paths
from support.fix_command import run, text
from support.goldens import check_golden
from support.linter import linted

FOLDER = paths.SHARED / "models" / "tflite"
NAMES = ("kws_ref_model", "vww_96_int8")
pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason="needs the third-party models in a folder `shared` beside the project"
)


def said(name):
    """Findings, summary and layers of a model, as far as they are not its long names."""
    told = ("--target", "cortex-m4,cortex-m55", "--output-format", "json", f"{name}.tflite")
    shown, layers = (json.loads(text(run(FOLDER, *command, *told))) for command in ((), ("layers",)))
    findings = linted(FOLDER / f"{name}.tflite", targets=["cortex-m4", "cortex-m55"]).findings
    keys = ("index", "op", "target", "functions", "chain", "macs", "instructions", "classes", "hazards")
    return {
        "findings": [
            [finding.code, finding.level.name, finding.location.node, finding.message] for finding in findings
        ],
        "summary": shown["files"][0]["summary"],
        "layers": [{key: row[key] for key in keys} for row in layers["layers"]],
        "totals": layers["totals"],
    }


@pytest.mark.parametrize("name", NAMES)
def test_golden(name):
    check_golden(f"tflite/{name}.json", json.dumps(said(name), indent=1) + "\n")


def test_figures_of_firmware_and_of_the_file_stand_in_the_summary():
    summary = said("vww_96_int8")["summary"]
    assert summary["macs"] == 7489664
    assert summary["arena_at_least"] is None
    assert [target["arena_used"] for target in summary["targets"]] == [100708, 100772]  # rows of real firmware
    assert {target["cmsis_nn"]["layers"] for target in summary["targets"]} == {30}
    assert {target["constants"] for target in summary["targets"]} == {219072}
