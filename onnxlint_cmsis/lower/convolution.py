"""Conv, ConvInteger, QLinearConv, FusedConv and ConvTranspose as kernel calls."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.types import Dims, Function, KernelCall, Pair, Size
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import UNDECIDED, Cause, Decision, no_kernel
from onnxlint_cmsis.lower.dims import Shape
from onnxlint_cmsis.lower.layer import Channel, Layer, product_of
from onnxlint_cmsis.lower.pads import fold_pads
from onnxlint_cmsis.lower.sliding_window import SlidingWindow, pair, window
from onnxlint_cmsis.lower.stored_types import data_type
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.window_attributes import window_misfit
from onnxlint_cmsis.model.windows import reach


def lower_convolution(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower a convolution; a decision says why CMSIS-NN has no form for it.

    Input NCW or NCHW, weights [out_c, in_c / group, (h,) w]; the call is NHWC with height 1 for NCW. A group per
    input channel makes a depthwise layer; what one group over one channel makes is for `assume` to say.
    """
    shapes = _shapes(graph, node)
    if isinstance(shapes, Decision):
        return shapes
    tensor, weights, shape, filter_shape = shapes
    groups = node.int("group", 1)
    kernel = node.ints("kernel_shape") or filter_shape[2:]
    if groups < 1:
        return no_kernel(Cause.ATTRIBUTE, f"its group is {groups}; at least 1 is allowed")
    folded = fold_pads(graph, node, tensor, kernel)
    source = graph.shape(folded.source) if folded else shape
    plane = window(node, (source or shape)[2:], kernel, folded)
    kind, assumed = data_type(graph, tensor, weights, assume)
    in_c = shape[1] if shape[1] is not None or filter_shape[1] is None else filter_shape[1] * groups
    depthwise = groups == in_c and (groups > 1 or assume.one_channel == "depthwise")
    call = _call(plane, (shape[0], in_c), filter_shape, depthwise)
    call = call._replace(entry=(Function.DEPTHWISE if depthwise else Function.CONVOLVE).entry(kind))
    channels = _channels(tensor, weights, groups, depthwise)
    macs = product_of(call.output_dims.n, plane.output.h, plane.output.w, *filter_shape)
    return Layer(node, call, channels, 1 if depthwise else groups, assumed, macs, folded.labels() if folded else ())


