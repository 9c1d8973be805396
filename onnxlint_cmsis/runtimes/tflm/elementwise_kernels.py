"""ADD, MUL, MAXIMUM and MINIMUM."""

from __future__ import annotations

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.convolution_checks import HYBRID, UNSUPPORTED_INPUT
from onnxlint_cmsis.runtimes.tflm.geometry import activation_dims
from onnxlint_cmsis.runtimes.tflm.operator_view import zero_point
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Stage
from onnxlint_cmsis.runtimes.tflm.reference_kernels import FUSED_ACTIVATION, LARGEST, MULTIPLIED, SUM_FACTORS, hold
from onnxlint_cmsis.runtimes.tflm.revisions import TflmDefect
from onnxlint_cmsis.types import KernelCall

BROADCAST = "the shapes differ, {left} and {right}"
UNEQUAL_SCALES = "the kernel compares stored values, and scales or zero-points of inputs and output differ"
Operands = tuple[TfliteTensor, TfliteTensor, TfliteTensor]
"""Two inputs and the output."""

ONE_VALUE = "the kernel takes a shape of another rank than 2 to 4 for a single value"
TOO_DEEP = "tensorflow/lite/kernels/internal/runtime_shape.h:113"


def _operands(
    p: Preparation, file: str, lines: tuple[int, int, int]
) -> tuple[TfliteTensor, TfliteTensor, TfliteTensor]:
    left = p.needed_input(0, f"{file}:{lines[0]}", "input1")
    right = p.needed_input(1, f"{file}:{lines[1]}", "input2")
    return left, right, p.needed_output(f"{file}:{lines[2]}")


def _int16_zero_points(p: Preparation, tensors: tuple[TfliteTensor, ...], file: str, line: int) -> None:
    for number, (tensor, name) in enumerate(zip(tensors, ("input1", "input2", "output"), strict=True), line):
        p.ensure_equal(zero_point(tensor), 0, f"{file}:{number}", (f"{name}->params.zero_point", "0"))


def _runs(p: Preparation, name: str, operands: Operands) -> None:
    """CMSIS-NN for equal shapes of int8 and int16, reference code for all else."""
    left, right, output = operands
    suffix = {"INT8": "s8", "INT16": "s16"}.get(left.elem_type)
    if suffix is None:
        p.reference = "float" if left.elem_type == "FLOAT32" else left.elem_type.lower()
    elif left.shape != right.shape:
        p.reference = BROADCAST.format(left=list(left.shape), right=list(right.shape))
    else:
        _calls(p, f"elementwise_{name}_{suffix}", (left, right, output))


def _calls(p: Preparation, entry: str, operands: Operands) -> None:
    left, right, output = (activation_dims(tensor.shape) for tensor in operands)
    p.runs(f"arm_{entry}", KernelCall(entry, left, right, output))


def add(p: Preparation) -> None:
    """K/cmsis_nn/add.cc, PrepareAdd and EvalAdd."""
    file = "cmsis_nn/add.cc"
    left, right, output = _operands(p, file, (297, 300, 303))
    p.ensure_types(left, output, f"{file}:305", ("input1->type", "output->type"))
    taken = left.elem_type in ("FLOAT32", "INT32", "INT16", "INT8")
    p.ensure_message(taken, file, UNSUPPORTED_INPUT)
    p.ensure_message(left.elem_type == right.elem_type, file, HYBRID)
    if left.elem_type == "INT16":
        _int16_zero_points(p, (left, right, output), file, 314)
    hold(p, SUM_FACTORS)
    if output.elem_type == "INT32":
        for tensor, name, line in ((left, "input1", 327), (right, "input2", 329)):
            names = (f"{name}->quantization.type", "kTfLiteNoQuantization")
            p.ensure_equal(int(tensor.quantization is not None), 0, f"{file}:{line}", names)
    _runs(p, "add", (left, right, output))


def mul(p: Preparation) -> None:
    """K/cmsis_nn/mul.cc and K/mul_common.cc."""
    operands = mul_types(p)
    hold(p, MULTIPLIED)
    _runs(p, "mul", operands)


def mul_types(p: Preparation) -> Operands:
    """K/mul_common.cc, MulPrepare."""
    file = "mul_common.cc"
    left, right, output = _operands(p, file, (125, 128, 131))
    p.ensure_types(left, right, f"{file}:52", ("input1->type", "input2->type"))
    hold(p, FUSED_ACTIVATION)
    if output.elem_type == "INT16":
        _int16_zero_points(p, (left, right, output), file, 60)
    return left, right, output


def maximum(p: Preparation) -> None:
    """K/cmsis_nn/maximum_minimum.cc: no Prepare at all."""
    _extreme(p, "maximum_s8")


def minimum(p: Preparation) -> None:
    """K/cmsis_nn/maximum_minimum.cc: no Prepare at all."""
    _extreme(p, "minimum_s8")


def _extreme(p: Preparation, entry: str) -> None:
    file = "cmsis_nn/maximum_minimum.cc"
    tensors = _operands(p, file, (0, 0, 0))
    output = tensors[2]
    hold(p, LARGEST)
    if any(tensor.quantization != output.quantization for tensor in tensors):
        p.wrong.append(UNEQUAL_SCALES)
    if output.elem_type != "INT8":
        p.reference = "float" if output.elem_type == "FLOAT32" else output.elem_type.lower()
        return
    ranks = [len(tensor.shape) for tensor in tensors]
    if p.has(TflmDefect.EXTREME_RANK):
        if not all(2 <= rank <= 4 for rank in ranks):
            p.wrong.append(ONE_VALUE)
    elif max(ranks) > 4:
        p.halted = (Stage.INVOKE, TOO_DEEP)
    _calls(p, entry, tensors)
