"""Steps of random models: layers of real numbers, or of weights behind DequantizeLinear."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from support.random_graph import RandomGraph, Shape


class LayerSteps(RandomGraph):
    """Layers."""

    def kernel(self, channels: int) -> tuple[int, int, int, dict[str, object]]:
        """Rows, columns, size and attributes of a convolution of so many channels."""
        if self.style.plain and self.number(0, 2):
            return self.number(3, 6), channels, 1, {"group": 1, "pads": [0] * 4}
        size, padded = self.one_of(1, 1, 3), self.number(0, 3) == 0
        group = self.pick([g for g in sorted({1, 2, channels}) if channels % g == 0])
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
            output = self.build.op("Conv", *inputs, **given)
            self.floats.append((output, self.plane(chosen[1], rows, size, given["pads"][0])))

    def conv_transpose(self) -> None:
        if (chosen := self.float_of(4)) and chosen[1][2] < 12:
            channels, share, size = chosen[1][1], self.number(1, 3), self.one_of(1, 2)
            group = self.pick([g for g in sorted({1, 2, channels}) if channels % g == 0])
            weights = self.real_weights(channels, share, size, size, rows=1, columns=0)
            bias = self.build.const(self.bias(share * group) / 500, np.float32)
            output = self.build.op("ConvTranspose", chosen[0], weights, bias, group=group, strides=[size, size])
            height, width = (edge * size for edge in chosen[1][2:])
            self.floats.append((output, (1, share * group, height, width)))

    def tower(self) -> None:
        """Layers of one style, each on the one before."""
        step = self.one_of(self.conv, self.qdq_conv, self.qlinear_conv, self.conv_integer)
        for _ in range(3):
            step()

    def matmul(self) -> None:
        if chosen := self.float_of(2):
            depth, width = chosen[1][1], self.number(1, 6)
            weights = self.real_weights(depth, width, rows=1, columns=0)
            output = self.build.op("MatMul", chosen[0], weights)
            if self.coin():
                output = self.build.op("Add", output, self.build.const(self.bias(width) / 500, np.float32))
            self.floats.append((output, (chosen[1][0], width)))

    def gemm(self) -> None:
        if chosen := self.float_of(2):
            depth, width, turned = chosen[1][1], self.number(1, 6), self.number(0, 1)
            shape = (width, depth) if turned else (depth, width)
            inputs = [chosen[0], self.real_weights(*shape, rows=1 - turned, columns=turned)]
            if self.coin():
                inputs.append(self.build.const(self.bias(width) / 500, np.float32))
            output = self.build.op(
                "Gemm", *inputs, transB=turned, alpha=self.one_of(1.0, 0.5), beta=self.one_of(1.0, 2.0)
            )
            self.floats.append((output, (chosen[1][0], width)))

    def padded_conv(self) -> None:
        name, (_, channels, height, width) = self.float_of(4)
        rows, kernel = self.number(1, 6), self.pick([1, 3])
        self.add(self.build.conv(name, channels, rows, kernel), 1, rows, height, width)

    def depthwise(self) -> None:
        name, (_, channels, height, width) = self.float_of(4)
        rows = channels * self.number(1, 3)
        self.add(self.build.conv(name, 1, rows, 3, group=channels), 1, rows, height, width)

    def grouped(self) -> None:
        name, (_, channels, height, width) = self.float_of(4)
        if channels % 2 == 0:
            rows = 2 * self.number(1, 3)
            self.add(self.build.conv(name, channels // 2, rows, 1, group=2), 1, rows, height, width)

    def quantized_weights(self) -> None:
        name, (_, channels, height, width) = self.float_of(4)
        rows = self.number(1, 5)
        integers = self.build.random.integers(-9, 9, (rows, channels, 1, 1))
        weights = self.build.const(integers, np.int8)
        scale, zero = self.build.const(np.full(rows, 0.1), np.float32), self.build.const(np.zeros(rows), np.int8)
        real = self.build.op("DequantizeLinear", weights, scale, zero, axis=0)
        self.add(self.build.op("Conv", name, real), 1, rows, height, width)

    def matmul_last_axis(self) -> None:
        name, shape = self.float_of()
        rows = self.number(1, 6)
        output = self.build.op("MatMul", name, self.build.weights(shape[-1], rows))
        self.add(self.build.op("Add", output, self.build.weights(rows)), *shape[:-1], rows)

    def attention(self) -> None:
        name, shape = self.float_of()
        if len(shape) > 2:
            order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
            turned = self.build.op("Transpose", name, perm=order)
            self.add(self.build.op("MatMul", name, turned), *shape[:-1], shape[-2])

    def odd_weights(self) -> None:
        """Weights of 4 bits, or with zero-points that differ by channel, per row or in blocks."""
        if chosen := self.float_of(4):
            rows, columns = self.number(2, 5), chosen[1][1]
            elem_type, low, high = self.one_of((INT4, -8, 7), (UINT4, 0, 15), (TensorProto.UINT8, 0, 255))
            zeros = self.random.integers(low, high + 1, self.one_of((rows,), ()))
            values = self.random.integers(low, high + 1, (rows, columns, 1, 1))
            gone = self.random.random(rows) < 0.3
            values[gone] = np.broadcast_to(zeros.reshape(-1, 1, 1, 1), (rows, 1, 1, 1))[gone]
            weights, points = (self.build.typed(array, elem_type) for array in (values, zeros))
            scales = self.build.const(self.random.uniform(0.01, 0.2, zeros.shape), np.float32)
            real = self.build.op("DequantizeLinear", weights, scales, points, axis=0)
            self.floats.append((self.build.op("Conv", chosen[0], real), (1, rows, *chosen[1][2:])))

    def moved_weights(self) -> None:
        """Weights that are transposed, cut or joined on the way."""
        if chosen := self.float_of(2):
            depth, width = chosen[1][1], self.number(2, 5)
            form = self.number(0, 3)
            if form == 0:
                weights = self.build.op("Transpose", self.real_weights(width, depth), perm=[1, 0])
            elif form == 1:
                halves = [self.real_weights(depth, count, rows=1, columns=0) for count in (1, width - 1)]
                weights = self.build.op("Concat", *halves, axis=1)
            elif form == 2:
                flat = self.real_weights(depth * width, 1, rows=0, columns=0)
                weights = self.build.op("Reshape", flat, self.build.ints(depth, width))
            else:
                scales = self.build.const(self.random.uniform(0.5, 2, width), np.float32)
                weights = self.build.op("Mul", self.real_weights(depth, width, rows=1, columns=0), scales)
            self.floats.append((self.build.op("MatMul", chosen[0], weights), (1, width)))

    def multiplied(self) -> None:
        """Depthwise with a multiplier."""
        if chosen := self.float_of(4):
            channels = chosen[1][1]
            rows = channels * self.number(1, 3)
            inputs = [chosen[0], self.real_weights(rows, 1, 1, 1), self.build.const(self.bias(rows) / 50, np.float32)]
            output = self.build.op("Conv", *inputs, group=channels)
            self.floats.append((output, (1, rows, *chosen[1][2:])))

    def any_layer(self) -> None:
        name, channels, size = self.square()
        rows, form = self.number(1, 5), self.number(0, 4)
        if form == 0 and channels > 1:
            output, rows = self.build.conv(name, 1, channels, group=channels), channels
        elif form == 1:
            output = self.build.op("ConvTranspose", name, self.build.weights(channels, rows, 1, 1))
        elif form == 2:
            weights = self.build.const(self.build.random.integers(-9, 9, (rows, channels, 1, 1)), np.int8)
            scale, zero = self.build.const(np.full(rows, 0.1), np.float32), self.build.const(np.zeros(rows), np.int8)
            output = self.build.op("Conv", name, self.build.op("DequantizeLinear", weights, scale, zero, axis=0))
        else:
            output = self.build.conv(name, channels, rows)
        self.add_square(output, rows, size)


INT4, UINT4 = TensorProto.INT4, TensorProto.UINT4
