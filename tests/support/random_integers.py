"""Steps of random models: layers and other operators on integers, in every style of quantization."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from support.random_graph import Quantized
from support.random_layers import LayerSteps


class IntegerSteps(LayerSteps):
    """Operators on integers."""

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
            output = self.build.op("Conv", *inputs, **given)
            if self.coin():
                output = self.build.op("Relu", output)
            self.floats.append((output, self.plane(chosen.shape, rows, size, given["pads"][0])))
            self.quantize()

    def qlinear_conv(self) -> None:
        if (chosen := self.integer_of(4)) and self.wide(chosen.shape):
            rows, columns, size, given = self.kernel(chosen.shape[1])
            dtype = np.uint8 if chosen.dtype is np.uint8 and self.coin() else np.int8
            zero = 0 if dtype is np.int8 else 120
            weights = self.build.const(self.whole_weights((rows, columns, size, size), zero), dtype)
            quantized = Quantized(
                "", self.plane(chosen.shape, rows, size, given["pads"][0]), 0.1009, *self.zero(chosen.dtype)
            )
            scales = self.random.uniform(0.005, 0.02, rows) if dtype is np.int8 and self.coin() else np.array(0.0103)
            inputs = [chosen.name, *self.parameters(chosen), weights, self.build.const(scales, np.float32)]
            inputs += [self.build.const(np.full(scales.shape, zero), dtype), *self.parameters(quantized)]
            if self.coin():
                inputs.append(self.build.const(self.bias(rows), np.int32))
            self.integers.append(quantized._replace(name=self.build.op("QLinearConv", *inputs, **given)))

    def conv_integer(self) -> None:
        if (chosen := self.integer_of(4)) and chosen.dtype is np.uint8 and self.wide(chosen.shape):
            rows, columns, size, given = self.kernel(chosen.shape[1])
            weights = self.build.const(self.whole_weights((rows, columns, size, size), 120), np.uint8)
            zeros = self.parameters(chosen)[1], self.scalar(120, np.uint8)
            output = self.build.op("ConvInteger", chosen.name, weights, *zeros, **given)
            if self.coin():
                output = self.build.op("Add", output, self.build.const(self.bias(rows).reshape(1, -1, 1, 1), np.int32))
            real = self.build.op("Mul", self.build.op("Cast", output, to=TensorProto.FLOAT), self.scalar(0.002))
            self.floats.append((real, self.plane(chosen.shape, rows, size, given["pads"][0])))

    def qdq_matmul(self) -> None:
        if chosen := self.integer_of(2):
            depth, width = chosen.shape[1], self.number(1, 6)
            weights = self.build.const(self.whole_weights((depth, width), 0, 1, 0), np.int8)
            scale = np.float32(0.0197)
            real = self.build.op("DequantizeLinear", weights, self.scalar(scale), self.scalar(0, np.int8))
            output = self.build.op("MatMul", self.real(chosen), real)
            if self.coin():
                unit = self.scalar(scale * np.float32(chosen.scale))
                held = self.build.op("DequantizeLinear", self.build.const(self.bias(width), np.int32), unit)
                output = self.build.op("Add", output, held)
            self.floats.append((output, (chosen.shape[0], width)))
            self.quantize()

    def qlinear_matmul(self) -> None:
        if chosen := self.integer_of(2):
            depth, width = chosen.shape[1], self.number(1, 6)
            quantized = Quantized("", (chosen.shape[0], width), 0.1009, *self.zero(chosen.dtype))
            dtype = chosen.dtype
            zero = 0 if dtype is np.int8 else 120
            weights = self.build.const(self.whole_weights((depth, width), zero, 1, 0), dtype)
            inputs = [chosen.name, *self.parameters(chosen), weights, self.scalar(0.0103), self.scalar(zero, dtype)]
            self.integers.append(
                quantized._replace(name=self.build.op("QLinearMatMul", *inputs, *self.parameters(quantized)))
            )

    def matmul_integer(self) -> None:
        if (chosen := self.integer_of(2)) and chosen.dtype is np.uint8:
            depth, width = chosen.shape[1], self.number(1, 6)
            weights = self.build.const(self.whole_weights((depth, width), 0, 1, 0), np.int8)
            output = self.build.op("MatMulInteger", chosen.name, weights, self.parameters(chosen)[1])
            if self.coin():
                output = self.build.op("Add", output, self.build.const(self.bias(width), np.int32))
            real = self.build.op("Mul", self.build.op("Cast", output, to=TensorProto.FLOAT), self.scalar(0.002))
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
            quantized = Quantized("", (chosen.shape[0], width), 0.1009, *self.zero(dtype))
            name = self.build.op("QGemm", *inputs, *self.parameters(quantized), domain=MICROSOFT, transB=turned)
            self.integers.append(quantized._replace(name=name))

    def qlinear_sum(self) -> None:
        if chosen := self.integer_of():
            same = [
                candidate
                for candidate in self.integers
                if candidate.shape == chosen.shape and candidate.dtype is chosen.dtype
            ]
            other = self.pick(same)
            quantized = chosen._replace(scale=self.one_of(0.0513, 0.2017))
            inputs = [chosen.name, *self.parameters(chosen), other.name, *self.parameters(other)]
            op_type = self.one_of("QLinearAdd", "QLinearMul")
            name = self.build.op(op_type, *inputs, *self.parameters(quantized), domain=MICROSOFT)
            self.integers.append(quantized._replace(name=name))

    def qlinear_curve(self) -> None:
        if chosen := self.integer_of():
            quantized = chosen._replace(scale=0.0207)
            op_type = self.one_of("QLinearLeakyRelu", "QLinearSigmoid")
            given = [*self.parameters(chosen), *self.parameters(quantized)]
            self.integers.append(quantized._replace(name=self.build.op(op_type, chosen.name, *given, domain=MICROSOFT)))

    def integer_pool(self) -> None:
        if (chosen := self.integer_of(4)) and self.wide(chosen.shape):
            pads = self.number(0, 1)
            shape = self.plane(chosen.shape, chosen.shape[1], 3, pads)
            output = self.build.op("MaxPool", chosen.name, kernel_shape=[3, 3], pads=[pads] * 4)
            self.integers.append(chosen._replace(name=output, shape=shape))

    def qlinear_pool(self) -> None:
        if chosen := self.integer_of(4):
            quantized = chosen._replace(scale=0.0411, shape=(*chosen.shape[:2], 1, 1))
            given = [*self.parameters(chosen), *self.parameters(quantized)]
            name = self.build.op("QLinearGlobalAveragePool", chosen.name, *given, domain=MICROSOFT)
            self.integers.append(quantized._replace(name=name))

    def qlinear_concat(self) -> None:
        if chosen := self.integer_of():
            shape = chosen.shape
            same = [o for o in self.integers if o.shape[2:] == shape[2:] and len(o.shape) == len(shape)]
            other = self.pick([candidate for candidate in same if candidate.dtype is chosen.dtype])
            quantized = chosen._replace(
                scale=self.one_of(chosen.scale, 0.0703), shape=(1, shape[1] + other.shape[1], *shape[2:])
            )
            inputs = [
                *self.parameters(quantized),
                chosen.name,
                *self.parameters(chosen),
                other.name,
                *self.parameters(other),
            ]
            name = self.build.op("QLinearConcat", *inputs, domain=MICROSOFT, axis=1)
            self.integers.append(quantized._replace(name=name))

    def integer_flatten(self) -> None:
        if (chosen := self.integer_of(4)) and int(np.prod(chosen.shape)) <= 300:
            output = self.build.op("Flatten", chosen.name)
            self.integers.append(chosen._replace(name=output, shape=(1, int(np.prod(chosen.shape)))))

    def quantized_layer(self) -> None:
        name, channels, size = self.square()
        rows, points = self.number(1, 5), [self.number(-9, 9) for _ in range(2)]
        scales = [self.build.const(self.between(0.02, 0.3), np.float32) for _ in range(3)]
        zeros = [self.build.const(value, np.int8) for value in (*points, 0)]
        data = self.build.op("QuantizeLinear", name, scales[0], zeros[0])
        weights = self.build.const(self.build.random.integers(-9, 9, (rows, channels, 1, 1)), np.int8)
        output = self.build.op(
            "QLinearConv", data, scales[0], zeros[0], weights, scales[1], zeros[2], scales[2], zeros[1]
        )
        self.add_square(self.build.op("DequantizeLinear", output, scales[2], zeros[1]), rows, size)

    def integer_operators(self) -> None:
        """Operators on quantized values."""
        chosen = self.square()
        first, second, result = (self.scale_and_zero() for _ in range(3))
        data = self.build.op("QuantizeLinear", chosen[0], *first)
        operator = self.pick(QUANTIZED)
        inputs = [data, *first, *result]
        if operator in ("QLinearAdd", "QLinearMul"):
            other = self.pick([candidate for candidate in self.squares() if candidate[1:] == chosen[1:]])
            inputs[3:3] = [self.build.op("QuantizeLinear", other[0], *second), *second]
        if operator == "QLinearConcat":
            inputs = [*result, data, *first]
        attributes = {"QLinearConcat": {"axis": 1}, "QLinearAveragePool": {"kernel_shape": [1, 1]}}.get(operator, {})
        output = self.build.op(operator, *inputs, domain="com.microsoft", **attributes)
        self.like(self.build.op("DequantizeLinear", output, *result), chosen)

    def scale_and_zero(self) -> tuple[str, str]:
        zero = self.build.const(self.number(0, 255), np.uint8)
        return self.build.const(self.between(0.02, 0.3), np.float32), zero

    def requantize(self) -> None:
        chosen = self.square()
        scale = self.build.const(self.between(0.02, 0.3), np.float32)
        zero = self.build.const(self.number(-128, 127), np.int8)
        output = self.build.op("QuantizeLinear", chosen[0], scale, zero)
        self.like(self.build.op("DequantizeLinear", output, scale, zero), chosen)


MICROSOFT = "com.microsoft"
QUANTIZED = ("QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearLeakyRelu", "QLinearMul", "QLinearSigmoid")
