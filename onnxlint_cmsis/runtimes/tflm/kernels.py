"""Operators with a kernel of CMSIS-NN: what their kernels check, ask for and call, in builds with CMSIS-NN and without.

Lines are those of revision 90b983c2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from struct import unpack_from

from onnxlint_cmsis.formats.tflite.file_model import TfliteOperator, TfliteTensor
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Dims, KernelCall, Level, Pair
from onnxlint_cmsis.lower.layer import Cause
from onnxlint_cmsis.runtimes.tflm.preparation import (
    BITS,
    INTEGER,
    NO_FILTER,
    OperatorView,
    Preparation,
    Refused,
    Stage,
    Unpredictable,
    activation_dims,
    quantized,
    scale,
    single,
    tensor_bytes,
    window,
    zero_point,
)
from onnxlint_cmsis.runtimes.tflm.reference_kernels import (
    ABORTS_INVOKE,
    ABORTS_PREPARE,
    CONVOLUTION_SCALES,
    CUSTOM,
    DATA,
    DENSE_ACTIVATION,
    DENSE_BIAS,
    DEPTHWISE_SCALES,
    FLOAT,
    FUSED_ACTIVATION,
    HALTS_INVOKE,
    HALTS_PREPARE,
    INT16_POINT,
    INVOKE,
    LARGEST,
    LEFT,
    LIMITS,
    MULTIPLIED,
    NUMBERS,
    OUTPUT,
    PADDED,
    POOLED_ACTIVATION,
    PREPARE,
    REFERENCE,
    REQUESTS,
    RUNTIME_SHAPE,
    SECOND,
    SOFTMAX_RANGE,
    SUM_FACTORS,
    TRANSPOSED_SCALES,
    WRONG,
    Condition,
    KernelLimit,
    KernelOperand,
    OfLayer,
    Row,
    condition,
    decode,
    ends,
    equal,
    given,
    inputs,
    no_steps,
    outputs,
    pointed,
    ranked,
    same_type,
    single_value,
    stored,
    touched,
    typed,
    unless,
    where,
    with_steps,
)


def in_file(file: str, *rows: KernelLimit) -> tuple[KernelLimit, ...]:
    """Rows whose place has no file are in this one."""
    return tuple(row._replace(place=file + row.place) if row.place.startswith(":") else row for row in rows)


class Kernel(NamedTuple):
    """The kernel of an operator in one kind of build."""

    rows: tuple[KernelLimit, ...]
    """What it checks, in the order of its source."""
    then: Callable[[Preparation], None] = lambda _: None
    """What its Prepare asks for and its Eval calls."""
    reference: str = ""
    """Why reference code runs whatever the operator is like."""


# What several kernels check, and what is said of layers of ONNX models.


ACTIVATIONS = ("FLOAT32", "INT16", "INT8")
PAIRS = (("FLOAT32", "FLOAT32"), ("INT16", "INT8"), ("INT8", "INT4"), ("INT8", "INT8"))
"""Element types of input and filter that layers with weights take."""
FILTER, IMAGE = KernelOperand(1, "its filter"), KernelOperand(2, "its input")
INNER = "tensorflow/lite/kernels/internal/reference/integer_ops"
WITHOUT = "the build has no CMSIS-NN"
IN_FLOAT = OfLayer("runtime-float", "it computes in float", (Cause.FLOAT, Cause.FLOAT_RESULT), Level.NOTE)
HYBRID = OfLayer(
    "runtime-hybrid",
    "its activations get their scale at run time, of which converters make hybrid layers",
    (Cause.DYNAMIC_QUANTIZATION,),
    sure=False,
)
FILTER_POINT = OfLayer(
    "runtime-wrong", "the kernel neither checks nor uses the zero-point of the weights", (Cause.WEIGHT_ZERO_POINT,)
)
READ_FILTER_POINT = FILTER_POINT._replace(reason=f"{FILTER_POINT.reason}, as was read and not run", sure=False)
SEVERAL_SCALES = OfLayer(
    "runtime-per-channel-dense",
    "its weights have a scale for each output, which int8 activations with int8 weights alone may have",
    (Cause.WEIGHT_SCALES,),
)
INT8_ALONE = OfLayer("runtime-reference", "{op} has a CMSIS-NN kernel for int8 alone")
NOT_YET = OfLayer("runtime-reference", "{op} has no CMSIS-NN kernel in this revision", level=Level.NOTE)
NO_INT16 = OfLayer("runtime-stops", "{op} of this revision takes no int16", sure=False)


def always(text: str) -> Condition:
    """Every operator, for a reason."""
    return lambda _: text


def same(word: str, number: Callable[[TfliteTensor], float], left: KernelOperand, right: KernelOperand) -> Condition:
    """Two tensors have one number."""
    text = f"{left.title} has {word} {{:g}} and {right.title} {{:g}}"
    return equal(text, lambda view: (number(left.of(view)), number(right.of(view))))


def there(operands: dict[int, KernelOperand]) -> Iterator[KernelLimit]:
    """Tensors that Prepare insists on, by the lines of its checks."""
    return (Row(f":{line}", PREPARE, given(operand)) for line, operand in operands.items())


def in_float(place: str, operand: KernelOperand = DATA) -> KernelLimit:
    """Reference code for float."""
    return Row(place, REFERENCE, where(operand, FLOAT, always("float")), kind="runtime-float", layer=IN_FLOAT)


def other_type(place: str, operand: KernelOperand, *types: str, layer: OfLayer | None = None) -> KernelLimit:
    """Reference code for integers of other types."""
    named = unless(operand, types, lambda view: operand.of(view).elem_type.lower())
    return Row(place, REFERENCE, named, layer=layer)


def not_yet(file: str, until: str) -> KernelLimit:
    """Reference code until a day from which CMSIS-NN computes the operator."""
    return Row(file, REFERENCE, always("no CMSIS-NN kernel yet"), until=until, layer=NOT_YET)


def int16_points(first: int, *operands: KernelOperand, by: KernelOperand = DATA) -> Iterator[KernelLimit]:
    """Zero-points of int16 are 0; a line for each operand."""
    for line, operand in enumerate(operands, first):
        yield Row(f":{line}", PREPARE, where(by, ("INT16",), pointed(operand, 0)), layer=INT16_POINT)


@condition
def in_pairs(view: OperatorView, data: KernelOperand, *pairs: tuple[str, str], alike: bool = False) -> str:
    """Input and filter have types that go together; `alike` where one type for both does too."""
    types = data.of(view).elem_type, FILTER.of(view).elem_type
    text = f"{data.title} is {types[0]} and its filter {types[1]}; hybrid models are not taken"
    return "" if types in pairs or (alike and types[0] == types[1]) else text


def weighted_types(
    first: int, float_at: int, data: KernelOperand = DATA, pairs: tuple[tuple[str, str], ...] = PAIRS
) -> tuple[KernelLimit, ...]:
    """Element types of a layer with weights; `first` is the line of the first check, `float_at` that of Eval."""
    return (
        Row(f":{first}", PREPARE, same_type(data, OUTPUT)),
        Row(f":{first + 1}", PREPARE, typed(data, *ACTIVATIONS)),
        Row(f":{first + 6}", PREPARE, in_pairs(data, *pairs), kind="runtime-hybrid", layer=HYBRID),
        in_float(f":{float_at}", data),
    )


@condition
def images(view: OperatorView, *operands: KernelOperand) -> str:
    """Four sizes and a stride, which are read unseen. Raises Unpredictable where one is not there, or below 1."""
    for operand in operands:
        shape = operand.of(view).shape
        if len(shape) != 4 or min(shape) < 1:
            raise Unpredictable(f"shape {list(shape)} where four sizes of at least 1 are expected")
    for name in ("stride_h", "stride_w"):
        if view.option(name) < 1:
            raise Unpredictable(f"{name} is {view.option(name)}; at least 1 is allowed")
    return ""


@condition
def filter_scales(view: OperatorView, axis: int) -> str:
    """The filter has one scale, or one for each channel."""
    found, shape = FILTER.of(view).quantization, FILTER.of(view).shape
    count = len(found.scales) if found else 0
    return "" if count in (1, shape[axis]) else f"its filter of shape {list(shape)} has {count} scales"


as_many_points = equal(
    "its filter has {} scales and {} zero-points",
    lambda v: (len(q.scales), len(q.zero_points)) if (q := FILTER.of(v).quantization) else (0, 0),
)
"""The filter has a zero-point for each scale."""


def offset_filter(view: OperatorView) -> str:
    """A filter that is not symmetric, as the kernel takes it."""
    found = FILTER.of(view).quantization
    point = next((point for point in found.zero_points if point), 0) if found else 0
    return f"the kernel neither checks nor uses the zero-point of the weights, {point}" if point else ""


def _ignored_point(place: str, data: KernelOperand = DATA, layer: OfLayer = FILTER_POINT) -> KernelLimit:
    return Row(place, WRONG, where(data, INTEGER, offset_filter), layer=layer)


def dims(tensor: TfliteTensor) -> Dims:
    """Shape of rank 4 as CMSIS-NN's dims."""
    return Dims(*tensor.shape)


