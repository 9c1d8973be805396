"""Standard operators that give the same shapes and types as operators that ONNX's shape inference does not know.

Used only in the copy of the model that shape inference sees. Sources: ONNX Runtime's ContribOperators.md for
`com.microsoft`; for PACTOps and the unregistered ones the models that use them and state their shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.names import operator_named
from onnxlint_cmsis.formats.onnx.attributes import int_attribute, ints_attribute
from onnxlint_cmsis.formats.onnx.document import MARK
from onnxlint_cmsis.formats.onnx.functions import domain_of, imported_versions
from onnxlint_cmsis.formats.onnx.walk import subgraphs
from onnxlint_cmsis.model.roles import Form, Roles, Sums
from onnxlint_cmsis.operators.answers import Elements
from onnxlint_cmsis.operators.control import CONSTANT
from onnxlint_cmsis.operators.curve import CAST, IDENTITY
from onnxlint_cmsis.operators.elementwise_ties import unary
from onnxlint_cmsis.operators.mixing import REDUCE_MEAN
from onnxlint_cmsis.operators.normalization import LAYER_NORMALIZATION
from onnxlint_cmsis.operators.pact import INTEGER_MEAN, REQUANT_SHIFT, SHAPE_KEEPING
from onnxlint_cmsis.operators.pairwise import ADD
from onnxlint_cmsis.operators.pooling import AVERAGE_POOL, GLOBAL_AVERAGE_POOL
from onnxlint_cmsis.operators.product import MATMUL
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.shaping import TRANSPOSE

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto


MICROSOFT, PACT = "com.microsoft", "PACTOps"


FLOAT, INT32 = 1, 6


Simple = tuple[str, tuple[int, ...], tuple[str, ...], int]
"""Standard operator, inputs it takes, attributes it keeps, element type to cast to (0 for none)."""


SAME: Simple = (IDENTITY.name, (0,), (), 0)
"""Shape and type of the first input."""


UNREGISTERED: dict[tuple[str, str], Simple] = {
    (MICROSOFT, "MatMulInteger16"): (MATMUL.name, (0, 1), (), INT32),
    **{(domain, operator.name): SAME for domain in ("", PACT) for operator in SHAPE_KEEPING},
    ("", LAYER_NORMALIZATION.name): SAME,
    ("", "SimplifiedLayerNormalization"): SAME,
    ("", "ImageScaler"): SAME,
    ("", "ParametricSoftplus"): SAME,
    ("", "ScaledTanh"): SAME,
}
"""Operators without a record that is an alias; the default domain counts only where ONNX has no such operator."""


Rank = Callable[[str], "int | None"]
"""Rank of a tensor by its name, None where it is not known (yet)."""


def standardise(model: ModelProto, graphs: list[GraphProto], rank: Rank) -> bool:
    """Put surrogates for the operators that have one, in place, inner graphs first; True where there was any."""
    versions = imported_versions(model)
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
    key = domain_of(node.domain), node.op_type
    operator = operator_named(*key)
    if not _is_replaced(node, key, operator):
        return None
    if key in MEANS:
        return _mean(node, opset)
    if operator.root in CONTRIB_POOLS:
        return _channels_last(node, operator.root, rank)
    if operator.roles.form is Form.MATMUL and any(int_attribute(node, name) for name in TURNS):
        return _turned_matmul(node)
    simple = UNREGISTERED.get(key) or _alias(node, operator, opset)
    return None if simple is None else _nodes(node, *simple)


def _is_replaced(node: NodeProto, key: tuple[str, str], operator: Operator) -> bool:
    """Tell whether inference does not know a node's operator, or not safely, and another one stands for it."""
    if operator.of is None and key not in UNREGISTERED and key not in MEANS and operator is not REQUANT_SHIFT:
        return False
    if not key[0]:
        from onnx import defs

        if defs.has(node.op_type) and not _unguarded_axis(node):
            return False
    return not subgraphs(node) and bool(node.output)


def _alias(node: NodeProto, operator: Operator, opset: int) -> Simple | None:
    """The operator that an alias stands for, with the inputs in the same roles."""
    roles, of = operator.roles, operator.of or operator
    if int_attribute(node, "channels_last"):
        return None
    if operator.axes is unary or operator.elements is Elements.REQUANTIZED:
        return SAME
    if roles is of.roles or roles.step:
        places = range(len(node.input)) if roles is of.roles else range(roles.data[0], len(node.input), roles.step)
        return of.name, tuple(places), _attributes(of, opset), 0
    if roles.form is not None:
        bias = (roles.bias,) if of.roles.bias >= 0 and roles.sums is Sums.FLOAT else ()
        return of.name, (roles.data[0], roles.weights[0], *bias), _attributes(of, opset), _elem_type(node, roles)
    if len(roles.data) > 1:
        return (of if len(of.roles.data) > 1 else ADD).name, roles.data, (), 0
    return SAME


