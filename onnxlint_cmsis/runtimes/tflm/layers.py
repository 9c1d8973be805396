"""What TensorFlow Lite Micro does with layers of an ONNX model: the rows of its kernels, asked before conversion.

A layer is put on paper as the operator that converters make of it. What they decide, such as scales, is left open: a
row that looks at it has no answer, and holds where CMSIS-NN refuses the layer for the same cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteOperator, TfliteTensor
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.model.graph import StoredQuantization
from onnxlint_cmsis.runtimes.condition_row import ConditionRow, always
from onnxlint_cmsis.runtimes.layer_facts import LayerFacts
from onnxlint_cmsis.runtimes.remark import NOT_REVIEWED, USUAL_CAUSES
from onnxlint_cmsis.runtimes.tflite_names import RECURRENT
from onnxlint_cmsis.runtimes.tflm.broken_conditions import KernelOutcome
from onnxlint_cmsis.runtimes.tflm.kernels import KERNELS
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Unpredictable
from onnxlint_cmsis.runtimes.tflm.prepare_requests import broken
from onnxlint_cmsis.runtimes.tflm.reference_checks import LIMITS, NEW_OPERATORS
from onnxlint_cmsis.runtimes.tflm.revisions import ALL_READ, TflmRevision, reviewed_revision
from onnxlint_cmsis.runtimes.tflm.rows import K, KernelLimit

Shape = Sequence[int | None] | None
"""Sizes of a tensor of an ONNX model, None in place of an open one; None where its axes are not known."""

C = f"{K}cmsis_nn/"
RESOLVER = "tensorflow/lite/micro/micro_mutable_op_resolver.h"
VERDICTS = {
    **dict.fromkeys((KernelOutcome.ALLOCATE_FAILS, KernelOutcome.INVOKE_FAILS), Outcome.REFUSED),
    KernelOutcome.WRONG: Outcome.WRONG,
    KernelOutcome.REFERENCE: Outcome.REFERENCE,
}
"""What each outcome is for a layer; the others halt."""
TYPES = {
    "s16": ("INT16", "INT8", "INT16"),
    "s4": ("INT8", "INT4", "INT8"),
    "s8_s16": ("INT8", "INT8", "INT16"),
    "float": ("FLOAT32",) * 3,
}
"""Types of data, weights and result by the type of a layer; int8 for all others."""
WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
FREE = ("CAST",)
"""Operators of which nothing is said."""


class NotYetKnown:
    """What a converter decides: a check that looks at it has no answer."""

    def __getattr__(self, name: str) -> Any:
        raise Unpredictable(f"the converter decides on {name}")

    def _open(self, *_others: object) -> Any:
        raise Unpredictable("the converter decides on it")

    __len__ = __iter__ = __getitem__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _open


OPEN: Any = NotYetKnown()
SETTINGS = {
    **dict.fromkeys(("ARG_MAX", "ARG_MIN", "CUMSUM", "GATHER", "MEAN", "MIRROR_PAD", "PRELU"), (0, 1)),
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SUM"), (0, 1)),
    "SPLIT": (1, 1),
    "STRIDED_SLICE": (0, 3),
}
"""Operators with inputs beside their data (axes, sizes, indices): how many of these come first, and how many in all."""
RESULTS = {**dict.fromkeys(("ARG_MAX", "ARG_MIN"), "INT64"), **dict.fromkeys(("EQUAL", "GREATER", "LESS"), "BOOL")}
"""Operators whose output has another type than their data, and which one ONNX gives it."""
PAIRED = ("DIV", "EQUAL", "GREATER", "LESS", "SUB")
"""Operators of two operands; CONCATENATION has any number, all others one."""
NOT_ASKED = ("CAST", "SELECT_V2")
"""Operators whose operands have several types."""
RESHAPED = ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
"""Operators around which converters reshape, so that no number of axes is asked about."""


def _tensor(sizes: Shape, kind: str, unknown: int, steps: StoredQuantization | None = OPEN) -> TfliteTensor:
    """A tensor of which shape and type are known; `unknown` stands for a size that is left open."""
    axes = OPEN if sizes is None else tuple(unknown if size is None else size for size in sizes)
    return TfliteTensor(OPEN, kind, axes, (), OPEN, steps, is_variable=False, encoding=OPEN)


def _view(op: str, inputs: Sequence[TfliteTensor], output: TfliteTensor, *omitted: int) -> OperatorView:
    """An operator of some tensors, alone in its file."""
    numbers = tuple(-1 if number in omitted else number for number in range(len(inputs)))
    operator = TfliteOperator(op, "", 1, numbers, (len(inputs),), (), OPEN, OPEN, OPEN, OPEN)
    return OperatorView(OPEN, Subgraph("", (*inputs, output), (), (), (operator,)), operator, 0, frozenset())


def refusal_of(op: str, kind: str, shapes: Sequence[Shape], result: Shape, revision: TflmRevision) -> str | None:
    """What a kernel refuses of an operator that is yet to be converted, as a clause with its line; None for nothing.

    `kind` is the element type of its data, `shapes` are those of its data and `result` that of its output; a size that
    is left open counts as 1. Limits on scales, options and values are not asked: the converter writes these.
    """
    if op in NOT_ASKED:
        return None
    first, settings = SETTINGS.get(op, (0, 0))
    count = len(shapes) if op == "CONCATENATION" else 2 if op in PAIRED else 1
    data = [_tensor(None if op in RESHAPED else sizes, kind, 1) for sizes in (*shapes, None)[:count]]
    output = _tensor(None if op in RESHAPED else result, RESULTS.get(op, kind), 1)
    view = _view(op, [*[OPEN] * first, *data, *[OPEN] * (settings - first)], output)
    for limit in LIMITS[op]:
        try:
            text = broken(view, limit, revision)
        except Unpredictable:
            continue
        if text and VERDICTS.get(limit.outcome) is Outcome.REFUSED:
            advice = f"; {limit.advice}" if limit.advice else ""
            return f"{text} ({limit.source.removeprefix('tensorflow/lite/')}){advice}"
    return None


def on_paper(facts: LayerFacts) -> OperatorView:
    """The operator that converters make of a layer; a size that is not known counts as 0."""
    data, filter_type, result_type = TYPES.get(facts.type, ("INT8",) * 3)
    if facts.cause is Cause.DYNAMIC_QUANTIZATION:
        data, filter_type, result_type = "FLOAT32", "INT8", "FLOAT32"
    weights, call = facts.record.weights, facts.call
    scales = (weights.scales if weights else None) or (OPEN,) * (2 if call and call.per_channel else 1)
    points = (weights.signed_zero_points if weights else ()) or (OPEN,) * len(scales)
    depth = (call.filter_dims.n if call and facts.op == "FULLY_CONNECTED" else 0) or 1
    filter_ = _tensor((1, depth), filter_type, 0, StoredQuantization(scales, points))
    inputs = [_tensor(shape, data, 0) for shape in facts.shapes or [None]]
    if facts.op in WEIGHTED:
        inputs = [inputs[0], filter_, OPEN]
    elif facts.op == "TRANSPOSE_CONV":
        inputs = [OPEN, filter_, inputs[0], OPEN]
    elif data != filter_type:
        inputs[1:] = [filter_]
    omitted = (2,) if facts.op in WEIGHTED and call is not None and not call.bias else ()
    return _view(facts.op, inputs, _tensor(facts.graph.shape(facts.node.outputs[0]), result_type, 0), *omitted)


def _holds(row: KernelLimit, facts: LayerFacts) -> bool:
    """Tell whether a row of a kernel holds for a layer; where that is open, its causes decide."""
    try:
        return bool(row.condition(on_paper(facts)))
    except Unpredictable:
        return bool(row.layer and row.layer.causes)


def refusal(facts: LayerFacts) -> str | None:
    """What the reference kernel refuses in each type that converters may give the data, with its line; else None."""
    if facts.op not in LIMITS:
        return None
    result, revision = facts.graph.shape(facts.node.outputs[0]), reviewed_revision(facts.commit)
    texts = [refusal_of(facts.op, kind, facts.shapes, result, revision) for kind in facts.converted_types]
    return texts[-1] if texts and all(texts) else None


def _registered(facts: LayerFacts) -> bool:
    return facts.op in LIMITS or facts.op == "RESIZE"  # of a mode that converters write in several ways


def _of_kernels() -> tuple[ConditionRow, ...]:
    """The rows of all kernels that speak of layers, with the operators that share them."""
    ops: dict[KernelLimit, list[str]] = {}
    for op, rows in {**{op: kernel.rows for op, kernel in KERNELS.items()}, **LIMITS}.items():
        for row in rows:
            ops.setdefault(row, []).append(op)
    return tuple(
        ConditionRow(
            row.key or USUAL_CAUSES[verdict], verdict, tuple(names), partial(_holds, row),
            row.layer.reason, row.source, row.since, row.until, row.layer.level, row.layer.sure, row.layer.causes,
        )
        for row, names in ops.items() if row.layer for verdict in (VERDICTS.get(row.outcome, Outcome.HALTS),)
    )  # fmt: skip


def another_kernel(facts: LayerFacts) -> str | None:
    """What a layer has whose kernel was another in this revision, and was not read; else None."""
    revision = reviewed_revision(facts.commit)
    if revision.since >= ALL_READ:
        return None
    from onnxlint_cmsis.runtimes.tflm.unread import unread

    for row in unread(facts.op):
        try:
            text = broken(on_paper(facts), row, revision)
        except Unpredictable:
            continue
        if text:
            return text
    return None


TFLM_ROWS = (
    *(
        ConditionRow(
            "operator", Outcome.REFUSED, (op,), always, "it has no operator {op} in this revision", RESOLVER,
            until=NEW_OPERATORS[op], level=Level.WARNING, sure=False,
        )
        for op in ("BATCH_MATMUL", "REDUCE_MIN")
    ),
    ConditionRow(
        NOT_REVIEWED, Outcome.UNDECIDED, (), lambda facts: bool(another_kernel(facts)), "{told}", K,
        level=Level.WARNING, told=another_kernel,
    ),
    ConditionRow(
        "check", Outcome.REFUSED, (), lambda facts: bool(refusal(facts)),
        "its kernel of {op}, which converters make of it, refuses that {told}", K, sure=False, told=refusal,
    ),
    *_of_kernels(),
    ConditionRow(
        "recurrent", Outcome.UNDECIDED, RECURRENT, always,
        "converters write it in several ways", f"{C}unidirectional_sequence_lstm.cc",
        level=Level.NOTE,
    ),
    ConditionRow(
        "operator", Outcome.REFUSED, (),
        lambda facts: bool(facts.op) and facts.op not in KERNELS and not _registered(facts),
        "it has no operator {op}, which converters may make of it", RESOLVER, level=Level.WARNING, sure=False,
    ),
    ConditionRow(
        "float", Outcome.REFERENCE, (), lambda facts: _registered(facts) and facts.op not in FREE,
        "it computes in float", C, level=Level.NOTE, causes=(Cause.FLOAT, Cause.FLOAT_RESULT),
    ),
    ConditionRow(
        "no-function", Outcome.REFERENCE, (), lambda facts: _registered(facts) and facts.op not in FREE,
        "{op} has no CMSIS-NN kernel", C, level=Level.NOTE,
    ),
    ConditionRow(
        NOT_REVIEWED, Outcome.UNDECIDED, (),
        lambda facts: facts.call is not None and facts.call.entry in facts.unreleased,
        "its kernels in the CMSIS-NN that this revision brings are those of no release, and were not read",
        "tensorflow/lite/micro/tools/make/ext_libs/cmsis_nn_download.sh", level=Level.WARNING,
    ),
)  # fmt: skip
"""Conditions in the order in which they are asked; the first that holds decides."""
