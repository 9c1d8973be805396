"""The table of lowering functions by operator, and the pass over a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.activation_checks import check_activations, check_operand, numbers_of
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.binary import lower_binary
from onnxlint_cmsis.lower.convolution import lower_convolution, lower_transpose
from onnxlint_cmsis.lower.dense import lower_dense
from onnxlint_cmsis.lower.epilogue import (
    CLAMPING,
    CLAMPS,
    WEIGHTED,
    Epilogue,
    float_epilogue,
    has_bias,
    quantized_epilogue,
)
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer, decided
from onnxlint_cmsis.lower.other import lower_concat, lower_transpose_axes
from onnxlint_cmsis.lower.pads import lower_pad
from onnxlint_cmsis.lower.plain_code import in_plain_code
from onnxlint_cmsis.lower.pool import lower_pool
from onnxlint_cmsis.lower.quantization import of_input, of_result, quantized_model
from onnxlint_cmsis.lower.recurrent import lower_lstm
from onnxlint_cmsis.lower.result_checks import UNEQUAL, check_copy, check_result
from onnxlint_cmsis.lower.softmax import lower_softmax, widened
from onnxlint_cmsis.lower.stored_types import quantizes, weights_behind
from onnxlint_cmsis.lower.verdict import UNDECIDED, Cause, Decision, Verdict, refused
from onnxlint_cmsis.lower.weight_checks import check_weights, weights_of
from onnxlint_cmsis.lower.without_function import INTEGERS, without_function
from onnxlint_cmsis.operators.derived import derived_values
from onnxlint_cmsis.operators.registry import operator_of

Rule = Callable[[Graph, Node, Assumptions], "Layer | Decision | None"]

_MS = "com.microsoft"

LOWERINGS: dict[tuple[str, str], Rule] = {
    ("", "Conv"): lower_convolution,
    ("", "ConvInteger"): lower_convolution,
    ("", "QLinearConv"): lower_convolution,
    (_MS, "FusedConv"): lower_convolution,
    (_MS, "QLinearConv"): lower_convolution,
    ("", "ConvTranspose"): lower_transpose,
    ("", "Gemm"): lower_dense,
    (_MS, "FusedGemm"): lower_dense,
    (_MS, "QGemm"): lower_dense,
    ("", "MatMul"): lower_dense,
    ("", "MatMulInteger"): lower_dense,
    ("", "QLinearMatMul"): lower_dense,
    (_MS, "FusedMatMul"): lower_dense,
    (_MS, "DynamicQuantizeMatMul"): lower_dense,
    (_MS, "MatMulIntegerToFloat"): lower_dense,
    ("", "MaxPool"): lower_pool,
    ("", "AveragePool"): lower_pool,
    ("", "GlobalAveragePool"): lower_pool,
    ("", "GlobalMaxPool"): lower_pool,
    (_MS, "QLinearAveragePool"): lower_pool,
    (_MS, "QLinearGlobalAveragePool"): lower_pool,
    ("", "Add"): lower_binary,
    ("", "Sub"): lower_binary,
    ("", "Mul"): lower_binary,
    ("", "Div"): lower_binary,
    ("", "Max"): lower_binary,
    ("", "Min"): lower_binary,
    (_MS, "QLinearAdd"): lower_binary,
    (_MS, "QLinearMul"): lower_binary,
    ("", "Sum"): lower_binary,
    ("", "Softmax"): lower_softmax,
    (_MS, "QLinearSoftmax"): lower_softmax,
    ("", "Concat"): lower_concat,
    (_MS, "QLinearConcat"): lower_concat,
    ("", "Transpose"): lower_transpose_axes,
    ("", "Pad"): lower_pad,
    ("", "LSTM"): lower_lstm,
}

COMPUTED = (Cause.DYNAMIC_QUANTIZATION, Cause.OPERAND_COMPUTED)
"""Causes that a constant seems to have whose values lie in external data that are refused or missing."""
NOT_READ = "values that lie in external data are not read"
CHANNELS_LAST = "its channels are last; a layer is followed with channels first only"
"""Reason of ONNX Runtime's operators with the attribute `channels_last`."""
SHAPE_OPERATORS = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Concat", "Transpose", "Pad")
"""Operators that are arithmetic on shapes where they make integers."""


def lower(graph: Graph, assume: str = "s8", one_channel: str = "convolution") -> Lowered:
    """Give the verdict on every node that depends on the input and has something to compute, in file order.

    `assume` is the data type of layers that compute in float: `s8`, `s16` or `s4`, or of all layers where the functions
    of CMSIS 5 are called: `q7`, `q15` or `q7q15`; `one_channel` is what a convolution with one group over one input
    channel becomes: `convolution` or `depthwise`.
    """
    if assume.startswith("q"):
        from onnxlint_cmsis.lower.legacy_lowering import legacy_records

        return Lowered(tuple(legacy_records(graph, assume)))
    return Lowered(tuple(_Lowering(graph, Assumptions(assume, one_channel)).records()))