def _elem_type(node: NodeProto, roles: Roles) -> int:
    """Type of a layer that is real where its integers are scaled and not quantized again; 0 for that of its input."""
    places = roles.result.scale, roles.result.zero_point
    quantized = all(0 <= position < len(node.input) and bool(node.input[position]) for position in places)
    return FLOAT if roles.quantized and not quantized else 0


def _attributes(operator: Operator, opset: int) -> tuple[str, ...]:
    """Attributes that an operator set knows of a standard operator."""
    from onnx import defs

    return tuple(defs.get_schema(operator.name, opset, "").attributes) if defs.has(operator.name, opset, "") else ()


def _unguarded_axis(node: NodeProto) -> bool:
    """Tell if this is a LayerNormalization that onnx 1.23 may crash on: it uses any axis without a look at the rank."""
    return node.op_type == LAYER_NORMALIZATION.name and int_attribute(node, "axis", -1) != -1


def _nodes(node: NodeProto, op_type: str, inputs: tuple[int, ...], keep: tuple[str, ...], cast: int) -> list[NodeProto]:
    """A standard node; a Cast follows where the type changes."""
    from onnx import helper

    output = node.output[0]
    names = [node.input[i] for i in inputs if i < len(node.input)]
    new = helper.make_node(op_type, names, [output])
    new.attribute.extend(a for a in node.attribute if a.name in keep)
    if not cast:
        return [new]
    new.output[0] = f"{output}{MARK}uncast"
    return [new, helper.make_node(CAST.name, [new.output[0]], [output], to=cast)]


def _turned_matmul(node: NodeProto) -> list[NodeProto] | None:
    """A matrix product after transposing the last two axes of an input."""
    from onnx import helper

    if int_attribute(node, "transBatchA") or int_attribute(node, "transBatchB"):
        return None
    first, second = int_attribute(node, "transA"), int_attribute(node, "transB")
    equation = f"...{'ji' if first else 'ij'},...{'kj' if second else 'jk'}->...ik"
    return [helper.make_node("Einsum", list(node.input[:2]), [node.output[0]], equation=equation)]


def _channels_last(node: NodeProto, pool: Operator, rank: Rank) -> list[NodeProto] | None:
    """A pooling node, between two Transposes where its channels are last; None until the rank is known."""
    from onnx import helper

    keep = CONTRIB_POOLS[pool]
    if not int_attribute(node, "channels_last"):
        return _nodes(node, pool.name, (0,), keep, 0)
    axes = len(ints_attribute(node, "kernel_shape")) + 2 if keep else rank(node.input[0])
    if axes is None or axes < 2:
        return None
    output = node.output[0]
    before, after = [0, axes - 1, *range(1, axes - 1)], [0, *range(2, axes), 1]
    inner = helper.make_node(pool.name, [f"{output}{MARK}in"], [f"{output}{MARK}out"])
    inner.attribute.extend(a for a in node.attribute if a.name in keep)
    return [
        helper.make_node(TRANSPOSE.name, [node.input[0]], [f"{output}{MARK}in"], perm=before),
        inner,
        helper.make_node(TRANSPOSE.name, [f"{output}{MARK}out"], [output], perm=after),
    ]


def _mean(node: NodeProto, opset: int) -> list[NodeProto] | None:
    """A mean over the axes of an attribute, which may be a single int."""
    from onnx import helper

    axes, keepdims, output = ints_attribute(node, "axes"), int_attribute(node, "keepdims", 1), node.output[0]
    if opset < 18:
        return [helper.make_node(REDUCE_MEAN.name, [node.input[0]], [output], keepdims=keepdims, axes=axes or None)]
    if not axes:
        return [helper.make_node(REDUCE_MEAN.name, [node.input[0]], [output], keepdims=keepdims)]
    inputs = [node.input[0], f"{output}{MARK}axes"]
    constant = helper.make_node(CONSTANT.name, [], inputs[1:], value_ints=axes)
    return [constant, helper.make_node(REDUCE_MEAN.name, inputs, [output], keepdims=keepdims)]


MEANS = ((MICROSOFT, "QLinearReduceMean"), (PACT, INTEGER_MEAN.name), ("", INTEGER_MEAN.name))
"""Operators that are a mean over axes."""


CONTRIB_POOLS: dict[Operator, tuple[str, ...]] = {
    AVERAGE_POOL: ("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"),
    GLOBAL_AVERAGE_POOL: (),
}
"""Pooling operators whose aliases may have channels last; the attributes that decide the shape."""


TURNS = ("transA", "transB", "transBatchA", "transBatchB")
"""Attributes by which a matrix product transposes its factors first."""
