"""Random layers of one operator, int8 or int16, over scales that round in many ways, and inputs for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from support.tflite_chains import Chain

Ends = tuple[list[int], int]
"""Inputs and output of a model, by number."""
Maker = Callable[[Chain], Ends]
GRID = [1, 256, 16, 16]
"""Shape of two operands that take every pair of int8 values."""
LIST = [1, 4, 8, 32]
"""Shape of an input that takes every int8 value."""
VERSIONS = {
    "CONV_2D": 5, "DEPTHWISE_CONV_2D": 5, "FULLY_CONNECTED": 7, "TRANSPOSE_CONV": 4, "RESIZE_BILINEAR": 3,
    "RESIZE_NEAREST_NEIGHBOR": 3, "BATCH_MATMUL": 3, "HARD_SWISH": 1, "PRELU": 1, "ELU": 1,
}  # fmt: skip
"""Versions of operators; 2 for others."""


class RandomLayer(NamedTuple):
    """A file of one operator."""

    data: bytes
    """The file."""
    feeds: list[np.ndarray[Any, Any]]
    """Inputs: every value or pair of int8 where they are that many, else random ones."""


def random_layer(kind: str, seed: int, *, wide: bool) -> RandomLayer:
    """A layer of `LAYERS`."""
    chain = Chain(seed, wide=wide)
    inputs, output = LAYERS[kind](chain)
    data = chain.model(inputs, [output], versions={op: VERSIONS.get(op, 2) for op in chain.codes})
    return RandomLayer(data, [_values(chain, position, tensor) for position, tensor in enumerate(inputs)])


def _values(chain: Chain, position: int, tensor: int) -> np.ndarray[Any, Any]:
    shape, kind = chain.shape(tensor), chain.tensors[tensor]["type"].lower()
    if kind == "float32":
        return chain.rng.uniform(-5, 5, shape).astype(kind)
    every = np.arange(-128, 128)
    if kind == "int8" and shape == GRID:
        return (np.repeat(every, 256) if position else np.tile(every, 256)).reshape(shape).astype(kind)
    if kind == "int8" and shape == LIST:
        return np.resize(every, shape).astype(kind)
    info = np.iinfo(kind)
    return chain.rng.integers(info.min, info.max + 1, shape).astype(kind)


def _scale(chain: Chain) -> float:
    """A scale of an activation, every second time a power of two."""
    power = chain.rng.uniform(-14, -9) if chain.wide else chain.rng.uniform(-7, -3)
    return float(2.0 ** (round(power) if chain.rng.random() < 0.5 else power))


def _activation(chain: Chain, shape: list[int]) -> int:
    return chain.activation(shape, _scale(chain))


def _options(chain: Chain, **more: Any) -> dict[str, Any]:
    return {"fused_activation_function": chain.pick(("NONE", "RELU", "RELU6")), **more}


def _weighted(op: str, *, channels: bool = True, biased: str = "own") -> Maker:
    """A layer with weights, at shifts from -9 to 2; `biased` is `own`, `int32` or empty."""

    def make(chain: Chain) -> Ends:
        rng, count, source, side = chain.rng, 8, int(chain.rng.integers(1, 17)), int(chain.rng.integers(1, 4))
        units = [float(scale) for scale in 2.0 ** rng.uniform(-9, -6, count if channels else 1)]
        if op == "FULLY_CONNECTED":
            shape, kernel, output_shape = [64, 4 * source], [count, 4 * source], [64, count]
        elif op == "DEPTHWISE_CONV_2D":
            shape, kernel, output_shape = [1, 8, 8, count], [1, side, side, count], [1, 8, 8, count]
        else:
            size = 10 if op == "TRANSPOSE_CONV" else 5
            shape, kernel, output_shape = [1, 5, 5, source], [count, side, side, source], [1, size, size, count]
        data = _activation(chain, shape)
        axis = 3 if op == "DEPTHWISE_CONV_2D" else 0
        weights = chain.constant(rng.integers(-127, 128, kernel).astype(np.int8), units, None, axis)
        unit = chain.quantization(data)[0]
        step = unit * float(np.mean(units)) / 2.0 ** (rng.uniform(-12, 0) if chain.wide else rng.uniform(-10, 2))
        output = chain.activation(output_shape, float(step))
        width = np.int64 if chain.wide and biased == "own" else np.int32
        values = rng.integers(-2000, 2001, count).astype(width)
        bias = [chain.constant(values, [unit * scale for scale in units], [0] * len(units))] if biased else []
        options = _options(chain, **({"quantized_bias_type": "INT32"} if biased == "int32" else {}))
        if op == "FULLY_CONNECTED":
            chain.add(op, [data, weights, *bias], output, ("FullyConnectedOptions", options))
        elif op == "TRANSPOSE_CONV":
            sizes = chain.constant(np.array(output_shape, np.int32), [])
            options = {"padding": "SAME", "stride_w": 2, "stride_h": 2}
            chain.add(op, [sizes, weights, data, *bias], output, ("TransposeConvOptions", options))
        else:
            options |= {"padding": "SAME", "stride_w": 1, "stride_h": 1}
            name = "Conv2DOptions" if axis == 0 else "DepthwiseConv2DOptions"
            options |= {"depth_multiplier": 1} if axis else {}
            chain.add(op, [data, weights, *bias], output, (name, options))
        return [data], output

    return make


def _pair(op: str, step: Callable[[Chain, float, float], float], table: str = "") -> Maker:
    """An operator on two activations; `step` makes the result's scale of theirs."""

    def make(chain: Chain) -> Ends:
        left, right = _activation(chain, GRID), _activation(chain, GRID)
        output = chain.activation(GRID, step(chain, chain.quantization(left)[0], chain.quantization(right)[0]))
        chain.add(op, [left, right], output, (table, _options(chain)) if table else None)
        return [left, right], output

    return make


