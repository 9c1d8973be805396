"""From the rows of TensorFlow Lite Micro's interpreter to lowered layers, which checks, planning and reports take."""

from __future__ import annotations

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.layer import Channel, Layer
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.tflite_work import tflite_macs
from onnxlint_cmsis.lower.verdict import Cause, Verdict
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.roles import Form
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict
from onnxlint_cmsis.runtimes.tflm.preparation import Stage
from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator
from onnxlint_cmsis.types import KernelCall

VERDICTS = {
    RuntimeVerdict.REFERENCE: Verdict.PLAIN,
    RuntimeVerdict.UNDECIDED: Verdict.UNDECIDED,
}
"""Verdicts on operators that call no function; the others are refused."""
POINTWISE = ("avgpool", "max_pool", "elementwise", "maximum", "minimum")
"""Entry points whose output has the channels of the input, along the last axis of both."""


def lower_tflite(graph: Graph, model: TfliteModel, operators: tuple[TflmOperator, ...]) -> Lowered:
    """Every operator of the graph that has something to compute, with the call that the runtime makes.

    `operators` are the rows of a build without checks, in which more is called.
    """
    pairs = zip(operators, nodes_of(model, graph), strict=True)
    found = [_record(graph, node, row) for row, node in pairs if node is not None]
    return Lowered(tuple(record for record in found if record is not None))


def nodes_of(model: TfliteModel, graph: Graph) -> list[Node | None]:
    """The graph's node of every operator, subgraph by subgraph; None in subgraphs that the main one never runs."""
    by_offset = {node.offset: node for node in graph.nodes}
    return [by_offset.get(each.span.offset) for subgraph in model.subgraphs for each in subgraph.operators]


def _record(graph: Graph, node: Node, row: TflmOperator) -> LoweredLayer | None:
    runs = bool(row.functions) and row.stage not in ("registration", Stage.PREPARE)
    if runs:
        layer = layer_of(graph, node, row.call) if row.call else None
        return LoweredLayer(node, Verdict.CMSIS_NN, layer=layer)
    verdict = VERDICTS.get(row.verdict, Verdict.REFUSED)
    if verdict is Verdict.PLAIN and operator_of(node).free:
        return None
    return LoweredLayer(node, verdict, Cause.RUNTIME, row.reason)


def layer_of(graph: Graph, node: Node, call: KernelCall) -> Layer:
    """The call with the tensors that hold its channel counts."""
    groups = 1
    if operator_of(node).roles.form is Form.CHANNELS_LAST and call.filter_dims.c:
        groups = (call.input_dims.c or 0) // call.filter_dims.c or 1
    return Layer(node, call, _channels(graph, node, call, groups), groups, macs=tflite_macs(graph, node) or None)


def _last_axes(graph: Graph, data: str, made: str) -> dict[str, Channel]:
    """The last axis of input and output; none where one has no axes."""
    ranks = [len(graph.shape(name) or ()) for name in (data, made)]
    if not all(ranks):
        return {}
    return {"input_dims.c": Channel(data, ranks[0] - 1), "output_dims.c": Channel(made, ranks[1] - 1)}


def _channels(graph: Graph, node: Node, call: KernelCall, groups: int) -> dict[str, Channel]:
    """Places of the channel counts by CMSIS-NN's names; none where another count may be another function's.

    A dense layer with a result of more than two axes is one: which function takes it depends on its depth.
    """
    form = operator_of(node).roles.form
    if call.entry.startswith(POINTWISE):
        return _last_axes(graph, node.inputs[0], node.outputs[0])
    if form is None:
        return {}
    weights = node.inputs[1]
    if len(graph.shape(weights) or ()) != (2 if form is Form.ROWS else 4):
        return {}
    if form is Form.DEPTHWISE_LAST:
        outputs = Channel(weights, 3)
        return {"input_dims.c": Channel(node.inputs[0], 3), "output_dims.c": outputs, "ch_mult": outputs}
    if form is Form.ROWS and not call.entry.startswith("fully_connected"):
        return {}
    columns = Channel(weights, 1 if form is Form.ROWS else 3, groups)
    return {"input_dims.c": columns, "output_dims.c": Channel(weights, 0)}
