"""A Pad node behind a model's input, where only more input channels step around a known hazard."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.dimensions import DimensionClass, Dimensions
from onnxlint_cmsis.fixers.planning.fits.explicit_pad import PAD_SINCE
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.findings import Resize
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.axes import AxisForm
from onnxlint_cmsis.model.graph import Graph, Node

MOST_ADDED = 16
"""Channels that may be added to a model's input."""


class PaddableInput(NamedTuple):
    """A graph input with channels that only the interface locks."""

    name: str
    """The input."""
    group: DimensionClass
    """Class of its axis 1."""
    real: str
    """Tensor in float that carries it: itself, or what DequantizeLinear makes of it."""


def pad_would_do(model: ModelAnalysis, resize: Resize) -> bool:
    """Tell whether a channel count is one that only an input locks which may get a Pad. Nothing is tried."""
    locked = resize.freedom is Freedom.LOCKED and resize.want - resize.have <= MOST_ADDED
    if not locked or not model.format.adds_operators:
        return False
    group = model.dimensions.class_of(resize.tensor, resize.axis)
    return group is not None and any(
        given.group.id == group.id for given in paddable_inputs(model.graph, model.dimensions)
    )


def paddable_inputs(graph: Graph, dimensions: Dimensions) -> Iterator[PaddableInput]:
    """Inputs of the default operator set's models that may be padded."""
    for name in graph.inputs:
        axes, readers = dimensions.axes(name), graph.consumers.get(name, ())
        if axes is None or len(axes) not in (3, 4) or axes[1].form is not AxisForm.LEAF or name in graph.ends:
            continue
        group = dimensions.class_with_id(axes[1].leaf)
        locks = {str(lock) for lock in group.locks} if group else set()
        real = _real_input(graph, name, readers)
        if group and group.freedom is Freedom.LOCKED and locks <= {f"graph input {name}"} and real:
            yield PaddableInput(name, group, real)


def _real_input(graph: Graph, name: str, readers: tuple[Node, ...]) -> str:
    """The float tensor that carries an input; empty where there is none."""
    if any(node.opset < PAD_SINCE or node.graph for node in readers) or not readers:
        return ""
    if graph.elem_type(name) == "float32":
        return name
    alone = len(readers) == 1 and operator_of(readers[0]).dequantizes
    reals = readers[0].outputs[:1] if alone else ()
    return reals[0] if reals and reals[0] not in graph.ends else ""
