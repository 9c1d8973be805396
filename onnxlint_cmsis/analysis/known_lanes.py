"""The forward pass: known values of every tensor, from constants and from zero weights."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import numpy as np

from onnxlint_cmsis.analysis.known_view import KnownView
from onnxlint_cmsis.analysis.layer_weights import weighted_of
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.operators.moves import moved_input, passages


def fill_in(view: KnownView) -> None:
    """Carry intervals through all nodes in order; note the layers that sum over constant weights."""
    for node in view.graph.nodes:
        whole = node.inputs and node.inputs[0] and node.outputs and node.outputs[0] and not node.bodies
        if whole and not all(name in view.graph.constants for name in node.outputs if name):
            stored = all(name in view.graph.constants for name in node.inputs if name)
            if stored and not any(node.outputs[1:]) and operator_of(node).roles.form is None:
                # mostly weights, whose numbers may never be needed
                view.postpone(node.outputs[0], partial(_carry, node, view))
            else:
                _carry(node, view)
        view.derive(node)


def _carry(node: Node, view: KnownView) -> None:
    """Note the results of a node; contradictory shapes are skipped."""
    with np.errstate(all="ignore"), suppress(ValueError, IndexError):
        _compute(node, view)


def _compute(node: Node, view: KnownView) -> None:
    operator = operator_of(node)
    if operator.movement is not None:
        for position, way in enumerate(passages(node, view)):
            if node.outputs[position]:
                known = view.input(node, moved_input(node, view))
                move = None if way is None else operator.movement(way)
                view.learn(node, position, None if known is None or move is None else known.moved(move.forward))
        return
    weighted = weighted_of(node, view)
    if weighted is not None:
        view.weighted[node.index] = weighted
    if callable(operator.values) and not any(node.outputs[1:]):
        view.learn(node, 0, operator.values(node, view))
