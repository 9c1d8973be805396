"""What ExecuTorch does with a program: its calls of CMSIS-NN as they stand in the file, and the memory planned there.

A program holds each call as it is made: sizes, offsets, multipliers and scratch. So nothing is lowered here; the
arguments become a KernelCall, and what its kernel checks first decides whether it is made at all.

Source: executorch cff6f4dd, backends/cortex_m/ops/*.cpp and cortex_m_ops_common.h; of 1.5.1 the names of operators and
their arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod

from onnxlint_cmsis.cmsis_nn.library import Route, route
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.pte.names import BACKEND, NHWC, SIGNATURES
from onnxlint_cmsis.formats.pte.program import Method, PteTensor, ValueList
from onnxlint_cmsis.formats.pte.to_graph import LoadedProgram, ProgramCall, is_channels_last
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Dims, Function, Isa, KernelCall, Level, Pair, Target
from onnxlint_cmsis.lower.layer import NO_DIMS, Cause, Verdict
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.model.graph import Node, node_location
from onnxlint_cmsis.runtimes.executorch_cost import own_range
from onnxlint_cmsis.runtimes.runtime import (
    Arena,
    BufferLife,
    FileOperator,
    LayerScratch,
    MemoryReport,
    Runtime,
    RuntimeRemark,
    RuntimeVerdict,
    layer_of,
    named,
)

E = "backends/cortex_m/ops/"
"""Where the kernels are."""

# A call's arguments as a call of CMSIS-NN.


class NotRunError(Exception):
    """A kernel ends before it calls CMSIS-NN; the message says why, as a clause."""

    def __init__(self, reason: str, *, aborts: bool = False) -> None:
        super().__init__(reason)
        self.aborts = aborts
        """Whether the program aborts (ET_CHECK); else `execute` returns an error."""


def _image(call: ProgramCall, name: str) -> Dims:
    """Sizes of an image, NHWC. Raises NotRunError where the kernel takes it for none."""
    return _sizes_of_image(call, _tensor(call, name), "its input")


def _result_image(call: ProgramCall) -> Dims:
    return _sizes_of_image(call, _result(call), "its result")


def _sizes_of_image(call: ProgramCall, tensor: PteTensor, what: str) -> Dims:
    if len(tensor.sizes) != 4:
        raise NotRunError(f"{what} has {len(tensor.sizes)} axes; the kernel takes 4")
    if tensor.elem_type != "int8":
        raise NotRunError(f"{what} is {tensor.elem_type}; the kernel takes int8")
    if call.op.endswith(NHWC):
        return Dims(*tensor.sizes)
    if not is_channels_last(tensor):
        raise NotRunError(f"{what} does not have its channels last in memory")
    batch, channels, height, width = tensor.sizes
    return Dims(batch, height, width, channels)


def _tensor(call: ProgramCall, name: str) -> PteTensor:
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
    weights = _tensor(call, "weight")
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
        sizes = _tensor(call, name).sizes
        if sizes[:1] != (channels,):
            raise NotRunError(f"its {name} are {sizes[0] if sizes else 0} numbers for {channels} channels")


def _window(call: ProgramCall, entry: str, kernel: Pair, filter_dims: Dims, ch_mult: int = 0) -> KernelCall:
    """A call with a window; the padding behind is what the size of the result asks for."""
    source, result = _image(call, "input"), _result_image(call)
    stride, before = _pair(call, "stride"), _pair(call, "padding")
    dilation = _pair(call, "dilation") if "dilation" in call.arguments else Pair(1, 1)
    if min(number or 0 for number in (*stride, *dilation)) < 1:
        raise NotRunError("its stride or dilation is below 1")

    def behind(axis: int) -> int:
        size, result_size = (source.h, source.w)[axis] or 0, (result.h, result.w)[axis] or 0
        span = ((kernel[axis] or 1) - 1) * (dilation[axis] or 1) + 1
        return max((result_size - 1) * (stride[axis] or 1) + span - size - (before[axis] or 0), 0)

    after = Pair(behind(0), behind(1))
    return KernelCall(entry, source, filter_dims, result, stride, before, after, dilation, ch_mult)


def _convolution(call: ProgramCall) -> KernelCall:
    """op_quantized_conv2d.cpp."""
    outputs, height, width, inputs = _weights(call)
    kernel_call = _window(call, "convolve_s8", Pair(height, width), Dims(outputs, height, width, inputs))
    _scaled(call, kernel_call.output_dims.c)
    return kernel_call._replace(bias=call.tensor("bias") is not None)


def _depthwise(call: ProgramCall) -> KernelCall:
    """op_quantized_depthwise_conv2d.cpp."""
    first, height, width, outputs = _weights(call)
    multiplier = call.number_of("depth_multiplier")
    kernel_call = _window(call, "depthwise_s8", Pair(height, width), Dims(1, height, width, outputs), multiplier)
    if kernel_call.input_dims.n != 1:
        raise NotRunError(f"it has a batch of {kernel_call.input_dims.n}; the kernel takes 1")
    if first != 1 or outputs != kernel_call.output_dims.c or outputs != (kernel_call.input_dims.c or 0) * multiplier:
        raise NotRunError(
            f"its weights are for {outputs} channels, its multiplier is {multiplier}, of 1x{height}x{width}"
        )
    _scaled(call, kernel_call.output_dims.c)
    return kernel_call._replace(bias=call.tensor("bias") is not None)


def _transpose_convolution(call: ProgramCall) -> KernelCall:
    """op_quantized_transpose_conv2d.cpp."""
    outputs, height, width, inputs = _weights(call)
    kernel_call = _window(call, "transpose_conv_s8", Pair(height, width), Dims(outputs, height, width, inputs))
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
    kernel_call = _window(call, entry, kernel, Dims(1, kernel.h, kernel.w, 1))
    if (kernel_call.input_dims.n, kernel_call.input_dims.c) != (kernel_call.output_dims.n, kernel_call.output_dims.c):
        raise NotRunError("its result has another batch or other channels than its input")
    if kernel_call.dilation != (1, 1):
        raise NotRunError("it has a dilation; the kernel takes none")
    return kernel_call


def _average_pool(call: ProgramCall) -> KernelCall:
    """op_quantized_avg_pool2d.cpp; the size of the result is looked at since there is ceil_mode."""
    kernel_call = _pool(call, "avgpool_s8")
    if "ceil_mode" in call.arguments:
        ceil = bool(call.number_of("ceil_mode"))
        wanted = tuple(_pooled(kernel_call, axis, ceil) for axis in (0, 1))
        if kernel_call.output_dims[1:3] != wanted:
            raise NotRunError(f"its result is {kernel_call.output_dims[1:3]}; its window gives {wanted}")
    return kernel_call


def _pooled(kernel_call: KernelCall, axis: int, ceil: bool) -> int:
    """Windows along an axis (op_quantized_avg_pool2d.cpp: pooling_output_size)."""
    size, kernel = kernel_call.input_dims[1 + axis] or 0, kernel_call.filter_dims[1 + axis] or 0
    stride, padding = kernel_call.stride[axis] or 1, kernel_call.padding[axis] or 0
    room = size + 2 * padding - kernel
    count = room // stride + 1 + (ceil and room % stride != 0)
    return count - (ceil and (count - 1) * stride >= size + padding)


def _max_pool(call: ProgramCall) -> KernelCall:
    """op_quantized_max_pool2d.cpp."""
    if call.number_of("ceil_mode"):
        raise NotRunError("it has ceil_mode; the kernel takes none")
    if call.number_of("input_zero_point") != call.number_of("output_zero_point"):
        raise NotRunError("the zero-points of its input and result differ")
    return _pool(call, "max_pool_s8")


def _linear(call: ProgramCall) -> KernelCall:
    """op_quantized_linear.cpp: arm_fully_connected_s8, past its wrapper."""
    source, weights, result = _tensor(call, "input"), _tensor(call, "weights"), _result(call)
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


def _sum(entry: str) -> Callable[[ProgramCall], KernelCall]:
    """op_quantized_add.cpp and op_quantized_mul.cpp: equal sizes, or one number for each channel."""

    def run(call: ProgramCall) -> KernelCall:
        first, second, result = _tensor(call, "self"), _tensor(call, "other"), _result(call)
        _all_int8((first, second, result))
        for name in ("self", "other", "output"):
            _in_register(call, name)
        if not is_channel_broadcast(first, second) and not first.sizes == second.sizes == result.sizes:
            text = f"its operands have sizes {list(first.sizes)} and {list(second.sizes)}"
            raise NotRunError(f"{text}; the kernel takes equal ones, or one number for each channel", aborts=True)
        return KernelCall(entry, _four(first.shape), _four(second.shape), _four(result.shape))

    return run


def _extreme(entry: str) -> Callable[[ProgramCall], KernelCall]:
    """op_minimum.cpp and op_maximum.cpp."""

    def run(call: ProgramCall) -> KernelCall:
        first, second, result = _tensor(call, "self"), _tensor(call, "other"), _result(call)
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


def _softmax(call: ProgramCall) -> KernelCall:
    """op_softmax.cpp."""
    source, result = _tensor(call, "input"), _result(call)
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
    source, result = _tensor(call, "input"), _result(call)
    if source.elem_type != "int8" or result.elem_type != "int8":
        raise NotRunError(f"it is of {source.elem_type} and {result.elem_type}; the kernel takes int8")
    if not 1 <= len(source.sizes) <= 4:
        raise NotRunError(f"it has {len(source.sizes)} axes; the kernel takes 1 to 4")
    return source, result


def _transpose(call: ProgramCall) -> KernelCall:
    """op_transpose.cpp: sizes from the front, ones behind."""
    source, result = _short(call)
    order = call.numbers_of("perm")
    if sorted(order) != [*range(len(source.sizes))]:
        raise NotRunError(f"its perm is {list(order)} for {len(source.sizes)} axes")
    before, after = (Dims(*(tensor.sizes + (1,) * 4)[:4]) for tensor in (source, result))
    return KernelCall("transpose_s8", before, NO_DIMS, after, permutation=order)


def _pad(call: ProgramCall) -> KernelCall:
    """op_pad.cpp: sizes and amounts in the order of memory."""
    source, result = _short(call)
    front, behind = call.numbers_of("pre_pad"), call.numbers_of("post_pad")
    if len(front) != 4 or len(behind) != 4:
        raise NotRunError(f"it has {len(front)} and {len(behind)} amounts; the kernel takes 4")
    image = is_channels_last(source)
    before, after = (
        Dims(*(tensor.sizes[axis] for axis in (0, 2, 3, 1))) if image else _four(tensor.sizes)
        for tensor in (source, result)
    )
    return KernelCall("pad_s8", before, NO_DIMS, after, pad_front=Dims(*front))


def _batch_matmul(call: ProgramCall) -> KernelCall:
    """op_quantized_batch_matmul.cpp."""
    left, right, result = _tensor(call, "lhs"), _tensor(call, "rhs_transposed"), _result(call)
    if any(tensor.elem_type != "int8" or len(tensor.sizes) != 3 for tensor in (left, right, result)):
        raise NotRunError("its operands are not all int8 with 3 axes")
    (batch, rows, depth), (others, columns, inner) = left.sizes, right.sizes
    if (batch, depth, result.sizes) != (others, inner, (batch, rows, columns)):
        raise NotRunError(f"its operands have sizes {list(left.sizes)} and {list(right.sizes)}")
    return KernelCall(
        "batch_matmul_s8", Dims(1, batch, rows, depth), Dims(1, batch, columns, depth), Dims(1, batch, rows, columns)
    )


def is_channel_broadcast(first: PteTensor, second: PteTensor) -> bool:
    """Whether one of two images is one number for each channel (cortex_m_ops_common.h: is_channel_broadcast)."""
    if len(first.sizes) != 4 or len(second.sizes) != 4 or first.sizes[1] != second.sizes[1]:
        return False
    return any(prod(tensor.sizes) == tensor.sizes[1] for tensor in (first, second))


class Kernel(NamedTuple):
    """A kernel of ExecuTorch that calls CMSIS-NN."""

    function: str
    """What it calls."""
    call: Callable[[ProgramCall], KernelCall]
    """The call that its arguments make. Raises NotRunError."""
    scratch: tuple[str, ...] = ()
    """Arguments that are planned scratch."""
    in_order: tuple[str, ...] = ()
    """Tensors that it reads and writes in the order of their sizes, and of which it does not ask how they lie."""


RESULT = "result"
"""Word for the tensor that a call writes, which is no argument by name."""
_IMAGE_KERNELS: Mapping[str, Kernel] = {
    "quantized_conv2d": Kernel("arm_convolve_wrapper_s8", _convolution, ("scratch",), ("weight",)),
    "quantized_depthwise_conv2d": Kernel("arm_depthwise_conv_wrapper_s8", _depthwise, ("scratch",), ("weight",)),
    "quantized_transpose_conv2d": Kernel(
        "arm_transpose_conv_wrapper_s8", _transpose_convolution, ("scratch", "output_scratch"), ("weight",)
    ),
    "quantized_avg_pool2d": Kernel("arm_avgpool_s8", _average_pool, ("scratch",)),
    "quantized_max_pool2d": Kernel("arm_max_pool_s8", _max_pool),
}
LINEAR = f"{BACKEND}quantized_linear"
KERNELS: Mapping[str, Kernel] = {
    **{f"{BACKEND}{name}": kernel for name, kernel in _IMAGE_KERNELS.items()},
    **{
        f"{BACKEND}{name}{NHWC}": kernel._replace(in_order=("input", *kernel.in_order, RESULT))
        for name, kernel in _IMAGE_KERNELS.items()
    },
    LINEAR: Kernel("arm_fully_connected_s8", _linear, in_order=("input", "weights", RESULT)),
    f"{BACKEND}quantized_add": Kernel("arm_elementwise_add_s8", _sum("elementwise_add_s8")),
    f"{BACKEND}quantized_mul": Kernel("arm_elementwise_mul_s8", _sum("elementwise_mul_s8")),
    f"{BACKEND}minimum": Kernel("arm_minimum_s8", _extreme("minimum_s8")),
    f"{BACKEND}maximum": Kernel("arm_maximum_s8", _extreme("maximum_s8")),
    f"{BACKEND}softmax": Kernel("arm_softmax_s8", _softmax, in_order=("input", RESULT)),
    f"{BACKEND}transpose": Kernel("arm_transpose_s8", _transpose, in_order=("input", RESULT)),
    f"{BACKEND}pad": Kernel("arm_pad_s8", _pad),
    f"{BACKEND}quantized_batch_matmul": Kernel(
        "arm_batch_matmul_s8", _batch_matmul, ("scratch",), ("lhs", "rhs_transposed", RESULT)
    ),
}
"""By operator."""
OWN: Mapping[str, str] = {
    f"{BACKEND}quantize_per_tensor": "it quantizes with the backend's own code",
    f"{BACKEND}dequantize_per_tensor": "it dequantizes with the backend's own code",
    f"{BACKEND}quantized_activation": "it looks each element up in a table of 256 integers",
    f"{BACKEND}quantized_div": "it divides in float",
}
"""Operators of the backend without a function of CMSIS-NN, and what they do, as clauses."""
AT_THE_BORDER = (f"{BACKEND}quantize_per_tensor", f"{BACKEND}dequantize_per_tensor")
"""Operators between float and integers, of which a program needs some."""
COPIES = {
    "dim_order_ops::_clone_dim_order": "it copies a tensor, into another order of memory where the orders differ",
    "dim_order_ops::_to_dim_order_copy": "it copies a tensor into another order of memory or type",
    "aten::permute_copy": "it copies a tensor into another order of its axes",
    "aten::transpose_copy": "it copies a tensor into another order of its axes",
    "aten::clone": "it copies a tensor",
}
"""Operators that only copy, and what they do, as clauses."""


# Scratch as it is planned in the file, and as a target needs it.
#
# Exporters plan scratch for one instruction set and do not say which; default builds compare nothing with it
# (backends/cortex_m/CMakeLists.txt: CORTEX_M_ENABLE_RUNTIME_CHECKS). A kernel looks whether there is a buffer, never
# how large it is. What each statement below says was seen in QEMU with CMSIS-NN 99f736a6 and gcc 12.2.


BLOCK = 124
"""Channels that arm_depthwise_conv_s8_opt takes at once on MVE (CH_IN_BLOCK_MVE)."""
COLUMNS = 4
"""Results of one pass of the kernels for MVE, each with its inputs in scratch."""


PLANS = ("plan", "overrun", "short-plan")
"""Causes of findings about a plan: what comes of it, where other memory is overwritten, and where that is not known."""


class Plan(NamedTuple):
    """What a program planned for a call, and what comes of it on a target."""

    given: tuple[int, ...]
    """Bytes of each scratch buffer in the file; none where the kernel allocates its scratch when it runs."""
    needed: tuple[int, ...]
    """Bytes that the target's kernel asks for."""
    verdict: RuntimeVerdict | None = None
    """What becomes of the call for it; None where it does."""
    reason: str = ""
    """Why, as a clause."""
    behind: int = 0
    """Bytes that are overwritten behind the scratch."""
    low: tuple[int, int] = (0, 0)
    """First address that is written for want of scratch, and one behind the last; equal where none is."""

    @property
    def cause(self) -> str:
        """Cause of the finding."""
        if self.verdict is RuntimeVerdict.UNDECIDED:
            return "short-plan"
        writes = self.behind > 0 or self.low[1] > self.low[0]
        return "overrun" if self.verdict is RuntimeVerdict.WRONG and writes else "plan"


