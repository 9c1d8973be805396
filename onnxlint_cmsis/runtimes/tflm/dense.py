"""FULLY_CONNECTED and BATCH_MATMUL."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.ground.types import Dims, KernelCall, Level
from onnxlint_cmsis.runtimes.tflm.broken_conditions import HALTS_INVOKE, HALTS_PREPARE, INVOKE, PREPARE, WRONG
from onnxlint_cmsis.runtimes.tflm.check_rows import Row, rows
from onnxlint_cmsis.runtimes.tflm.conv import SUMS_OF_INT32, unpacks
from onnxlint_cmsis.runtimes.tflm.element_types import FLOAT, INT8, INT16, NUMBERS
from onnxlint_cmsis.runtimes.tflm.kernel import in_file
from onnxlint_cmsis.runtimes.tflm.operands import DATA, LEFT, OUTPUT, SECOND
from onnxlint_cmsis.runtimes.tflm.operator_conditions import (
    always,
    equal,
    given,
    pointed,
    ranked,
    same_type,
    typed,
    unless,
    where,
)
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView, quantized, tensor_bytes, zero_point
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Unpredictable
from onnxlint_cmsis.runtimes.tflm.revisions import holds
from onnxlint_cmsis.runtimes.tflm.rows import Condition, Objection, OfLayer, condition
from onnxlint_cmsis.runtimes.tflm.shared_checks import DENSE_ACTIVATION, DENSE_BIAS
from onnxlint_cmsis.runtimes.tflm.shared_rows import (
    ACTIVATIONS,
    FILTER,
    HYBRID,
    PAIRS,
    SEVERAL_SCALES,
    in_float,
    in_pairs,
    int16_points,
    not_yet,
    weighted_types,
)
from onnxlint_cmsis.runtimes.tflm.windows import activation_dims

EVAL_TENSOR_BYTES = 12
SHAPE_BYTES = 4
QUANTIZATION_BYTES = 28
"""OpDataBatchMatmul's quantization (K/batch_matmul.h)."""
INT32_BIAS = "the bias is int32 and the kernel reads it as int64"
PER_CHANNEL_DENSE = "2024-09-27"
"""Day from which int8 dense layers may have a scale for each output (pull request 2673)."""


def readable(view: OperatorView) -> Objection | None:
    """Shapes that the kernel reads unseen. Raises Unpredictable where a size is not there, or below 1."""
    weights, output = FILTER.of(view).shape, OUTPUT.of(view).shape
    if not output or not weights or min(output) < 1:
        raise Unpredictable(f"shapes {list(weights)} and {list(output)} of weights and output")
    return None


def several(view: OperatorView) -> int:
    """Scales of weights that have several; else 0."""
    stored = FILTER.of(view).quantization
    count = len(stored.scales) if stored and quantized(FILTER.of(view)) else 0
    return count if count > 1 else 0


def several_scales(view: OperatorView) -> Objection | None:
    """A scale for each output."""
    return "its weights have a scale for each output" if several(view) else None


def scales_of_int16(view: OperatorView) -> Objection | None:
    """Several scales in a layer that may not have them."""
    text = several_scales(view)
    return text and f"{text}; only layers of int8 take that"


def one_scale_of_int4(view: OperatorView) -> Objection | None:
    """A scale for each output, in types that may not have several."""
    taken = FILTER.of(view).elem_type != "INT4" and DATA.of(view).elem_type in INTEGER
    return None if taken else several_scales(view)


@condition
def with_one_scale(view: OperatorView, rule: Condition) -> Objection | None:
    """The condition, of weights that do not have several scales."""
    return None if several(view) else rule(view)


def scale_of_each_output(view: OperatorView) -> Objection | None:
    """Several scales of weights are as many as the axis that they name is long."""
    weights, count = FILTER.of(view), several(view)
    axis = weights.quantization.axis if weights.quantization else 0
    size = weights.shape[axis] if 0 <= axis < len(weights.shape) else 0
    return f"its weights of shape {list(weights.shape)} have {count} scales" if count not in (0, size) else None


