"""Random `.tflite` nets of windows, strides, dilations, pools, pads and branches that meet again."""

from __future__ import annotations

import random

from support.expanding_nets import Net
from support.tflite_writer import write

SIZES = ((40, 36), (33, 29), (64, 20), (48, 48), (7, 120), (96, 1))


class BranchingNet(Net):
    """A net whose layers read any map of a fitting size that came before."""

    def front(self) -> int:
        """The input, in int8 or of another type behind a QUANTIZE."""
        rng, shape = self.rng, [1, *self.rng.choice(SIZES), self.rng.choice([1, 3, 4])]
        kind = rng.choice([self.kind] * 4 + ["FLOAT32", "UINT8"])
        source = self.activation(shape, kind if self.kind == "INT8" else self.kind)
        if self.tensors[source]["type"] == self.kind:
            return source
        return self.operator("QUANTIZE", [source], self.activation(shape))

    def window(self, source: int) -> int:
        """A convolution or a depthwise one, of any window that the map has room for."""
        rng = self.rng
        if rng.random() < 0.5:
            return self.convolution(source, rng.choice([2, 4, 6, 8]), rng.choice([1, 3, 5]), rng.choice([1, 1, 2, 3]))
        stride, dilation = rng.choice([(1, 1), (2, 1), (1, 2), (3, 1)])
        kernel = rng.choice([(3, 3), (5, 1), (1, 5), (2, 2), (4, 3)])
        sizes = zip(self.shape(source)[1:3], kernel, strict=True)
        room = all(size > (length - 1) * dilation + 1 for size, length in sizes)
        return self.depthwise(
            source, stride, dilation, rng.choice(["SAME", "SAME", "VALID"]) if room else "SAME", kernel
        )

    def padded_pool(self, source: int, kernel: tuple[int, int] = (3, 3)) -> int:
        """A pool with SAME padding."""
        batch, height, width, depth = self.shape(source)
        stride = self.rng.choice([1, 2])
        result = self.activation([batch, -(-height // stride), -(-width // stride), depth])
        self.tensors[result]["quantization"] = self.tensors[source]["quantization"]
        options = {
            "padding": "SAME",
            "stride_w": stride,
            "stride_h": stride,
            "filter_height": kernel[0],
            "filter_width": kernel[1],
        }
        op = self.rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])
        return self.operator(op, [source], result, ("Pool2DOptions", options))

    def beside_constant(self, source: int, rng: random.Random) -> int:
        """An operator of a constant that is the same along some axes of the map, or none."""
        shape = [size if rng.random() < 0.5 else 1 for size in self.shape(source)]
        op = rng.choice(["ADD", "MUL", "SUB", "MAXIMUM"] if self.kind == "INT8" else ["ADD", "MUL", "SUB"])
        return self.beside(op, source, shape[rng.randint(0, 3) :], swapped=rng.random() < 0.3)

    def meeting(self, source: int, maps: list[int]) -> int:
        """The sum with a map of the same size, or the two side by side; a convolution where there is none."""
        same = [other for other in maps if self.shape(other) == self.shape(source) and other != source]
        if not same:
            return self.convolution(source, self.shape(source)[-1], 3)
        other = self.rng.choice(same)
        if self.rng.random() < 0.7:
            return self.operator("ADD", [source, other], self.activation(self.shape(source)), ("AddOptions", {}))
        result = self.activation([*self.shape(source)[:-1], 2 * self.shape(source)[-1]])
        scale = self.tensors[source]["quantization"]
        if self.tensors[other]["quantization"] != scale:
            return self.convolution(source, self.shape(source)[-1], 3)
        self.tensors[result]["quantization"] = scale
        return self.operator("CONCATENATION", [source, other], result, ("ConcatenationOptions", {"axis": 3}))


def branching(seed: int, kind: str = "INT8") -> bytes:
    """A random net."""
    drawn = BranchingNet(seed, kind)
    rng, constants = random.Random(seed), random.Random(-1 - seed)
    maps = [drawn.front()]
    for _ in range(rng.randint(2, 7)):
        source, draw = maps[-1], rng.random()
        least = min(drawn.shape(source)[1:3])
        if draw < 0.6:
            maps.append(drawn.window(source))
        elif draw < 0.68:
            maps.append(drawn.padded(source))
        elif draw < 0.8 and least >= 4:
            maps.append(drawn.pool(source) if rng.random() < 0.6 else drawn.padded_pool(source))
        else:
            maps.append(drawn.meeting(source, maps))
        if constants.random() < 0.2:
            maps.append(drawn.beside_constant(maps[-1], constants))
    return write(drawn.model(maps[-1]))
