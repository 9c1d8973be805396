"""Whether types, scales and zero-points of a quantized node are ones that CMSIS-NN takes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.library import Route, computes_groups_as_dense, reads_weight_offset
from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import WEIGHTED, Function, KernelCall, entry_parts
from onnxlint_cmsis.lower.elementwise import NO_FUNCTION, unweighted_layer
from onnxlint_cmsis.lower.epilogue import CLAMPING, Epilogue, along_channels
from onnxlint_cmsis.lower.layer import (
    ARITHMETIC,
    UNDECIDED,
    Assumptions,
    Cause,
    Decision,
    Layer,
    Shape,
    Verdict,
    activations_of,
    broadcast_dims,
    in_reference_code,
    is_image,
    no_kernel,
    parameters_of,
    shape_text,
)
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.quantization import (
    OUTPUT,
    STORED,
    TOLERANCE,
    UNSIGNED_OFFSET,
    AffineQuantization,
    activation_type,
    dequantizes,
    of_input,
    of_weights,
    strange_numbers,
    weights_behind,
    wrong_scale,
)
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Sums
from onnxlint_cmsis.operators.record import Elements

if TYPE_CHECKING:
    pass


# The verdict on a node in one release: the model's own facts, and the limits of that release's functions.


def on_release(record: LoweredLayer, route: Route | None, release: str) -> Decision | None:
    """Why no function of a release computes a node; None where one does. `route` is that of its call, if any."""
    if record.verdict is not Verdict.CMSIS_NN or record.layer is None or route is None:
        return Decision(record.verdict, record.cause or Cause.NO_FUNCTION, record.reason, record.code)
    function, kind = record.layer.call.function, record.layer.call.types
    if route.reason:
        several = function is Function.FULLY_CONNECTED and record.layer.call.per_channel
        cause = Cause.NO_PER_CHANNEL if several else Cause.NO_FUNCTION
        return in_reference_code(kind, function, cause, route.reason)
    if computes_groups_as_dense(route):
        text = f"CMSIS-NN {release} computes a grouped convolution as a dense one"
        return in_reference_code(kind, function, Cause.GROUPS, text)
    dense = record.layer is not None and record.layer.call.function is Function.FULLY_CONNECTED
    offset = record.weights is not None and any(record.weights.signed_zero_points)
    if dense and offset and not reads_weight_offset(release):
        text = f"CMSIS-NN {release} ignores the zero-point of a fully connected layer's weights"
        return in_reference_code(kind, function, Cause.WEIGHT_ZERO_POINT, text)
    return None


# Operators on two activations, or on one and a constant: Add, Sub, Mul, Div, Max and Min.


FUNCTIONS = {
    "Add": Function.ADD,
    "Sum": Function.ADD,
    "Mul": Function.MUL,
    "Max": Function.MAXIMUM,
    "Min": Function.MINIMUM,
}
"""Operator to its function."""
_REACH = 8
"""How many nodes an operand may be away from the constants that it is computed from."""


def lower_binary(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision | None:
    """Lower an operator on two activations, or on one and a constant that no layer in front takes in."""
    roles = operator_of(node).roles
    if len(node.inputs) <= roles.second:
        return None
    left, right = node.inputs[roles.first], node.inputs[roles.second]
    fixed = [computed_from_constants(graph, name) for name in (left, right)]
    kind, assumed = activation_type(graph, right if fixed[0] else left, assume)
    name = canonical(node)
    if roles.step == 1 and len(node.inputs) > 2:
        entry = FUNCTIONS[name].entry(kind)
        return no_kernel(Cause.ATTRIBUTE, f"it has {len(node.inputs)} operands; arm_{entry} takes two")
    shapes = graph.shape(left), graph.shape(right)
    computed = [shape for shape, constant in zip(shapes, fixed, strict=True) if not constant]
    if () in computed or not computed:
        return None  # a scalar computed at run time is a scale, not a layer's operand
    if any(fixed):
        other, constant = shapes[::-1] if fixed[0] else shapes
        decision = _with_constant(name, other, constant, kind)
    elif name not in FUNCTIONS:
        decision = no_kernel(Cause.NO_FUNCTION, NO_FUNCTION)
    else:
        decision = _two_activations(FUNCTIONS[name], kind, *shapes)
    if decision is not None:
        return decision
    first, second, result = broadcast_dims(graph, left, right, node.outputs[0])
    return Layer(node, KernelCall(FUNCTIONS[name].entry(kind), first, second, result), {}, 1, assumed)


def computed_from_constants(graph: Graph, tensor: str, reach: int = _REACH) -> bool:
    """Whether an operand is the same in every run: a constant, moved, dequantized or computed from others."""
    if weights_behind(graph, tensor) is not None:
        return True
    node = graph.producers.get(tensor)
    if node is None or reach == 0 or not node.inputs or node.bodies or operator_of(node).elements is Elements.RANDOM:
        return False
    return all(not name or computed_from_constants(graph, name, reach - 1) for name in node.inputs)


def _with_constant(name: str, other: Shape | None, constant: Shape | None, kind: str) -> Decision | None:
    """Who computes an operator of which one operand is a constant; None for a function of CMSIS-NN."""
    if constant is None or other is None:
        return UNDECIDED
    single = all(size == 1 for size in constant)
    if name in ("Max", "Min"):
        return None  # arm_maximum_s8 and arm_minimum_s8 broadcast
    if single and name in ARITHMETIC and len(constant) <= len(other):
        text = "one operand is a constant that no layer in front takes in"
        return in_reference_code(kind, "lookup", Cause.OPERAND_CONSTANT, text)
    if name not in FUNCTIONS:
        text = f"its constant has several numbers; CMSIS-NN has no function for {name}"
        return no_kernel(Cause.OPERAND_CONSTANT, text)
    if len(constant) > len(other) or any(
        a not in (1, b) for a, b in zip(constant[::-1], other[::-1], strict=False) if b is not None
    ):
        text = f"the constant of shape {shape_text(constant)} makes its operand of shape {shape_text(other)} larger"
        return no_kernel(Cause.BROADCAST, text)
    text = "one operand is a constant of several numbers that no layer in front takes in"
    return in_reference_code(kind, FUNCTIONS[name], Cause.OPERAND_CONSTANT, text)


def _two_activations(function: Function, kind: str, first: Shape | None, second: Shape | None) -> Decision | None:
    """Why no function takes the two operands, or cannot be judged; None where one does."""
    if first is None or second is None:
        return UNDECIDED
    same = _same(first, second) if function in (Function.ADD, Function.MUL) else True
    if same is None:
        return UNDECIDED
    if same:
        return None
    have = f"its operands have shapes {shape_text(first)} and {shape_text(second)}"
    return in_reference_code(kind, function, Cause.BROADCAST, f"{have}; arm_{function.entry(kind)} does not broadcast")


def _same(first: Shape, second: Shape) -> bool | None:
    """Whether two shapes hold the same elements one by one; None where a symbolic size leaves it open."""
    rank = max(len(first), len(second))
    pairs = list(zip(*((1,) * (rank - len(shape)) + shape for shape in (first, second)), strict=True))
    if any(None not in pair and pair[0] != pair[1] for pair in pairs):
        return False
    return None if any(a != b for a, b in pairs) else True


# Whether the activations of a quantized node are of types and zero-points that CMSIS-NN takes.
#
# The s16 functions read no offset of int16 activations (arm_convolve_s16.c, arm_fully_connected_s16.c).


ACTIVATION_TYPES = ("int8", "uint8", "int16")
"""Types of activations; uint8 becomes int8 exactly where 128 is taken off integers and zero-point alike."""
STORED_VALUES = ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool")
"""Operators whose s16 functions work on stored integers, whatever their zero-point (arm_max_pool_s16.c)."""
WIDENING = (Function.SOFTMAX.entry("s8_s16"),)
"""Entry points of int8 input and int16 output; their output has a zero-point, which the function gives it."""

StoredNumbers = tuple[AffineQuantization | None, ...]
"""Quantization of a node's activations, in the order of its inputs; None for one that is float."""