def _slide(view: OperatorView, entry: str, image: TfliteTensor, kernel: Pair, *, dilated: bool = False) -> KernelCall:
    """A call with stride, dilation and padding of a window over an image; its tensors are still to be set."""
    stride = Pair(view.option("stride_h"), view.option("stride_w"))
    dilation = Pair(*(view.option(f"dilation_{side}_factor", 1) if dilated else 1 for side in "hw"))
    pads = window(view.text("padding"), Pair(*image.shape[1:3]), kernel, stride, dilation)
    return KernelCall(entry, NO_FILTER, NO_FILTER, NO_FILTER, stride, pads.before, pads.after, dilation)


# CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV.


def divided_inputs(view: OperatorView) -> str:
    """The filter's depth divides the input's channels."""
    channels, depth = DATA.of(view).shape[3], FILTER.of(view).shape[3]
    return f"{channels} input channels are no multiple of a filter's {depth}" if channels % depth else ""


def divided_outputs(view: OperatorView) -> str:
    """The groups divide the output's channels."""
    channels, groups = OUTPUT.of(view).shape[3], DATA.of(view).shape[3] // max(FILTER.of(view).shape[3], 1)
    return f"{channels} output channels are no multiple of {groups} groups" if groups and channels % groups else ""


def past_channels(view: OperatorView) -> str:
    """The same in reference code."""
    text = divided_outputs(view)
    return text and f"{text}: values beside the pixel are read"


def no_bias(view: OperatorView) -> str:
    """An int16 layer without a bias."""
    text = "without a bias the sums are rescaled as 32-bit values: an output can be one step off"
    return text if view.input(2) is None else ""


def forgotten_bias(view: OperatorView) -> str:
    """An omitted bias (index -1) is handed to DeallocateTempTfLiteTensor (K/depthwise_conv_common.cc:131)."""
    forgotten = len(view.operator.inputs) == 3 and view.input(2) is None
    return "the bias has index -1; Prepare frees a tensor that it never allocated" if forgotten else ""


def several_images(view: OperatorView) -> str:
    """More than one image."""
    batch = DATA.of(view).shape[0]
    return f"its input has {batch} images; one at a time is taken" if batch > 1 else ""


CONV = in_file(
    "cmsis_nn/conv.cc",
    *there({58: DATA, 61: FILTER, 64: OUTPUT}),
    *weighted_types(69, 432),
    *(Row(f":{line}", PREPARE, ranked(tensor, 4, 4)) for line, tensor in ((85, DATA), (86, FILTER), (87, OUTPUT))),
    Row(
        ":89",
        PREPARE,
        equal("its input has {} images and its output {}", lambda v: (DATA.of(v).shape[0], OUTPUT.of(v).shape[0])),
    ),
    Row(":91", PREPARE, lambda v: "its filter has no channels" if FILTER.of(v).shape[3] < 1 else ""),
    Row(":92", PREPARE, divided_inputs),
    Row(":105", PREPARE, images(DATA, FILTER, OUTPUT)),
    Row(":95", HALTS_PREPARE, divided_outputs),
    *ends("conv_common.cc", 88, 2, 3),
    *CONVOLUTION_SCALES,
    *int16_points(158, DATA, OUTPUT),
    Row(":138", WRONG, where(DATA, ("INT16",), no_bias)),
    _ignored_point(":143"),
)
CONV_PLAIN = in_file(
    "conv_common.cc",
    *there({150: OUTPUT, 153: DATA, 156: FILTER}),
    Row(":158", PREPARE, same_type(DATA, OUTPUT)),
    Row(":159", PREPARE, in_pairs(DATA, *PAIRS), kind="runtime-hybrid"),
    Row(":168", PREPARE, images(DATA, FILTER, OUTPUT)),
    Row(":185", PREPARE, where(DATA, INTEGER, with_steps(FILTER))),
    Row(":194", PREPARE, where(DATA, INTEGER, filter_scales(0))),
    *ends("conv_common.cc", 88, 2, 3),
    *CONVOLUTION_SCALES,
    Row(f"{INNER}/conv.h:78", WRONG, past_channels),
    _ignored_point(f"{INNER}/conv.h:117"),
)


def _conv(p: Preparation) -> None:
    data, weights, output = (operand.of(p.view) for operand in (DATA, FILTER, OUTPUT))
    if p.reference:
        return
    p.persistent += [4 * weights.shape[0]] * 2
    kind = "s16" if data.elem_type == "INT16" else "s4" if weights.elem_type == "INT4" else "s8"
    call = _slide(p.view, f"convolve_{kind}", data, Pair(*weights.shape[1:3]), dilated=True)._replace(
        input_dims=dims(data), filter_dims=dims(weights), output_dims=dims(output), bias=p.view.input(2) is not None
    )
    sized = call._replace(entry="convolve_s8") if kind == "s4" else call  # conv.cc:154
    p.request_positive(p.routed(sized).buffer_size)
    p.runs(f"arm_convolve_wrapper_{kind}", call)


_FORGOTTEN = Row("tensorflow/lite/micro/micro_allocator.cc:843", HALTS_PREPARE, forgotten_bias)
DEPTHWISE = in_file(
    "cmsis_nn/depthwise_conv.cc",
    *there({70: DATA, 73: FILTER, 76: OUTPUT}),
    *weighted_types(78, 392),
    Row(":93", PREPARE, images(DATA, FILTER, OUTPUT)),
    Row(":101", PREPARE, where(DATA, INTEGER, with_steps(FILTER))),
    *int16_points(105, DATA, OUTPUT),
    Row(":116", PREPARE, where(DATA, INTEGER, filter_scales(3))),
    *ends("depthwise_conv_common.cc", 88, 2, 3),
    *DEPTHWISE_SCALES,
    _ignored_point(":214"),
    Row(":150", HALTS_PREPARE, where(DATA, ("INT8",), several_images), until="2026-05-27", layer=OfLayer(
        "runtime-batch", "a check asks for one image at a time; a release build (NDEBUG) goes on"
    )),
    _FORGOTTEN._replace(layer=OfLayer(
        "runtime-stops",
        "it has no bias, which converters may write as bias index -1; Prepare halts there, or fails in a release "
        "build; a bias of zeros avoids it",
        level=Level.NOTE,
        sure=False,
    )),
)  # fmt: skip
DEPTHWISE_PLAIN = in_file(
    "depthwise_conv_common.cc",
    *there({150: OUTPUT, 153: DATA, 156: FILTER}),
    Row(":160", PREPARE, images(DATA, FILTER, OUTPUT)),
    Row(":176", PREPARE, where(DATA, ("INT8",), with_steps(FILTER))),
    Row(":185", PREPARE, where(DATA, ("INT8",), filter_scales(3))),
    Row(":190", PREPARE, where(DATA, ("INT8",), as_many_points)),
    Row(":194", PREPARE, in_pairs(DATA, *PAIRS, alike=True), kind="runtime-hybrid"),
    *ends("depthwise_conv_common.cc", 88, 2, 3),
    *DEPTHWISE_SCALES,
    _FORGOTTEN,
    Row("depthwise_conv.cc:135", INVOKE, in_pairs(DATA, *PAIRS)),
    _ignored_point(f"{INNER}/depthwise_conv.h:102"),
)  # fmt: skip