def _between(chain: Chain, low: float, high: float) -> float:
    return float(2.0 ** chain.rng.uniform(low, high))


def _sum(chain: Chain, left: float, right: float) -> float:
    return max(left, right) * _between(chain, -2, 3)


def _product(chain: Chain, left: float, right: float) -> float:
    return left * right * _between(chain, -1, 9)


def _alike(op: str) -> Maker:
    def make(chain: Chain) -> Ends:
        left = _activation(chain, GRID)
        right, output = chain.like(left), chain.like(left)
        chain.add(op, [left, right], output)
        return [left, right], output

    return make


def _compared(op: str) -> Maker:
    def make(chain: Chain) -> Ends:
        left, right = _activation(chain, GRID), _activation(chain, GRID)
        output = chain.tensor(GRID, scale=[], zero=[], kind="BOOL", buffer=0)
        chain.add(op, [left, right], output)
        return [left, right], output

    return make


def _curve(op: str, fixed: tuple[tuple[float, int], tuple[float, int]] | None = None, *, same: bool = False) -> Maker:
    """A function of one variable; `fixed` is what int8 and int16 results have to be stored in."""

    def make(chain: Chain) -> Ends:
        data = _activation(chain, LIST)
        scale, zero = chain.quantization(data)
        if fixed:
            output = chain.activation(LIST, *fixed[chain.wide])
        elif same:
            output = chain.activation(LIST, scale, zero)
        else:
            output = chain.activation(LIST, scale * _between(chain, -2, 2))
        options = ("LeakyReluOptions", {"alpha": float(chain.rng.uniform(0.01, 0.9))}) if op == "LEAKY_RELU" else None
        chain.add(op, [data], output, options)
        return [data], output

    return make


