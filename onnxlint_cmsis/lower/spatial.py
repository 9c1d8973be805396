"""Pads, convolutions and pools as calls."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Dims, Function, KernelCall, Pair, Size
from onnxlint_cmsis.lower.layer import (
    MAX_RANK,
    NO_DIMS,
    UNDECIDED,
    Assumptions,
    Cause,
    Channel,
    Decision,
    Layer,
    Shape,
    amounts_of,
    dims_of,
    in_reference_code,
    no_kernel,
    product_of,
)
from onnxlint_cmsis.lower.quantization import activation_type, data_type, dequantizes, is_zero, quantizes
from onnxlint_cmsis.model.graph import Graph, Node, window_misfit
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.model.windows import places, reach, rounded_up, same_padding

# The spatial side of a layer: kernel, stride, dilation, padding (auto_pad, folded Pad nodes) and output size.


class SlidingWindow(NamedTuple):
    """A sliding window, height and width; a one-dimensional layer has height 1, as in `arm_convolve_1_x_n_s8`."""

    size: Pair
    """Input plane before padding."""
    kernel: Pair
    """Filter plane."""
    stride: Pair
    """Stride."""
    dilation: Pair
    """Dilation."""
    before: Pair
    """Padding before (top, left)."""
    after: Pair
    """Padding after (bottom, right), as the model asks for it."""
    output: Pair
    """Output plane."""


class Folded(NamedTuple):
    """Padding taken over from Pad nodes in front of a layer."""

    source: str
    """Tensor in front of the Pad nodes."""
    before: tuple[int, ...]
    """Extra padding before, one per spatial axis."""
    after: tuple[int, ...]
    """Extra padding after, one per spatial axis."""
    nodes: tuple[Node, ...]
    """The Pad nodes, the nearest first."""

    def labels(self) -> tuple[str, ...]:
        """Labels of the Pad nodes."""
        return tuple(node.label for node in self.nodes)


def pair(values: tuple[Size, ...], missing: int) -> Pair:
    """Height and width of one or two spatial values; `one` stands in for the height of a one-dimensional layer."""
    return Pair(missing, values[0]) if len(values) == 1 else Pair(values[0], values[1])


def window(node: Node, size: tuple[Size, ...], kernel: tuple[Size, ...], folded: Folded | None = None) -> SlidingWindow:
    """Window of a Conv or pooling node over `size` (spatial axes only), output size by ONNX's formulas."""
    axes = len(size)
    stride = node.ints("strides") or (1,) * axes
    dilation = node.ints("dilations") or (1,) * axes
    extra_before = folded.before if folded else (0,) * axes
    extra_after = folded.after if folded else (0,) * axes
    padded = tuple(None if s is None else s + b + a for s, b, a in zip(size, extra_before, extra_after, strict=True))
    spans = tuple(None if k is None else reach(k, d) for k, d in zip(kernel, dilation, strict=True))
    pads = [_axis_pads(node, i, padded[i], spans[i]) for i in range(axes)]
    ceil = node.int("ceil_mode")
    output = tuple(_output(padded[i], spans[i], stride[i], pads[i], ceil) for i in range(axes))
    before = tuple(None if p[0] is None else p[0] + e for p, e in zip(pads, extra_before, strict=True))
    after = tuple(None if p[1] is None else p[1] + e for p, e in zip(pads, extra_after, strict=True))
    return SlidingWindow(
        pair(size, 1), pair(kernel, 1), pair(stride, 1), pair(dilation, 1), pair(before, 0), pair(after, 0),
        pair(output, 1),
    )  # fmt: skip


