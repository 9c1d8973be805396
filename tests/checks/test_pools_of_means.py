"""Findings on means and maxima name the pools of their own size."""

from __future__ import annotations

import pytest

from support.linter import linted
from support.models import text

MODEL = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[SHAPE] x) => (float[RESULT] y) { y = OPERATOR(x) }
"""


@pytest.mark.parametrize(
    ("operator", "shape", "pool"),
    [
        ("ReduceMean<axes = [2, 3]>", "1, 4, 6, 8", "nn.AvgPool2d((6, 8))"),
        ("ReduceMean<axes = [2]>", "1, 4, 6, 8", "nn.AvgPool2d((6, 1))"),
        ("ReduceMean<axes = [-1]>", "1, 4, 20", "nn.AvgPool1d(20)"),
        ("ReduceMean<axes = [1]>", "1, 20, 4", "nn.AvgPool1d(20) of x.transpose(1, 2)"),
        ("ReduceMax<axes = [2, 3]>", "1, 4, 6, 8", "nn.MaxPool2d((6, 8))"),
        ("ReduceMax<axes = [2]>", "1, 4, 20", "nn.MaxPool1d(20)"),
    ],
)
def test_a_remedy_names_the_pool_of_its_size(operator: str, shape: str, pool: str) -> None:
    model = text(MODEL.replace("OPERATOR", operator).replace("SHAPE", shape).replace("RESULT", "N"))
    [finding] = [finding for finding in linted(model, targets=["cortex-m4"]).findings if finding.code == "CNN190"]
    assert pool in finding.remedy
    assert "{" not in finding.remedy


def test_nodes_of_one_reason_name_each_pool_once() -> None:
    model = text("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 4, 6, 8] x) => (float[N] y, float[M] z, float[O] u) {
    y = ReduceMean<axes = [2, 3]>(x)
    z = ReduceMean<axes = [2]>(x)
    u = ReduceMean<axes = [-1, -2]>(x)
}
""")
    remedies = {finding.remedy for finding in linted(model, targets=["cortex-m4"]).findings if finding.code == "CNN190"}
    [remedy] = remedies
    assert "nn.AvgPool2d((6, 8)), nn.AvgPool2d((6, 1))." in remedy