def _on_1x1_route(view: OperatorView) -> bool:
    """An output of more than two dimensions is a 1x1 convolution (K/cmsis_nn/fully_connected.cc:128)."""
    types = DATA.of(view).elem_type, FILTER.of(view).elem_type
    return types == ("INT8", "INT8") and len(OUTPUT.of(view).shape) > 2 and FILTER.of(view).shape[-1] % 4 == 0


def early_scratch(view: OperatorView) -> Objection | None:
    """The 1x1 route asks for scales to be repeated in a scratch buffer, whose number has to be 4 or more."""
    early = _on_1x1_route(view) and not several(view) and view.scratch_before < 4
    return f"its scratch request has number {view.scratch_before}; at least 4 is taken" if early else None


def ignored_filter_point(view: OperatorView) -> Objection | None:
    """Ways of int8 activations that take the weights as symmetric."""
    point, int4 = zero_point(FILTER.of(view)), FILTER.of(view).elem_type == "INT4"
    way = "int4 kernel" if int4 else "1x1 route"
    return (
        f"the {way} ignores the zero-point of the weights, {point}" if point and (int4 or _on_1x1_route(view)) else None
    )


def int32_bias(view: OperatorView) -> Objection | None:
    """A bias of another type than the kernel reads."""
    bias = view.input(2)
    return INT32_BIAS if bias is not None and bias.elem_type == "INT32" else None


DENSE_QUANTIZATION = tuple(
    row._replace(condition=unless(DATA, FLOAT, row.condition))
    for row in (
        Row("fully_connected_common.cc:58", PREPARE, several_scales, "", "2024-05-29", PER_CHANNEL_DENSE,
            "weight-scales", OfLayer(
                "its weights have a scale for each output, which Prepare of this revision checks for",
            sure=False,
        )),
        Row("fully_connected_common.cc:99", PREPARE, one_scale_of_int4, since=PER_CHANNEL_DENSE, layer=SEVERAL_SCALES),
        Row("fully_connected_common.cc:107", PREPARE, scale_of_each_output),
        *(row._replace(condition=with_one_scale(row.condition)) for row in DENSE_BIAS),
        Row("fully_connected_common.cc:148", HALTS_PREPARE, pointed(FILTER, 0),
            cause="weight-zero-point", layer=OfLayer(
            "a check asks for weights with zero-point 0, as symmetric quantization gives them; a release build "
            "(NDEBUG) goes on, and ignores the zero-point where the output has more than two dimensions",
        )),
        *DENSE_ACTIVATION,
    )
)  # fmt: skip
"""CalculateOpDataFullyConnected, which float layers leave at once."""

DENSE = in_file(
    "cmsis_nn/fully_connected.cc",
    {65: given(DATA), 68: given(FILTER), 73: given(OUTPUT)},
    *weighted_types(75, 429),
    Row(":90", PREPARE, readable),
    Row(":94", HALTS_PREPARE, ranked(OUTPUT, 2, 99)),
    Row(":95", HALTS_PREPARE, ranked(OUTPUT, 0, 4), cause="rank", layer=OfLayer(
        "a check asks for an output of at most four dimensions; a release build (NDEBUG) goes on"
    )),
    *DENSE_QUANTIZATION,
    Row(":116", PREPARE, where(DATA, INT16, scales_of_int16), since=PER_CHANNEL_DENSE, layer=SEVERAL_SCALES),
    *int16_points(124, DATA, OUTPUT),
    *rows(WRONG, "", {389: where(DATA, INT16, int32_bias), 251: where(DATA, INT8, ignored_filter_point)}),
    Row(":309", HALTS_INVOKE, early_scratch, "", PER_CHANNEL_DENSE, cause="scratch-order", layer=OfLayer(
        "with more than two dimensions and inputs a multiple of 4 it is computed as a 1x1 convolution, of which a "
        "check asks that four scratch requests came before; a release build (NDEBUG) computes it rightly",
        level=Level.WARNING,
        sure=False,
    )),
    Row("fully_connected_common.cc", WRONG, several_scales, until="2024-05-29", cause="weight-scales", layer=OfLayer(
        "its weights have a scale for each output, and the kernel of this revision takes one", sure=False
    )),
)  # fmt: skip

