"""The whole graph lowered: every node to a call, a verdict, or a place in another layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from onnxlint_cmsis.cmsis_nn.releases import LEGACY
from onnxlint_cmsis.formats.names import canonical, derived_values, operator_of
from onnxlint_cmsis.ground.types import WEIGHTED, FloatCall, Function, KernelCall
from onnxlint_cmsis.lower.checks import (
    UNEQUAL,
    check_activations,
    check_copy,
    check_operand,
    check_result,
    check_weights,
    lower_binary,
    lower_softmax,
    numbers_of,
    weights_of,
    widened,
)
from onnxlint_cmsis.lower.dense import lower_dense, lower_lstm
from onnxlint_cmsis.lower.elementwise import lower_concat, lower_transpose_axes
from onnxlint_cmsis.lower.epilogue import (
    CLAMPING,
    CLAMPS,
    REALS,
    Epilogue,
    changes_weights,
    float_epilogue,
    has_bias,
    linear_epilogue,
    quantized_epilogue,
)
from onnxlint_cmsis.lower.layer import (
    NO_DIMS,
    UNDECIDED,
    Assumptions,
    Cause,
    Decision,
    Layer,
    Verdict,
    dims_of,
    in_reference_code,
    no_kernel,
    operands_of,
)
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer, decided
from onnxlint_cmsis.lower.quantization import (
    activation_type,
    of_input,
    of_result,
    quantized_model,
    quantizes,
    weights_behind,
)
from onnxlint_cmsis.lower.spatial import lower_convolution, lower_pad, lower_pool, lower_transpose
from onnxlint_cmsis.lower.work import IN_FLOAT, INTEGERS, is_shape_arithmetic, without_function
from onnxlint_cmsis.model.graph import Graph, Node

# Lowering to the functions for q7 and q15 of CMSIS 5.
#
# Their scales are powers of two, so that a converter gives every tensor a new Q-format. A model with Q/DQ pairs is read
# like a float model. No function clamps its output: Relu is a separate call.


Rule = Callable[[Graph, Node, Assumptions], "Layer | Decision | None"]

NO_FUNCTION = "CMSIS 5 has no function for it in q7 or q15"
SUM = f"{NO_FUNCTION}; CMSIS-DSP's arm_add_q7 and arm_add_q15 add tensors of one Q-format"
GROUPS = "the functions for q7 and q15 have no groups but one for each channel"
ONLY_AT_ZERO = "arm_relu_q7 and arm_relu_q15 clamp at 0 alone"
WIDE = {
    Function.DEPTHWISE: "CMSIS 5 has no depthwise convolution in q15",
    Function.MAX_POOL: "CMSIS 5 has no pooling in q15",
    Function.AVERAGE_POOL: "CMSIS 5 has no pooling in q15",
}
"""Functions for q7 alone, each with the reason why wider types are refused."""


def legacy_records(graph: Graph, assumed: str) -> Iterator[LoweredLayer]:
    """The verdict on every node with something to compute; `assumed` (`q7`, `q15`, `q7q15`) is what float becomes."""
    derived = derived_values(graph)
    absorbed: set[int] = set()
    for node in graph.nodes:
        if not _complete(node) or node.index in absorbed or node.outputs[0] in derived:
            continue
        outcome = _lowered(graph, node, assumed)
        if isinstance(outcome, Decision):
            yield LoweredLayer(node, outcome.verdict, outcome.cause, outcome.reason)
        elif outcome is not None:
            ending = linear_epilogue(graph, outcome, derived)
            absorbed.update(behind.index for behind in ending.absorbed)
            biased = outcome.call._replace(bias=has_bias(node, ending) or bool(ending.fused))
            yield LoweredLayer(
                node, Verdict.CMSIS_NN, layer=outcome._replace(call=biased, fused=ending.fused), epilogue=ending
            )


def _lowered(graph: Graph, node: Node, assumed: str) -> Layer | Decision | None:
    if operator_of(node).free or is_shape_arithmetic(graph, node) or graph.elem_type(node.outputs[0]) in INTEGERS:
        return None
    rule = LEGACY_LOWERINGS.get(canonical(node))
    outcome = rule(graph, node, Assumptions("s8")) if rule else no_kernel(Cause.NO_FUNCTION, NO_FUNCTION)
    if isinstance(outcome, Decision):
        return outcome if outcome.verdict is Verdict.UNDECIDED else no_kernel(outcome.cause, outcome.reason)
    return None if outcome is None else _in_q(graph, outcome, assumed)


def _in_q(graph: Graph, layer: Layer, assumed: str) -> Layer | Decision:
    """A layer of s8 as the one of q7 or q15 that its activations ask for."""
    function = Function(layer.call.function)
    kind, _ = activation_type(graph, layer.node.inputs[0], Assumptions(assumed))
    kind = {"s8": "q7", "s16": "q7q15"}.get(kind, kind)
    if function is Function.CONVOLVE and layer.groups != 1:
        return no_kernel(Cause.GROUPS, GROUPS)
    if function in (Function.BATCH_MATMUL, Function.TRANSPOSE_CONV):
        return no_kernel(Cause.NO_FUNCTION, NO_FUNCTION)
    if kind != "q7" and function in WIDE:
        return no_kernel(Cause.NO_FUNCTION, WIDE[function])
    kind = "q15" if kind == "q7q15" and function is not Function.FULLY_CONNECTED else kind
    return layer._replace(call=layer.call._replace(entry=function.entry(kind), per_channel=None))


def _elementwise(function: Function) -> Rule:
    """A function that works on each element, in place."""

    def run(graph: Graph, node: Node, assume: Assumptions) -> Layer:
        kind, assumed = activation_type(graph, node.inputs[0], assume)
        source, result = dims_of(graph, node.inputs[0], node.outputs[0])
        return Layer(node, KernelCall(function.entry(kind), source, NO_DIMS, result), {}, 1, assumed)

    return run


def _refusing(cause: Cause, reason: str) -> Rule:
    """No function, for a reason that holds for every node."""
    return lambda _graph, _node, _assume: no_kernel(cause, reason)


def _copied(rule: Rule) -> Rule:
    """A node that only moves elements: nothing to compute, or no function."""

    def run(graph: Graph, node: Node, assume: Assumptions) -> Decision | None:
        outcome = rule(graph, node, assume)
        return no_kernel(Cause.NO_FUNCTION, NO_FUNCTION) if isinstance(outcome, Layer) else outcome

    return run


FLT_ACT = {"Sigmoid": 33, "Tanh": 34, "Relu": 35, "Clip": 36, "HardSwish": 37, "LeakyRelu": 38}
"""Operators that arm_nn_activation_* computes: numbers of arm_nn_activation_type_flt; Clip as relu6 alone."""
OTHER_BOUNDS = "no layer in front takes it as its clamp, and arm_nn_activation_* clamps to 0 and 6 alone"


def _float_activation(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """A function of each element that no layer in front computes along."""
    name = canonical(node)
    if name == "Clip" and _bounds(graph, node) != (0.0, 6.0):
        return no_kernel(Cause.NO_FUNCTION, OTHER_BOUNDS)
    layer = _elementwise(Function.ACTIVATION)(graph, node, assume)
    assert isinstance(layer, Layer)
    floating = assume.floating._replace(activation=FLT_ACT[name])
    return layer._replace(call=layer.call._replace(floating=floating))


def _bounds(graph: Graph, node: Node) -> tuple[float | None, ...]:
    """Bounds of a Clip, from attributes or constants; None for one that is not fixed."""
    given = [node.attributes.get(name) for name in ("min", "max")]
    for index, name in enumerate(node.inputs[1:3]):
        stored = weights_behind(graph, name) if name else None
        values = stored.values() if stored else None
        given[index] = values[0] if values and len(values) == 1 else None
    return tuple(float(bound) if isinstance(bound, (int, float)) else None for bound in given)


LOWERINGS: dict[str, Rule] = {
    "Conv": lower_convolution,
    "ConvTranspose": lower_transpose,
    "Gemm": lower_dense,
    "MatMul": lower_dense,
    **dict.fromkeys(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"), lower_pool),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum"), lower_binary),
    "Softmax": lower_softmax,
    "Concat": lower_concat,
    "Transpose": lower_transpose_axes,
    "Pad": lower_pad,
    "LSTM": lower_lstm,
}
"""What makes a call of each operator."""
LEGACY_LOWERINGS: dict[str, Rule] = {
    **{name: rule for name, rule in LOWERINGS.items() if rule in (lower_dense, lower_pool)},
    "Conv": lower_convolution,
    **dict.fromkeys(("Sigmoid", "Tanh"), _elementwise(Function.ACTIVATION)),
    **dict.fromkeys(("Add", "Sum"), _refusing(Cause.NO_FUNCTION, SUM)),
    "Relu": _elementwise(Function.RELU),
    "Clip": _refusing(Cause.ATTRIBUTE, ONLY_AT_ZERO),
    "Softmax": lower_softmax,
    "Pad": _copied(lower_pad),
    "Transpose": _copied(lower_transpose_axes),
}
"""The same for q7 and q15."""

FLOAT_LOWERINGS: dict[str, Rule] = {
    **LOWERINGS,
    **dict.fromkeys(("Relu", "Clip", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu"), _float_activation),
    "BatchNormalization": _elementwise(Function.BATCH_NORM),
}
"""The same for f32 and f16."""

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
        return Lowered(tuple(legacy_records(graph, assume)))
    assumptions = Assumptions(assume, one_channel, floating or FloatCall())
    return Lowered(tuple(_Lowering(graph, assumptions).records()))


MAKE_ZEROS = (*CLAMPS, "HardSwish", "HardSigmoid", "ThresholdedRelu", "Shrink", "Pad", "DequantizeLinear")
"""Operators whose results hold zeros for many inputs."""


def _may_be_zero(graph: Graph, tensor: str) -> bool:
    """Whether numbers of a tensor come from an operator that makes zeros, through others that keep zeros."""
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
    """One pass over a graph."""

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
            if not _complete(node) or node.index in self._absorbed or node.outputs[0] in self._derived:
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
                    if record.call is not None and record.call.function in CLAMPING:
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
        if behind not in ("", *CLAMPS):
            return no_kernel(Cause.ATTRIBUTE, f"its activation is {behind}; CMSIS-NN's kernels end in a clamp")
        return rule(self._graph, node, self._assume)

    def _record(self, node: Node, outcome: Layer | Decision) -> LoweredLayer:
        if isinstance(outcome, Decision):
            record = LoweredLayer(node, outcome.verdict, outcome.cause, outcome.reason, outcome.code)
            return self._in_integers(record) if outcome.verdict is Verdict.REFERENCE and self._quantized else record
        record = LoweredLayer(node, Verdict.CMSIS_NN, layer=outcome)
        return self._in_integers(record) if self._quantized else self._in_float(record, outcome, self._assume)

    def _in_float(self, record: LoweredLayer, layer: Layer, assume: Assumptions) -> LoweredLayer:
        """The record of a layer that is not quantized, with what its kernel computes along."""
        ending = float_epilogue(self._graph, layer, self._derived, stays_float=assume.stays_float)
        layer = layer._replace(call=self._float_call(layer, ending, assume)) if assume.stays_float else layer
        return record._replace(layer=layer._replace(fused=ending.fused), epilogue=ending)

    def _island(self, node: Node, assume: Assumptions) -> LoweredLayer | None:
        """The record of a node of a quantized model that computes in float, from its function for floats."""
        rule = FLOAT_LOWERINGS.get(canonical(node))
        types = {self._graph.elem_type(name) for name in (*operands_of(node), *node.outputs[:1])}
        if rule is None or not types <= {*REALS}:
            return None
        outcome = rule(self._graph, node, assume)
        if isinstance(outcome, Decision):
            return LoweredLayer(node, outcome.verdict, outcome.cause, outcome.reason, outcome.code)
        return outcome and self._in_float(LoweredLayer(node, Verdict.CMSIS_NN), outcome, assume)

    def _float_call(self, layer: Layer, ending: Epilogue, assume: Assumptions) -> KernelCall:
        """The call of a layer that stays float: weights that may be packed, its buffer, its bias and its clamp."""
        call, floating = layer.call, layer.call.floating or assume.floating
        clamped = any(canonical(node) in CLAMPS for node in ending.fused)
        packed = floating.packed and call.function in (Function.CONVOLVE, Function.FULLY_CONNECTED)
        added = any(changes_weights(node) for node in ending.absorbed)
        biased = call.function not in WEIGHTED or added or has_bias(layer.node, ending)
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
        ending = quantized_epilogue(graph, node, function in CLAMPING, weighted)
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
        return in_reference_code(kind, "requantize", Cause.UNEQUAL_SCALES, UNEQUAL)


def _complete(node: Node) -> bool:
    """A node without its inputs or outputs is the file's problem, reported as such."""
    return bool(node.inputs[0] and node.outputs[0])