def _depthwise(p: Preparation) -> None:
    data, weights, output = (operand.of(p.view) for operand in (DATA, FILTER, OUTPUT))
    p.forgotten_bias = bool(forgotten_bias(p.view))
    if p.reference:
        return
    p.persistent += [4 * weights.shape[3]] * 2
    if data.elem_type == "INT16":
        p.runs("arm_depthwise_conv_s16")
        return
    kind = "s4" if weights.elem_type == "INT4" else "s8"
    call = _slide(p.view, f"depthwise_{kind}", data, Pair(*weights.shape[1:3]), dilated=True)._replace(
        input_dims=dims(data),
        filter_dims=dims(weights)._replace(n=1),
        output_dims=dims(output),
        ch_mult=p.view.option("depth_multiplier"),
        bias=p.view.input(2) is not None,
    )
    p.request_positive(p.routed(call).buffer_size)
    p.runs(f"arm_depthwise_conv_wrapper_{kind}", call)


TRANSPOSED = in_file(
    "cmsis_nn/transpose_conv.cc",
    *there({169: OUTPUT, 172: IMAGE, 175: FILTER}),
    *weighted_types(177, 414, IMAGE, PAIRS[:2] + PAIRS[3:]),
    Row(":191", PREPARE, images(IMAGE, FILTER, OUTPUT)),
    Row(":266", PREPARE, where(IMAGE, INTEGER, with_steps(FILTER))),
    Row(":275", PREPARE, where(IMAGE, INTEGER, filter_scales(0))),
    *ends("cmsis_nn/transpose_conv.cc", 81, 3, 4),
    *TRANSPOSED_SCALES,
    _ignored_point(":288", IMAGE, READ_FILTER_POINT),
    Row(":256", REFERENCE, where(IMAGE, ("INT16",), always("int16 transposed convolution")), layer=INT8_ALONE),
)
TRANSPOSED_PLAIN = in_file(
    "transpose_conv.cc",
    *there({164: OUTPUT, 167: IMAGE, 170: FILTER}),
    Row(":172", PREPARE, in_pairs(IMAGE, ("INT16", "INT8"), alike=True), kind="runtime-hybrid"),
    Row(":179", PREPARE, images(IMAGE, FILTER, OUTPUT)),
    Row(":213", PREPARE, where(IMAGE, INTEGER, with_steps(FILTER))),
    Row(":222", PREPARE, where(IMAGE, INTEGER, filter_scales(0))),
    Row(":226", PREPARE, where(IMAGE, INTEGER, as_many_points)),
    *ends("transpose_conv.cc", 78, 3, 4),
    *TRANSPOSED_SCALES,
    Row(":401", INVOKE, typed(IMAGE, "FLOAT32", *INTEGER)),
)  # fmt: skip


def _transposed(p: Preparation) -> None:
    """Padding is worked out from the output's size, as that of the convolution whose gradient this is."""
    data, weights, output = (operand.of(p.view) for operand in (IMAGE, FILTER, OUTPUT))
    p.persistent += [4 * weights.shape[0]] * 2
    call = _slide(p.view, "transpose_conv_s8", output, Pair(*weights.shape[1:3]))._replace(
        input_dims=dims(data), filter_dims=dims(weights), output_dims=dims(output), bias=p.view.input(3) is not None
    )
    if data.elem_type == "INT8" and p.build.with_cmsis_nn:
        sizes = p.routed(call)
        p.request(sizes.buffer_size)
        p.request(sizes.reverse_buffer_size)
    elif data.elem_type in INTEGER:
        p.request((4 if data.elem_type == "INT8" else 8) * prod(output.shape))
    bias = p.view.input(3)
    if data.elem_type == "INT16" and bias is not None and bias.elem_type == "INT16":
        p.request(8 * prod(bias.shape))
    p.runs("arm_transpose_conv_wrapper_s8", call)


def _unpacks(p: Preparation) -> None:
    """A byte for every weight of 4 bits."""
    if FILTER.of(p.view).elem_type == "INT4":
        p.request(prod(FILTER.of(p.view).shape))


def _conv_plain(axis: int, p: Preparation) -> None:
    """Multipliers of the channels along an axis, of float layers too."""
    p.persistent += [4 * FILTER.of(p.view).shape[axis]] * 2
    p.forgotten_bias = p.view.operator.op == "DEPTHWISE_CONV_2D" and bool(forgotten_bias(p.view))
    _unpacks(p)


# FULLY_CONNECTED and BATCH_MATMUL.


EVAL_TENSOR_BYTES = 12
SHAPE_BYTES = 4
QUANTIZATION_BYTES = 28
"""OpDataBatchMatmul's quantization (K/batch_matmul.h)."""
INT32_BIAS = "the bias is int32 and the kernel reads it as int64"
PER_CHANNEL_DENSE = "2024-09-27"
"""Day from which int8 dense layers may have a scale for each output (pull request 2673)."""


def readable(view: OperatorView) -> str:
    """Shapes that the kernel reads unseen. Raises Unpredictable where a size is not there, or below 1."""
    weights, output = FILTER.of(view).shape, OUTPUT.of(view).shape
    if not output or not weights or min(output) < 1:
        raise Unpredictable(f"shapes {list(weights)} and {list(output)} of weights and output")
    return ""


def _scales(view: OperatorView) -> int:
    """Scales of weights that have several; else 0."""
    found = FILTER.of(view).quantization
    count = len(found.scales) if found and quantized(FILTER.of(view)) else 0
    return count if count > 1 else 0


def several_scales(view: OperatorView) -> str:
    """A scale for each output."""
    return "its weights have a scale for each output" if _scales(view) else ""


def scales_of_int16(view: OperatorView) -> str:
    """The same of a layer that may not have them."""
    text = several_scales(view)
    return text and f"{text}, which layers of int8 alone may have"


def one_scale_of_int4(view: OperatorView) -> str:
    """A scale for each output, in types that may not have several."""
    taken = FILTER.of(view).elem_type != "INT4" and DATA.of(view).elem_type in INTEGER
    return "" if taken else several_scales(view)


@condition
def with_one_scale(view: OperatorView, rule: Condition) -> str:
    """The condition, of weights that do not have several scales."""
    return "" if _scales(view) else rule(view)


def scale_of_each_output(view: OperatorView) -> str:
    """Several scales of weights are as many as the axis that they name is long."""
    weights, count = FILTER.of(view), _scales(view)
    axis = weights.quantization.axis if weights.quantization else 0
    size = weights.shape[axis] if 0 <= axis < len(weights.shape) else 0
    return f"its weights of shape {list(weights.shape)} have {count} scales" if count not in (0, size) else ""


def _on_1x1_route(view: OperatorView) -> bool:
    """An output of more than two dimensions is a 1x1 convolution (K/cmsis_nn/fully_connected.cc:128)."""
    types = DATA.of(view).elem_type, FILTER.of(view).elem_type
    return types == ("INT8", "INT8") and len(OUTPUT.of(view).shape) > 2 and FILTER.of(view).shape[-1] % 4 == 0


def early_scratch(view: OperatorView) -> str:
    """The 1x1 route asks for scales to be repeated in a scratch buffer, whose number has to be 4 or more."""
    early = _on_1x1_route(view) and not _scales(view) and view.scratch_before < 4
    return f"its scratch request has number {view.scratch_before}; at least 4 is taken" if early else ""


def ignored_filter_point(view: OperatorView) -> str:
    """Ways of int8 activations that take the weights as symmetric."""
    point, int4 = zero_point(FILTER.of(view)), FILTER.of(view).elem_type == "INT4"
    way = "int4 kernel" if int4 else "1x1 route"
    return (
        f"the {way} ignores the zero-point of the weights, {point}" if point and (int4 or _on_1x1_route(view)) else ""
    )