def planned(call: ProgramCall) -> tuple[int, ...]:
    """Bytes of the planned scratch of a call, in the order of its kernel's buffers; none where none is planned.

    The kernel sums of a dense layer count as such: they are constants of the file that its kernel takes as a buffer.
    """
    if call.op == LINEAR:
        sums = call.tensor("kernel_sum")
        return (sums.bytes if sums else 0,)
    tensors = (call.tensor(name) for name in KERNELS[call.op].scratch)
    return tuple(tensor.bytes for tensor in tensors if tensor is not None)


def needed(call: ProgramCall, kernel_call: KernelCall, taken: Route) -> tuple[int, ...]:
    """Bytes that the kernel of a target asks for, buffer by buffer."""
    if kernel_call.function is Function.TRANSPOSE_CONV:
        return max(taken.buffer_size or 0, 0), max(taken.reverse_buffer_size or 0, 0)
    return (max(taken.buffer_size or 0, 0),) if call.op == LINEAR or KERNELS[call.op].scratch else ()


def exported(call: ProgramCall, kernel_call: KernelCall, isa: Isa, runtime: Runtime) -> tuple[int, ...]:
    """Bytes that an exporter plans for an instruction set.

    It asks functions of CMSIS-NN that were compiled for a desktop, and shows them the weights of a depthwise
    convolution as those of a convolution with one input channel (passes/scratch_buffer_sizes.py of 1.5.1).
    """
    shown = kernel_call
    if kernel_call.function is Function.DEPTHWISE:
        shown = kernel_call._replace(filter_dims=kernel_call.filter_dims._replace(n=kernel_call.filter_dims.c, c=1))
    target = Target("", isa, runtime.release)
    return needed(call, kernel_call, route(shown, runtime.library(kernel_call.entry, target)))


