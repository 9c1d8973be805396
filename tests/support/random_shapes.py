"""Steps of random models: what moves, joins, cuts and regroups tensors."""

from __future__ import annotations

import numpy as np

from support.random_layers import LayerSteps


class ShapeSteps(LayerSteps):
    """Operators on shapes and planes."""

    def pool(self) -> None:
        if (chosen := self.float_of(4)) and self.wide(chosen[1]):
            given = {"kernel_shape": [3, 3], "pads": [self.number(0, 1)] * 4}
            op_type = self.one_of("MaxPool", "AveragePool")
            if op_type == "AveragePool":
                given["count_include_pad"] = self.number(0, 1)
            output = self.build.op(op_type, chosen[0], **given)
            self.floats.append((output, self.plane(chosen[1], chosen[1][1], 3, given["pads"][0])))

    def global_pool(self) -> None:
        if chosen := self.float_of(4):
            op_type = self.one_of("GlobalAveragePool", "GlobalMaxPool")
            self.floats.append((self.build.op(op_type, chosen[0]), (*chosen[1][:2], 1, 1)))

    def mean(self) -> None:
        if chosen := self.float_of(4):
            keep = self.number(0, 1)
            output = self.reduced("ReduceMean", chosen[0], 2, 3, keepdims=keep)
            self.floats.append((output, (*chosen[1][:2], 1, 1) if keep else chosen[1][:2]))

    def upscale(self) -> None:
        if (chosen := self.float_of(4)) and chosen[1][2] < 10:
            scales = self.build.const([1, 1, 2, 2], np.float32)
            output = self.build.op("Resize", chosen[0], "", scales, mode=self.one_of("nearest", "linear"))
            self.floats.append((output, (*chosen[1][:2], chosen[1][2] * 2, chosen[1][3] * 2)))

    def concat(self) -> None:
        if chosen := self.float_of():
            shape = chosen[1]
            same = [
                candidate for candidate in self.floats if candidate[1][:1] + candidate[1][2:] == shape[:1] + shape[2:]
            ]
            other = self.pick(same)
            output = self.build.op("Concat", chosen[0], other[0], axis=1)
            self.floats.append((output, (shape[0], shape[1] + other[1][1], *shape[2:])))

    def split(self) -> None:
        if (chosen := self.float_of()) and chosen[1][1] > 1:
            shape, first = chosen[1], self.number(1, chosen[1][1] - 1)
            pieces = self.build.op("Split", chosen[0], self.build.ints(first, shape[1] - first), out=2, axis=1)
            self.floats.append((pieces[0], (shape[0], first, *shape[2:])))
            self.floats.append((pieces[1], (shape[0], shape[1] - first, *shape[2:])))

    def flatten(self) -> None:
        if chosen := self.float_of(4):
            name, (batch, *rest) = chosen
            if self.coin():
                name = self.build.op("Transpose", name, perm=[0, 2, 3, 1])
            if int(np.prod(rest)) <= 300:
                output = (
                    self.build.op("Flatten", name)
                    if self.coin()
                    else self.build.op("Reshape", name, self.build.ints(1, -1))
                )
                self.floats.append((output, (batch, int(np.prod(rest)))))

    def shuffle(self) -> None:
        if (chosen := self.float_of(4)) and chosen[1][1] % 2 == 0:
            name, shape = chosen
            apart = self.build.op("Reshape", name, self.build.ints(1, 2, shape[1] // 2, *shape[2:]))
            crossed = self.build.op("Transpose", apart, perm=[0, 2, 1, 3, 4])
            self.floats.append((self.build.op("Reshape", crossed, self.build.ints(1, -1, *shape[2:])), shape))

    def pad(self) -> None:
        if (chosen := self.float_of(4)) and chosen[1][2] < 10:
            shape, edge, more, last = chosen[1], self.number(0, 1), self.number(0, 2), self.number(0, 2)
            pads = self.build.ints(0, more, edge, edge, 0, last, edge, edge)
            output = self.build.op("Pad", chosen[0], pads, self.scalar(self.one_of(0.0, 0.5)))
            self.floats.append((output, (1, shape[1] + more + last, shape[2] + 2 * edge, shape[3] + 2 * edge)))

    def halves(self) -> None:
        name, shape = self.float_of()
        if shape[1] % 2 == 0:
            for piece in self.build.op("Split", name, out=2, axis=1, **self.parts(2)):
                self.add(piece, shape[0], shape[1] // 2, *shape[2:])

    def slice(self) -> None:
        if not (chosen := self.float_of()):
            return
        name, shape = chosen
        start = self.number(0, shape[1] - 1)
        end = self.pick([self.number(start + 1, shape[1]), 2**62])
        limits = (start - shape[1] if self.coin() else start), end
        ints = [self.build.ints(value) for value in (*limits, 1)]
        self.add(self.build.op("Slice", name, *ints), shape[0], min(end, shape[1]) - start, *shape[2:])

    def halved_plane(self) -> None:
        name, shape = self.float_of(4)
        if min(shape[2:]) > 1:
            output = self.build.op("MaxPool", name, kernel_shape=[2, 2], strides=[2, 2])
            self.add(output, *shape[:2], shape[2] // 2, shape[3] // 2)

    def gate(self) -> None:
        name, shape = self.float_of(4)
        gates = [entry for entry in self.floats if entry[1] == (*shape[:2], 1, 1)]
        if gates:
            self.add(self.build.op("Mul", name, self.pick(gates)[0]), *shape)

    def tile(self) -> None:
        name, shape = self.float_of(4)
        self.add(self.build.op("Tile", name, self.build.ints(1, 2, 1, 1)), shape[0], shape[1] * 2, *shape[2:])

    def transpose(self) -> None:
        name, shape = self.float_of()
        order = [0, *self.order(range(1, len(shape)))]
        self.add(self.build.op("Transpose", name, perm=order), *[shape[axis] for axis in order])

    def reshape(self) -> None:
        name, shape = self.float_of()
        left, target = int(np.prod(shape[1:])), [1]
        for _ in range(self.number(0, 3)):
            target.append(self.pick([size for size in range(1, left + 1) if left % size == 0]))
            left //= target[-1]
        target.append(left)
        if len(target) > 1:
            written = [-1 if index == len(target) - 1 and self.coin() else s for index, s in enumerate(target)]
            self.add(self.build.op("Reshape", name, self.build.ints(*written)), *target)

    def blocks(self) -> None:
        chosen = self.float_of(4)
        if chosen is None or max(chosen[1][2:]) >= 12:
            return
        name, shape = chosen
        if shape[1] % 4 == 0:
            mode = self.pick(["DCR", "CRD"])
            output = self.build.op("DepthToSpace", name, blocksize=2, mode=mode)
            self.add(output, 1, shape[1] // 4, shape[2] * 2, shape[3] * 2)
        elif shape[2] % 2 == 0 and shape[3] % 2 == 0:
            output = self.build.op("SpaceToDepth", name, blocksize=2)
            self.add(output, 1, shape[1] * 4, shape[2] // 2, shape[3] // 2)

    def mix(self) -> None:
        name, shape = self.float_of()
        axis = self.number(0, len(shape) - 1)
        if self.coin():
            self.add(self.build.op("Softmax", name, axis=axis), *shape)
        else:
            output = self.reduced("ReduceMean", name, axis)
            self.add(output, *shape[:axis], 1, *shape[axis + 1 :])

    def squeeze(self) -> None:
        name, shape = self.float_of()
        ones = [axis for axis in range(1, len(shape)) if shape[axis] == 1]
        if ones and len(shape) > 2:
            axis = self.pick(ones)
            self.add(self.build.op("Squeeze", name, self.build.ints(axis)), *shape[:axis], *shape[axis + 1 :])

    def unsqueeze(self) -> None:
        name, shape = self.float_of()
        if len(shape) < 4:
            axis = self.number(1, len(shape))
            self.add(self.build.op("Unsqueeze", name, self.build.ints(axis)), *shape[:axis], 1, *shape[axis:])

    def small_pool(self) -> None:
        name, channels, size = self.square()
        operator = self.pick(["MaxPool", "AveragePool", "LpPool"])
        pads = [self.number(0, 1)] * 4
        include = {"count_include_pad": 1} if operator == "AveragePool" and self.chance(0.5) else {}
        if size >= 2:
            output = self.build.op(operator, name, kernel_shape=[2, 2], pads=pads, **include)
            self.add_square(output, channels, size - 1 + 2 * pads[0])

    def edge_pad(self) -> None:
        name, channels, size = self.square()
        mode = self.pick(["constant", "edge"])
        output = self.build.op("Pad", name, self.build.ints(0, 0, 1, 1, 0, 0, 0, 0), mode=mode)
        self.add_square(output, channels, size + 1)

    def resize_plane(self) -> None:
        name, channels, size = self.square()
        scales = self.build.const([1, 1, 2, 2], np.float32)
        mode = self.pick(["nearest", "linear", "cubic"])
        if size <= 4:
            self.add_square(self.build.op("Resize", name, "", scales, mode=mode), channels, size * 2)

    def pooled_dense(self) -> None:
        """Means of the channels, a product, and back."""
        name, channels, _ = self.square()
        rows = self.number(1, 5)
        flat = self.build.op("Flatten", self.build.op("GlobalAveragePool", name))
        if self.chance(0.5):
            output = self.build.op("Gemm", flat, self.build.weights(channels, rows), self.build.weights(rows))
        else:
            output = self.build.op("MatMul", flat, self.build.weights(channels, rows))
        self.add_square(self.build.op("Reshape", output, self.build.ints(1, rows, 1, 1)), rows, 1)

    def mix_the_plane(self) -> None:
        chosen = self.square()
        self.like(self.build.op(self.pick(["Softmax", "LogSoftmax", "LpNormalization"]), chosen[0]), chosen)

    def mean_variance(self) -> None:
        chosen = self.square()
        self.like(self.build.op("MeanVarianceNormalization", chosen[0]), chosen)