def numbers_of(graph: Graph, node: Node, weighted: bool) -> StoredNumbers:
    """Quantization of a node's activations; weights and constant operands of sums and products are left out."""
    roles = operator_of(node).roles
    positions = [position for position in activations_of(node) if node.inputs[position]]
    if weighted:
        positions = [position for position in positions if position != roles.second]
    if canonical(node) not in ("Max", "Min"):
        positions = [
            position for position in positions if not computed_from_constants(graph, node.inputs[position])
        ] or positions
    return tuple(of_input(graph, node, position) for position in positions)


def check_activations(
    graph: Graph, node: Node, numbers: StoredNumbers, result: AffineQuantization | None, entry: str = ""
) -> Decision | None:
    """Why integers of these types and zero-points are no activations of CMSIS-NN; None where they are.

    `entry` is the entry point of the layer's call, if it has one.
    """
    known = [quantization for quantization in (*numbers, result) if quantization is not None]
    wrong = strange_numbers(known)
    strange = sorted({quantization.elem_type for quantization in known} - set(ACTIVATION_TYPES))
    widening = entry in WIDENING
    roles = operator_of(node).roles
    unscaled = roles.sums is not None and bool(roles.quantized) and parameters_of(node, -1) is None
    facts = (
        (_is_dynamic(graph, node), Cause.DYNAMIC_QUANTIZATION, "the scale of its input is known only at run time"),
        (unscaled, Cause.FLOAT_RESULT, "it gives out sums; no scale for its output is fixed"),
        (None in numbers, Cause.FLOAT, "its input is not quantized"),
        (
            not all(quantization.known for quantization in known),
            Cause.DYNAMIC_QUANTIZATION, "a scale of its activations is known only at run time",
        ),
        (
            any(len(quantization.scales or (0,)) != 1 for quantization in known),
            Cause.SCALE, "several scales quantize an activation; CMSIS-NN's functions take one",
        ),
        (bool(wrong), Cause.SCALE, wrong),
        (
            bool(strange),
            Cause.ACTIVATION_TYPE,
            f"its activations are {''.join(strange[:1]) or 'of unknown type'}; CMSIS-NN takes int8 and int16",
        ),
        (
            not widening and len({quantization.bits for quantization in known}) > 1,
            Cause.ACTIVATION_TYPE, "it has int8 and int16 activations; CMSIS-NN's functions have one type",
        ),
        (
            not widening and canonical(node) not in STORED_VALUES
            and any(quantization.bits == 16 and any(quantization.zero_points or ()) for quantization in known),
            Cause.ZERO_POINT_S16, "its int16 activations have a zero-point; CMSIS-NN's s16 functions take 0",
        ),
    )  # fmt: skip
    return next((no_kernel(cause, text) for met, cause, text in facts if met), None)


