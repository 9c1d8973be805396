"""Operators of a `.tflite` file as lowered layers, which checks, planning and reports take."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.runtimes.interpretation import layer_of
from onnxlint_cmsis.runtimes.tflm.preparation import Stage
from onnxlint_cmsis.runtimes.tflm.verdicts import OPEN_SIZE, TflmOperator


def lowered_layer(graph: Graph, node: Node, row: TflmOperator) -> LoweredLayer | None:
    """What an operator becomes; None for one that takes no code."""
    runs = bool(row.functions) and row.stage not in ("registration", Stage.PREPARE)
    if runs:
        layer = layer_of(graph, node, row.call) if row.call else None
        return LoweredLayer(node, Outcome.CMSIS_NN, layer=layer)
    verdict = row.verdict if row.verdict in (Outcome.REFERENCE, Outcome.UNDECIDED) else Outcome.NO_KERNEL
    if verdict is Outcome.REFERENCE and operator_of(node).free:
        return None
    return LoweredLayer(node, verdict, Cause.SHAPE if row.cause == OPEN_SIZE else Cause.RUNTIME, row.reason)
