"""TensorFlow Lite's operators with state, subgraphs or sizes, and those whose axes are not followed."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.graph.model import TFLITE
from onnxlint_cmsis.operators.facets import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.new_lane import NO_NEW_LANES, ZEROS
from onnxlint_cmsis.operators.record import Operator, TieRule
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties import control_ties as ties
from onnxlint_cmsis.operators.ties.tflite_product_ties import batch_matmul

NO_DATA = Roles(data=())
BY_PLACE = NotFollowed("it takes elements from places that are numbers of a tensor")
RESOURCE = NotFollowed("its values live in a variable outside the graph")
STATE = NotFollowed("its gates and states share axes")


def _operator(
    name: str, axes: TieRule | NotFollowed, elements: Elements = Elements.COMPUTED, roles: Roles | None = None
) -> Operator:
    new_lane = NO_NEW_LANES if isinstance(axes, NotFollowed) else ZEROS
    made = Operator(name, axes, elements, Risk.NONE, Layout.ORDERED, domain=TFLITE, new_lane=new_lane)
    return made if roles is None else replace(made, roles=roles)


TFLITE_CONTROL = (
    _operator("IF", ties.crossing, Elements.BODIES, NO_DATA),
    _operator("WHILE", ties.crossing, Elements.BODIES, NO_DATA),
    _operator("CALL_ONCE", ties.crossing, Elements.BODIES, NO_DATA),
    _operator("SHAPE", ties.shape, Elements.SIZES, NO_DATA),
    _operator("FILL", ties.constant_of_shape, roles=Roles(data=(1,), sizes=(0,))),
    _operator("BATCH_MATMUL", batch_matmul, roles=Roles(data=(0, 1))),
    _operator("SVDF", ties.recurrent, roles=Roles(data=(0, 4))),
    _operator("UNIDIRECTIONAL_SEQUENCE_LSTM", ties.recurrent),
    _operator("BIDIRECTIONAL_SEQUENCE_LSTM", STATE),
    _operator("UNIDIRECTIONAL_SEQUENCE_RNN", STATE),
    _operator("VAR_HANDLE", RESOURCE, roles=NO_DATA),
    _operator("READ_VARIABLE", RESOURCE),
    _operator("ASSIGN_VARIABLE", RESOURCE),
    _operator("EMBEDDING_LOOKUP", BY_PLACE),
    _operator("GATHER_ND", BY_PLACE),
    _operator("DYNAMIC_UPDATE_SLICE", BY_PLACE),
    _operator("BROADCAST_ARGS", NotFollowed("it computes with sizes")),
    _operator("TOPK_V2", NotFollowed("it picks elements by their size")),
)
