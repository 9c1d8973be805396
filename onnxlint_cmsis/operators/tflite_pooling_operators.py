"""TensorFlow Lite's operators on the plane of an image: pools and resizing."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.graph.model import TFLITE
from onnxlint_cmsis.operators.facets import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.new_lane import AS_READ, ZEROS
from onnxlint_cmsis.operators.record import OPAQUE, Operator
from onnxlint_cmsis.operators.ties import tflite_convolution_ties as ties
from onnxlint_cmsis.operators.values.planes import largest, mean
from onnxlint_cmsis.operators.values.stored_scales import through_scales
from onnxlint_cmsis.operators.values.tflite_planes import image_demand, of_plane
from onnxlint_cmsis.operators.values.value_view import ValueRule

STEP = 1.0
"""How far a kernel in fixed-point numbers may be from the function, in steps of the result."""


def _plane(name: str, values: ValueRule | NotFollowed, elements: Elements = Elements.COMPUTED) -> Operator:
    made = ties.resize_2d if name.startswith("RESIZE") else ties.pool_2d
    new_lane = AS_READ if elements is Elements.MOVED else ZEROS
    record = Operator(name, made, elements, Risk.NONE, Layout.ORDERED, domain=TFLITE, new_lane=new_lane)
    return replace(record, values=values, demand=image_demand)


TFLITE_POOLING = (
    _plane("AVERAGE_POOL_2D", through_scales(of_plane(mean), copies=True)),
    _plane("MAX_POOL_2D", through_scales(of_plane(largest), copies=True), Elements.SELECTED),
    _plane("L2_POOL_2D", OPAQUE),
    _plane("RESIZE_BILINEAR", through_scales(of_plane(mean), error=STEP, copies=True)),
    _plane("RESIZE_NEAREST_NEIGHBOR", through_scales(of_plane(largest), copies=True), Elements.MOVED),
)
