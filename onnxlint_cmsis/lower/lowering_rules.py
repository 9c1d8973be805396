"""What makes a call of each operator: for integers, for q7 and q15, and for floats."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.ground.types import Function, KernelCall
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.binary import lower_binary
from onnxlint_cmsis.lower.convolution import lower_convolution, lower_transpose
from onnxlint_cmsis.lower.decision import Cause, Decision, no_kernel
from onnxlint_cmsis.lower.dense import lower_dense
from onnxlint_cmsis.lower.dims import NO_DIMS, dims_of
from onnxlint_cmsis.lower.joins import lower_concat, lower_transpose_axes
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.pads import lower_pad
from onnxlint_cmsis.lower.pooling import lower_pool
from onnxlint_cmsis.lower.recurrent import lower_lstm
from onnxlint_cmsis.lower.softmax import lower_softmax
from onnxlint_cmsis.lower.stored_types import activation_type, weights_behind
from onnxlint_cmsis.model.graph import Graph, Node

Rule = Callable[[Graph, Node, Assumptions], "Layer | Decision | None"]


NO_FUNCTION = "CMSIS 5 has no function for it in q7 or q15"


SUM = f"{NO_FUNCTION}; CMSIS-DSP's arm_add_q7 and arm_add_q15 add tensors of one Q-format"


ONLY_AT_ZERO = "arm_relu_q7 and arm_relu_q15 clamp at 0 alone"


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