def int32_bias(view: OperatorView) -> str:
    """A bias of another type than the kernel reads."""
    bias = view.input(2)
    return INT32_BIAS if bias is not None and bias.elem_type == "INT32" else ""


_PER_CHANNEL = "runtime-per-channel-dense"
DENSE_QUANTIZATION = tuple(
    row._replace(condition=unless(DATA, FLOAT, row.condition))
    for row in (
        Row("fully_connected_common.cc:58", PREPARE, several_scales, "", "2024-05-29", PER_CHANNEL_DENSE, layer=OfLayer(
            _PER_CHANNEL, "its weights have a scale for each output, which Prepare of this revision checks for",
            sure=False,
        )),
        Row("fully_connected_common.cc:99", PREPARE, one_scale_of_int4, since=PER_CHANNEL_DENSE, layer=SEVERAL_SCALES),
        Row("fully_connected_common.cc:107", PREPARE, scale_of_each_output),
        *(row._replace(condition=with_one_scale(row.condition)) for row in DENSE_BIAS),
        Row("fully_connected_common.cc:148", HALTS_PREPARE, pointed(FILTER, 0), layer=OfLayer(
            "runtime-stops",
            "a check asks for weights with zero-point 0, as symmetric quantization gives them; a release build "
            "(NDEBUG) goes on, and ignores the zero-point where the output has more than two dimensions",
        )),
        *DENSE_ACTIVATION,
    )
)  # fmt: skip
"""CalculateOpDataFullyConnected, which float layers leave at once."""
DENSE = in_file(
    "cmsis_nn/fully_connected.cc",
    *there({65: DATA, 68: FILTER, 73: OUTPUT}),
    *weighted_types(75, 429),
    Row(":90", PREPARE, readable),
    Row(":94", HALTS_PREPARE, ranked(OUTPUT, 2, 99)),
    Row(":95", HALTS_PREPARE, ranked(OUTPUT, 0, 4), layer=OfLayer(
        "runtime-stops", "a check asks for an output of at most four dimensions; a release build (NDEBUG) goes on"
    )),
    *DENSE_QUANTIZATION,
    Row(":116", PREPARE, where(DATA, ("INT16",), scales_of_int16), since=PER_CHANNEL_DENSE, layer=SEVERAL_SCALES),
    *int16_points(124, DATA, OUTPUT),
    Row(":389", WRONG, where(DATA, ("INT16",), int32_bias)),
    Row(":251", WRONG, where(DATA, ("INT8",), ignored_filter_point)),
    Row(":309", HALTS_INVOKE, early_scratch, "", PER_CHANNEL_DENSE, layer=OfLayer(
        "runtime-stops",
        "with more than two dimensions and inputs a multiple of 4 it is computed as a 1x1 convolution, of which a "
        "check asks that four scratch requests came before; a release build (NDEBUG) computes it rightly",
        level=Level.WARNING,
        sure=False,
    )),
    Row("fully_connected_common.cc", WRONG, several_scales, until="2024-05-29", layer=OfLayer(
        _PER_CHANNEL, "its weights have a scale for each output, and the kernel of this revision takes one", sure=False
    )),
)  # fmt: skip
DENSE_PLAIN = in_file(
    "fully_connected.cc",
    *there({48: DATA, 51: FILTER, 56: OUTPUT}),
    Row(":57", PREPARE, same_type(DATA, OUTPUT)),
    Row(":59", PREPARE, where(DATA, ACTIVATIONS, in_pairs(DATA, *PAIRS))),
    Row(":67", PREPARE, readable),
    *DENSE_QUANTIZATION,
    Row(":347", INVOKE, typed(DATA, *ACTIVATIONS)),
)


def _multipliers(p: Preparation) -> None:
    """Those of weights with several scales."""
    if DATA.of(p.view).elem_type != "FLOAT32" and _scales(p.view):
        p.persistent += [4 * _scales(p.view)] * 2


def _dense_plain(p: Preparation) -> None:
    _multipliers(p)
    _unpacks(p)


def _dense(p: Preparation) -> None:
    """Kernel sums live in the arena for good, or are worked out in each run into a scratch buffer."""
    if p.reference:
        return
    _multipliers(p)
    data, weights, output, bias = DATA.of(p.view), FILTER.of(p.view), OUTPUT.of(p.view), p.view.input(2)
    rows, depth, channels = prod(output.shape[:-1]), weights.shape[-1], output.shape[-1]
    kind = "s16" if data.elem_type == "INT16" else "s4" if weights.elem_type == "INT4" else "s8"
    ends_of_call = Dims(rows, 1, 1, depth), Dims(depth, 1, 1, channels), Dims(rows, 1, 1, channels)
    call = KernelCall(f"fully_connected_{kind}", *ends_of_call, bias=bias is not None)
    if kind != "s8":
        p.runs(f"arm_fully_connected_{kind}", call)
    elif _on_1x1_route(p.view):
        if not _scales(p.view):
            p.request(8 * channels)
        call = call._replace(entry="convolve_s8", filter_dims=Dims(channels, 1, 1, depth))
        p.runs("arm_convolve_1x1_s8_fast", call)
    else:
        call = call._replace(per_channel=bool(_scales(p.view)), weight_offset=bool(zero_point(weights)))
        sums = max(p.routed(call).buffer_size or 0, 0)
        constant = p.view.constant(weights) and (bias is None or p.view.constant(bias))
        if sums and p.build.speed and constant:
            p.persistent.append(sums)
        elif sums:
            p.request(sums)
            p.functions.append("arm_vector_sum_s8")
        p.runs("arm_fully_connected_wrapper_s8", call)


summed_axis = equal(
    "its inputs have {} and {} products to sum",
    lambda v: (LEFT.of(v).shape[-2 if v.option("adj_x") else -1], SECOND.of(v).shape[-1 if v.option("adj_y") else -2]),
)
"""Both operands have as many products to sum."""


PRODUCTS = in_file(
    "cmsis_nn/batch_matmul.cc",
    *there({199: LEFT, 202: SECOND, 205: OUTPUT}),
    Row(":207", PREPARE, same_type(LEFT, SECOND), layer=HYBRID),
    Row(":208", PREPARE, same_type(LEFT, OUTPUT)),
    Row(":209", PREPARE, typed(LEFT, *ACTIVATIONS)),
    in_float(":487"),
    *(Row(f":{line}", PREPARE, ranked(side, *ends)) for line, side, ends in
      ((218, LEFT, (2, 99)), (219, LEFT, (0, 4)), (220, SECOND, (2, 99)), (221, SECOND, (0, 4)))),
    Row(":255", PREPARE, summed_axis),
    *int16_points(319, LEFT, SECOND, OUTPUT),
    not_yet("cmsis_nn/batch_matmul.cc", "2024-09-09"),
    Row(":124", WRONG, always("rows and columns of its first input are exchanged"), "", "2024-09-09", "2024-11-06",
        layer=OfLayer("runtime-wrong", "the kernel of this revision exchanges rows and columns of the first operand's "
                      "shape", sure=False)),
)  # fmt: skip
PRODUCTS_PLAIN = in_file(
    "batch_matmul.cc",
    *there({185: LEFT, 187: SECOND, 189: OUTPUT}),
    Row(":191", PREPARE, typed(LEFT, *NUMBERS)),
    Row(":194", PREPARE, typed(SECOND, *NUMBERS)),
    Row(":199", PREPARE, same_type(LEFT, SECOND)),
    Row(":201", PREPARE, same_type(LEFT, OUTPUT)),
    *(Row(f":{line}", PREPARE, ranked(side, *ends)) for line, side, ends in
      ((206, LEFT, (2, 99)), (207, LEFT, (0, 5)), (208, SECOND, (2, 99)), (209, SECOND, (0, 5)))),
    *int16_points(242, LEFT, SECOND, OUTPUT),
    Row(":276", PREPARE, summed_axis),
)  # fmt: skip


