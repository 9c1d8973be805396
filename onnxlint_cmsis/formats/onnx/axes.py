"""Axes that a node names and its input does not have: such a file means nothing, and is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.model_error import ModelError


class NamedAxes(NamedTuple):
    """Where an operator names axes."""

    attribute: str = ""
    """Attribute with one axis or several."""
    position: int = -1
    """Input with them, where the attribute is not given; -1 for none."""
    more: int = 0
    """Axes beyond those of the first input that are allowed: the result has them."""


AXIS, AXES = NamedAxes("axis"), NamedAxes("axes", 1)
_REDUCED = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
NAMED: Mapping[str, NamedAxes] = MappingProxyType(
    {
        **dict.fromkeys(("ArgMax", "ArgMin", "Concat", "Gather", "GatherElements", "Hardmax", "LogSoftmax"), AXIS),
        **dict.fromkeys(("LpNormalization", "ScatterElements", "Softmax", "Split", "TopK"), AXIS),
        **dict.fromkeys((f"Reduce{name}" for name in _REDUCED), AXES),
        **dict.fromkeys(("Squeeze", "Unsqueeze"), AXES),
        "CumSum": NamedAxes(position=1),
        "Slice": NamedAxes("axes", 3),
        "Transpose": NamedAxes("perm"),
        "Flatten": NamedAxes("axis", more=1),
        "OneHot": NamedAxes("axis", more=1),
    }
)
"""Operators of the default domain by name."""


def refuse_axes(graph: Graph) -> None:
    """Raise ModelError (`not-a-model`) for the first axis that is out of range."""
    for node in graph.nodes:
        row = None if node.domain else NAMED.get(node.op_type)
        shape = graph.shape(node.inputs[0]) if row is not None and node.has(0) else None
        if row is None or not shape:
            continue
        rank, axes = len(shape), [*_axes(graph, node, row)]
        new = len(axes) if node.op_type == "Unsqueeze" else 0
        least, most = -rank - new, rank + row.more + new - 1
        bad = next((axis for axis in axes if not least <= axis <= most), None)
        text = ""
        if bad is not None:
            text = f"axis {bad}, and its input has {rank} dimensions: {least} to {most} are allowed"
        elif row.attribute == "perm" and axes and sorted(axes) != [*range(rank)]:
            text = f"the axes {axes}, which are no order of the {rank} of its input"
        if text:
            raise ModelError("not-a-model", f"{node.label} names {text}")


def _axes(graph: Graph, node: Node, row: NamedAxes) -> Iterator[int]:
    """Axes that a node states or reads from a constant."""
    given = node.attributes.get(row.attribute)
    if isinstance(given, int):
        yield given
    elif isinstance(given, (list, tuple)):
        yield from (int(axis) for axis in given if isinstance(axis, int))
    elif node.has(row.position) and row.position > 0:
        constant = graph.constants.get(node.inputs[row.position])
        yield from () if constant is None or constant.overridable else constant.integers() or ()