class _Lowering:
    """One pass over a graph."""

    def __init__(self, graph: Graph, assume: Assumptions) -> None:
        self._graph = graph
        self._assume = assume
        self._derived: AbstractSet[str] = derived_values(graph)
        self._quantized = quantized_model(graph)
        self._unread = any(problem.kind == "external" for problem in graph.problems)
        self._absorbed: set[int] = set()
        self._clampable: set[str] = set()

    def records(self) -> Iterator[LoweredLayer]:
        """Records in file order; nodes that another layer computes have none."""
        for node in self._graph.nodes:
            if not _complete(node) or node.index in self._absorbed or node.outputs[0] in self._derived:
                continue
            found = self._lowered(node)
            if found is not None:
                record = self._record(node, found)
                if self._unread and record.cause in COMPUTED:
                    record = LoweredLayer(node, UNDECIDED.verdict, UNDECIDED.cause, NOT_READ)
                if record.epilogue:
                    self._absorbed.update(each.index for each in record.epilogue.absorbed)
                    self._clampable.update(_clamped(record, record.epilogue))
                yield record

    def _lowered(self, node: Node) -> Layer | Decision | None:
        """The record of one node, from operator and shapes alone."""
        rule = LOWERINGS.get((node.domain, node.op_type))
        if rule is None:
            found = without_function(self._graph, node, self._assume, self._clampable)
            return self._requantization(node) if found is None and self._quantized else found
        if node.op_type in SHAPE_OPERATORS and self._graph.elem_type(node.outputs[0]) in INTEGERS:
            return None
        if node.int("channels_last"):
            return refused(Cause.ATTRIBUTE, CHANNELS_LAST)
        behind = node.text(operator_of(node).epilogue)
        if behind not in ("", *CLAMPS):
            return refused(Cause.ATTRIBUTE, f"its activation is {behind}; CMSIS-NN's kernels end in a clamp")
        return rule(self._graph, node, self._assume)

    def _record(self, node: Node, found: Layer | Decision) -> LoweredLayer:
        if isinstance(found, Decision):
            record = LoweredLayer(node, found.verdict, found.cause, found.reason, found.code)
            return self._in_integers(record) if found.verdict is Verdict.PLAIN and self._quantized else record
        record = LoweredLayer(node, Verdict.CMSIS_NN, layer=found)
        if self._quantized:
            return self._in_integers(record)
        ending = float_epilogue(self._graph, found, self._derived)
        return record._replace(layer=found._replace(fused=ending.fused), epilogue=ending)

    def _in_integers(self, record: LoweredLayer) -> LoweredLayer:
        """The record of a node in a quantized model, decided by its quantization."""
        graph, node, layer = self._graph, record.node, record.layer
        entry = layer.call.entry if layer else ""
        weighted = entry.startswith(WEIGHTED)
        numbers = numbers_of(graph, node, weighted)
        weights = weights_of(graph, layer) if layer else None
        record = record._replace(inputs=numbers, weights=weights)
        ending = quantized_epilogue(graph, node, entry.startswith(CLAMPING), weighted)
        if isinstance(ending, Decision):
            return decided(record, check_activations(graph, node, numbers, None) or ending)
        record = record._replace(epilogue=ending)
        layer = widened(layer, numbers, ending.quantization) if layer else None
        entry = layer.call.entry if layer else ""
        refusal = check_activations(graph, node, numbers, ending.quantization, entry)
        if layer is None:
            return decided(record, refusal or check_operand(graph, node) or check_copy(node, numbers, ending))
        if weighted:
            layer = layer._replace(call=layer.call._replace(bias=has_bias(node, ending)))
            refusal = refusal or check_weights(graph, layer, numbers, weights, ending)
        refusal = refusal or check_result(layer, numbers, ending)
        record = record._replace(layer=layer._replace(fused=ending.fused))
        return decided(record, refusal)

    def _requantization(self, node: Node) -> Decision | None:
        """A change of scale, which is a layer: QuantizeLinear of integers of another scale."""
        if not quantizes(node) or weights_behind(self._graph, node.inputs[0]) is not None:
            return None
        before, after = of_input(self._graph, node, 0), of_result(self._graph, node)
        if before is None or after is None or before.equals(after):
            return None
        kind = "s16" if before.bits == 16 else "s8"
        return in_plain_code(kind, "requantize", Cause.UNEQUAL_SCALES, UNEQUAL)


def _complete(node: Node) -> bool:
    """A node without its inputs or outputs is the file's problem, reported as such."""
    return bool(node.inputs and node.outputs and node.inputs[0] and node.outputs[0])


def _clamped(record: LoweredLayer, ending: Epilogue) -> tuple[str, ...]:
    """The tensor that a function with a clamp writes."""
    call = record.call
    return (ending.tensor,) if call is not None and call.entry.startswith(CLAMPING) else ()
