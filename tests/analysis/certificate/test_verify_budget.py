"""What a file of a few bytes may make `verify` look at: so many elements, told before they are made."""

from __future__ import annotations

import tracemalloc

import pytest

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.onnx.load import load_model
from support.models import text

HEAD = '<ir_version: 8, opset_import: ["" : 17]> g '
SCALE = "float s = {0.1}, int8 zero = {0}"
STEPS = {
    "pad": "int64[4] pads = {0, 0, 0, 16777216}> { p = Pad(d, pads)",
    "tile": "int64[2] many = {1, 16777216}> { p = Tile(d, many)",
    "expand": "int64[2] many = {1, 16777216}> { p = Expand(d, many)",
    "concat": "int64 none = {0}> { a = Concat <axis = 0> (" + ", ".join(["d"] * 64) + ")\n"
    + "b = Concat <axis = 0> (" + ", ".join(["a"] * 64) + ")\n"
    + "p = Concat <axis = 0> (" + ", ".join(["b"] * 512) + ")",
    "broadcast": "int64[2] rows = {4096, 1}, int64[2] columns = {1, 4096}> {"
    + "l = Tile(d, rows)\nr = Tile(d, columns)\np = Add(l, r)",
}  # fmt: skip
"""Steps that make 2**21 elements and more of one."""


def quantized(steps: str) -> bytes:
    """Steps between a tensor `d` of one element and `p`."""
    source = f"""{HEAD} (float[1, 1] x) => (float y) <{SCALE}, {steps}
        q = QuantizeLinear(x, s, zero)
        d = DequantizeLinear(q, s, zero)
        e = QuantizeLinear(p, s, zero)
        y = DequantizeLinear(e, s, zero) }}
    """
    proto = text(source)
    nodes = [*proto.graph.node[-4:-2], *proto.graph.node[:-4], *proto.graph.node[-2:]]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    del proto.graph.output[0].type.tensor_type.shape.dim[:]
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    return bytes(proto.SerializeToString())


def faults(data: bytes, other: bytes) -> tuple[str, ...]:
    return verify(load_model("old.onnx", data=data), load_model("new.onnx", data=other)).faults


@pytest.mark.parametrize("name", STEPS)
def test_no_more_elements_are_made_than_are_looked_at(name: str) -> None:
    data = quantized(STEPS[name])
    other = quantized(STEPS[name].replace("> {", "> { unused = Neg(x)\n"))
    tracemalloc.start()
    try:
        (fault,) = faults(data, other)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "elements; 1,048,576 are looked at" in fault
    assert most < 300e6  # of which the table takes 80


def test_layers_share_what_may_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    data = quantized("int64[2] many = {1, 4096}> { t = Tile(d, many)\np = Transpose <perm = [1, 0]> (t)")
    other = quantized("int64[2] many = {1, 4096}> { t = Tile(d, many)\nu = Neg(x)\np = Transpose <perm = [1, 0]> (t)")
    assert faults(data, other) == (None,)
    monkeypatch.setattr("onnxlint_cmsis.analysis.certificate.table.MOST_LOOKS", 8192)
    (fault,) = faults(data, other)
    assert "more than 8,192 elements to look at" in fault


def test_tensors_share_what_may_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["t0 = Tile(d, many)"] + [f"t{n + 1} = Transpose <perm = [1, 0]> (t{n})" for n in range(9)]
    data = quantized("int64[2] many = {1, 4096}> { " + "\n".join([*steps, "p = Neg(t9)"]))
    other = quantized("int64[2] many = {1, 4096}> { " + "\n".join([*steps, "u = Neg(x)", "p = Neg(t9)"]))
    monkeypatch.setattr("onnxlint_cmsis.analysis.certificate.table.ELEMENTS", 0.01)
    (fault,) = faults(data, other)
    assert "more than 20,971.52 elements to keep" in fault
