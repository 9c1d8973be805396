"""Damaged and huge layers are not covered, and cost little."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.analysis.certificate.reading import Model
from onnxlint_cmsis.analysis.certificate.table import Numbers
from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import TFLITE
from support.equal_files import tflite_equal
from support.goldens import Told
from support.lies import planned
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write


def test_files_of_too_many_elements_are_not_known_to_be_equal(told: Told) -> None:
    """The reason names the first layer, and not every one behind it."""
    files = [TFLITE.load("m.tflite", planned(1).old + bytes(more)) for more in (0, 4)]
    assert verify(files[0], files[1]).equal
    (reason,) = verify(files[0], files[1], 100).faults
    told(reason)
    assert reason.count("(") <= 1


@pytest.mark.parametrize("damage", ["no depth", "pads of one axis", "huge window"])
def test_damaged_layers_are_not_covered(damage: str) -> None:
    x, y = tensor("x", [1, 4, 4, 2]), tensor("y", [1, 4, 4, 2])
    size = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "filter_width": 1 << 20, "filter_height": 1 << 20}
    model = {
        "no depth": one_operator("FULLY_CONNECTED", [x, tensor("w", [2, 0], buffer=1), y]),
        "pads of one axis": one_operator("PAD", [x, tensor("p", [4], buffer=1, scale=None, type="INT32"), y]),
        "huge window": one_operator("AVERAGE_POOL_2D", [x, y], ("Pool2DOptions", size)),
    }[damage]
    data = write({**model, "buffers": [{}, {"data": [0] * 16}]})
    model["subgraphs"][0]["tensors"][-1]["name"] = "z"
    renamed = write({**model, "buffers": [{}, {"data": [0] * 16}]})
    assert tflite_equal(data, data)
    assert not tflite_equal(data, renamed)


@pytest.mark.parametrize("shape", [[8, 1441792, 1310744, 19, 524300, 0, 458752], [1, 2147483647, 49, 0]], ids=str)
def test_damaged_sizes_of_no_elements_are_not_covered(shape: list[int]) -> None:
    """NumPy holds no such shape, or walks all of its other sizes."""
    data = write(one_operator("RELU", [tensor("x", shape), tensor("y", shape)]))
    (fault,) = verify(*(TFLITE.load("m.tflite", file) for file in (data, data + bytes(4)))).faults
    assert fault.endswith("elements; 1,048,576 are looked at")


def test_nothing_is_said_of_a_result_of_another_size_than_the_file_says() -> None:
    """A certificate told the sums of lanes that are not there."""
    data = write(one_operator("LOGISTIC", [tensor("x", [2]), tensor("y", [1, 7, 6, 2])]))
    model = Model(TFLITE.load("m.tflite", data), Numbers())
    told = "LOGISTIC#0 (LOGISTIC): the file says [1, 7, 6, 2] of its result, and its operands make [2]"
    assert model.missing == {"y": told}
    assert not model.rounded
