"""Standard operators that give the same shapes and types as operators that ONNX's shape inference does not know.

Used only in the copy of the model that shape inference sees. Sources: ONNX Runtime's ContribOperators.md for
`com.microsoft`; for PACTOps and the unregistered ones the models that use them and state their shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx_graph.functions import domain_of
from onnxlint_cmsis.formats.onnx_graph.subgraph_walk import subgraphs

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

MICROSOFT, PACT = "com.microsoft", "PACTOps"
FLOAT, INT32 = 1, 6

Simple = tuple[str, tuple[int, ...], tuple[str, ...], int]
"""Standard operator, which inputs it takes, which attributes it keeps, element type to cast to (0 for its own)."""
SAME: Simple = ("Identity", (0,), (), 0)
"""Shape and type of the first input."""
CONV_ATTRIBUTES = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
POOL_ATTRIBUTES = ("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides")

SIMPLE: dict[tuple[str, str], Simple] = {
    (MICROSOFT, "QLinearAdd"): ("Add", (0, 3), (), 0),
    (MICROSOFT, "QLinearMul"): ("Mul", (0, 3), (), 0),
    (MICROSOFT, "QLinearWhere"): ("Where", (0, 1, 4), (), 0),
    (MICROSOFT, "QLinearSigmoid"): SAME,
    (MICROSOFT, "QLinearSoftmax"): SAME,
    (MICROSOFT, "QLinearLeakyRelu"): SAME,
    (MICROSOFT, "FusedConv"): ("Conv", (0, 1, 2), CONV_ATTRIBUTES, 0),
    (MICROSOFT, "FusedGemm"): ("Gemm", (0, 1, 2), ("transA", "transB"), 0),
    (MICROSOFT, "Gelu"): SAME,
    (MICROSOFT, "QuickGelu"): SAME,
    (MICROSOFT, "FastGelu"): SAME,
    (MICROSOFT, "BiasGelu"): ("Add", (0, 1), (), 0),
    (MICROSOFT, "DynamicQuantizeMatMul"): ("MatMul", (0, 1), (), 0),
    (MICROSOFT, "MatMulIntegerToFloat"): ("MatMul", (0, 1), (), FLOAT),
    (MICROSOFT, "MatMulInteger16"): ("MatMul", (0, 1), (), INT32),
    (MICROSOFT, "QuantizeLinear"): ("QuantizeLinear", (0, 1, 2), ("axis",), 0),
    (MICROSOFT, "DequantizeLinear"): ("DequantizeLinear", (0, 1, 2), ("axis",), 0),
    (PACT, "RequantShift"): SAME,
    (PACT, "iGELU"): SAME,
    (PACT, "iSoftmax"): SAME,
    (PACT, "iLayerNorm"): SAME,
    (PACT, "IntegerDiv"): SAME,
    ("", "RequantShift"): SAME,
    ("", "iGELU"): SAME,
    ("", "iSoftmax"): SAME,
    ("", "iLayerNorm"): SAME,
    ("", "IntegerDiv"): SAME,
    ("", "LayerNormalization"): SAME,
    ("", "SimplifiedLayerNormalization"): SAME,
    ("", "ImageScaler"): SAME,
    ("", "ParametricSoftplus"): SAME,
    ("", "ScaledTanh"): SAME,
}
"""Domain and operator to its surrogate; the default domain counts only where ONNX has no such operator."""

Rank = Callable[[str], "int | None"]
"""Rank of a tensor by its name, None where it is not known (yet)."""


def standardise(model: ModelProto, graphs: list[GraphProto], rank: Rank) -> bool:
    """Put surrogates for the operators that have one, in place, inner graphs first; True where there was any."""
    versions = {domain_of(o.domain): o.version for o in model.opset_import}
    changed = False
    for graph in reversed(graphs):
        rewritten: dict[int, list[NodeProto]] = {}
        for position, node in enumerate(graph.node):
            nodes = _surrogate(node, versions.get("", 0), rank)
            if nodes is not None:
                rewritten[position] = nodes
        if rewritten:
            changed = True
            nodes = [new for i, old in enumerate(graph.node) for new in rewritten.get(i, [old])]
            copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
            del graph.node[:]
            graph.node.extend(copies)
    return changed


def _surrogate(node: NodeProto, opset: int, rank: Rank) -> list[NodeProto] | None:
    """Nodes of the default domain with the same outputs, or None where the node stays as it is."""
    domain = domain_of(node.domain)
    key = (domain, node.op_type)
    if key not in SIMPLE and key not in SPECIAL:
        return None
    if not domain:
        from onnx import defs

        if defs.has(node.op_type) and not _unguarded_axis(node):
            return None
    if subgraphs(node) or not node.output:
        return None
    if key in SPECIAL:
        return SPECIAL[key](node, opset, rank)
    op_type, inputs, attributes, cast = SIMPLE[key]
    return _nodes(node, op_type, inputs, attributes, cast)


def _unguarded_axis(node: NodeProto) -> bool:
    """Whether this is a LayerNormalization that onnx 1.23 may crash on: it uses any axis without a look at the rank."""
    return node.op_type == "LayerNormalization" and _attribute(node, "axis", -1) != -1


def _nodes(node: NodeProto, op_type: str, inputs: tuple[int, ...], keep: tuple[str, ...], cast: int) -> list[NodeProto]:
    """One standard node, with a Cast behind it where the type changes."""
    from onnx import helper

    output = node.output[0]
    names = [node.input[i] for i in inputs if i < len(node.input)]
    new = helper.make_node(op_type, names, [output])
    new.attribute.extend(a for a in node.attribute if a.name in keep)
    if not cast:
        return [new]
    new.output[0] = f"{output}\x01uncast"
    return [new, helper.make_node("Cast", [new.output[0]], [output], to=cast)]


def _attribute(node: NodeProto, name: str, default: int = 0) -> int:
    return next((int(a.i) for a in node.attribute if a.name == name), default)


def _ints(node: NodeProto, name: str) -> list[int]:
    """A list-of-ints attribute, or a single int as a list of one."""
    return next((list(a.ints) or ([a.i] if a.HasField("i") else []) for a in node.attribute if a.name == name), [])


def _concat(node: NodeProto, _opset: int, _rank: Rank) -> list[NodeProto]:
    """QLinearConcat(y_scale, y_zero_point, then x, scale, zero_point for each)."""
    return _nodes(node, "Concat", tuple(range(2, len(node.input), 3)), ("axis",), 0)


def _gemm(node: NodeProto, _opset: int, _rank: Rank) -> list[NodeProto]:
    """QGemm(a, a_scale, a_zp, b, b_scale, b_zp, c, y_scale, y_zp): float without y_scale."""
    quantized = len(node.input) > 7 and bool(node.input[7])
    return _nodes(node, "Gemm", (0, 3), ("transA", "transB"), 0 if quantized else FLOAT)


def _matmul(node: NodeProto, _opset: int, _rank: Rank) -> list[NodeProto] | None:
    """FusedMatMul: MatMul after transposing the last two axes of an input."""
    from onnx import helper

    if _attribute(node, "transBatchA") or _attribute(node, "transBatchB"):
        return None
    first, second = _attribute(node, "transA"), _attribute(node, "transB")
    if not first and not second:
        return _nodes(node, "MatMul", (0, 1), (), 0)
    equation = f"...{'ji' if first else 'ij'},...{'kj' if second else 'jk'}->...ik"
    return [helper.make_node("Einsum", list(node.input[:2]), [node.output[0]], equation=equation)]


def _channels_last(node: NodeProto, op_type: str, keep: tuple[str, ...], axes: int | None) -> list[NodeProto] | None:
    """A pooling node, between two Transposes where its channels are last; None until the rank is known."""
    from onnx import helper

    if not _attribute(node, "channels_last"):
        return _nodes(node, op_type, (0,), keep, 0)
    if axes is None or axes < 2:
        return None
    output = node.output[0]
    before = helper.make_node(
        "Transpose", [node.input[0]], [f"{output}\x01in"], perm=[0, axes - 1, *range(1, axes - 1)]
    )
    pool = helper.make_node(op_type, [f"{output}\x01in"], [f"{output}\x01out"])
    pool.attribute.extend(a for a in node.attribute if a.name in keep)
    return [before, pool, helper.make_node("Transpose", [f"{output}\x01out"], [output], perm=[0, *range(2, axes), 1])]


def _average_pool(node: NodeProto, _opset: int, _rank: Rank) -> list[NodeProto] | None:
    """QLinearAveragePool, channels first or last."""
    return _channels_last(node, "AveragePool", POOL_ATTRIBUTES, len(_ints(node, "kernel_shape")) + 2)


def _global_average_pool(node: NodeProto, _opset: int, rank: Rank) -> list[NodeProto] | None:
    """QLinearGlobalAveragePool, channels first or last."""
    return _channels_last(node, "GlobalAveragePool", (), rank(node.input[0]))


def _mean(node: NodeProto, opset: int, _rank: Rank) -> list[NodeProto] | None:
    """A mean over the axes of an attribute, which may be a single int."""
    from onnx import helper

    axes, keepdims, output = _ints(node, "axes"), _attribute(node, "keepdims", 1), node.output[0]
    if opset < 18:
        return [helper.make_node("ReduceMean", [node.input[0]], [output], keepdims=keepdims, axes=axes or None)]
    if not axes:
        return [helper.make_node("ReduceMean", [node.input[0]], [output], keepdims=keepdims)]
    constant = helper.make_node("Constant", [], [f"{output}\x01axes"], value_ints=axes)
    return [constant, helper.make_node("ReduceMean", [node.input[0], f"{output}\x01axes"], [output], keepdims=keepdims)]


SPECIAL: dict[tuple[str, str], Callable[[NodeProto, int, Rank], list[NodeProto] | None]] = {
    (MICROSOFT, "QLinearConcat"): _concat,
    (MICROSOFT, "QGemm"): _gemm,
    (MICROSOFT, "FusedMatMul"): _matmul,
    (MICROSOFT, "QLinearAveragePool"): _average_pool,
    (MICROSOFT, "QLinearGlobalAveragePool"): _global_average_pool,
    (MICROSOFT, "QLinearReduceMean"): _mean,
    (PACT, "IntegerMean"): _mean,
    ("", "IntegerMean"): _mean,
}
"""Operators whose surrogate depends on their attributes."""