def _copies(p: Preparation) -> None:
    """A further tensor for each transposed operand, constants included (cmsis_nn/batch_matmul.cc:162), and a shape."""
    for tensor, copied in ((LEFT.of(p.view), p.view.option("adj_x")), (SECOND.of(p.view), not p.view.option("adj_y"))):
        if copied:
            p.persistent += [EVAL_TENSOR_BYTES, SHAPE_BYTES * (1 + len(tensor.shape)), tensor_bytes(tensor)]
    p.persistent.append(SHAPE_BYTES * (1 + len(OUTPUT.of(p.view).shape)))


def _products_plain(p: Preparation) -> None:
    if LEFT.of(p.view).elem_type in INTEGER:
        p.persistent.append(QUANTIZATION_BYTES)
    _copies(p)


def _products(p: Preparation) -> None:
    """Rows of the left operand times rows of the right one, whose copies are transposed where they have to be."""
    _copies(p)
    if p.reference:
        return
    p.persistent.append(QUANTIZATION_BYTES)
    left, right, output = (activation_dims(operand.of(p.view).shape) for operand in (LEFT, SECOND, OUTPUT))
    kind = "s16" if LEFT.of(p.view).elem_type == "INT16" else "s8"
    if kind == "s8":
        shape = OUTPUT.of(p.view).shape
        size = Dims(*(1,) * (4 - len(shape)), *shape)
        sums = KernelCall("fully_connected_s8", size, size, size, per_channel=False)
        p.request_positive(p.routed(sums).buffer_size)
    left = left._replace(w=left.c, c=left.w) if p.view.option("adj_x") else left
    right = right if p.view.option("adj_y") else right._replace(w=right.c, c=right.w)
    p.runs(f"arm_batch_matmul_{kind}", KernelCall(f"batch_matmul_{kind}", left, right, output))


# ADD, MUL, MAXIMUM and MINIMUM.


BROADCAST = OfLayer("runtime-broadcast", "the shapes of its operands differ")


def differing(view: OperatorView) -> str:
    """Operands of different shapes."""
    shapes = LEFT.of(view).shape, SECOND.of(view).shape
    return f"the shapes differ, {list(shapes[0])} and {list(shapes[1])}" if shapes[0] != shapes[1] else ""


def _pairs(float_at: str, broadcast_at: str) -> tuple[KernelLimit, ...]:
    """CMSIS-NN for equal shapes of int8 and int16, reference code for all else."""
    return (
        in_float(float_at),
        other_type(float_at, LEFT, *NUMBERS),
        Row(broadcast_at, REFERENCE, where(LEFT, INTEGER, differing), kind="runtime-broadcast", layer=BROADCAST),
    )


ADD = in_file(
    "cmsis_nn/add.cc",
    *there({296: LEFT, 299: SECOND, 302: OUTPUT}),
    Row(":304", PREPARE, same_type(LEFT, OUTPUT)),
    Row(":305", PREPARE, typed(LEFT, *NUMBERS, "INT32")),
    Row(":310", PREPARE, same_type(LEFT, SECOND), kind="runtime-hybrid"),
    *int16_points(314, LEFT, SECOND, OUTPUT),
    *SUM_FACTORS,
    Row(":327", PREPARE, where(OUTPUT, ("INT32",), no_steps(LEFT))),
    Row(":329", PREPARE, where(OUTPUT, ("INT32",), no_steps(SECOND))),
    *_pairs(":353", ":132"),
)
ADD_PLAIN = in_file(
    "add_common.cc",
    *there({88: LEFT, 91: SECOND, 94: OUTPUT}),
    Row(":42", ABORTS_PREPARE, where(OUTPUT, INTEGER, with_steps(OUTPUT))),
    *SUM_FACTORS,
    Row(":104", PREPARE, where(OUTPUT, ("INT32",), no_steps(LEFT))),
    Row(":106", PREPARE, where(OUTPUT, ("INT32",), no_steps(SECOND))),
    Row("add.cc:188", INVOKE, typed(OUTPUT, *NUMBERS, "INT32")),
)
MUL_PLAIN = in_file(
    "mul_common.cc",
    *there({44: LEFT, 47: SECOND, 50: OUTPUT}),
    Row(":55", PREPARE, same_type(LEFT, SECOND)),
    *FUSED_ACTIVATION,
    *int16_points(73, LEFT, SECOND, OUTPUT, by=OUTPUT),
    *MULTIPLIED,
)
MUL = (*MUL_PLAIN, *_pairs("cmsis_nn/mul.cc:123", "cmsis_nn/mul.cc:171"))


def _pair(entry: str, p: Preparation) -> None:
    kind = "s16" if LEFT.of(p.view).elem_type == "INT16" and entry.startswith("elementwise") else "s8"
    left, right, output = (activation_dims(operand.of(p.view).shape) for operand in (LEFT, SECOND, OUTPUT))
    p.runs(f"arm_{entry}_{kind}", KernelCall(f"{entry}_{kind}", left, right, output))


def unequal_steps(view: OperatorView) -> str:
    """Inputs in other steps than the output."""
    steps = [operand.of(view).quantization for operand in (LEFT, SECOND, OUTPUT)]
    text = "the kernel compares stored values, and scales or zero-points of inputs and output differ"
    return text if any(step != steps[2] for step in steps) else ""


def taken_for_one_value(view: OperatorView) -> str:
    """Ranks other than 2 to 4."""
    text = "the kernel takes a shape of another rank than 2 to 4 for a single value"
    ranks = [len(operand.of(view).shape) for operand in (LEFT, SECOND, OUTPUT)]
    return "" if all(2 <= rank <= 4 for rank in ranks) else text


_EXTREMES_SINCE, _ANY_RANK = "2025-02-05", "2026-05-27"
EXTREMES_PLAIN = in_file(
    "maximum_minimum.h",
    *(Row(f":{line}", INVOKE, touched(operand)) for line, operand in ((43, LEFT), (44, SECOND), (45, OUTPUT))),
    *LARGEST,
    Row("tensorflow/lite/kernels/internal/reference/maximum_minimum.h:38", WRONG, unequal_steps),
)
EXTREMES = in_file(
    "cmsis_nn/maximum_minimum.cc",
    *EXTREMES_PLAIN[:3],
    *LARGEST,
    in_float(":67", OUTPUT),
    Row(":63", WRONG, unequal_steps, layer=OfLayer(
        "runtime-wrong", "the kernel compares stored values, and scales or zero-points differ", (Cause.UNEQUAL_SCALES,)
    )),
    Row(":59", WRONG, where(OUTPUT, ("INT8",), taken_for_one_value), "", _EXTREMES_SINCE, _ANY_RANK, layer=OfLayer(
        "runtime-rank", "the kernel of this revision takes a tensor of one dimension for one value", sure=False
    )),
    *(Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, where(OUTPUT, ("INT8",), ranked(operand, 0, 4)), since=_ANY_RANK)
      for operand in (LEFT, SECOND, OUTPUT)),
    Row("maximum_minimum.cc", PREPARE, where(OUTPUT, ("INT16",), always("int16")), until="2024-09-09", layer=NO_INT16),
    not_yet("cmsis_nn/maximum_minimum.cc", _EXTREMES_SINCE),
    other_type(":67", OUTPUT, "INT8", layer=INT8_ALONE),
)  # fmt: skip


# PAD, PADV2 and TRANSPOSE.


AMOUNTS, ORDER, FILL = (
    KernelOperand(1, "its paddings"),
    KernelOperand(1, "its order of axes"),
    KernelOperand(2, "its value"),
)
MOVES_SINCE = "2025-03-20"


def values(view: OperatorView, tensor: TfliteTensor, count: int) -> tuple[int, ...]:
    """The first `count` int32 values of a constant. Raises Unpredictable where the file holds fewer."""
    data = view.model.bytes_of(tensor.buffer)
    if len(data) < 4 * count:
        raise Unpredictable(f"'{tensor.name}' has {len(data)} bytes; {4 * count} are read")
    return unpack_from(f"<{count}i", data)


def filled(condition: Condition) -> Condition:
    """The condition, where there is a value to pad with."""
    return lambda view: condition(view) if view.input(2) is not None else ""