def lower_transpose(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower ConvTranspose: weights [in_c, out_c / group, (h,) w], output size by ONNX's formula."""
    shapes = _shapes(graph, node)
    if isinstance(shapes, Decision):
        return shapes
    tensor, weights, shape, filter_shape = shapes
    kind, assumed = data_type(graph, tensor, weights, assume)
    dilated = any(d != 1 for d in node.ints("dilations"))
    if node.int("group", 1) != 1 or (dilated and not assume.stays_float):
        dilations = ", ".join(map(str, node.ints("dilations"))) or "1"
        return no_kernel(
            Cause.ATTRIBUTE, f"its group is {node.int('group', 1)}, its dilations {dilations}; all have to be 1"
        )
    plane, pads = _transposed_plane(node, shape, filter_shape)
    kernel, stride = pair(filter_shape[2:], 1), pair(node.ints("strides") or (1,) * (len(shape) - 2), 1)
    call = KernelCall(
        Function.TRANSPOSE_CONV.entry(kind),
        _dims(shape[0], pair(shape[2:], 1), shape[1]),
        _dims(filter_shape[1], kernel, filter_shape[0]),
        _dims(shape[0], plane, filter_shape[1]),
        stride, pads[0], pads[1], pair(node.ints("dilations") or (1,) * (len(shape) - 2), 1),
    )  # fmt: skip
    channels = {"input_dims.c": Channel(weights, 0), "output_dims.c": Channel(weights, 1)}
    return Layer(node, call, channels, 1, assumed, product_of(shape[0], *shape[2:], *filter_shape))


def _shapes(graph: Graph, node: Node) -> tuple[str, str, Shape, Shape] | Decision:
    roles = operator_of(node).roles
    if not node.has(roles.second):
        return no_kernel(Cause.ATTRIBUTE, "it has no weights")
    tensor, weights = node.inputs[roles.first], node.inputs[roles.second]
    shape, filter_shape = graph.shape(tensor), graph.shape(weights)
    if shape is None or filter_shape is None:
        return UNDECIDED
    if len(shape) not in (3, 4):
        text = f"CMSIS-NN has one- and two-dimensional convolutions only, this one has {len(shape) - 2} dimensions"
        return no_kernel(Cause.RANK, text)
    if len(filter_shape) != len(shape):
        return no_kernel(Cause.RANK, f"its weights have rank {len(filter_shape)}, its input {len(shape)}")
    wrong = window_misfit(node, len(shape) - 2, len(node.ints("kernel_shape") or filter_shape[2:]))
    return no_kernel(Cause.ATTRIBUTE, wrong) if wrong else (tensor, weights, shape, filter_shape)


def _call(plane: SlidingWindow, outer: tuple[Size, Size], filter_shape: Shape, depthwise: bool) -> KernelCall:
    (batch, in_c), out_c = outer, filter_shape[0]
    if depthwise:
        filter_dims, ch_mult = _dims(1, plane.kernel, out_c), out_c // in_c if out_c is not None and in_c else None
    else:
        filter_dims, ch_mult = _dims(out_c, plane.kernel, filter_shape[1]), 0
    return KernelCall(
        "", _dims(batch, plane.size, in_c), filter_dims, _dims(batch, plane.output, out_c),
        plane.stride, plane.before, plane.after, plane.dilation, ch_mult,
    )  # fmt: skip


def _channels(tensor: str, weights: str, groups: int, depthwise: bool) -> dict[str, Channel]:
    """Tensors that hold the channel counts; with a second input channel, a depthwise layer of one group is none."""
    if not depthwise:
        return {"input_dims.c": Channel(weights, 1, groups), "output_dims.c": Channel(weights, 0)}
    inputs = {"input_dims.c": Channel(tensor, 1)} if groups > 1 else {}
    return {**inputs, "output_dims.c": Channel(weights, 0), "ch_mult": Channel(weights, 0)}


def _dims(n: Size, plane: Pair, c: Size) -> Dims:
    return Dims(n, plane.h, plane.w, c)


def _transposed_plane(node: Node, shape: Shape, filter_shape: Shape) -> tuple[Pair, tuple[Pair, Pair]]:
    """Output plane and crop before and after, by the formulas of ONNX's ConvTranspose."""
    axes = len(shape) - 2
    stride = node.ints("strides") or (1,) * axes
    extra = node.ints("output_padding") or (0,) * axes
    dilation = node.ints("dilations") or (1,) * axes
    full = tuple(
        None if size is None or kernel is None else (size - 1) * step + more + reach(kernel, spread)
        for size, kernel, step, more, spread in zip(shape[2:], filter_shape[2:], stride, extra, dilation, strict=False)
    )
    same = tuple(None if size is None else size * stride[i] for i, size in enumerate(shape[2:]))
    crops = [_crop(node, i, full[i], same[i]) for i in range(axes)]
    output = tuple(
        None if f is None or None in c else f - sum(p or 0 for p in c) for f, c in zip(full, crops, strict=True)
    )
    before, after = tuple(c[0] for c in crops), tuple(c[1] for c in crops)
    return pair(output, 1), (pair(before, 0), pair(after, 0))


def _crop(node: Node, axis: int, full: Size, same: Size) -> tuple[Size, Size]:
    mode = node.text("auto_pad", "NOTSET")
    fixed = node.ints("output_shape")
    if mode == "VALID" and not fixed:
        return 0, 0
    if mode in ("NOTSET", "") and not fixed:
        pads = node.ints("pads")
        return (pads[axis], pads[axis + len(pads) // 2]) if pads else (0, 0)
    spatial = fixed[2:] if len(fixed) > 2 else fixed  # some exporters write batch and channels in front
    wanted = (spatial[axis] if axis < len(spatial) else None) if fixed else same
    if full is None or wanted is None:
        return None, None
    total = max(full - wanted, 0)
    small = total // 2
    return (small, total - small) if mode == "SAME_UPPER" else (total - small, small)
