"""Checks of reference kernels that move values, or read how large they are."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.runtimes.tflm import move_conditions
from onnxlint_cmsis.runtimes.tflm.axis_conditions import axis_within, contiguous
from onnxlint_cmsis.runtimes.tflm.broken_conditions import (
    ABORTS_INVOKE,
    ABORTS_PREPARE,
    HALTS_PREPARE,
    INVOKE,
    PREPARE,
    WRONG,
)
from onnxlint_cmsis.runtimes.tflm.check_rows import CheckTable, Row, asked_since, checks, int16_until, rows, type_until
from onnxlint_cmsis.runtimes.tflm.element_types import FLOAT, INDEX_TYPES, INT8, INT16, MOVED, NUMBERS
from onnxlint_cmsis.runtimes.tflm.operands import AXIS, DATA, INDICES, LEFT, OUTPUT, SECOND, SIZES, THIRD, KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_conditions import (
    MOST_AXES,
    all_inputs,
    given,
    inputs,
    no_activation,
    outputs,
    pointed,
    ranked,
    same_shape,
    same_steps,
    same_type,
    stored,
    typed,
    where,
)
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER
from onnxlint_cmsis.runtimes.tflm.revision_days import ANY_RANK, CONSTANT_CHECKS
from onnxlint_cmsis.runtimes.tflm.rows import RUNTIME_SHAPE, KernelLimit, OfLayer
from onnxlint_cmsis.runtimes.tflm.shared_checks import INT16_POINT

_SPLIT_TYPES = ("FLOAT32", "INT8", "INT16", "INT32")


def _blocks(file: str, first: int, last: int, message: int) -> tuple[KernelLimit, ...]:
    """Batches to blocks of an image and back; `first` and `last` are lines of Prepare, `message` one of Eval."""
    return (
        *checks(file, {
            first: inputs(3), first + 1: outputs, last - 6: given(DATA), last - 4: ranked(DATA, 3, 4),
            last - 3: ranked(OUTPUT, 3, 4), last: same_type(DATA, OUTPUT),
        }, {message: typed(DATA, *MOVED)}),
        *rows(WRONG, file, {message - 28: typed(SECOND, "INT32"), message - 26: typed(THIRD, "INT32")}),
    )  # fmt: skip


_STEPS_OF_OUTPUT = all_inputs(lambda operand: same_steps(operand, OUTPUT))


_CONCAT_CHECKS = "2024-12-16"
"""Day from which concatenations check scales."""


MOVES: CheckTable = (
    ("BATCH_TO_SPACE_ND", _blocks("batch_to_space_nd.cc", 42, 57, 99)),
    ("BROADCAST_ARGS", checks("broadcast_args.cc", {
        32: inputs(2), 33: outputs, 43: typed(LEFT, *INDEX_TYPES), 45: same_type(LEFT, SECOND),
        46: same_type(LEFT, OUTPUT), 49: ranked(LEFT, 1, 1), 50: ranked(SECOND, 1, 1), 53: ranked(OUTPUT, 1, 1),
    })),
    ("BROADCAST_TO", (
        *checks("broadcast_to.cc", {
            77: inputs(2), 78: outputs, 87: ranked(DATA, 0, 5), 90: typed(SIZES, *INDEX_TYPES),
            92: same_type(DATA, OUTPUT),
        }),
        *asked_since(CONSTANT_CHECKS, Row("broadcast_to.cc:98", PREPARE, stored(SIZES))),
        Row("broadcast_to.cc:101", PREPARE, move_conditions.broadcast_to_shape),
    )),
    ("CONCATENATION", (
        *checks("concatenation.cc", {
            137: given(DATA), 141: given(OUTPUT), 147: no_activation,
            148: typed(DATA, "FLOAT32", "INT8", "INT16", "INT32", "INT64", "BOOL"), 154: same_type(OUTPUT, DATA),
            158: inputs(*range(1, 11)), 168: all_inputs(given),
            169: all_inputs(lambda operand: same_type(operand, DATA)),
            172: all_inputs(lambda operand: ranked(operand, 0, MOST_AXES)),
        }),
        Row("concatenation.cc:183", PREPARE, where(DATA, INT8, _STEPS_OF_OUTPUT), since=_CONCAT_CHECKS,
            layer=OfLayer("an input has another scale or zero-point than the output",
                          (Cause.UNEQUAL_SCALES,))),
        Row("concatenation.cc:189", PREPARE, where(DATA, INT16, all_inputs(lambda operand: pointed(operand, 0))),
            since=_CONCAT_CHECKS, layer=INT16_POINT),
        Row("concatenation.cc:205", PREPARE, where(DATA, INT16, pointed(OUTPUT, 0)), since=_CONCAT_CHECKS,
            cause="zero-point-s16"),
        Row("concatenation.cc:250", WRONG, where(DATA, INTEGER, _STEPS_OF_OUTPUT), layer=OfLayer(
            "the kernel copies stored values, and scales or zero-points differ",
            (Cause.UNEQUAL_SCALES,), sure=False)),
    )),
    ("DEPTH_TO_SPACE", checks("depth_to_space.cc", {
        41: inputs(1), 42: outputs, 48: given(DATA), 51: given(OUTPUT), 53: ranked(DATA, 4, 4),
        56: typed(OUTPUT, *MOVED), 58: same_type(DATA, OUTPUT), 71: move_conditions.blocks_fit,
    })),
    ("DYNAMIC_UPDATE_SLICE", checks("dynamic_update_slice.cc", {
        127: inputs(3), 128: outputs, 149: same_type(LEFT, SECOND), 150: typed(THIRD, *INDEX_TYPES),
        160: move_conditions.update_fits,
    }, {217: typed(LEFT, "FLOAT32", "INT8", "INT16", "INT32")})),
    ("EMBEDDING_LOOKUP", (
        *checks("embedding_lookup.cc", {
            69: inputs(2), 70: outputs, 77: ranked(LEFT, 1, 1), 78: typed(LEFT, "INT32"), 83: ranked(SECOND, 2, 99),
            84: typed(SECOND, *MOVED), 91: where(SECOND, FLOAT, typed(OUTPUT, *FLOAT)), 93: typed(OUTPUT, *MOVED),
            112: move_conditions.embedding_fits,
        }, {138: move_conditions.rows_within}),
        Row("embedding_lookup.cc:59", PREPARE, where(SECOND, INT8, where(OUTPUT, FLOAT, pointed(SECOND, 0)))),
    )),
    ("EXPAND_DIMS", (
        *checks("expand_dims.cc", {90: inputs(2), 91: outputs}),
        *asked_since(CONSTANT_CHECKS, Row("expand_dims.cc:102", PREPARE, stored(AXIS))),
        *checks("expand_dims.cc", {104: move_conditions.expanded}, {140: typed(DATA, *NUMBERS)}),
    )),
    ("FILL", (
        *checks("fill.cc", {
            73: given(LEFT), 76: given(SECOND), 82: ranked(SECOND, 0, 0), 85: same_type(SECOND, OUTPUT),
        }),
        Row("fill.cc:90", PREPARE, stored(LEFT), since=CONSTANT_CHECKS),
        Row("fill.cc:94", PREPARE, move_conditions.filled),
        Row("fill.cc:125", INVOKE, typed(SECOND, "FLOAT32", "INT32", "INT8")),
    )),
    ("GATHER", checks("gather.cc", {
        103: inputs(2), 104: outputs, 122: typed(INDICES, "INT32"), 137: typed(DATA, *MOVED),
        147: move_conditions.gathered,
    })),
    ("GATHER_ND", checks("gather_nd.cc", {
        34: inputs(2), 35: outputs, 51: typed(DATA, *MOVED), 60: typed(INDICES, "INT32"),
        76: move_conditions.gathered_points,
    })),
    ("MIRROR_PAD", (
        *checks("mirror_pad.cc", {182: move_conditions.padded_axes}, {155: typed(OUTPUT, *MOVED)}),
        Row("mirror_pad.cc:75", WRONG, typed(SECOND, *INDEX_TYPES)),
    )),
    ("PACK", (
        *rows(INVOKE, "pack.cc", {59: move_conditions.packed, 101: typed(OUTPUT, "FLOAT32", "INT8", "INT16", "INT32",
            "INT64")}),
        int16_until("pack.cc:101", "2025-08-20", OUTPUT),
    )),
    ("RESHAPE", checks("reshape_common.cc", {
        88: inputs(1, 2), 89: outputs, 77: same_type(DATA, OUTPUT), 78: move_conditions.same_elements,
    })),
    ("RESIZE_BILINEAR", checks("resize_bilinear.cc", {
        36: inputs(2), 37: outputs, 46: ranked(DATA, 4, 4), 47: ranked(SIZES, 1, 1), 49: typed(SIZES, "INT32"),
        52: stored(SIZES), 58: move_conditions.aligned_once,
    }, {103: typed(OUTPUT, *MOVED)})),
    ("RESIZE_NEAREST_NEIGHBOR", (
        *checks("resize_nearest_neighbor.cc", {
            38: inputs(2), 39: outputs, 50: ranked(DATA, 4, 4), 51: ranked(SIZES, 1, 1), 52: typed(SIZES, "INT32"),
            53: move_conditions.two_sizes, 57: stored(SIZES),
        }, {108: typed(OUTPUT, *NUMBERS)}),
        Row("resize_nearest_neighbor.cc:81", WRONG, move_conditions.centred, until="2026-02-10"),
    )),
    ("REVERSE_V2", (
        *checks("reverse.cc", {47: inputs(2), 48: outputs, 60: ranked(AXIS, 1, 1), 61: ranked(DATA, 0, MOST_AXES)}),
        Row(
            "reverse.cc:62",
            PREPARE,
            lambda view: (
                "more axes than dimensions" if prod(AXIS.of(view).shape) > len(DATA.of(view).shape) else ""
            ),
        ),
        *checks("reverse.cc", {
            68: typed(DATA, "INT32", "FLOAT32", "UINT8", "INT8", "INT16", "INT64", "BOOL"), 74: typed(AXIS, "INT32"),
            79: same_type(DATA, OUTPUT),
        }, {105: axis_within(AXIS, DATA), 117: contiguous}),
    )),
    ("SELECT_V2", (
        *checks("select.cc", {
            78: inputs(3), 79: outputs, 95: typed(LEFT, "BOOL"), 96: same_type(SECOND, THIRD),
            110: move_conditions.selected_shapes,
        }, {176: typed(SECOND, *NUMBERS)}),
        Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, move_conditions.selected_ranks, until=ANY_RANK, cause="broadcast"),
    )),
    ("SHAPE", checks("shape.cc", {39: inputs(1), 40: outputs}, {51: typed(OUTPUT, "INT32")})),
    ("SLICE", (
        *checks("slice.cc", {50: inputs(3), 51: outputs}),
        *rows(HALTS_PREPARE, "slice.cc", {
            67: same_type(DATA, OUTPUT), 68: same_type(SECOND, THIRD), 69: typed(SECOND, *INDEX_TYPES),
            71: ranked(SECOND, 1, 1), 72: ranked(THIRD, 1, 1), 73: same_shape(SECOND, THIRD), 74: ranked(DATA, 0, 5),
        }),
        *rows(INVOKE, "slice.cc", {
            109: typed(SECOND, *INDEX_TYPES), 151: typed(DATA, "FLOAT32", "INT32", "INT8", "INT16", "BOOL"),
        }),
        type_until("BOOL", "slice.cc:151", "2023-03-22"),
        Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, ranked(DATA, 0, 5)),
    )),
    ("SPACE_TO_BATCH_ND", _blocks("space_to_batch_nd.cc", 51, 64, 109)),
    ("SPACE_TO_DEPTH", checks("space_to_depth.cc", {
        40: inputs(1), 41: outputs, 52: ranked(DATA, 4, 4), 55: typed(OUTPUT, *MOVED),
        57: same_type(DATA, OUTPUT), 65: move_conditions.planes_fit,
    })),
    ("SPLIT", checks("split.cc", {
        73: given(LEFT), 78: stored(LEFT),
    }, {94: axis_within(LEFT, SECOND), 111: typed(SECOND, *_SPLIT_TYPES)})),
    ("SPLIT_V", checks("split_v.cc", {
        75: inputs(3), 82: stored(THIRD),
    }, {97: axis_within(THIRD, DATA), 114: typed(DATA, *_SPLIT_TYPES)})),
    ("SQUEEZE", (
        *checks("squeeze.cc", {48: inputs(1), 49: outputs, 61: ranked(DATA, 0, 8), 74: move_conditions.squeezed}),
        Row("squeeze.cc:83", ABORTS_PREPARE, move_conditions.squeezed_output),
        Row("squeeze.cc:107", INVOKE, move_conditions.same_bytes),
    )),
    ("STRIDED_SLICE", (
        *checks("strided_slice_common.cc", {139: inputs(4), 140: outputs, 142: ranked(DATA, 0, 4)}),
        *asked_since(CONSTANT_CHECKS, *(
            Row(f"strided_slice_common.cc:{line}", PREPARE, stored(KernelOperand(position, f"input {position}")))
            for position, line in ((1, 144), (2, 146), (3, 148))
        )),
        Row("strided_slice_common.cc:119", PREPARE, move_conditions.strided),
        Row("strided_slice.cc:78", INVOKE, typed(OUTPUT, "FLOAT32", "INT8", "INT16", "INT32", "BOOL")),
        type_until("BOOL", "strided_slice.cc:78", "2023-03-22", OUTPUT),
    )),
    ("UNPACK", (
        Row("unpack.cc:96", INVOKE, typed(DATA, *_SPLIT_TYPES)),
        int16_until("unpack.cc:96", "2025-03-17"),
    )),
    ("ZEROS_LIKE", checks("zeros_like.cc", {31: inputs(1), 32: outputs}, {74: typed(DATA, "INT64", "INT32", *MOVED)})),
)  # fmt: skip
