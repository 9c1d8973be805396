"""Which repairs by rewriting there are, which one answers a finding, and whether it fits. Nothing is rewritten here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.classes import FLOAT, DimensionClass, bias_slot
from onnxlint_cmsis.fixers.planning.layouts import check_constant
from onnxlint_cmsis.formats.format import Format
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom, KernelCall
from onnxlint_cmsis.lower.checks import function_output
from onnxlint_cmsis.lower.layer import Cause, Verdict, parameters_of
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.quantization import dequantizes, keeps_scale, quantizes, useless_pairs
from onnxlint_cmsis.model.axes import AxisForm
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.operators.control import CONSTANT_OF_SHAPE
from onnxlint_cmsis.operators.curve import CLIP, RELU
from onnxlint_cmsis.operators.mixing import BATCH_NORMALIZATION
from onnxlint_cmsis.operators.record import MOVING, Elements

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.classes import Dimensions
    from onnxlint_cmsis.ground.findings import Finding, Resize


class RepairRow(NamedTuple):
    """One way to rewrite a layer; the results stay the same, or nearly so where it is not exact.

    `fixers/repairs` has what does it, by name.
    """

    name: str
    """Kebab name."""
    what: str
    """What it does to the layer, as a clause without subject."""
    hazards: frozenset[str]
    """Names of the hazards that it answers."""
    price: str
    """What it costs, as a clause; the fix report has the predicted instructions."""
    refusal: Callable[[Graph, LoweredLayer], str]
    """Why it does not fit a layer, as a clause; empty where it fits."""
    free: bool = False
    """Whether it costs next to nothing, so that it is done before any channel count is changed."""
    rule: str = ""
    """Name of the rule whose findings it answers, where these are no hazards."""
    nodes: Callable[[Graph], Iterator[Node]] | None = None
    """Nodes that it is for, with `rule`; the record of such a node has nothing else."""
    whole: bool = False
    """Whether it is for the whole model, so that any finding of the rule asks for it."""
    causes: frozenset[str] = frozenset()
    """Causes of reference code that it answers, with `rule`."""
    as_written: bool = False
    """Whether it changes types, so that it is proven with ONNX Runtime's optimisers off."""
    exact: bool = True
    """Whether the results stay the same; if not, it is done with --unsafe-fixes alone."""


class RepairMade(NamedTuple):
    """What a repair did to one layer."""

    text: str
    """What was done, as a clause without subject."""
    made_by: tuple[str, ...]
    """First outputs of the layers that now do the work of the old one; empty where no layer was rewritten."""


# A bias of zeros for a convolution without one, where the kernel adds offsets to the address of a missing bias.


