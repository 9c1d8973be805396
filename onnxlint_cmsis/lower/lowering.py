"""The whole graph lowered: every node to a call, a verdict, or a place in another layer."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from onnxlint_cmsis.cmsis_nn.apis import LEGACY
from onnxlint_cmsis.formats.derived_values import derived_values
from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.types import WEIGHTED, FloatCall, Function, KernelCall
from onnxlint_cmsis.lower import epilogue
from onnxlint_cmsis.lower.activation_refusals import check_activations, check_operand, numbers_of
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import UNDECIDED, Cause, Decision, no_kernel
from onnxlint_cmsis.lower.find_quantization import of_input, of_result, quantized_model
from onnxlint_cmsis.lower.float_islands import IN_FLOAT
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer, complete, decided
from onnxlint_cmsis.lower.lowering_rules import FLOAT_LOWERINGS, LOWERINGS
from onnxlint_cmsis.lower.operands import operands_of
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.reference_code import in_reference_code
from onnxlint_cmsis.lower.result_refusals import UNEQUAL, check_copy, check_result
from onnxlint_cmsis.lower.softmax import widened
from onnxlint_cmsis.lower.stored_types import quantizes, weights_behind
from onnxlint_cmsis.lower.weight_refusals import check_weights, weights_of
from onnxlint_cmsis.lower.without_function import INTEGERS, without_function
from onnxlint_cmsis.model.graph import Graph, Node

COMPUTED = (Cause.DYNAMIC_QUANTIZATION, Cause.OPERAND_COMPUTED)
"""Causes that a constant seems to have whose values lie in external data that are refused or missing."""
NOT_READ = "values that lie in external data are not read"
CHANNELS_LAST = "its channels are last; a layer is followed with channels first only"
"""Reason of ONNX Runtime's operators with the attribute `channels_last`."""


def lower(
    graph: Graph, assume: str = "s8", one_channel: str = "convolution", floating: FloatCall | None = None
) -> Lowered:
    """Give the verdict on every node that depends on the input and has something to compute, in file order.

    `assume` is the data type of layers that compute in float: `s8`, `s16` or `s4`, or of all layers where the functions
    of CMSIS 5 are called: `q7`, `q15` or `q7q15`. With `f32` or `f16` they stay float, those of a quantized model too,
    and `floating` says what their calls are given. `one_channel` is what a convolution with one group over one input
    channel becomes: `convolution` or `depthwise`.
    """
    if assume in LEGACY.types:
        from onnxlint_cmsis.lower.legacy_lowering import legacy_records

        return Lowered(tuple(legacy_records(graph, assume)))
    assumptions = Assumptions(assume, one_channel, floating or FloatCall())
    return Lowered(tuple(_Lowering(graph, assumptions).records()))


MAKE_ZEROS = (*epilogue.CLAMPS, "HardSwish", "HardSigmoid", "ThresholdedRelu", "Shrink", "Pad", "DequantizeLinear")
"""Operators whose results hold zeros for many inputs."""


def _may_be_zero(graph: Graph, tensor: str) -> bool:
    """Tell whether numbers of a tensor come from an operator that makes zeros, through others that keep zeros."""
    waiting, seen = [tensor], set[int]()
    while waiting:
        node = graph.producers.get(waiting.pop())
        if node is None or node.index in seen:
            continue
        if canonical(node) in MAKE_ZEROS:
            return True
        seen.add(node.index)
        record = operator_of(node)
        if record.moves or record.keeps_scale:
            waiting += operands_of(node)
        waiting += [node.inputs[position] for position in record.zero if node.has(position)]
    return False


