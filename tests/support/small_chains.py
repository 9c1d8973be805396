"""Chains of ONNX operators on int8 with few choices, so that many of them compute the same."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FIRST = (1, 2, 4, 3)
"""Sizes of the input."""
LARGEST = 96
"""Elements of a tensor."""
SCALES: dict[str, tuple[float, np.generic]] = {
    "": (1 / 16, np.int8(0)),
    "u": (1 / 16, np.uint8(128)),
    "o": (1 / 16, np.uint8(100)),
    "w": (1 / 8, np.int8(0)),
}
"""Steps and zero-points of tensors, by what their names end in: powers of two, so that floats are exact."""
Steps = Sequence[Callable[["Chain"], None]]
"""Functions that add nodes to a chain."""


class Chain:
    """A chain of operators on int8 in steps of 1/16, with few choices, so that many chains compute the same."""

    def __init__(self, seed: int = 0, most: int = 0, steps: Steps = (), *, more: bool = False) -> None:
        """So many random steps at most; with `more` in several scales and operator sets."""
        self.random, self.shape, self.tensor = random.Random(seed), FIRST, "x"
        self.nodes: list[onnx.NodeProto] = []
        self.constants = [self.constant(np.array(scale, np.float32), f"s{end}") for end, (scale, _) in SCALES.items()]
        self.constants += [self.constant(np.array(zero), f"z{end}") for end, (_, zero) in SCALES.items()]
        self.ends, self.opset = (
            ["", "", "", *SCALES] if more else [""],
            self.random.choice([13, 17, 18, 21]) if more else 17,
        )
        self.averages = 0
        self.add("DequantizeLinear", "s", "z")
        for _ in range(self.random.randint(1, most) if most else 0):
            step = self.random.choice(steps)
            before = len(self.nodes), len(self.constants), self.shape, self.tensor, self.averages
            step(self)
            if math.prod(self.shape) > LARGEST or min(self.shape) < 1:
                del self.nodes[before[0] :], self.constants[before[1] :]
                self.shape, self.tensor, self.averages = before[2:]

    @property
    def model(self) -> onnx.ModelProto:
        nodes = [*self.nodes, helper.make_node("QuantizeLinear", [self.tensor, "s", "z"], ["y"])]
        ends = (
            [helper.make_tensor_value_info(name, TensorProto.INT8, shape)]
            for name, shape in (("x", FIRST), ("y", self.shape))
        )
        graph = helper.make_graph(nodes, "g", *ends, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def constant(self, values: np.ndarray, name: str = "") -> onnx.TensorProto:
        return numpy_helper.from_array(values, name or f"c{len(self.constants)}")

    def stored(self, values: object, dtype: type = np.int64) -> str:
        self.constants.append(self.constant(np.array(values, dtype)))
        return self.constants[-1].name

    def add(self, op: str, *inputs: str, round_too: bool = False, **attributes: object) -> None:
        result = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.tensor, *inputs], [result], **attributes))
        self.tensor = result
        if round_too:
            end = self.random.choice(self.ends)
            self.add("QuantizeLinear", f"s{end}", f"z{end}")
            self.add("DequantizeLinear", f"s{end}", f"z{end}")


class Part:
    """A branch of a chain: it adds to the same nodes and leaves the chain's own end."""

    def __init__(self, chain: Chain) -> None:
        self.__dict__.update(chain.__dict__)

    constant, stored, add = Chain.constant, Chain.stored, Chain.add  # its name tells what it is to those who draw
