"""Values of TensorFlow Lite's operators where scales differ: what copies stored numbers says nothing then."""

from __future__ import annotations

import numpy as np
import pytest

from support.linter import analysed
from support.tflite_chains import Chain


def known_result(op, options, scale):
    """What is known of the result of an operator on constants, with this scale of the result."""
    chain = Chain(1)
    start = chain.activation([1, 4, 4, 4], 0.1, 0)
    weights = chain.constant(np.zeros((3, 1, 1, 4), np.int8), [0.01] * 3, [0] * 3)
    bias = chain.constant(np.array([1000, 2000, 3000], np.int32), [0.001] * 3, [0] * 3)
    conv = ("Conv2DOptions", {"padding": "VALID", "stride_w": 1, "stride_h": 1})
    output = chain.add("CONV_2D", [start, weights, bias], chain.activation([1, 4, 4, 3], 0.1, 0), conv)
    shape = [1, 4, 4, 6] if op == "CONCATENATION" else [1, 2, 2, 3] if op.endswith("POOL_2D") else [1, 4, 4, 3]
    operands = [output] if op.endswith("POOL_2D") else [output, output]
    end = chain.add(op, operands, chain.activation(shape, scale, 0), options)
    model = analysed(chain.model([start], [end]), "a.tflite")
    known = model.lanes().view.known(f"t{end}")
    assert known is not None
    return known


POOL = ("Pool2DOptions", {"padding": "VALID", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2})
COPYING = [
    ("MAX_POOL_2D", POOL),
    ("AVERAGE_POOL_2D", POOL),
    ("MAXIMUM", None),
    ("CONCATENATION", ("ConcatenationOptions", {"axis": 3})),
]


@pytest.mark.parametrize(("op", "options"), COPYING)
def test_what_copies_is_followed_where_all_scales_are_one(op, options):
    result = known_result(op, options, 0.1)
    assert list(result.low.reshape(-1)[:3]) == [10, 20, 30]
    assert not result.varies.any()


@pytest.mark.parametrize(("op", "options"), COPYING)
def test_what_copies_is_not_followed_between_scales(op, options):
    assert known_result(op, options, 0.2).varies.all()


def test_an_addition_is_followed_between_scales():
    result = known_result("ADD", ("AddOptions", {}), 0.2)
    assert list(result.low.reshape(-1)) == [10, 20, 30]
    assert not result.varies.any()