def padded_sizes(view: OperatorView) -> str:
    """The output is as large as input and paddings say."""
    data, output = DATA.of(view).shape, OUTPUT.of(view).shape
    pads = values(view, AMOUNTS.of(view), 2 * len(output))
    wanted = [size + pads[2 * axis] + pads[2 * axis + 1] for axis, size in enumerate(data[: len(output)])]
    same = list(output[: len(wanted)]) == wanted
    return "" if same else f"its output has shape {list(output)}; {wanted} is taken"


def pad_of_five(view: OperatorView) -> str:
    """Several blocks of four dimensions."""
    shape = DATA.of(view).shape
    lost = f"of {shape[0]} images along the first only one is written" if len(shape) == 5 and shape[0] > 1 else ""
    return lost and f"the kernel pads the last four dimensions alone; {lost}"


def pad_of_four(view: OperatorView) -> str:
    """Another number of dimensions than 4."""
    rank = len(DATA.of(view).shape)
    return "" if rank == 4 else f"the kernel reads four sizes of a shape that has {rank}"


def transpose_of_five(view: OperatorView) -> str:
    """More than four dimensions."""
    text = "the kernel takes four dimensions at most, the error is dropped and the output is never written"
    return text if len(DATA.of(view).shape) > 4 else ""


def order_within(view: OperatorView) -> str:
    """The order names axes of the input."""
    rank = len(DATA.of(view).shape)
    bad = [axis for axis in values(view, ORDER.of(view), rank) if not 0 <= axis < rank]
    return f"axis {bad[0]} of an input with {rank} dimensions" if bad else ""


TOO_MANY_AXES = OfLayer("runtime-rank", "five dimensions are the most that Prepare takes")
PAD_PLAIN = in_file(
    "pad_common.cc",
    *ends("pad_common.cc", 36, 2, 3),
    *there({41: DATA, 44: AMOUNTS, 51: OUTPUT}),
    Row(":53", PREPARE, same_type(DATA, OUTPUT)),
    Row(":56", PREPARE, ranked(DATA, 0, 5), layer=TOO_MANY_AXES),
    Row(":60", PREPARE, filled(same_type(DATA, FILL))),
    Row(":62", PREPARE, filled(single_value(FILL))),
    Row(
        ":66",
        PREPARE,
        equal(
            "its paddings have {} elements; {} are taken",
            lambda v: (prod(AMOUNTS.of(v).shape), 2 * len(OUTPUT.of(v).shape)),
        ),
    ),
    Row(":72", PREPARE, stored(AMOUNTS)),
    Row(":79", PREPARE, padded_sizes),
    Row(":110", PREPARE, filled(where(DATA, ("INT8",), same("zero-point", zero_point, OUTPUT, FILL)))),
    Row(":112", PREPARE, filled(where(DATA, ("INT8",), same("scale", scale, OUTPUT, FILL)))),
    *PADDED,
)
PAD = in_file(
    "cmsis_nn/pad.cc",
    in_float(":88"),
    *PAD_PLAIN,
    Row(":54", WRONG, where(DATA, ("INT8",), pad_of_five), "", "2026-05-27", kind="runtime-rank", layer=OfLayer(
        "runtime-rank", "the kernel pads the last four dimensions alone, and writes the first of several blocks"
    )),
    Row(":48", WRONG, where(DATA, ("INT8",), pad_of_four), "", MOVES_SINCE, "2026-05-27", "runtime-rank", OfLayer(
        "runtime-rank", "the kernel of this revision reads four sizes whatever the rank", sure=False
    )),
    not_yet("cmsis_nn/pad.cc", MOVES_SINCE),
    other_type(":109", DATA, "INT8", layer=INT8_ALONE),
)  # fmt: skip
ORDERED = in_file(
    "transpose_common.cc",
    *ends("transpose_common.cc", 27, 2),
    *there({30: DATA}),
    *there({30: ORDER}),
    *there({30: OUTPUT}),
    Row(":33", PREPARE, ranked(DATA, 0, 5), layer=TOO_MANY_AXES),
    Row(":35", PREPARE, same_type(DATA, OUTPUT)),
    Row(":37", PREPARE, stored(ORDER)),
    Row(":44", PREPARE, ranked(ORDER, 1, 1)),
    Row(":45", PREPARE, lambda v: "" if ORDER.of(v).shape[0] == len(DATA.of(v).shape) else
        f"its order has {ORDER.of(v).shape[0]} axes for {len(DATA.of(v).shape)} dimensions"),
    Row(":47", PREPARE, order_within),
)  # fmt: skip
TRANSPOSE_PLAIN = (*ORDERED, Row("transpose.cc:65", INVOKE, typed(DATA, *NUMBERS)))
TRANSPOSE = in_file(
    "cmsis_nn/transpose.cc",
    in_float(":76"),
    *ORDERED,
    Row(":93", INVOKE, typed(DATA, *NUMBERS)),
    Row(":30", WRONG, where(DATA, ("INT8",), transpose_of_five), "", MOVES_SINCE, "", "runtime-rank", OfLayer(
        "runtime-rank", "the kernel takes four dimensions at most, the error is dropped and the output is never written"
    )),
    Row("transpose.cc", PREPARE, where(DATA, ("INT16",), always("int16")), until="2025-03-17", layer=NO_INT16),
    not_yet("cmsis_nn/transpose.cc", MOVES_SINCE),
    other_type(":86", DATA, "INT8", layer=INT8_ALONE),
)  # fmt: skip


def _moves(p: Preparation, entry: str) -> KernelCall:
    data, output = (activation_dims(operand.of(p.view).shape) for operand in (DATA, OUTPUT))
    return KernelCall(entry, data, NO_FILTER, output)


def _pad(p: Preparation) -> None:
    """What is added in front is in the order of `activation_dims`; unknown for more than four axes."""
    rank = len(DATA.of(p.view).shape)
    amounts = values(p.view, AMOUNTS.of(p.view), 2 * rank)[::2]
    front = NO_FILTER if rank > 4 else Dims(*(0,) * (4 - rank), *amounts)
    p.runs("arm_pad_s8", _moves(p, "pad_s8")._replace(pad_front=front))


def _transpose(p: Preparation) -> None:
    rank = len(DATA.of(p.view).shape)
    if rank <= 4:
        order = values(p.view, ORDER.of(p.view), rank)
        p.runs("arm_transpose_s8", _moves(p, "transpose_s8")._replace(permutation=order))


# AVERAGE_POOL_2D, MAX_POOL_2D and SOFTMAX.


LUT_BYTES = 513 * 2
"""One of the two tables of the int16 softmax."""
POOL_CHECKS = "2025-04-04"
"""Day from which pools check scales."""


def pooled_scales(view: OperatorView) -> str:
    """Input and output have one scale, to a millionth."""
    scales = scale(DATA.of(view)), scale(OUTPUT.of(view))
    near = single(abs(scales[0] - scales[1])) <= 1.0e-6
    return "" if near else f"its input has scale {scales[0]:g} and its output {scales[1]:g}"


pooled_points = same("zero-point", zero_point, DATA, OUTPUT)
"""Input and output have one zero-point."""


def first_image(view: OperatorView) -> str:
    """A batch."""
    batch = DATA.of(view).shape[0]
    return f"only the first of {batch} images is pooled" if batch > 1 else ""


_UNEQUAL = OfLayer("runtime-stops", "input and output have different scales or zero-points", (Cause.UNEQUAL_SCALES,))
POOL_PLAIN = in_file(
    "pooling_common.cc",
    *there({61: DATA, 64: OUTPUT}),
    Row(":73", PREPARE, where(DATA, INTEGER, pooled_scales), since=POOL_CHECKS, layer=_UNEQUAL),
    Row(":74", PREPARE, where(DATA, INTEGER, pooled_points), since=POOL_CHECKS),
    *(row._replace(condition=where(DATA, INTEGER, row.condition)) for row in POOLED_ACTIVATION),
    Row(":86", PREPARE, typed(DATA, *NUMBERS)),
)
POOL = in_file(
    "cmsis_nn/pooling.cc",
    *POOL_PLAIN,
    in_float(":212"),
    Row(":170", PREPARE, where(DATA, INTEGER, images(DATA, OUTPUT))),
    Row("cmsis_nn/pooling.cc", WRONG, where(DATA, INTEGER, lambda v: pooled_scales(v) or pooled_points(v)),
        until=POOL_CHECKS, layer=OfLayer(
        "runtime-wrong",
        "the kernel pools stored values, and scales or zero-points differ; no check of this revision sees it",
        (Cause.UNEQUAL_SCALES,),
        sure=False,
    )),
    Row("cmsis_nn/pooling.cc", WRONG, where(DATA, INTEGER, first_image), until="2026-06-01", layer=OfLayer(
        "runtime-batch", "the kernel pools the first image of a batch alone"
    )),
)  # fmt: skip


