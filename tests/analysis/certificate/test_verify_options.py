"""Options of `.tflite` operators: what they mean, and what they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.equal_files import tflite_equal
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write


def test_sizes_that_a_tflite_file_says_are_those_that_its_options_give() -> None:
    """SQUEEZE of the axis that stays: LiteRT makes another shape of it."""
    tensors = [tensor("x", [1, 4, 1, 2]), tensor("y", [4, 1, 2])]
    first, third = (
        write(one_operator("SQUEEZE", tensors, ("SqueezeOptions", {"squeeze_dims": [axis]}))) for axis in (0, 2)
    )
    assert tflite_equal(first, first) and not tflite_equal(first, third)


def test_options_of_another_operator_are_none() -> None:
    """LiteRT clamps no sum that has the options of a difference: 199 of 200 inputs differed."""
    tensors = [tensor("a", [8]), tensor("b", [8]), tensor("y", [8])]
    own, other = (
        write(one_operator("ADD", tensors, (f"{op}Options", {"fused_activation_function": "RELU"})))
        for op in ("Add", "Sub")
    )
    assert tflite_equal(own, own) and tflite_equal(other, other)
    assert not tflite_equal(own, other)


def test_a_depth_multiplier_that_does_not_fit_is_not_what_the_weights_say() -> None:
    """LiteRT counts the weights; TensorFlow Lite Micro hands the option to CMSIS-NN (cmsis_nn/depthwise_conv.cc)."""
    tensors = [tensor("x", [1, 4, 4, 2]), tensor("w", [1, 1, 1, 4], buffer=1), tensor("y", [1, 4, 4, 4])]
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
    fits, other = (
        write(
            {
                **one_operator(
                    "DEPTHWISE_CONV_2D", tensors, ("DepthwiseConv2DOptions", {**options, "depth_multiplier": n})
                ),
                "buffers": [{}, {"data": [1, 2, 3, 4]}],
            }
        )
        for n in (2, 1)
    )
    assert tflite_equal(fits, fits) and not tflite_equal(fits, other)


def test_a_mirror_without_options_pads_no_zeros() -> None:
    amounts = tensor("p", [4, 2], buffer=1, scale=None, type="INT32")
    numbers = np.array([0, 0, 1, 1, 1, 1, 0, 0], "<i4")
    mirrored, zeros = (
        write(
            {
                **one_operator(op, [tensor("x", [1, 4, 4, 2]), amounts, tensor("y", [1, 6, 6, 2])]),
                "buffers": [{}, {"data": [*numbers.tobytes()]}],
            }
        )
        for op in ("MIRROR_PAD", "PAD")
    )
    assert tflite_equal(zeros, zeros) and not tflite_equal(mirrored, zeros)


@pytest.mark.parametrize("op", ["AVERAGE_POOL_2D", "MAX_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("option", ["padding", "fused_activation_function"])
def test_a_number_that_an_enumeration_does_not_have_is_refused(op: str, option: str) -> None:
    """LiteRT and TensorFlow Lite Micro read 2 of `padding` as neither SAME nor VALID, and each pads as it likes."""
    kind = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions"}.get(op, "Pool2DOptions")
    span = {"filter_width": 2, "filter_height": 2} if kind == "Pool2DOptions" else {}
    more = {"depth_multiplier": 1} if op == "DEPTHWISE_CONV_2D" else {}
    weights = [] if span else [tensor("w", [1, 2, 2, 1], buffer=1)]
    tensors = [tensor("x", [1, 4, 4, 1]), *weights, tensor("y", [1, 3, 3, 1])]

    def file(**changed: Any) -> bytes:
        options = {"padding": "VALID", "stride_w": 1, "stride_h": 1, **span, **more, **changed}
        return write({**one_operator(op, tensors, (kind, options)), "buffers": [{}, {"data": [1, 2, 3, 4]}]})

    known, unknown, other = file(), file(**{option: 7}), file(**{option: 8})
    assert tflite_equal(known, known) and tflite_equal(unknown, unknown)
    assert not tflite_equal(known, unknown) and not tflite_equal(unknown, known)
    assert not tflite_equal(unknown, other)
