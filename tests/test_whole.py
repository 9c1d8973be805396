"""Everything at once on models from elsewhere: the onnx package's own tests, and the shared models where present."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path

import onnx
import pytest

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.checks.rule_registry import every_rule
from onnxlint_cmsis.ground.types import Freedom, Level
from support import paths
from support.linter import layered, linted

SHARED = paths.SHARED / "models"
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
TARGETS = ["cortex-m0", "cortex-m4", "cortex-m55"]
RELEASES = ("cmsis5-5.9.0", "7.0.0")
CODES = {row.code for row in every_rule()}
HOLES = re.compile(r"\bNone\b|: \.|  |''|\(\)|^\s|\s$")
"""What a message looks like where something was missing when it was made."""


@cache
def node_models() -> tuple[tuple[str, bytes], ...]:
    """Name and bytes of the models of onnx's node tests, made by its own generator."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    return tuple((case.name, case.model.SerializeToString()) for case in cases if case.model is not None)


def believable(report: FileResult) -> None:
    """Every finding is whole: a known code, a full message, a place, and a resize that goes with its freedom."""
    for finding in report.findings:
        assert finding.code in CODES
        assert not HOLES.search(finding.text), finding.text
        assert finding.location.path == report.path
        if finding.resize is not None:
            assert finding.resize.want > 0 < finding.resize.have
            assert (finding.resize.want < finding.resize.have) == (finding.code == "CNN202")
            assert bool(finding.resize.lock) == (finding.resize.freedom is Freedom.LOCKED), finding.text
            assert finding.level is not Level.WARNING or finding.resize.freedom is not Freedom.LOCKED
        if finding.targets and finding.code[3] in "13":
            assert finding.sources or finding.code == "CNN190", finding.text


def test_all_node_tests_of_onnx_lint() -> None:
    models = node_models()
    assert len(models) > 1250  # onnx 1.17 ships 1,288
    for release in RELEASES:
        for name, data in models:
            report = linted(data, name, targets=TARGETS, release=release)
            believable(report)
            assert report.readable, f"{name}: {[finding.text for finding in report.findings]}"


def test_all_stored_models_of_onnx_lint() -> None:
    paths = sorted(DATA.rglob("*.onnx"))
    assert paths
    for path in paths:
        believable(linted(path, targets=TARGETS))


def models() -> list[Path]:
    return sorted(SHARED.glob("*.onnx")) if SHARED.exists() else []


@pytest.mark.skipif(not models(), reason="needs third-party models beside the project")
@pytest.mark.parametrize("release", RELEASES)
def test_shared_models_lint(release: str) -> None:
    cases = [*models()]
    assert cases
    for path in cases:
        report = linted(path, targets=TARGETS, release=release)
        believable(report)
        assert report.readable, path
        rows = layered(path, targets=TARGETS, release=release).rows
        lowered = [row for row in rows if row["entry"] or row["cause"] == "groups"]  # reference code before 6.0.0
        assert len(lowered) == dict(report.statistics)["layers"] * len(TARGETS)
        assert all(row["entry"] or row["reason"] for row in rows)
        assert rows, path


@pytest.mark.skipif(not models(), reason="needs third-party models beside the project")
def test_what_the_mlperf_models_are_made_of() -> None:
    vww = layered(SHARED / "vww96_int8_tf.onnx", targets=["cortex-m4"]).rows
    kernels = [row["kernel"] for row in vww if str(row["entry"]).startswith(("convolve", "depthwise"))]
    assert kernels.count("arm_convolve_1x1_s8_fast") == 13
    assert kernels.count("arm_depthwise_conv_3x3_s8") == 13
    assert kernels.count("arm_convolve_s8") == 1
    dense = layered(SHARED / "ad01_toycar_int8_tf.onnx", targets=["cortex-m4"]).rows
    assert [row["kernel"] for row in dense] == ["arm_fully_connected_s8"] * 10