DENSE_PLAIN = in_file(
    "fully_connected.cc",
    {
        48: given(DATA), 51: given(FILTER), 56: given(OUTPUT), 57: same_type(DATA, OUTPUT),
        59: where(DATA, ACTIVATIONS, in_pairs(DATA, *PAIRS)), 67: readable,
    },
    *DENSE_QUANTIZATION,
    *SUMS_OF_INT32,
    Row(":347", INVOKE, typed(DATA, *ACTIVATIONS)),
)  # fmt: skip


def _multipliers(p: Preparation) -> None:
    """Multipliers of weights with several scales."""
    if DATA.of(p.view).elem_type != "FLOAT32" and several(p.view):
        p.persistent += [4 * several(p.view)] * 2


def prepare_plain_dense(p: Preparation) -> None:
    """Ask for what FULLY_CONNECTED keeps in a build without CMSIS-NN."""
    _multipliers(p)
    unpacks(p)


def prepare_dense(p: Preparation) -> None:
    """Kernel sums live in the arena for good, or are worked out in each run into a scratch buffer."""
    if p.reference:
        return
    _multipliers(p)
    data, weights, output, bias = DATA.of(p.view), FILTER.of(p.view), OUTPUT.of(p.view), p.view.input(2)
    batch, depth, channels = prod(output.shape[:-1]), weights.shape[-1], output.shape[-1]
    kind = "s16" if data.elem_type == "INT16" else "s4" if weights.elem_type == "INT4" else "s8"
    ends_of_call = Dims(batch, 1, 1, depth), Dims(depth, 1, 1, channels), Dims(batch, 1, 1, channels)
    call = KernelCall(f"fully_connected_{kind}", *ends_of_call, bias=bias is not None)
    if kind != "s8":
        p.runs(f"arm_fully_connected_{kind}", call)
    elif _on_1x1_route(p.view):
        if not several(p.view):
            p.request(8 * channels)
        call = call._replace(entry="convolve_s8", filter_dims=Dims(channels, 1, 1, depth))
        p.runs("arm_convolve_1x1_s8_fast", call)
    else:
        call = call._replace(per_channel=bool(several(p.view)), weight_offset=bool(zero_point(weights)))
        sums = max(p.routed(call).buffer_size or 0, 0)
        constant = p.view.constant(weights) and (bias is None or p.view.constant(bias))
        if sums and p.build.speed and constant:
            p.persistent.append(sums)
        elif sums:
            p.request(sums)
            p.functions.append("arm_vector_sum_s8")
        wrapper = "wrapper_" if holds(p.build.revision, PER_CHANNEL_DENSE, "") else ""
        p.runs(f"arm_fully_connected_{wrapper}s8", call)


summed_axis = equal(
    "its inputs have {} and {} products to sum",
    lambda v: (LEFT.of(v).shape[-2 if v.option("adj_x") else -1], SECOND.of(v).shape[-1 if v.option("adj_y") else -2]),
)
"""Both operands have as many products to sum."""


def collapsed(view: OperatorView) -> Objection | None:
    """Matrices of the first operand that are turned are not taken for one, where one matrix stands behind them all."""
    left, right = LEFT.of(view).shape, SECOND.of(view).shape
    several = view.option("adj_x") and min(len(left), len(right)) > 2 and right[-3] == 1 and left[-3] > 1
    return "matrices that adj_x turns are taken for one" if several else None


_COLLAPSED = Row("batch_matmul.cc:365", WRONG, collapsed, until="2026-04-09")

