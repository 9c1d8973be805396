"""Names of TensorFlow Lite's builtin operators, and how each is read.

Those of TensorFlow Lite Micro are all here (lite/micro/micro_mutable_op_resolver.h), and some more that converters
write; a builtin operator that is not locks the axes around it, with its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from onnxlint_cmsis.formats.tflite.elementwise_names import ELEMENTWISE
from onnxlint_cmsis.formats.tflite.name_rows import FIXED_POINT, NOT_FOLLOWED, named_row, real_row
from onnxlint_cmsis.formats.tflite.weighted_names import LAYERS
from onnxlint_cmsis.model.graph import TFLITE
from onnxlint_cmsis.model.roles import Roles, Stated
from onnxlint_cmsis.operators import tflite_ties
from onnxlint_cmsis.operators.answers import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.blocks import block_demand, block_values
from onnxlint_cmsis.operators.control import constant_of_shape, crossing, recurrent
from onnxlint_cmsis.operators.demands import plane_demand
from onnxlint_cmsis.operators.mixing_ties import along_axis
from onnxlint_cmsis.operators.moves import move_regroup
from onnxlint_cmsis.operators.new_lane import AS_READ, NO_NEW_LANES, ZEROS
from onnxlint_cmsis.operators.pooling import pool
from onnxlint_cmsis.operators.record import (
    OPAQUE,
    Operator,
    TieRule,
    replace,
)
from onnxlint_cmsis.operators.size_rules import joined_sizes, strided_sizes
from onnxlint_cmsis.operators.stored_scales import through_scales
from onnxlint_cmsis.operators.summaries import largest, mean, pooled
from onnxlint_cmsis.operators.tflite_moves import move_counted_slice, move_reverse, move_strided_slice

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
    real_row("MEAN", "ReduceMean", error=FIXED_POINT, roles=AXES),
    real_row("SUM", "ReduceSum", error=FIXED_POINT, roles=AXES),
    real_row("REDUCE_MAX", "ReduceMax", error=FIXED_POINT, copies=True, roles=AXES),
    real_row("REDUCE_MIN", "ReduceMin", error=FIXED_POINT, copies=True, roles=AXES),
    named_row("REDUCE_ALL", "ReduceMin", roles=AXES, own_numbers=True, **NOT_FOLLOWED),
    named_row("REDUCE_ANY", "ReduceMax", roles=AXES, own_numbers=True, **NOT_FOLLOWED),
    named_row("REDUCE_PROD", "ReduceProd", roles=AXES, **NOT_FOLLOWED),
    named_row("ARG_MAX", "ArgMax", roles=AXIS),
    named_row("ARG_MIN", "ArgMin", roles=AXIS),
    named_row("SOFTMAX", "Softmax", axes=along_axis, roles=LAST, **NOT_FOLLOWED),
    named_row("LOG_SOFTMAX", "LogSoftmax", axes=along_axis, roles=LAST, **NOT_FOLLOWED),
    named_row("L2_NORMALIZATION", "LpNormalization", roles=LAST, **NOT_FOLLOWED),
    named_row("CUMSUM", "CumSum", roles=AXIS, **NOT_FOLLOWED),
)


IMAGES = Roles(channels_last=True)

POOLS = (
    real_row("AVERAGE_POOL_2D", "AveragePool", copies=True, roles=IMAGES),
    real_row("MAX_POOL_2D", "MaxPool", copies=True, roles=IMAGES),
    named_row("L2_POOL_2D", "LpPool", roles=IMAGES, values=OPAQUE),
    named_row(
        "RESIZE_BILINEAR",
        "Resize",
        axes=pool,
        roles=IMAGES,
        values=through_scales(pooled(mean), error=FIXED_POINT, copies=True),
        demand=plane_demand,
    ),
    named_row(
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


def _own_movement(name: str, axes: TieRule, elements: Elements = Elements.MOVED, **facets: Any) -> Operator:
    """Elements that ONNX moves otherwise, or not at all."""
    operator = Operator(name, axes, elements, Risk.NONE, Layout.ORDERED, domain=TFLITE, new_lane=AS_READ)
    return replace(operator, zero=(0,), **facets)


def _to_batch(name: str) -> Operator:
    """Blocks of the plane in the batch; zeros may come in."""
    values = through_scales(block_values, copies=True)
    computed = Elements.COMPUTED
    return _own_movement(name, tflite_ties.space_to_batch, computed, new_lane=ZEROS, values=values, demand=block_demand)


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
    _own_movement("RESHAPE", tflite_ties.reshape, Elements.RENAMED, movement=move_regroup, roles=Roles(sizes=(1,))),
    named_row("SQUEEZE", "Squeeze", roles=DROPPED),
    named_row("EXPAND_DIMS", "Unsqueeze", roles=INSERTED),
    named_row("TRANSPOSE", "Transpose", roles=ORDER, elements=Elements.MOVED),
    _own_movement("SLICE", tflite_ties.counted_slice, movement=move_counted_slice),
    _own_movement(
        "STRIDED_SLICE",
        tflite_ties.strided_slice,
        movement=move_strided_slice,
        roles=STARTS,
        sizes=strided_sizes,
    ),
    named_row("SPLIT", "Split", roles=PIECES),
    named_row("SPLIT_V", "Split", roles=NAMED_PIECES),
    _own_movement("UNPACK", tflite_ties.unpack),
    named_row("GATHER", "Gather"),
    named_row("DEPTH_TO_SPACE", "DepthToSpace", roles=BLOCKS),
    named_row("SPACE_TO_DEPTH", "SpaceToDepth", roles=BLOCKS),
    _own_movement("REVERSE_V2", tflite_ties.reverse, movement=move_reverse),
    real_row("TILE", "Tile", copies=True),
    real_row("BROADCAST_TO", "Expand", copies=True),
    real_row("CONCATENATION", "Concat", copies=True, roles=JOINED),
    _own_movement("PACK", tflite_ties.pack, Elements.JOINED, roles=Roles(step=1), sizes=joined_sizes),
    real_row("PAD", "Pad", copies=True, roles=PAIRS),
    real_row("PADV2", "Pad", copies=True, roles=PAIRS),
    real_row("MIRROR_PAD", "Pad", copies=True, roles=PAIRS),
    _to_batch("BATCH_TO_SPACE_ND"),
    _to_batch("SPACE_TO_BATCH_ND"),
)


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
    named_row("IF", "If", axes=crossing),
    named_row("WHILE", "Loop", own_numbers=True),
    named_row("CALL_ONCE", "Loop", own_numbers=True),
    named_row("SHAPE", "Shape"),
    _own("FILL", constant_of_shape, Roles(data=(1,), sizes=(0,))),
    _own("SVDF", recurrent, Roles(data=(0, 4), recurrent=(1, 2))),
    named_row("UNIDIRECTIONAL_SEQUENCE_LSTM", "LSTM", roles=GATES),
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
