"""A call's arguments as the call of CMSIS-NN that its kernel makes, and what the kernel checks first.

Source: backends/cortex_m/ops/*.cpp and cortex_m_ops_common.h at the tags of the releases and at cff6f4dd.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from onnxlint_cmsis.formats.pte.calls import NHWC_ORDER, ProgramCall, is_channels_last
from onnxlint_cmsis.formats.pte.names import NHWC
from onnxlint_cmsis.formats.pte.program_records import PteTensor
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.lower.dims import NO_DIMS
from onnxlint_cmsis.model.windows import padding_for, places, reach, rounded_up

FOUR_SINCE = "1.6.0"
"""First release whose convolutions take four numbers of padding (pull request 22861)."""


class NotRunError(Exception):
    """A kernel ends before it calls CMSIS-NN; the message says why, as a clause."""

    def __init__(self, reason: str, *, aborts: bool = False) -> None:
        super().__init__(reason)
        self.aborts = aborts
        """Whether the program aborts (ET_CHECK); else `execute` returns an error."""


def _image(call: ProgramCall, name: str) -> Dims:
    """Sizes of an image, NHWC. Raises NotRunError where the kernel takes it for none."""
    return _sizes_of_image(call, tensor_of(call, name), "its input")


def _result_image(call: ProgramCall) -> Dims:
    return _sizes_of_image(call, _result(call), "its result")


def _sizes_of_image(call: ProgramCall, tensor: PteTensor, what: str) -> Dims:
    dims = _sizes_alone(call, tensor, what)
    if tensor.elem_type != "int8":
        raise NotRunError(f"{what} is {tensor.elem_type}; the kernel takes int8")
    if not call.op.endswith(NHWC) and not is_channels_last(tensor):
        raise NotRunError(f"{what} does not have its channels last in memory")
    return dims


def _sizes_alone(call: ProgramCall, tensor: PteTensor, what: str) -> Dims:
    """Sizes of an image of which the kernel asks neither the type nor how it lies."""
    if len(tensor.sizes) != 4:
        raise NotRunError(f"{what} has {len(tensor.sizes)} axes; the kernel takes 4")
    if call.op.endswith(NHWC):
        return Dims(*tensor.sizes)
    batch, channels, height, width = tensor.sizes
    return Dims(batch, height, width, channels)


def tensor_of(call: ProgramCall, name: str) -> PteTensor:
    """An argument that has to be a tensor. Raises NotRunError."""
    tensor = call.tensor(name)
    if tensor is None:
        raise NotRunError(f"its argument {name} is no tensor")
    return tensor


def _result(call: ProgramCall) -> PteTensor:
    value = call.written
    if value is None:
        raise NotRunError("it writes no tensor")
    return value


def _pair(call: ProgramCall, name: str) -> Pair:
    numbers = call.numbers_of(name)
    if len(numbers) != 2:
        raise NotRunError(f"its argument {name} has {len(numbers)} numbers; the kernel takes 2")
    return Pair(*numbers)


def _weights(call: ProgramCall) -> tuple[int, int, int, int]:
    weights = tensor_of(call, "weight")
    if len(weights.sizes) != 4 or weights.elem_type != "int8":
        raise NotRunError(
            f"its weights are {weights.elem_type} with {len(weights.sizes)} axes; the kernel takes int8, 4"
        )
    bias = call.tensor("bias")
    if bias is not None and bias.elem_type != "int32":
        raise NotRunError(f"its bias is {bias.elem_type}; the kernel takes int32")
    first, second, third, fourth = weights.sizes
    return first, second, third, fourth


def _scaled(call: ProgramCall, channels: int | None) -> None:
    for name in ("requantize_multipliers", "requantize_shifts"):
        sizes = tensor_of(call, name).sizes
        if sizes[:1] != (channels,):
            raise NotRunError(f"its {name} are {sizes[0] if sizes else 0} numbers for {channels} channels")


def _padding(call: ProgramCall, most: int) -> Pair:
    """Rows above and columns left; of four numbers the last two are not read, as sizes of results tell them."""
    numbers = call.numbers_of("padding")
    if len(numbers) == most == 4:
        return Pair(*numbers[:2])
    return _pair(call, "padding")


def _window(
    call: ProgramCall, entry: str, filter_dims: Dims, *, images: tuple[Dims, Dims] | None = None, paddings: int = 2
) -> KernelCall:
    """A call with a window; the padding behind is what the size of the result asks for.

    `images` are its sizes where the kernel looks at less than all, `paddings` the numbers of padding that it may have.
    """
    source, result = images or (_image(call, "input"), _result_image(call))
    kernel = Pair(filter_dims.h, filter_dims.w)
    stride, before = _pair(call, "stride"), _padding(call, paddings)
    dilation = _pair(call, "dilation") if "dilation" in call.arguments else Pair(1, 1)
    if min(number or 0 for number in (*stride, *dilation)) < 1:
        raise NotRunError("its stride or dilation is below 1")

    def behind(axis: int) -> int:
        size, result_size = (source.h, source.w)[axis] or 0, (result.h, result.w)[axis] or 0
        span = reach(kernel[axis] or 1, dilation[axis] or 1)
        return max(padding_for(result_size, size, span, stride[axis] or 1) - (before[axis] or 0), 0)

    after = Pair(behind(0), behind(1))
    return KernelCall(entry, source, filter_dims, result, stride, before, after, dilation)


def convolution(call: ProgramCall, *, looks_at_result: bool = True, paddings: int = 2) -> KernelCall:
    """op_quantized_conv2d.cpp; until cff6f4dd it looks twice at how its input lies and never at its result."""
    outputs, height, width, inputs = _weights(call)
    source, result = _image(call, "input"), _result(call)
    lies = _result_image(call) if looks_at_result else _sizes_alone(call, result, "its result")
    if result.elem_type != "int8":
        raise NotRunError(f"its result is {result.elem_type}; the kernel takes int8")
    filter_dims = Dims(outputs, height, width, inputs)
    kernel_call = _window(call, "convolve_s8", filter_dims, images=(source, lies), paddings=paddings)
    _scaled(call, kernel_call.output_dims.c)
    return kernel_call._replace(bias=call.tensor("bias") is not None)


def convolution_of_1_1(call: ProgramCall) -> KernelCall:
    """op_quantized_conv2d.cpp of 1.1.0: images of one pixel have to be told to have their channels last, too."""
    for what, tensor in (("its input", tensor_of(call, "input")), ("its result", _result(call))):
        if len(tensor.sizes) == 4 and tensor.sizes[1] > 1 and tensor.order != NHWC_ORDER:
            raise NotRunError(f"{what} does not have its channels last in memory")
    return convolution(call)


def convolution_until_cff6f4dd(call: ProgramCall) -> KernelCall:
    """op_quantized_conv2d.cpp from 1.2.0 to 1.4.1."""
    return convolution(call, looks_at_result=False)


def convolution_of_1_6(call: ProgramCall) -> KernelCall:
    """A convolution with two or four numbers of padding: top, left, bottom, right (pull request 22861)."""
    return convolution(call, paddings=4)


def depthwise(call: ProgramCall, *, paddings: int = 2) -> KernelCall:
    """op_quantized_depthwise_conv2d.cpp."""
    first, height, width, outputs = _weights(call)
    multiplier = call.number_of("depth_multiplier")
    kernel_call = _window(call, "depthwise_s8", Dims(1, height, width, outputs), paddings=paddings)
    kernel_call = kernel_call._replace(ch_mult=multiplier)
    if kernel_call.input_dims.n != 1:
        raise NotRunError(f"it has a batch of {kernel_call.input_dims.n}; the kernel takes 1")
    if first != 1 or outputs != kernel_call.output_dims.c or outputs != (kernel_call.input_dims.c or 0) * multiplier:
        raise NotRunError(
            f"its weights are for {outputs} channels, its multiplier is {multiplier}, of 1x{height}x{width}"
        )
    _scaled(call, kernel_call.output_dims.c)
    return kernel_call._replace(bias=call.tensor("bias") is not None)


def depthwise_of_1_6(call: ProgramCall) -> KernelCall:
    """A depthwise convolution with two or four numbers of padding: top, left, bottom, right (pull request 22861)."""
    return depthwise(call, paddings=4)


def transpose_convolution(call: ProgramCall) -> KernelCall:
    """op_quantized_transpose_conv2d.cpp."""
    outputs, height, width, inputs = _weights(call)
    kernel_call = _window(call, "transpose_conv_s8", Dims(outputs, height, width, inputs))
    if outputs != kernel_call.output_dims.c:
        raise NotRunError(f"its weights have {outputs} output channels, its result {kernel_call.output_dims.c}")
    _scaled(call, kernel_call.output_dims.c)
    sizes = (
        (kernel_call.input_dims.h or 0, kernel_call.input_dims.w or 0),
        (kernel_call.output_dims.h or 0, kernel_call.output_dims.w or 0),
    )
    after = Pair(
        *(
            (size - 1) * (step or 1) + kernel - (front or 0) - result
            for size, result, step, kernel, front in zip(
                *sizes, kernel_call.stride, (height, width), kernel_call.padding, strict=True
            )
        )
    )
    return kernel_call._replace(bias=call.tensor("bias") is not None, pad_after=after)


def _pool(call: ProgramCall, entry: str) -> KernelCall:
    kernel = _pair(call, "kernel_size")
    kernel_call = _window(call, entry, Dims(1, kernel.h, kernel.w, 1))
    if (kernel_call.input_dims.n, kernel_call.input_dims.c) != (kernel_call.output_dims.n, kernel_call.output_dims.c):
        raise NotRunError("its result has another batch or other channels than its input")
    if kernel_call.dilation != (1, 1):
        raise NotRunError("it has a dilation; the kernel takes none")
    return kernel_call


def average_pool(call: ProgramCall) -> KernelCall:
    """op_quantized_avg_pool2d.cpp; the size of the result is looked at since there is ceil_mode."""
    kernel_call = _pool(call, "avgpool_s8")
    if "ceil_mode" in call.arguments:
        ceil = bool(call.number_of("ceil_mode"))
        wanted = tuple(_pooled(kernel_call, axis, ceil) for axis in (0, 1))
        if kernel_call.output_dims[1:3] != wanted:
            raise NotRunError(f"its result is {kernel_call.output_dims[1:3]}; its window gives {wanted}")
    return kernel_call


def average_pool_of_1_1(call: ProgramCall) -> KernelCall:
    """op_quantized_avg_pool2d.cpp of 1.1.0, which asks for four axes alone."""
    kernel = _pair(call, "kernel_size")
    source, result = (
        _sizes_alone(call, tensor, what)
        for tensor, what in ((tensor_of(call, "input"), "its input"), (_result(call), "its result"))
    )
    images = source, result._replace(n=source.n, c=source.c)
    return _window(call, "avgpool_s8", Dims(1, kernel.h, kernel.w, 1), images=images)


def _pooled(kernel_call: KernelCall, axis: int, ceil: bool) -> int:
    """Windows along an axis (op_quantized_avg_pool2d.cpp: pooling_output_size)."""
    size, kernel = kernel_call.input_dims[1 + axis] or 0, kernel_call.filter_dims[1 + axis] or 0
    stride, padding = kernel_call.stride[axis] or 1, kernel_call.padding[axis] or 0
    return (rounded_up if ceil else places)(size, kernel, stride, padding, padding)


def max_pool(call: ProgramCall) -> KernelCall:
    """op_quantized_max_pool2d.cpp."""
    if call.number_of("ceil_mode"):
        raise NotRunError("it has ceil_mode; the kernel takes none")
    if call.number_of("input_zero_point") != call.number_of("output_zero_point"):
        raise NotRunError("the zero-points of its input and result differ")
    return _pool(call, "max_pool_s8")


def linear(call: ProgramCall) -> KernelCall:
    """op_quantized_linear.cpp: arm_fully_connected_s8, past its wrapper."""
    source, weights, result = tensor_of(call, "input"), tensor_of(call, "weights"), _result(call)
    if not source.sizes or not result.sizes or len(weights.sizes) != 2:
        raise NotRunError("its input, weights or result has no axes")
    rows, depth, outputs = prod(source.sizes[:-1]), source.sizes[-1], result.sizes[-1]
    return KernelCall(
        "fully_connected_s8", Dims(rows, 1, 1, depth), Dims(depth, 1, 1, outputs), Dims(rows, 1, 1, outputs),
        per_channel=False, bias=call.tensor("bias") is not None, weight_offset=bool(call.number_of("filter_offset")),
    )  # fmt: skip


def _four(sizes: tuple[int, ...]) -> Dims:
    """The last four sizes, ones in front."""
    return Dims(*((1,) * 4 + sizes)[-4:])


def total(entry: str) -> Callable[[ProgramCall], KernelCall]:
    """op_quantized_add.cpp and op_quantized_mul.cpp: equal sizes, or one number for each channel."""

    def run(call: ProgramCall) -> KernelCall:
        first, second, result = tensor_of(call, "self"), tensor_of(call, "other"), _result(call)
        _all_int8((first, second, result))
        for name in ("self", "other", "output"):
            _in_register(call, name)
        if not is_channel_broadcast(first, second) and not first.sizes == second.sizes == result.sizes:
            text = f"its operands have sizes {list(first.sizes)} and {list(second.sizes)}"
            raise NotRunError(f"{text}; the kernel takes equal ones, or one number for each channel", aborts=True)
        return KernelCall(entry, _four(first.shape), _four(second.shape), _four(result.shape))

    return run


def extreme(entry: str) -> Callable[[ProgramCall], KernelCall]:
    """op_minimum.cpp and op_maximum.cpp."""

    def run(call: ProgramCall) -> KernelCall:
        first, second, result = tensor_of(call, "self"), tensor_of(call, "other"), _result(call)
        _all_int8((first, second, result))
        if broadcast_sizes(first.sizes, second.sizes) != result.sizes:
            text = f"its operands have sizes {list(first.sizes)} and {list(second.sizes)}, its result"
            raise NotRunError(f"{text} {list(result.sizes)}")
        return KernelCall(entry, _four(first.sizes), _four(second.sizes), _four(result.sizes))

    return run


def broadcast_sizes(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes of what two tensors give element by element; empty where they do not fit."""
    rank = max(len(first), len(second))
    pairs = [*zip(*((1,) * (rank - len(sizes)) + sizes for sizes in (first, second)), strict=True)]
    fits = all(ours == theirs or 1 in (ours, theirs) for ours, theirs in pairs)
    return tuple(theirs if ours == 1 else ours for ours, theirs in pairs) if fits else ()


