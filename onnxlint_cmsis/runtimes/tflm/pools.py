"""AVERAGE_POOL_2D, MAX_POOL_2D and SOFTMAX."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.runtimes.tflm.broken_conditions import PREPARE, WRONG
from onnxlint_cmsis.runtimes.tflm.check_rows import Row, asked_since, int16_until
from onnxlint_cmsis.runtimes.tflm.element_types import INT8, INT16, NUMBERS
from onnxlint_cmsis.runtimes.tflm.kernel import in_file
from onnxlint_cmsis.runtimes.tflm.operands import DATA, OUTPUT
from onnxlint_cmsis.runtimes.tflm.operator_conditions import (
    given,
    inputs,
    outputs,
    pointed,
    ranked,
    same_type,
    typed,
    unless,
    where,
)
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView, scale, single, zero_point
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation
from onnxlint_cmsis.runtimes.tflm.revision_days import TYPE_CHECKS
from onnxlint_cmsis.runtimes.tflm.rows import Condition, Objection, OfLayer, condition
from onnxlint_cmsis.runtimes.tflm.shared_checks import INT16_POINT, POOLED_ACTIVATION, SOFTMAX_RANGE
from onnxlint_cmsis.runtimes.tflm.shared_rows import dims, images, in_float, same, slide
from onnxlint_cmsis.runtimes.tflm.windows import NO_FILTER

LUT_BYTES = 513 * 2
"""One of the two tables of the int16 softmax."""
INT16_POOLS = "2023-01-17"
"""Day from which pools take int16 (pull request 1591)."""
POOL_CHECKS = "2025-04-04"
"""Day from which pools check scales."""


def pooled_scales(view: OperatorView) -> Objection | None:
    """Input and output have one scale, to a millionth."""
    scales = scale(DATA.of(view)), scale(OUTPUT.of(view))
    near = single(abs(scales[0] - scales[1])) <= 1.0e-6
    return None if near else f"its input has scale {scales[0]:g} and its output {scales[1]:g}"


pooled_points = same("zero-point", zero_point, DATA, OUTPUT)
"""Input and output have one zero-point."""


def first_image(view: OperatorView) -> Objection | None:
    """A batch."""
    batch = DATA.of(view).shape[0]
    return f"only the first of {batch} images is pooled" if batch > 1 else None


_UNEQUAL = OfLayer("input and output have different scales or zero-points", (Cause.UNEQUAL_SCALES,))

POOL_PLAIN = in_file(
    "pooling_common.cc",
    {61: given(DATA), 64: given(OUTPUT)},
    Row(":73", PREPARE, where(DATA, INTEGER, pooled_scales), since=POOL_CHECKS, layer=_UNEQUAL),
    Row(":74", PREPARE, where(DATA, INTEGER, pooled_points), since=POOL_CHECKS, cause="unequal-scales"),
    *(row._replace(condition=where(DATA, INTEGER, row.condition)) for row in POOLED_ACTIVATION),
    Row(":86", PREPARE, typed(DATA, *NUMBERS)),
    int16_until("pooling.cc", INT16_POOLS),
)

POOL = in_file(
    "cmsis_nn/pooling.cc",
    *POOL_PLAIN,
    in_float(":212"),
    Row(":170", PREPARE, where(DATA, INTEGER, images(DATA, OUTPUT))),
    Row("cmsis_nn/pooling.cc", WRONG, where(DATA, INTEGER, lambda v: pooled_scales(v) or pooled_points(v)),
        until=POOL_CHECKS, layer=OfLayer(
            "the kernel pools stored values, and scales or zero-points differ; no check of this revision sees it",
        (Cause.UNEQUAL_SCALES,),
        sure=False,
    )),
    Row("cmsis_nn/pooling.cc", WRONG, where(DATA, INTEGER, first_image), "", "", "2026-06-01", "batch", OfLayer(
        "the kernel pools the first image of a batch alone"
    )),
)  # fmt: skip


def prepare_pool(stem: str, p: Preparation) -> None:
    """Ask for the scratch of a pool, and note the function that Eval calls."""
    if p.reference:
        return
    data, output = DATA.of(p.view), OUTPUT.of(p.view)
    kernel = Pair(p.view.option("filter_height"), p.view.option("filter_width"))
    entry = f"{stem}_{'s16' if data.elem_type == 'INT16' else 's8'}"
    call = slide(p.view, entry, data, kernel)._replace(
        input_dims=dims(data), filter_dims=Dims(1, kernel.h, kernel.w, 1), output_dims=dims(output)
    )
    if stem == "avgpool":
        p.request_positive(p.routed(call).buffer_size)
    p.runs(f"arm_{entry}", call)


@condition
def near(view: OperatorView, divisor: int) -> Objection | None:
    """The output's scale is 1 / `divisor`, to a thousandth of it."""
    step = scale(OUTPUT.of(view))
    exact = abs(step - 1 / divisor) <= single(0.001) / divisor
    return None if exact else f"its output has scale {step:g}; 1/{divisor} is taken"


