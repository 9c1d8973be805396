"""Where a window lies along an axis: how far it reaches, how often it fits, and what padding that asks for."""

from __future__ import annotations


def reach(kernel: int, dilation: int) -> int:
    """Return the positions from the first tap to the last, both included."""
    return (kernel - 1) * dilation + 1


def places(size: int, span: int, stride: int, before: int = 0, after: int = 0) -> int:
    """Return how often a window of `span` fits: 0 or less where it is longer than the axis and its padding."""
    return (size + before + after - span) // stride + 1


def rounded_up(size: int, span: int, stride: int, before: int, after: int) -> int:
    """Return the windows of a pool with `ceil_mode`, as ONNX Runtime counts them.

    The last one has to start inside the input or the padding before (onnxruntime pool_attributes.h; so does PyTorch's
    pooling_output_size).
    """
    steps = -(-(size + before + after - span) // stride)
    return steps + (steps * stride < size + before)


def same_places(size: int, stride: int) -> int:
    """Return how often a window stands with SAME padding (tensorflow/lite/kernels/padding.h, ComputeOutSize)."""
    return -(-size // stride)


def padding_for(count: int, size: int, span: int, stride: int) -> int:
    """Return the whole padding that `count` windows reach over; negative where they leave some input."""
    return (count - 1) * stride + span - size


def same_padding(size: int, span: int, stride: int) -> tuple[int, int]:
    """Return the padding of SAME (SAME_UPPER in ONNX), the smaller half and the larger."""
    return halves(max(padding_for(same_places(size, stride), size, span, stride), 0))


def halves(total: int) -> tuple[int, int]:
    """Split padding: the smaller half stands before in SAME."""
    return total // 2, total - total // 2
