"""Whether a model of floats holds integers already."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.operators.answers import Elements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.lower.lowered import Lowered
    from onnxlint_cmsis.model.graph import Graph

WHOLE = 8
"""As many different numbers in one layer's weights, each of them whole, are no accident."""
LOOKED_AT = 4096
"""Weights of a layer that are looked at, however many it has."""


def holds_integers(graph: Graph, lowered: Lowered, read: Callable[[str], NDArray[Any] | None]) -> bool:
    """Tell whether its floats are integers already, as tools for DORY and Deeploy store them.

    They are where it requantizes; else the smallest weights of more than WHOLE numbers decide.
    `read` gives the values of a constant, None where they are not to be read.
    """
    if any(operator_of(node).elements is Elements.REQUANTIZED for node in graph.nodes):
        return True
    layers = [record.node for record in lowered.records if record.assumed and record.weighted]
    weights = {node.inputs[operator_of(node).roles.second] for node in layers} & graph.constants.keys()
    sizes = {key: prod(graph.constants[key].shape) for key in weights}
    smallest = min((key for key in sizes if sizes[key] > WHOLE), key=lambda key: (sizes[key], key), default="")
    values = read(smallest) if smallest else None
    some = values.ravel()[:LOOKED_AT] if values is not None and values.dtype.kind == "f" else None
    numbers = set() if some is None else {*some.tolist()}
    return len(numbers) >= WHOLE and all(float(number).is_integer() for number in numbers)
