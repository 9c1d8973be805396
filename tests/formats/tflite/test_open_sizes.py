"""Sizes of `.tflite` inputs that the author left open: unknown, and as `--input-shape` gives them."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.formats.tflite.to_graph import load_tflite
from onnxlint_cmsis.model.model_error import ModelError
from support.linter import linted
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write


def relu(*signature: int) -> bytes:
    """RELU and a convolution's worth of axes, with a signature for input and output."""
    ends = [tensor(name, [1, 1, 1, 3], shape_signature=[*signature]) for name in "xy"]
    return write(one_operator("RELU", ends))


def shapes(data: bytes, **given: tuple[int | None, ...]):
    graph = load_tflite("m.tflite", data=data, input_shapes=given or None).graph
    return graph.shape("x"), graph.shape("y")


def test_an_unknown_height_is_open_and_an_unknown_batch_is_1():
    assert shapes(relu(-1, -1, -1, 3)) == ((1, None, None, 3), (None, None, None, 3))
    assert shapes(relu(-1, 1, 1, 3)) == ((1, 1, 1, 3), (1, 1, 1, 3))


def test_given_sizes_go_through_the_graph():
    assert shapes(relu(-1, -1, -1, 3), x=(1, 8, 6, 3)) == ((1, 8, 6, 3), (1, 8, 6, 3))
    assert shapes(relu(-1, -1, -1, 3), x=(1, 8, None, 3)) == ((1, 8, None, 3), (None, None, None, 3))


@pytest.mark.parametrize("given", [{"z": (1, 8, 8, 3)}, {"x": (1, 8, 8)}, {"x": (1, 8, 8, 4)}])
def test_what_does_not_fit_is_refused(given):
    with pytest.raises(ModelError) as error:
        shapes(relu(-1, -1, -1, 3), **given)
    assert error.value.kind == "input-shape"


@pytest.mark.parametrize(
    ("given", "codes"),
    [({}, {"CNN005"}), ({"input_shapes": {"x": [1, 8, 6, 3]}}, set()), ({"input_shapes": {"z": [1]}}, {"CNN008"})],
)
def test_a_placeholder_is_unknown_until_it_is_given(given, codes):
    result = linted(relu(-1, -1, -1, 3), "m.tflite", targets=("cortex-m4",), **given)
    assert {finding.code for finding in result.findings} & {"CNN005", "CNN008"} == codes
    told = [finding.remedy for finding in result.findings if finding.code == "CNN005"]
    assert all("Convert it with them too: the device runs the sizes in the file" in remedy for remedy in told)
