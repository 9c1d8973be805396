"""Models for `tflite_writer.write` in the making: tensors, constants and operators of int8 or int16, by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from support.tflite_writer import operator_code, write

VERSIONS = {"CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 4} | dict.fromkeys(
    ("ADD", "MEAN", "PAD", "CONCATENATION", "AVERAGE_POOL_2D", "MAX_POOL_2D", "LOGISTIC", "MUL", "RELU"), 2
)
"""Versions of operators on int8; 1 for others."""


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
        name = more.pop("name", "") or f"t{len(self.tensors)}"
        self.tensors.append({"name": name, "shape": shape, "type": kind, "quantization": quantization, **more})
        return len(self.tensors) - 1

    def activation(self, shape: list[int], scale: float | None = None, zero: int | None = None, **more: Any) -> int:
        """An activation, of random scale and zero-point where none are given."""
        if self.wide:
            step = float(self.rng.uniform(0.0001, 0.001)) if scale is None else scale
            return self.tensor(shape, scale=[step], zero=[0], kind="INT16", buffer=0, **more)
        step = float(self.rng.uniform(0.01, 0.1)) if scale is None else scale
        point = int(self.rng.integers(-128, 128)) if zero is None else zero
        return self.tensor(shape, scale=[step], zero=[point], buffer=0, **more)

    def constant(
        self, values: np.ndarray, scale: list[float], zero: list[int] | None = None, axis: int = 0, name: str = ""
    ) -> int:
        """A constant of the values' type; its zero-points are 0 where none are given, plain numbers have no `scale`."""
        zero = [0] * len(scale) if zero is None else zero
        self.buffers.append({"data": list(np.ascontiguousarray(values).tobytes())})
        kind = values.dtype.name.upper()
        shape, buffer = list(values.shape), len(self.buffers) - 1
        return self.tensor(shape, scale=scale, zero=zero, kind=kind, buffer=buffer, axis=axis, name=name)

    def add(self, op: str, inputs: list[int], output: int, options: tuple[str, dict[str, Any]] | None = None) -> int:
        """An operator; its output."""
        if op not in self.codes:
            self.codes.append(op)
        operator = {"opcode_index": self.codes.index(op), "inputs": inputs, "outputs": [output]}
        self.operators.append({**operator, "builtin_options": options})
        return output

    def shape(self, tensor: int) -> list[int]:
        """Shape of a tensor."""
        return list(self.tensors[tensor]["shape"])

    def quantization(self, tensor: int) -> tuple[float, int]:
        """Scale and zero-point of an activation."""
        quantization = self.tensors[tensor]["quantization"]
        return quantization["scale"][0], quantization["zero_point"][0]

    def like(self, tensor: int, shape: list[int] | None = None) -> int:
        """An activation in the same steps."""
        return self.activation(self.shape(tensor) if shape is None else shape, *self.quantization(tensor))

    def weights(self, shape: list[int], rows: int, columns: int | None) -> np.ndarray:
        """Weights of which some rows and columns are 0."""
        weights = self.rng.integers(-40, 41, shape).astype(np.int8)
        for axis, share in ((rows, 0.4), (columns, 0.3)):
            if axis is not None:
                dead = self.rng.random(shape[axis]) < share
                weights[(slice(None),) * axis + (dead,)] = 0
        return weights

    def bias(self, data: int, scales: list[float]) -> int:
        """A bias in the layer's own unit."""
        count = len(scales)
        values = self.rng.choice([0, 1, -1], count) * self.rng.integers(0, 20000, count)
        unit = self.quantization(data)[0]
        kind = np.int64 if self.wide else np.int32
        return self.constant(values.astype(kind), [unit * scale for scale in scales], [0] * count)

    def model(self, inputs: list[int], outputs: list[int], *, versions: Mapping[str, int] = {}, **more: Any) -> bytes:
        """The file, with the versions of its operators and further fields."""
        subgraph = {"tensors": self.tensors, "inputs": inputs, "outputs": outputs, "operators": self.operators}
        codes = [operator_code(op, versions.get(op, 1)) for op in self.codes]
        file = {"version": 3, "operator_codes": codes, "subgraphs": [subgraph], "buffers": self.buffers}
        return write({**file, **more})

    def converted(self, start: int, end: int) -> bytes:
        """The file with what a converter writes beside the model: versions, a description, metadata, a signature."""
        self.buffers.append({"data": list(b"1.14.0\0\0")})
        ends = {"inputs": [{"name": "x", "tensor_index": start}], "outputs": [{"name": "y", "tensor_index": end}]}
        return self.model(
            [start],
            [end],
            versions=VERSIONS,
            description="random",
            metadata=[{"name": "min_runtime_version", "buffer": len(self.buffers) - 1}],
            signature_defs=[{"signature_key": "serving_default", **ends}],
        )

    def scales(self, count: int) -> list[float]:
        """A scale for each output channel."""
        return [float(scale) for scale in self.rng.uniform(0.001, 0.02, count)]

    def pick(self, choices: tuple[Any, ...]) -> Any:
        """One of several."""
        return choices[int(self.rng.integers(len(choices)))]
