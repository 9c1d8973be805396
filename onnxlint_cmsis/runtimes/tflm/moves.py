"""PAD, PADV2 and TRANSPOSE."""

from __future__ import annotations

from math import prod
from struct import unpack_from

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.ground.types import Dims, KernelCall
from onnxlint_cmsis.runtimes.tflm.broken_conditions import INVOKE, PREPARE, WRONG
from onnxlint_cmsis.runtimes.tflm.check_rows import Row, asked_since
from onnxlint_cmsis.runtimes.tflm.control_conditions import single_value
from onnxlint_cmsis.runtimes.tflm.element_types import INT8, INT16, NUMBERS
from onnxlint_cmsis.runtimes.tflm.kernel import in_file
from onnxlint_cmsis.runtimes.tflm.operands import DATA, OUTPUT, KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_conditions import (
    always,
    equal,
    given,
    inputs,
    outputs,
    ranked,
    same_type,
    stored,
    typed,
    where,
)
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView, scale, zero_point
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Unpredictable
from onnxlint_cmsis.runtimes.tflm.revision_days import CONSTANT_CHECKS
from onnxlint_cmsis.runtimes.tflm.rows import Condition, Objection, OfLayer
from onnxlint_cmsis.runtimes.tflm.shared_checks import PADDED
from onnxlint_cmsis.runtimes.tflm.shared_rows import INT8_ALONE, NO_INT16, in_float, not_yet, other_type, same
from onnxlint_cmsis.runtimes.tflm.windows import NO_FILTER, activation_dims

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


def with_value(condition: Condition) -> Condition:
    """The condition, for a pad with a value."""
    return lambda view: condition(view) if view.input(2) is not None else None


def padded_sizes(view: OperatorView) -> Objection | None:
    """The output is as large as input and paddings say."""
    data, output = DATA.of(view).shape, OUTPUT.of(view).shape
    pads = values(view, AMOUNTS.of(view), 2 * len(output))
    wanted = [size + pads[2 * axis] + pads[2 * axis + 1] for axis, size in enumerate(data[: len(output)])]
    same = list(output[: len(wanted)]) == wanted
    return None if same else f"its output has shape {list(output)}; {wanted} is taken"


def pad_of_five(view: OperatorView) -> str:
    """Several blocks of four dimensions."""
    shape = DATA.of(view).shape
    lost = f"of {shape[0]} images along the first only one is written" if len(shape) == 5 and shape[0] > 1 else ""
    return lost and f"the kernel pads the last four dimensions alone; {lost}"


def pad_of_four(view: OperatorView) -> Objection | None:
    """Another number of dimensions than 4."""
    rank = len(DATA.of(view).shape)
    return None if rank == 4 else f"the kernel reads four sizes of a shape that has {rank}"


def transpose_of_five(view: OperatorView) -> Objection | None:
    """More than four dimensions."""
    text = "the kernel takes four dimensions at most, the error is dropped and the output is never written"
    return text if len(DATA.of(view).shape) > 4 else None


def order_within(view: OperatorView) -> Objection | None:
    """The order names axes of the input."""
    rank = len(DATA.of(view).shape)
    bad = [axis for axis in values(view, ORDER.of(view), rank) if not 0 <= axis < rank]
    return f"axis {bad[0]} of an input with {rank} dimensions" if bad else None


TOO_MANY_AXES = OfLayer("five dimensions are the most that Prepare takes")

PAD_PLAIN = in_file(
    "pad_common.cc",
    {
        36: inputs(2, 3), 37: outputs, 41: given(DATA), 44: given(AMOUNTS), 51: given(OUTPUT),
        53: same_type(DATA, OUTPUT),
    },
    Row(":56", PREPARE, ranked(DATA, 0, 5), cause="rank", layer=TOO_MANY_AXES),
    {60: with_value(same_type(DATA, FILL)), 62: with_value(single_value(FILL))},
    Row(
        ":66",
        PREPARE,
        equal(
            "its paddings have {} elements; {} are taken",
            lambda v: (prod(AMOUNTS.of(v).shape), 2 * len(OUTPUT.of(v).shape)),
        ),
    ),
    {
        72: stored(AMOUNTS), 79: padded_sizes,
        110: with_value(where(DATA, INT8, same("zero-point", zero_point, OUTPUT, FILL))),
        112: with_value(where(DATA, INT8, same("scale", scale, OUTPUT, FILL))),
    },
    *PADDED,
)  # fmt: skip

