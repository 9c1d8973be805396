"""Random int8 and int16 models for `tflite_writer.write`: layers with dead rows and columns, joined in many ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from support.tflite_writer import operator_code, write

ACTIVATIONS = ("NONE", "RELU", "RELU6")
INT8 = (-128, 127)


class Chain:
    """A model in the making; tensors are numbers."""

    def __init__(self, seed: int, *, wide: bool = False) -> None:
        """`wide` makes int16 activations, with int8 weights and int64 biases."""
        self.wide = wide
        self.rng = np.random.default_rng(seed)
        self.tensors: list[dict[str, Any]] = []
        self.buffers: list[dict[str, Any]] = [{}]
        self.codes: list[str] = []
        self.operators: list[dict[str, Any]] = []

    def tensor(self, shape: list[int], *, scale: list[float], zero: list[int], kind: str = "INT8", **more: Any) -> int:
        """A tensor with its quantization."""
        axis = more.pop("axis", 0)
        quantization = {"scale": scale, "zero_point": zero, "quantized_dimension": axis} if scale else None
        name = f"t{len(self.tensors)}"
        self.tensors.append({"name": name, "shape": shape, "type": kind, "quantization": quantization, **more})
        return len(self.tensors) - 1

    def activation(self, shape: list[int], scale: float | None = None, zero: int | None = None) -> int:
        """An activation, of random scale and zero-point where none are given."""
        if self.wide:
            found = float(self.rng.uniform(0.0001, 0.001)) if scale is None else scale
            return self.tensor(shape, scale=[found], zero=[0], kind="INT16", buffer=0)
        found = float(self.rng.uniform(0.01, 0.1)) if scale is None else scale
        point = int(self.rng.integers(-128, 128)) if zero is None else zero
        return self.tensor(shape, scale=[found], zero=[point], buffer=0)

    def constant(self, values: np.ndarray, scale: list[float], zero: list[int], axis: int = 0) -> int:
        """A constant of the values' type."""
        self.buffers.append({"data": list(np.ascontiguousarray(values).tobytes())})
        kind = values.dtype.name.upper()
        shape, buffer = list(values.shape), len(self.buffers) - 1
        return self.tensor(shape, scale=scale, zero=zero, kind=kind, buffer=buffer, axis=axis)

    def add(self, op: str, inputs: list[int], output: int, options: tuple[str, dict[str, Any]] | None = None) -> int:
        """An operator; its output."""
        if op not in self.codes:
            self.codes.append(op)
        found = {"opcode_index": self.codes.index(op), "inputs": inputs, "outputs": [output]}
        self.operators.append({**found, "builtin_options": options})
        return output

    def shape(self, tensor: int) -> list[int]:
        """Shape of a tensor."""
        return list(self.tensors[tensor]["shape"])

    def quantization(self, tensor: int) -> tuple[float, int]:
        """Scale and zero-point of an activation."""
        found = self.tensors[tensor]["quantization"]
        return found["scale"][0], found["zero_point"][0]

    def like(self, tensor: int, shape: list[int] | None = None) -> int:
        """An activation in the same steps."""
        return self.activation(self.shape(tensor) if shape is None else shape, *self.quantization(tensor))

    def weights(self, shape: list[int], rows: int, columns: int | None) -> np.ndarray:
        """Weights of which some rows and columns are 0."""
        made = self.rng.integers(-40, 41, shape).astype(np.int8)
        for axis, share in ((rows, 0.4), (columns, 0.3)):
            if axis is not None:
                dead = self.rng.random(shape[axis]) < share
                made[(slice(None),) * axis + (dead,)] = 0
        return made

    def bias(self, data: int, scales: list[float]) -> int:
        """A bias in the layer's own unit."""
        count = len(scales)
        values = self.rng.choice([0, 1, -1], count) * self.rng.integers(0, 20000, count)
        unit = self.quantization(data)[0]
        kind = np.int64 if self.wide else np.int32
        return self.constant(values.astype(kind), [unit * scale for scale in scales], [0] * count)

    def model(self, inputs: list[int], outputs: list[int]) -> bytes:
        """The file."""
        subgraph = {"tensors": self.tensors, "inputs": inputs, "outputs": outputs, "operators": self.operators}
        codes = [operator_code(op) for op in self.codes]
        return write({"version": 3, "operator_codes": codes, "subgraphs": [subgraph], "buffers": self.buffers})

    def scales(self, count: int) -> list[float]:
        """A scale for each output channel."""
        return [float(scale) for scale in self.rng.uniform(0.001, 0.02, count)]

    def pick(self, choices: tuple[Any, ...]) -> Any:
        """One of several."""
        return choices[int(self.rng.integers(len(choices)))]