def check_operand(graph: Graph, node: Node) -> Decision | None:
    """Why reference code does not take a constant operand of several numbers; None where it does."""
    roles = operator_of(node).roles
    if canonical(node) not in ARITHMETIC or len(node.inputs) <= roles.second:
        return None
    for position in (roles.first, roles.second):
        several = any(size != 1 for size in graph.shape(node.inputs[position]) or ())
        if (
            several
            and computed_from_constants(graph, node.inputs[position])
            and of_input(graph, node, position) is None
        ):
            return no_kernel(Cause.OPERAND_CONSTANT, "one operand is a float constant that is not quantized")
    return None


def _is_dynamic(graph: Graph, node: Node) -> bool:
    """Whether DynamicQuantizeLinear, seen through what only moves integers, makes an input."""
    tensor, roles = node.inputs[0], operator_of(node).roles
    if roles.sums is Sums.SCALED and parameters_of(node, roles.first) is None:  # it measures its input itself
        return True
    for _ in range(len(graph.nodes)):
        producer = graph.producers.get(tensor)
        if producer is None or not producer.inputs:
            return False
        if operator_of(producer).elements is Elements.MEASURED:
            return True
        if graph.elem_type(tensor) not in STORED and not dequantizes(producer):
            return False
        tensor = producer.inputs[0]
    return False


# Checks of a quantized layer's weights and their scales against its function.
#
# `cmsis_nn_conv_params`, `cmsis_nn_dw_conv_params` and `cmsis_nn_transpose_conv_params` have an input and an output
# offset and none for the filter; `cmsis_nn_fc_params` has a `filter_offset`, one for all outputs
# (Include/arm_nn_types.h).


WEIGHT_TYPES = ("int8", "uint8", "int4")
"""Types of weights; uint8 becomes int8 as activations do."""
MOST_MULTIPLIER = 2.0**30
"""Smallest multiplier that is too large for TensorFlow Lite (QuantizeMultiplier)."""

