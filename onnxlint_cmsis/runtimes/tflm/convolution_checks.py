"""What the kernels of convolutions check alike, and the shapes they read."""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView, zero_point
from onnxlint_cmsis.runtimes.tflm.preparation import K, Preparation, Refused, Stage
from onnxlint_cmsis.runtimes.tflm.reference_kernels import KernelLimit, hold
from onnxlint_cmsis.types import Dims, Pair

HYBRID = "Hybrid models are not supported on TFLite Micro."
UNSUPPORTED_INPUT = "Input data type not supported"
ACTIVATIONS = ("FLOAT32", "INT16", "INT8")
PAIRS = (("FLOAT32", "FLOAT32"), ("INT16", "INT8"), ("INT8", "INT4"), ("INT8", "INT8"))
"""Element types of input and filter that convolutions take."""

Tensors = tuple[TfliteTensor, TfliteTensor, TfliteTensor]
"""Input, filter and output."""


def dims(tensor: TfliteTensor) -> Dims:
    """Shape of rank 4 as CMSIS-NN's dims."""
    return Dims(*tensor.shape)


def stride_of(view: OperatorView) -> Pair:
    """Stride of an operator."""
    return Pair(view.option("stride_h"), view.option("stride_w"))


def dilation_of(view: OperatorView) -> Pair:
    """Dilation of an operator, 1 by default."""
    return Pair(view.option("dilation_h_factor", 1), view.option("dilation_w_factor", 1))


def check_types(p: Preparation, tensors: Tensors, place: str, pairs: Sequence[tuple[str, str]] = PAIRS) -> None:
    """Types of input, filter and output; `place` is that of the first check."""
    data, weights, output = tensors
    file = place.partition(":")[0]
    p.ensure_types(data, output, place, ("input->type", "output->type"))
    p.ensure_message(data.elem_type in ACTIVATIONS, file, UNSUPPORTED_INPUT)
    p.ensure_message((data.elem_type, weights.elem_type) in pairs, file, HYBRID)


def check_inputs(p: Preparation, most: int, place: str) -> None:
    """One output, and `most` inputs or one fewer; `place` is that of the first check."""
    count = len(p.view.operator.inputs)
    p.ensure(count in (most - 1, most), place, f"has_bias || node->inputs->size == {most - 1}")
    line = int(place.rpartition(":")[2]) + 1
    outputs = len(p.view.operator.outputs)
    p.ensure_equal(outputs, 1, f"{place.rpartition(':')[0]}:{line}", ("node->outputs->size", "1"))


def check_scales(
    p: Preparation,
    weights: TfliteTensor,
    channels: int,
    place: str,
    axis: str = "kDepthwiseConvQuantizedDimension",
) -> None:
    """One scale, or one for each channel; `axis` is the source's name of the axis of channels."""
    quantization = weights.quantization
    if quantization is None:
        raise Refused(f"{K}{place} affine_quantization->scale was not true.", Stage.PREPARE)
    number = len(quantization.scales)
    p.ensure(
        number in (1, channels),
        place,
        f"affine_quantization->scale->size == 1 || affine_quantization->scale->size == filter->dims->data[{axis}]",
    )


def check_steps(p: Preparation, data: TfliteTensor, limits: tuple[KernelLimit, ...]) -> None:
    """PopulateConvolutionQuantizationParams (lite/kernels/kernel_util.cc:214), which float layers do not come to."""
    if data.elem_type != "FLOAT32":
        hold(p, limits)


def zero_points_are_zero(p: Preparation, data: TfliteTensor, output: TfliteTensor, first: str, second: str) -> None:
    """What int16 asks for; `first` and `second` are the places of the two checks."""
    p.ensure_equal(zero_point(data), 0, first, ("input->params.zero_point", "0"))
    p.ensure_equal(zero_point(output), 0, second, ("output->params.zero_point", "0"))