def _in_register(call: ProgramCall, name: str) -> None:
    """Look at a shift as the kernels do (cortex_m_ops_common.h: validate_single_quant_params)."""
    shift = call.number_of(f"{name}_shift")
    if not -31 <= shift <= 31:
        raise NotRunError(f"its {name}_shift is {shift}; the kernel takes -31 to 31", aborts=True)


def _all_int8(tensors: tuple[PteTensor, ...]) -> None:
    for tensor in tensors:
        if tensor.elem_type != "int8":
            raise NotRunError(f"it has an operand of {tensor.elem_type}; the kernel takes int8", aborts=True)


def softmax(call: ProgramCall) -> KernelCall:
    """op_softmax.cpp."""
    source, result = tensor_of(call, "input"), _result(call)
    rank, axis = len(source.sizes), call.number_of("dim")
    if source.elem_type != "int8" or result.elem_type != "int8":
        raise NotRunError(f"it is of {source.elem_type} and {result.elem_type}; the kernel takes int8")
    if not rank or axis % rank != rank - 1:
        raise NotRunError(f"it runs over axis {axis} of {rank}; the kernel takes the last one")
    if call.number_of("output_zero_point") != -128:
        raise NotRunError(f"its result has zero-point {call.number_of('output_zero_point')}; the kernel takes -128")
    _in_register(call, "input")
    rows = Dims(prod(source.sizes[:-1]), 1, 1, source.sizes[-1])
    return KernelCall("softmax_s8", rows, NO_DIMS, rows)


