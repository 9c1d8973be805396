"""TensorFlow Lite Micro: what its kernels do with layers of an ONNX model once it is converted.

Read at 90b983c2, most of it also run with firmware. K is tensorflow/lite/micro/kernels/.
"""

from __future__ import annotations

from onnxlint_cmsis.lower.verdict import Cause
from onnxlint_cmsis.runtimes.condition_rows import ConditionRow, always
from onnxlint_cmsis.runtimes.layer_facts import LayerFacts
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict
from onnxlint_cmsis.runtimes.tflite_names import RECURRENT
from onnxlint_cmsis.types import Level

K = "tensorflow/lite/micro/kernels/"
C = f"{K}cmsis_nn/"
REFUSED, WRONG, HALTS = RuntimeVerdict.REFUSED, RuntimeVerdict.WRONG, RuntimeVerdict.HALTS
REFERENCE, UNDECIDED = RuntimeVerdict.REFERENCE, RuntimeVerdict.UNDECIDED
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
DENSE = ("FULLY_CONNECTED",)
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
PAIRS = ("ADD", "MUL")
EXTREMES = ("MAXIMUM", "MINIMUM")
ZERO_POINT_S16 = (*CONVOLUTIONS, *DENSE, *PAIRS, "BATCH_MATMUL", "SOFTMAX")
MOVES = ("PAD", "TRANSPOSE")
KERNELS = (*ZERO_POINT_S16, *POOLS, *EXTREMES, *MOVES, "CONCATENATION", "TRANSPOSE_CONV")
"""Operators with a kernel of CMSIS-NN."""
PER_CHANNEL_DENSE = "2024-09-27"
"""Day from which int8 dense layers may have a scale for each output (pull request 2673)."""
PRODUCTS_SINCE, EXTREMES_SINCE, MOVES_SINCE = "2024-09-09", "2025-02-05", "2025-03-20"
"""Days from which products of activations, extremes, pads and transpositions have kernels of CMSIS-NN."""
POOL_CHECKS, CONCAT_CHECKS = "2025-04-04", "2024-12-16"
"""Days from which pools and concatenations check scales."""
CURVES = ("EXP", "LOG")
"""Curves that TensorFlow Lite's converter leaves in int8, as its files show, and writes in one way."""
FREE = ("CAST",)
"""Operators of which nothing is said."""


def _deep_dense(facts: LayerFacts) -> bool:
    """A dense layer on the 1x1 route whose scratch request comes early, or may."""
    call = facts.call
    per_channel = bool(call and call.per_channel)
    return facts.type == "s8" and facts.output_rank in (3, 4) and facts.depth % 4 == 0 < facts.depth and not per_channel


def _per_channel_dense(facts: LayerFacts) -> bool:
    return facts.type in ("s16", "s4") and facts.several_weight_scales


def _takes_no_int8(facts: LayerFacts) -> bool:
    """Whether the reference kernel of a curve refuses int8."""
    first = facts.record.inputs[0] if facts.record.inputs else None
    if first is None or first.bits != 8:
        return False
    from onnxlint_cmsis.runtimes.tflm.reference_kernels import refuses_type

    return refuses_type(facts.op, "INT8")


def _registered(facts: LayerFacts) -> bool:
    from onnxlint_cmsis.runtimes.tflm.reference_kernels import LIMITS

    return facts.op in LIMITS or facts.op == "RESIZE"


def _missing(facts: LayerFacts) -> bool:
    return bool(facts.op) and facts.op not in KERNELS and not _registered(facts)


