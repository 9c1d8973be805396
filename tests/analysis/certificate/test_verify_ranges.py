"""`verify` and numbers that do not fit the integers in which a device holds them."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import ONNX, TFLITE
from support import models
from support.tflite_chains import Chain
from support.tflite_runs import DIFFERS, device_runs, outcome


def chained(zero_points: list[int] | None) -> bytes:
    """Two QUANTIZE, and what is stated of the tensor between them."""
    chain = Chain(1)
    x, inner, y = (
        chain.activation([1, 4], step, 0, name=name) for step, name in ((0.1, "x"), (0.07, "h"), (0.03, "y"))
    )
    chain.add("QUANTIZE", [x], inner, ("QuantizeOptions", {}))
    chain.add("QUANTIZE", [inner], y, ("QuantizeOptions", {}))
    chain.tensors[inner]["quantization"]["zero_point"] = zero_points
    return chain.model([x], [y])


def equal(old: bytes, new: bytes) -> bool:
    return verify(*(TFLITE.load("m.tflite", data) for data in (old, new))).equal


@pytest.mark.parametrize("zero_points", [[], None, [0, 0], [2**32]], ids=str)
def test_zero_points_that_the_device_reads_otherwise_are_no_0(zero_points: list[int] | None) -> None:
    """Without them the device has no scale either; it cuts one of 64 bits to 32."""
    assert equal(chained([0]), chained([0]) + bytes(4))
    assert not equal(chained([0]), chained(zero_points))
    assert equal(chained(zero_points), chained(zero_points) + bytes(4))


def test_a_zero_point_outside_of_its_type_makes_no_constant() -> None:
    """In exact numbers all integers of both files end at 127 between the layers."""
    assert not equal(chained([300]), chained([301]))


@pytest.mark.parametrize("zero", [-128, 127])
def test_the_ends_of_a_type_are_zero_points(zero: int) -> None:
    files = [TFLITE.load("m.tflite", chained([zero]) + more) for more in (b"", bytes(4))]
    known = verify(*files)
    assert known.equal and not known.old.opaque


def test_onnx_states_zero_points_in_their_type() -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (uint8[4] x) => (uint8[4] y) <float s = {0.5}, uint8 z = {255}> '
        "{ f = DequantizeLinear(x, s, z) h = Relu(f) y = QuantizeLinear(h, s, z) }"
    )
    data = models.text(text).SerializeToString()
    known = verify(*(ONNX.load("m.onnx", data + more) for more in (b"", b"\x32\x01n")))
    assert known.equal and not known.old.opaque


def biased(bias: int) -> bytes:
    """A dense layer of int16 that adds a number to sums of zeros, and clamps what is below 0."""
    chain = Chain(1, wide=True)
    x, y = chain.activation([1, 3], 0.0008, 0, name="x"), chain.activation([1, 2], 0.0006, 0, name="y")
    weights = chain.constant(np.array([[0, 0, 0], [1, 2, 3]], np.int8), [0.01])
    added = chain.constant(np.array([bias, 5], np.int64), [0.0008 * 0.01])
    options = {"fused_activation_function": "RELU"}
    chain.add("FULLY_CONNECTED", [x, weights, added], y, ("FullyConnectedOptions", options))
    return chain.model([x], [y], versions={"FULLY_CONNECTED": 11})


def test_a_sum_that_is_cut_to_32_bits_makes_no_constant() -> None:
    """In exact numbers both sums are below 0, and come out as 0; the device keeps 32 bits of the larger one."""
    small, other, large = biased(-193), biased(-194), biased(-549755814081)
    assert equal(small, other) and not equal(small, large)
    import_module("tflite_micro")
    assert outcome(small, large, 1, device_runs) == DIFFERS
