"""Models that are damaged, or larger than any device: --fix leaves them, with the reason and without an error."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.fixers.edits.onnx_edit import _set
from onnxlint_cmsis.fixers.proof.inputs import PLAIN, UnfedError, model_inputs
from support import models
from support.goldens import Told
from support.linter import fixed
from support.quantized_models import convolution

ALIGN = {"fix_policy": "align", "targets": ["cortex-m4"]}
CHAIN = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 3, 8, 8] x) => (float[1, 4, 8, 8] y)
<float[3,3,1,1] w = {0.5}, float[4,3,1,1] v = {0.25}> {
    a = Conv (x, w)
    y = Conv (a, v)
}
"""


def reason(model: onnx.ModelProto) -> str:
    result = fixed(model, **ALIGN).result
    assert not result.changed
    return result.reason


def test_the_sound_model_would_be_padded() -> None:
    assert fixed(models.text(CHAIN), **ALIGN).result.changed


def test_a_node_without_outputs_is_no_error() -> None:
    model = models.text(CHAIN)
    model.graph.node.append(helper.make_node("Split", ["y"], []))
    assert reason(model)


def test_a_list_of_values_that_protobuf_cannot_read_is_named() -> None:
    """Its last number has no end; the analysis does not look into lists."""
    model, numbers = models.text(CHAIN), b"\x7f" * 5000
    model.graph.initializer[0].uint64_data.extend(numbers)
    data = model.SerializeToString()
    assert data.count(numbers) == 1
    result = fixed(data.replace(numbers, numbers[:-1] + b"\xff"), **ALIGN).result
    assert (result.changed, result.failed) == (False, True)
    assert result.reason.startswith("its constants cannot be read: protobuf says")


def test_an_input_too_large_to_try_is_named(told: Told) -> None:
    model = models.text(CHAIN)
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 2**31 - 1
    told(reason(model))


@pytest.mark.parametrize(("elem_type", "raw"), [(99, b"\1"), (TensorProto.INT8, b""), (TensorProto.UNDEFINED, b"\1")])
def test_a_zero_point_that_is_no_tensor_gives_no_span_of_inputs(elem_type: int, raw: bytes) -> None:
    model = models.text("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 3] x) => (int8[1, 3] y) <float s = {0.5}, int8 z = {1}> {
    y = QuantizeLinear (x, s, z)
}
""")
    (model_input,) = model_inputs(model, {})
    assert model_input.span == (-64.5, 63.0)
    zero = next(tensor for tensor in model.graph.initializer if tensor.name == "z")
    zero.ClearField("int32_data")
    zero.data_type, zero.raw_data = elem_type, raw
    (model_input,) = model_inputs(model, {})
    assert model_input.span == PLAIN


@pytest.mark.parametrize("elem_type", [TensorProto.UNDEFINED, 99])
def test_an_input_of_no_known_type_is_named(elem_type: int) -> None:
    model = models.text(CHAIN)
    model.graph.input[0].type.tensor_type.elem_type = elem_type
    with pytest.raises(UnfedError, match=rf"input `x` is of no type that ONNX knows \({elem_type}\)"):
        model_inputs(model, {})


def test_an_empty_list_of_an_attribute_is_left_out() -> None:
    """A window without axes has no padding to widen; an empty list has no type that an attribute could say."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    _set(node, {"pads": [], "group": 2}, ())
    assert [attribute.name for attribute in node.attribute] == ["group"]


def test_a_zero_point_that_is_no_number_leaves_the_model() -> None:
    model = convolution(convolution()).model()
    for tensor in model.graph.initializer:
        if tensor.name.endswith("_zero"):
            tensor.CopyFrom(numpy_helper.from_array(np.array(np.nan, np.float16), tensor.name))
    assert reason(model)
