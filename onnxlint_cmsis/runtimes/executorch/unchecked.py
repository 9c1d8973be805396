"""What a kernel of ExecuTorch does not look at and gets wrong, silently."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from onnxlint_cmsis.formats.pte.calls import ProgramCall, is_channels_last
from onnxlint_cmsis.formats.pte.names import BACKEND, NHWC
from onnxlint_cmsis.formats.pte.program_records import PteTensor
from onnxlint_cmsis.runtimes.executorch.calls import is_channel_broadcast, tensor_of
from onnxlint_cmsis.runtimes.executorch.kernels import LINEAR, RESULT, Kernel


def unchecked(call: ProgramCall, kernel: Kernel) -> str | None:
    """What a kernel does not look at and gets wrong, as a clause; None where it is right."""
    if kernel.wrong:
        return kernel.wrong
    if said := next(_of_images(call, kernel), ""):
        return said
    if call.op == LINEAR:
        return _wrong_dense(call)
    if "convolve" in kernel.function:
        weights = tensor_of(call, "weight").sizes[0]
        channels = call.written.sizes[-1 if call.op.endswith(NHWC) else 1] if call.written else weights
        return None if weights == channels else f"its weights are for {weights} channels, and its result has {channels}"
    return _wrong_pair(call)


def _of_images(call: ProgramCall, kernel: Kernel) -> Iterator[str]:
    """What a kernel takes for granted of how tensors lie, or of their type, as clauses."""
    tensors = {name: call.tensor(name) for name in (*kernel.in_order, *kernel.unseen)} | {RESULT: call.written}
    for name in kernel.in_order:
        tensor = tensors[name]
        if tensor is not None and moved_axes(tensor):
            yield (f"its {name} lies in another order of memory than that of its sizes, and the kernel ignores that")
    for name in kernel.unseen:
        tensor = tensors[name]
        if tensor is not None and tensor.elem_type != "int8":
            yield f"its {name} is {tensor.elem_type}, which the kernel takes as int8"
        if tensor is not None and not is_channels_last(tensor):
            yield f"its {name} does not have its channels last in memory, which the kernel does not look at"


def moved_axes(tensor: PteTensor) -> tuple[int, ...]:
    """Axes of more than one element from the slowest to the fastest; none where that is the order of the sizes."""
    axes = tuple(axis for axis in tensor.order if tensor.sizes[axis] != 1)
    return () if axes == tuple(sorted(axes)) else axes


def misread(written: PteTensor, read: PteTensor) -> bool:
    """Tell whether a view without a call reads bytes in another order than they were written in.

    A reshape keeps the order of elements, so that sizes may change where both lie in the order of their sizes.
    """
    lie = [tuple(tensor.sizes[axis] for axis in tensor.order if tensor.sizes[axis] != 1) for tensor in (written, read)]
    return any(map(moved_axes, (written, read))) and lie[0] != lie[1]


def _wrong_pair(call: ProgramCall) -> str | None:
    """What of two operands a kernel does not look at, as a clause."""
    first, second, result = call.tensor("self"), call.tensor("other"), call.written
    if first is None or second is None or result is None:
        return None
    extreme = call.op in (f"{BACKEND}minimum", f"{BACKEND}maximum")
    if extreme and any(prod(tensor.sizes[:-4]) > 1 for tensor in (first, second, result)):
        return "it has more than four axes, and the kernel takes the last four alone (op_minimum.cpp)"
    if extreme and first.sizes != second.sizes and min(prod(first.sizes), prod(second.sizes)) > 1:
        several = any(map(moved_axes, (first, second, result)))
    elif extreme:
        several = len({moved_axes(tensor) for tensor in (first, second, result) if prod(tensor.sizes) > 1}) > 1
    elif is_channel_broadcast(first, second) and first.sizes != second.sizes:
        large = max((first, second), key=lambda tensor: prod(tensor.sizes))
        last = is_channels_last(large) and is_channels_last(result)
        return None if last else "it takes one number for each channel, and its image does not have its channels last"
    else:
        several = len({*map(moved_axes, (first, second, result))}) > 1
    return "its operands lie in different orders of memory, and the kernel ignores that" if several else None


def _wrong_dense(call: ProgramCall) -> str | None:
    """What of its tensors a dense layer does not look at, as a clause (op_quantized_linear.cpp looks at none)."""
    source, weights, result = call.tensor("input"), call.tensor("weights"), call.written
    if source is None or weights is None or result is None:
        return None
    kinds = {"input": source, "weights": weights, "bias": call.tensor("bias"), "kernel_sum": call.tensor("kernel_sum")}
    for name, tensor in {**kinds, RESULT: result}.items():
        read = "int32" if name in ("bias", "kernel_sum") else "int8"
        if tensor is not None and tensor.elem_type != read:
            return f"its {name} is {tensor.elem_type}, which the kernel takes as {read}"
    taken = (*result.sizes[-1:], *source.sizes[-1:])
    return None if weights.sizes == taken else f"its weights are {list(weights.sizes)}, which it takes as {list(taken)}"