PRODUCTS = in_file(
    "cmsis_nn/batch_matmul.cc",
    {199: given(LEFT), 202: given(SECOND), 205: given(OUTPUT)},
    Row(":207", PREPARE, same_type(LEFT, SECOND), layer=HYBRID),
    {208: same_type(LEFT, OUTPUT), 209: typed(LEFT, *ACTIVATIONS)},
    in_float(":487"),
    *(Row(f":{line}", PREPARE, ranked(side, *ends)) for line, side, ends in
      ((218, LEFT, (2, 99)), (219, LEFT, (0, 4)), (220, SECOND, (2, 99)), (221, SECOND, (0, 4)))),
    Row(":255", PREPARE, summed_axis),
    *int16_points(319, LEFT, SECOND, OUTPUT),
    _COLLAPSED,
    not_yet("cmsis_nn/batch_matmul.cc", "2024-09-09"),
    Row(":124", WRONG, always("rows and columns of its first input are exchanged"), "", "2024-09-09", "2024-11-06",
        layer=OfLayer("the kernel of this revision exchanges rows and columns of the first operand's "
                      "shape", sure=False)),
)  # fmt: skip

PRODUCTS_PLAIN = in_file(
    "batch_matmul.cc",
    {
        185: given(LEFT), 187: given(SECOND), 189: given(OUTPUT), 191: typed(LEFT, *NUMBERS),
        194: typed(SECOND, *NUMBERS), 199: same_type(LEFT, SECOND), 201: same_type(LEFT, OUTPUT),
    },
    *(Row(f":{line}", PREPARE, ranked(side, *ends)) for line, side, ends in
      ((206, LEFT, (2, 99)), (207, LEFT, (0, 5)), (208, SECOND, (2, 99)), (209, SECOND, (0, 5)))),
    *int16_points(242, LEFT, SECOND, OUTPUT),
    _COLLAPSED,
    Row(":276", PREPARE, summed_axis),
)  # fmt: skip


def _copies(p: Preparation) -> None:
    """A further tensor for each transposed operand, constants included (cmsis_nn/batch_matmul.cc:162), and a shape."""
    for tensor, copied in ((LEFT.of(p.view), p.view.option("adj_x")), (SECOND.of(p.view), not p.view.option("adj_y"))):
        if copied:
            p.persistent += [EVAL_TENSOR_BYTES, SHAPE_BYTES * (1 + len(tensor.shape)), tensor_bytes(tensor)]
    p.persistent.append(SHAPE_BYTES * (1 + len(OUTPUT.of(p.view).shape)))


def prepare_plain_products(p: Preparation) -> None:
    """Ask for what BATCH_MATMUL keeps in a build without CMSIS-NN."""
    if LEFT.of(p.view).elem_type in INTEGER:
        p.persistent.append(QUANTIZATION_BYTES)
    _copies(p)


def prepare_products(p: Preparation) -> None:
    """Rows of the left operand times rows of the right one, whose copies are transposed where they have to be."""
    _copies(p)
    if p.reference:
        return
    p.persistent.append(QUANTIZATION_BYTES)
    left, right, output = (activation_dims(operand.of(p.view).shape) for operand in (LEFT, SECOND, OUTPUT))
    kind = "s16" if LEFT.of(p.view).elem_type == "INT16" else "s8"
    if kind == "s8":
        shape = OUTPUT.of(p.view).shape
        if len(shape) > 4:
            raise Unpredictable(f"the file states {len(shape)} axes for its output, and its kernel takes up to 4")
        size = Dims(*(1,) * (4 - len(shape)), *shape)
        sums = KernelCall("fully_connected_s8", size, size, size, per_channel=False)
        p.request_positive(p.routed(sums).buffer_size)
    left = left._replace(w=left.c, c=left.w) if p.view.option("adj_x") else left
    right = right if p.view.option("adj_y") else right._replace(w=right.c, c=right.w)
    offset = bool(zero_point(SECOND.of(p.view)))
    p.runs(f"arm_batch_matmul_{kind}", KernelCall(f"batch_matmul_{kind}", left, right, output, weight_offset=offset))