class _Lowering:
    def __init__(self, graph: Graph, assume: Assumptions) -> None:
        self._graph = graph
        self._derived: AbstractSet[str] = derived_values(graph)
        self._quantized = quantized_model(graph)
        islands = self._quantized and assume.stays_float
        self._islands = assume._replace(island=True) if islands else None
        self._assume = assume._replace(data_type="s8") if islands else assume
        self._rules = FLOAT_LOWERINGS if self._assume.stays_float else LOWERINGS
        self._unread = any(problem.kind == "external" for problem in graph.problems)
        self._absorbed: set[int] = set()
        self._clampable: set[str] = set()

    def records(self) -> Iterator[LoweredLayer]:
        """Records in file order; nodes that another layer computes have none."""
        for node in self._graph.nodes:
            if not complete(node) or node.index in self._absorbed or node.outputs[0] in self._derived:
                continue
            outcome = self._lowered(node)
            if outcome is not None:
                record = self._record(node, outcome)
                if self._islands and record.cause in IN_FLOAT:
                    record = self._island(node, self._islands) or record
                if self._unread and record.cause in COMPUTED:
                    record = LoweredLayer(node, UNDECIDED.verdict, UNDECIDED.cause, NOT_READ)
                if record.epilogue:
                    self._absorbed.update(behind.index for behind in record.epilogue.absorbed)
                    if record.call is not None and record.call.function in epilogue.CLAMPING:
                        self._clampable.add(record.epilogue.tensor)
                yield record

    def _lowered(self, node: Node) -> Layer | Decision | None:
        """The record of one node, from operator and shapes alone."""
        rule = self._rules.get(canonical(node))
        if rule is None:
            outcome = without_function(self._graph, node, self._assume, self._clampable)
            return self._requantization(node) if outcome is None and self._quantized else outcome
        if not operator_of(node).roles.weights and self._graph.elem_type(node.outputs[0]) in INTEGERS:
            return None
        if node.int("channels_last"):
            return no_kernel(Cause.ATTRIBUTE, CHANNELS_LAST)
        behind = node.text(operator_of(node).epilogue)
        if behind not in ("", *epilogue.CLAMPS):
            return no_kernel(Cause.ATTRIBUTE, f"its activation is {behind}; CMSIS-NN's kernels end in a clamp")
        return rule(self._graph, node, self._assume)

    def _record(self, node: Node, outcome: Layer | Decision) -> LoweredLayer:
        if isinstance(outcome, Decision):
            record = LoweredLayer(node, outcome.verdict, outcome.cause, outcome.reason, outcome.code)
            return self._in_integers(record) if outcome.verdict is Outcome.REFERENCE and self._quantized else record
        record = LoweredLayer(node, Outcome.CMSIS_NN, layer=outcome)
        return self._in_integers(record) if self._quantized else self._in_float(record, outcome, self._assume)

    def _in_float(self, record: LoweredLayer, layer: Layer, assume: Assumptions) -> LoweredLayer:
        """The record of a layer that is not quantized, with what its kernel computes along."""
        ending = epilogue.float_epilogue(self._graph, layer, self._derived, stays_float=assume.stays_float)
        layer = layer._replace(call=self._float_call(layer, ending, assume)) if assume.stays_float else layer
        return record._replace(layer=layer._replace(fused=ending.fused), epilogue=ending)

    def _island(self, node: Node, assume: Assumptions) -> LoweredLayer | None:
        """The record of a node of a quantized model that computes in float, from its function for floats."""
        rule = FLOAT_LOWERINGS.get(canonical(node))
        types = {self._graph.elem_type(name) for name in (*operands_of(node), *node.outputs[:1])}
        if rule is None or not types <= {*epilogue.REALS}:
            return None
        outcome = rule(self._graph, node, assume)
        if isinstance(outcome, Decision):
            return LoweredLayer(node, outcome.verdict, outcome.cause, outcome.reason, outcome.code)
        return outcome and self._in_float(LoweredLayer(node, Outcome.CMSIS_NN), outcome, assume)

    def _float_call(self, layer: Layer, ending: epilogue.Epilogue, assume: Assumptions) -> KernelCall:
        """The call of a layer that stays float: weights that may be packed, its buffer, its bias and its clamp."""
        call, floating = layer.call, layer.call.floating or assume.floating
        clamped = any(canonical(node) in epilogue.CLAMPS for node in ending.fused)
        packed = floating.packed and call.function in (Function.CONVOLVE, Function.FULLY_CONNECTED)
        added = any(epilogue.changes_weights(node) for node in ending.absorbed)
        biased = call.function not in WEIGHTED or added or epilogue.has_bias(layer.node, ending)
        zeros = call.function is Function.TRANSPOSE_CONV and _may_be_zero(self._graph, layer.node.inputs[0])
        return call._replace(bias=biased, floating=floating._replace(packed=packed, clamped=clamped, zeros=zeros))

    def _in_integers(self, record: LoweredLayer) -> LoweredLayer:
        """The record of a node in a quantized model, decided by its quantization."""
        graph, node, layer = self._graph, record.node, record.layer
        function = layer.call.function if layer else ""
        weighted = function in WEIGHTED
        numbers = numbers_of(graph, node, weighted)
        weights = weights_of(graph, layer) if layer else None
        record = record._replace(inputs=numbers, weights=weights)
        ending = epilogue.quantized_epilogue(graph, node, function in epilogue.CLAMPING, weighted)
        if isinstance(ending, Decision):
            return decided(record, check_activations(graph, node, numbers, None) or ending)
        record = record._replace(epilogue=ending)
        layer = widened(layer, numbers, ending.quantization) if layer else None
        entry = layer.call.entry if layer else ""
        refusal = check_activations(graph, node, numbers, ending.quantization, entry)
        if layer is None:
            return decided(record, refusal or check_operand(graph, node) or check_copy(node, numbers, ending))
        if weighted:
            layer = layer._replace(call=layer.call._replace(bias=epilogue.has_bias(node, ending)))
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
        return in_reference_code(kind, "requantize", Cause.UNEQUAL_SCALES, UNEQUAL)
