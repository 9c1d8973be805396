"""Random models with channels that do nothing, in every style of quantization."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto

from support.dims_graphs import Builder

Shape = tuple[int, ...]
MICROSOFT = "com.microsoft"


class Quantized(NamedTuple):
    """An integer tensor with its scale and zero-point."""

    name: str
    shape: Shape
    scale: float
    zero: int
    dtype: type


class RandomLanes:
    """Draws a model node by node from float and integer tensors."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.build = Builder(opset=21, seed=draw(st.integers(0, 9999)))
        self.random = self.build.random
        shape = (1, self.number(1, 4), 5, 5)
        self.floats: list[tuple[str, Shape]] = []
        self.integers: list[Quantized] = []
        if self.coin():
            self.input_dtype = np.float32
            self.floats.append((self.build.input("x", *shape), shape))
        else:
            self.input_dtype = self.draw(st.sampled_from([np.int8, np.uint8]))
            elem_type = TensorProto.INT8 if self.input_dtype is np.int8 else TensorProto.UINT8
            self.integers.append(
                Quantized(
                    self.build.input("x", *shape, elem_type=elem_type), shape, 0.0487, *self.zero(self.input_dtype)
                )
            )
        self.input_shape = shape

    # drawing

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def coin(self) -> bool:
        return self.draw(st.booleans())

    def one_of(self, *values):
        return self.draw(st.sampled_from(values))

    def zero(self, dtype: type) -> tuple[int, type]:
        return (self.one_of(0, -128, 3) if dtype is np.int8 else self.one_of(0, 128, 7)), dtype

    def float_of(self, rank: int | None = None) -> tuple[str, Shape] | None:
        fitting = [one for one in self.floats if rank in (None, len(one[1]))]
        return self.draw(st.sampled_from(fitting[-2:])) if fitting else None

    def integer_of(self, rank: int | None = None) -> Quantized | None:
        fitting = [one for one in self.integers if rank in (None, len(one.shape))]
        return self.draw(st.sampled_from(fitting[-2:])) if fitting else None

    # constants

    def scalar(self, value: float, dtype: type = np.float32) -> str:
        return self.build.const(np.array(value), dtype)

    def zeroed(self, array: np.ndarray, rows: int, columns: int, fill: float = 0) -> np.ndarray:
        """Some rows and some columns without weights."""
        for axis, share in ((rows, 0.5), (columns, 0.1)):
            gone = self.random.random(array.shape[axis]) < share
            place = [slice(None)] * array.ndim
            place[axis] = gone
            array[tuple(place)] = fill
        return array

    def real_weights(self, *shape: int, rows: int = 0, columns: int = 1) -> str:
        return self.build.const(self.zeroed(self.random.normal(size=shape), rows, columns), np.float32)

    def whole_weights(self, shape: Shape, zero: int, rows: int = 0, columns: int = 1) -> np.ndarray:
        return self.zeroed(self.random.integers(-30, 31, shape), rows, columns) + zero

    def bias(self, count: int) -> np.ndarray:
        return self.random.integers(-3000, 3000, count) * (self.random.random(count) < 0.7)

    def add_integer(self, name: str, shape: Shape, scale: float, zero: int, dtype: type) -> None:
        self.integers.append(Quantized(name, shape, scale, zero, dtype))

    def parameters(self, one: Quantized) -> tuple[str, str]:
        return self.scalar(one.scale), self.scalar(one.zero, one.dtype)

    # to and from integers

    def quantize(self) -> None:
        if chosen := self.float_of():
            dtype = self.one_of(np.int8, np.uint8)
            made = Quantized("", chosen[1], self.one_of(0.0513, 0.0207, 0.2519), *self.zero(dtype))
            name = self.build.op("QuantizeLinear", chosen[0], *self.parameters(made))
            self.integers.append(made._replace(name=name))

    def dequantize(self) -> None:
        if chosen := self.integer_of():
            self.floats.append((self.real(chosen), chosen.shape))

    def real(self, one: Quantized) -> str:
        return self.build.op("DequantizeLinear", one.name, *self.parameters(one))

    # convolutions

    def kernel(self, channels: int) -> tuple[int, int, int, dict[str, object]]:
        """Rows, columns and attributes of a convolution of so many channels."""
        size, padded = self.one_of(1, 1, 3), self.number(0, 3) == 0
        group = self.draw(st.sampled_from([g for g in sorted({1, 2, channels}) if channels % g == 0]))
        rows = group * self.number(1, 3) if group > 1 else self.number(1, 6)
        return rows, channels // group, size, {"group": group, "pads": [int(padded) * (size // 2)] * 4}

    def plane(self, shape: Shape, rows: int, size: int, pads: int) -> Shape:
        return (shape[0], rows, shape[2] - size + 1 + 2 * pads, shape[3] - size + 1 + 2 * pads)

    def wide(self, shape: Shape) -> bool:
        return min(shape[2:]) >= 3

    def conv(self) -> None:
        if (chosen := self.float_of(4)) and self.wide(chosen[1]):
            rows, columns, size, given = self.kernel(chosen[1][1])
            inputs = [chosen[0], self.real_weights(rows, columns, size, size)]
            if self.coin():
                inputs.append(self.build.const(self.bias(rows) / 500, np.float32))
            made = self.build.op("Conv", *inputs, **given)
            self.floats.append((made, self.plane(chosen[1], rows, size, given["pads"][0])))

    def conv_transpose(self) -> None:
        if (chosen := self.float_of(4)) and chosen[1][2] < 12:
            channels, share, size = chosen[1][1], self.number(1, 3), self.one_of(1, 2)
            group = self.draw(st.sampled_from([g for g in {1, channels} if channels % g == 0]))
            weights = self.real_weights(channels, share, size, size, rows=1, columns=0)
            bias = self.build.const(self.bias(share * group) / 500, np.float32)
            made = self.build.op("ConvTranspose", chosen[0], weights, bias, group=group, strides=[size, size])
            height, width = (edge * size for edge in chosen[1][2:])
            self.floats.append((made, (1, share * group, height, width)))

    def qdq_conv(self) -> None:
        if (chosen := self.integer_of(4)) and self.wide(chosen.shape):
            rows, columns, size, given = self.kernel(chosen.shape[1])
            dtype = self.one_of(np.int8, np.uint8)
            zero = 0 if dtype is np.int8 else 120
            per_channel = self.coin() and dtype is np.int8
            scales = np.full(rows, 0.0103) * self.random.uniform(0.5, 2, rows) if per_channel else np.array(0.0103)
            scales = scales.astype(np.float32)
            weights = self.build.const(self.whole_weights((rows, columns, size, size), zero), dtype)
            zeros = self.build.const(np.full(scales.shape, zero), dtype)
            real = self.build.op("DequantizeLinear", weights, self.build.const(scales), zeros, axis=0)
            inputs = [self.real(chosen), real]
            if self.number(0, 3):
                held = self.build.const(self.bias(rows), np.int32)
                unit = self.build.const(scales * np.float32(chosen.scale), np.float32)
                inputs.append(self.build.op("DequantizeLinear", held, unit, axis=0))
            made = self.build.op("Conv", *inputs, **given)
            if self.coin():
                made = self.build.op("Relu", made)
            self.floats.append((made, self.plane(chosen.shape, rows, size, given["pads"][0])))
            self.quantize()

    def qlinear_conv(self) -> None:
        if (chosen := self.integer_of(4)) and self.wide(chosen.shape):
            rows, columns, size, given = self.kernel(chosen.shape[1])
            dtype = np.uint8 if chosen.dtype is np.uint8 and self.coin() else np.int8
            zero = 0 if dtype is np.int8 else 120
            weights = self.build.const(self.whole_weights((rows, columns, size, size), zero), dtype)
            made = Quantized(
                "", self.plane(chosen.shape, rows, size, given["pads"][0]), 0.1009, *self.zero(chosen.dtype)
            )
            scales = self.random.uniform(0.005, 0.02, rows) if dtype is np.int8 and self.coin() else np.array(0.0103)
            inputs = [chosen.name, *self.parameters(chosen), weights, self.build.const(scales, np.float32)]
            inputs += [self.build.const(np.full(scales.shape, zero), dtype), *self.parameters(made)]
            if self.coin():
                inputs.append(self.build.const(self.bias(rows), np.int32))
            self.integers.append(made._replace(name=self.build.op("QLinearConv", *inputs, **given)))

    def conv_integer(self) -> None:
        if (chosen := self.integer_of(4)) and chosen.dtype is np.uint8 and self.wide(chosen.shape):
            rows, columns, size, given = self.kernel(chosen.shape[1])
            weights = self.build.const(self.whole_weights((rows, columns, size, size), 120), np.uint8)
            zeros = self.parameters(chosen)[1], self.scalar(120, np.uint8)
            made = self.build.op("ConvInteger", chosen.name, weights, *zeros, **given)
            if self.coin():
                made = self.build.op("Add", made, self.build.const(self.bias(rows).reshape(1, -1, 1, 1), np.int32))
            real = self.build.op("Mul", self.build.op("Cast", made, to=TensorProto.FLOAT), self.scalar(0.002))
            self.floats.append((real, self.plane(chosen.shape, rows, size, given["pads"][0])))

    def tower(self) -> None:
        """Layers of one style, each on the one before."""
        step = self.one_of(self.conv, self.qdq_conv, self.qlinear_conv, self.conv_integer)
        for _ in range(3):
            step()

    # products

    def matmul(self) -> None:
        if chosen := self.float_of(2):
            depth, width = chosen[1][1], self.number(1, 6)
            weights = self.real_weights(depth, width, rows=1, columns=0)
            made = self.build.op("MatMul", chosen[0], weights)
            if self.coin():
                made = self.build.op("Add", made, self.build.const(self.bias(width) / 500, np.float32))
            self.floats.append((made, (chosen[1][0], width)))

    def gemm(self) -> None:
        if chosen := self.float_of(2):
            depth, width, turned = chosen[1][1], self.number(1, 6), self.number(0, 1)
            shape = (width, depth) if turned else (depth, width)
            inputs = [chosen[0], self.real_weights(*shape, rows=1 - turned, columns=turned)]
            if self.coin():
                inputs.append(self.build.const(self.bias(width) / 500, np.float32))
            made = self.build.op(
                "Gemm", *inputs, transB=turned, alpha=self.one_of(1.0, 0.5), beta=self.one_of(1.0, 2.0)
            )
            self.floats.append((made, (chosen[1][0], width)))

    def qdq_matmul(self) -> None:
        if chosen := self.integer_of(2):
            depth, width = chosen.shape[1], self.number(1, 6)
            weights = self.build.const(self.whole_weights((depth, width), 0, 1, 0), np.int8)
            scale = np.float32(0.0197)
            real = self.build.op("DequantizeLinear", weights, self.scalar(scale), self.scalar(0, np.int8))
            made = self.build.op("MatMul", self.real(chosen), real)
            if self.coin():
                unit = self.scalar(scale * np.float32(chosen.scale))
                held = self.build.op("DequantizeLinear", self.build.const(self.bias(width), np.int32), unit)
                made = self.build.op("Add", made, held)
            self.floats.append((made, (chosen.shape[0], width)))
            self.quantize()

    def qlinear_matmul(self) -> None:
        if chosen := self.integer_of(2):
            depth, width = chosen.shape[1], self.number(1, 6)
            made = Quantized("", (chosen.shape[0], width), 0.1009, *self.zero(chosen.dtype))
            dtype = chosen.dtype
            zero = 0 if dtype is np.int8 else 120
            weights = self.build.const(self.whole_weights((depth, width), zero, 1, 0), dtype)
            inputs = [chosen.name, *self.parameters(chosen), weights, self.scalar(0.0103), self.scalar(zero, dtype)]
            self.integers.append(made._replace(name=self.build.op("QLinearMatMul", *inputs, *self.parameters(made))))

    def matmul_integer(self) -> None:
        if (chosen := self.integer_of(2)) and chosen.dtype is np.uint8:
            depth, width = chosen.shape[1], self.number(1, 6)
            weights = self.build.const(self.whole_weights((depth, width), 0, 1, 0), np.int8)
            made = self.build.op("MatMulInteger", chosen.name, weights, self.parameters(chosen)[1])
            if self.coin():
                made = self.build.op("Add", made, self.build.const(self.bias(width), np.int32))
            real = self.build.op("Mul", self.build.op("Cast", made, to=TensorProto.FLOAT), self.scalar(0.002))
            self.floats.append((real, (chosen.shape[0], width)))

    def qgemm(self) -> None:
        if chosen := self.integer_of(2):
            depth, width, turned = chosen.shape[1], self.number(1, 6), self.number(0, 1)
            dtype = chosen.dtype
            zero = 0 if dtype is np.int8 else 120
            shape = (width, depth) if turned else (depth, width)
            weights = self.build.const(self.whole_weights(shape, zero, 1 - turned, turned), dtype)
            inputs = [chosen.name, *self.parameters(chosen), weights, self.scalar(0.0103), self.scalar(zero, dtype)]
            inputs.append(self.build.const(self.bias(width), np.int32))
            made = Quantized("", (chosen.shape[0], width), 0.1009, *self.zero(dtype))
            name = self.build.op("QGemm", *inputs, *self.parameters(made), domain=MICROSOFT, transB=turned)
            self.integers.append(made._replace(name=name))

    # element by element

    def unary(self) -> None:
        if chosen := self.float_of():
            made = self.build.op(self.one_of(*CURVES), chosen[0])
            self.floats.append((made, chosen[1]))

    def clip(self) -> None:
        if chosen := self.float_of():
            made = self.build.op("Clip", chosen[0], self.scalar(self.one_of(-1.0, 0.0)), self.scalar(6.0))
            self.floats.append((made, chosen[1]))

    def per_channel(self) -> None:
        if chosen := self.float_of():
            channels = chosen[1][1]
            numbers = self.random.normal(size=channels) * (self.random.random(channels) < 0.7)
            held = self.build.const(numbers.reshape(-1, *[1] * (len(chosen[1]) - 2)), np.float32)
            self.floats.append((self.build.op(self.one_of("Add", "Mul", "PRelu", "Max"), chosen[0], held), chosen[1]))

    def sum(self) -> None:
        if chosen := self.float_of():
            other = self.draw(st.sampled_from([one for one in self.floats if one[1] == chosen[1]]))
            names = self.one_of("Add", "Mul", "Sub", "Max", "Min")
            self.floats.append((self.build.op(names, chosen[0], other[0]), chosen[1]))

    def qlinear_sum(self) -> None:
        if chosen := self.integer_of():
            same = [one for one in self.integers if one.shape == chosen.shape and one.dtype is chosen.dtype]
            other = self.draw(st.sampled_from(same))
            made = chosen._replace(scale=self.one_of(0.0513, 0.2017))
            inputs = [chosen.name, *self.parameters(chosen), other.name, *self.parameters(other)]
            op_type = self.one_of("QLinearAdd", "QLinearMul")
            name = self.build.op(op_type, *inputs, *self.parameters(made), domain=MICROSOFT)
            self.integers.append(made._replace(name=name))

    def qlinear_curve(self) -> None:
        if chosen := self.integer_of():
            made = chosen._replace(scale=0.0207)
            op_type = self.one_of("QLinearLeakyRelu", "QLinearSigmoid")
            given = [*self.parameters(chosen), *self.parameters(made)]
            self.integers.append(made._replace(name=self.build.op(op_type, chosen.name, *given, domain=MICROSOFT)))

    def batch_norm(self) -> None:
        if chosen := self.float_of(4):
            numbers = [self.random.uniform(0.5, 2, chosen[1][1]) for _ in range(4)]
            numbers[0] *= self.random.random(chosen[1][1]) < 0.7
            held = [self.build.const(one, np.float32) for one in numbers]
            self.floats.append((self.build.op("BatchNormalization", chosen[0], *held), chosen[1]))

    # planes

    def pool(self) -> None:
        if (chosen := self.float_of(4)) and self.wide(chosen[1]):
            given = {"kernel_shape": [3, 3], "pads": [self.number(0, 1)] * 4}
            op_type = self.one_of("MaxPool", "AveragePool")
            if op_type == "AveragePool":
                given["count_include_pad"] = self.number(0, 1)
            made = self.build.op(op_type, chosen[0], **given)
            self.floats.append((made, self.plane(chosen[1], chosen[1][1], 3, given["pads"][0])))

    def integer_pool(self) -> None:
        if (chosen := self.integer_of(4)) and self.wide(chosen.shape):
            pads = self.number(0, 1)
            shape = self.plane(chosen.shape, chosen.shape[1], 3, pads)
            made = self.build.op("MaxPool", chosen.name, kernel_shape=[3, 3], pads=[pads] * 4)
            self.integers.append(chosen._replace(name=made, shape=shape))

    def qlinear_pool(self) -> None:
        if chosen := self.integer_of(4):
            made = chosen._replace(scale=0.0411, shape=(*chosen.shape[:2], 1, 1))
            given = [*self.parameters(chosen), *self.parameters(made)]
            name = self.build.op("QLinearGlobalAveragePool", chosen.name, *given, domain=MICROSOFT)
            self.integers.append(made._replace(name=name))

    def global_pool(self) -> None:
        if chosen := self.float_of(4):
            op_type = self.one_of("GlobalAveragePool", "GlobalMaxPool")
            self.floats.append((self.build.op(op_type, chosen[0]), (*chosen[1][:2], 1, 1)))

    def mean(self) -> None:
        if chosen := self.float_of(4):
            keep = self.number(0, 1)
            made = self.build.op("ReduceMean", chosen[0], self.build.ints(2, 3), keepdims=keep)
            self.floats.append((made, (*chosen[1][:2], 1, 1) if keep else chosen[1][:2]))

    def upscale(self) -> None:
        if (chosen := self.float_of(4)) and chosen[1][2] < 10:
            scales = self.build.const([1, 1, 2, 2], np.float32)
            made = self.build.op("Resize", chosen[0], "", scales, mode=self.one_of("nearest", "linear"))
            self.floats.append((made, (*chosen[1][:2], chosen[1][2] * 2, chosen[1][3] * 2)))

    # moving

    def concat(self) -> None:
        if chosen := self.float_of():
            shape = chosen[1]
            same = [one for one in self.floats if one[1][:1] + one[1][2:] == shape[:1] + shape[2:]]
            other = self.draw(st.sampled_from(same))
            made = self.build.op("Concat", chosen[0], other[0], axis=1)
            self.floats.append((made, (shape[0], shape[1] + other[1][1], *shape[2:])))

    def qlinear_concat(self) -> None:
        if chosen := self.integer_of():
            shape = chosen.shape
            same = [o for o in self.integers if o.shape[2:] == shape[2:] and len(o.shape) == len(shape)]
            other = self.draw(st.sampled_from([one for one in same if one.dtype is chosen.dtype]))
            made = chosen._replace(
                scale=self.one_of(chosen.scale, 0.0703), shape=(1, shape[1] + other.shape[1], *shape[2:])
            )
            inputs = [
                *self.parameters(made),
                chosen.name,
                *self.parameters(chosen),
                other.name,
                *self.parameters(other),
            ]
            name = self.build.op("QLinearConcat", *inputs, domain=MICROSOFT, axis=1)
            self.integers.append(made._replace(name=name))

    def split(self) -> None:
        if (chosen := self.float_of()) and chosen[1][1] > 1:
            shape, first = chosen[1], self.number(1, chosen[1][1] - 1)
            pieces = self.build.op("Split", chosen[0], self.build.ints(first, shape[1] - first), out=2, axis=1)
            self.floats.append((pieces[0], (shape[0], first, *shape[2:])))
            self.floats.append((pieces[1], (shape[0], shape[1] - first, *shape[2:])))

    def slice(self) -> None:
        if (chosen := self.float_of()) and chosen[1][1] > 1:
            start = self.number(0, chosen[1][1] - 1)
            ends = self.build.ints(2**62)
            made = self.build.op("Slice", chosen[0], self.build.ints(start), ends, self.build.ints(1))
            self.floats.append((made, (1, chosen[1][1] - start, *chosen[1][2:])))

    def pad(self) -> None:
        if (chosen := self.float_of(4)) and chosen[1][2] < 10:
            shape, edge, more = chosen[1], self.number(0, 1), self.number(0, 2)
            pads = self.build.ints(0, more, edge, edge, 0, 0, edge, edge)
            made = self.build.op("Pad", chosen[0], pads, self.scalar(self.one_of(0.0, 0.5)))
            self.floats.append((made, (1, shape[1] + more, shape[2] + 2 * edge, shape[3] + 2 * edge)))

    def flatten(self) -> None:
        if chosen := self.float_of(4):
            name, (batch, *rest) = chosen
            if self.coin():
                name = self.build.op("Transpose", name, perm=[0, 2, 3, 1])
            if int(np.prod(rest)) <= 300:
                made = (
                    self.build.op("Flatten", name)
                    if self.coin()
                    else self.build.op("Reshape", name, self.build.ints(1, -1))
                )
                self.floats.append((made, (batch, int(np.prod(rest)))))

    def integer_flatten(self) -> None:
        if (chosen := self.integer_of(4)) and int(np.prod(chosen.shape)) <= 300:
            made = self.build.op("Flatten", chosen.name)
            self.integers.append(chosen._replace(name=made, shape=(1, int(np.prod(chosen.shape)))))

    def shuffle(self) -> None:
        if (chosen := self.float_of(4)) and chosen[1][1] % 2 == 0:
            name, shape = chosen
            apart = self.build.op("Reshape", name, self.build.ints(1, 2, shape[1] // 2, *shape[2:]))
            crossed = self.build.op("Transpose", apart, perm=[0, 2, 1, 3, 4])
            self.floats.append((self.build.op("Reshape", crossed, self.build.ints(1, -1, *shape[2:])), shape))

    def blocks(self) -> None:
        if (chosen := self.float_of(4)) and chosen[1][1] % 4 == 0 and chosen[1][2] < 8:
            shape = chosen[1]
            made = self.build.op("DepthToSpace", chosen[0], blocksize=2, mode=self.one_of("DCR", "CRD"))
            self.floats.append((made, (1, shape[1] // 4, shape[2] * 2, shape[3] * 2)))

    # the end

    def close(self) -> str:
        """A last layer on any tensor, so that its own size does not belong to the output."""
        if self.integers and self.coin():
            chosen = self.draw(st.sampled_from(self.integers[-3:]))
            name, shape = self.real(chosen), chosen.shape
        else:
            if not self.floats:
                self.dequantize()
            name, shape = self.draw(st.sampled_from(self.floats[-3:]))
        if len(shape) == 4:
            return self.build.op("Conv", name, self.real_weights(2, shape[1], 1, 1))
        return self.build.op("MatMul", name, self.real_weights(shape[1], 2, rows=1, columns=0))


CURVES = ("Relu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Softplus", "Neg", "Abs", "Erf")
CURVES += ("Gelu", "Identity", "Round")
LAYERS = ("conv", "qdq_conv", "qlinear_conv", "conv_integer", "tower")
LAYERS += ("qdq_matmul", "qlinear_matmul", "gemm", "matmul", "matmul_integer", "qgemm")
OTHERS = (
    "quantize",
    "dequantize",
    "conv_transpose",
    "unary",
    "clip",
    "per_channel",
    "sum",
    "batch_norm",
    "pool",
    "mean",
)
OTHERS += ("qlinear_sum", "qlinear_curve", "qlinear_pool", "qlinear_concat", "integer_pool", "integer_flatten")
OTHERS += ("global_pool", "upscale", "concat", "split", "slice", "pad", "flatten", "shuffle", "blocks")
STEPS = 4 * LAYERS + OTHERS
"""Methods that add something to a model; layers come up more often."""
INTEGER_STEPS = (
    "quantize",
    "qdq_conv",
    "qlinear_conv",
    "conv_integer",
    "tower",
    "qdq_matmul",
    "qgemm",
    "integer_flatten",
)
"""Those whose biases take constants exactly."""


@st.composite
def random_models(draw: st.DrawFn, steps: tuple[str, ...] = STEPS) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model, and an input for it."""
    made = RandomLanes(draw)
    for _ in range(made.number(3, 24)):
        getattr(made, draw(st.sampled_from(steps)))()
    outputs = [made.close() for _ in range(made.number(1, 2))]
    if made.integers and made.coin() and made.integers[-1].name != "x":
        outputs.append(made.integers[-1].name)
    random = np.random.default_rng(draw(st.integers(0, 99)))
    if made.input_dtype is np.float32:
        data = random.normal(size=made.input_shape).astype(np.float32)
    else:
        limits = np.iinfo(made.input_dtype)
        data = random.integers(limits.min, limits.max + 1, made.input_shape).astype(made.input_dtype)
    return made.build.model(*dict.fromkeys(outputs)), {"x": data}