def one_in_256(view: OperatorView) -> Objection | None:
    """The output's scale is 1/256."""
    step = scale(OUTPUT.of(view))
    return None if step == 1 / 256 else f"its output has scale {step:.9g}; 1/256 is taken"


SOFTMAX_OUTPUT = OfLayer(
    "its output needs scale 1/256 and zero-point -128 (int16: 1/32768 and 0, behind int8 1/65536 and -32768)",
    (Cause.SOFTMAX_SCALE,),
)


def of_int8(types: tuple[str, ...], rule: Condition) -> Condition:
    """The condition, where int8 becomes one of the types."""
    return where(DATA, INT8, where(OUTPUT, types, rule))


SOFTMAX_STEPS = in_file(
    "softmax_common.cc",
    Row(":91", PREPARE, where(DATA, INT16, pointed(DATA, 0)), layer=INT16_POINT),
    Row(":92", PREPARE, where(DATA, INT16, pointed(OUTPUT, 0)), layer=SOFTMAX_OUTPUT),
    Row(":93", PREPARE, where(DATA, INT16, near(32768)), cause="softmax-scale"),
    Row(":98", PREPARE, of_int8(INT16, pointed(OUTPUT, -32768)), layer=SOFTMAX_OUTPUT),
    Row(":99", PREPARE, of_int8(INT16, near(65536)), cause="softmax-scale"),
    Row(":103", PREPARE, of_int8(INT8, pointed(OUTPUT, -128)), layer=SOFTMAX_OUTPUT),
    Row(":104", PREPARE, of_int8(INT8, one_in_256), cause="softmax-scale"),
    *SOFTMAX_RANGE,
)
"""CalculateSoftmaxParams, by the types of input and output."""


def types_together(view: OperatorView) -> Objection | None:
    """Input and output have one type, or int8 becomes int16."""
    kinds = DATA.of(view).elem_type, OUTPUT.of(view).elem_type
    together = kinds[0] == kinds[1] or kinds == ("INT8", "INT16")
    return None if together else f"its input is {kinds[0]} and its output {kinds[1]}; they are not taken together"


SOFTMAX = in_file(
    "cmsis_nn/softmax.cc",
    {
        47: inputs(1), 48: outputs, 50: given(DATA), 51: ranked(DATA, 1, 99), 53: given(OUTPUT),
    },
    *asked_since(TYPE_CHECKS, Row(":55", PREPARE, types_together), Row(":60", PREPARE, typed(DATA, *NUMBERS))),
    in_float(":98"),
    *SOFTMAX_STEPS,
)  # fmt: skip

SOFTMAX_PLAIN = in_file(
    "softmax_common.cc",
    {
        148: inputs(1), 149: outputs, 151: given(DATA), 152: ranked(DATA, 1, 99), 154: given(OUTPUT),
        49: where(OUTPUT, INT16, typed(DATA, *INTEGER)), 52: unless(OUTPUT, INT16, same_type(DATA, OUTPUT)),
        57: where(DATA, INT16, pointed(OUTPUT, 0)),
    },
    *SOFTMAX_STEPS,
    Row(":133", PREPARE, typed(DATA, *NUMBERS)),
)  # fmt: skip


def prepare_softmax(p: Preparation) -> None:
    """Ask for the tables of SOFTMAX, and note the function that Eval calls."""
    data = DATA.of(p.view)
    kinds = data.elem_type, OUTPUT.of(p.view).elem_type
    if data.elem_type == "INT16":
        p.persistent += [LUT_BYTES] * 2
    entry = {("INT8", "INT8"): "softmax_s8", ("INT8", "INT16"): "softmax_s8_s16"}.get(kinds, "softmax_s16")
    rows = Dims(prod(data.shape[:-1]), 1, 1, data.shape[-1])
    p.runs(f"arm_{entry}", KernelCall(entry, rows, NO_FILTER, rows))
