"""TensorFlow Lite's layers with weights: convolutions and dense layers.

Source of all positions and layouts: tensorflow/lite/kernels/{conv,depthwise_conv,transpose_conv,fully_connected}.cc.
"""

from __future__ import annotations

from onnxlint_cmsis.graph.model import TFLITE
from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import BY_WEIGHTS, NO_SHAPE_ARITHMETIC, Operator, TieRule
from onnxlint_cmsis.operators.roles import Form, Roles, Sums
from onnxlint_cmsis.operators.ties import tflite_convolution_ties as ties
from onnxlint_cmsis.operators.ties.tflite_product_ties import fully_connected
from onnxlint_cmsis.operators.values.tflite_layers import layer_result


def _layer(name: str, axes: TieRule, form: Form, data: int = 0, bias: int = 2) -> Operator:
    return Operator(
        name,
        axes,
        Elements.COMPUTED,
        Risk.NONE,
        Layout.ORDERED,
        new_lane=ZEROS,
        domain=TFLITE,
        roles=Roles(data=(data,), weights=(1,), form=form, sums=Sums.STORED, bias=bias),
        values=layer_result,
        demand=BY_WEIGHTS,
        fold=NO_SHAPE_ARITHMETIC,
    )


TFLITE_CONVOLUTIONS = (
    _layer("CONV_2D", ties.conv_2d, Form.CHANNELS_LAST),
    _layer("DEPTHWISE_CONV_2D", ties.depthwise_conv_2d, Form.DEPTHWISE_LAST),
    _layer("TRANSPOSE_CONV", ties.transpose_conv, Form.TRANSPOSED_LAST, data=2, bias=3),
    _layer("FULLY_CONNECTED", fully_connected, Form.ROWS),
)