def plane(size: int, kernel: int, stride: int, padding: str) -> int:
    """Rows or columns that a window leaves."""
    return -(-size // stride) if padding == "SAME" else (size - kernel) // stride + 1


def conv(chain: Chain, data: int) -> int:
    """A convolution to a random number of channels."""
    batch, height, width, channels = chain.shape(data)
    kernel = chain.pick((1, 1, 3)) if min(height, width) > 2 else 1
    stride, padding, rows = chain.pick((1, 1, 2)), chain.pick(("SAME", "VALID")), int(chain.rng.integers(3, 9))
    scales = chain.scales(rows)
    weights = chain.constant(chain.weights([rows, kernel, kernel, channels], 0, 3), scales, [0] * rows)
    size = [plane(each, kernel, stride, padding) for each in (height, width)]
    options = {"padding": padding, "stride_w": stride, "stride_h": stride}
    options["fused_activation_function"] = chain.pick(ACTIVATIONS)
    output = chain.activation([batch, *size, rows])
    return chain.add("CONV_2D", [data, weights, chain.bias(data, scales)], output, ("Conv2DOptions", options))


def depthwise(chain: Chain, data: int) -> int:
    """A depthwise convolution with a multiplier of 1 or 2."""
    batch, height, width, channels = chain.shape(data)
    kernel = 3 if min(height, width) > 2 else 1
    multiplier, padding = chain.pick((1, 1, 2)), chain.pick(("SAME", "VALID"))
    rows = channels * multiplier
    scales = chain.scales(rows)
    weights = chain.constant(chain.weights([1, kernel, kernel, rows], 3, None), scales, [0] * rows, 3)
    size = [plane(each, kernel, 1, padding) for each in (height, width)]
    options = {"padding": padding, "stride_w": 1, "stride_h": 1, "depth_multiplier": multiplier}
    options["fused_activation_function"] = chain.pick(ACTIVATIONS)
    output = chain.activation([batch, *size, rows])
    inputs = [data, weights, chain.bias(data, scales)]
    return chain.add("DEPTHWISE_CONV_2D", inputs, output, ("DepthwiseConv2DOptions", options))


def pool(chain: Chain, data: int) -> int:
    """A pool of 2 by 2, average or maximum."""
    batch, height, width, channels = chain.shape(data)
    if min(height, width) < 2:
        return data
    padding = chain.pick(("SAME", "VALID"))
    options = {"padding": padding, "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    size = [plane(each, 2, 2, padding) for each in (height, width)]
    output = chain.like(data, [batch, *size, channels])
    return chain.add(chain.pick(("AVERAGE_POOL_2D", "MAX_POOL_2D")), [data], output, ("Pool2DOptions", options))


def residual(chain: Chain, data: int) -> int:
    """A layer of the same channels added to what it reads."""
    channels = chain.shape(data)[3]
    scales = chain.scales(channels)
    weights = chain.constant(chain.weights([channels, 1, 1, channels], 0, 3), scales, [0] * channels)
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "fused_activation_function": "RELU"}
    made = chain.activation(chain.shape(data))
    chain.add("CONV_2D", [data, weights, chain.bias(data, scales)], made, ("Conv2DOptions", options))
    sums = {"fused_activation_function": chain.pick(ACTIVATIONS)}
    op, table = chain.pick((("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions")))
    return chain.add(op, [data, made], chain.activation(chain.shape(data)), (table, sums))


def constant_operand(chain: Chain, data: int) -> int:
    """A constant for each channel added or multiplied."""
    channels = chain.shape(data)[3]
    values = chain.rng.integers(-128, 128, channels).astype(np.int16 if chain.wide else np.int8)
    held = chain.constant(values, [0.02], [0 if chain.wide else int(values[0])])
    op, table = chain.pick((("ADD", "AddOptions"), ("MUL", "MulOptions")))
    options = {"fused_activation_function": chain.pick(ACTIVATIONS)}
    return chain.add(op, [data, held], chain.activation(chain.shape(data)), (table, options))


def activation(chain: Chain, data: int) -> int:
    """A function of each element."""
    op = chain.pick(("LEAKY_RELU", "QUANTIZE", "LOGISTIC", "TANH", *(() if chain.wide else ("HARD_SWISH", "RELU"))))
    if op == "LOGISTIC":
        return chain.add(op, [data], chain.activation(chain.shape(data), 1 / (32768 if chain.wide else 256), -128))
    if op == "TANH":
        return chain.add(op, [data], chain.activation(chain.shape(data), 1 / (32768 if chain.wide else 128), 0))
    options = ("LeakyReluOptions", {"alpha": 0.3}) if op == "LEAKY_RELU" else None
    return chain.add(op, [data], chain.activation(chain.shape(data)), options)


def concat(chain: Chain, data: int) -> int:
    """The data beside itself."""
    batch, height, width, channels = chain.shape(data)
    output = chain.like(data, [batch, height, width, 2 * channels])
    return chain.add("CONCATENATION", [data, data], output, ("ConcatenationOptions", {"axis": 3}))


def pad(chain: Chain, data: int) -> int:
    """A row and a column around the plane, and a channel behind."""
    counts = np.array([[0, 0], [1, 0], [0, 1], [0, int(chain.rng.integers(2))]], np.int32)
    shape = [size + sum(pair) for size, pair in zip(chain.shape(data), counts.tolist(), strict=True)]
    return chain.add("PAD", [data, chain.constant(counts, [], [])], chain.like(data, shape))


def slice_(chain: Chain, data: int) -> int:
    """All channels but the first."""
    batch, height, width, channels = chain.shape(data)
    if channels == 1:
        return data
    starts = chain.constant(np.array([0, 0, 0, 1], np.int32), [], [])
    ends = chain.constant(np.array([batch, height, width, channels], np.int32), [], [])
    steps = chain.constant(np.ones(4, np.int32), [], [])
    output = chain.like(data, [batch, height, width, channels - 1])
    return chain.add("STRIDED_SLICE", [data, starts, ends, steps], output, ("StridedSliceOptions", {"begin_mask": 7}))


def mean_and_dense(chain: Chain, data: int) -> int:
    """The mean of the plane, then a dense layer."""
    batch, _, _, channels = chain.shape(data)
    axes = chain.constant(np.array([1, 2], np.int32), [], [])
    flat = chain.add("MEAN", [data, axes], chain.like(data, [batch, channels]), ("ReducerOptions", {}))
    weights = chain.constant(chain.weights([5, channels], 0, 1), [0.01], [0])
    options = {"fused_activation_function": chain.pick(ACTIVATIONS)}
    unit = chain.quantization(flat)[0] * 0.01
    values = chain.rng.integers(-2000, 2000, 5).astype(np.int64 if chain.wide else np.int32)
    bias = chain.constant(values, [unit], [0])
    inputs = [flat, weights, bias]
    return chain.add("FULLY_CONNECTED", inputs, chain.activation([batch, 5]), ("FullyConnectedOptions", options))


def flat_dense(chain: Chain, data: int) -> int:
    """All elements in a row, then a dense layer."""
    shape = chain.shape(data)
    count = int(np.prod(shape))
    target = chain.constant(np.array([1, count], np.int32), [], [])
    row = chain.like(data, [1, count])
    chain.add("RESHAPE", [data, target], row, ("ReshapeOptions", {"new_shape": [1, count]}))
    weights = chain.constant(chain.weights([4, count], 0, 1), [0.01], [0])
    options = {"fused_activation_function": chain.pick(ACTIVATIONS)}
    made = chain.activation([1, 4])
    return chain.add("FULLY_CONNECTED", [row, weights, -1], made, ("FullyConnectedOptions", options))


STEPS: tuple[Callable[[Chain, int], int], ...] = (
    *(conv, conv, conv, depthwise, depthwise, pool, residual, constant_operand, activation, concat, pad, slice_),
)


def random_chain(seed: int, steps: int = 5, *, wide: bool = False) -> bytes:
    """A model of some random layers, a convolution first, a dense layer last."""
    chain = Chain(seed, wide=wide)
    data = start = chain.activation([1, 7, 6, 3])
    data = conv(chain, data)
    for _ in range(steps):
        data = chain.pick(STEPS)(chain, data)
    return chain.model([start], [chain.pick((mean_and_dense, flat_dense))(chain, data)])
