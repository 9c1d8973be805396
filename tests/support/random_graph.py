"""What random models are drawn into: tensors made so far, choices, constants."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from hypothesis import strategies as st
from onnx import TensorProto

from support.dims_graphs import Builder

Shape = tuple[int, ...]
Chosen = TypeVar("Chosen")
LARGEST = 600
"""Elements along an axis up to which geometry is drawn on."""


class Quantized(NamedTuple):
    """An integer tensor with its scale and zero-point."""

    name: str
    shape: Shape
    scale: float
    zero: int
    dtype: type


class Style(NamedTuple):
    """What kind of models to draw."""

    steps: tuple[str, ...]
    """Methods of RandomModel to choose from; some come up more often."""
    curves: tuple[str, ...]
    """Functions of one variable."""
    opening: str = ""
    """The first step; empty for any."""
    length: tuple[int, int] = (3, 24)
    """Fewest and most steps."""
    opset: int = 21
    """Version of the operator set."""
    channels: tuple[int, int] = (1, 4)
    """Fewest and most channels of the input."""
    edge: int = 5
    """Height and width of the input."""
    integers: bool = False
    """Whether the input may hold integers."""
    dead: bool = False
    """Whether weights have rows and columns of zeros, and the last tensors are read more often."""
    plain: bool = False
    """Whether most convolutions have one group and a kernel of 1x1, so that many classes are free."""
    seeded: bool = False
    """Whether a seeded generator makes most choices: what Hypothesis draws itself is mostly small."""


class RandomGraph:
    """The state of a model that is drawn node by node, and the choices."""

    def __init__(self, style: Style, draw: st.DrawFn | None = None, seed: int = 0) -> None:
        """Draw from Hypothesis; or from a seed, where `draw` is not given."""
        self.style = style
        self.draw = draw
        if draw is not None and style.seeded:
            seed = draw(st.integers(0, 2**64 - 1))
        self.choices = random.Random(seed) if draw is None or style.seeded else None
        self.build = Builder(opset=style.opset, seed=self.number(0, 9999))
        self.random = self.build.random
        self.floats: list[tuple[str, Shape]] = []
        self.integers: list[Quantized] = []
        self.input_shape = (1, self.number(*style.channels), style.edge, style.edge)
        self.input_dtype = self.pick([np.int8, np.uint8]) if style.integers and self.coin() else np.float32
        if self.input_dtype is np.float32:
            self.floats.append((self.build.input("x", *self.input_shape), self.input_shape))
        else:
            elem_type = TensorProto.INT8 if self.input_dtype is np.int8 else TensorProto.UINT8
            name = self.build.input("x", *self.input_shape, elem_type=elem_type)
            self.integers.append(Quantized(name, self.input_shape, 0.0487, *self.zero(self.input_dtype)))

    # choices

    def number(self, low: int, high: int) -> int:
        return self.choices.randint(low, high) if self.choices else self.draw(st.integers(low, high))

    def coin(self) -> bool:
        return self.choices.random() < 0.5 if self.choices else self.draw(st.booleans())

    def pick(self, values: Sequence[Chosen]) -> Chosen:
        return self.choices.choice(values) if self.choices else self.draw(st.sampled_from(values))

    def one_of(self, *values):
        return self.pick(values)

    def order(self, values: Sequence[int]) -> list[int]:
        return self.choices.sample(values, len(values)) if self.choices else self.draw(st.permutations(values))

    def chance(self, share: float) -> bool:
        return self.number(0, 99) < 100 * share

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.number(0, 1000) / 1000

    def zero(self, dtype: type) -> tuple[int, type]:
        return (self.one_of(0, -128, 3) if dtype is np.int8 else self.one_of(0, 128, 7)), dtype

    # tensors

    def float_of(self, rank: int | None = None) -> tuple[str, Shape] | None:
        fitting = [candidate for candidate in self.floats if rank in (None, len(candidate[1]))]
        return self._recent(
            fitting if self.style.dead else [candidate for candidate in fitting if max(candidate[1]) <= LARGEST]
        )

    def integer_of(self, rank: int | None = None) -> Quantized | None:
        return self._recent([candidate for candidate in self.integers if rank in (None, len(candidate.shape))])

    def _recent(self, fitting: list[Chosen]) -> Chosen | None:
        if not fitting:
            return None
        if not self.style.dead:
            return self.pick(fitting)
        if not self.style.plain:
            return self.pick(fitting[-2:])
        return fitting[-1] if self.number(0, 3) else self.pick(fitting[-4:])

    def squares(self) -> list[tuple[str, int, int]]:
        """Name, channels and edge of float tensors of rank 4 whose plane is square."""
        return [(name, shape[1], shape[2]) for name, shape in self.floats if len(shape) == 4 and shape[2] == shape[3]]

    def square(self) -> tuple[str, int, int]:
        """Mostly the last of them."""
        return self.squares()[-1] if self.chance(0.7) else self.pick(self.squares())

    def add(self, name: str, *shape: int) -> None:
        self.floats.append((name, shape))

    def add_square(self, name: str, channels: int, edge: int) -> None:
        self.add(name, 1, channels, edge, edge)

    def like(self, name: str, chosen: tuple[str, int, int]) -> tuple[str, int, int]:
        """Add a tensor of another's shape."""
        self.add_square(name, *chosen[1:])
        return (name, *chosen[1:])

    # operators whose form depends on the operator set

    def parts(self, count: int) -> dict[str, int]:
        """Attributes of a Split into equal parts."""
        return {"num_outputs": count} if self.style.opset >= 18 else {}

    def reduced(self, op_type: str, name: str, *axes: int, keepdims: int = 1) -> str:
        if self.style.opset >= 18 or (op_type == "ReduceSum" and self.style.opset >= 13):
            return self.build.op(op_type, name, self.build.ints(*axes), keepdims=keepdims)
        return self.build.op(op_type, name, axes=list(axes), keepdims=keepdims)

    # constants

    def scalar(self, value: float, dtype: type = np.float32) -> str:
        return self.build.const(np.array(value), dtype)

    def zeroed(self, array: np.ndarray, rows: int, columns: int, fill: float = 0) -> np.ndarray:
        """Some rows and some columns without weights."""
        for axis, share in ((rows, 0.5), (columns, 0.1)):
            gone = self.random.random(array.shape[axis]) < share
            position = [slice(None)] * array.ndim
            position[axis] = gone
            array[tuple(position)] = fill
        return array

    def real_weights(self, *shape: int, rows: int = 0, columns: int = 1) -> str:
        if not self.style.dead:
            return self.build.weights(*shape)
        return self.build.const(self.zeroed(self.random.normal(size=shape), rows, columns), np.float32)

    def alive(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers for each channel, some of them 0 where channels may be dead."""
        return numbers * (self.random.random(len(numbers)) < 0.7) if self.style.dead else numbers

    def whole_weights(self, shape: Shape, zero: int, rows: int = 0, columns: int = 1) -> np.ndarray:
        return self.zeroed(self.random.integers(-30, 31, shape), rows, columns) + zero

    def bias(self, count: int) -> np.ndarray:
        return self.random.integers(-3000, 3000, count) * (self.random.random(count) < 0.7)

    def parameters(self, integers: Quantized) -> tuple[str, str]:
        return self.scalar(integers.scale), self.scalar(integers.zero, integers.dtype)

    def quantize(self) -> None:
        if chosen := self.float_of():
            dtype = self.one_of(np.int8, np.uint8)
            quantized = Quantized("", chosen[1], self.one_of(0.0513, 0.0207, 0.2519), *self.zero(dtype))
            name = self.build.op("QuantizeLinear", chosen[0], *self.parameters(quantized))
            self.integers.append(quantized._replace(name=name))

    def dequantize(self) -> None:
        if chosen := self.integer_of():
            self.floats.append((self.real(chosen), chosen.shape))

    def real(self, integers: Quantized) -> str:
        return self.build.op("DequantizeLinear", integers.name, *self.parameters(integers))
