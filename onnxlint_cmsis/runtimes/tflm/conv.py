"""CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.cmsis_nn.library import ALL_PRODUCTS, products_in_32_bits
from onnxlint_cmsis.ground.types import Level, Pair
from onnxlint_cmsis.runtimes.tflm.broken_conditions import HALTS_INVOKE, HALTS_PREPARE, INVOKE, PREPARE, WRONG
from onnxlint_cmsis.runtimes.tflm.check_rows import REFERENCE, Row, asked_since, checks, int16_until
from onnxlint_cmsis.runtimes.tflm.element_types import INT8, INT16
from onnxlint_cmsis.runtimes.tflm.kernel import in_file
from onnxlint_cmsis.runtimes.tflm.operands import DATA, OUTPUT
from onnxlint_cmsis.runtimes.tflm.operator_conditions import (
    activation_left_out,
    always,
    equal,
    given,
    inputs,
    outputs,
    ranked,
    same_type,
    typed,
    where,
    with_steps,
)
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation
from onnxlint_cmsis.runtimes.tflm.revision_days import GROUPS, INT64_SUMS
from onnxlint_cmsis.runtimes.tflm.rows import INNER, Objection, OfLayer
from onnxlint_cmsis.runtimes.tflm.shared_checks import CONVOLUTION_SCALES, DEPTHWISE_SCALES, TRANSPOSED_SCALES
from onnxlint_cmsis.runtimes.tflm.shared_rows import (
    FILTER,
    IMAGE,
    INT8_ALONE,
    PAIRS,
    READ_FILTER_POINT,
    as_many_points,
    dims,
    filter_scales,
    ignored_point,
    images,
    in_pairs,
    int16_points,
    not_yet,
    slide,
    weighted_types,
)
from onnxlint_cmsis.runtimes.tflm.sums import adds_in_int32, overflow


def divided_inputs(view: OperatorView) -> Objection | None:
    """The filter's depth divides the input's channels."""
    channels, depth = DATA.of(view).shape[3], FILTER.of(view).shape[3]
    return f"{channels} input channels are no multiple of a filter's {depth}" if channels % depth else None


def grouped(view: OperatorView) -> Objection | None:
    """A filter of fewer channels than the input."""
    channels, depth = DATA.of(view).shape[3], FILTER.of(view).shape[3]
    text = f"{channels} input channels and a filter of {depth}: the kernel of this revision takes no groups"
    return text if channels != depth else None


def divided_outputs(view: OperatorView) -> Objection | None:
    """The groups divide the output's channels."""
    channels, groups = OUTPUT.of(view).shape[3], DATA.of(view).shape[3] // max(FILTER.of(view).shape[3], 1)
    return f"{channels} output channels are no multiple of {groups} groups" if groups and channels % groups else None


def past_channels(view: OperatorView) -> Objection | None:
    """The groups divide the output's channels, in reference code."""
    text = divided_outputs(view)
    return text and f"{text}: values beside the pixel are read"


def sums_of_int32(view: OperatorView) -> Objection | None:
    """Without an int64 bias all products of an int16 layer are added in int32, in reference code too."""
    bound = overflow(view, ALL_PRODUCTS) if adds_in_int32(view) else None
    given_bias = "without a bias" if view.input(2) is None else "with an int32 bias"
    return f"{given_bias} all products are added in 32 bits: {bound.text}" if bound else None


def sums_without_bias(view: OperatorView) -> Objection | None:
    """As `sums_of_int32`, of a layer without a bias."""
    return sums_of_int32(view) if view.input(2) is None else None


def sums_with_int32_bias(view: OperatorView) -> Objection | None:
    """As `sums_of_int32`, of a layer with a bias."""
    return None if view.input(2) is None else sums_of_int32(view)


def no_bias(view: OperatorView) -> Objection | None:
    """An int16 layer without a bias, whose multipliers keep the 16 bits that int64 sums and reference code drop."""
    text = "without a bias the sums are rescaled as 32-bit values: an output can be two steps off"
    return text if view.input(2) is None and not sums_of_int32(view) else None


def forgotten_bias(view: OperatorView) -> Objection | None:
    """An omitted bias (index -1) is handed to DeallocateTempTfLiteTensor (K/depthwise_conv_common.cc:131)."""
    forgotten = len(view.operator.inputs) == 3 and view.input(2) is None
    return "the bias has index -1; Prepare frees a tensor that it never allocated" if forgotten else None


def several_images(view: OperatorView) -> Objection | None:
    """More than one image."""
    batch = DATA.of(view).shape[0]
    return f"its input has {batch} images; one at a time is taken" if batch > 1 else None