LEAST_MULTIPLIER = 2.0**-32
"""Multiplier below which TensorFlow Lite takes 0 (QuantizeMultiplier)."""


def vanished(record: LoweredLayer) -> tuple[int, int]:
    """How many of a layer's multipliers count as 0, and how many there are; 0 of 0 where they are not known."""
    source = record.inputs[0] if record.inputs else None
    if record.call is None or record.weights is None or source is None or record.output is None:
        return 0, 0
    unit, step = source.scale, record.output.scale
    scales = record.weights.scales or ()
    if not scales or unit * min(scales) / step >= LEAST_MULTIPLIER:
        return 0, len(scales)
    return sum(unit * scale / step < LEAST_MULTIPLIER for scale in scales), len(scales)


def weights_of(graph: Graph, layer: Layer) -> AffineQuantization | None:
    """Quantization of a layer's weights; None where it has none or they are float."""
    if layer.call.function not in WEIGHTED:
        return None
    return of_weights(graph, layer.node, operator_of(layer.node).roles.second)


def check_weights(
    graph: Graph, layer: Layer, numbers: StoredNumbers, weights: AffineQuantization | None, ending: Epilogue
) -> Decision | None:
    """Why a layer's weights or their scales do not fit its function; None where they do."""
    position = operator_of(layer.node).roles.second
    if weights is None:
        return no_kernel(Cause.WEIGHT_TYPE, "its weights are not quantized")
    wrong = strange_numbers((weights,))
    facts = (
        (
            weights_behind(graph, layer.node.inputs[position]) is None,
            Cause.OPERAND_COMPUTED, "its weights are computed at run time",
        ),
        (not weights.known, Cause.DYNAMIC_QUANTIZATION, "the scale of its weights is known only at run time"),
        (
            weights.elem_type not in WEIGHT_TYPES,
            Cause.WEIGHT_TYPE, f"its weights are {weights.elem_type}; CMSIS-NN takes int8 and int4",
        ),
        (bool(wrong), Cause.SCALE, wrong),
    )  # fmt: skip
    return (
        next((no_kernel(cause, text) for met, cause, text in facts if met), None)
        or _zero_point_refusal(layer.call, weights)
        or _scale_refusal(layer, weights)
        or _bias_refusal(graph, layer, ending)
        or _multiplier_refusal(numbers, weights, ending)
    )


def _zero_point_refusal(call: KernelCall, weights: AffineQuantization) -> Decision | None:
    """Convolutions have no filter offset; fully connected s8 functions have one for all outputs, s16 and s4 none."""
    zeros = set(weights.signed_zero_points)
    if not any(zeros):
        return None
    if call.function is not Function.FULLY_CONNECTED:
        text = "its weights have a zero-point other than 0; CMSIS-NN's convolutions take 0"
        return no_kernel(Cause.WEIGHT_ZERO_POINT, text)
    if call.types != "s8":
        text = f"its weights have a zero-point other than 0; arm_{call.entry} takes 0"
        return no_kernel(Cause.WEIGHT_ZERO_POINT, text)
    if len(zeros) > 1:
        return no_kernel(
            Cause.WEIGHT_ZERO_POINT, "its weights have several zero-points; arm_fully_connected_s8 takes one"
        )
    return None


def _scale_refusal(layer: Layer, weights: AffineQuantization) -> Decision | None:
    """Check for one scale, or one per output channel, which for fully connected layers s8 alone has."""
    if weights.blocks:
        text = "its weights are quantized in blocks; CMSIS-NN has one scale for each output channel"
        return no_kernel(Cause.WEIGHT_SCALES, text)
    if len(weights.scales or ()) == 1:
        return None
    node, call = layer.node, layer.call
    dense = call.function is Function.FULLY_CONNECTED
    axis = (0 if node.int("transB") else 1) if dense else int(call.function is Function.TRANSPOSE_CONV)
    if weights.axis != OUTPUT and weights.axis % 2 != axis if dense else weights.axis not in (OUTPUT, axis):
        text = "its weights have scales along another axis than that of the output channels"
        return no_kernel(Cause.WEIGHT_SCALES, text)
    if len(weights.scales or ()) != call.output_dims.c and call.output_dims.c is not None:
        return no_kernel(Cause.WEIGHT_SCALES, "its weights do not have one scale for each output channel")
    if dense and call.types != "s8":
        text = f"its weights have a scale for each output; arm_{call.entry} takes one"
        return in_reference_code(call.types, Function.FULLY_CONNECTED, Cause.WEIGHT_SCALES, text)
    return None


