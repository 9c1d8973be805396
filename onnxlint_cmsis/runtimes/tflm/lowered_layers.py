"""Operators of a `.tflite` file as lowered layers, which checks, planning and reports take."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.lower.decision import Cause, Verdict
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.runtimes.interpretation import layer_of
from onnxlint_cmsis.runtimes.outcome import RuntimeVerdict
from onnxlint_cmsis.runtimes.tflm.preparation import Stage
from onnxlint_cmsis.runtimes.tflm.verdicts import OPEN_SIZE, TflmOperator

VERDICTS = {
    RuntimeVerdict.REFERENCE: Verdict.REFERENCE,
    RuntimeVerdict.UNDECIDED: Verdict.UNDECIDED,
}
"""Verdicts on operators that call no function; the others are refused."""


def lowered_layer(graph: Graph, node: Node, row: TflmOperator) -> LoweredLayer | None:
    """What an operator becomes; None for one that takes no code."""
    runs = bool(row.functions) and row.stage not in ("registration", Stage.PREPARE)
    if runs:
        layer = layer_of(graph, node, row.call) if row.call else None
        return LoweredLayer(node, Verdict.CMSIS_NN, layer=layer)
    verdict = VERDICTS.get(row.verdict, Verdict.NO_KERNEL)
    if verdict is Verdict.REFERENCE and operator_of(node).free:
        return None
    return LoweredLayer(node, verdict, Cause.SHAPE if row.cause == OPEN_SIZE else Cause.RUNTIME, row.reason)
