"""Sizes that the file states, and nobody computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime import InferenceSession

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


def _behind(window: onnx.NodeProto, sizes: list[int], pick: tuple[int, int]) -> onnx.ModelProto:
    """A window, and a Slice of the last axis of what it makes."""
    nodes = [window, helper.make_node("Slice", ["p", "s", "e", "a"], ["y"])]
    numbers = [numpy_helper.from_array(np.array([n]), name) for n, name in zip((*pick, -1), "sea", strict=True)]
    numbers.append(numpy_helper.from_array(np.ones([1, 1] + [2] * (len(sizes) - 2), np.float32), "w"))
    return model(nodes, [value("x", sizes)], [value("y", None)], numbers, opset=18)


@pytest.mark.parametrize(
    ("op_type", "attributes", "size", "picks"),
    [
        ("MaxPool", {"kernel_shape": [2], "dilations": [3], "auto_pad": "SAME_UPPER"}, 6, [(0, 3), (-6, -3)]),
        ("LpPool", {"kernel_shape": [1], "strides": [3], "ceil_mode": 1}, 6, [(0, 2), (-3, -1)]),
        ("ConvTranspose", {"strides": [3], "output_padding": [2], "auto_pad": "SAME_UPPER"}, 3, [(0, 9), (-10, -1)]),
    ],
)
def test_pieces_are_counted_in_the_size_that_onnx_runtime_makes(
    op_type: str, attributes: dict[str, Any], size: int, picks: list[tuple[int, int]]
) -> None:
    """ONNX's inference has a larger size, in which two Slices take the same piece from both ends."""
    window = helper.make_node(op_type, ["x", "w"][: 1 + (op_type == "ConvTranspose")], ["p"], **attributes)
    models = [_behind(window, [1, 1, size], pick) for pick in picks]
    x = np.arange(size, dtype=np.float32).reshape(1, 1, size)
    before, after = (InferenceSession(m.SerializeToString()).run(None, {"x": x})[0] for m in models)
    assert before.shape != after.shape
    assert not onnx_equal(*models)


def test_axes_are_counted_from_the_last_that_onnx_runtime_makes() -> None:
    """ONNX's inference drops the axes of an `output_shape` that is smaller than the input."""
    window = helper.make_node("ConvTranspose", ["x", "w"], ["p"], output_shape=[2, 2])
    turned = [helper.make_node("Gather", ["p", "i"], ["y"], axis=axis) for axis in (1, -1)]
    numbers = [
        numpy_helper.from_array(np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2), "w"),
        numpy_helper.from_array(np.array([1, 0]), "i"),
    ]
    models = [model([window, node], [value("x", [1, 1, 3, 3])], [value("y", None)], numbers) for node in turned]
    x = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    before, after = (InferenceSession(m.SerializeToString()).run(None, {"x": x})[0] for m in models)
    assert before.shape == after.shape == (1, 2, 2, 2)
    assert (before != after).any()
    assert not onnx_equal(*models)


BACKWARD = "r = Slice(x, last, most, axis, back)"
STRETCHED = 'r = Resize <mode = "nearest"> (x, none, scale)'
COUNTED = "f = Range(from, to, by) r = Add(x, f)"


@pytest.mark.parametrize(
    ("size", "old", "new"),
    [
        (4, f"{BACKWARD} y = Concat <axis = 0> (x, r)", "y = Identity(x)"),
        (3, f"{STRETCHED} y = Slice(r, first, most)", f"{STRETCHED} y = Slice(r, ninth, most)"),
        (1, f"{COUNTED} y = Slice(r, second, most)", f"{COUNTED} y = Slice(r, seventeenth, most)"),
    ],
    ids=["Slice", "Resize", "Range"],
)
def test_numbers_of_a_constant_make_the_size_that_onnx_runtime_makes(size: int, old: str, new: str) -> None:
    """ONNX's inference takes no element backward to the largest integer, and multiplies and counts in another float."""
    ends = {
        "first": 0,
        "second": 1,
        "last": -1,
        "ninth": -9,
        "seventeenth": -17,
        "most": 2**31 - 1,
        "axis": 0,
        "back": -1,
    }
    numbers = {
        **{name: np.array([end]) for name, end in ends.items()},
        "scale": np.array([10 / 3], np.float32), "none": np.zeros(0, np.float32),
        "from": np.float32(-1), "to": np.float32(0.7), "by": np.float32(0.1),
    }  # fmt: skip
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in numbers.items()]
    models = [
        model([*onnx.parser.parse_graph(f"g (float x) => (float y) {{ {text} }}").node],
              [value("x", [size])], [value("y", None)], tensors, opset=18)
        for text in (old, new)
    ]  # fmt: skip
    x = np.arange(size, dtype=np.float32)
    before, after = (InferenceSession(m.SerializeToString()).run(None, {"x": x})[0] for m in models)
    assert before.shape != after.shape
    assert not onnx_equal(*models)
