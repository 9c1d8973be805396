"""Steps of random models: element by element, also where not every number has a result."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from support.random_graph import RandomGraph


class CurveSteps(RandomGraph):
    """Element-wise operators."""

    def unary(self) -> None:
        if chosen := self.float_of():
            output = self.build.op(self.pick(self.style.curves), chosen[0])
            self.floats.append((output, chosen[1]))

    def clip(self) -> None:
        if chosen := self.float_of():
            output = self.build.op("Clip", chosen[0], self.scalar(self.one_of(-1.0, 0.0, 0.1, 1.0)), self.scalar(6.0))
            self.floats.append((output, chosen[1]))

    def per_channel(self) -> None:
        if chosen := self.float_of():
            channels = chosen[1][1]
            numbers = self.alive(self.random.normal(size=channels))
            held = self.build.const(numbers.reshape(-1, *[1] * (len(chosen[1]) - 2)), np.float32)
            self.floats.append((self.build.op(self.one_of("Add", "Mul", "PRelu", "Max"), chosen[0], held), chosen[1]))

    def sum(self) -> None:
        if chosen := self.float_of():
            other = self.pick([candidate for candidate in self.floats if candidate[1] == chosen[1]])
            names = self.one_of("Add", "Mul", "Sub", "Max", "Min")
            self.floats.append((self.build.op(names, chosen[0], other[0]), chosen[1]))

    def batch_norm(self) -> None:
        if chosen := self.float_of(4):
            numbers = [self.random.uniform(0.5, 2, chosen[1][1]) for _ in range(4)]
            numbers[0] = self.alive(numbers[0])
            held = [self.build.const(values, np.float32) for values in numbers]
            self.floats.append((self.build.op("BatchNormalization", chosen[0], *held), chosen[1]))

    def risky(self) -> None:
        chosen = self.square()
        self.like(self.build.op(self.pick(RISKY), chosen[0]), chosen)

    def guarded(self) -> None:
        """What the channels there are hold is inside what the operator is defined on."""
        chosen = self.square()
        operator = self.pick(RISKY)
        if operator in ("Acos", "Asin", "Atanh"):
            bound = self.build.op("Tanh", chosen[0])
            bound = self.build.op("Mul", bound, self.numbers(chosen[1], 0.1, 0.9))
        else:
            bound = self.build.op(self.pick(["Sigmoid", "Abs", "Relu"]), chosen[0])
            bound = self.build.op("Add", bound, self.numbers(chosen[1], 1, 2))
        self.like(self.build.op(operator, self.like(bound, chosen)[0]), chosen)

    def with_numbers(self) -> None:
        chosen = self.square()
        operands = [chosen[0], self.numbers(chosen[1], *self.pick([(0.5, 2), (-2, 2), (1, 1)]))]
        if self.chance(0.3):
            operands.reverse()
        self.like(self.build.op(self.pick(PAIRS), *operands), chosen)

    def power(self) -> None:
        chosen = self.square()
        base = self.build.op("Abs", chosen[0]) if self.chance(0.5) else chosen[0]
        exponent = self.build.const(self.pick([2, 0.5, 3, -1, 0, -0.5, 1.5]), np.float32)
        if self.chance(0.3):
            exponent = self.numbers(chosen[1], 0.5, 2)
        self.like(self.build.op("Pow", base, exponent), chosen)

    def pair(self) -> None:
        chosen = self.square()
        other = self.pick([candidate for candidate in self.squares() if candidate[1:] == chosen[1:]])
        self.like(self.build.op(self.pick([*PAIRS, "Sum", "PRelu", "Mean"]), chosen[0], other[0]), chosen)

    def map_over_the_plane(self) -> None:
        """A map over the plane for every channel."""
        chosen = self.square()
        factor = self.reduced("ReduceMax", chosen[0], 1) if self.chance(0.5) else None
        factor = factor or self.build.weights(chosen[2], chosen[2])
        self.like(self.build.op(self.pick(PAIRS), chosen[0], factor), chosen)

    def choose(self) -> None:
        chosen = self.square()
        test = self.build.op("Greater", chosen[0], self.numbers(chosen[1], -1, 1))
        self.like(self.build.op("Where", test, chosen[0], self.numbers(chosen[1], 0.5, 2)), chosen)

    def whole(self) -> None:
        chosen = self.square()
        output = self.build.op("Cast", chosen[0], to=self.pick([TensorProto.FLOAT16, TensorProto.INT32]))
        self.like(self.build.op("Cast", output, to=TensorProto.FLOAT), chosen)

    def half(self) -> None:
        """An operator in 16 bits."""
        chosen = self.square()
        output = self.build.op("Cast", chosen[0], to=TensorProto.FLOAT16)
        number = self.build.const(self.pick([0.001, 0.5, 3, 300, 60000]), np.float16)
        output = self.build.op(self.pick(PAIRS), output, number)
        output = self.build.op(self.pick(["Exp", "Reciprocal", "Sqrt", "Relu"]), output)
        self.like(self.build.op("Cast", output, to=TensorProto.FLOAT), chosen)

    def reduce(self) -> None:
        chosen = self.square()
        output = self.reduced(self.pick(REDUCTIONS), chosen[0], 2, 3)
        self.like(self.build.op(self.pick(PAIRS), chosen[0], output), chosen)

    def swap(self) -> None:
        """Channels last and back, with a curve there."""
        chosen = self.square()
        last = self.build.op("Transpose", chosen[0], perm=[0, 2, 3, 1])
        bent = self.build.op(self.pick([*RISKY, "Relu"]), last)
        self.like(self.build.op("Transpose", bent, perm=[0, 3, 1, 2]), chosen)

    def instance_norm(self) -> None:
        chosen = self.square()
        numbers = [self.build.const(self.build.random.uniform(0.5, 1, chosen[1]), np.float32) for _ in range(2)]
        self.like(self.build.op("InstanceNormalization", chosen[0], *numbers), chosen)

    def numbers(self, channels: int, low: float, high: float) -> str:
        """Constants for each channel, or one for all, stored or computed."""
        shape = self.pick([(channels, 1, 1), (1, channels, 1, 1), (channels, 1, 1), ()])
        constant = self.build.const(self.build.random.uniform(low, high, shape), np.float32)
        return self.build.op("Abs", constant) if low > 0 and self.chance(0.2) else constant


RISKY = ("Acos", "Acosh", "Asin", "Atanh", "Cosh", "Exp", "Log", "Reciprocal", "Sinh", "Sqrt")
PAIRS = ("Add", "Div", "Max", "Min", "Mul", "Sub")
REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceProd", "ReduceSum"),
)