def _reduced(op: str, factor: float = 0.0) -> Maker:
    """A reduction; without a factor its result has its input's scale."""

    def make(chain: Chain) -> Ends:
        sizes = [1, *(int(size) for size in chain.rng.integers(2, 13, 2)), 16]
        data, over = _activation(chain, sizes), chain.pick(([1, 2], [1], [2], [3], [1, 2, 3]))
        axes = chain.constant(np.array(over, np.int32), [])
        shape = [1 if axis in over else size for axis, size in enumerate(sizes)]
        scale, zero = chain.quantization(data)
        step = (scale * factor * _between(chain, -3, 2),) if factor else (scale, zero)
        output = chain.activation(shape, *step)
        chain.add(op, [data, axes], output, ("ReducerOptions", {"keep_dims": True}))
        return [data], output

    return make


def _pool(op: str) -> Maker:
    def make(chain: Chain) -> Ends:
        data, window = _activation(chain, [1, 9, 9, 8]), [int(size) for size in chain.rng.integers(1, 9, 2)]
        stride = int(chain.rng.integers(1, 3))
        output = chain.like(data, [1, *((9 - size) // stride + 1 for size in window), 8])
        options = _options(chain, padding="VALID", stride_w=stride, stride_h=stride)
        options |= {"filter_height": window[0], "filter_width": window[1]}
        chain.add(op, [data], output, ("Pool2DOptions", options))
        return [data], output

    return make


def _resized(op: str, table: str) -> Maker:
    def make(chain: Chain) -> Ends:
        height, width, *new_size = (int(size) for size in (*chain.rng.integers(2, 9, 2), *chain.rng.integers(2, 40, 2)))
        data = _activation(chain, [1, height, width, 4])
        output = chain.like(data, [1, *new_size, 4])
        corners, halves = chain.pick(((False, False), (True, False), (False, True)))
        options = {"align_corners": corners, "half_pixel_centers": halves}
        chain.add(op, [data, chain.constant(np.array(new_size, np.int32), [])], output, (table, options))
        return [data], output

    return make


def _rescaled(source: str, result: str) -> Maker:
    """QUANTIZE between int8, int16 and float32."""

    def make(chain: Chain) -> Ends:
        chain.wide = source == "int16"
        if source == "float32":
            data, unit = chain.tensor(LIST, scale=[], zero=[], kind="FLOAT32", buffer=0), 2.0**-6
        else:
            data = _activation(chain, LIST)
            unit = chain.quantization(data)[0] * {"int8int16": 2.0**-7, "int16int8": 2.0**7}.get(source + result, 1)
        chain.wide = result == "int16"
        step = unit * _between(chain, -3, 3) * (2.0**-8 if source == "float32" and chain.wide else 1)
        output = chain.activation(LIST, step)
        chain.add("QUANTIZE", [data], output)
        return [data], output

    return make


def _softmax(*, widens: bool = False) -> Maker:
    def make(chain: Chain) -> Ends:
        row = int(chain.rng.integers(2, 200))
        unit = _scale(chain) * (1 if chain.wide else _between(chain, 0, 4))
        data = chain.activation([8, row], unit)
        step = (1 / 32768, 0) if chain.wide else (1 / 65536, -32768) if widens else (1 / 256, -128)
        kind = "INT16" if chain.wide or widens else "INT8"
        output = chain.tensor([8, row], scale=[step[0]], zero=[step[1]], kind=kind, buffer=0)
        chain.add("SOFTMAX", [data], output, ("SoftmaxOptions", {"beta": chain.pick((1.0, 0.5))}))
        return [data], output

    return make


def _joined(chain: Chain) -> Ends:
    data = _activation(chain, LIST)
    other, output = chain.like(data), chain.like(data, [1, 4, 8, 64])
    chain.add("CONCATENATION", [data, other], output, ("ConcatenationOptions", {"axis": 3}))
    return [data, other], output


def _matrices(*, constant: bool) -> Maker:
    def make(chain: Chain) -> Ends:
        left, kind = _activation(chain, [2, 6, 12]), np.int16 if chain.wide else np.int8
        values = chain.rng.integers(-127, 128, (2, 12, 8)).astype(kind)
        right = chain.constant(values, [0.01]) if constant else _activation(chain, [2, 12, 8])
        unit = chain.quantization(left)[0] * chain.quantization(right)[0]
        output = chain.activation([2, 6, 8], unit * (_between(chain, 4, 16) if chain.wide else _between(chain, -1, 9)))
        chain.add("BATCH_MATMUL", [left, right], output, ("BatchMatMulOptions", {}))
        return [left] if constant else [left, right], output

    return make


def _parametric(chain: Chain) -> Ends:
    data, zero = _activation(chain, LIST), int(chain.rng.integers(-100, 100))
    slopes = chain.rng.integers(-128, 128, (1, 1, 32)).astype(np.int8)
    alpha = chain.constant(slopes, [_between(chain, -9, -6)], [zero])
    output = chain.activation(LIST, chain.quantization(data)[0] * _between(chain, -1, 2))
    chain.add("PRELU", [data, alpha], output)
    return [data], output


def _floats(chain: Chain) -> Ends:
    data, output = _activation(chain, LIST), chain.tensor(LIST, scale=[], zero=[], kind="FLOAT32", buffer=0)
    chain.add("DEQUANTIZE", [data], output)
    return [data], output


LAYERS: Mapping[str, Maker] = {
    **{op: _weighted(op) for op in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")},
    "CONV_2D, one scale": _weighted("CONV_2D", channels=False),
    "CONV_2D, int32 bias": _weighted("CONV_2D", biased="int32"),
    "FULLY_CONNECTED, one scale": _weighted("FULLY_CONNECTED", channels=False),
    "FULLY_CONNECTED, no bias": _weighted("FULLY_CONNECTED", channels=False, biased=""),
    "ADD": _pair("ADD", _sum, "AddOptions"),
    "SUB": _pair("SUB", _sum, "SubOptions"),
    "MUL": _pair("MUL", _product, "MulOptions"),
    "SQUARED_DIFFERENCE": _pair("SQUARED_DIFFERENCE", lambda chain, a, b: max(a, b) ** 2 * _between(chain, 0, 9)),
    **{op: _alike(op) for op in ("MAXIMUM", "MINIMUM")},
    **{op: _compared(op) for op in ("LESS", "EQUAL", "GREATER_EQUAL")},
    "LOGISTIC": _curve("LOGISTIC", ((1 / 256, -128), (1 / 32768, 0))),
    "TANH": _curve("TANH", ((1 / 128, 0), (1 / 32768, 0))),
    **{op: _curve(op) for op in ("HARD_SWISH", "LEAKY_RELU", "ELU", "RELU")},
    **{op: _curve(op, same=True) for op in ("RELU6", "ABS")},
    "RELU6 to another scale": _curve("RELU6"),
    "MEAN": _reduced("MEAN", 1.0),
    "SUM": _reduced("SUM", 8.0),
    **{op: _reduced(op) for op in ("REDUCE_MAX", "REDUCE_MIN")},
    **{op: _pool(op) for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D")},
    "RESIZE_BILINEAR": _resized("RESIZE_BILINEAR", "ResizeBilinearOptions"),
    "RESIZE_NEAREST_NEIGHBOR": _resized("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    **{
        f"QUANTIZE, {source} to {result}": _rescaled(source, result)
        for source in ("float32", "int8", "int16")
        for result in ("int8", "int16")
    },
    "SOFTMAX": _softmax(),
    "SOFTMAX to int16": _softmax(widens=True),
    "CONCATENATION": _joined,
    "BATCH_MATMUL": _matrices(constant=False),
    "BATCH_MATMUL, constant": _matrices(constant=True),
    "PRELU": _parametric,
    "DEQUANTIZE": _floats,
}
"""Layers by what makes one."""
