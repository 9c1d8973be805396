"""`verify` and DEQUANTIZE of TensorFlow Lite: what stands behind it is computed in float32, and not in integers."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import TFLITE
from support.tflite_chains import Chain
from support.tflite_runs import DIFFERS, EQUAL, device_runs, outcome

IMAGE = [1, 4, 4, 3]


class Layer:
    """One layer between `x` (and `z`) and `y`, in integers or between DEQUANTIZE and QUANTIZE."""

    def __init__(self, *, real: bool, steps: float = 0.07, shape: list[int] = IMAGE) -> None:
        self.chain, self.real = Chain(1), real
        self.x, self.z = (
            self.chain.activation(IMAGE, step, zero, name=name) for name, step, zero in (("x", 0.1, 3), ("z", 0.05, 1))
        )
        self.y = self.chain.activation(shape, steps, 3, name="y")
        self.ends = [self.x]

    def floats(self, shape: list[int]) -> int:
        return self.chain.tensor(shape, scale=[], zero=[], kind="FLOAT32", buffer=0)

    def operand(self, tensor: int) -> int:
        """A tensor as the layer reads it."""
        if not self.real:
            return tensor
        return self.chain.add("DEQUANTIZE", [tensor], self.floats(self.chain.shape(tensor)), ("DequantizeOptions", {}))

    def file(self, op: str = "", *operands: int, options: tuple[str, dict[str, object]] | None = None) -> bytes:
        read = [self.operand(tensor) for tensor in (self.x, *operands)]
        self.ends += [self.z] * (self.z in operands)
        if not self.real:
            self.chain.add(op or "QUANTIZE", read, self.y, options)
            return self.chain.model(self.ends, [self.y])
        result = self.chain.add(op, read, self.floats(self.chain.shape(self.y)), options) if op else read[0]
        self.chain.add("QUANTIZE", [result], self.y, ("QuantizeOptions", {}))
        return self.chain.model(self.ends, [self.y])


def equal(old: bytes, new: bytes) -> bool:
    return verify(*(TFLITE.load("m.tflite", data) for data in (old, new))).equal


@pytest.mark.parametrize("op", ["", "LOGISTIC", "TANH", "HARD_SWISH", "ABS", "RELU", "RELU6", "NEG"])
def test_a_function_in_float32_is_not_that_of_integers(op: str) -> None:
    whole, real = (Layer(real=real).file(op) for real in (False, True))
    assert not equal(whole, real) and equal(whole, whole + bytes(4)) and equal(real, real + bytes(4))


@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"])
def test_a_pair_in_float32_is_not_that_of_integers(op: str) -> None:
    files = []
    for real in (False, True):
        layer = Layer(real=real)
        files.append(layer.file(op, layer.z))
    assert not equal(*files) and equal(files[1], files[1] + bytes(4))


def convolved(*, real: bool) -> bytes:
    layer = Layer(real=real, steps=0.3, shape=[1, 4, 4, 5])
    weights = layer.chain.constant(np.random.default_rng(0).integers(-127, 127, (5, 1, 1, 3)).astype(np.int8), [0.02])
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
    return layer.file("CONV_2D", weights, options=("Conv2DOptions", options))


def pooled(op: str, *, real: bool) -> bytes:
    window = {"filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2, "padding": "VALID"}
    return Layer(real=real, steps=0.1, shape=[1, 2, 2, 3]).file(op, options=("Pool2DOptions", window))


def test_sums_in_float32_are_not_those_of_integers() -> None:
    files = [convolved(real=real) for real in (False, True)]
    assert not equal(*files) and equal(files[1], files[1] + bytes(4))


def test_averages_in_float32_are_not_those_of_integers() -> None:
    assert not equal(*(pooled("AVERAGE_POOL_2D", real=real) for real in (False, True)))


def test_the_device_computes_otherwise_in_float32() -> None:
    import_module("tflite_micro")
    files = [convolved(real=real) for real in (False, True)]
    assert outcome(*files, 3, device_runs) == DIFFERS


def test_integers_come_back_from_float32_as_they_were() -> None:
    """float32 tells all integers of 16 bits apart, and the largest of a window is one of its elements."""
    largest = [pooled("MAX_POOL_2D", real=real) for real in (False, True)]
    assert equal(*largest)
    import_module("tflite_micro")
    assert outcome(*largest, 3, device_runs) == EQUAL


@pytest.mark.parametrize("op", ["LOGISTIC", "ADD", "MAXIMUM"])
def test_integers_without_a_scale_stand_for_no_real_numbers(op: str) -> None:
    """QUANTIZE behind them takes them for multiples of 0, whatever they were computed from."""
    files = []
    for stated in (True, False):
        layer = Layer(real=False)
        chain, operands = layer.chain, [layer.x, *([layer.z] if op != "LOGISTIC" else [])]
        result = layer.y if stated else chain.tensor(IMAGE, scale=[], zero=[], buffer=0)
        chain.add(op, operands, result)
        if not stated:
            chain.add("QUANTIZE", [result], layer.y, ("QuantizeOptions", {}))
        files.append(chain.model(operands, [layer.y]))
    assert not equal(*files)


def test_a_constant_that_is_dequantized_is_one_of_float32() -> None:
    held = np.arange(-8, 8, dtype=np.int8)
    files = []
    for real in (True, False):
        chain = Chain(1)
        x, y = (chain.tensor([16], scale=[], zero=[], kind="FLOAT32", buffer=0, name=name) for name in "xy")
        told = chain.constant(held, [0.1]) if real else chain.constant(held.astype(np.float32) * np.float32(0.1), [])
        if real:
            result = chain.tensor([16], scale=[], zero=[], kind="FLOAT32", buffer=0)
            told = chain.add("DEQUANTIZE", [told], result, ("DequantizeOptions", {}))
        chain.add("ADD", [x, told], y, ("AddOptions", {}))
        files.append(chain.model([x], [y]))
    assert equal(*files)