def _axis_pads(node: Node, axis: int, size: Size, span: Size) -> tuple[Size, Size]:
    mode = node.text("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = node.ints("pads")
        return (pads[axis], pads[axis + len(pads) // 2]) if pads else (0, 0)
    if mode == "VALID":
        return 0, 0
    if size is None or span is None:
        return None, None
    stride = (node.ints("strides") or (1,) * (axis + 1))[axis]
    small, large = same_padding(size, span, stride)
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def _output(size: Size, span: Size, stride: int, pads: tuple[Size, Size], ceil: int) -> Size:
    if size is None or span is None or pads[0] is None or pads[1] is None:
        return None
    return (rounded_up if ceil else places)(size, span, stride, pads[0], pads[1])


# Pad nodes: some become the padding of the convolution behind them, the others stay layers.
#
# Runtimes differ. TensorFlow Lite's convolutions pad as SAME or not at all, and its converter leaves PAD a separate
# operator; TVM's backend for CMSIS-NN takes a Pad into the convolution where, on each axis, the padding after is that
# before or one more. A Pad is folded here where the whole padding of the convolution then meets TVM's condition and is
# less than the window, as SAME padding always is: CMSIS-NN is told the padding before only and works out that after
# from the output's size, its 1x1 kernels work out none, and its depthwise kernels expect no more. Every other Pad is a
# layer (`arm_pad_s8`), so that an explicit Pad is a way round the kernels that cannot pad as the model asks.


Sides = tuple[tuple[int, ...], tuple[int, ...]]
"""Padding before and after, one number per spatial axis."""


def lower_pad(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision | None:
    """Lower a Pad that not every reader folds, to `arm_pad_s8`: constant mode, sizes known, nothing cut off."""
    shape = graph.shape(node.inputs[0])
    if shape is None:
        return UNDECIDED
    pads = pad_amounts(graph, node)
    kind, assumed = activation_type(graph, node.inputs[0], assume)
    wrong = _pads_not_expressible(node, len(shape), pads, f"arm_pad_{kind if assume.stays_float else 's8'}")
    if wrong:
        return wrong
    if not any(pads) or _folded_by_all(graph, node):
        return None
    source, result = dims_of(graph, node.inputs[0], node.outputs[0])
    front = amounts_of(graph, node.outputs[0], pads[: len(shape)])
    call = KernelCall(Function.PAD.entry(kind), source, NO_DIMS, result, pad_front=front)
    return Layer(node, call, {}, 1, assumed)


def _pads_not_expressible(node: Node, rank: int, pads: tuple[int, ...], function: str) -> Decision | None:
    """Why a function cannot compute a Pad; None where it can."""
    mode = node.text("mode", "constant")
    if mode != "constant":
        return no_kernel(Cause.ATTRIBUTE, f"its mode is {mode}; {function} fills with one constant")
    if not pads:
        return no_kernel(Cause.OPERAND_COMPUTED, "its amounts are computed at run time; the call takes constants")
    if rank > MAX_RANK or any(p < 0 for p in pads):
        text = f"it has {rank} axes and amounts from {min(pads)}; {function} takes 4 axes and amounts from 0"
        return no_kernel(Cause.RANK if rank > MAX_RANK else Cause.ATTRIBUTE, text)
    if len(pads) != 2 * rank:
        return no_kernel(Cause.ATTRIBUTE, f"it has {len(pads)} amounts; {rank} axes ask for {2 * rank}")
    return None


def fold_pads(graph: Graph, node: Node, tensor: str, kernel: tuple[Size, ...]) -> Folded | None:
    """Padding of constant zero Pad nodes right in front of a convolution, seen through Q/DQ with equal parameters.

    Returns None where there is none. A Pad that touches batch or channels, crops, or fills with another value than real
    zero is not folded, nor one that makes the padding inexpressible.
    """
    axes = len(kernel)
    before, after, nodes = (0,) * axes, (0,) * axes, []
    while True:
        pad, source = _producer_through_qdq(graph, tensor)
        pads = _zero_pads(graph, pad, axes) if pad is not None else None
        if pad is None or pads is None:
            break
        more = _added((before, after), pads)
        if not _expressible(node, kernel, more):
            break
        before, after = more
        nodes.append(pad)
        tensor = source
    return Folded(tensor, before, after, tuple(nodes)) if nodes else None


def _added(first: Sides, second: Sides) -> Sides:
    before, after = (tuple(a + b for a, b in zip(*sides, strict=True)) for sides in zip(first, second, strict=True))
    return before, after


def _expressible(node: Node, kernel: tuple[Size, ...], more: Sides) -> bool:
    """Whether CMSIS-NN can be told the convolution's padding with `more` added to its own."""
    axes = len(kernel)
    if node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        return False
    own = node.ints("pads") if node.text("auto_pad") != "VALID" else ()
    if own:
        more = _added(more, (own[:axes], own[axes:]))
    dilations = node.ints("dilations") or (1,) * axes
    spans = (None if size is None else reach(size, step) for size, step in zip(kernel, dilations, strict=True))
    return all(
        span is not None and 0 <= after - before <= 1 and before + after < span
        for span, before, after in zip(spans, *more, strict=True)
    )


def _folded_by_all(graph: Graph, pad: Node) -> bool:
    """Whether every reader of a Pad, seen through Q/DQ, is a convolution that folds it."""
    waiting, seen = [pad.outputs[0]], set()
    while waiting:
        tensor = waiting.pop()
        if tensor in seen:  # a second way to it, which no converter writes
            return False
        seen.add(tensor)
        readers = graph.consumers.get(tensor, ())
        if tensor in graph.outputs or not readers:
            return False
        for reader in readers:
            if canonical(reader) in ("QuantizeLinear", "DequantizeLinear", "Pad"):
                waiting += reader.outputs[:1]
            elif not _folds(graph, reader, pad):
                return False
    return True


def _folds(graph: Graph, reader: Node, pad: Node) -> bool:
    roles = operator_of(reader).roles
    if roles.form is not Form.CONVOLUTION:
        return False
    weights = graph.shape(reader.inputs[roles.second])
    kernel = reader.ints("kernel_shape") or (weights or ())[2:]
    if window_misfit(reader, len(graph.shape(pad.inputs[0]) or ()) - 2, len(kernel)):
        return False
    folded = fold_pads(graph, reader, reader.inputs[roles.first], kernel)
    return folded is not None and any(node is pad for node in folded.nodes)


def _producer_through_qdq(graph: Graph, tensor: str) -> tuple[Node | None, str]:
    node = graph.producers.get(tensor)
    if dequantizes(node) and node is not None:
        inner = graph.producers.get(node.inputs[0])
        if quantizes(inner) and inner is not None:
            pad = graph.producers.get(inner.inputs[0])
            if pad is not None and canonical(pad) == "Pad" and _same_parameters(graph, pad, node):
                return pad, pad.inputs[0]
        return None, ""
    if node is not None and canonical(node) == "Pad":
        return node, node.inputs[0]
    return None, ""


def _same_parameters(graph: Graph, pad: Node, dequantize: Node) -> bool:
    """Folding is exact only where the Pad's own input has the scale and zero-point of its output."""
    before = graph.producers.get(pad.inputs[0])
    if not dequantizes(before) or before is None:
        return False
    return all(
        a == b or _equal_constants(graph, a, b) for a, b in zip(before.inputs[1:], dequantize.inputs[1:], strict=False)
    ) and len(before.inputs) == len(dequantize.inputs)


def _equal_constants(graph: Graph, a: str, b: str) -> bool:
    first, second = graph.constants.get(a), graph.constants.get(b)
    if first is None or second is None:
        return False
    values = first.values()
    return values is not None and values == second.values()


def _zero_pads(graph: Graph, node: Node, axes: int) -> Sides | None:
    if node.text("mode", "constant") != "constant" or node.inputs[3]:
        return None
    pads = pad_amounts(graph, node)
    rank = axes + 2
    if len(pads) != 2 * rank or not _fills_zero(graph, node):
        return None
    leading = (*pads[:2], *pads[rank : rank + 2])
    before, after = pads[2:rank], pads[rank + 2 :]
    if any(leading) or any(p < 0 for p in pads):
        return None
    return before, after


def pad_amounts(graph: Graph, node: Node) -> tuple[int, ...]:
    """Amounts before and after each axis; none where they are not fixed."""
    stored = graph.constants.get(node.inputs[1])
    amounts = node.ints("pads") or node.ints("paddings")
    return amounts or tuple(int(amount) for amount in (stored.values() if stored else None) or ())


def _fills_zero(graph: Graph, node: Node) -> bool:
    """Real zero: 0 in a float tensor, or the zero-point of a constant behind DequantizeLinear.

    An integer tensor's zero-point is not known here, so it is not folded.
    """
    if graph.elem_type(node.inputs[0]) not in ("float32", "float16", "bfloat16", "float64"):
        return False
    if not node.inputs[2]:
        return node.attributes.get("value", 0.0) == 0
    return is_zero(graph, node.inputs[2]) is True


# Conv, ConvInteger, QLinearConv, FusedConv and ConvTranspose as kernel calls.


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
        None if size is None or kernel is None else (size - 1) * step + more + (kernel - 1) * reach + 1
        for size, kernel, step, more, reach in zip(shape[2:], filter_shape[2:], stride, extra, dilation, strict=False)
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


# Pooling: MaxPool, AveragePool and the global ones.


def lower_pool(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower pooling; filter is [1, h, w, 1]. A decision says why CMSIS-NN has no form for it."""
    call = pooling_call(graph, node, assume)
    if isinstance(call, Decision):
        return call
    kind, assumed = activation_type(graph, node.inputs[0], assume)
    refusal = _not_expressible(graph, node, call, kind)
    return refusal or Layer(node, call, {}, 1, assumed)


def pooling_call(graph: Graph, node: Node, assume: Assumptions) -> KernelCall | Decision:
    """The window over the input as a call; attributes without an argument of the function are left out."""
    shape = graph.shape(node.inputs[0])
    if shape is None:
        return UNDECIDED
    if len(shape) not in (3, 4):
        return no_kernel(Cause.RANK, f"CMSIS-NN pools over one or two dimensions, this one has {len(shape) - 2}")
    axes = len(shape) - 2
    name = canonical(node)
    whole = name.startswith("Global")
    wrong = window_misfit(node, axes, axes if whole else len(node.ints("kernel_shape")))
    if wrong:
        return no_kernel(Cause.ATTRIBUTE, wrong)
    plane = window(node, shape[2:], shape[2:] if whole else node.ints("kernel_shape"))
    plane = plane._replace(output=Pair(1, 1)) if whole else plane
    kind, _ = activation_type(graph, node.inputs[0], assume)
    return KernelCall(
        (Function.AVERAGE_POOL if "Average" in name else Function.MAX_POOL).entry(kind),
        Dims(shape[0], plane.size.h, plane.size.w, shape[1]),
        Dims(1, plane.kernel.h, plane.kernel.w, 1),
        Dims(shape[0], plane.output.h, plane.output.w, shape[1]),
        plane.stride, plane.before, plane.after, plane.dilation,
    )  # fmt: skip


def _not_expressible(graph: Graph, node: Node, call: KernelCall, kind: str) -> Decision | None:
    """Why `cmsis_nn_pool_params` cannot express the layer; None where it can."""
    if call.dilation != (1, 1):
        text = f"its dilations are {call.dilation.h} and {call.dilation.w}; CMSIS-NN's pooling has none"
        return no_kernel(Cause.ATTRIBUTE, text)
    if any(name and (name in graph.consumers or name in graph.outputs) for name in node.outputs[1:]):
        text = "its second output, the indices, is used; CMSIS-NN's pooling gives out the maxima only"
        return no_kernel(Cause.ATTRIBUTE, text)
    if node.int("count_include_pad") and any(call.padding + call.pad_after):
        text = "it counts padding in the average (count_include_pad); CMSIS-NN divides by the inputs in the window"
        if node.int("ceil_mode"):
            return no_kernel(Cause.ATTRIBUTE, f"{text}, and its ceil_mode rounds the output's size up")
        return in_reference_code(kind, Function.AVERAGE_POOL, Cause.ATTRIBUTE, text)
    return None