def refusal_of_zero_bias(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer can take no bias."""
    slot = bias_slot(graph, record.node)
    if slot is None or slot.kind == FLOAT:
        return "the unit of its sums is not known, so that a bias cannot be quantized"
    return "it has a bias" if slot.tensor else ""


ZERO_BIAS = RepairRow(
    name="zero-bias",
    what="gives the layer a bias of zeros",
    hazards=frozenset({"conv-grouped-no-bias", "dw-opt-no-bias", "dw-s4-opt-no-bias"}),
    price="4 bytes and an addition for each output channel",
    free=True,
    refusal=refusal_of_zero_bias,
)


# A grouped convolution as one convolution per group: all operands have to be cut along the output channels.


MOST_GROUPS = 64
"""Groups above which splitting makes more nodes than anyone wants."""


def refusal_of_split_groups(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer cannot be split."""
    layer = record.layer
    if layer is None or record.epilogue is None or layer.groups < 2:
        return "what follows it is not known"
    call = layer.call
    if not call.output_dims.c or not call.input_dims.c:
        return "its channels are symbolic"
    if call.output_dims.c % layer.groups or call.input_dims.c % layer.groups:
        return f"its channels do not divide by its {layer.groups} groups"
    if layer.groups > MOST_GROUPS:
        return f"it has {layer.groups} groups, and splitting them would make more than {MOST_GROUPS} convolutions"
    if any(len(graph.consumers.get(node.outputs[0], ())) > 1 for node in layer_nodes(record)[:-1]):
        return "several nodes quantize its result"
    wrong = next((node for node in layer_nodes(record) if node.graph), None)
    parts = refusal_of_parts(graph, layer_nodes(record), call.output_dims.c)
    return parts if wrong is None else f"{wrong.label} is in a subgraph"


def refusal_of_parts(graph: Graph, nodes: Sequence[Node], channels: int) -> str:
    """Why the operands of a layer and of what follows it cannot be cut along its output channels; empty if they can.

    `nodes` are the layer and what follows it, each of which reads what the one before it makes.
    """
    source = nodes[0].inputs[operator_of(nodes[0]).roles.data[0]]
    try:
        for node in nodes:
            for position, key in enumerate(node.inputs):
                if key and key != source:
                    _check_operand(graph, node, position, channels)
            source = node.outputs[0]
    except NotAppliedError as reason:
        return str(reason)
    return ""


def _check_operand(graph: Graph, node: Node, position: int, channels: int) -> None:
    """Raise NotAppliedError where an operand cannot be cut along the output channels."""
    axis = channel_axis(graph, node, position, channels)
    if axis is None:
        return
    while (step := quantization_step(graph, node.inputs[position])) is not None:
        for parameter in cut_parameters(graph, step):
            check_cut(graph, step, parameter, 0, channels)
        node, position = step, 0
    check_cut(graph, node, position, axis, channels)


def channel_axis(graph: Graph, node: Node, position: int, channels: int) -> int | None:
    """Axis of an operand along which the output channels lie; None where it is the same for all of them."""
    operator, shape = operator_of(node), graph.shape(node.inputs[position])
    if shape is None or None in shape:
        raise NotAppliedError(f"the shape of `{node.inputs[position]}` is not known")
    layer = operator.roles.form is Form.CONVOLUTION
    if layer and position == operator.roles.second:
        return 0
    if all(size == 1 for size in shape):
        return None
    rank = len(graph.shape(node.outputs[0]) or ())
    axis = 0 if layer or operator is BATCH_NORMALIZATION else len(shape) - (rank - 1)
    if axis < 0 or shape[axis] != channels or any(size != 1 for size in shape[:axis] + shape[axis + 1 :]):
        raise _other_numbers(node, position)
    return axis


def quantization_step(graph: Graph, tensor: str) -> Node | None:
    """The QuantizeLinear or DequantizeLinear that makes a tensor; None where it is stored or made otherwise."""
    producer = graph.producers.get(tensor)
    if producer is None or graph.stores(tensor):
        return None
    return producer if operator_of(producer).dequantizes or operator_of(producer).quantizes else None


def cut_parameters(graph: Graph, step: Node) -> list[int]:
    """Inputs of a QuantizeLinear or DequantizeLinear that have a number for each output channel."""
    parameters = [position for position, key in enumerate(step.inputs) if position and key]
    return [position for position in parameters if graph.shape(step.inputs[position]) not in ((), (1,))]


def check_cut(graph: Graph, node: Node, position: int, axis: int, channels: int) -> None:
    """Raise NotAppliedError for an operand that is no stored constant or has other numbers than one per channel."""
    key = node.inputs[position]
    producer, shape = graph.producers.get(key), graph.shape(key) or ()
    filled = producer is not None and operator_of(producer) is CONSTANT_OF_SHAPE
    if not filled and not graph.stores(key):
        raise NotAppliedError(f"`{key}` of {node.label} is not stored as it is used")
    if not filled:
        check_constant(graph, key)
    if axis >= len(shape) or shape[axis] != channels:
        raise _other_numbers(node, position)


def _other_numbers(node: Node, position: int) -> NotAppliedError:
    return NotAppliedError(f"`{node.inputs[position]}` of {node.label} has other numbers than one per channel")


def layer_nodes(record: LoweredLayer) -> tuple[Node, ...]:
    """The layer's node, and those behind it up to the tensor that its kernel writes."""
    return (record.node, *(record.epilogue.absorbed if record.epilogue else ()))


REPAIRED_BY_SPLIT = (
    "conv-grouped-as-dense",
    "conv-s16-grouped-as-dense",
    "conv-s4-grouped-as-dense",
    "conv-grouped-no-scratch",
    "conv-grouped-1xn-scratch",
)
"""Releases that compute groups wrongly or not at all."""
SPLIT_GROUPS = RepairRow(
    name="split-groups",
    what="makes one convolution per group of a grouped one, between Slices and a Concat",
    hazards=frozenset(REPAIRED_BY_SPLIT),
    price="a call and copies for each group",
    refusal=refusal_of_split_groups,
)


# A pool over a batch as one pool per image.


MOST_IMAGES = 16
"""Images above which splitting makes more nodes than anyone wants."""


def refusal_of_split_batch(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer cannot be split."""
    images = record.layer.call.input_dims.n if record.layer else None
    if not images or record.epilogue is None:
        return "the size of its batch is not known"
    if images > MOST_IMAGES:
        return f"its batch has {images} images, and splitting it would make more than {MOST_IMAGES} pools"
    if any(len(graph.consumers.get(node.outputs[0], ())) > 1 for node in layer_nodes(record)[:-1]):
        return "several nodes quantize its result"
    wrong = next((node for node in layer_nodes(record) if node.graph), None)
    return f"{wrong.label} is in a subgraph" if wrong is not None else ""


SPLIT_BATCH = RepairRow(
    name="split-batch",
    what="makes one pool per image of one over a batch, between Slices and a Concat",
    hazards=frozenset({"avgpool-one-image", "avgpool-s16-one-image", "max-pool-one-image", "max-pool-s16-one-image"}),
    price="a call and copies for each image",
    refusal=refusal_of_split_batch,
)


# The padding of a convolution as a Pad node in front.


PAD_SINCE = 11
"""First operator set whose Pad takes the pad_amounts as an input and integers as data."""


def refusal_of_explicit_pad(graph: Graph, record: LoweredLayer) -> str:
    """Why the padding cannot stand in front of the layer."""
    node = record.node
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)} already"
    if pad_amounts(graph, record) is None:
        return "its padding is not known, as sizes are symbolic"
    if max((node.opset for node in graph.nodes if node.domain == ""), default=0) < PAD_SINCE:
        return f"Pad takes its pad_amounts as an input from operator set {PAD_SINCE} on"
    carried = parameters_of(node, operator_of(node).roles.first)
    if carried is None and record.inputs and input_dequantizer(graph, record) is None:
        return "its input does not come from a DequantizeLinear"
    return ""


def pad_amounts(graph: Graph, record: LoweredLayer) -> tuple[int, ...] | None:
    """What ONNX's Pad takes for the layer's padding; None where a number is not known."""
    if record.layer is None:
        return None
    call, axes = record.layer.call, len(graph.shape(record.node.outputs[0]) or ()) - 2
    sides = (call.padding, call.pad_after)
    numbers = [side[2 - axes :] for side in sides]
    if axes not in (1, 2) or any(number is None for side in numbers for number in side):
        return None
    before, after = (tuple(int(number or 0) for number in side) for side in numbers)
    return (0, 0, *before, 0, 0, *after)


def input_dequantizer(graph: Graph, record: LoweredLayer) -> Node | None:
    """The DequantizeLinear that makes a layer's input."""
    node = record.node
    producer = graph.producers.get(node.inputs[operator_of(node).roles.first])
    return producer if producer is not None and operator_of(producer).dequantizes else None


REPAIRED_BY_PAD = (
    "conv-1x1-fast-padding-after",
    "conv-1x1-padding-after",
    "conv-1x1-s4-fast-padding-after",
    "conv-1x1-s4-padding-after",
    "conv-1xn-one-row",
    "conv-1xn-one-row-5",
    "conv-1xn-s4-one-row",
    "conv-1xn-window-in-padding",
    "conv-1xn-window-outside",
    "dw-3x3-padding-refused",
    "dw-3x3-padding-after",
    "dw-opt-window-outside",
    "dw-fast-s16-window-outside",
    "dw-s4-opt-window-outside",
)
"""Kernels that know no padding after, none beyond their window, or none of rows."""
EXPLICIT_PAD = RepairRow(
    name="explicit-pad",
    what="pads in a Pad node in front of the layer",
    hazards=frozenset(REPAIRED_BY_PAD),
    price="a padded copy of the input",
    refusal=refusal_of_explicit_pad,
)


# Rows and columns of zeros around or between the weights.


def refusal_of_weights(graph: Graph, record: LoweredLayer) -> str:
    """Why no zeros can be put around a layer's weights; empty where they can."""
    node = record.node
    key = node.inputs[operator_of(node).roles.second]
    producer = graph.producers.get(key)
    if producer is not None and operator_of(producer).dequantizes:
        key = producer.inputs[0]
    if not graph.stores(key):
        return "its weights are not stored as they are used"
    if record.weights is not None and len(set(record.weights.zero_points or ())) != 1:
        return "its weights have several zero-points"
    return ""


def refusal_of_shifted_taps(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's weights cannot be shifted."""
    node = record.node
    if record.layer is None or shift_sizes(record.layer.call) is None:
        return "its sizes or padding are not known"
    if len(graph.shape(node.outputs[0]) or ()) != 4:
        return "it has no rows"
    if node.ints("output_shape") or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        return "its padding follows from the size of its output"
    return refusal_of_weights(graph, record)


class ShiftSizes(NamedTuple):
    """Sizes of a transposed convolution that its padding and weights follow from; all are known."""

    rows: int
    height: int
    width: int
    stride: int
    stride_w: int
    padding: int


def shift_sizes(call: KernelCall) -> ShiftSizes | None:
    """Sizes of a transposed convolution; None where one is not known."""
    sizes = (call.input_dims.h, *call.filter_dims[1:3], call.stride.h, call.stride.w, call.padding.h)
    known = [size for size in (*sizes, *call.padding, *call.pad_after) if size is not None]
    return ShiftSizes(*known[: len(sizes)]) if len(known) == len(sizes) + 4 else None


REPAIRED_BY_SHIFT = (
    "tconv-padding-not-in-strides",
    "tconv-rows-past-output",
    "tconv-rows-past-output-main",
    "tconv-padding-above-input",
    "tconv-scratch-too-small",
)
"""Geometries that the direct kernel computes wrongly or runs past a buffer with."""
SHIFTED_TAPS = RepairRow(
    name="shifted-taps",
    what="puts rows or columns of zeros around the weights of a transposed convolution, with padding to match",
    hazards=frozenset(REPAIRED_BY_SHIFT),
    price="their products",
    refusal=refusal_of_shifted_taps,
)


def refusal_of_spread_taps(graph: Graph, record: LoweredLayer) -> str:
    """Why the dilation cannot go into the weights."""
    if not any(step > 1 for step in record.node.ints("dilations")):
        return "it is not dilated"
    return refusal_of_weights(graph, record)


SPREAD_TAPS = RepairRow(
    name="spread-taps",
    what="takes the dilation of a convolution into its weights as rows and columns of zeros",
    hazards=frozenset({"conv-dilation-ignored"}),
    price="their products",
    refusal=refusal_of_spread_taps,
)


def refusal_of_wider_window(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's window cannot be wider."""
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)}"
    if record.layer is None or window_sizes(record.layer.call) is None:
        return "its width or padding is not known"
    if record.layer.call.dilation.w != 1:
        return "it is dilated"
    return refusal_of_weights(graph, record)


def window_sizes(call: KernelCall) -> tuple[int, int, int, int, int] | None:
    """Width of input, window and output, stride and padding before; None where one is not known."""
    sizes = (call.input_dims.w, call.filter_dims.w, call.output_dims.w, call.stride.w, call.padding.w)
    known = [size for size in (*sizes, *call.padding, *call.pad_after) if size is not None]
    return (known[0], known[1], known[2], known[3], known[4]) if len(known) == len(sizes) + 4 else None


REPAIRED_BY_WIDTH = (
    "conv-1xn-geometry-refused",
    "conv-1xn-narrow-output-refused",
    "conv-1xn-wrong-values",
    "conv-1xn-s4-geometry-refused",
    "conv-1xn-s4-narrow-output-refused",
)
"""Geometries that the 1xN kernels on MVE refuse or compute wrongly."""
WIDER_WINDOW = RepairRow(
    name="wider-window",
    what="puts columns of zeros around the weights of a 1xN convolution, with padding to match",
    hazards=frozenset(REPAIRED_BY_WIDTH),
    price="their products",
    refusal=refusal_of_wider_window,
)


def refusal_of_output_padding(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's output_padding cannot go into its weights."""
    node = record.node
    if not any(node.ints("output_padding")):
        return "it has no output_padding"
    if node.ints("output_shape") or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        return "its padding follows from the size of its output"
    return refusal_of_weights(graph, record)


OUTPUT_PADDING = RepairRow(
    name="output-padding",
    what="takes output_padding into the weights of a transposed convolution as rows and columns of zeros",
    hazards=frozenset({"tconv-output-past-rows"}),
    price="their products",
    refusal=refusal_of_output_padding,
)


def refusal_of_more_columns(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's window cannot be wider."""
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)}"
    sizes = (*record.layer.call.padding, *record.layer.call.pad_after) if record.layer else (None,)
    return "its padding is not known" if None in sizes else refusal_of_weights(graph, record)


MORE_COLUMNS = RepairRow(
    name="more-columns",
    what="puts columns of zeros behind the weights of an int16 convolution, with padding to match",
    hazards=frozenset({"conv-s16-odd-channel-columns"}),
    price="their products",
    refusal=refusal_of_more_columns,
)


# Other scales: the ones that CMSIS-NN gives Softmax's result, and one for all that a function copies integers between.


def refusal_of_softmax_output(_graph: Graph, record: LoweredLayer) -> str:
    """Why the result cannot get that scale."""
    if function_output(record) is None:
        return "its result is not quantized to int8, uint8 or int16"
    return ""


SOFTMAX_OUTPUT = RepairRow(
    name="softmax-output",
    what="gives the result of Softmax scale 1/256 and the lowest integer as zero-point, in int16 1/32768 and 0, behind"
    " int8 1/65536 and -32768",
    hazards=frozenset(),
    price="a change of the outputs, of at most one step",
    free=True,
    refusal=refusal_of_softmax_output,
    rule="softmax-scale",
    causes=frozenset({Cause.SOFTMAX_SCALE.value}),
    exact=False,
)


def refusal_of_equal_scales(_graph: Graph, record: LoweredLayer) -> str:
    """Why input and output cannot get one scale."""
    known = all(numbers is not None and numbers.known and len(numbers.scales or ()) == 1 for numbers in record.inputs)
    return "" if record.output is not None and known else "a scale of it is not known or not one for the whole tensor"


EQUAL_SCALES = RepairRow(
    name="equal-scales",
    what="gives what pools, Concat, Pad, Transpose, Max and Min read and write one scale and zero-point",
    hazards=frozenset(),
    price="a change of the outputs, of at most one step",
    free=True,
    refusal=refusal_of_equal_scales,
    rule="unequal-scales",
    causes=frozenset({Cause.UNEQUAL_SCALES.value}),
    exact=False,
)


# uint8 tensors that can be int8: those that operators tie to one type go together, or stay together.


_BETWEEN = MOVING | {Elements.JOINED, Elements.PADDED, Elements.SELECTED}
"""Elements of operators that hand integers on, whatever their zero-point."""
BOUNDS = {Elements.PADDED: (2,)}
"""Inputs of such operators that hold an integer to compare or fill with."""
CLIP_BOUNDS = (1, 2)
"""Inputs of Clip with its bounds."""


def unsigned_nodes(graph: Graph) -> Iterator[Node]:
    """The first node that reads or makes a uint8 tensor which can be int8: one repair is for the whole model."""
    first = next(unsigned_tensors(graph), "")
    users = (*graph.consumers.get(first, ()), graph.producers.get(first)) if first else ()
    return (node for node in users[:1] if node is not None)


def unsigned_tensors(graph: Graph) -> Iterator[str]:
    """uint8 tensors that can be int8, in file order."""
    tensors = [name for name in _tensors(graph) if graph.elem_type(name) == "uint8"]
    groups = {name: number for number, name in enumerate(tensors)}
    for node in graph.nodes:
        tied = [name for name in tied_tensors(node) if name in groups]
        first = {groups[name] for name in tied}
        groups.update({name: min(first) for name, group in groups.items() if first and group in first})
    barred = {groups[name] for name in tensors if not _movable(graph, name)}
    yield from (name for name in tensors if groups[name] not in barred)


def tied_tensors(node: Node) -> tuple[str, ...]:
    """Values of a node that have to be of one type; those of QuantizeLinear and DequantizeLinear go alone."""
    if quantizes(node) or dequantizes(node):
        return ()
    if hands_on(node):
        return (*(name for name in _handed(node) if name), *node.outputs[:1])
    ties = operator_of(node).roles.quantized_of(len(node.inputs))
    return tuple(node.inputs[tie.value] if tie.value >= 0 else node.outputs[0] for tie in ties if _has(node, tie.value))


def hands_on(node: Node) -> bool:
    """Whether a node gives out integers that it reads, so that 128 may be taken off before as well as behind."""
    operator = operator_of(node)
    if operator is CLIP:
        return True
    if operator.elements not in _BETWEEN:
        return keeps_scale(node) and node.text("mode", "nearest") == "nearest"  # an operator that resizes
    return operator is not RELU and not operator.roles.quantized


def filled_with(node: Node) -> tuple[int, ...]:
    """Inputs of a node that hands integers on which hold such integers themselves, to clamp to or to fill with."""
    if operator_of(node) is CLIP:
        return CLIP_BOUNDS
    return BOUNDS.get(operator_of(node).elements, ())


def _handed(node: Node) -> tuple[str, ...]:
    if operator_of(node).elements is Elements.JOINED:
        return tuple(node.inputs)
    return node.inputs[:1]


def _has(node: Node, value: int) -> bool:
    return bool(node.outputs) if value < 0 else node.has(value)


def _tensors(graph: Graph) -> Iterator[str]:
    """Tensors of the main graph that some node reads as quantized integers or hands on."""
    seen: dict[str, None] = {}
    for node in graph.nodes:
        dequantized = node.inputs[:1] if dequantizes(node) else ()
        seen.update(dict.fromkeys(name for name in (*dequantized, *tied_tensors(node)) if name))
    return iter(seen)


def _movable(graph: Graph, tensor: str) -> bool:
    """Whether all that makes and reads a tensor can do so in int8."""
    producer, readers = graph.producers.get(tensor), graph.consumers.get(tensor, ())
    if tensor in graph.outputs or tensor in graph.inputs:
        return False
    if graph.stores(tensor):
        constant = graph.constants[tensor]
        makes = not constant.overridable and constant.editable
    else:
        makes = producer is not None and not producer.graph and _takes(graph, producer, -1)
    uses = [(node, position) for node in readers for position, name in enumerate(node.inputs) if name == tensor]
    return makes and all(
        not node.graph and not node.bodies and _takes(graph, node, position) for node, position in uses
    )


def _takes(graph: Graph, node: Node, value: int) -> bool:
    """Whether a node can read or make a value in int8; what it is filled with or shifted by has to be stored."""
    if hands_on(node) and (value < 0 or node.inputs[value] in _handed(node)):
        return all(
            position >= len(node.inputs) or _stored(graph, node.inputs[position]) for position in filled_with(node)
        )
    ends = quantizes(node) if value < 0 else dequantizes(node) and value == 0
    carried = parameters_of(node, value)
    if carried is None and not ends:
        return False
    position = carried.zero_point if carried is not None else 2
    return position >= len(node.inputs) or _stored(graph, node.inputs[position])


def _stored(graph: Graph, name: str) -> bool:
    return not name or (graph.stores(name) and not graph.constants[name].overridable)


def refusal_of_signed_integers(_graph: Graph, _record: LoweredLayer) -> str:
    """Nothing keeps the tensors from being int8 that `nodes` answers for."""
    return ""


SIGNED_INTEGERS = RepairRow(
    name="signed-integers",
    what="makes int8 of uint8 tensors: 128 off integers and zero-points",
    hazards=frozenset(),
    price="nothing",
    free=True,
    refusal=refusal_of_signed_integers,
    rule="unsigned-integers",
    nodes=unsigned_nodes,
    whole=True,
    as_written=True,
)


# DequantizeLinear and QuantizeLinear where the second gives back the integers that the first reads.


def useless_nodes(graph: Graph) -> Iterator[Node]:
    """The QuantizeLinear of each pair whose result is read or leaves the model."""
    nodes = (node for _, node in useless_pairs(graph))
    return (node for node in nodes if node.outputs[0] in graph.outputs or graph.consumers.get(node.outputs[0]))


def refusal_of_useless_pairs(graph: Graph, record: LoweredLayer) -> str:
    """Why a pair has to stay."""
    result = record.node.outputs[0]
    readers = graph.consumers.get(result, ())
    if result in graph.outputs:
        return "its result is an output of the model"
    inside = next((node.label for node in (record.node, *readers) if node.graph or node.bodies), "")
    return f"{inside} is in a subgraph or has one" if inside else ""


USELESS_PAIRS = RepairRow(
    name="useless-pairs",
    what="takes out a DequantizeLinear and QuantizeLinear that give back the integers they read",
    hazards=frozenset(),
    price="nothing",
    free=True,
    refusal=refusal_of_useless_pairs,
    rule="useless-quantization",
    nodes=useless_nodes,
)


# All repairs, and those that a file's format has.


REPAIRS: tuple[RepairRow, ...] = (
    SOFTMAX_OUTPUT,
    EQUAL_SCALES,
    USELESS_PAIRS,
    SIGNED_INTEGERS,
    ZERO_BIAS,
    SPLIT_GROUPS,
    WIDER_WINDOW,
    EXPLICIT_PAD,
    OUTPUT_PADDING,
    SHIFTED_TAPS,
    SPREAD_TAPS,
    MORE_COLUMNS,
    SPLIT_BATCH,
)
"""Repairs in the order in which they are tried; a layer that two could mend takes the first one that does."""


@cache
def repairs_for(form: Format) -> tuple[RepairRow, ...]:
    """Repairs of files of a format, in the order in which they are tried; those that it cannot carry refuse."""
    if form.repairs is None:
        return REPAIRS
    reason = f"in a {form.suffix} file it would need operators that the application may not have registered"
    return tuple(
        row if row.name in form.repairs else row._replace(refusal=lambda _graph, _record: reason)
        for row in REPAIRS
        if row.hazards and row.exact and not (row.rule or row.as_written)
    )


# Layers of a model that a known hazard meets and that a repair fits.


class RepairSite(NamedTuple):
    """One layer that needs a repair."""

    row: RepairRow
    """The repair."""
    record: LoweredLayer
    """The layer."""
    hazards: tuple[str, ...]
    """Names of its hazards that the repair answers."""


def needed(model: ModelAnalysis) -> Iterator[RepairSite]:
    """Each layer that some target needs a repair for, with each repair that answers, in the order of the table."""
    met = {id(record): _hazards(model, record) for record in _records(model)}
    for row in repairs_for(model.format):
        for node in row.nodes(model.graph) if row.nodes else ():
            yield RepairSite(row, LoweredLayer(node, Verdict.UNDECIDED), ())
        for record in model.lowered.beside if row.causes else ():
            if record.cause is not None and record.cause.value in row.causes:
                yield RepairSite(row, record, ())
        for record in _records(model) if row.hazards else ():
            hazards = tuple(name for name in met[id(record)] if name in row.hazards)
            if hazards:
                yield RepairSite(row, record, hazards)


def repair_for(model: ModelAnalysis, finding: Finding) -> RepairRow | None:
    """The first repair that answers a finding and fits its layer; None where there is none. Nothing is tried."""
    for row in (row for row in repairs_for(model.format) if row.rule and row.rule == finding.name and row.nodes):
        fitting = row.nodes(model.graph) if row.nodes else iter(())
        return row if any(fitting) else None
    for row in (row for row in repairs_for(model.format) if row.rule and row.rule == finding.name and row.causes):
        for record in model.lowered.beside:
            cause = record.cause.value if record.cause else ""
            if record.node.label == finding.location.node and cause in row.causes:
                return None if row.refusal(model.graph, record) else row
    hazard = finding.properties.get("hazard")
    for row in repairs_for(model.format) if hazard else ():
        if hazard in row.hazards:
            for record in _records(model):
                if record.node.label == finding.location.node and not row.refusal(model.graph, record):
                    return row
    return None


def _records(model: ModelAnalysis) -> Iterator[LoweredLayer]:
    return (record for record in model.lowered.records if record.verdict is Verdict.CMSIS_NN and record.layer)


def _hazards(model: ModelAnalysis, record: LoweredLayer) -> tuple[str, ...]:
    """Names of the hazards of a layer, on any target."""
    if record.layer is None:
        return ()
    routes = (route for _, route in model.routes(record.layer))
    return tuple(dict.fromkeys(hazard.id for route in routes for hazard in route.hazards))


# A Pad node behind a model's input, where only more input channels step around a known hazard.


MOST_ADDED = 16
"""Channels that may be added to a model's input."""


class PaddableInput(NamedTuple):
    """A graph input with channels that only the interface locks."""

    name: str
    """The input."""
    group: DimensionClass
    """Class of its axis 1."""
    real: str
    """Tensor in float that carries it: itself, or what DequantizeLinear makes of it."""


def pad_would_do(model: ModelAnalysis, resize: Resize) -> bool:
    """Whether a channel count is one that only an input locks which may get a Pad. Nothing is tried."""
    locked = resize.freedom is Freedom.LOCKED and resize.want - resize.have <= MOST_ADDED
    if not locked or not model.format.adds_operators:
        return False
    group = model.dimensions.class_of(resize.tensor, resize.axis)
    return group is not None and any(
        given.group.id == group.id for given in paddable_inputs(model.graph, model.dimensions)
    )


def paddable_inputs(graph: Graph, dimensions: Dimensions) -> Iterator[PaddableInput]:
    """Inputs of the default operator set's models that may be padded."""
    for name in graph.inputs:
        axes, readers = dimensions.axes(name), graph.consumers.get(name, ())
        if axes is None or len(axes) not in (3, 4) or axes[1].form is not AxisForm.LEAF or name in graph.outputs:
            continue
        group = dimensions.class_with_id(axes[1].leaf)
        locks = {str(lock) for lock in group.locks} if group else set()
        real = _real_input(graph, name, readers)
        if group and group.freedom is Freedom.LOCKED and locks <= {f"graph input {name}"} and real:
            yield PaddableInput(name, group, real)


def _real_input(graph: Graph, name: str, readers: tuple[Node, ...]) -> str:
    """The float tensor that carries an input; empty where there is none."""
    if any(node.opset < PAD_SINCE or node.graph for node in readers) or not readers:
        return ""
    if graph.elem_type(name) == "float32":
        return name
    alone = len(readers) == 1 and operator_of(readers[0]).dequantizes
    reals = readers[0].outputs[:1] if alone else ()
    return reals[0] if reals and reals[0] not in graph.outputs else ""
