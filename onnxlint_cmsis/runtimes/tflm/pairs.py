"""ADD, MUL, MAXIMUM and MINIMUM."""

from __future__ import annotations

from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.runtimes.tflm.broken_conditions import ABORTS_INVOKE, ABORTS_PREPARE, INVOKE, PREPARE, WRONG
from onnxlint_cmsis.runtimes.tflm.check_rows import REFERENCE, Row, asked_since, type_until
from onnxlint_cmsis.runtimes.tflm.element_types import INT8, INT16, NUMBERS
from onnxlint_cmsis.runtimes.tflm.kernel import in_file
from onnxlint_cmsis.runtimes.tflm.operands import LEFT, OUTPUT, SECOND
from onnxlint_cmsis.runtimes.tflm.operator_conditions import (
    always,
    given,
    no_activation,
    no_steps,
    ranked,
    same_type,
    touched,
    typed,
    where,
    with_steps,
)
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation
from onnxlint_cmsis.runtimes.tflm.revision_days import TYPE_CHECKS
from onnxlint_cmsis.runtimes.tflm.rows import RUNTIME_SHAPE, KernelLimit, Objection, OfLayer
from onnxlint_cmsis.runtimes.tflm.shared_checks import FUSED_ACTIVATION, LARGEST, MULTIPLIED, SUM_FACTORS
from onnxlint_cmsis.runtimes.tflm.shared_rows import INT8_ALONE, NO_INT16, in_float, int16_points, not_yet, other_type
from onnxlint_cmsis.runtimes.tflm.sizes import COUNTED, as_many_elements
from onnxlint_cmsis.runtimes.tflm.windows import activation_dims

BROADCAST = OfLayer("the shapes of its operands differ")
INT32_SUMS = "2023-03-30"
"""Day from which ADD takes int32 (pull request 1847)."""


def differing(view: OperatorView) -> Objection | None:
    """Operands of different shapes."""
    shapes = LEFT.of(view).shape, SECOND.of(view).shape
    return f"the shapes differ, {list(shapes[0])} and {list(shapes[1])}" if shapes[0] != shapes[1] else None


def _pairs(float_at: str, broadcast_at: str) -> tuple[KernelLimit, ...]:
    """CMSIS-NN for equal shapes of int8 and int16, reference code for all else."""
    return (
        in_float(float_at),
        other_type(float_at, LEFT, *NUMBERS),
        Row(broadcast_at, REFERENCE, where(LEFT, INTEGER, differing), cause="broadcast", layer=BROADCAST),
    )


ADD = in_file(
    "cmsis_nn/add.cc",
    {
        296: given(LEFT), 299: given(SECOND), 302: given(OUTPUT),
    },
    *asked_since(
        TYPE_CHECKS,
        Row(":304", PREPARE, same_type(LEFT, OUTPUT)),
        Row(":305", PREPARE, typed(LEFT, *NUMBERS, "INT32")),
        Row(":310", PREPARE, same_type(LEFT, SECOND), cause="activation-type"),
    ),
    *int16_points(314, LEFT, SECOND, OUTPUT),
    *SUM_FACTORS,
    {327: where(OUTPUT, ("INT32",), no_steps(LEFT)), 329: where(OUTPUT, ("INT32",), no_steps(SECOND))},
    *_pairs(":353", ":132"),
    type_until("INT32", ":353", INT32_SUMS, OUTPUT),
    Row(":229", WRONG, where(OUTPUT, ("INT32",), no_activation)),
)  # fmt: skip

ADD_PLAIN = in_file(
    "add_common.cc",
    {88: given(LEFT), 91: given(SECOND), 94: given(OUTPUT)},
    Row(":42", ABORTS_PREPARE, where(OUTPUT, INTEGER, with_steps(OUTPUT))),
    *SUM_FACTORS,
    {104: where(OUTPUT, ("INT32",), no_steps(LEFT)), 106: where(OUTPUT, ("INT32",), no_steps(SECOND))},
    Row("add.cc:188", INVOKE, typed(OUTPUT, *NUMBERS, "INT32")),
    type_until("INT32", "add.cc:188", INT32_SUMS, OUTPUT),
    Row("add.cc:63", WRONG, where(OUTPUT, ("INT32",), no_activation)),
    *(Row("add.cc:181", WRONG, same_type(operand, OUTPUT)) for operand in (LEFT, SECOND)),
)

