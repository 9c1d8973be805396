"""Sizes that the file states, and nobody computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

from onnxlint_cmsis.analysis.certificate.reading import Model
from onnxlint_cmsis.analysis.certificate.table import Numbers
from onnxlint_cmsis.formats.format import ONNX
from support.equal_files import onnx_equal
from support.read_models import model, value
from support.tflite_models import tensor
from support.tflite_writer import operator_code
from support.written_files import equal, opaque


def test_a_layer_behind_a_size_that_nobody_computes_is_not_covered() -> None:
    """The runtime may make another one: so nothing is said of elements, and the same layers are equal still."""

    def reshaped(taken: list[int]) -> dict[str, Any]:
        tensors = [
            tensor("x", [1, 4]), tensor("n", [1], type="INT32", scale=None), tensor("m", [4]),
            tensor("i", [len(taken)], type="INT32", scale=None, buffer=1), tensor("y", [len(taken)]),
        ]  # fmt: skip
        steps = [
            {"opcode_index": 0, "inputs": [0, 1], "outputs": [2]},
            {"opcode_index": 1, "inputs": [2, 3], "outputs": [4], "builtin_options": ("GatherOptions", {})},
        ]
        main = {"tensors": tensors, "inputs": [0, 1], "outputs": [4], "operators": steps}
        codes, data = [operator_code("RESHAPE"), operator_code("GATHER")], [*np.array(taken, np.int32).tobytes()]
        return {"version": 3, "operator_codes": codes, "subgraphs": [main], "buffers": [{}, {"data": data}]}

    told = "the size of 'm' is what the file states, and not known to be computed"
    assert opaque(reshaped([0, 1, 2, 3])) == [told, told]
    assert equal(reshaped([0, 1, 2, 3]), reshaped([0, 1, 2, 3]))
    assert not equal(reshaped([0, 1]), reshaped([1, 0]))


def test_a_size_that_an_onnx_file_states_and_nobody_computes_is_not_covered() -> None:
    """What a Reshape makes is another input."""
    nodes = [helper.make_node("Reshape", ["x", "s"], ["m"]), helper.make_node("Neg", ["m"], ["y"])]
    ends = [value("x", [4]), value("s", [2], onnx.TensorProto.INT64)], [value("y", [1, 4])]
    proto = model(nodes, *ends, value_info=[value("m", [1, 4])])
    loaded = ONNX.load("m.onnx", proto.SerializeToString())
    assert loaded.graph.shape("m") == (1, 4)
    assert "m" not in loaded.computed_sizes()
    reasons = [*Model(loaded, Numbers()).opaque.values()]
    assert reasons == ["the size of 'm' is what the file states, and not known to be computed"] * 2
    assert onnx_equal(proto, proto)