def _bias_refusal(graph: Graph, layer: Layer, ending: Epilogue) -> Decision | None:
    """The bias is fixed in the file; a constant added behind has one number for each channel."""
    node, bias = layer.node, operator_of(layer.node).roles.bias
    if node.has(bias) and weights_behind(graph, node.inputs[bias]) is None:
        return no_kernel(Cause.OPERAND_COMPUTED, "its bias is computed at run time")
    if ending.added is None:
        return None
    name = next(name for name in ending.added.inputs if weights_behind(graph, name) is not None)
    dense = layer.call.function is Function.FULLY_CONNECTED
    rank = len(graph.shape(node.outputs[0]) or ())
    if along_channels(graph.shape(name), -1 if dense else 1 - rank, layer.call.output_dims.c):
        return None
    text = "a constant that is not one number for each channel is added before its result is quantized"
    return no_kernel(Cause.OPERAND_CONSTANT, text)


def _multiplier_refusal(numbers: StoredNumbers, weights: AffineQuantization, ending: Epilogue) -> Decision | None:
    source = numbers[0].scale if numbers and numbers[0] is not None else 0.0
    result = ending.quantization.scale if ending.quantization else 1.0
    if source * max(weights.scales or (0.0,)) / result < MOST_MULTIPLIER:
        return None
    return no_kernel(Cause.SCALE, "its scales make a multiplier of 2^30 or more")


# Softmax: rows of int8 or int16, and the one scale and zero-point that each function gives its output.
#
# arm_softmax_s8 writes integers of scale 1/256 and zero-point -128 (arm_nn_softmax_common_s8.c), arm_softmax_s8_s16, of
# int8 input and int16 output, 1/65536 and -32768 (the same file), arm_softmax_s16 1/32768 and 0 (arm_softmax_s16.c).


class SoftmaxOutput(NamedTuple):
    """What a function gives its output."""

    scale: float
    """Scale."""
    zero_point: int
    """Zero-point."""
    words: str
    """The scale as a fraction."""
    tolerance: float
    """Relative difference of scales that changes nothing.

    For int16 this is less than two units of the largest output. It accepts the 1/32767 of ONNX Runtime's quantizer.
    TensorFlow Lite Micro takes 0.1 % (softmax_common.cc:93, :99).
    """


SOFTMAX_OUTPUT = {
    "s8": SoftmaxOutput(1 / 256, -128, "1/256", TOLERANCE),
    "s8_s16": SoftmaxOutput(1 / 65536, -32768, "1/65536", 2.0**-15),
    "s16": SoftmaxOutput(1 / 32768, 0, "1/32768", 2.0**-14),
}
"""Types of input and output to the scale and zero-point of the output."""
SMALLEST_SOFTMAX_INPUT = 2.0**-26
"""Input scale up to which the multiplier of arm_softmax_s8, the scale times 2^26, does not exceed 1.

Its shift goes to the left alone (TensorFlow Lite, QuantizeMultiplierGreaterThanOne).
"""
FLATTENING_OPSET = 13
"""Before this opset, Softmax runs over its axis and all following ones."""