CONV = in_file(
    "cmsis_nn/conv.cc",
    {58: given(DATA), 61: given(FILTER), 64: given(OUTPUT)},
    *weighted_types(69, 432),
    *asked_since(
        GROUPS,
        *(Row(f":{line}", PREPARE, ranked(tensor, 4, 4)) for line, tensor in ((85, DATA), (86, FILTER), (87, OUTPUT))),
        Row(":89", PREPARE, equal(
            "its input has {} images and its output {}", lambda v: (DATA.of(v).shape[0], OUTPUT.of(v).shape[0])
        )),
    ),
    *(Row(":288", outcome, grouped, until=GROUPS) for outcome in (HALTS_INVOKE, WRONG)),
    {
        91: lambda v: "its filter has no channels" if FILTER.of(v).shape[3] < 1 else "", 92: divided_inputs,
        105: images(DATA, FILTER, OUTPUT),
    },
    Row(":95", HALTS_PREPARE, divided_outputs, since=GROUPS),
    *checks("conv_common.cc", {88: inputs(2, 3), 89: outputs}),
    *CONVOLUTION_SCALES,
    *int16_points(158, DATA, OUTPUT),
    Row(":465", WRONG, where(DATA, INT16, sums_of_int32), cause="sums"),
    Row(":465", WRONG, where(DATA, INT16, no_bias), since=INT64_SUMS),
    ignored_point(":143"),
)  # fmt: skip

SUMS_OF_INT32 = (
    Row(f"{INNER}/conv.h:191", WRONG, where(DATA, INT16, sums_with_int32_bias), cause="sums"),
    Row(f"{INNER}/conv.h:191", WRONG, where(DATA, INT16, sums_without_bias), until=INT64_SUMS, cause="sums"),
)
"""Of reference code, whose accumulator has the type of the bias (integer_ops/fully_connected.h:107 in dense layers)."""

CONV_PLAIN = in_file(
    "conv_common.cc",
    {150: given(OUTPUT), 153: given(DATA), 156: given(FILTER), 158: same_type(DATA, OUTPUT)},
    Row(":159", PREPARE, in_pairs(DATA, *PAIRS), cause="dynamic-quantization"),
    {
        168: images(DATA, FILTER, OUTPUT), 185: where(DATA, INTEGER, with_steps(FILTER)),
        194: where(DATA, INTEGER, filter_scales(0)), 88: inputs(2, 3), 89: outputs,
    },
    *CONVOLUTION_SCALES,
    *SUMS_OF_INT32,
    Row(f"{INNER}/conv.h:78", WRONG, past_channels),
    ignored_point(f"{INNER}/conv.h:117"),
)  # fmt: skip


def prepare_conv(p: Preparation) -> None:
    """Ask for the scratch of CONV_2D, and note the wrapper that Eval calls."""
    data, weights, output = (operand.of(p.view) for operand in (DATA, FILTER, OUTPUT))
    if p.reference:
        return
    p.persistent += [4 * weights.shape[0]] * 2
    kind = "s16" if data.elem_type == "INT16" else "s4" if weights.elem_type == "INT4" else "s8"
    call = slide(p.view, f"convolve_{kind}", data, Pair(*weights.shape[1:3]), dilated=True)._replace(
        input_dims=dims(data),
        filter_dims=dims(weights),
        output_dims=dims(output),
        bias=p.view.input(2) is not None,
        int32_bias=kind == "s16" and adds_in_int32(p.view),
    )
    if kind == "s16" and not call.int32_bias:
        bound = overflow(p.view, products_in_32_bits(call, p.build.kernels_of(call.entry)))
        if bound:
            p.wrong.append(f"in the last of {prod(output.shape[1:3])} output pixels {bound.text} (arm_convolve_s16.c)")
            p.wrong_cause = p.wrong_cause or "sums"
    sized = call._replace(entry="convolve_s8") if kind == "s4" else call  # conv.cc:154
    p.request_positive(p.routed(sized).buffer_size)
    p.runs(f"arm_convolve_wrapper_{kind}", call)


_FORGOTTEN = Row("tensorflow/lite/micro/micro_allocator.cc:843", HALTS_PREPARE, forgotten_bias, cause="bias")

DEPTHWISE = in_file(
    "cmsis_nn/depthwise_conv.cc",
    {70: given(DATA), 73: given(FILTER), 76: given(OUTPUT)},
    *weighted_types(78, 392),
    {93: images(DATA, FILTER, OUTPUT), 101: where(DATA, INTEGER, with_steps(FILTER))},
    *int16_points(105, DATA, OUTPUT),
    Row(":116", PREPARE, where(DATA, INTEGER, filter_scales(3))),
    *checks("depthwise_conv_common.cc", {88: inputs(2, 3), 89: outputs}),
    *DEPTHWISE_SCALES,
    ignored_point(":214"),
    Row(":150", HALTS_PREPARE, where(DATA, INT8, several_images), until="2026-05-27", cause="batch", layer=OfLayer(
        "a check asks for one image at a time; a release build (NDEBUG) goes on"
    )),
    _FORGOTTEN._replace(layer=OfLayer(
        "it has no bias, which converters may write as bias index -1; Prepare halts there, or fails in a release build",
        level=Level.NOTE,
        sure=False,
    )),
)  # fmt: skip

