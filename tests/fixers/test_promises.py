"""What a finding says that --fix does, --fix does: the finding is gone, or says another thing, in the fixed file."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from onnxlint_cmsis import fix, lint
from onnxlint_cmsis.analysis.grouped import grouped
from onnxlint_cmsis.fixers.proof.litert_process import litert_missing
from onnxlint_cmsis.ground.findings import AFTER_PROOF, PROMISES, UNSAFELY, Finding, Location
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.output.formats import render
from support.cli_fakes import a_run
from support.paths import SHARED
from support.versions import needs_right_products

CASES = (
    ("cases/small/c_even.onnx", {}),
    ("cases/device/models/op_k2s2p0op1_c8.onnx", {}),
    ("cases/device/models/r012_1xns.onnx", {"unsafe_fixes": True}),
    pytest.param("cases/torch/tcn_u8u8.onnx", {}, marks=needs_right_products),
    ("cases/tflite/c_group2_nobias.tflite", {}),
    ("cases/tflite/c2_group4_nobias2in.tflite", {}),
    ("models/kws_ds_cnn_int8_tf.onnx", {}),
    ("models/tflite/kws_ref_model.tflite", {"fix_policy": "align"}),
)
"""Models beside the project, and settings."""


def promised(finding: Finding, *, unsafe_fixes: bool) -> bool:
    marks = ("fixable", UNSAFELY) if unsafe_fixes else ("fixable",)
    return any(finding.properties.get(mark) for mark in marks)


def every(findings: tuple[Finding, ...]) -> list[Finding]:
    return [told for finding in findings for told in (finding, *finding.others)]


@pytest.mark.skipif(not SHARED.exists(), reason="the folder of cases is not there")
@pytest.mark.skipif(bool(litert_missing()), reason="LiteRT is not installed")
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_a_fix_does_what_findings_promise(name: str, settings: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / Path(name).name
    shutil.copyfile(SHARED / name, path)
    before = lint(path, **settings)
    assert before.fixable == sum(bool(finding.properties.get("fixable")) for finding in before.findings)
    assert before.fixable_unsafely == sum(bool(finding.properties.get(UNSAFELY)) for finding in before.findings)
    for finding in before.findings:
        assert ("--fix" in render("full", a_run([finding], quiet=True))) == any(
            finding.properties.get(mark) for mark in PROMISES
        ), finding
    unsafe = bool(settings.get("unsafe_fixes"))
    wanted = [finding for finding in every(before.findings) if promised(finding, unsafe_fixes=unsafe)]
    result = fix(path, write=True, **settings)
    assert result.written == bool(wanted) or any(finding.properties.get(AFTER_PROOF) for finding in before.findings)
    left = Counter(
        (finding.code, finding.location.node, finding.text) for finding in every(lint(path, **settings).findings)
    )
    assert [finding for finding in wanted if left[finding.code, finding.location.node, finding.text]] == []


def test_findings_that_a_fix_treats_otherwise_are_not_told_as_one() -> None:
    """The message of a group speaks for all of it."""
    alike, other = (
        Finding("CNN301", "hazard", Level.ERROR, "m", Location("a.onnx", node), group="c", properties=marks)
        for node, marks in (("a", {"fixable": True}), ("b", {}))
    )
    assert len(grouped([alike, other])) == 2
    assert len(grouped([alike, alike])) == len(grouped([other, other])) == 1
