"""What `layers` says of each layer's classes."""

from __future__ import annotations

from models import text
from onnxlint_cmsis.config.resolve import make_settings
from onnxlint_cmsis.layers import layers_table

FLATTENED = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 3, 4, 4] x) => (float[1, 6] y) <float[5, 3, 3, 3] w = {0}, float[6, 80] v = {0}, float[6] b = {0}> {
        a = Conv<pads = [1, 1, 1, 1]>(x, w)
        f = Flatten(a)
        y = Gemm<transB = 1>(f, v, b)
    }
"""
MULTIPLIED = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 2, 4, 4] x) => (float[1, 4, 4, 4] y)
    <float[3, 2, 1, 1] u = {0}, float[9, 1, 3, 3] w = {0}, float[4, 9, 1, 1] v = {0}> {
        a = Conv(x, u)
        b = Conv<pads = [1, 1, 1, 1], group = 3>(a, w)
        y = Conv(b, v)
    }
"""


def classes(source: str) -> list[object]:
    settings = make_settings(targets=["cortex-m4"])
    return [row["classes"] for row in layers_table("-", settings, text(source).SerializeToString())]


def test_a_flattened_axis_names_its_classes() -> None:
    conv, gemm = classes(FLATTENED)
    assert conv == {"input_dims.c": "3 LOCKED #0", "output_dims.c": "5 FREE #1"}
    assert gemm["input_dims.c"] == "80 = 5 x 4 x 4: FREE #1, LOCKED #2, LOCKED #3"


def test_a_multiplier_has_a_class_of_its_own() -> None:
    depthwise = classes(MULTIPLIED)[1]
    assert depthwise["ch_mult"] == "3 FREE #2"
    assert depthwise["output_dims.c"] == "9 = 3 x 3: COUPLED #1, FREE #2"
