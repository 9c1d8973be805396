"""Layers of TensorFlow Lite whose kernels take an operand for what it is not, or find no bounds or sizes.

What they make hangs on memory beside their operands, or on memory that nobody wrote: a file differs from itself. So
nothing is known of it, not even that equal operands give equal results. Kernels are those of LiteRT
(tensorflow/lite/kernels/*.cc) and TensorFlow Lite Micro (tensorflow/lite/micro/kernels/*.cc).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite, prod
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Form, Roles
from onnxlint_cmsis.operators.integer_functions import ACTIVATIONS
from onnxlint_cmsis.operators.integers import BITS

if TYPE_CHECKING:
    from onnxlint_cmsis.model.intervals import Array

MIXES = frozenset({
    "ARG_MAX", "ARG_MIN", "BATCH_MATMUL", "CAST", "DEQUANTIZE", "EMBEDDING_LOOKUP", "EQUAL", "FULLY_CONNECTED",
    "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "MUL", "NOT_EQUAL", "QUANTIZE", "SELECT_V2", "SHAPE",
    "SOFTMAX", "SVDF", "TOPK_V2", "UNIDIRECTIONAL_SEQUENCE_LSTM",
})  # fmt: skip
"""Operators with a kernel that tells types of its data and its results apart; others ask for one of them."""

_BY_POSITION = (
    ((0,), ("int32",), "EMBEDDING_LOOKUP SPLIT TRANSPOSE_CONV"),
    ((0,), ("int32", "int64"), "BROADCAST_ARGS FILL"),
    ((1,), ("int32",), "CUMSUM MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD RESIZE_BILINEAR"),
    ((1,), ("int32",), "RESIZE_NEAREST_NEIGHBOR REVERSE_V2 SUM TOPK_V2 TRANSPOSE"),
    ((1,), ("int32", "int64"), "ARG_MAX ARG_MIN BROADCAST_TO EXPAND_DIMS MIRROR_PAD PAD PADV2 TILE"),
    ((1,), ("int32", "int64", "int16"), "GATHER GATHER_ND"),
    ((2,), ("int32", "int64"), "DYNAMIC_UPDATE_SLICE"),
    ((1, 2), ("int32",), "BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND"),
    ((1, 2), ("int32", "int64"), "SLICE SPLIT_V"),
    ((1, 2, 3), ("int32",), "STRIDED_SLICE"),
)
INDICES: Mapping[str, tuple[tuple[int, ...], tuple[str, ...]]] = MappingProxyType(
    {op: (positions, types) for positions, types, ops in _BY_POSITION for op in ops.split()}
)
"""Inputs with places, sizes or axes, and the types that a kernel asks for: it reads others as int32, or refuses them.

