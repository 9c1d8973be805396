"""A layer with the numbers that decide how it is rounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.integer_functions import ACTIVATIONS

ENDS = MappingProxyType({"int8": (-128, 127), "int16": (-32768, 32767)})
"""Least and largest integer of a type."""


class Steps(NamedTuple):
    """How a tensor is stored: real = scale × (integer − zero-point)."""

    kind: str
    """Element type, int8 for int4."""
    scales: tuple[float, ...]
    """One, or one for each output channel."""
    zero: int
    """First zero-point."""

    @property
    def scale(self) -> float:
        """The first scale."""
        return self.scales[0]

    @property
    def ends(self) -> tuple[int, int]:
        """Least and largest integer."""
        return ENDS[self.kind]

    @property
    def width(self) -> int:
        """Steps from one end to the other."""
        return self.ends[1] - self.ends[0]

    @property
    def furthest(self) -> int:
        """Largest distance of an integer from the zero-point."""
        return max(abs(end - self.zero) for end in self.ends)

    @property
    def distances(self) -> Array:
        """Every integer less the zero-point."""
        low, high = self.ends
        return np.arange(low, high + 1, dtype=np.int64) - self.zero


class NoScaleError(Exception):
    """A tensor that a rule asks for has no scale."""


class HostLayer:
    """An operator of a `.tflite` file."""

    def __init__(self, graph: Graph, node: Node, read: Read) -> None:
        self.graph, self.node, self.read = graph, node, read
        self.position = {"TRANSPOSE_CONV": 2, "SPLIT": 1}.get(node.op_type, 0)
        """Input that holds the activation."""

    @property
    def kind(self) -> str:
        """Element type of the activation; empty for an operator without."""
        return self.graph.elem_type(self.node.inputs[self.position]) if self.node.has(self.position) else ""

    def steps(self, position: int) -> Steps:
        """How an input is stored. Raises NoScaleError."""
        return steps_of(self.graph, self.node.inputs[position] if self.node.has(position) else "")

    @property
    def data(self) -> Steps:
        """How the activation is stored. Raises NoScaleError."""
        return self.steps(self.position)

    @property
    def result(self) -> Steps:
        """How the first result is stored. Raises NoScaleError."""
        return steps_of(self.graph, next(iter(self.node.outputs), ""))

    @property
    def clamp(self) -> tuple[int, int]:
        """Ends of the result behind the fused activation, less its zero-point. Raises NoScaleError."""
        result = self.result
        known = ACTIVATIONS.get(self.node.text("fused_activation_function", "NONE"), (-math.inf, math.inf))
        least, most = (end - result.zero for end in result.ends)
        low, high = (round(end / result.scale) if math.isfinite(end) else end for end in known)
        return int(max(least, low)), int(min(most, high))

    @property
    def ratio(self) -> float:
        """Scale of the data by that of the result."""
        return self.data.scale / self.result.scale

    @property
    def factors(self) -> tuple[float, ...]:
        """Scale of the data times those of the other factor by that of the result: one, or one for each channel."""
        return tuple(self.ratio * scale for scale in self.steps(1).scales)


def steps_of(graph: Graph, name: str) -> Steps:
    """How a tensor of a `.tflite` file is stored. Raises NoScaleError."""
    stored, kind = graph.quantization.get(name), graph.elem_type(name)
    if stored is None or not stored.scales or kind not in ("int4", "int8", "int16"):
        raise NoScaleError
    steps = Steps("int8" if kind == "int4" else kind, stored.scales, (*stored.zero_points, 0)[0])
    low, high = steps.ends
    if not all(scale > 0 and math.isfinite(scale) for scale in steps.scales) or not low <= steps.zero <= high:
        raise NoScaleError
    return steps


Array = NDArray[Any]
Read = Callable[[str], "Array | None"]
"""Values of a stored constant by its key; None where they cannot be read."""