def lower_softmax(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower Softmax: `arm_softmax_*` runs over rows, which lie one after the other in memory."""
    shape = graph.shape(node.inputs[0])
    if shape is None:
        return UNDECIDED
    axes = set(softmax_axes(node, len(shape)))
    image = is_image(graph, node.inputs[0]) if len(shape) > 2 else False
    orders = [(0, *range(2, len(shape)), 1)] if image is not False else []
    orders += [tuple(range(len(shape)))] if not image else []
    if not any(_softmax_rows(shape, axes, order) for order in orders):
        stored = "as stored (NHWC)" if image else "in memory"
        kind, _ = activation_type(graph, node.inputs[0], assume)
        function = f"arm_softmax_{kind if assume.stays_float else 's8'}"
        text = f"it runs over axis {min(axes)}, which is not the last {stored}; {function} runs over rows"
        return in_reference_code(kind, Function.SOFTMAX, Cause.AXIS, text)
    return unweighted_layer(Function.SOFTMAX, graph, node, assume)


def softmax_axes(node: Node, rank: int) -> tuple[int, ...]:
    """Axes that a Softmax runs over: its axis; before opset 13, which QLinearSoftmax names, all following ones too."""
    flattening = node.int("opset", node.opset) < FLATTENING_OPSET
    axis = node.int("axis", 1 if flattening and "opset" not in node.attributes else -1) % max(rank, 1)
    return tuple(range(axis, rank)) if flattening else (axis,)


def _softmax_rows(shape: Shape, axes: set[int], order: tuple[int, ...]) -> bool:
    """Whether the axes can be last in memory. An axis of size 1 or unknown size may be anywhere."""
    inside = [axis in axes for axis in order if shape[axis] not in (1, None)]
    return inside == sorted(inside)


def widened(layer: Layer, numbers: StoredNumbers, result: AffineQuantization | None) -> Layer:
    """The layer; as a call of arm_softmax_s8_s16 if its input is int8 or uint8 and its output int16."""
    narrow = all(quantization is not None and quantization.bits == 8 for quantization in numbers)
    if layer.call.entry != Function.SOFTMAX.entry("s8") or not narrow or result is None or result.elem_type != "int16":
        return layer
    return layer._replace(call=layer.call._replace(entry=WIDENING[0]))


def check_softmax(entry: str, source: AffineQuantization | None, result: AffineQuantization) -> Decision | None:
    """Why the output of a softmax differs from the model's integers; None where it does not."""
    function, kind = entry_parts(entry)
    if kind != "s16" and source is not None and source.scale <= SMALLEST_SOFTMAX_INPUT:
        return no_kernel(Cause.SCALE, f"the scale of its input is at most 2^-26; arm_{entry} needs one above it")
    scale, zero_point, words, tolerance = SOFTMAX_OUTPUT[kind]
    if abs(result.scale - scale) < tolerance * scale and result.signed_zero_points == (zero_point,):
        return None
    has = f"scale {result.scale:.6g} and zero-point {result.signed_zero_points[0]}"
    return in_reference_code(kind, function, Cause.SOFTMAX_SCALE, f"its output has {has}, not {words} and {zero_point}")


def function_output(record: LoweredLayer) -> tuple[AffineQuantization, str] | None:
    """Scale and zero-point that a softmax function gives its output, in the type of the file, and the scale in words.

    None for outputs other than int8, uint8 and int16.
    """
    elem_type = record.output.elem_type if record.output else ""
    if record.layer is None or elem_type not in ("int8", "uint8", "int16"):
        return None
    fixed = SOFTMAX_OUTPUT[record.layer.call.types]
    zero = fixed.zero_point + (UNSIGNED_OFFSET if elem_type == "uint8" else 0)
    return AffineQuantization(elem_type, (fixed.scale,), (zero,)), fixed.words


# Checks of a function's result against the quantization of the model.
#
# `cmsis_nn_pool_params` has no scales: integers go in and out as they are, as in arm_concatenation_s8_[wxyz],
# arm_pad_s8, arm_transpose_s8, arm_maximum_s8 and arm_minimum_s8.


UNEQUAL = "its input and output have different scales or zero-points"
SAME_SCALE = (
    *(Function.AVERAGE_POOL, Function.MAX_POOL, Function.CONCATENATION, Function.PAD, Function.TRANSPOSE),
    *(Function.MAXIMUM, Function.MINIMUM),
)
"""Functions that leave integers as they are."""


def check_result(layer: Layer, numbers: StoredNumbers, ending: Epilogue) -> Decision | None:
    """Why a function's result differs from the model's integers; None where it does not."""
    function, kind = layer.call.function, layer.call.types
    result = ending.quantization
    if result is None:
        return None
    if function in SAME_SCALE and not all(
        quantization is not None and quantization.equals(result) for quantization in numbers
    ):
        return in_reference_code(kind, function, Cause.UNEQUAL_SCALES, UNEQUAL)
    if function is Function.SOFTMAX and (refusal := check_softmax(layer.call.entry, numbers[0], result)) is not None:
        return refusal
    if ending.clamps and function not in CLAMPING:
        text = f"a clamp follows before its result is quantized; arm_{layer.call.entry} has none"
        clamps = function is Function.CONCATENATION  # that of a concatenation clamps, that of others does not
        return (
            in_reference_code(kind, function, Cause.CLAMP_SCALE, text) if clamps else no_kernel(Cause.CLAMP_SCALE, text)
        )
    return None


def check_copy(node: Node, numbers: StoredNumbers, ending: Epilogue) -> Decision | None:
    """Why a plain copy of elements is not a node's result; None where it is."""
    same = all(
        quantization is not None and ending.quantization and quantization.equals(ending.quantization)
        for quantization in numbers
    )
    if canonical(node) not in ("Slice", "Resize", "Upsample") or (same and not ending.clamps):
        return None
    text = "its input and output have different scales or bounds; reference code copies"
    return no_kernel(Cause.UNEQUAL_SCALES, text)


# Tensors that need one scale and zero-point, since functions between them copy integers.


ScaleNumbers = dict[str, AffineQuantization]
"""Tensors with their quantization."""


def one_scale(
    records: Iterable[LoweredLayer], wanted: Iterable[LoweredLayer], name: Callable[[str], str]
) -> ScaleNumbers:
    """Tensors that have to change for the wanted nodes to copy integers, with what they all need then.

    `records` are all nodes of the model: those that copy already have to go on doing so. `name` is what a tensor is
    called; tensors of one name are one.
    """
    changes: ScaleNumbers = {}
    for group in linked_groups(records, wanted, name):
        common = common_of(group.values())
        changes.update({key: common for key, numbers in group.items() if not numbers.equals(common)})
    return changes


def linked_groups(
    records: Iterable[LoweredLayer], wanted: Iterable[LoweredLayer], name: Callable[[str], str]
) -> list[ScaleNumbers]:
    """All tensors that have to have one quantization for the wanted nodes to copy integers, group by group."""
    groups: list[ScaleNumbers] = []
    for record in records:
        linked = _linked(record, name)
        touched = [group for group in groups if group.keys() & linked.keys()]
        groups = [group for group in groups if group not in touched]
        groups.append({key: numbers for group in (*touched, linked) for key, numbers in group.items()})
    meant = {key for record in wanted for key in _linked(record, name)}
    return [group for group in groups if group.keys() & meant]


def _linked(record: LoweredLayer, name: Callable[[str], str]) -> ScaleNumbers:
    """Operands and result of a node whose function copies integers; nothing where one of them is not known well."""
    if record.layer is None or record.output is None or record.layer.call.function not in SAME_SCALE:
        return {}
    pairs = zip(activations_of(record.node), record.inputs, strict=False)
    linked = {name(record.node.inputs[position]): numbers for position, numbers in pairs if numbers is not None}
    linked[name(record.node.outputs[0])] = record.output
    sound = all(
        numbers.known and len(numbers.scales or ()) == 1 and wrong_scale(numbers) is None for numbers in linked.values()
    )
    return linked if sound and len({numbers.elem_type for numbers in linked.values()}) == 1 else {}


def common_of(quantizations: Collection[AffineQuantization]) -> AffineQuantization:
    """One of them whose range holds those of all others, else the least range that does."""
    low, high = (
        pick(ends) for pick, ends in zip((min, max), zip(*map(real_range, quantizations), strict=True), strict=True)
    )
    for numbers in sorted(quantizations, key=lambda quantization: quantization.scale):
        if holds(numbers, low, high):
            return numbers
    kind = next(iter(quantizations))
    least, most = _integers(kind)
    scale = (high - low) / (most - least)
    return kind._replace(scales=(scale,), zero_points=(round(least - low / scale),))


def holds(numbers: AffineQuantization, low: float, high: float) -> bool:
    """Whether a quantization reaches both ends of a range, by half a step at least."""
    first, last = real_range(numbers)
    return first - numbers.scale / 2 <= low and high <= last + numbers.scale / 2


def real_range(numbers: AffineQuantization) -> tuple[float, float]:
    """Lowest and highest real number."""
    zero = (numbers.zero_points or (0,))[0]
    least, most = _integers(numbers)
    return (least - zero) * numbers.scale, (most - zero) * numbers.scale


def _integers(numbers: AffineQuantization) -> tuple[int, int]:
    """Lowest and highest integer of a type."""
    if numbers.elem_type.startswith("u"):
        return 0, 2**numbers.bits - 1
    return -(2 ** (numbers.bits - 1)), 2 ** (numbers.bits - 1) - 1