def _pool(stem: str, p: Preparation) -> None:
    if p.reference:
        return
    data, output = DATA.of(p.view), OUTPUT.of(p.view)
    kernel = Pair(p.view.option("filter_height"), p.view.option("filter_width"))
    entry = f"{stem}_{'s16' if data.elem_type == 'INT16' else 's8'}"
    call = _slide(p.view, entry, data, kernel)._replace(
        input_dims=dims(data), filter_dims=Dims(1, kernel.h, kernel.w, 1), output_dims=dims(output)
    )
    if stem == "avgpool":
        p.request_positive(p.routed(call).buffer_size)
    p.runs(f"arm_{entry}", call)


@condition
def near(view: OperatorView, divisor: int) -> str:
    """The output's scale is 1 / `divisor`, to a thousandth of it."""
    step = scale(OUTPUT.of(view))
    exact = abs(step - 1 / divisor) <= single(0.001) / divisor
    return "" if exact else f"its output has scale {step:g}; 1/{divisor} is taken"


def one_in_256(view: OperatorView) -> str:
    """The output's scale is 1/256."""
    step = scale(OUTPUT.of(view))
    return "" if step == 1 / 256 else f"its output has scale {step:.9g}; 1/256 is taken"


SOFTMAX_OUTPUT = OfLayer(
    "runtime-stops",
    "its output needs scale 1/256 and zero-point -128 (int16: 1/32768 and 0, behind int8 1/65536 and -32768)",
    (Cause.SOFTMAX_SCALE,),
)


def of_int8(made: tuple[str, ...], rule: Condition) -> Condition:
    """The condition, where int8 becomes one of the types."""
    return where(DATA, ("INT8",), where(OUTPUT, made, rule))


SOFTMAX_STEPS = in_file(
    "softmax_common.cc",
    Row(":91", PREPARE, where(DATA, ("INT16",), pointed(DATA, 0)), layer=INT16_POINT),
    Row(":92", PREPARE, where(DATA, ("INT16",), pointed(OUTPUT, 0)), layer=SOFTMAX_OUTPUT),
    Row(":93", PREPARE, where(DATA, ("INT16",), near(32768))),
    Row(":98", PREPARE, of_int8(("INT16",), pointed(OUTPUT, -32768)), layer=SOFTMAX_OUTPUT),
    Row(":99", PREPARE, of_int8(("INT16",), near(65536))),
    Row(":103", PREPARE, of_int8(("INT8",), pointed(OUTPUT, -128)), layer=SOFTMAX_OUTPUT),
    Row(":104", PREPARE, of_int8(("INT8",), one_in_256)),
    *SOFTMAX_RANGE,
)
"""CalculateSoftmaxParams, by the types of input and output."""


def types_together(view: OperatorView) -> str:
    """One type, or int16 of int8."""
    kinds = DATA.of(view).elem_type, OUTPUT.of(view).elem_type
    together = kinds[0] == kinds[1] or kinds == ("INT8", "INT16")
    return "" if together else f"its input is {kinds[0]} and its output {kinds[1]}; they are not taken together"


SOFTMAX = in_file(
    "cmsis_nn/softmax.cc",
    *ends("cmsis_nn/softmax.cc", 47, 1),
    *there({50: DATA}),
    Row(":51", PREPARE, ranked(DATA, 1, 99)),
    *there({53: OUTPUT}),
    Row(":55", PREPARE, types_together),
    Row(":60", PREPARE, typed(DATA, *NUMBERS)),
    in_float(":98"),
    *SOFTMAX_STEPS,
)
SOFTMAX_PLAIN = in_file(
    "softmax_common.cc",
    *ends("softmax_common.cc", 148, 1),
    *there({151: DATA}),
    Row(":152", PREPARE, ranked(DATA, 1, 99)),
    *there({154: OUTPUT}),
    Row(":49", PREPARE, where(OUTPUT, ("INT16",), typed(DATA, *INTEGER))),
    Row(":52", PREPARE, unless(OUTPUT, ("INT16",), same_type(DATA, OUTPUT))),
    Row(":57", PREPARE, where(DATA, ("INT16",), pointed(OUTPUT, 0))),
    *SOFTMAX_STEPS,
    Row(":133", PREPARE, typed(DATA, *NUMBERS)),
)


def _softmax(p: Preparation) -> None:
    data = DATA.of(p.view)
    kinds = data.elem_type, OUTPUT.of(p.view).elem_type
    if data.elem_type == "INT16":
        p.persistent += [LUT_BYTES] * 2
    entry = {("INT8", "INT8"): "softmax_s8", ("INT8", "INT16"): "softmax_s8_s16"}.get(kinds, "softmax_s16")
    rows = Dims(prod(data.shape[:-1]), 1, 1, data.shape[-1])
    p.runs(f"arm_{entry}", KernelCall(entry, rows, NO_FILTER, rows))


# SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM.


LSTM_GATES = 8
"""Four gates, each with the sums of its input weights and of its recurrent weights."""
TIMES, BIAS, STATE = (
    KernelOperand(2, "its weights of time"),
    KernelOperand(3, "its bias"),
    KernelOperand(4, "its state"),
)
HIDDEN, CELL = KernelOperand(18, "its hidden state"), KernelOperand(19, "its cell state")


def readable_svdf(view: OperatorView) -> str:
    """Shapes that the kernel reads unseen. Raises Unpredictable where a size is not there."""
    if min(len(operand.of(view).shape) for operand in (DATA, FILTER, TIMES)) < 2 or view.option("rank") < 1:
        raise Unpredictable("an SVDF whose inputs have fewer than two dimensions, or whose rank is 0")
    return ""


def bias_scale(view: OperatorView) -> str:
    """The bias has the scale of state times weights. Raises Unpredictable without a bias."""
    if view.input(3) is None:
        raise Unpredictable("an SVDF without a bias: the kernel reads the scale of one that is not there")
    found, wanted = scale(BIAS.of(view)), scale(STATE.of(view)) * scale(TIMES.of(view))
    return "" if abs(found - wanted) < 1e-5 else f"its bias has scale {found:g}; {wanted:g} is taken"


def _svdf_rows(file: str, first: int) -> tuple[KernelLimit, ...]:
    """PrepareSvdf, which both builds have alike; `first` is the line of its first check."""

    def row(line: int, condition: Condition) -> KernelLimit:
        return Row(f"{file}:{first + line}", PREPARE, condition)

    return (
        *(row(line, given(operand)) for line, operand in ((0, DATA), (3, FILTER), (6, TIMES), (11, STATE))),
        row(15, readable_svdf),
        row(18, lambda v: f"{FILTER.of(v).shape[0]} filters are no multiple of its rank {v.option('rank')}"
            if FILTER.of(v).shape[0] % v.option("rank") else ""),
        row(23, typed(DATA, "FLOAT32", "INT8")),
        row(32, given(OUTPUT)),
        row(57, lambda v: "" if STATE.of(v).is_variable else "its state is no variable"),
        row(59, inputs(5)),
        row(85, where(DATA, ("INT8",), bias_scale)),
    )  # fmt: skip


SVDF, SVDF_PLAIN = (
    (*_svdf_rows("cmsis_nn/svdf.cc", 75), in_float("cmsis_nn/svdf.cc:391")._replace(layer=None)),
    _svdf_rows("svdf_common.cc", 379),
)


