"""Random small quantized `.tflite` models with channels that do nothing, as converters write them."""

from __future__ import annotations

import random
from typing import Any

from support.tflite_writer import operator_code, write

VERSIONS = {"CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 4, "ADD": 2, "MEAN": 2, "SOFTMAX": 2, "PAD": 2}
"""Versions of operators on int8; 1 for others. A concatenation and pools of int8 have 2."""
SECOND = ("CONCATENATION", "AVERAGE_POOL_2D", "MAX_POOL_2D", "LOGISTIC", "MUL", "RELU")


class RandomModel:
    """A chain of layers with branches, built by one random source."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.tensors: list[dict[str, Any]] = []
        self.buffers: list[dict[str, Any]] = [{}]
        self.operators: list[dict[str, Any]] = []
        self.codes: list[str] = []

    def tensor(self, name: str, shape: list[int], scale: float, zero: int, **more: Any) -> int:
        """A computed tensor of int8."""
        quantization = {"scale": [scale], "zero_point": [zero]}
        self.tensors.append(
            {"name": name, "shape": shape, "type": "INT8", "buffer": 0, "quantization": quantization, **more}
        )
        return len(self.tensors) - 1

    def constant(
        self, name: str, shape: list[int], kind: str, values: list[int], scales: list[float], axis: int
    ) -> int:
        """A stored tensor; `scales` empty for plain numbers."""
        width = {"INT8": 1, "INT32": 4}[kind]
        data = b"".join(value.to_bytes(width, "little", signed=True) for value in values)
        self.buffers.append({"data": list(data)})
        quantization = {"scale": scales, "zero_point": [0] * len(scales), "quantized_dimension": axis}
        self.tensors.append(
            {
                "name": name,
                "shape": shape,
                "type": kind,
                "buffer": len(self.buffers) - 1,
                **({"quantization": quantization} if scales else {}),
            }
        )
        return len(self.tensors) - 1

    def operator(self, op: str, inputs: list[int], output: int, options: tuple[str, dict[str, Any]] | None) -> int:
        """One operator; returns its output."""
        if op not in self.codes:
            self.codes.append(op)
        code = self.codes.index(op)
        self.operators.append({"opcode_index": code, "inputs": inputs, "outputs": [output], "builtin_options": options})
        return output

    def shape(self, tensor: int) -> list[int]:
        return self.tensors[tensor]["shape"]

    def scale(self, tensor: int) -> tuple[float, int]:
        quantization = self.tensors[tensor]["quantization"]
        return quantization["scale"][0], quantization["zero_point"][0]

    def weights(self, name: str, shape: list[int], axis: int, source: int, dead: set[int]) -> tuple[int, int]:
        """Weights with a scale for each channel and their bias; dead channels are 0 with a bias of at most 0."""
        rng, count = self.rng, shape[axis]
        scales = [rng.choice([0.002, 0.004, 0.01]) for _ in range(count)]
        sizes = 1
        for size in shape:
            sizes *= size
        inner = 1
        for size in shape[axis + 1 :]:
            inner *= size
        channel = [index // inner % count for index in range(sizes)]
        values = [0 if place in dead else rng.randrange(-127, 128) for place in channel]
        biases = [
            rng.choice([0, -7, -300, 900]) if place in dead else rng.randrange(-900, 900) for place in range(count)
        ]
        stored = self.constant(f"{name}/w", shape, "INT8", values, scales, axis)
        products = [self.scale(source)[0] * scale for scale in scales]
        return stored, self.constant(f"{name}/b", [count], "INT32", biases, products, 0)

    def dead(self, count: int) -> set[int]:
        """Some channels, never all."""
        chosen = {place for place in range(count) if self.rng.random() < 0.35}
        return chosen if len(chosen) < count else set()

    def made(self, name: str, shape: list[int], *, like: int | None = None) -> int:
        """A computed tensor with a scale drawn, or that of another."""
        scale, zero = (
            self.scale(like) if like is not None else (self.rng.choice([0.02, 0.05]), self.rng.choice([-128, 0]))
        )
        return self.tensor(name, shape, scale, zero)

    def convolution(self, source: int) -> int:
        rng, number = self.rng, len(self.operators)
        batch, height, width, channels = self.shape(source)
        kernel, count, padding = rng.choice([1, 1, 3]), rng.randrange(2, 9), rng.choice(["SAME", "VALID"])
        if padding == "VALID" and kernel > min(height, width):
            padding = "SAME"
        options = {
            "padding": padding,
            "stride_w": 1,
            "stride_h": 1,
            "fused_activation_function": rng.choice(["RELU", "NONE"]),
        }
        less = kernel - 1 if padding == "VALID" else 0
        pair = self.weights(f"conv{number}", [count, kernel, kernel, channels], 0, source, self.dead(count))
        made = self.made(f"conv{number}", [batch, height - less, width - less, count])
        return self.operator("CONV_2D", [source, *pair], made, ("Conv2DOptions", options))

    def depthwise(self, source: int) -> int:
        rng, number = self.rng, len(self.operators)
        channels, multiplier = self.shape(source)[3], rng.choice([1, 1, 2])
        options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "depth_multiplier": multiplier}
        options["fused_activation_function"] = rng.choice(["RELU", "RELU6"])
        count = channels * multiplier
        pair = self.weights(f"dw{number}", [1, 3, 3, count], 3, source, self.dead(count))
        made = self.made(f"dw{number}", [*self.shape(source)[:3], count])
        return self.operator("DEPTHWISE_CONV_2D", [source, *pair], made, ("DepthwiseConv2DOptions", options))

    def residual(self, source: int) -> int:
        """A convolution with as many channels beside its input."""
        number, (batch, height, width, channels) = len(self.operators), self.shape(source)
        options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "fused_activation_function": "RELU"}
        pair = self.weights(f"conv{number}", [channels, 1, 1, channels], 0, source, self.dead(channels))
        other = self.operator(
            "CONV_2D", [source, *pair], self.made(f"conv{number}", self.shape(source)), ("Conv2DOptions", options)
        )
        made = self.made(f"add{number}", [batch, height, width, channels])
        return self.operator("ADD", [source, other], made, ("AddOptions", {}))

    def joined(self, source: int) -> int:
        """Two convolutions side by side."""
        scale = self.scale(source)
        parts = []
        for _ in range(2):
            number, (batch, height, width, channels) = len(self.operators), self.shape(source)
            count = self.rng.randrange(2, 6)
            options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "fused_activation_function": "RELU"}
            pair = self.weights(f"conv{number}", [count, 1, 1, channels], 0, source, self.dead(count))
            part = self.tensor(f"conv{number}", [batch, height, width, count], *scale)
            parts.append(self.operator("CONV_2D", [source, *pair], part, ("Conv2DOptions", options)))
        shape = [*self.shape(source)[:3], sum(self.shape(part)[3] for part in parts)]
        made = self.tensor(f"concat{len(self.operators)}", shape, *scale)
        return self.operator("CONCATENATION", parts, made, ("ConcatenationOptions", {"axis": 3}))

    def pool(self, source: int) -> int:
        batch, height, width, channels = self.shape(source)
        op = self.rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])
        options = {"padding": "SAME", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
        shape = [batch, (height + 1) // 2, (width + 1) // 2, channels]
        made = self.made(f"pool{len(self.operators)}", shape, like=source)
        return self.operator(op, [source], made, ("Pool2DOptions", options))

    def transposed(self, source: int) -> int:
        """A transposed convolution, which is told the shape of what it makes."""
        number, (batch, height, width, channels) = len(self.operators), self.shape(source)
        count = self.rng.randrange(2, 6)
        shape = [batch, 2 * height, 2 * width, count]
        pair = self.weights(f"up{number}", [count, 2, 2, channels], 0, source, self.dead(count))
        sizes = self.constant(f"sizes{number}", [4], "INT32", shape, [], 0)
        options = {"padding": "SAME", "stride_w": 2, "stride_h": 2}
        made = self.made(f"up{number}", shape)
        inputs = [sizes, pair[0], source, pair[1]]
        return self.operator("TRANSPOSE_CONV", inputs, made, ("TransposeConvOptions", options))

    def sliced(self, source: int) -> int:
        """Some channels of two halves, exchanged."""
        number, (batch, height, width, channels) = len(self.operators), self.shape(source)
        axis = self.constant(f"axis{number}", [], "INT32", [3], [], 0)
        if channels % 2:
            return self.pool(source)
        halves = [self.made(f"half{number}{side}", [batch, height, width, channels // 2], like=source) for side in "ab"]
        self.operator("SPLIT", [axis, source], halves[0], ("SplitOptions", {"num_splits": 2}))
        self.operators[-1]["outputs"] = halves
        made = self.made(f"swapped{number}", [batch, height, width, channels], like=source)
        return self.operator("CONCATENATION", halves[::-1], made, ("ConcatenationOptions", {"axis": 3}))

    def averaged(self, source: int) -> int:
        """The mean of each channel."""
        number, (batch, _, _, channels) = len(self.operators), self.shape(source)
        axes = self.constant(f"axes{number}", [2], "INT32", [1, 2], [], 0)
        made = self.made(f"mean{number}", [batch, 1, 1, channels], like=source)
        return self.operator("MEAN", [source, axes], made, ("ReducerOptions", {"keep_dims": True}))

    def scaled(self, source: int) -> int:
        """A channel's factor, as squeeze and excitation has it: a constant for each."""
        number, channels = len(self.operators), self.shape(source)[3]
        factors = [self.rng.randrange(-120, 120) for _ in range(channels)]
        stored = self.constant(f"factors{number}", [1, 1, 1, channels], "INT8", factors, [0.01], 0)
        return self.operator("MUL", [source, stored], self.made(f"mul{number}", self.shape(source)), ("MulOptions", {}))

    def padded(self, source: int) -> int:
        batch, height, width, channels = self.shape(source)
        pads = self.constant(f"pads{len(self.operators)}", [4, 2], "INT32", [0, 0, 1, 0, 0, 1, 0, 0], [], 0)
        made = self.made(f"pad{len(self.operators)}", [batch, height + 1, width + 1, channels], like=source)
        return self.operator("PAD", [source, pads], made, ("PadOptions", {}))

    def head(self, source: int) -> int:
        """Everything in one row, and a fully connected layer."""
        size = 1
        for each in self.shape(source):
            size *= each
        sizes = self.constant("sizes", [2], "INT32", self.rng.choice([[1, size], [-1, size]]), [], 0)
        options = ("ReshapeOptions", {"new_shape": self.rng.choice([[1, size], [-1, size]])})
        row = self.operator("RESHAPE", [source, sizes], self.made("row", [1, size], like=source), options)
        pair = self.weights("dense", [3, size], 0, row, set())
        for tensor in pair:
            stored = self.tensors[tensor]["quantization"]
            stored["scale"], stored["zero_point"] = [stored["scale"][0]], [0]
        made = self.made("dense", [1, 3])
        return self.operator("FULLY_CONNECTED", [row, *pair], made, ("FullyConnectedOptions", {}))

    def finished(self, source: int, last: int) -> bytes:
        """The file."""
        versions = {op: VERSIONS.get(op, 2 if op in SECOND else 1) for op in self.codes}
        self.buffers.append({"data": list(b"1.14.0\0\0")})
        graph = {
            "tensors": self.tensors,
            "inputs": [source],
            "outputs": [last],
            "operators": self.operators,
            "name": "main",
        }
        return write(
            {
                "version": 3,
                "operator_codes": [operator_code(op, versions[op]) for op in self.codes],
                "subgraphs": [graph],
                "description": "random",
                "buffers": self.buffers,
                "metadata": [{"name": "min_runtime_version", "buffer": len(self.buffers) - 1}],
                "signature_defs": [
                    {
                        "signature_key": "serving_default",
                        "inputs": [{"name": "x", "tensor_index": source}],
                        "outputs": [{"name": "y", "tensor_index": last}],
                    }
                ],
            }
        )


def random_tflite(seed: int) -> bytes:
    """A model of 3 to 6 layers and a fully connected one."""
    model = RandomModel(seed)
    rng = model.rng
    source = last = model.tensor("x", [1, 6, 6, 3], 0.05, -3, shape_signature=[-1, 6, 6, 3])
    last = model.convolution(last)
    steps = [model.convolution, model.depthwise, model.residual, model.joined, model.pool, model.padded]
    steps += [model.transposed, model.sliced, model.averaged, model.scaled]
    for step in rng.choices(steps, k=rng.randrange(2, 6)):
        last = step(last)
    last = model.convolution(last)
    return model.finished(source, model.head(last))
