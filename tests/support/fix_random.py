"""Random models with a random plan for their classes: lanes come, and lanes that do nothing go."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper

from onnxlint_cmsis.planning.lane_plan import Plan
from onnxlint_cmsis.rewrite.refusals import refused
from onnxlint_cmsis.types import Freedom
from support import lanes_random, random_models
from support.lanes_checks import Analysed, analysed


class Planned(NamedTuple):
    """A model with a plan."""

    one: Analysed
    plan: Plan

    def __repr__(self) -> str:
        return f"{onnx.printer.to_text(self.one.model)}\n{self.plan}"


class LayerChain(lanes_random.RandomLanes):
    """Models with many layers, so that many classes are free, and weights in the rarer styles.

    Most choices are made by a seeded generator: what Hypothesis draws itself is mostly small.
    """

    def __init__(self, draw: st.DrawFn) -> None:
        self.choices = random.Random(draw(st.integers(0, 2**64 - 1)))
        super().__init__(draw)
        self.random = self.build.random = np.random.default_rng(self.choices.getrandbits(64))

    def number(self, low: int, high: int) -> int:
        return self.choices.randint(low, high)

    def coin(self) -> bool:
        return self.choices.random() < 0.5

    def one_of(self, *values):
        return self.choices.choice(values)

    def float_of(self, rank: int | None = None) -> tuple[str, lanes_random.Shape] | None:
        return self._late([one for one in self.floats if rank in (None, len(one[1]))])

    def integer_of(self, rank: int | None = None) -> lanes_random.Quantized | None:
        return self._late([one for one in self.integers if rank in (None, len(one.shape))])

    def kernel(self, channels: int) -> tuple[int, int, int, dict[str, object]]:
        if self.number(0, 2):
            return self.number(3, 6), channels, 1, {"group": 1, "pads": [0] * 4}
        return super().kernel(channels)

    def _late(self, fitting: list):
        if not fitting:
            return None
        return fitting[-1] if self.number(0, 3) else self.one_of(*fitting[-4:])

    def layer(self) -> None:
        """One more layer on what was made last."""
        rank = len((self.integers or self.floats)[-1][1])
        if self.integers and self.number(0, 4):
            names = INTEGER_CONVOLUTIONS if rank == 4 else INTEGER_PRODUCTS
        else:
            if not self.floats:
                self.dequantize()
            names = REAL_CONVOLUTIONS if len(self.floats[-1][1]) == 4 else REAL_PRODUCTS
        getattr(self, self.one_of(*names))()

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
            made = self.build.op("Conv", *inputs, group=channels)
            self.floats.append((made, (1, rows, *chosen[1][2:])))


INT4, UINT4 = TensorProto.INT4, TensorProto.UINT4
INTEGER_CONVOLUTIONS = ("qlinear_conv", "qdq_conv", "conv_integer")
INTEGER_PRODUCTS = ("qlinear_matmul", "qdq_matmul", "matmul_integer", "qgemm")
REAL_CONVOLUTIONS = ("conv", "conv", "conv_transpose", "odd_weights", "multiplied")
REAL_PRODUCTS = ("matmul", "gemm", "moved_weights")


@st.composite
def layer_chains(draw: st.DrawFn) -> tuple[onnx.ModelProto, None]:
    """Layers, with something else between them."""
    made = LayerChain(draw)
    made.layer()
    for _ in range(draw(st.integers(2, 7))):
        for _ in range(made.one_of(0, 0, 1, 2)):
            getattr(made, made.one_of(*lanes_random.STEPS))()
        made.layer()
    outputs = [made.close() for _ in range(made.number(1, 2))]
    if made.integers and made.integers[-1].name != "x" and made.coin():
        outputs.append(made.integers[-1].name)
    return made.build.model(*dict.fromkeys(outputs)), None


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    """A model in any style; constants may be shared, and be nodes."""
    kinds = (
        layer_chains(),
        layer_chains(),
        layer_chains(),
        lanes_random.random_models(),
        random_models.random_models(),
    )
    model, _ = draw(st.one_of(*kinds))
    if draw(st.booleans()):
        share_equal_constants(model)
    if draw(st.booleans()):
        make_constant_nodes(model, random.Random(draw(st.integers(0, 99))))
    if draw(st.booleans()):
        del model.graph.value_info[:]
    return model


@st.composite
def planned(draw: st.DrawFn, unsafe: bool = False) -> Planned:
    """Lanes that may go do, or stay, one by one; up to two new ones come, at any place."""
    one = analysed(draw(models()))
    kept: dict[int, tuple[int | None, ...]] = {}
    removed: dict[int, list[int]] = {}
    fixed = refused(one.graph, one.dimensions)
    for found in one.dimensions.classes:
        if found.freedom is Freedom.LOCKED or found.id in fixed:
            continue
        lanes = one.lanes.classes[found.id]
        able = sorted({*lanes.exact, *(lanes.unsafe if unsafe else ())})
        gone = set(able) if draw(st.booleans()) else draw(st.sets(st.sampled_from(able))) if able else set()
        new: list[int | None] = [lane for lane in range(found.size) if lane not in gone]
        for _ in range(draw(st.integers(0, 2))):
            new.insert(draw(st.integers(0, len(new))), None)
        if new != list(range(found.size)):
            kept[found.id] = tuple(new)
            removed[found.id] = sorted(gone)
    return Planned(one, Plan(kept, one.lanes.increments(removed)))


def share_equal_constants(model: onnx.ModelProto) -> None:
    """Make one constant of those that are equal, as exporters do."""
    first: dict[bytes, str] = {}
    names: dict[str, str] = {}
    kept = []
    for tensor in model.graph.initializer:
        copy = onnx.TensorProto()
        copy.CopyFrom(tensor)
        copy.ClearField("name")
        names[tensor.name] = first.setdefault(copy.SerializeToString(deterministic=True), tensor.name)
        if names[tensor.name] == tensor.name:
            kept.append(tensor)
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]


def make_constant_nodes(model: onnx.ModelProto, choices: random.Random) -> None:
    """Turn some initializers into Constant nodes."""
    chosen = [tensor for tensor in model.graph.initializer if choices.random() < 0.5]
    nodes = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in chosen]
    kept = [tensor for tensor in model.graph.initializer if tensor not in chosen]
    nodes += list(model.graph.node)
    del model.graph.initializer[:]
    del model.graph.node[:]
    model.graph.initializer.extend(kept)
    model.graph.node.extend(nodes)


def sizes(plan: Plan) -> Mapping[int, int]:
    """New size of every class of a plan."""
    return {leaf: len(lanes) for leaf, lanes in plan.kept.items()}