ROWS = (
    ConditionRow(
        "runtime-hybrid", REFUSED, (*CONVOLUTIONS, *DENSE, "BATCH_MATMUL"), always,
        "its activations get their scale at run time, of which converters make hybrid layers",
        f"{C}conv.cc:75-81, fully_connected.cc", sure=False,
        causes=(Cause.DYNAMIC_QUANTIZATION,),
    ),
    ConditionRow(
        "runtime-float", REFERENCE, KERNELS, always,
        "it computes in float", C, level=Level.NOTE,
        causes=(Cause.FLOAT, Cause.FLOAT_RESULT),
    ),
    ConditionRow(
        "runtime-wrong", WRONG, ("TRANSPOSE_CONV",), always,
        "the kernel neither checks nor uses the zero-point of the weights, as was read and not run",
        f"{C}transpose_conv.cc:288-320", sure=False, causes=(Cause.WEIGHT_ZERO_POINT,),
    ),
    ConditionRow(
        "runtime-wrong", WRONG, CONVOLUTIONS, always,
        "the kernel neither checks nor uses the zero-point of the weights", f"{C}conv.cc:143-144",
        causes=(Cause.WEIGHT_ZERO_POINT,),
    ),
    ConditionRow(
        "runtime-stops", HALTS, DENSE, lambda facts: facts.weight_zero_point,
        "a check asks for weights with zero-point 0, as symmetric quantization gives them; a release build (NDEBUG) "
        "goes on, and ignores the zero-point where the output has more than two dimensions",
        f"{K}fully_connected_common.cc:148",
    ),
    ConditionRow(
        "runtime-stops", REFUSED, ZERO_POINT_S16, always,
        "int16 activations have a zero-point other than 0",
        f"{C}conv.cc:158-159, fully_connected.cc:124-125, add.cc:314",
        causes=(Cause.ZERO_POINT_S16,),
    ),
    ConditionRow(
        "runtime-stops", REFUSED, ("CONCATENATION",), always,
        "int16 activations have a zero-point other than 0", f"{K}concatenation.cc:186", since=CONCAT_CHECKS,
        causes=(Cause.ZERO_POINT_S16,),
    ),
    ConditionRow(
        "runtime-per-channel-dense", WRONG, DENSE, lambda facts: facts.several_weight_scales,
        "its weights have a scale for each output, and the kernel of this revision takes one",
        f"{K}fully_connected_common.cc", until="2024-05-29", sure=False,
    ),
    ConditionRow(
        "runtime-per-channel-dense", REFUSED, DENSE, lambda facts: facts.several_weight_scales,
        "its weights have a scale for each output, which Prepare of this revision checks for",
        f"{K}fully_connected_common.cc:58-74", since="2024-05-29", until=PER_CHANNEL_DENSE, sure=False,
    ),
    ConditionRow(
        "runtime-per-channel-dense", REFUSED, DENSE, _per_channel_dense,
        "its weights have a scale for each output, which int8 activations with int8 weights alone may have",
        f"{C}fully_connected.cc:116-119", causes=(Cause.WEIGHT_SCALES,),
    ),
    ConditionRow(
        "runtime-stops", REFUSED, POOLS, always,
        "input and output have different scales or zero-points", f"{K}pooling_common.cc:70-76", since=POOL_CHECKS,
        causes=(Cause.UNEQUAL_SCALES,),
    ),
    ConditionRow(
        "runtime-wrong", WRONG, POOLS, always,
        "the kernel pools stored values, and scales or zero-points differ; no check of this revision sees it",
        f"{C}pooling.cc", until=POOL_CHECKS, sure=False, causes=(Cause.UNEQUAL_SCALES,),
    ),
    ConditionRow(
        "runtime-stops", REFUSED, ("CONCATENATION",),
        lambda facts: facts.type == "s8",
        "an input has another scale or zero-point than the output", f"{K}concatenation.cc:180-186",
        since=CONCAT_CHECKS, causes=(Cause.UNEQUAL_SCALES,),
    ),
    ConditionRow(
        "runtime-wrong", WRONG, ("CONCATENATION",), always,
        "the kernel copies stored values, and scales or zero-points differ", f"{K}concatenation.cc", sure=False,
        causes=(Cause.UNEQUAL_SCALES,),
    ),
    ConditionRow(
        "runtime-stops", REFUSED, ("SOFTMAX",), always,
        "its output needs scale 1/256 and zero-point -128 (int16: 1/32768 and 0, behind int8 1/65536 and -32768)",
        f"{K}softmax_common.cc:91-104",
        causes=(Cause.SOFTMAX_SCALE,),
    ),
    ConditionRow(
        "runtime-wrong", WRONG, EXTREMES, always,
        "the kernel compares stored values, and scales or zero-points differ", f"{C}maximum_minimum.cc",
        causes=(Cause.UNEQUAL_SCALES,),
    ),
    ConditionRow(
        "runtime-rank", REFUSED, ("TRANSPOSE", "PAD"), lambda facts: facts.rank > 5,
        "five dimensions are the most that Prepare takes", f"{K}transpose_common.cc:33, pad_common.cc:56",
    ),
    ConditionRow(
        "runtime-rank", WRONG, ("TRANSPOSE",), lambda facts: facts.rank == 5 and facts.type == "s8",
        "the kernel takes four dimensions at most, the error is dropped and the output is never written",
        f"{C}transpose.cc:30, 82-84", since=MOVES_SINCE,
    ),
    ConditionRow(
        "runtime-rank", WRONG, ("PAD",), lambda facts: facts.rank == 5 and facts.first > 1 and facts.type == "s8",
        "the kernel pads the last four dimensions alone, and writes the first of several blocks", f"{C}pad.cc:54-66",
        since=MOVES_SINCE,
    ),
    ConditionRow(
        "runtime-rank", WRONG, ("PAD",), lambda facts: 0 < facts.rank < 4 and facts.type == "s8",
        "the kernel of this revision reads four sizes whatever the rank", f"{C}pad.cc", since=MOVES_SINCE,
        until="2026-05-27", sure=False,
    ),
    ConditionRow(
        "runtime-rank", WRONG, EXTREMES, lambda facts: facts.rank == 1 and facts.type == "s8",
        "the kernel of this revision takes a tensor of one dimension for one value", f"{C}maximum_minimum.cc",
        since=EXTREMES_SINCE, until="2026-05-27", sure=False,
    ),
    ConditionRow(
        "runtime-stops", REFUSED, EXTREMES, lambda facts: facts.type == "s16",
        "{op} of this revision takes no int16", f"{K}maximum_minimum.cc", until="2024-09-09", sure=False,
    ),
    ConditionRow(
        "runtime-stops", REFUSED, ("TRANSPOSE",), lambda facts: facts.type == "s16",
        "{op} of this revision takes no int16", f"{K}transpose.cc", until="2025-03-17", sure=False,
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, EXTREMES, always, "{op} has no CMSIS-NN kernel in this revision", C,
        until=EXTREMES_SINCE, level=Level.NOTE,
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, MOVES, always, "{op} has no CMSIS-NN kernel in this revision", C,
        until=MOVES_SINCE, level=Level.NOTE,
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, ("BATCH_MATMUL",), always, "{op} has no CMSIS-NN kernel in this revision", C,
        until=PRODUCTS_SINCE, level=Level.NOTE,
    ),
    ConditionRow(
        "runtime-wrong", WRONG, ("BATCH_MATMUL",), always,
        "the kernel of this revision exchanges rows and columns of the first operand's shape",
        f"{C}batch_matmul.cc:124",
        since=PRODUCTS_SINCE, until="2024-11-06", sure=False,
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, ("TRANSPOSE", "PAD", "TRANSPOSE_CONV", *EXTREMES),
        lambda facts: facts.type == "s16",
        "{op} has a CMSIS-NN kernel for int8 alone", f"{C}transpose.cc, pad.cc, transpose_conv.cc:256-262",
    ),
    ConditionRow(
        "runtime-batch", WRONG, POOLS, lambda facts: facts.batch > 1,
        "the kernel pools the first image of a batch alone", f"{C}pooling.cc", until="2026-06-01",
    ),
    ConditionRow(
        "runtime-batch", HALTS, ("DEPTHWISE_CONV_2D",), lambda facts: facts.batch > 1,
        "a check asks for one image at a time; a release build (NDEBUG) goes on", f"{C}depthwise_conv.cc:150",
        until="2026-05-27",
    ),
    ConditionRow(
        "runtime-broadcast", REFERENCE, PAIRS, lambda facts: facts.broadcasts,
        "the shapes of its operands differ", f"{C}add.cc:132-143, mul.cc:171-182",
    ),
    ConditionRow(
        "runtime-stops", HALTS, DENSE, lambda facts: facts.output_rank > 4,
        "a check asks for an output of at most four dimensions; a release build (NDEBUG) goes on",
        f"{C}fully_connected.cc:95",
    ),
    ConditionRow(
        "runtime-stops", HALTS, DENSE, _deep_dense,
        "with more than two dimensions and inputs a multiple of 4 it is computed as a 1x1 convolution, of which a "
        "check asks that four scratch requests came before; a release build (NDEBUG) computes it rightly",
        f"{C}fully_connected.cc:128-147, 309", since=PER_CHANNEL_DENSE, level=Level.WARNING, sure=False,
    ),
    ConditionRow(
        "runtime-stops", HALTS, ("DEPTHWISE_CONV_2D",), lambda facts: facts.call is not None and not facts.call.bias,
        "it has no bias, which converters may write as bias index -1; Prepare halts there, or fails in a release "
        "build; a bias of zeros avoids it", f"{K}depthwise_conv_common.cc:131", level=Level.NOTE, sure=False,
    ),
    ConditionRow(
        "runtime-reference", UNDECIDED, RECURRENT, always,
        "what a converter makes of it decides; lint the converted file", f"{C}unidirectional_sequence_lstm.cc",
        level=Level.NOTE,
    ),
    ConditionRow(
        "runtime-mean", REFERENCE, ("MEAN",), always,
        "converters write it as MEAN, which has no CMSIS-NN kernel; export AvgPool2d with the plane as window, and "
        "give its input and output one scale",
        f"{K}reduce.cc", sure=False,
    ),
    ConditionRow(
        "runtime-operator", REFUSED, ("REDUCE_MIN",), always, "it has no operator {op} in this revision",
        "tensorflow/lite/micro/micro_mutable_op_resolver.h", until="2025-08-05", level=Level.WARNING, sure=False,
    ),
    ConditionRow(
        "runtime-operator", REFUSED, (), _missing,
        "it has no operator {op}, which converters may make of it",
        "tensorflow/lite/micro/micro_mutable_op_resolver.h", level=Level.WARNING, sure=False,
    ),
    ConditionRow(
        "runtime-stops", REFUSED, CURVES, _takes_no_int8,
        "its kernel of {op} takes no int8, in which converters leave it", f"{K}exp.cc:41, elementwise.cc:201",
        sure=False,
    ),
    ConditionRow(
        "runtime-float", REFERENCE, (), lambda facts: _registered(facts) and facts.op not in FREE,
        "it computes in float", C, level=Level.NOTE, causes=(Cause.FLOAT, Cause.FLOAT_RESULT),
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, (), lambda facts: _registered(facts) and facts.op not in (*KERNELS, *FREE),
        "{op} has no CMSIS-NN kernel", C, level=Level.NOTE,
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, ("CONCATENATION",), always, "{op} has no CMSIS-NN kernel", C, level=Level.NOTE,
    ),
)  # fmt: skip
"""Conditions in the order in which they are asked; the first that holds decides."""
