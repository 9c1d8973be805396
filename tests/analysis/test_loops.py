"""What a layer in the body of a loop costs: all turns together, where they can be counted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto

from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.output.layers import LayersReport
from support.linter import analysed, layered, linted
from support.models import text
from support.tflite_models import tensor
from support.tflite_writer import operator_code, write

CONDITIONS = {"kept": "d = Identity(c)", "true": "d = Identity(t)", "computed": "d = Not(c)"}


def looping(turns: str, begin: str = "", goes_on: str = "kept") -> ModelProto:
    """A Loop of `turns`, a constant or an input, around a product of 64 multiply-accumulates."""
    return text(f"""
<ir_version: 8, opset_import: ["": 17]>
g (float[1, 8] x, int64[1] m, bool[1] e) => (float[1, 8] y)
<int64[1] n = {{{turns or 1}}}, bool[1] t = {{1}}, bool[1] f = {{0}}, float[8, 8] w = {{1}}> {{
    y = Loop ({"n" if turns else "m"}, {begin}, x) <body = b (int64[1] i, bool[1] c, float[1, 8] h) =>
        (bool[1] d, float[1, 8] o) {{
        {CONDITIONS[goes_on]}
        o = MatMul(h, w)
    }}>
}}
""")


def scanning(steps: str) -> ModelProto:
    return text(f"""
<ir_version: 8, opset_import: ["": 17]>
g (float[{steps}, 1, 8] x) => (float[{steps}, 1, 8] y) <float[1, 8] z = {{0}}, float[8, 8] w = {{1}}> {{
    last, y = Scan <num_scan_inputs = 1, body = b (float[1, 8] h, float[1, 8] v) => (float[1, 8] o, float[1, 8] p) {{
        q = MatMul(h, w)
        o = Add(q, v)
        p = Identity(o)
    }}> (z, x)
}}
""")


def on_cortex_m4(model: ModelProto | bytes, name: str = "m.onnx") -> LayersReport:
    return layered(model, name, targets=["cortex-m4"])


def macs(model: ModelProto) -> int | None:
    """Multiply-accumulates of the one product in a model."""
    (number,) = [layer.macs for layer in on_cortex_m4(model).layers if layer.op == "MatMul"]
    return number


@given(st.integers(1, 50))
@settings(max_examples=6, deadline=None)
def test_a_loop_costs_as_often_as_it_turns(turns: int) -> None:
    (once,), (often,) = (on_cortex_m4(looping(str(number))).layers for number in (1, turns))
    assert often.macs == 64 * turns
    assert often.instructions == turns * (once.instructions or 0) == turns * 662


@pytest.mark.parametrize(
    ("turns", "begin", "goes_on", "known"),
    [
        ("5", "", "kept", True),
        ("5", "", "true", True),
        ("5", "t", "kept", True),
        ("5", "t", "true", True),
        ("5", "f", "kept", False),
        ("5", "e", "kept", False),
        ("5", "", "computed", False),
        ("", "", "kept", False),
    ],
)
def test_a_loop_that_may_end_early_has_no_known_cost(turns: str, begin: str, goes_on: str, known: bool) -> None:
    report = on_cortex_m4(looping(turns, begin, goes_on))
    assert macs(looping(turns, begin, goes_on)) == (320 if known else None)
    assert report.totals[0].unknown_layers == (0 if known else 1)
    assert report.totals[0].instructions == (5 * 662 if known else 0)


@pytest.mark.parametrize(("steps", "expected"), [("7", 448), ("1", 64)])
def test_a_scan_turns_once_for_each_slice(steps: str, expected: int) -> None:
    assert macs(scanning(steps)) == expected


def counting(end: int = 20, step: int = 1, begin: int = 0, *, less: str = "LESS") -> bytes:
    """A WHILE that goes on while a counter is below `end`; each turn adds `step`, and convolves."""

    def integer(name: str, value: int | None = None) -> dict[str, Any]:
        return {**tensor(name, [], scale=None), "type": "INT32", "buffer": 0 if value is None else buffer(value)}

    buffers: list[dict[str, Any]] = [{}]

    def buffer(value: int) -> int:
        buffers.append({"data": list(value.to_bytes(4, "little", signed=True))})
        return len(buffers) - 1

    buffers.append({"data": list(range(64))})
    data, flag = tensor("x", [1, 1, 1, 8]), {**tensor("goes on", [], scale=None), "type": "BOOL"}
    main = {
        "tensors": [integer("begin", begin), data, integer("last"), tensor("y", [1, 1, 1, 8])],
        "inputs": [1],
        "outputs": [3],
        "operators": [
            {
                "opcode_index": 0,
                "inputs": [0, 1],
                "outputs": [2, 3],
                "builtin_options": ("WhileOptions", {"cond_subgraph_index": 1, "body_subgraph_index": 2}),
            }
        ],
    }
    condition = {
        "tensors": [integer("i"), data, integer("end", end), flag],
        "inputs": [0, 1],
        "outputs": [3],
        "operators": [{"opcode_index": 1, "inputs": [0, 2], "outputs": [3]}],
    }
    convolution = ("Conv2DOptions", {"padding": "VALID", "stride_w": 1, "stride_h": 1})
    body = {
        "tensors": [
            *(integer("i"), data, integer("step", step), integer("next"), tensor("w", [8, 1, 1, 8], buffer=1)),
            tensor("o", [1, 1, 1, 8]),
        ],
        "inputs": [0, 1],
        "outputs": [3, 5],
        "operators": [
            {"opcode_index": 2, "inputs": [0, 2], "outputs": [3], "builtin_options": ("AddOptions", {})},
            {"opcode_index": 3, "inputs": [1, 4, -1], "outputs": [5], "builtin_options": convolution},
        ],
    }
    codes = [operator_code(op) for op in ("WHILE", less, "ADD", "CONV_2D")]
    return write({"version": 3, "operator_codes": codes, "subgraphs": [main, condition, body], "buffers": buffers})


@pytest.mark.parametrize(
    ("model", "turns"),
    [
        (counting(), 20),
        (counting(7, 3), 3),
        (counting(6, 3), 2),
        (counting(5, 1, 9), 0),
        (counting(5, 0), None),
        (counting(5, -1), None),
        (counting(less="GREATER"), None),
    ],
)
def test_a_while_that_counts_is_counted(model: bytes, turns: int | None) -> None:
    report = on_cortex_m4(model, "m.tflite")
    by_operator: dict[str, Size] = {layer.op: layer.macs for layer in report.layers}
    assert by_operator["CONV_2D"] == (None if turns is None else 64 * turns)


def test_a_while_is_no_layer_in_reference_code() -> None:
    """The verdict counted it beside its body: "2 of 1 layers"."""
    model = analysed(counting(), "m.tflite", targets=["cortex-m4"])
    assert [remark.location.node for remark in model.execution.remarks] == ["subgraph1:LESS#0", "subgraph2:ADD#0"]
    (verdict,) = linted(counting(), "m.tflite", targets=["cortex-m4"]).verdicts
    assert (verdict.word, len(verdict.layers), verdict.every) == ("RUNS, partly", 2, 3)