What TensorFlow Lite Micro refuses and LiteRT reads counts as read.
"""


Sizes = Mapping[str, tuple[int, ...]]
Reader = Callable[[str], "Array | None"]


def misread(node: Node, graph: Graph, roles: Roles, read: Reader, computed: Sizes) -> str | None:
    """Say what a layer's kernel takes for what it is not, as a clause; None where it takes nothing so.

    `read` gives the array of a constant, `computed` the sizes of tensors that operators make, as far as they are known.
    """
    sizes = [(graph.shape(name), computed.get(name)) for name in node.outputs]
    for stated, true in sizes:
        if true not in (None, stated):
            said = "no shape" if stated is None else [*stated]
            return f"the file says {said} of its result, and its operands make {list(true or ())}"
    told = _indices(node, graph) or _places(node, graph, read) or _data(node, graph, roles)
    return told or (roles.form is not None and _weights(node, graph, roles, roles.form)) or _activation(node, graph)


def _indices(node: Node, graph: Graph) -> str | None:
    positions, types = INDICES.get(node.op_type, ((), ()))
    kinds = [graph.elem_type(node.inputs[position]) for position in positions if node.has(position)]
    bad = next((kind for kind in kinds if kind not in types), "")
    return f"its places, sizes or axes are {bad}, which kernels read as int32" if bad else None


def _places(node: Node, graph: Graph, read: Reader) -> str | None:
    """Constant places outside the data: kernels count from 0 alone and read beside it (gather.cc, gather_nd.cc)."""
    if node.op_type not in ("GATHER", "GATHER_ND") or not node.has(1) or node.inputs[1] not in graph.constants:
        return None
    places, shape = read(node.inputs[1]), graph.shape(node.inputs[0]) or ()
    if places is None or None in shape or not -len(shape) <= node.int("axis") < len(shape):
        return None
    if node.op_type == "GATHER":
        sizes = np.array(shape[node.int("axis")])
    elif 0 < (places.shape or (0,))[-1] <= len(shape):
        sizes = np.array(shape[: places.shape[-1]])
    else:
        return f"its places of {list(places.shape)} are not those of {list(shape)}"
    return None if ((places >= 0) & (places < sizes)).all() else f"it picks places outside of {list(shape)}"


def _data(node: Node, graph: Graph, roles: Roles) -> str | None:
    if node.op_type in MIXES:
        return None
    data = (node.inputs[position] for position in roles.data_of(node))
    kinds = {graph.elem_type(name) for name in (*data, *node.outputs) if name}
    if node.op_type == "PRELU" and "int16" in kinds:
        kinds.discard("int8")  # of its slopes
    return f"its kernel reads and writes one type, and it has {', '.join(sorted(kinds))}" if len(kinds) > 1 else None


def _weights(node: Node, graph: Graph, roles: Roles, form: Form) -> str | None:
    if not roles.weights:
        return None
    data, weights = (node.inputs[position] for position in (roles.data[0], roles.weights[0]))
    bias = node.inputs[roles.bias] if node.has(roles.bias) else ""
    kind, of_weights, of_bias = (graph.elem_type(name) if name else "" for name in (data, weights, bias))
    if kind in BITS:
        biases = ("", "int32", "int64") if kind == "int16" else ("", "int32")
        read = of_weights in ("int8", "int4") or (kind, of_weights) == ("uint8", "uint8")
    else:
        biases, read = ("", kind), of_weights in (kind, "int8", "uint8", "int4")
    if not read or of_bias not in biases:
        return f"its weights are {of_weights} and its bias {of_bias}, which kernels read as other numbers"
    shape, held = graph.shape(weights) or (), graph.shape(bias) if bias else None
    count = shape[form.outputs(len(shape))] if len(shape) >= 2 else None
    factor, channels = node.int("depth_multiplier"), (graph.shape(data) or (None,))[-1]
    if form.depthwise and factor * (channels or 0) != count:
        return f"it has {count} channels, and kernels write {channels} times depth_multiplier, {factor}"
    stored = graph.quantization.get(weights)
    if stored is not None and len(stored.scales) not in (0, 1, count):
        return f"its weights have {len(stored.scales)} scales, and kernels read {count}"
    if held is not None and None not in held and prod(size or 0 for size in held) != count:
        return f"its bias has {list(held)} elements, and kernels read {count}"
    return None


def _activation(node: Node, graph: Graph) -> str | None:
    """Bounds that do not fit int32: pools go on without (`CalculateActivationRangeQuantized`, kernel_util.cc)."""
    bounds = ACTIVATIONS.get(node.text("fused_activation_function", "NONE")) or ACTIVATIONS.get(node.op_type)
    result = node.outputs[0] if node.outputs else ""
    if bounds is None or graph.elem_type(result) not in BITS:
        return None
    stored = graph.quantization.get(result)
    scale = stored.scales[0] if stored is not None and stored.scales else 0.0
    fits = 0 < scale < float("inf") and all(abs(bound) < (1 << 30) * scale for bound in bounds if isfinite(bound))
    return None if fits else f"its activation has no bounds in steps of {scale:g}"
