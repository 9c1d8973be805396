"""Names of TensorFlow Lite's builtin operators, and how each is read.

Those of TensorFlow Lite Micro are all here (lite/micro/micro_mutable_op_resolver.h), and some more that converters
write; a builtin operator that is not locks the axes around it, with its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from onnxlint_cmsis.formats.onnx.names import OPERATORS
from onnxlint_cmsis.model.graph import TFLITE, Node
from onnxlint_cmsis.model.roles import Form, Roles, Stated, Sums
from onnxlint_cmsis.operators.answers import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.blocks import block_demand, block_values
from onnxlint_cmsis.operators.control import constant_of_shape, crossing, recurrent
from onnxlint_cmsis.operators.curve import at_its_place
from onnxlint_cmsis.operators.demands import plane_demand
from onnxlint_cmsis.operators.joined_values import cast_values, limited_values, same_values
from onnxlint_cmsis.operators.mixing_ties import along_axis
from onnxlint_cmsis.operators.moves import move_regroup
from onnxlint_cmsis.operators.new_lane import AS_READ, NO_NEW_LANES, ZEROS
from onnxlint_cmsis.operators.pairwise import pairwise
from onnxlint_cmsis.operators.pooling import pool
from onnxlint_cmsis.operators.product import fully_connected
from onnxlint_cmsis.operators.record import (
    COMPUTES,
    NO_SHAPE_ARITHMETIC,
    OPAQUE,
    READS_ALL,
    Operator,
    TieRule,
    alias,
    replace,
)
from onnxlint_cmsis.operators.size_rules import joined_sizes, same_sizes, strided_sizes
from onnxlint_cmsis.operators.stored_scales import through_scales
from onnxlint_cmsis.operators.summaries import largest, mean, pooled
from onnxlint_cmsis.operators.tflite_moves import move_counted_slice, move_reverse, move_strided_slice
from onnxlint_cmsis.operators.tflite_ties import (
    counted_slice,
    pack,
    reshape,
    reverse,
    space_to_batch,
    strided_slice,
    unpack,
)
from onnxlint_cmsis.operators.views import ValueRule


def _row(name: str, of: str, **facets: Any) -> Operator:
    """An operator that is read as one of ONNX."""
    return alias(name, TFLITE, OPERATORS["", of], layout=Layout.ORDERED, fold=NO_SHAPE_ARITHMETIC, **facets)


NOT_FOLLOWED: Mapping[str, Any] = {"values": OPAQUE, "demand": READS_ALL, "risk": Risk.NONE, "bounds": None}
"""The numbers that it computes."""
FIXED_POINT = 1.0
"""How far a kernel in fixed-point numbers may be from the real function, in steps of the result.

