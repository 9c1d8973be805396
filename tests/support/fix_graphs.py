"""Applying a plan in tests: by the tensor whose axis a class is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.analysis.dimensions import Dimensions
from onnxlint_cmsis.analysis.proof_results import Proof
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.graph import Graph
from support.linter import with_plan
from support.proofs import prove

Lanes = tuple[int | None, ...]


class Case(NamedTuple):
    """A model and what the analysis makes of it."""

    model: onnx.ModelProto
    graph: Graph
    dimensions: Dimensions

    def leaf(self, tensor: str, axis: int = 1) -> int:
        group = self.dimensions.class_of(tensor, axis)
        assert group is not None, tensor
        assert group.freedom is not Freedom.LOCKED, group.locks
        return group.id

    def applied(self, kept: Mapping[str, Lanes], increments: Mapping[str, np.ndarray] | None = None) -> onnx.ModelProto:
        return with_plan(self.model, self.graph, self.dimensions, self.plan(kept, increments))

    def plan(self, kept: Mapping[str, Lanes], increments: Mapping[str, np.ndarray] | None = None) -> Plan:
        """A plan for the classes along axis 1 of tensors, and for layers by name."""
        nodes = {node.name: node.index for node in self.graph.nodes}
        added = {nodes[name]: values for name, values in (increments or {}).items()}
        return Plan({self.leaf(tensor): lanes for tensor, lanes in kept.items()}, added)

    def proof(self, changed: onnx.ModelProto, **options) -> Proof:
        return prove(self.model.SerializeToString(), changed.SerializeToString(), **options)


def case(model: onnx.ModelProto, path: str = "test.onnx") -> Case:
    graph = load(path, data=model.SerializeToString())
    return Case(model, graph, analyse(graph))


def arrays(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Initializers and values of Constant nodes."""
    stored = [tensor for tensor in model.graph.initializer if tensor.data_location != TensorProto.EXTERNAL]
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in stored}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].HasField("t"):
            values[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return values


def input_of(model: onnx.ModelProto, node: str, position: int) -> np.ndarray:
    """Constant that a node reads, by its name."""
    return arrays(model)[next(candidate for candidate in model.graph.node if candidate.name == node).input[position]]


def unchanged(before: onnx.ModelProto, after: onnx.ModelProto, *allowed: str) -> None:
    """Everything but the named nodes, constants and stated shapes is the same, byte for byte and in the same order."""
    for field in ("node", "initializer", "value_info", "input", "output"):
        old, new = ({entry.name: entry for entry in getattr(model.graph, field)} for model in (before, after))
        assert [name for name in new if name in old] == [name for name in old if name in new]
        for name in old.keys() | new.keys():
            if name not in allowed:
                assert old[name].SerializeToString(deterministic=True) == new[name].SerializeToString(
                    deterministic=True
                ), name
    frames = [onnx.ModelProto.FromString(model.SerializeToString()) for model in (before, after)]
    for frame in frames:
        for field in ("node", "initializer", "value_info"):
            frame.graph.ClearField(field)
    assert frames[0].SerializeToString(deterministic=True) == frames[1].SerializeToString(deterministic=True)