def _short(call: ProgramCall) -> tuple[PteTensor, PteTensor]:
    """Input and result of a kernel for int8 of one to four axes."""
    source, result = tensor_of(call, "input"), _result(call)
    if source.elem_type != "int8" or result.elem_type != "int8":
        raise NotRunError(f"it is of {source.elem_type} and {result.elem_type}; the kernel takes int8")
    if not 1 <= len(source.sizes) <= 4:
        raise NotRunError(f"it has {len(source.sizes)} axes; the kernel takes 1 to 4")
    return source, result


def transpose(call: ProgramCall) -> KernelCall:
    """op_transpose.cpp, which hands over sizes from the front; a call has its ones there, as all do that are routed."""
    source, result = _short(call)
    order = call.numbers_of("perm")
    if sorted(order) != [*range(len(source.sizes))]:
        raise NotRunError(f"its perm is {list(order)} for {len(source.sizes)} axes")
    before, after = (_four(tensor.sizes) for tensor in (source, result))
    return KernelCall("transpose_s8", before, NO_DIMS, after, permutation=order)


def pad_of_1_2(call: ProgramCall) -> KernelCall:
    """op_pad.cpp of 1.2.0: sizes and amounts in PyTorch's order, wherever the elements lie."""
    return pad(call, in_memory_order=False)


