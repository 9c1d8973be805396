"""Padding as TensorFlow Lite knows it: SAME, VALID, a PAD operator in front, or a SLICE behind."""

from __future__ import annotations

from onnxlint_cmsis.ground.types import Function, KernelCall, Pair
from onnxlint_cmsis.model.windows import halves, reach, same_padding
from onnxlint_cmsis.runtimes.runtime import Runtime

PADDED = (Function.CONVOLVE, Function.DEPTHWISE, Function.MAX_POOL)
"""Functions of layers in front of which a PAD can stand for their padding."""


def becomes_pad(call: KernelCall) -> bool:
    """Tell whether the padding of a call is known to be neither SAME nor VALID."""
    if call.function not in PADDED or not any((*call.padding, *call.pad_after)):
        return False
    return not all(_same(call, axis) for axis in (0, 1))


def handed_over(call: KernelCall, runtime: Runtime) -> KernelCall | None:
    """A call as a runtime makes it, behind a PAD where padding asks for one; None where it cannot express it."""
    if not runtime.reads_tflite:
        return call
    return behind_pad(call) if becomes_pad(call) else call if expressible(call) else None


def expressible(call: KernelCall) -> bool:
    """Tell whether TensorFlow Lite has the padding of a transposed convolution: SAME puts the smaller half before."""
    pairs = zip(call.padding, call.pad_after, strict=True)
    known = [(before, after) for before, after in pairs if before is not None and after is not None]
    return call.function is not Function.TRANSPOSE_CONV or all(b == (b + a) // 2 for b, a in known)


def _same(call: KernelCall, axis: int) -> bool:
    """Tell whether SAME gives the padding along an axis (lite/kernels/padding.h); true where a size is unknown."""
    size, kernel = (call.input_dims.h, call.input_dims.w)[axis], (call.filter_dims.h, call.filter_dims.w)[axis]
    before, after = call.padding[axis], call.pad_after[axis]
    stride, dilation = call.stride[axis], call.dilation[axis]
    if size is None or kernel is None or before is None or after is None or not stride or dilation is None:
        return True
    return (before, after) == same_padding(size, reach(kernel, dilation), stride)


def loses_padding(call: KernelCall) -> bool:
    """Tell if an average pool has a padding that is neither SAME nor VALID; the zeros of a PAD would count along."""
    padded = call.function is Function.AVERAGE_POOL and any((*call.padding, *call.pad_after))
    return padded and not all(_same(call, axis) for axis in (0, 1))


def becomes_slice(call: KernelCall) -> bool:
    """Tell whether a transposed convolution is cut in a way that neither SAME nor VALID is (lite/kernels/padding.h)."""
    if call.function is not Function.TRANSPOSE_CONV or not any((*call.padding, *call.pad_after)):
        return False
    return not all(_same_transposed(call, axis) for axis in (0, 1))


def _same_transposed(call: KernelCall, axis: int) -> bool:
    """Tell whether the output is that of SAME: stride times as large, cut by half on each side; true where unknown."""
    size, kernel = (call.input_dims.h, call.input_dims.w)[axis], (call.filter_dims.h, call.filter_dims.w)[axis]
    length, stride = (call.output_dims.h, call.output_dims.w)[axis], call.stride[axis]
    before, after = call.padding[axis], call.pad_after[axis]
    if size is None or kernel is None or length is None or not stride or before is None or after is None:
        return True
    return (length, before, after) == (size * stride, *halves(max(kernel - stride, 0)))


def behind_pad(call: KernelCall) -> KernelCall:
    """The call of the layer behind a PAD that takes its padding over."""
    plane = (call.input_dims.h, call.input_dims.w)
    height, width = (
        None if None in (size, before, after) else (size or 0) + (before or 0) + (after or 0)
        for size, before, after in zip(plane, call.padding, call.pad_after, strict=True)
    )
    dims = call.input_dims._replace(h=height, w=width)
    return call._replace(input_dims=dims, padding=Pair(0, 0), pad_after=Pair(0, 0))
