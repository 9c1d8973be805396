"""Random `.tflite` nets of blocks that expand, filter each channel and project, as mobile nets do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from support.tflite_models import tensor
from support.tflite_writer import operator_code, write

CODES = (
    "CONV_2D", "DEPTHWISE_CONV_2D", "PAD", "AVERAGE_POOL_2D", "MAX_POOL_2D", "ADD", "QUANTIZE", "RELU", "MEAN",
    "GATHER", "SLICE", "CONCATENATION", "PADV2",
    "MUL", "SUB", "MAXIMUM",
)  # fmt: skip
VERSIONS = {
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "PAD": 2,
    "AVERAGE_POOL_2D": 2,
    "MAX_POOL_2D": 2,
    "ADD": 2,
    "RELU": 2,
    "GATHER": 2,
    "SLICE": 2,
    "CONCATENATION": 2,
    "PADV2": 2,
    "MUL": 2,
    "SUB": 2,
    "MAXIMUM": 2,
}
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "ADD": ("AddOptions", {}),
    "MUL": ("MulOptions", {}),
    "SUB": ("SubOptions", {}),
    "MAXIMUM": ("MaximumMinimumOptions", {}),
}
BIAS = {"INT8": ("INT32", "<i4"), "INT16": ("INT64", "<i8"), "FLOAT32": ("FLOAT32", "<f4")}


class Net:
    """A net in the making."""

    def __init__(self, seed: int, kind: str = "INT8") -> None:
        self.rng, self.values, self.kind = random.Random(seed), np.random.default_rng(seed), kind
        self.tensors: list[dict[str, Any]] = []
        self.buffers: list[dict[str, Any]] = [{}]
        self.operators: list[dict[str, Any]] = []

    def activation(self, shape: list[int], kind: str = "") -> int:
        kind = kind or self.kind
        new = tensor(f"t{len(self.tensors)}", shape, type=kind)
        new["quantization"] = None
        if kind != "FLOAT32":
            zero = {"INT8": self.rng.randint(-8, 8), "UINT8": 128}.get(kind, 0)
            new["quantization"] = {"scale": [self.rng.choice([0.05, 0.1, 0.07])], "zero_point": [zero]}
        self.tensors.append(new)
        return len(self.tensors) - 1

    def scaled_as(self, other: int, shape: list[int]) -> int:
        """An activation with the scale and the zero-point of another tensor."""
        new = self.activation(shape)
        self.tensors[new]["quantization"] = self.tensors[other]["quantization"]
        return new

    def constant(self, values: Any, kind: str, scales: Any = None, axis: int = 0) -> int:
        new = tensor(f"t{len(self.tensors)}", [*values.shape], len(self.buffers), type=kind)
        new["quantization"] = None
        if scales is not None:
            zeros = [0] * len(scales)
            new["quantization"] = {"scale": [*map(float, scales)], "zero_point": zeros, "quantized_dimension": axis}
        self.buffers.append({"data": [*values.tobytes()]})
        self.tensors.append(new)
        return len(self.tensors) - 1

    def shape(self, number: int) -> list[int]:
        shape: list[int] = self.tensors[number]["shape"]
        return shape

    def operator(
        self, op: str, inputs: list[int], output: int, options: tuple[str, dict[str, Any]] | None = None
    ) -> int:
        row = {"opcode_index": CODES.index(op), "inputs": inputs, "outputs": [output], "builtin_options": options}
        self.operators.append(row)
        return output

    def weights(self, source: int, shape: list[int], axis: int) -> list[int]:
        """Weights and bias of a layer, with a scale for each channel."""
        channels = shape[axis]
        if self.kind == "FLOAT32":
            values = self.values.normal(size=shape).astype("<f4")
            return [
                self.constant(values, "FLOAT32"),
                self.constant(self.values.normal(size=channels).astype("<f4"), "FLOAT32"),
            ]
        scales = np.float32(self.values.uniform(0.005, 0.02, channels))
        values = self.values.integers(-127, 128, shape).astype("i1")
        bias_type, layout = BIAS[self.kind]
        bias = self.values.integers(-500, 500, channels).astype(layout)
        unit = np.float32(self.tensors[source]["quantization"]["scale"][0]) * scales
        return [self.constant(values, "INT8", scales, axis), self.constant(bias, bias_type, unit)]

    def convolution(self, source: int, channels: int, kernel: int = 1, stride: int = 1) -> int:
        batch, height, width, depth = self.shape(source)
        inputs = [source, *self.weights(source, [channels, kernel, kernel, depth], 0)]
        output = self.activation([batch, -(-height // stride), -(-width // stride), channels])
        options = {
            "padding": "SAME",
            "stride_w": stride,
            "stride_h": stride,
            "dilation_w_factor": 1,
            "dilation_h_factor": 1,
        }
        options["fused_activation_function"] = self.rng.choice(["NONE", "RELU", "RELU6"])
        return self.operator("CONV_2D", inputs, output, ("Conv2DOptions", options))

    def depthwise(self, source: int, stride: int, dilation: int, padding: str, kernel: tuple[int, int] = (3, 3)) -> int:
        batch, height, width, depth = self.shape(source)
        inputs = [source, *self.weights(source, [1, *kernel, depth], 3)]
        reach = [1 + (size - 1) * dilation for size in kernel]
        same = padding == "SAME"
        sizes = [
            -(-size // stride) if same else -(-(size - r + 1) // stride)
            for size, r in zip((height, width), reach, strict=True)
        ]
        output = self.activation([batch, *sizes, depth])
        options = {"padding": padding, "stride_w": stride, "stride_h": stride, "depth_multiplier": 1,
                   "dilation_w_factor": dilation, "dilation_h_factor": dilation,
                   "fused_activation_function": self.rng.choice(["NONE", "RELU"])}  # fmt: skip
        return self.operator("DEPTHWISE_CONV_2D", inputs, output, ("DepthwiseConv2DOptions", options))

    def padded(self, source: int) -> int:
        batch, height, width, depth = self.shape(source)
        amounts = self.constant(np.array([[0, 0], [0, 1], [1, 1], [0, 0]], "<i4"), "INT32")
        output = self.activation([batch, height + 1, width + 2, depth])
        self.tensors[output]["quantization"] = self.tensors[source]["quantization"]
        return self.operator("PAD", [source, amounts], output, ("PadOptions", {}))

    def pool(self, source: int) -> int:
        batch, height, width, depth = self.shape(source)
        output = self.activation([batch, height // 2, width // 2, depth])
        self.tensors[output]["quantization"] = self.tensors[source]["quantization"]
        options = {"padding": "VALID", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
        op = self.rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])
        return self.operator(op, [source], output, ("Pool2DOptions", options))

    def beside(self, op: str, source: int, shape: list[int], *, swapped: bool = False) -> int:
        """ADD, MUL, SUB or MAXIMUM of a map and a constant of these sizes."""
        values = self.values.integers(-90, 91, shape).astype({"INT8": "i1", "INT16": "<i2"}[self.kind])
        other = self.constant(values, self.kind, [])
        self.tensors[other]["quantization"] = self.tensors[source]["quantization"]
        output = self.activation(self.shape(source)) if op != "MAXIMUM" else self.scaled_as(source, self.shape(source))
        inputs = [other, source] if swapped else [source, other]
        return self.operator(op, inputs, output, OPTIONS.get(op))

    def block(self, source: int) -> int:
        """Expand, filter each channel, project, and add what came in where sizes allow it."""
        rng, depth = self.rng, self.shape(source)[-1]
        stride, dilation = rng.choice([(1, 1), (1, 1), (2, 1), (1, 2)])
        wide = self.convolution(source, depth * rng.choice([3, 4, 6]))
        if rng.random() < 0.3 and dilation == 1:
            filtered = self.depthwise(self.padded(wide), stride, 1, "VALID")
        else:
            filtered = self.depthwise(wide, stride, dilation, "SAME")
        if rng.random() < 0.2 and min(self.shape(filtered)[1:3]) > 1:
            filtered = self.pool(filtered)
        narrow = self.convolution(filtered, depth)
        if self.shape(narrow) != self.shape(source) or rng.random() < 0.3:
            return narrow
        return self.operator("ADD", [narrow, source], self.activation(self.shape(source)), ("AddOptions", {}))

    def row_block(self, source: int) -> int:
        """The same over a row."""
        wide = self.convolution(source, self.shape(source)[-1] * 4)
        return self.convolution(self.depthwise(wide, 1, 1, "SAME", (1, 3)), self.shape(source)[-1])

    def model(self, output: int) -> dict[str, Any]:
        """The net as a dict."""
        main = {"tensors": self.tensors, "inputs": [0], "outputs": [output], "operators": self.operators}
        codes = [operator_code(op, VERSIONS.get(op, 1)) for op in CODES]
        return {"version": 3, "operator_codes": codes, "subgraphs": [main], "buffers": self.buffers}


def net(seed: int, kind: str = "") -> bytes:
    """A random net."""
    rng = random.Random(seed)
    drawn = Net(seed, kind or rng.choice(["INT8"] * 4 + ["INT16", "FLOAT32"]))
    height, width = rng.choice([(32, 32), (24, 40), (17, 13), (1, 256)])
    last = drawn.activation([1, height, width, rng.choice([1, 3, 4])])
    last = drawn.convolution(
        last, rng.choice([4, 6, 8]), 1 if height == 1 else 3, rng.choice([1, 2]) if height > 8 else 1
    )
    for _ in range(rng.randint(1, 3)):
        if height == 1:
            last = drawn.row_block(last)
        elif min(drawn.shape(last)[1:3]) >= 3:
            last = drawn.block(last)
    return write(drawn.model(last))


def expanding(kind: str = "INT8", *, seed: int = 5, **more: Any) -> bytes:
    """A net of which one expanded map of 24 channels takes most."""
    mobile = Net(seed, kind)
    first = mobile.convolution(mobile.activation([1, 24, 24, 3]), 4, 3)
    wide = mobile.convolution(first, 24)
    filtered = mobile.depthwise(
        wide, more.get("stride", 2), more.get("dilation", 1), "SAME", more.get("kernel", (3, 3))
    )
    return write(mobile.model(mobile.convolution(filtered, 4)))
