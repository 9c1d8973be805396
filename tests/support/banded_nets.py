"""A net of which some layers are computed in bands of rows or columns, and the same net without, for the checker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from support.expanding_nets import Net
from support.tflite_writer import write
from support.turned_nets import turned


class Layer(NamedTuple):
    """A layer with a window."""

    op: str
    """CONV_2D, DEPTHWISE_CONV_2D or a pool."""
    channels: int
    """Channels of its result."""
    kernel: tuple[int, int] = (3, 3)
    """Height and width."""
    stride: int = 1
    """Of both axes."""
    dilation: int = 1
    """Of rows."""
    padding: str = "SAME"
    """SAME or VALID."""

    def rows(self, size: int) -> tuple[int, int]:
        """Rows of the result of a plane with so many rows, and of the padding in front."""
        reach = 1 + (self.kernel[0] - 1) * self.dilation
        if self.padding == "VALID":
            return -(-(size - reach + 1) // self.stride), 0
        result = -(-size // self.stride)
        return result, max((result - 1) * self.stride + reach - size, 0) // 2

    def columns(self, size: int) -> tuple[int, int, int]:
        """Columns of the result, and of the padding on both sides."""
        if self.padding == "VALID":
            return -(-(size - self.kernel[1] + 1) // self.stride), 0, 0
        result = -(-size // self.stride)
        more = max((result - 1) * self.stride + self.kernel[1] - size, 0)
        return result, more // 2, more - more // 2


class Wrong(NamedTuple):
    """What is done wrong on the way, nothing as it stands."""

    rows: Callable[[list[int]], list[int]] = list
    """Rows that a band takes from the map, in place of these."""
    joined: Callable[[list[int]], list[int]] = list
    """Bands that are joined, in place of these."""
    amounts: Callable[[tuple[int, int]], tuple[int, int]] = tuple  # type: ignore[assignment]
    """Rows of padding above and below, in place of these."""
    pad: str = "PAD"
    """PADV2 pads with another number than the zero-point."""
    zero: int = 0
    """Added to the zero-point of what is padded."""
    cut: str = "GATHER"
    """How rows are taken: GATHER or SLICE."""


class Banded(Net):
    """A chain of layers with a residual around the first, in whole or in bands of rows, or of columns."""

    def __init__(self, layers: Sequence[Layer], sizes: tuple[int, int], kind: str = "INT8", axis: int = 1) -> None:
        super().__init__(1, kind)
        self.axis = axis
        self.layers = layers
        self.data = self.activation([1, *sizes, layers[0].channels])
        self.results, self.constants = [], []
        height, width, depth = sizes[0], sizes[1], layers[0].channels
        source = self.data
        for layer in layers:
            shape = [layer.channels, *layer.kernel, depth]
            if layer.op.startswith("DEPTHWISE"):
                shape = [1, *layer.kernel, layer.channels]
            pools = "POOL" in layer.op
            axis = 3 if layer.op.startswith("DEPTHWISE") else 0
            self.constants.append([] if pools else self.weights(source, shape, axis))
            (height, _), (width, _, _), depth = layer.rows(height), layer.columns(width), layer.channels
            before, source = source, self.activation([1, height, width, depth])
            if pools:
                self.tensors[source]["quantization"] = self.tensors[before]["quantization"]
            self.results.append(source)
        self.summed = self.like(self.results[0], self.shape(self.results[0])[1])

    def like(self, other: int, rows: int, width: int | None = None) -> int:
        """A tensor of other sizes than one of the net."""
        _, _, old, depth = self.shape(other)
        new = self.activation([1, rows, width or old, depth])
        self.tensors[new]["quantization"] = self.tensors[other]["quantization"]
        return new

    def layer(self, number: int, source: int, result: int, padding: str) -> int:
        """One layer, in whole or of a band."""
        layer = self.layers[number]
        options: dict[str, Any] = {"padding": padding, "stride_w": layer.stride, "stride_h": layer.stride}
        if "POOL" in layer.op:
            more = {"filter_height": layer.kernel[0], "filter_width": layer.kernel[1]}
            return self.operator(layer.op, [source], result, ("Pool2DOptions", options | more))
        options |= {"dilation_w_factor": 1, "dilation_h_factor": layer.dilation, "fused_activation_function": "RELU"}
        table = "Conv2DOptions"
        if layer.op.startswith("DEPTHWISE"):
            table, options = "DepthwiseConv2DOptions", options | {"depth_multiplier": 1}
        return self.operator(layer.op, [source, *self.constants[number]], result, (table, options))

    def whole(self) -> bytes:
        """The file without bands."""
        source = self.data
        for number, result in enumerate(self.results):
            source = self.layer(number, source, result, self.layers[number].padding)
            if number == 0 and self.shape(self.data) == self.shape(result):
                source = self.operator("ADD", [self.data, source], self.summed, ("AddOptions", {}))
        return self.written(source)

    def bands(self, ends: Sequence[int], wrong: Wrong | None = None) -> bytes:
        """The file with bands of the result, which end in these rows."""
        return self.joined([*zip((0, *ends), ends, strict=False)], wrong)

    def joined(self, spans: Sequence[tuple[int, int]], wrong: Wrong | None = None) -> bytes:
        """The file with bands of these rows of the result, first and end, one behind the other."""
        wrong = wrong or Wrong()
        parts = wrong.joined([self._band(first, end, wrong) for first, end in spans])
        options = ("ConcatenationOptions", {"axis": 1})
        return self.written(self.operator("CONCATENATION", parts, self.results[-1], options))

    def written(self, output: int) -> bytes:
        """The file, with rows as columns where bands are of columns."""
        model = self.model(output)
        return write(turned(model) if self.axis == 2 else model)

    def _band(self, first: int, end: int, wrong: Wrong) -> int:
        """One band; each layer is asked for the rows that the next one reads."""
        tensors = [self.data, *self.results]
        wanted = [(first, end)]
        for number in reversed(range(len(self.layers))):
            layer, height = self.layers[number], self.shape(tensors[number])[1]
            low, last = (row * layer.stride - layer.rows(height)[1] for row in (wanted[0][0], wanted[0][1] - 1))
            high = last + 1 + (layer.kernel[0] - 1) * layer.dilation
            wanted.insert(0, (max(0, low), min(height, high)))
        source = self.cut(self.data, range(*wanted[0]), wrong)
        for number, layer in enumerate(self.layers):
            (low, high), (begin, stop) = wanted[number : number + 2]
            height, width = self.shape(tensors[number])[1:3]
            top = layer.rows(height)[1] - begin * layer.stride + low
            reach = 1 + (layer.kernel[0] - 1) * layer.dilation
            bottom = (stop - begin - 1) * layer.stride + reach - top - (high - low)
            source = self.padded_by(source, wrong.amounts((top, bottom)), layer.columns(width)[1:], wrong)
            result = self.like(self.results[number], stop - begin)
            source = self.layer(number, source, result, "VALID")
            if number == 0 and self.shape(self.data) == self.shape(self.results[0]):
                other = self.cut(self.data, range(begin, stop), wrong)
                source = self.operator("ADD", [other, source], self.like(self.summed, stop - begin), ("AddOptions", {}))
        return source

    def cut(self, source: int, rows: range, wrong: Wrong) -> int:
        """Rows of a map."""
        taken = wrong.rows([*rows])
        result = self.like(source, len(taken))
        if wrong.cut == "SLICE":
            _, _, width, depth = self.shape(source)
            begin, size = [0, taken[0], 0, 0], [1, len(taken), width, depth]
            limits = [self.constant(np.array(numbers, "<i4"), "INT32") for numbers in (begin, size)]
            return self.operator("SLICE", [source, *limits], result, ("SliceOptions", {}))
        numbers = self.constant(np.array(taken, "<i4"), "INT32")
        return self.operator("GATHER", [source, numbers], result, ("GatherOptions", {"axis": 1}))

    def padded_by(self, source: int, rows: tuple[int, int], columns: tuple[int, int], wrong: Wrong) -> int:
        """A map with the zero-point around it."""
        if not any((*rows, *columns)):
            return source
        amounts = self.constant(np.array([[0, 0], rows, columns, [0, 0]], "<i4"), "INT32")
        _, height, width, _ = self.shape(source)
        result = self.like(source, height + sum(rows), width + sum(columns))
        stored = self.tensors[source]["quantization"]
        if wrong.zero and stored:
            zeros = [zero + wrong.zero for zero in stored["zero_point"]]
            self.tensors[result]["quantization"] = {**stored, "zero_point": zeros}
        if wrong.pad == "PAD":
            return self.operator("PAD", [source, amounts], result, ("PadOptions", {}))
        filler = self.constant(np.array([5], "i1"), self.kind)
        self.tensors[filler]["quantization"] = stored
        return self.operator("PADV2", [source, amounts, filler], result, ("PadV2Options", {}))