MUL_PLAIN = in_file(
    "mul_common.cc",
    {44: given(LEFT), 47: given(SECOND), 50: given(OUTPUT), 55: same_type(LEFT, SECOND)},
    *FUSED_ACTIVATION,
    *(
        limit._replace(condition=where(OUTPUT, INTEGER, limit.condition))
        for limit in int16_points(73, LEFT, SECOND, OUTPUT, by=LEFT)
    ),
    *MULTIPLIED,
)

MUL = (*MUL_PLAIN, *_pairs("cmsis_nn/mul.cc:123", "cmsis_nn/mul.cc:171"))


def prepare_pair(entry: str, p: Preparation) -> None:
    """Note the call of a function of two operands."""
    kind = "s16" if LEFT.of(p.view).elem_type == "INT16" and entry.startswith("elementwise") else "s8"
    left, right, output = (activation_dims(operand.of(p.view).shape) for operand in (LEFT, SECOND, OUTPUT))
    p.runs(f"arm_{entry}_{kind}", KernelCall(f"{entry}_{kind}", left, right, output))


def unequal_steps(view: OperatorView) -> Objection | None:
    """Inputs in other steps than the output."""
    steps = [operand.of(view).quantization for operand in (LEFT, SECOND, OUTPUT)]
    text = "the kernel compares stored values, and scales or zero-points of inputs and output differ"
    return text if any(step != steps[2] for step in steps) else None


def taken_for_one_value(view: OperatorView) -> Objection | None:
    """Ranks other than 2 to 4."""
    text = "the kernel takes a shape of another rank than 2 to 4 for a single value"
    ranks = [len(operand.of(view).shape) for operand in (LEFT, SECOND, OUTPUT)]
    return None if all(2 <= rank <= 4 for rank in ranks) else text


_EXTREMES_SINCE, _ANY_RANK = "2025-02-05", "2026-05-27"

EXTREMES_PLAIN = in_file(
    "maximum_minimum.h",
    *(Row(f":{line}", INVOKE, touched(operand)) for line, operand in ((43, LEFT), (44, SECOND), (45, OUTPUT))),
    *LARGEST,
    Row(
        "tensorflow/lite/kernels/internal/reference/maximum_minimum.h:38", WRONG, unequal_steps, cause="unequal-scales"
    ),
    Row(COUNTED, ABORTS_INVOKE, as_many_elements("INT8", same_rank=True)),
)

EXTREMES = in_file(
    "cmsis_nn/maximum_minimum.cc",
    *EXTREMES_PLAIN[:3],
    *LARGEST,
    in_float(":67", OUTPUT),
    Row(":63", WRONG, unequal_steps, layer=OfLayer(
        "the kernel compares stored values, and scales or zero-points differ", (Cause.UNEQUAL_SCALES,)
    )),
    Row(":59", WRONG, where(OUTPUT, INT8, taken_for_one_value), "", _EXTREMES_SINCE, _ANY_RANK, "rank", OfLayer(
        "the kernel of this revision takes a tensor of one dimension for one value", sure=False
    )),
    *(Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, where(OUTPUT, INT8, ranked(operand, 0, 4)), since=_ANY_RANK,
          cause="rank")
      for operand in (LEFT, SECOND, OUTPUT)),
    Row("maximum_minimum.cc", PREPARE, where(OUTPUT, INT16, always("int16")), until="2024-09-09",
        cause="activation-type", layer=NO_INT16),
    not_yet("cmsis_nn/maximum_minimum.cc", _EXTREMES_SINCE),
    other_type(":67", OUTPUT, "INT8", layer=INT8_ALONE),
)  # fmt: skip
