"""Apply a plan to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.dims.result import Dimensions
from onnxlint_cmsis.fixers.plan_types import Plan, TensorEdit
from onnxlint_cmsis.onnx_graph.graph import Graph

if TYPE_CHECKING:
    from onnx import ModelProto


def refused(graph: Graph, dimensions: Dimensions) -> dict[int, str]:
    """Classes that dims leaves free but whose tensors cannot be edited, with the reason."""
    raise NotImplementedError


def edits(graph: Graph, dimensions: Dimensions, plan: Plan) -> list[TensorEdit]:
    """Stored constants that the plan changes, in the order of their first use. Reads no weights.

    Raises NotAppliedError.
    """
    raise NotImplementedError


def apply(model: ModelProto, graph: Graph, dimensions: Dimensions, plan: Plan) -> ModelProto:
    """A new model with every tensor, attribute and shape of the classes resized; `model` stays as it is.

    `graph` and `dimensions` are those of `model`. External data are read from beside `graph.path` and become part
    of the new model where they change; all others stay where they are. Raises NotAppliedError.
    """
    raise NotImplementedError
