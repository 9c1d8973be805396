"""One node as a kernel call, with the tensors that hold its channel counts and the layout of its sizes."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function, KernelCall, Size
from onnxlint_cmsis.model.graph import Node


class Channel(NamedTuple):
    """Tensor and axis of a channel count."""

    tensor: str
    """Tensor that carries it: the weights where the layer has any, an activation else."""
    axis: int
    """Axis of that tensor."""
    factor: int = 1
    """The call's count is this many times the axis' size (groups, for the input channels of a grouped convolution)."""


class Layer(NamedTuple):
    """One ONNX node as a CMSIS-NN kernel call."""

    node: Node
    """The node whose operator the kernel computes."""
    call: KernelCall
    """The call."""
    channels: dict[str, Channel] = {}  # noqa: RUF012
    """Where the call's channel counts live, under CMSIS-NN's names (`input_dims.c`, `output_dims.c`, `ch_mult`).

    `ch_mult` lives in the output channels, which are the input channels times it.
    """
    groups: int = 1
    """Groups of a convolution."""
    assumed: bool = False
    """The model computes in float here; the call is the integer layer it will become."""
    macs: int | None = None
    """Multiply-accumulates, None where undecided or meaningless."""
    folded: tuple[str, ...] = ()
    """Labels of Pad nodes whose padding the call includes."""
    fused: tuple[Node, ...] = ()
    """Nodes behind this one that its kernel computes along: clamps, and BatchNormalization in the weights."""
    once: bool = False
    """The first run alone computes it (`Graph.once`): it costs later runs nothing."""

    def resized(self, variable: str, size: int) -> KernelCall:
        """The call after a channel count changed, with every number that follows from it.

        `input_dims.c` carries the filter's input channels (per group) along, `ch_mult` and the input channels of a
        depthwise layer its output channels, `output_dims.c` the filter's count.
        """
        call, dims = self.call, self.call.input_dims
        depthwise = call.function is Function.DEPTHWISE
        if variable == "output_dims.c":
            return _with_output(call, size, depthwise)
        if variable == "ch_mult":
            return _with_output(call, (0 if dims.c is None else dims.c) * size, depthwise)._replace(ch_mult=size)
        if variable != "input_dims.c":
            raise ValueError(f"{variable} is not a channel count; use input_dims.c, output_dims.c or ch_mult")
        call = call._replace(input_dims=dims._replace(c=size))
        if depthwise:
            return _with_output(call, size * (call.ch_mult or 1), depthwise)
        if call.function is Function.FULLY_CONNECTED:
            return call._replace(filter_dims=call.filter_dims._replace(n=size))
        return call._replace(filter_dims=call.filter_dims._replace(c=size // self.groups))


def _with_output(call: KernelCall, size: int, depthwise: bool) -> KernelCall:
    last = depthwise or call.function is Function.FULLY_CONNECTED
    filter_dims = call.filter_dims._replace(c=size) if last else call.filter_dims._replace(n=size)
    return call._replace(output_dims=call.output_dims._replace(c=size), filter_dims=filter_dims)


def product_of(*sizes: Size) -> int | None:
    """Product of sizes, None where one is unknown."""
    total = 1
    for size in sizes:
        if size is None:
            return None
        total *= size
    return total
