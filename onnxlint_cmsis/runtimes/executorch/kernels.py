"""Operators of ExecuTorch's backend for Cortex-M: the function of CMSIS-NN that each calls, or what it does itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from onnxlint_cmsis.formats.format import RELEASES
from onnxlint_cmsis.formats.pte.calls import ProgramCall
from onnxlint_cmsis.formats.pte.names import BACKEND, NHWC
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.runtimes.executorch import calls


class Handed(str, Enum):
    """The buffer that a kernel hands to CMSIS-NN."""

    PLANNED = "planned"
    """Scratch of the program, or its constant kernel sums."""
    ALLOCATED = "allocated"
    """Memory of the temporary allocator, as much as the function that is called asks for."""
    GENERAL = "general"
    """The same, as much as arm_convolve_s8 asks for, whatever the wrapper chooses."""
    NONE = "none"
    """A null pointer, whatever the function asks for."""


class Kernel(NamedTuple):
    """A kernel of ExecuTorch that calls CMSIS-NN, in some releases."""

    function: str
    """What it calls."""
    call: Callable[[ProgramCall], KernelCall]
    """The call that its arguments make. Raises NotRunError."""
    scratch: tuple[str, ...] = ()
    """Arguments that are planned scratch, in releases that plan it."""
    in_order: tuple[str, ...] = ()
    """Tensors that it reads and writes in the order of their sizes, and of which it does not ask how they lie."""
    since: str = "1.1.0"
    """First release with it."""
    until: str = ""
    """First release with another one; empty where the newest has it."""
    handed: Handed = Handed.PLANNED
    """The buffer that it hands over."""
    unseen: tuple[str, ...] = ()
    """Images that it takes as int8 with their channels last, without a look."""
    wrong: str = ""
    """What it gets wrong in every call, as a clause."""


RESULT = "result"
"""Word for the tensor that a call writes, which is no argument by name."""
CONV = Kernel("arm_convolve_wrapper_s8", calls.convolution, ("scratch",), ("weight",))
DEPTHWISE = Kernel("arm_depthwise_conv_wrapper_s8", calls.depthwise, ("scratch",), ("weight",))
TRANSPOSED = Kernel(
    "arm_transpose_conv_wrapper_s8",
    calls.transpose_convolution,
    ("scratch", "output_scratch"),
    ("weight",),
    since="1.2.0",
)
AVERAGE = Kernel("arm_avgpool_s8", calls.average_pool, ("scratch",))
ADD = Kernel("arm_elementwise_add_s8", calls.total("elementwise_add_s8"))
PAD = Kernel("arm_pad_s8", calls.pad)
MATMUL = Kernel(
    "arm_batch_matmul_s8", calls.batch_matmul, ("scratch",), ("lhs", "rhs_transposed", RESULT), since="1.2.0"
)
SWAPPED = (
    "its kernel hands the number of elements over as the lower limit, -128 as the upper one and 127 as the number of "
    "elements (op_quantized_add.cpp:93-109): 127 elements become -128, whatever its result holds"
)
_IMAGE_KERNELS: Mapping[str, tuple[Kernel, ...]] = {
    "quantized_conv2d": (
        CONV._replace(call=calls.convolution_of_1_1, until="1.2.0", handed=Handed.GENERAL),
        CONV._replace(
            call=calls.convolution_until_cff6f4dd, since="1.2.0", until="1.3.0", handed=Handed.GENERAL, unseen=(RESULT,)
        ),
        CONV._replace(
            call=calls.convolution_until_cff6f4dd,
            since="1.3.0",
            until="1.4.0",
            handed=Handed.ALLOCATED,
            unseen=(RESULT,),
        ),
        CONV._replace(call=calls.convolution_until_cff6f4dd, since="1.4.0", until="cff6f4dd", unseen=(RESULT,)),
        CONV._replace(since="cff6f4dd", until=calls.FOUR_SINCE),
        CONV._replace(call=calls.convolution_of_1_6, since=calls.FOUR_SINCE),
    ),
    "quantized_depthwise_conv2d": (
        DEPTHWISE._replace(until="1.4.0", handed=Handed.ALLOCATED),
        DEPTHWISE._replace(since="1.4.0", until=calls.FOUR_SINCE),
        DEPTHWISE._replace(call=calls.depthwise_of_1_6, since=calls.FOUR_SINCE),
    ),
    "quantized_transpose_conv2d": (
        TRANSPOSED._replace(until="1.4.0", handed=Handed.ALLOCATED),
        TRANSPOSED._replace(since="1.4.0"),
    ),
    "quantized_avg_pool2d": (
        AVERAGE._replace(call=calls.average_pool_of_1_1, until="1.2.0", handed=Handed.NONE, unseen=("input", RESULT)),
        AVERAGE._replace(since="1.2.0", until="1.4.0", handed=Handed.NONE),
        AVERAGE._replace(since="1.4.0"),
    ),
    "quantized_max_pool2d": (Kernel("arm_max_pool_s8", calls.max_pool, since="1.2.0"),),
}
NHWC_SINCE = "1.5.1"
"""First release with operators of explicit layout."""
LINEAR = f"{BACKEND}quantized_linear"
KERNELS: Mapping[str, tuple[Kernel, ...]] = {
    **{f"{BACKEND}{name}": kernels for name, kernels in _IMAGE_KERNELS.items()},
    **{
        f"{BACKEND}{name}{NHWC}": tuple(
            kernel._replace(
                in_order=("input", *kernel.in_order, RESULT),
                since=max(kernel.since, NHWC_SINCE, key=RELEASES.__getitem__),
            )
            for kernel in kernels
            if not kernel.until or RELEASES[kernel.until] > RELEASES[NHWC_SINCE]
        )
        for name, kernels in _IMAGE_KERNELS.items()
    },
    LINEAR: (Kernel("arm_fully_connected_s8", calls.linear, in_order=("input", "weights", RESULT)),),
    f"{BACKEND}quantized_add": (ADD._replace(since="1.0.1", until="1.1.0", wrong=SWAPPED), ADD),
    f"{BACKEND}quantized_mul": (Kernel("arm_elementwise_mul_s8", calls.total("elementwise_mul_s8")),),
    f"{BACKEND}minimum": (Kernel("arm_minimum_s8", calls.extreme("minimum_s8")),),
    f"{BACKEND}maximum": (Kernel("arm_maximum_s8", calls.extreme("maximum_s8")),),
    f"{BACKEND}softmax": (Kernel("arm_softmax_s8", calls.softmax, in_order=("input", RESULT)),),
    f"{BACKEND}transpose": (Kernel("arm_transpose_s8", calls.transpose, in_order=("input", RESULT)),),
    f"{BACKEND}pad": (
        PAD._replace(call=calls.pad_of_1_2, since="1.2.0", until="1.3.0", in_order=("input", RESULT)),
        PAD._replace(since="1.3.0"),
    ),
    f"{BACKEND}quantized_batch_matmul": (
        MATMUL._replace(until="1.4.0", handed=Handed.ALLOCATED),
        MATMUL._replace(since="1.4.0"),
    ),
}
"""By operator, oldest first.

Source: backends/cortex_m/ops/*.cpp at the tags v1.0.1, v1.1.0, v1.2.0, v1.3.0, v1.3.1, v1.4.0, v1.4.1 and at cff6f4dd,
file by file. Of 1.5.1 and 1.6.0 they were not read.
"""


def kernel_of(op: str, day: str) -> Kernel | None:
    """The kernel of an operator in the release of a day; None where it has none that calls CMSIS-NN."""
    rows = (row for row in KERNELS.get(op, ()) if RELEASES[row.since] <= day)
    return next((row for row in rows if not row.until or day < RELEASES[row.until]), None)


OWN: Mapping[str, str] = {
    f"{BACKEND}quantize_per_tensor": "it quantizes with the backend's own code",
    f"{BACKEND}dequantize_per_tensor": "it dequantizes with the backend's own code",
    f"{BACKEND}quantized_activation": "it looks each element up in a table of 256 integers",
    f"{BACKEND}quantized_div": "it divides in float",
}
"""Operators of the backend without a function of CMSIS-NN, and what they do, as clauses."""
WIDER_SINCE = "1.3.0"
"""First release in which the operators between float and integers take int16 (op_quantize_per_tensor.cpp)."""
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
