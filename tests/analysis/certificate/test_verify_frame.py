"""Inputs and outputs of two files correspond by name, signature, type and offset."""

from __future__ import annotations

import onnx

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import ONNX
from support.equal_files import tflite_equal
from support.goldens import Told
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write


def test_signed_integers_for_unsigned_ones_are_told_by_their_offset(told: Told) -> None:
    """Inside a model they are the same integers on the device; its inputs and outputs are 128 less."""

    def model(kind: str, zero: int, result: int) -> onnx.ModelProto:
        return onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 17]> g ({kind}[1, 4] x) => ({kind}[1, 4] y) '
            f"<float s = {{0.05}}, {kind} z = {{{zero}}}, float t = {{0.07}}, {kind} u = {{{result}}}>"
            "{ a = DequantizeLinear(x, s, z) b = Relu(a) y = QuantizeLinear(b, t, u) }"
        )

    for new, offset in ((model("int8", 3, -20), True), (model("int8", 3, -19), False), (model("int8", 4, -20), False)):
        files = (ONNX.load("m.onnx", held.SerializeToString()) for held in (model("uint8", 131, 108), new))
        (reason,) = verify(*files).faults
        assert ("'x' (int8 for uint8)," in reason and "'y' (int8 for uint8)" in reason) == offset
        if offset:
            told(reason)


def signed(left: int, right: int, **more: int) -> bytes:
    """A difference of two inputs, with a signature that names them."""
    named = [{"name": name, "tensor_index": index} for name, index in (("left", left), ("right", right))]
    model = one_operator("SUB", [tensor("a", [8]), tensor("b", [8]), tensor("y", [8])])
    model["subgraphs"].append({**model["subgraphs"][0], "name": "other"})
    return write({**model, "signature_defs": [{"signature_key": "serving", "inputs": named, **more}]})


def test_names_that_callers_use_belong_to_the_same_tensors() -> None:
    assert tflite_equal(signed(0, 1), signed(0, 1))
    assert not tflite_equal(signed(0, 1), signed(1, 0))


def test_a_signature_that_enters_another_subgraph_is_not_covered() -> None:
    assert not tflite_equal(signed(0, 1, subgraph_index=1), signed(0, 1, subgraph_index=1))