DEPTHWISE_PLAIN = in_file(
    "depthwise_conv_common.cc",
    {
        150: given(OUTPUT), 153: given(DATA), 156: given(FILTER), 160: images(DATA, FILTER, OUTPUT),
        176: where(DATA, INT8, with_steps(FILTER)), 185: where(DATA, INT8, filter_scales(3)),
        190: where(DATA, INT8, as_many_points),
    },
    Row(":194", PREPARE, in_pairs(DATA, *PAIRS, alike=True), cause="dynamic-quantization"),
    {88: inputs(2, 3), 89: outputs},
    *DEPTHWISE_SCALES,
    _FORGOTTEN,
    Row("depthwise_conv.cc:135", INVOKE, in_pairs(DATA, *PAIRS)),
    int16_until("depthwise_conv.cc:135", "2023-08-01"),
    ignored_point(f"{INNER}/depthwise_conv.h:102"),
)  # fmt: skip


def prepare_depthwise(p: Preparation) -> None:
    """Ask for the scratch of DEPTHWISE_CONV_2D, and note the wrapper that Eval calls."""
    data, weights, output = (operand.of(p.view) for operand in (DATA, FILTER, OUTPUT))
    p.forgotten_bias = bool(forgotten_bias(p.view))
    if p.reference:
        return
    p.persistent += [4 * weights.shape[3]] * 2
    if data.elem_type == "INT16":
        p.runs("arm_depthwise_conv_s16")
        return
    kind = "s4" if weights.elem_type == "INT4" else "s8"
    call = slide(p.view, f"depthwise_{kind}", data, Pair(*weights.shape[1:3]), dilated=True)._replace(
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
    {169: given(OUTPUT), 172: given(IMAGE), 175: given(FILTER)},
    *weighted_types(177, 414, IMAGE, PAIRS[:2] + PAIRS[3:]),
    {
        191: images(IMAGE, FILTER, OUTPUT), 266: where(IMAGE, INTEGER, with_steps(FILTER)),
        275: where(IMAGE, INTEGER, filter_scales(0)), 81: inputs(3, 4), 82: outputs,
    },
    *TRANSPOSED_SCALES,
    ignored_point(":288", IMAGE, READ_FILTER_POINT),
    Row(":122", WRONG, where(IMAGE, INTEGER, activation_left_out)),
    Row(":256", REFERENCE, where(IMAGE, INT16, always("int16 transposed convolution")),
        cause="activation-type", layer=INT8_ALONE),
    not_yet("cmsis_nn/transpose_conv.cc", "2023-11-07"),
)  # fmt: skip

TRANSPOSED_PLAIN = in_file(
    "transpose_conv.cc",
    {164: given(OUTPUT), 167: given(IMAGE), 170: given(FILTER)},
    Row(":172", PREPARE, in_pairs(IMAGE, ("INT16", "INT8"), alike=True), cause="dynamic-quantization"),
    {
        179: images(IMAGE, FILTER, OUTPUT), 213: where(IMAGE, INTEGER, with_steps(FILTER)),
        222: where(IMAGE, INTEGER, filter_scales(0)), 226: where(IMAGE, INTEGER, as_many_points), 78: inputs(3, 4),
        79: outputs,
    },
    *TRANSPOSED_SCALES,
    Row(":114", WRONG, where(IMAGE, INTEGER, activation_left_out), until="2026-02-10"),
    Row(":287", INVOKE, same_type(IMAGE, OUTPUT)),
    Row(":401", INVOKE, typed(IMAGE, "FLOAT32", *INTEGER)),
)  # fmt: skip


def prepare_transposed(p: Preparation) -> None:
    """Padding follows from the output's size, as in the convolution that this one inverts."""
    data, weights, output = (operand.of(p.view) for operand in (IMAGE, FILTER, OUTPUT))
    p.persistent += [4 * weights.shape[0]] * 2
    call = slide(p.view, "transpose_conv_s8", output, Pair(*weights.shape[1:3]))._replace(
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


def unpacks(p: Preparation) -> None:
    """A byte for every weight of 4 bits."""
    if FILTER.of(p.view).elem_type == "INT4":
        p.request(prod(FILTER.of(p.view).shape))


def prepare_plain_conv(axis: int, p: Preparation) -> None:
    """Multipliers of the channels along an axis, of float layers too."""
    p.persistent += [4 * FILTER.of(p.view).shape[axis]] * 2
    p.forgotten_bias = p.view.operator.op == "DEPTHWISE_CONV_2D" and bool(forgotten_bias(p.view))
    unpacks(p)