def _svdf(p: Preparation) -> None:
    """Kernel sums: kept for good with SPEED, worked out in each run with SIZE, which needs a buffer to be there."""
    batch, shape = DATA.of(p.view).shape[0], FILTER.of(p.view).shape
    p.request(4 * batch * shape[0])
    if DATA.of(p.view).elem_type == "INT8":
        p.request(4 * batch * (shape[0] // p.view.option("rank")))
    if p.reference:
        return
    size = Dims(shape[0], shape[1], 1, 1)
    call = KernelCall("svdf_s8", size, size, size)
    sums = max(p.routed(call).buffer_size or 0, 0)
    if sums and p.build.speed:
        if not p.view.constant(FILTER.of(p.view)):
            raise Refused(
                "its filter is computed; a constant alone is taken (micro/kernels/cmsis_nn/svdf.cc:196)", Stage.PREPARE
            )
        p.persistent.append(sums)
    elif sums:
        p.request(sums)
    if TIMES.of(p.view).elem_type == "INT16":
        p.runs("arm_svdf_state_s16_s8", call._replace(entry="svdf_state_s16_s8"))
        return
    if not p.build.speed and sums:
        p.functions.append("arm_vector_sum_s8")
    elif not p.build.speed:
        p.fails = Refused("there is no scratch buffer for its sums (micro/kernels/cmsis_nn/svdf.cc:320)", Stage.INVOKE)
    p.runs("arm_svdf_s8", call)


@condition
def constants(view: OperatorView, *positions: int) -> str:
    """The file holds some inputs."""
    computed = [place for place in positions if not view.constant(view.input(place))]
    return f"input {computed[0]} is computed; a constant alone is taken" if computed else ""


@condition
def readable_lstm(view: OperatorView, *operands: KernelOperand) -> str:
    """Shapes that the kernel reads unseen. Raises Unpredictable where a size is not there."""
    shapes = [operand.of(view).shape for operand in operands]
    if min(map(len, shapes)) < 2:
        raise Unpredictable(f"shapes {' and '.join(str(list(shape)) for shape in shapes)} of input and hidden state")
    return ""


LSTM = in_file(
    "cmsis_nn/unidirectional_sequence_lstm.cc",
    Row(":337", PREPARE, outputs),
    Row(":338", PREPARE, inputs(24)),
    *(Row(":350", PREPARE, given(operand)) for operand in (DATA, HIDDEN, CELL)),
    Row(":355", PREPARE, constants(*range(1, 9))),
    Row(":360", PREPARE, constants(*range(12, 16))),
    Row(":390", PREPARE, typed(CELL, "FLOAT32", "INT16")),
    Row(":373", PREPARE, readable_lstm(DATA, HIDDEN)),
    Row(":438", REFERENCE, lambda v: "" if DATA.of(v).elem_type in INTEGER and CELL.of(v).elem_type == "INT16" else
        "float", kind="runtime-float"),
)  # fmt: skip
LSTM_PLAIN = in_file(
    "unidirectional_sequence_lstm.cc",
    Row(":45", PREPARE, outputs),
    Row(":46", PREPARE, inputs(24)),
    *in_file("lstm_eval.cc", *there({60: HIDDEN, 67: CELL})),
    Row(":81", PREPARE, typed(CELL, "FLOAT32", "INT16")),
    Row(":63", PREPARE, readable_lstm(HIDDEN)),
)


def _states(p: Preparation, count: int) -> None:
    shape = HIDDEN.of(p.view).shape
    for _ in range(count):
        p.request(shape[0] * shape[1] * BITS[CELL.of(p.view).elem_type] // 8)


def _lstm(p: Preparation) -> None:
    data, (batch, width) = DATA.of(p.view), HIDDEN.of(p.view).shape[:2]
    if not p.reference:
        p.persistent += [(4 if data.elem_type == "INT8" else 8) * width] * LSTM_GATES
    _states(p, 4 if p.reference else 3)
    entry = f"lstm_unidirectional_{'s8' if data.elem_type == 'INT8' else 's16'}"
    features, steps = data.shape[-1], prod(data.shape[:-1]) // max(batch, 1)
    p.runs(f"arm_{entry}", KernelCall(entry, Dims(batch, 1, steps, features), NO_FILTER, Dims(batch, 1, steps, width)))


# All kernels.


KERNELS: dict[str, Kernel] = {
    "CONV_2D": Kernel(CONV, _conv),
    "DEPTHWISE_CONV_2D": Kernel(DEPTHWISE, _depthwise),
    "TRANSPOSE_CONV": Kernel(TRANSPOSED, _transposed),
    "FULLY_CONNECTED": Kernel(DENSE, _dense),
    "BATCH_MATMUL": Kernel(PRODUCTS, _products),
    "AVERAGE_POOL_2D": Kernel(POOL, partial(_pool, "avgpool")),
    "MAX_POOL_2D": Kernel(POOL, partial(_pool, "max_pool")),
    "SOFTMAX": Kernel(SOFTMAX, _softmax),
    "ADD": Kernel(ADD, partial(_pair, "elementwise_add")),
    "MUL": Kernel(MUL, partial(_pair, "elementwise_mul")),
    "MAXIMUM": Kernel(EXTREMES, partial(_pair, "maximum")),
    "MINIMUM": Kernel(EXTREMES, partial(_pair, "minimum")),
    "PAD": Kernel(PAD, _pad),
    "PADV2": Kernel(PAD, _pad),
    "TRANSPOSE": Kernel(TRANSPOSE, _transpose),
    "SVDF": Kernel(SVDF, _svdf),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel(LSTM, _lstm),
}
"""Operators with a kernel of CMSIS-NN."""
PLAIN: dict[str, Kernel] = {
    "CONV_2D": Kernel(CONV_PLAIN, partial(_conv_plain, 0), WITHOUT),
    "DEPTHWISE_CONV_2D": Kernel(DEPTHWISE_PLAIN, partial(_conv_plain, 3), WITHOUT),
    "TRANSPOSE_CONV": Kernel(TRANSPOSED_PLAIN, _transposed, WITHOUT),
    "FULLY_CONNECTED": Kernel(DENSE_PLAIN, _dense_plain, WITHOUT),
    "BATCH_MATMUL": Kernel(PRODUCTS_PLAIN, _products_plain, WITHOUT),
    "AVERAGE_POOL_2D": Kernel(POOL_PLAIN, reference=WITHOUT),
    "MAX_POOL_2D": Kernel(POOL_PLAIN, reference=WITHOUT),
    "SOFTMAX": Kernel(SOFTMAX_PLAIN, _softmax, WITHOUT),
    "ADD": Kernel(ADD_PLAIN, reference=WITHOUT),
    "MUL": Kernel(MUL_PLAIN, reference=WITHOUT),
    "MAXIMUM": Kernel(EXTREMES_PLAIN, reference=WITHOUT),
    "MINIMUM": Kernel(EXTREMES_PLAIN, reference=WITHOUT),
    "PAD": Kernel(PAD_PLAIN, reference=WITHOUT),
    "PADV2": Kernel(PAD_PLAIN, reference=WITHOUT),
    "TRANSPOSE": Kernel(TRANSPOSE_PLAIN, reference=WITHOUT),
    "SVDF": Kernel(SVDF_PLAIN, _svdf, WITHOUT),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel(LSTM_PLAIN, partial(_states, count=4), WITHOUT),
}
"""The same in a build without CMSIS-NN."""


def kernel_of(operator: TfliteOperator, *, with_cmsis_nn: bool = True) -> Kernel | None:
    """The kernel of an operator; None where TensorFlow Lite Micro has none."""
    op, name = operator.op, operator.custom_code
    if op == "CUSTOM" and name in CUSTOM:
        row = CUSTOM[name]
        known = "" if row.limits else "; what its kernel checks is not followed"
        text = f"{name} has no CMSIS-NN kernel; {row.add}() of the resolver registers it, since {row.since}{known}"
        return Kernel(row.limits, decode, text)
    if op in LIMITS:
        return Kernel(LIMITS[op], REQUESTS.get(op, lambda _: None), f"{op} has no CMSIS-NN kernel")
    return (KERNELS if with_cmsis_nn else PLAIN).get(op)