def pad(call: ProgramCall, *, in_memory_order: bool = True) -> KernelCall:
    """op_pad.cpp: sizes and amounts in the order of memory."""
    source, result = _short(call)
    front, behind = call.numbers_of("pre_pad"), call.numbers_of("post_pad")
    if len(front) != 4 or len(behind) != 4:
        raise NotRunError(f"it has {len(front)} and {len(behind)} amounts; the kernel takes 4")
    image = in_memory_order and is_channels_last(source)
    before, after = (
        Dims(*(tensor.sizes[axis] for axis in (0, 2, 3, 1))) if image else _four(tensor.sizes)
        for tensor in (source, result)
    )
    return KernelCall("pad_s8", before, NO_DIMS, after, pad_front=Dims(*front))


def batch_matmul(call: ProgramCall) -> KernelCall:
    """op_quantized_batch_matmul.cpp."""
    left, right, result = tensor_of(call, "lhs"), tensor_of(call, "rhs_transposed"), _result(call)
    if any(tensor.elem_type != "int8" or len(tensor.sizes) != 3 for tensor in (left, right, result)):
        raise NotRunError("its operands are not all int8 with 3 axes")
    (batch, rows, depth), (others, columns, inner) = left.sizes, right.sizes
    if (batch, depth, result.sizes) != (others, inner, (batch, rows, columns)):
        raise NotRunError(f"its operands have sizes {list(left.sizes)} and {list(right.sizes)}")
    return KernelCall(
        "batch_matmul_s8",
        Dims(1, batch, rows, depth), Dims(1, batch, columns, depth), Dims(1, batch, rows, columns),
        weight_offset=bool(call.number_of("rhs_zero_point")),
    )  # fmt: skip


def is_channel_broadcast(first: PteTensor, second: PteTensor) -> bool:
    """Tell whether one of two images is one number for each channel (cortex_m_ops_common.h: is_channel_broadcast)."""
    if len(first.sizes) != 4 or len(second.sizes) != 4 or first.sizes[1] != second.sizes[1]:
        return False
    return any(prod(tensor.sizes) == tensor.sizes[1] for tensor in (first, second))
