"""A file that names an axis which its input does not have is refused, in every format."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.linter import linted
from support.models import text
from support.paths import SHARED
from support.tflm_drafts import MAKERS, Draft

NODES = {
    "ArgMax": "y = ArgMax<axis = {}>(x)",
    "ReduceMax": "y = ReduceMax<axes = [{}]>(x)",
    "ReduceSum": "a = Constant<value_ints = [{}]>()\ny = ReduceSum(x, a)",
    "Softmax": "y = Softmax<axis = {}>(x)",
    "Concat": "y = Concat<axis = {}>(x, x)",
    "Split": "y, z = Split<axis = {}>(x)",
    "Gather": "a = Constant<value_ints = [0]>()\ny = Gather<axis = {}>(x, a)",
    "Transpose": "y = Transpose<perm = [0, 1, {}]>(x)",
    "Squeeze": "a = Constant<value_ints = [{}]>()\ny = Squeeze(x, a)",
    "CumSum": "a = Constant<value_int = {}>()\ny = CumSum(x, a)",
    "Slice": "s = Constant<value_ints = [0]>()\na = Constant<value_ints = [{}]>()\ny = Slice(x, s, s, a)",
}
"""Nodes with room for an axis."""
AXES = {"ARG_MAX": 1, "MEAN": 1, "CUMSUM": 1, "REVERSE_V2": 1, "SPLIT": 0, "EXPAND_DIMS": 1, "TRANSPOSE": 1}
"""Operators of `.tflite` and the input that holds their axes."""
OPTIONS = ("CONCATENATION", "GATHER", "PACK", "UNPACK", "SQUEEZE")


def refused(model, name: str) -> bool:
    return [finding.code for finding in linted(model, name, targets=("cortex-m4",)).findings] == ["CNN002"]


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize(("axis", "bad"), [(2, False), (3, True), (-4, True)])
def test_an_axis_of_onnx(node: str, axis: int, bad: bool) -> None:
    model = text(f"""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 8, 6] x) => (float[A] y) {{
{NODES[node].format(axis)}
}}
""")
    assert refused(model, "m.onnx") == bad


@pytest.mark.parametrize(("axis", "bad"), [(3, False), (4, True)])
def test_an_axis_that_unsqueeze_adds_may_lie_behind_the_last(axis: int, bad: bool) -> None:
    model = text(f"""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 8, 6] x) => (float[A] y) {{
a = Constant<value_ints = [{axis}]>()
y = Unsqueeze(x, a)
}}
""")
    assert refused(model, "m.onnx") == bad


def draft_with(op: str, axis: int) -> bytes:
    """A file of one operator on axes of [2, 2, 2], the first of which is `axis`."""
    d = Draft(0, op)
    data = d.tensor([2, 2, 2], "FLOAT32")
    output = d.tensor([2, 2, 2], "FLOAT32")
    numbers = d.tensor([3] if op == "TRANSPOSE" else [1], "INT32", [axis, 1, 2] if op == "TRANSPOSE" else [axis])
    inputs = [numbers, data] if op == "SPLIT" else [data, numbers] if op in (*AXES, "GATHER") else [data]
    tables = {
        "CONCATENATION": ("ConcatenationOptions", {"axis": axis}),
        "GATHER": ("GatherOptions", {"axis": axis}),
        "PACK": ("PackOptions", {"axis": axis, "values_count": 1}),
        "UNPACK": ("UnpackOptions", {"axis": axis, "num": 2}),
        "SQUEEZE": ("SqueezeOptions", {"squeeze_dims": [axis]}),
        "SPLIT": ("SplitOptions", {"num_splits": 1}),
    }
    assert op in MAKERS
    d.operators.append({"opcode_index": 0, "inputs": inputs, "outputs": [output], "builtin_options": tables.get(op)})
    d.codes.append(op)
    return d.file()


@pytest.mark.parametrize("op", [*AXES, *OPTIONS])
def test_an_axis_of_tflite(op: str) -> None:
    more = op in ("PACK", "EXPAND_DIMS")
    for axis, bad in ((0, False), (3 + more, True), (-4 - more, True)):
        assert refused(draft_with(op, axis), "m.tflite") == bad, axis


@pytest.mark.skipif(not SHARED.exists(), reason="the shared cases are not there")
@pytest.mark.parametrize("name", ["m_3504_argmaxaxis", "m_meanaxis"])
def test_reported_files(name: str) -> None:
    assert refused(Path(SHARED, "cases/reports", f"{name}.tflite"), "")
