"""PAD, PADV2 and TRANSPOSE."""

from __future__ import annotations

from math import prod
from struct import unpack_from

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.geometry import NO_FILTER, activation_dims
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView, scale, zero_point
from onnxlint_cmsis.runtimes.tflm.preparation import K, Preparation, Refused, Stage, Unpredictable
from onnxlint_cmsis.runtimes.tflm.reference_kernels import PADDED, hold
from onnxlint_cmsis.runtimes.tflm.revisions import TflmDefect
from onnxlint_cmsis.types import Dims, KernelCall

DEEP_PAD = "the kernel pads the last four dimensions alone; of {found} images along the first only one is written"
PAD_OF_FOUR = "the kernel reads four sizes of a shape that has {found}"
DEEP_TRANSPOSE = "the kernel takes four dimensions at most, the error is dropped and the output is never written"


def values(view: OperatorView, tensor: TfliteTensor, count: int) -> tuple[int, ...]:
    """The first `count` int32 values of a constant."""
    data = view.model.bytes_of(tensor.buffer)
    if len(data) < 4 * count:
        raise Unpredictable(f"'{tensor.name}' has {len(data)} bytes; {4 * count} are read")
    return unpack_from(f"<{count}i", data)


def _moving(entry: str, data: TfliteTensor, output: TfliteTensor) -> KernelCall:
    return KernelCall(entry, activation_dims(data.shape), NO_FILTER, activation_dims(output.shape))


def pad(p: Preparation) -> None:
    """K/pad_common.cc and K/cmsis_nn/pad.cc, for PAD and PADV2."""
    data, output = pad_checks(p)
    hold(p, PADDED)
    if data.elem_type != "INT8":
        p.reference = "float" if data.elem_type == "FLOAT32" else data.elem_type.lower()
        return
    p.runs("arm_pad_s8", _moving("pad_s8", data, output)._replace(pad_front=_front(p, len(data.shape))))
    if p.has(TflmDefect.PAD_RANK) and len(data.shape) != 4:
        p.wrong.append(PAD_OF_FOUR.format(found=len(data.shape)))
    elif len(data.shape) == 5 and data.shape[0] > 1:
        p.wrong.append(DEEP_PAD.format(found=data.shape[0]))


def _front(p: Preparation, rank: int) -> Dims:
    """What is added in front, in the order of `activation_dims`; unknown for more than four axes."""
    amounts = values(p.view, p.needed_input(1, "pad_common.cc:44", "paddings"), 2 * rank)[::2]
    return NO_FILTER if rank > 4 else Dims(*(0,) * (4 - rank), *amounts)


def pad_checks(p: Preparation) -> tuple[TfliteTensor, TfliteTensor]:
    """PadPrepare (K/pad_common.cc); input and output."""
    file = "pad_common.cc"
    count = len(p.view.operator.inputs)
    p.ensure(count in (2, 3), f"{file}:36", "NumInputs(node) == 2 || NumInputs(node) == 3")
    data = p.needed_input(0, f"{file}:41", "input")
    amounts = p.needed_input(1, f"{file}:44", "paddings")
    fill = p.needed_input(2, f"{file}:48", "constant_values") if count == 3 else None
    output = p.needed_output(f"{file}:51")
    p.ensure_types(data, output, f"{file}:53", ("input->type", "output->type"))
    most = "NumDimensions(input) <= reference_ops::PadKernelMaxDimensionCount()"
    p.ensure(len(data.shape) <= 5, f"{file}:56", most)
    _pad_sizes(p, data, amounts, fill, output)
    if data.elem_type == "INT8" and fill is not None:
        names = ("output->params.zero_point", "constant_values->params.zero_point")
        p.ensure_equal(zero_point(output), zero_point(fill), f"{file}:110", names)
        doubles = ("static_cast<double>(output->params.scale)", "static_cast<double>(constant_values->params.scale)")
        p.ensure_equal_doubles(scale(output), scale(fill), f"{file}:112", doubles)
    return data, output


def _pad_sizes(
    p: Preparation, data: TfliteTensor, amounts: TfliteTensor, fill: TfliteTensor | None, output: TfliteTensor
) -> None:
    file = "pad_common.cc"
    if fill is not None:
        p.ensure_types(data, fill, f"{file}:60", ("input->type", "constant_values->type"))
        p.ensure_equal(prod(fill.shape), 1, f"{file}:62", ("NumElements(constant_values)", "1"))
    rank = len(output.shape)
    names = ("GetTensorShape(paddings).FlatSize()", "output->dims->size * 2")
    p.ensure_equal(prod(amounts.shape), 2 * rank, f"{file}:66", names)
    constant = p.view.constant(amounts)
    p.ensure_message(constant, file, "Non-constant >paddings< tensor is not supported")
    pads = values(p.view, amounts, 2 * rank)
    for axis, size in enumerate(data.shape[:rank]):
        expected = size + pads[2 * axis] + pads[2 * axis + 1]
        p.ensure_equal(output.shape[axis], expected, f"{file}:79", ("output_dim", "expected_dim"))


def transpose(p: Preparation) -> None:
    """K/transpose_common.cc and K/cmsis_nn/transpose.cc."""
    data = transpose_checks(p)
    output = p.view.output()
    if data.elem_type == "INT8" and len(data.shape) > 4:
        p.wrong.append(DEEP_TRANSPOSE)
        p.dropped = f"{K}cmsis_nn/transpose.cc:30 size <= 4 was not true."
    elif data.elem_type == "INT8" and output is not None:
        rank = len(data.shape)
        order = values(p.view, p.needed_input(1, "transpose_common.cc:30", "op_context.perm"), rank)
        p.runs("arm_transpose_s8", _moving("transpose_s8", data, output)._replace(permutation=order))
    elif data.elem_type in ("FLOAT32", "INT16"):
        p.reference = "float" if data.elem_type == "FLOAT32" else "int16"
    else:
        known = "Only float32, int8 and int16 is supported"
        raise Refused(f"Type {data.elem_type} is currently not supported by Transpose. {known}", Stage.INVOKE)


def transpose_checks(p: Preparation) -> TfliteTensor:
    """TransposePrepare (K/transpose_common.cc); the input."""
    file = "transpose_common.cc"
    p.ensure_equal(len(p.view.operator.inputs), 2, f"{file}:27", ("NumInputs(node)", "2"))
    data = p.needed_input(0, f"{file}:30", "op_context.input")
    order = p.needed_input(1, f"{file}:30", "op_context.perm")
    output = p.needed_output(f"{file}:30")
    rank = len(data.shape)
    p.ensure_message(rank <= 5, file, "Transpose op only supports 1D-5D input arrays.")
    p.ensure_types(data, output, f"{file}:35", ("op_context.input->type", "op_context.output->type"))
    p.ensure_message(p.view.constant(order), file, "Non-constant >perm< tensor is not supported")
    p.ensure_equal(len(order.shape), 1, f"{file}:44", ("NumDimensions(op_context.perm)", "1"))
    p.ensure_equal(order.shape[0], rank, f"{file}:45", ("op_context.perm->dims->data[0]", "dims"))
    bounds = all(0 <= axis < rank for axis in values(p.view, order, rank))
    p.ensure_message(bounds, file, "Transpose op permutations array is out of bounds.")
    return data