Kernels of int8 and int16 look values up or compute in fixed-point numbers
(tensorflow/lite/kernels/internal/reference/integer_ops).
"""
TWICE = 0.5
"""How far two roundings of one product may be, whatever its factor: below 0 that of LEAKY_RELU has the slope in it."""


def _real(
    name: str, of: str, *, error: float = 0.0, rescales: bool = False, copies: bool = False, **facets: Any
) -> Operator:
    """A function of real numbers; how its kernel rounds is what `through_scales` is given."""
    rule = OPERATORS["", of].values
    if callable(rule):
        facets = {"values": through_scales(rule, error=error, rescales=rescales, copies=copies), **facets}
    return _row(name, of, **facets)


# Layers with weights.


NOWHERE = Stated()
"""The shapes of the tensors tell."""
IMAGE = Roles(
    weights=(1,), form=Form.CHANNELS_LAST, sums=Sums.STORED, bias=2, channels_last=True, numbers={"group": NOWHERE}
)
"""Data, weights and bias (tensorflow/lite/kernels/conv.cc, depthwise_conv.cc)."""
TRANSPOSED = IMAGE._replace(
    data=(2,), form=Form.TRANSPOSED_LAST, bias=3, numbers={"group": NOWHERE, "result": Stated(input=0)}
)
"""Shape of the result, weights, data and bias (tensorflow/lite/kernels/transpose_conv.cc)."""
ROWS = Roles(weights=(1,), form=Form.ROWS, sums=Sums.STORED, bias=2)
"""Data, weights and bias (tensorflow/lite/kernels/fully_connected.cc)."""
FACTORS = Roles(data=(0, 1), numbers={"transA": Stated("adj_x"), "transB": Stated("adj_y")})
"""Two factors, whose numbers are not followed (tensorflow/lite/kernels/batch_matmul.cc)."""

LAYERS = (
    _row("CONV_2D", "Conv", roles=IMAGE),
    _row("DEPTHWISE_CONV_2D", "Conv", roles=IMAGE._replace(form=Form.DEPTHWISE_LAST)),
    _row("TRANSPOSE_CONV", "ConvTranspose", roles=TRANSPOSED),
    _row("FULLY_CONNECTED", "MatMul", axes=fully_connected, roles=ROWS),
    _row("BATCH_MATMUL", "MatMul", roles=FACTORS, **NOT_FOLLOWED),
)


# Functions of one element, and of elements at the same place, which are broadcast.


def _curve(name: str, of: str, **rounding: Any) -> Operator:
    """A function of one variable; what it looks up is no choice of its elements, and in steps it has other bounds."""
    return _real(name, of, sizes=COMPUTES, elements=Elements.COMPUTED, bounds=None, **rounding)


def _own_curve(name: str, values: ValueRule | NotFollowed = OPAQUE, **facets: Any) -> Operator:
    """A function of one variable that ONNX does not have."""
    return replace(at_its_place(name, zero=True), domain=TFLITE, values=values, **facets)


def _pair(name: str, of: str, **rounding: Any) -> Operator:
    """A function of two variables, or of any number taken two by two."""
    return _real(name, of, sizes=COMPUTES, **rounding)


def _own_pair(name: str, data: tuple[int, ...] = (0, 1)) -> Operator:
    """A function that ONNX does not have; its numbers are not followed."""
    return replace(pairwise(name, Roles(data=data), risk=Risk.LARGE_OPERAND), domain=TFLITE, values=OPAQUE)


ELEMENTWISE = (
    _curve("ABS", "Abs", rescales=True),
    _curve("CEIL", "Ceil"),
    _curve("COS", "Cos"),
    _curve("ELU", "Elu", error=FIXED_POINT),
    _curve("EXP", "Exp", error=FIXED_POINT),
    _curve("FLOOR", "Floor"),
    _curve("GELU", "Gelu", error=FIXED_POINT),
    _curve("HARD_SWISH", "HardSwish", error=FIXED_POINT),
    _curve("LEAKY_RELU", "LeakyRelu", error=TWICE),
    _curve("LOG", "Log", error=FIXED_POINT),
    _curve("LOGICAL_NOT", "Not"),
    _curve("LOGISTIC", "Sigmoid", error=FIXED_POINT),
    _curve("NEG", "Neg"),
    _curve("RELU", "Relu", rescales=True),
    _curve("ROUND", "Round"),
    _curve("SIGN", "Sign"),
    _curve("SIN", "Sin"),
    _curve("SQRT", "Sqrt", error=FIXED_POINT),
    _curve("TANH", "Tanh", error=FIXED_POINT),
    _curve("RSQRT", "Reciprocal", values=OPAQUE, own_numbers=True),
    _own_curve("RELU6", through_scales(limited_values(0.0, 6.0), rescales=True)),
    _own_curve("RELU_N1_TO_1", through_scales(limited_values(-1.0, 1.0), rescales=True)),
    _own_curve("RELU_0_TO_1", through_scales(limited_values(0.0, 1.0), rescales=True)),
    _own_curve("SQUARE"),
    _own_curve("ZEROS_LIKE"),
    _own_curve("QUANTIZE", through_scales(same_values, rescales=True)),
    _own_curve("DEQUANTIZE", through_scales(same_values)),
    _own_curve("FAKE_QUANT"),
    _own_curve("CAST", cast_values, sizes=same_sizes),
    _pair("ADD", "Add"),
    _pair("SUB", "Sub"),
    _pair("MUL", "Mul", rescales=True),
    _pair("DIV", "Div", error=FIXED_POINT),
    _pair("MAXIMUM", "Max", copies=True),
    _pair("MINIMUM", "Min", copies=True),
    _pair("ADD_N", "Sum", values=OPAQUE),
    _pair("PRELU", "PRelu", values=OPAQUE),
    _pair("POW", "Pow", values=OPAQUE),
    _pair("EQUAL", "Equal"),
    _pair("GREATER", "Greater"),
    _pair("GREATER_EQUAL", "GreaterOrEqual"),
    _pair("LESS", "Less"),
    _pair("LESS_EQUAL", "LessOrEqual"),
    _pair("LOGICAL_AND", "And"),
    _pair("LOGICAL_OR", "Or"),
    _pair("FLOOR_DIV", "Div", values=OPAQUE, own_numbers=True),
    _pair("FLOOR_MOD", "Mod", values=OPAQUE),
    _own_pair("NOT_EQUAL"),
    _own_pair("SQUARED_DIFFERENCE"),
    _own_pair("SELECT_V2", (0, 1, 2)),
)


# What takes the elements along some axes together, or mixes one.


AXES = Roles(
    numbers={
        "axes": Stated(input=1),
        "keepdims": Stated("keep_dims", default=0),
        "noop_with_empty_axes": Stated(default=1),
    }
)
LAST = Roles(numbers={"axis": Stated(default=-1)})
AXIS = Roles(numbers={"axis": Stated(input=1), "keepdims": Stated(default=0)})

REDUCTIONS = (
    _real("MEAN", "ReduceMean", error=FIXED_POINT, roles=AXES),
    _real("SUM", "ReduceSum", error=FIXED_POINT, roles=AXES),
    _real("REDUCE_MAX", "ReduceMax", error=FIXED_POINT, copies=True, roles=AXES),
    _real("REDUCE_MIN", "ReduceMin", error=FIXED_POINT, copies=True, roles=AXES),
    _row("REDUCE_ALL", "ReduceMin", roles=AXES, own_numbers=True, **NOT_FOLLOWED),
    _row("REDUCE_ANY", "ReduceMax", roles=AXES, own_numbers=True, **NOT_FOLLOWED),
    _row("REDUCE_PROD", "ReduceProd", roles=AXES, **NOT_FOLLOWED),
    _row("ARG_MAX", "ArgMax", roles=AXIS),
    _row("ARG_MIN", "ArgMin", roles=AXIS),
    _row("SOFTMAX", "Softmax", axes=along_axis, roles=LAST, **NOT_FOLLOWED),
    _row("LOG_SOFTMAX", "LogSoftmax", axes=along_axis, roles=LAST, **NOT_FOLLOWED),
    _row("L2_NORMALIZATION", "LpNormalization", roles=LAST, **NOT_FOLLOWED),
    _row("CUMSUM", "CumSum", roles=AXIS, **NOT_FOLLOWED),
)


# What computes the plane of an image anew.


IMAGES = Roles(channels_last=True)

POOLS = (
    _real("AVERAGE_POOL_2D", "AveragePool", copies=True, roles=IMAGES),
    _real("MAX_POOL_2D", "MaxPool", copies=True, roles=IMAGES),
    _row("L2_POOL_2D", "LpPool", roles=IMAGES, values=OPAQUE),
    _row(
        "RESIZE_BILINEAR",
        "Resize",
        axes=pool,
        roles=IMAGES,
        values=through_scales(pooled(mean), error=FIXED_POINT, copies=True),
        demand=plane_demand,
    ),
    _row(
        "RESIZE_NEAREST_NEIGHBOR",
        "Resize",
        axes=pool,
        elements=Elements.MOVED,
        new_lane=AS_READ,
        roles=IMAGES,
        values=through_scales(pooled(largest), copies=True),
        demand=plane_demand,
    ),
)


# What gives elements other axes or other places, joins tensors or grows them.


def _own_movement(name: str, axes: TieRule, elements: Elements = Elements.MOVED, **facets: Any) -> Operator:
    """Elements that ONNX moves otherwise, or not at all."""
    operator = Operator(name, axes, elements, Risk.NONE, Layout.ORDERED, domain=TFLITE, new_lane=AS_READ)
    return replace(operator, zero=(0,), **facets)


def _to_batch(name: str) -> Operator:
    """Blocks of the plane in the batch; zeros may come in."""
    values = through_scales(block_values, copies=True)
    computed = Elements.COMPUTED
    return _own_movement(name, space_to_batch, computed, new_lane=ZEROS, values=values, demand=block_demand)


STARTS = Roles(numbers={"starts": Stated(input=1), "ends": Stated(input=2)})
PIECES = Roles(data=(1,), numbers={"axis": Stated(input=0), "split": Stated()})
NAMED_PIECES = Roles(numbers={"axis": Stated(input=2), "split": Stated(input=1)})
ORDER = Roles(numbers={"perm": Stated(input=1)})
JOINED = Roles(step=1, numbers={"axis": Stated("axis", default=0)})
PAIRS = Roles(numbers={"pads": Stated(), "pairs": Stated(input=1), "axes": Stated()})
"""Counts before and after each axis, [rank, 2]."""
BLOCKS = IMAGES._replace(numbers={"blocksize": Stated("block_size")})
INSERTED = Roles(numbers={"axes": Stated(input=1)})
DROPPED = Roles(numbers={"axes": Stated("squeeze_dims")})

SHAPING = (
    _own_movement("RESHAPE", reshape, Elements.RENAMED, movement=move_regroup, roles=Roles(sizes=(1,))),
    _row("SQUEEZE", "Squeeze", roles=DROPPED),
    _row("EXPAND_DIMS", "Unsqueeze", roles=INSERTED),
    _row("TRANSPOSE", "Transpose", roles=ORDER, elements=Elements.MOVED),
    _own_movement("SLICE", counted_slice, movement=move_counted_slice),
    _own_movement(
        "STRIDED_SLICE",
        strided_slice,
        movement=move_strided_slice,
        roles=STARTS,
        sizes=strided_sizes,
    ),
    _row("SPLIT", "Split", roles=PIECES),
    _row("SPLIT_V", "Split", roles=NAMED_PIECES),
    _own_movement("UNPACK", unpack),
    _row("GATHER", "Gather"),
    _row("DEPTH_TO_SPACE", "DepthToSpace", roles=BLOCKS),
    _row("SPACE_TO_DEPTH", "SpaceToDepth", roles=BLOCKS),
    _own_movement("REVERSE_V2", reverse, movement=move_reverse),
    _real("TILE", "Tile", copies=True),
    _real("BROADCAST_TO", "Expand", copies=True),
    _real("CONCATENATION", "Concat", copies=True, roles=JOINED),
    _own_movement("PACK", pack, Elements.JOINED, roles=Roles(step=1), sizes=joined_sizes),
    _real("PAD", "Pad", copies=True, roles=PAIRS),
    _real("PADV2", "Pad", copies=True, roles=PAIRS),
    _real("MIRROR_PAD", "Pad", copies=True, roles=PAIRS),
    _to_batch("BATCH_TO_SPACE_ND"),
    _to_batch("SPACE_TO_BATCH_ND"),
)


# What runs subgraphs, has a state or makes sizes, and what is not followed.


def _own(name: str, axes: TieRule | NotFollowed, roles: Roles | None = None) -> Operator:
    """An operator that ONNX does not have."""
    new_lane = NO_NEW_LANES if isinstance(axes, NotFollowed) else ZEROS
    operator = Operator(name, axes, Elements.COMPUTED, Risk.NONE, Layout.ORDERED, domain=TFLITE, new_lane=new_lane)
    return operator if roles is None else replace(operator, roles=roles)


GATES = Roles(recurrent=(*range(1, 9), 16))
"""Weights of the gates, and those of the projection (tensorflow/lite/kernels/unidirectional_sequence_lstm.cc)."""
BY_PLACE = NotFollowed("it takes elements from places that are numbers of a tensor")
RESOURCE = NotFollowed("its values live in a variable outside the graph")
STATE = NotFollowed("its gates and states share axes")

CONTROL = (
    _row("IF", "If", axes=crossing),
    _row("WHILE", "Loop", own_numbers=True),
    _row("CALL_ONCE", "Loop", own_numbers=True),
    _row("SHAPE", "Shape"),
    _own("FILL", constant_of_shape, Roles(data=(1,), sizes=(0,))),
    _own("SVDF", recurrent, Roles(data=(0, 4), recurrent=(1, 2))),
    _row("UNIDIRECTIONAL_SEQUENCE_LSTM", "LSTM", roles=GATES),
    _own("BIDIRECTIONAL_SEQUENCE_LSTM", STATE),
    _own("UNIDIRECTIONAL_SEQUENCE_RNN", STATE),
    _own("VAR_HANDLE", RESOURCE, Roles(data=())),
    _own("READ_VARIABLE", RESOURCE),
    _own("ASSIGN_VARIABLE", RESOURCE),
    _own("EMBEDDING_LOOKUP", BY_PLACE),
    _own("GATHER_ND", BY_PLACE),
    _own("DYNAMIC_UPDATE_SLICE", BY_PLACE),
    _own("BROADCAST_ARGS", NotFollowed("it computes with sizes")),
    _own("TOPK_V2", NotFollowed("it picks elements by their size")),
)


# All names.


TFLITE_OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        operator.name: operator
        for family in (
            LAYERS,
            POOLS,
            ELEMENTWISE,
            REDUCTIONS,
            SHAPING,
            CONTROL,
        )
        for operator in family
    }
)
"""Records by operator."""


# What cannot be proven.


CUSTOM = ("AudioSpectrogram", "Mfcc", "NumericVerify", "TFLite_Detection_PostProcess")
"""Custom operators that LiteRT brings (core/kernels/register.cc)."""


def litert_refuses(node: Node) -> bool:
    """Whether LiteRT 2.3.0 refuses an operator, so that no fix of the file can be proven.

    CONV_2D needs a bias; DEPTHWISE_CONV_2D takes two inputs, but no third one that is left out. TensorFlow Lite Micro
    computes both.
    """
    if node.domain != TFLITE:
        return node.op_type not in CUSTOM
    convolves = node.op_type in ("CONV_2D", "DEPTHWISE_CONV_2D")
    return convolves and (not all(node.inputs[:3]) or len(node.inputs) < 2 + (node.op_type == "CONV_2D"))
