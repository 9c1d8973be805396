"""Random models, drawn node by node."""

from __future__ import annotations

import numpy as np
import onnx
from hypothesis import strategies as st

from support.dims_graphs import Builder

Shape = tuple[int, ...]


class RandomModel:
    """Draws a model node by node; keeps the tensors made so far with their shapes."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.build = Builder(opset=17, seed=draw(st.integers(0, 99)))
        shape = (1, draw(st.integers(1, 4)), 4, 4)
        self.input_shape = shape
        self.tensors: list[tuple[str, Shape]] = [(self.build.input("x", *shape), shape)]

    def pick(self, rank: int) -> tuple[str, Shape] | None:
        fitting = [entry for entry in self.tensors if len(entry[1]) == rank and max(entry[1]) <= 600]
        return self.draw(st.sampled_from(fitting)) if fitting else None

    def add(self, name: str, *shape: int) -> None:
        self.tensors.append((name, shape))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def step(self) -> None:
        getattr(self, self.draw(st.sampled_from(STEPS)))()

    # rank 4

    def conv(self) -> None:
        name, (_, channels, height, width) = self.pick(4)
        rows, kernel = self.number(1, 6), self.draw(st.sampled_from([1, 3]))
        self.add(self.build.conv(name, channels, rows, kernel), 1, rows, height, width)

    def depthwise(self) -> None:
        name, (_, channels, height, width) = self.pick(4)
        rows = channels * self.number(1, 3)
        self.add(self.build.conv(name, 1, rows, 3, group=channels), 1, rows, height, width)

    def grouped(self) -> None:
        name, (_, channels, height, width) = self.pick(4)
        if channels % 2 == 0:
            rows = 2 * self.number(1, 3)
            self.add(self.build.conv(name, channels // 2, rows, 1, group=2), 1, rows, height, width)

    def transposed(self) -> None:
        name, (_, channels, height, width) = self.pick(4)
        share = self.number(1, 3)
        group = self.draw(st.sampled_from([g for g in (1, 2, channels) if channels % g == 0]))
        weights = self.build.weights(channels, share, 1, 1)
        rows = share * group
        bias = self.build.weights(rows)
        self.add(self.build.op("ConvTranspose", name, weights, bias, group=group), 1, rows, height, width)

    def unary(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        self.add(
            self.build.op(self.draw(st.sampled_from(["Relu", "Sigmoid", "Neg", "Identity", "Tanh"])), name), *shape
        )

    def quantized(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        scale, zero = self.build.const(0.05, np.float32), self.build.const(3, np.int8)
        made = self.build.op("QuantizeLinear", name, scale, zero)
        self.add(self.build.op("DequantizeLinear", made, scale, zero), *shape)

    def quantized_weights(self) -> None:
        name, (_, channels, height, width) = self.pick(4)
        rows = self.number(1, 5)
        integers = self.build.random.integers(-9, 9, (rows, channels, 1, 1))
        weights = self.build.const(integers, np.int8)
        scale, zero = self.build.const(np.full(rows, 0.1), np.float32), self.build.const(np.zeros(rows), np.int8)
        real = self.build.op("DequantizeLinear", weights, scale, zero, axis=0)
        self.add(self.build.op("Conv", name, real), 1, rows, height, width)

    def batch_norm(self) -> None:
        name, shape = self.pick(4)
        numbers = [self.build.const(self.build.random.uniform(0.5, 1, shape[1]), np.float32) for _ in range(4)]
        self.add(self.build.op("BatchNormalization", name, *numbers), *shape)

    def per_channel(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        channels = shape[1]
        shaped = self.build.weights(channels, *[1] * (len(shape) - 2))
        operator = self.draw(st.sampled_from(["Mul", "Add", "PRelu"]))
        self.add(self.build.op(operator, name, shaped), *shape)

    def sum(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        other = self.draw(st.sampled_from([entry for entry in self.tensors if entry[1] == shape]))
        self.add(self.build.op(self.draw(st.sampled_from(["Add", "Mul", "Sub"])), name, other[0]), *shape)

    def concat(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        same = [entry for entry in self.tensors if entry[1][:1] + entry[1][2:] == shape[:1] + shape[2:]]
        other = self.draw(st.sampled_from(same))
        made = self.build.op("Concat", name, other[0], axis=1)
        self.add(made, shape[0], shape[1] + other[1][1], *shape[2:])

    def split(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        if shape[1] > 1:
            first = self.number(1, shape[1] - 1)
            pieces = self.build.op("Split", name, self.build.ints(first, shape[1] - first), out=2, axis=1)
            self.add(pieces[0], shape[0], first, *shape[2:])
            self.add(pieces[1], shape[0], shape[1] - first, *shape[2:])

    def halves(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        if shape[1] % 2 == 0:
            for piece in self.build.op("Split", name, out=2, axis=1):
                self.add(piece, shape[0], shape[1] // 2, *shape[2:])

    def slice(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        start = self.number(0, shape[1] - 1)
        end = self.number(start + 1, shape[1])
        limits = (start - shape[1] if self.draw(st.booleans()) else start), end
        ints = [self.build.ints(value) for value in (*limits, 1)]
        self.add(self.build.op("Slice", name, *ints), shape[0], end - start, *shape[2:])

    def pool(self) -> None:
        name, shape = self.pick(4)
        if min(shape[2:]) > 1:
            made = self.build.op("MaxPool", name, kernel_shape=[2, 2], strides=[2, 2])
            self.add(made, *shape[:2], shape[2] // 2, shape[3] // 2)

    def global_pool(self) -> None:
        name, shape = self.pick(4)
        self.add(self.build.op("GlobalAveragePool", name), *shape[:2], 1, 1)

    def gate(self) -> None:
        name, shape = self.pick(4)
        gates = [entry for entry in self.tensors if entry[1] == (*shape[:2], 1, 1)]
        if gates:
            self.add(self.build.op("Mul", name, self.draw(st.sampled_from(gates))[0]), *shape)

    def pad(self) -> None:
        name, shape = self.pick(4)
        before, after = self.number(0, 2), self.number(0, 2)
        pads = self.build.ints(0, before, 0, 0, 0, after, 0, 0)
        self.add(self.build.op("Pad", name, pads), shape[0], shape[1] + before + after, *shape[2:])

    def tile(self) -> None:
        name, shape = self.pick(4)
        self.add(self.build.op("Tile", name, self.build.ints(1, 2, 1, 1)), shape[0], shape[1] * 2, *shape[2:])

    # regrouping

    def transpose(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        order = [0, *self.draw(st.permutations(range(1, len(shape))))]
        self.add(self.build.op("Transpose", name, perm=order), *[shape[axis] for axis in order])

    def flatten(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        self.add(self.build.op("Flatten", name), shape[0], int(np.prod(shape[1:])))

    def reshape(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        left, target = int(np.prod(shape[1:])), [1]
        for _ in range(self.number(0, 3)):
            target.append(self.draw(st.sampled_from([size for size in range(1, left + 1) if left % size == 0])))
            left //= target[-1]
        target.append(left)
        if len(target) > 1:
            written = [
                -1 if place == len(target) - 1 and self.draw(st.booleans()) else s for place, s in enumerate(target)
            ]
            self.add(self.build.op("Reshape", name, self.build.ints(*written)), *target)

    def shuffle(self) -> None:
        name, shape = self.pick(4)
        if shape[1] % 2 == 0:
            apart = self.build.op("Reshape", name, self.build.ints(1, 2, shape[1] // 2, *shape[2:]))
            crossed = self.build.op("Transpose", apart, perm=[0, 2, 1, 3, 4])
            self.add(self.build.op("Reshape", crossed, self.build.ints(1, -1, *shape[2:])), *shape)

    def blocks(self) -> None:
        name, shape = self.pick(4)
        if shape[1] % 4 == 0:
            mode = self.draw(st.sampled_from(["DCR", "CRD"]))
            made = self.build.op("DepthToSpace", name, blocksize=2, mode=mode)
            self.add(made, 1, shape[1] // 4, shape[2] * 2, shape[3] * 2)
        elif shape[2] % 2 == 0 and shape[3] % 2 == 0:
            made = self.build.op("SpaceToDepth", name, blocksize=2)
            self.add(made, 1, shape[1] * 4, shape[2] // 2, shape[3] // 2)

    # dense

    def gemm(self) -> None:
        picked = self.pick(2)
        if picked is not None:
            name, shape = picked
            rows, turned = self.number(1, 6), self.number(0, 1)
            weights = self.build.weights(*((rows, shape[1]) if turned else (shape[1], rows)))
            made = self.build.op("Gemm", name, weights, self.build.weights(rows), transB=turned)
            self.add(made, shape[0], rows)

    def matmul(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        rows = self.number(1, 6)
        made = self.build.op("MatMul", name, self.build.weights(shape[-1], rows))
        self.add(self.build.op("Add", made, self.build.weights(rows)), *shape[:-1], rows)

    def attention(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        if len(shape) > 2:
            order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
            turned = self.build.op("Transpose", name, perm=order)
            self.add(self.build.op("MatMul", name, turned), *shape[:-1], shape[-2])

    def mix(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        axis = self.number(0, len(shape) - 1)
        if self.draw(st.booleans()):
            self.add(self.build.op("Softmax", name, axis=axis), *shape)
        else:
            made = self.build.op("ReduceMean", name, axes=[axis], keepdims=1)
            self.add(made, *shape[:axis], 1, *shape[axis + 1 :])

    def squeeze(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        ones = [axis for axis in range(1, len(shape)) if shape[axis] == 1]
        if ones and len(shape) > 2:
            axis = self.draw(st.sampled_from(ones))
            self.add(self.build.op("Squeeze", name, self.build.ints(axis)), *shape[:axis], *shape[axis + 1 :])

    def unsqueeze(self) -> None:
        name, shape = self.draw(st.sampled_from(self.tensors))
        if len(shape) < 4:
            axis = self.number(1, len(shape))
            self.add(self.build.op("Unsqueeze", name, self.build.ints(axis)), *shape[:axis], 1, *shape[axis:])

    def close(self) -> str:
        """A last layer on any tensor, so that its own size does not belong to the output."""
        name, shape = self.draw(st.sampled_from(self.tensors[1:]))
        if len(shape) == 4:
            return self.build.conv(name, shape[1], 2)
        return self.build.op("MatMul", name, self.build.weights(shape[-1], 2))


OWN = ("pick", "add", "number", "step", "close")
STEPS = [name for name, value in vars(RandomModel).items() if callable(value) and name[0] != "_" and name not in OWN]


@st.composite
def random_models(draw: st.DrawFn) -> tuple[onnx.ModelProto, Shape]:
    model = RandomModel(draw)
    model.conv()
    for _ in range(draw(st.integers(1, 14))):
        model.step()
    outputs = [model.close() for _ in range(draw(st.integers(1, 2)))]
    return model.build.model(*outputs), model.input_shape