def written(kernel_call: KernelCall, taken: Route, isa: Isa) -> int | None:
    """Bytes from the first to the last that a kernel writes to its scratch; None where that is not known.

    arm_depthwise_conv_s8_opt.c:94-156 keeps the inputs of up to four results on MVE, each place of the window 124 bytes
    apart. arm_convolve_s8.c:128-250 keeps the windows of four results on MVE, each a multiple of 4 bytes apart; on DSP
    of two, widened to 16 bits, the window being read behind the first. Run in QEMU: 21 calls on Cortex-M55 and 15 on
    Cortex-M4, with CMSIS-NN 99f736a6 and gcc 12.2, wrote as many.
    """
    results = (kernel_call.output_dims.h or 0) * (kernel_call.output_dims.w or 0)
    window = (kernel_call.filter_dims.h or 0) * (kernel_call.filter_dims.w or 0)
    kernel = taken.chain[-1] if taken.chain else ""
    if kernel == "arm_depthwise_conv_s8_opt" and isa is not Isa.SCALAR:
        channels = kernel_call.input_dims.c or 0
        most = (min(COLUMNS, results) * window - 1) * BLOCK + min(BLOCK, channels)
        return most if isa is Isa.MVE else 2 * window * channels
    if kernel == "arm_convolve_s8" and kernel_call.function is Function.CONVOLVE and kernel_call.output_dims.n == 1:
        columns = window * (kernel_call.filter_dims.c or 0)
        apart = -(-columns // 4) * 4
        if isa is Isa.MVE:
            return (min(COLUMNS, results) - 1) * apart + columns
        return 2 * apart + columns * min(2, results) if isa is Isa.DSP else None
    return None


WITHOUT_SCRATCH = ("arm_convolve_1x1_s8", "arm_convolve_1x1_s8_fast")
"""Kernels that run without scratch. The second asks for some with armclang (arm_convolve_1x1_s8_fast.c:76)."""
LOST_BIAS = {
    Isa.SCALAR: "its bias is in the kernel sums alone, which only MVE reads: the result lacks the bias",
    Isa.MVE: "its kernel sums do not hold its bias, and MVE reads these alone: the result lacks the bias",
}
"""Where the bias of a dense layer is lost, and why: on MVE, or on what is not MVE."""


def plan_of(call: ProgramCall, kernel_call: KernelCall, taken: Route, target: Target, lost_bias: Isa | None) -> Plan:
    """What comes of a call's plan on a target; `lost_bias` is a key of LOST_BIAS where a bias is lost."""
    plan = Plan(planned(call), needed(call, kernel_call, taken))
    if call.op == LINEAR and lost_bias is (Isa.MVE if target.isa is Isa.MVE else Isa.SCALAR):
        return plan._replace(verdict=RuntimeVerdict.WRONG, reason=LOST_BIAS[lost_bias])
    if call.op == LINEAR and target.isa is not Isa.MVE:
        return plan
    short = next(((have, want) for have, want in zip(plan.given, plan.needed, strict=False) if have < want), None)
    size = written(kernel_call, taken, target.isa)
    if short is None or (short[0] and size is not None and size <= short[0]):
        return plan
    have, want = short
    if not have:
        return _without_scratch(plan, kernel_call, taken, want)
    text = f"the file has {have:,} bytes of scratch for it, and {taken.kernel}"
    if size is None:
        text = f"{text} asks for {want:,} on this target: it may write up to {want - have:,} bytes behind its scratch"
        return plan._replace(verdict=RuntimeVerdict.UNDECIDED, reason=text)
    text = f"{text} writes {size:,} on this target: {size - have:,} bytes behind its scratch are overwritten"
    return plan._replace(verdict=RuntimeVerdict.WRONG, reason=text, behind=size - have)


def _without_scratch(plan: Plan, kernel_call: KernelCall, taken: Route, want: int) -> Plan:
    """What comes of a call that asks for `want` bytes where the file has none.

    arm_depthwise_conv_wrapper_s8.c:45-82 writes the weights of a layer with one input channel behind the scratch of the
    convolution that it calls, and does not ask whether there is any.
    """
    what = "kernel sums" if kernel_call.function is Function.FULLY_CONNECTED else "scratch"
    text = f"the file has no {what} for it, where this target needs {want:,} bytes"
    ends = taken.kernel not in WITHOUT_SCRATCH
    if kernel_call.function is not Function.DEPTHWISE or taken.kernel == "arm_depthwise_conv_s8_opt":
        reason = f"{text}: {taken.kernel} returns an error"
        return plan._replace(verdict=RuntimeVerdict.REFUSED, reason=reason) if ends else plan
    low = (want - prod(size or 0 for size in kernel_call.filter_dims), want)
    text = f"{text}: its weights are written to addresses {low[0]:,} to {low[1] - 1:,}, over vectors or code"
    if not ends:
        return plan._replace(verdict=RuntimeVerdict.WRONG, reason=text, low=low)
    reason = f"{text}, and {taken.kernel} returns an error"
    return plan._replace(verdict=RuntimeVerdict.REFUSED, reason=reason, low=low)


def lost_bias(loaded: LoadedProgram, call: ProgramCall) -> Isa | None:
    """Where the bias of a dense layer is lost, a key of LOST_BIAS; None for nowhere.

    The exporter sums offset × (weight + weight offset) over each row of the weights, and adds the bias
    (passes/aten_to_cortex_m_pass.py: _compute_kernel_sum). Sums whose constants cannot be read count as holding one.
    MVE takes the sums for the bias, other code the bias (arm_nn_vec_mat_mult_t_s8.c:60-92).
    """
    sums, weights, bias = (call.tensor(name) for name in ("kernel_sum", "weights", "bias"))
    if call.op != LINEAR or sums is None or weights is None or len(weights.sizes) != 2:
        return None
    import numpy as np

    data = [loaded.program.bytes_of(tensor) for tensor in (sums, weights)]
    held = True
    if all(data) and weights.elem_type == "int8" and sums.elem_type == "int32":
        rows = np.frombuffer(data[1], np.int8).reshape(weights.shape).astype(np.int64) + call.number_of("filter_offset")
        totals = np.frombuffer(data[0], np.int32).reshape(-1)
        held = totals.size != len(rows) or bool((totals != call.number_of("input_offset") * rows.sum(axis=1)).any())
    if bias is None:
        return Isa.SCALAR if held else None
    return Isa.MVE if not held and any(loaded.program.bytes_of(bias)) else None


# What becomes of each call.


@dataclass(frozen=True)
class ProgramRow:
    """A call on one target."""

    subgraph: int
    """Number of its method."""
    index: int
    """Number of its instruction there."""
    op: str
    """Operator without its overload, or a delegate."""
    label: str
    """Its name in messages."""
    functions: tuple[str, ...]
    """Function of CMSIS-NN that is called; none for other code."""
    chain: tuple[str, ...]
    """Kernels of it in order of delegation."""
    verdict: RuntimeVerdict
    """What becomes of it."""
    reason: str
    """Why."""
    own: tuple[str, ...]
    """Reasons for wrong values that lie in ExecuTorch or in the program, not in a function of CMSIS-NN."""
    stage: str
    """`execute` for one at which the program stops; empty otherwise."""
    scratch: tuple[int, ...]
    """Bytes of each scratch buffer: as planned, or as needed where it is allocated when it runs."""
    call: KernelCall | None = None
    """Call of CMSIS-NN."""
    cause: str = ""
    """Cause of the finding about it; empty for none."""
    level: Level | None = None
    """A milder level than its rule's."""
    message: str = ""
    """What the firmware prints; not known."""

    @property
    def effect(self) -> Effect:
        """What it does to whoever runs the model."""
        return self.verdict.effect()


EXECUTE = "execute"
"""Stage at which kernels look at their arguments: `Method::execute`."""
NAME = "ExecuTorch"

BESIDE = {RuntimeVerdict.REFERENCE: Verdict.REFERENCE, RuntimeVerdict.UNDECIDED: Verdict.UNDECIDED}
"""What a call counts as that is none of CMSIS-NN; any other one is refused."""


class Interpretation:
    """What ExecuTorch does with a program, in builds for some targets."""

    def __init__(self, loaded: LoadedProgram, targets: tuple[Target, ...], runtime: Runtime, build: str) -> None:
        """Take the file; `build` is for TensorFlow Lite Micro alone."""
        del build
        self.loaded = loaded
        """The file and its graph."""
        self.targets = targets
        """CPUs with release and compiler."""
        self._runtime = runtime
        self._rows: dict[Target, tuple[ProgramRow, ...]] = {}

    @cached_property
    def _kernel_calls(self) -> tuple[KernelCall | NotRunError | None, ...]:
        """The call of CMSIS-NN of each call of the program, why its kernel ends before, or None for other code."""
        kernel_calls: list[KernelCall | NotRunError | None] = []
        for call in self.loaded.calls:
            kernel = KERNELS.get(call.op) if call.arguments and call.step.kind == "KernelCall" else None
            try:
                kernel_calls.append(kernel.call(call) if kernel else None)
            except NotRunError as reason:
                kernel_calls.append(reason)
        return tuple(kernel_calls)

    @cached_property
    def _biases(self) -> tuple[Isa | None, ...]:
        """Of each call, where the bias of a dense layer is lost."""
        return tuple(lost_bias(self.loaded, call) for call in self.loaded.calls)

    def _route(self, kernel_call: KernelCall, target: Target) -> Route:
        return route(kernel_call, self._runtime.library(kernel_call.entry, target))

    def rows(self, target: Target) -> tuple[ProgramRow, ...]:
        """What becomes of each call on a target, in file order."""
        if target not in self._rows:
            calls = zip(self.loaded.calls, self._kernel_calls, self._biases, strict=True)
            self._rows[target] = tuple(self._row(call, kernel_call, target, bias) for call, kernel_call, bias in calls)
        return self._rows[target]

    def plan(self, number: int, target: Target) -> Plan:
        """What comes on a target of the plan of a call that reaches CMSIS-NN; `number` is that of its node."""
        call, kernel_call = self.loaded.calls[number], self._kernel_calls[number]
        if not isinstance(kernel_call, KernelCall):
            raise TypeError(f"call {number} reaches no function of CMSIS-NN")
        return plan_of(call, kernel_call, self._route(kernel_call, target), target, self._biases[number])

    def _row(
        self, call: ProgramCall, kernel_call: KernelCall | NotRunError | None, target: Target, bias: Isa | None
    ) -> ProgramRow:
        front = (call.method, call.number, call.op, call.label)
        if isinstance(kernel_call, NotRunError):
            verdict = RuntimeVerdict.HALTS if kernel_call.aborts else RuntimeVerdict.REFUSED
            function = KERNELS[call.op].function
            return ProgramRow(
                *front, (), (), verdict, f"{kernel_call}, so that {function} is not called", (), EXECUTE, (),
                cause="check",
            )  # fmt: skip
        if kernel_call is None:
            return _beside(call, front)
        taken = self._route(kernel_call, target)
        plan = plan_of(call, kernel_call, taken, target, bias)
        wrong = _wrong(call)
        verdict = plan.verdict or (RuntimeVerdict.WRONG if wrong else RuntimeVerdict.CMSIS_NN)
        reasons = tuple(filter(None, (plan.reason, wrong)))
        return ProgramRow(
            *front,
            (KERNELS[call.op].function,),
            taken.chain,
            verdict,
            "; ".join(reasons),
            reasons if verdict is RuntimeVerdict.WRONG else (),
            EXECUTE if verdict in (RuntimeVerdict.REFUSED, RuntimeVerdict.HALTS) else "",
            plan.given or plan.needed,
            kernel_call,
            plan.cause if plan.verdict else "kernel" if wrong else "",
            Level.WARNING if verdict is RuntimeVerdict.UNDECIDED else None,
        )

    def operators(self, target: Target) -> tuple[FileOperator, ...]:
        """What becomes of each call, in file order."""
        pairs = zip(self.rows(target), self.loaded.graph.nodes, strict=True)
        return tuple(FileOperator(row, node, next(iter(node.outputs), "")) for row, node in pairs)

    @cached_property
    def lowered(self) -> Lowered:
        """The calls of CMSIS-NN, the same on every target, and what other code computes."""
        records = []
        graph = self.loaded.graph
        for node, row in zip(graph.nodes, self.rows(self.targets[0]), strict=True):
            if row.call is not None:
                records.append(LoweredLayer(node, Verdict.CMSIS_NN, layer=layer_of(graph, node, row.call)))
            elif row.op in COPIES or not operator_of(node).free:
                verdict = BESIDE.get(row.verdict, Verdict.REFUSED)
                records.append(LoweredLayer(node, verdict, Cause.RUNTIME, row.reason))
        return Lowered(tuple(records))

    @cached_property
    def remarks(self) -> tuple[RuntimeRemark, ...]:
        """What is to be said of the calls, target by target."""
        return tuple(remark for target in self.targets for remark in self._remarks(target))

    def _remarks(self, target: Target) -> Iterator[RuntimeRemark]:
        groups: dict[tuple[str, RuntimeVerdict, str, Level | None], list[Node]] = {}
        for row, node in zip(self.rows(target), self.loaded.graph.nodes, strict=True):
            if row.cause:
                groups.setdefault((row.cause, row.verdict, row.reason, row.level), []).append(node)
        for (cause, verdict, reason, level), nodes in groups.items():
            labels = tuple(node.label for node in nodes)
            text, do = f"{named(labels)}: {PHRASES[verdict]}{reason}.", ""
            if cause in PLANS:
                text, do = f"{text} {self.plan_text}", export_for(target)
            location = node_location(self.loaded.graph.path, nodes[0])
            yield RuntimeRemark(cause, verdict, text, location, labels, (target.label,), level, do=do)

    @cached_property
    def planned_for(self) -> tuple[Isa, ...]:
        """Instruction sets for which every plan of the program is what an exporter writes; none for no one plan."""
        fits = []
        for isa in Isa:
            pairs = zip(self.loaded.calls, self._kernel_calls, strict=True)
            if all(
                planned(call) in ((), exported(call, kernel_call, isa, self._runtime))
                for call, kernel_call in pairs
                if isinstance(kernel_call, KernelCall)
            ):
                fits.append(isa)
        return tuple(fits)

    @cached_property
    def plan_text(self) -> str:
        """What the program was planned for, as a sentence."""
        sets = " or ".join(isa.value.upper() if isa is not Isa.SCALAR else isa.value for isa in self.planned_for)
        return f"The program is planned for {sets} code." if sets else "No one instruction set explains its plan."

    @property
    def notes(self) -> tuple[str, ...]:
        """Which operators a build has to register."""
        names = dict.fromkeys(
            step.name for method in self.methods for step in method.steps if step.kind == "KernelCall"
        )
        listed = ",".join(names)
        return (f"The build registers these operators: EXECUTORCH_SELECT_OPS_LIST={listed}",) if listed else ()

    @property
    def path(self) -> str:
        """File as the user named it."""
        return self.loaded.program.path

    @property
    def methods(self) -> tuple[Method, ...]:
        """Entry points."""
        return self.loaded.program.methods

    def has_cost(self, node: Node, target: Target) -> bool:
        """Whether there can be a cost: not in a program that stops, nor of a call that is repeated for each place."""
        row = self.rows(target)[node.index]
        repeated = (
            row.call is not None and row.call.input_dims != row.call.filter_dims and "elementwise" in row.call.entry
        )
        return not repeated and not self.stop(target)

    def stop(self, target: Target) -> str:
        """What stops the program on a target, as words; empty where it runs."""
        return next((f"{row.label}: {row.reason}" for row in self.rows(target) if row.stage), "")

    def reference_range(self, node: Node, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of ExecuTorch's own code; None for what was not measured."""
        call = self.loaded.calls[node.index]
        source = self.methods[call.method].values[call.operands[0]] if call.operands else None
        if not isinstance(source, PteTensor) or call.written is None:
            return None
        return own_range(call.op, source, call.written, target, self._runtime)

    @property
    def resolver(self) -> None:
        """None: ExecuTorch registers its operators itself."""

    @property
    def constants(self) -> int:
        """Bytes of the constants, each place once."""
        spans = {
            value.data
            for method in self.methods
            for value in method.values
            if isinstance(value, PteTensor) and value.data is not None
        }
        return sum(span.length for span in spans)

    def scratch(self, target: Target) -> int | None:
        """Bytes of the largest scratch of a call; that of planned ones lies in the arena."""
        return max((sum(row.scratch) for row in self.rows(target)), default=0)

    def arena(self, target: Target) -> Arena | None:
        """The planned buffers of the method that has the largest ones."""
        return self.memory(target).arena

    def memory(self, target: Target) -> MemoryReport:
        """The buffers that the file plans, the same on every target; the method allocator comes on top."""
        number = max(range(len(self.methods)), key=lambda index: sum(self.methods[index].pools[1:]))
        method, calls = self.methods[number], [call for call in self.loaded.calls if call.method == number]
        starts = [sum(method.pools[1:pool]) for pool in range(len(method.pools))]
        plan = self._plan(number, method, calls, starts)
        rows = {row.index: row for row in self.rows(target) if row.subgraph == number}
        scratch = tuple(
            LayerScratch(number, step, rows[call.number].label, size)
            for step, call in enumerate(calls, 1)
            for size in rows[call.number].scratch
            if size
        )
        whole = sum(method.pools[1:])
        changes = [0] * (len(calls) + 2)
        for life in plan:
            changes[life.first] += life.bytes
            changes[life.last + 1] -= life.bytes
        alive = tuple(accumulate(changes[:-1]))
        arena = Arena(
            whole, 0, whole, {}, scratch, plan, alive, tuple(f"{call.op} '{call.label}'" for call in calls), PLANNED
        )
        return MemoryReport(target.label, arena=arena)

    def _plan(self, number: int, method: Method, calls: list[ProgramCall], starts: list[int]) -> tuple[BufferLife, ...]:
        """Every planned tensor with the steps that need it; step 0 is the caller before the first call."""
        steps: dict[int, list[int]] = {index: [0] for index in method.inputs}
        writers: dict[int, str] = {}
        for step, call in enumerate(calls, 1):
            for index in call.step.args:
                value = method.values[index]
                for inner in value.items if isinstance(value, ValueList) else (index,):
                    steps.setdefault(inner, []).append(step)
            writers |= {index: call.label for index in call.results if index not in writers}
            held = (name for name in KERNELS[call.op].scratch) if call.op in KERNELS else ()
            scratch = [call.arguments.get(name) for name in held]
            writers |= {index: call.label for index in call.step.args if method.values[index] in scratch and scratch}
        for index in method.outputs:
            steps.setdefault(index, []).append(len(calls))
        lives: dict[tuple[str, int], BufferLife] = {}
        for index, value in enumerate(method.values):
            if isinstance(value, PteTensor) and value.pool and value.bytes and index in steps:
                name = self.loaded.keys.get((number, index), f"scratch of {writers.get(index, '')}")
                first, last = min(steps[index]), max(steps[index])
                offset = starts[value.pool] + value.offset
                life = BufferLife(name, writers.get(index, ""), value.bytes, first, last, offset)
                before = lives.setdefault((name, offset), life)  # of a view that was left out
                lives[name, offset] = before._replace(first=min(before.first, first), last=max(before.last, last))
        return tuple(lives.values())


def export_for(target: Target) -> str:
    """How a program is exported for a target, as a sentence (backends/cortex_m/target_config.py)."""
    cpu = target.cpu.removeprefix("cortex-").partition("+no")[0].upper()
    cpu = EXPORTED_AS.get(cpu, cpu)
    config = f"CortexMTargetConfig(CortexM.{cpu}, isa=cmsis_nn.Backend.{target.isa.value.upper()})"
    return f"Export it again with CortexMPassManager(program, target_config={config})."


EXPORTED_AS = {"M0+": "M0PLUS", "M52": "M55"}
"""CPUs that an exporter names otherwise, or has another name for with the same instruction sets (target_config.py)."""
PLANNED = "the buffers that the file plans; the method allocator and temporary memory come on top"
"""What the figures of an arena are."""
PHRASES = {
    RuntimeVerdict.CMSIS_NN: "",
    RuntimeVerdict.REFERENCE: f"{NAME} runs its own code, no CMSIS-NN: ",
    RuntimeVerdict.REFUSED: f"{NAME}'s execute returns an error: ",
    RuntimeVerdict.HALTS: f"{NAME} aborts, or a fault ends it: ",
    RuntimeVerdict.WRONG: "wrong with no error: ",
    RuntimeVerdict.UNDECIDED: "not decided: ",
}
"""What each verdict says, and how it goes on."""


def _beside(call: ProgramCall, front: tuple[int, int, str, str]) -> ProgramRow:
    """A call of no function of CMSIS-NN."""
    if call.step.kind == "DelegateCall":
        reason = f"the delegate {call.op} computes it, which is not looked at"
        return ProgramRow(
            *front, (), (), RuntimeVerdict.UNDECIDED, reason, (), "", (), cause="not-reviewed", level=Level.NOTE
        )
    if call.op in SIGNATURES and not call.arguments:
        reason = f"{call.op} has {call.given} arguments here, as in no revision that was reviewed"
    elif call.op.startswith(BACKEND.rstrip(":")) and call.op not in SIGNATURES:
        reason = f"{call.op} is no operator of a revision that was reviewed"
    else:
        known = OWN.get(call.op) or COPIES.get(call.op)
        kind = call.written.elem_type if call.written else ""
        reason = known or f"portable code computes it{f' in {kind}' if kind else ''}"
        level = Level.NOTE if known else None
        silent = call.op in AT_THE_BORDER
        return ProgramRow(
            *front, (), (), RuntimeVerdict.REFERENCE, reason, (), "", (),
            cause="" if silent else "no-function", level=level,
        )  # fmt: skip
    return ProgramRow(
        *front, (), (), RuntimeVerdict.UNDECIDED, reason, (), "", (), cause="not-reviewed", level=Level.WARNING
    )


def _wrong(call: ProgramCall) -> str:
    """What a kernel does not look at and gets wrong, as a clause; empty where it is right."""
    tensors = {name: call.tensor(name) for name in KERNELS[call.op].in_order if name != RESULT} | {RESULT: call.written}
    turned = [
        name for name, tensor in tensors.items() if name in KERNELS[call.op].in_order and tensor and _axes(tensor)
    ]
    if turned:
        return (
            f"its {turned[0]} lies in another order of memory than that of its sizes, which the kernel does not look at"
        )
    if call.op == LINEAR:
        return _wrong_dense(call)
    if "convolve" in KERNELS[call.op].function:
        weights = _tensor(call, "weight").sizes[0]
        channels = call.written.sizes[-1 if call.op.endswith(NHWC) else 1] if call.written else weights
        return "" if weights == channels else f"its weights are for {weights} channels, and its result has {channels}"
    return _wrong_pair(call)


def _axes(tensor: PteTensor) -> tuple[int, ...]:
    """Axes of more than one element from the slowest to the fastest; none where that is the order of the sizes."""
    axes = tuple(axis for axis in tensor.order if tensor.sizes[axis] != 1)
    return () if axes == tuple(sorted(axes)) else axes


def _wrong_pair(call: ProgramCall) -> str:
    """What of two operands a kernel does not look at, as a clause."""
    first, second, result = call.tensor("self"), call.tensor("other"), call.written
    if first is None or second is None or result is None:
        return ""
    extreme = call.op in (f"{BACKEND}minimum", f"{BACKEND}maximum")
    if extreme and any(prod(tensor.sizes[:-4]) > 1 for tensor in (first, second, result)):
        return "it has more than four axes, and the kernel takes the last four alone (op_minimum.cpp)"
    if extreme and first.sizes != second.sizes and min(prod(first.sizes), prod(second.sizes)) > 1:
        several = any(map(_axes, (first, second, result)))
    elif extreme:
        several = len({_axes(tensor) for tensor in (first, second, result) if prod(tensor.sizes) > 1}) > 1
    elif is_channel_broadcast(first, second) and first.sizes != second.sizes:
        large = max((first, second), key=lambda tensor: prod(tensor.sizes))
        last = is_channels_last(large) and is_channels_last(result)
        return "" if last else "it takes one number for each channel, and its image does not have its channels last"
    else:
        several = len({*map(_axes, (first, second, result))}) > 1
    return "its operands lie in different orders of memory, which the kernel does not look at" if several else ""


def _wrong_dense(call: ProgramCall) -> str:
    """What of its tensors a dense layer does not look at, as a clause (op_quantized_linear.cpp looks at none)."""
    source, weights, result = call.tensor("input"), call.tensor("weights"), call.written
    if source is None or weights is None or result is None:
        return ""
    kinds = {"input": source, "weights": weights, "bias": call.tensor("bias"), "kernel_sum": call.tensor("kernel_sum")}
    for name, tensor in {**kinds, RESULT: result}.items():
        read = "int32" if name in ("bias", "kernel_sum") else "int8"
        if tensor is not None and tensor.elem_type != read:
            return f"its {name} is {tensor.elem_type}, which the kernel takes as {read}"
    taken = (*result.sizes[-1:], *source.sizes[-1:])
    return "" if weights.sizes == taken else f"its weights are {list(weights.sizes)}, which it takes as {list(taken)}"
