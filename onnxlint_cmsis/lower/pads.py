"""Pad nodes: some become the padding of the convolution behind them, the others stay layers.

Runtimes differ. TensorFlow Lite's convolutions pad as SAME or not at all, and its converter leaves PAD a separate
operator; TVM's backend for CMSIS-NN takes a Pad into the convolution where, on each axis, the padding after is that
before or one more. A Pad is folded here where the whole padding of the convolution then meets TVM's condition and is
less than the window, as SAME padding always is: CMSIS-NN is told the padding before only and works out that after
from the output's size, its 1x1 kernels work out none, and its depthwise kernels expect no more. Every other Pad is a
layer (`arm_pad_s8`), so that an explicit Pad is a way round the kernels that cannot pad as the model asks.
"""

from __future__ import annotations

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.types import Function, KernelCall, Size
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import UNDECIDED, Cause, Decision, no_kernel
from onnxlint_cmsis.lower.dims import MAX_RANK, NO_DIMS, amounts_of, dims_of
from onnxlint_cmsis.lower.find_quantization import is_zero
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.sliding_window import Folded
from onnxlint_cmsis.lower.stored_types import activation_type, dequantizes, quantizes
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.model.window_attributes import window_misfit
from onnxlint_cmsis.model.windows import reach

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
    """Tell whether CMSIS-NN can be told the convolution's padding with `more` added to its own."""
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
    """Tell whether every reader of a Pad, seen through Q/DQ, is a convolution that folds it."""
    waiting, seen = [pad.outputs[0]], set()
    while waiting:
        tensor = waiting.pop()
        if tensor in seen:  # a second way to it, which no converter writes
            return False
        seen.add(tensor)
        readers = graph.consumers.get(tensor, ())
        if tensor in graph.ends or not readers:
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
    return amounts or (stored.integers() if stored else None) or ()


def _fills_zero(graph: Graph, node: Node) -> bool:
    """Real zero: 0 in a float tensor, or the zero-point of a constant behind DequantizeLinear.

    An integer tensor's zero-point is not known here, so it is not folded.
    """
    if graph.elem_type(node.inputs[0]) not in ("float32", "float16", "bfloat16", "float64"):
        return False
    if not node.inputs[2]:
        return node.attributes.get("value", 0.0) == 0
    return is_zero(graph, node.inputs[2]) is True
