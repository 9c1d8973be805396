"""The note on weights that are read from slow memory."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.cli.api import lint
from support.models import text

DENSE = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 640] x) => (float[1, 128] y) <float[640, 128] w = {1}> {
        y = MatMul(x, w)
    }
"""


def slow(tmp_path, **settings):
    path = tmp_path / "net.onnx"
    path.write_bytes(text(DENSE).SerializeToString())
    answer = lint(str(path), targets=["cortex-m55"], **settings)
    return [finding for finding in answer.findings if finding.code == "CNN606"]


def test_the_share_and_the_milliseconds_are_told(tmp_path, told):
    (finding,) = slow(tmp_path, clock="250MHz", weights_in="mram", arena_in="tcm")
    told(finding.message)
    assert finding.properties["share"] > 0.25


@pytest.mark.parametrize(
    "settings", [{}, {"clock": "250MHz"}, {"clock": "250MHz", "weights_in": "tcm"}, {"weights_in": "mram"}]
)
def test_nothing_is_said_without_a_time_or_a_memory_or_where_it_is_fast(tmp_path, settings):
    assert slow(tmp_path, **settings) == []


def test_a_board_says_where_its_weights_lie(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(text(DENSE).SerializeToString())
    codes = [finding.code for finding in lint(str(path), board="rpi-pico2").findings]
    assert "CNN606" in codes