PAD = in_file(
    "cmsis_nn/pad.cc",
    in_float(":88"),
    *PAD_PLAIN,
    Row(":54", WRONG, where(DATA, INT8, pad_of_five), "", "2026-05-27", cause="rank", layer=OfLayer(
        "the kernel pads the last four dimensions alone, and writes the first of several blocks"
    )),
    Row(":48", WRONG, where(DATA, INT8, pad_of_four), "", MOVES_SINCE, "2026-05-27", "rank", OfLayer(
        "the kernel of this revision reads four sizes whatever the rank", sure=False
    )),
    not_yet("cmsis_nn/pad.cc", MOVES_SINCE),
    other_type(":109", DATA, "INT8", layer=INT8_ALONE),
)  # fmt: skip

ORDERED = in_file(
    "transpose_common.cc",
    {27: inputs(2), 28: outputs},
    *(Row(":30", PREPARE, given(operand)) for operand in (DATA, ORDER, OUTPUT)),
    Row(":33", PREPARE, ranked(DATA, 0, 5), cause="rank", layer=TOO_MANY_AXES),
    {35: same_type(DATA, OUTPUT)},
    *asked_since(CONSTANT_CHECKS, Row(":37", PREPARE, stored(ORDER))),
    {44: ranked(ORDER, 1, 1)},
    Row(":45", PREPARE, lambda v: "" if ORDER.of(v).shape[0] == len(DATA.of(v).shape) else
        f"its order has {ORDER.of(v).shape[0]} axes for {len(DATA.of(v).shape)} dimensions"),
    Row(":47", PREPARE, order_within),
    Row(":41", WRONG, typed(ORDER, "INT32")),
)  # fmt: skip

TRANSPOSE_PLAIN = (*ORDERED, Row("transpose.cc:65", INVOKE, typed(DATA, *NUMBERS)))

TRANSPOSE = in_file(
    "cmsis_nn/transpose.cc",
    in_float(":76"),
    *ORDERED,
    Row(":93", INVOKE, typed(DATA, *NUMBERS)),
    Row(":30", WRONG, where(DATA, INT8, transpose_of_five), "", MOVES_SINCE, "", "rank", OfLayer(
        "the kernel takes four dimensions at most, the error is dropped and the output is never written"
    )),
    Row("transpose.cc", PREPARE, where(DATA, INT16, always("int16")), until="2025-03-17",
        cause="activation-type", layer=NO_INT16),
    not_yet("cmsis_nn/transpose.cc", MOVES_SINCE),
    other_type(":86", DATA, "INT8", layer=INT8_ALONE),
)  # fmt: skip


def _moves(p: Preparation, entry: str) -> KernelCall:
    data, output = (activation_dims(operand.of(p.view).shape) for operand in (DATA, OUTPUT))
    return KernelCall(entry, data, NO_FILTER, output)


def prepare_pad(p: Preparation) -> None:
    """What is added in front is in the order of `activation_dims`; unknown for more than four axes."""
    rank = len(DATA.of(p.view).shape)
    amounts = values(p.view, AMOUNTS.of(p.view), 2 * rank)[::2]
    front = NO_FILTER if rank > 4 else Dims(*(0,) * (4 - rank), *amounts)
    p.runs("arm_pad_s8", _moves(p, "pad_s8")._replace(pad_front=front))


def prepare_transpose(p: Preparation) -> None:
    """Note the call of arm_transpose_s8, of four axes at most."""
    rank = len(DATA.of(p.view).shape)
    if rank <= 4:
        order = values(p.view, ORDER.of(p.view), rank)
        p.runs("arm_transpose_s8", _moves(p, "transpose_s8")._replace(permutation=order))
