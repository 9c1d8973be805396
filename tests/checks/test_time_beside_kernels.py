"""The note on what takes the time beside kernels."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.cli.api import lint
from support.models import text
from support.tflite_models import conv_model
from support.tflite_writer import write

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


POINTWISE = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 8, 56, 56] x) => (float[1, 8, 56, 56] y) <float[8, 1, 1, 1] w = {1}> {
        y = Conv<group = 8>(x, w)
    }
"""


def parts(path, **settings):
    findings = [finding for finding in lint(str(path), clock="250MHz", **settings).findings if finding.code == "CNN606"]
    return {finding.properties["part"]: finding for finding in findings}


def test_an_arena_in_slow_memory_is_told(tmp_path, told):
    path = tmp_path / "net.onnx"
    path.write_bytes(text(POINTWISE).SerializeToString())
    by_part = parts(path, targets=["cortex-m55"], weights_in="tcm", arena_in="400")
    assert [*by_part] == ["activations"]
    told(by_part["activations"].complete)
    assert parts(path, targets=["cortex-m55"], weights_in="tcm", arena_in="tcm") == {}
    assert parts(path, targets=["cortex-m55"], weights_in="tcm") == {}


def test_the_runtime_rules_a_net_of_tiny_layers(tmp_path, told):
    path = tmp_path / "net.tflite"
    path.write_bytes(write(conv_model()))
    by_part = parts(path, targets=["cortex-m55"])
    assert [*by_part] == ["runtime"]
    told(by_part["runtime"].complete)


def test_copies_between_memory_orders_are_told(tmp_path, told):
    """Rows that cross channels, as a Reshape of an image makes them, lie in another order."""
    path = tmp_path / "net.onnx"
    path.write_bytes(text(COPIES).SerializeToString())
    by_part = parts(path, targets=["cortex-m4"])
    assert [*by_part] == ["conversions"]
    told(by_part["conversions"].complete)


COPIES = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 16, 32, 32] x) => (float[1024, 1] y)
    <int64[2] shape = {1024, 16}, float[16, 1] m = {1}> {
        a = MaxPool<kernel_shape = [1, 1]>(x)
        b = Reshape(a, shape)
        y = MatMul(b, m)
    }
"""
