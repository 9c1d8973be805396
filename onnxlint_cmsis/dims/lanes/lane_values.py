"""Forward pass: known values of every tensor, from constants and from zero weights."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.lanes.weighted_layers import weighted_of
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.values.movements import moved_input, passage

if TYPE_CHECKING:
    from onnxlint_cmsis.algebra.interval import Interval
    from onnxlint_cmsis.dims.lanes.lane_view import LaneView
    from onnxlint_cmsis.graph.model import Node


def fill_in(view: LaneView) -> None:
    """Carry intervals through all nodes in order; note the layers that sum over constant weights."""
    for node in view.graph.nodes:
        if _complete(node) and not all(name in view.graph.constants for name in node.outputs if name):
            if _may_wait(node, view):
                view.postpone(node.outputs[0], partial(_carry, node, view))
            else:
                _carry(node, view)
        view.derive(node)


def _may_wait(node: Node, view: LaneView) -> bool:
    """Whether a node computes with stored constants alone: mostly weights, and their numbers may never be needed."""
    alone = all(name in view.graph.constants for name in node.inputs if name) and not any(node.outputs[1:])
    return alone and operator_of(node).roles.form is None


def _carry(node: Node, view: LaneView) -> None:
    """Note the results of a node; contradictory shapes are skipped."""
    with np.errstate(all="ignore"), suppress(ValueError, IndexError):
        _compute(node, view)


def _compute(node: Node, view: LaneView) -> None:
    operator = operator_of(node)
    if operator.movement is not None:
        for position, name in enumerate(node.outputs):
            if name:
                view.learn(node, position, _moved(node, view, position))
        return
    weighted = weighted_of(node, view)
    if weighted is not None:
        view.weighted[node.index] = weighted
    if callable(operator.values) and not any(node.outputs[1:]):
        view.learn(node, 0, operator.values(node, view))


def _complete(node: Node) -> bool:
    return bool(node.inputs and node.inputs[0] and node.outputs and node.outputs[0] and not node.bodies)


def _moved(node: Node, view: LaneView, position: int) -> Interval | None:
    """Elements of the data where an output has them."""
    way, movement = passage(node, view, position), operator_of(node).movement
    known = view.input(node, moved_input(node, view))
    move = None if way is None or movement is None else movement(way)
    return None if known is None or move is None else known.moved(move.forward)
