"""Shapes that a file leaves out: ONNX's inference, and what it gets wrong or does not know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import onnx

from onnxlint_cmsis.formats.names import operator_named
from onnxlint_cmsis.formats.onnx.constants import fold_shapes
from onnxlint_cmsis.formats.onnx.document import MARK
from onnxlint_cmsis.formats.onnx.functions import Known, Table, domain_of, imported_versions, operator_of_proto
from onnxlint_cmsis.formats.onnx.library import OnnxLibraryError, hide_dangerous, infer_shapes
from onnxlint_cmsis.formats.onnx.signatures import TYPES, result_types
from onnxlint_cmsis.formats.onnx.tensors import elem_name, elem_number, plain
from onnxlint_cmsis.formats.onnx.wire import all_graphs, subgraphs
from onnxlint_cmsis.ground.types import MAX_AXES, MAX_DIM, Size
from onnxlint_cmsis.model.graph import ModelError, Problem
from onnxlint_cmsis.model.roles import Form, Roles, Sums
from onnxlint_cmsis.model.windows import padding_for, reach, rounded_up
from onnxlint_cmsis.operators.answers import Elements
from onnxlint_cmsis.operators.control import CONSTANT
from onnxlint_cmsis.operators.curve import CAST, IDENTITY
from onnxlint_cmsis.operators.elementwise_ties import unary
from onnxlint_cmsis.operators.mixing import REDUCE_MEAN
from onnxlint_cmsis.operators.normalization import LAYER_NORMALIZATION
from onnxlint_cmsis.operators.pact import INTEGER_MEAN, REQUANT_SHIFT, SHAPE_KEEPING
from onnxlint_cmsis.operators.pairwise import ADD
from onnxlint_cmsis.operators.pooling import AVERAGE_POOL, GLOBAL_AVERAGE_POOL, MAX_POOL
from onnxlint_cmsis.operators.product import MATMUL
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.shaping import TRANSPOSE

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorShapeProto, ValueInfoProto


# Pools with `ceil_mode`: below operator set 22, ONNX's inference counts windows that start in the padding after.
#
# ONNX Runtime counts none of these in any operator set, as ONNX does from 22 on. The copy of the model that inference
# sees gets the padding after that makes the right size without rounding up.


CEIL_POOLS = (AVERAGE_POOL, MAX_POOL)
MENDED = 22
"""First operator set whose inference is right."""


def settle_ceil_pools(model: ModelProto, tables: list[Table]) -> bool:
    """Give pools whose input has known sizes the padding that makes their output's, in place; True where any did.

    One behind another waits for the next call, whose tables have the right size of what it reads.
    """
    versions = imported_versions(model)
    if versions.get("", MENDED) >= MENDED:
        return False
    graphs = [model.graph] if len(tables) == 1 else list(all_graphs(model.graph))
    settled: set[str] = set()  # what settled pools make, and what is made of that
    for node, table in ((node, table) for graph, table in zip(graphs, tables, strict=True) for node in graph.node):
        behind = not settled.isdisjoint(node.input)
        if not behind and operator_of_proto(node) in CEIL_POOLS and _attribute(node, "ceil_mode"):
            shape = table[node.input[0]][1] if node.input and node.input[0] in table else None
            after = _padding_after(node, shape[2:]) if shape else None
            if after is not None:
                _pad(node, after)
                behind = True
        if behind:
            settled.update(name for name in node.output if name)
    return bool(settled)


def _padding_after(node: NodeProto, size: tuple[int | None, ...]) -> list[int] | None:
    """Padding after along each axis that makes the output as large without rounding; None where it is not known."""
    axes = len(size)
    kernel, pads = _ints(node, "kernel_shape"), _ints(node, "pads") or [0] * 2 * axes
    strides, steps = _ints(node, "strides") or [1] * axes, _ints(node, "dilations") or [1] * axes
    fitting = {len(kernel), len(strides), len(steps), len(pads) // 2} == {axes} and min((*kernel, *strides, *steps)) > 0
    same = any(attribute.name == "auto_pad" and attribute.s.startswith(b"SAME") for attribute in node.attribute)
    if not fitting or same or None in size:
        return None
    padding = []
    for axis, full in enumerate(size):
        span, stride, before = reach(kernel[axis], steps[axis]), strides[axis], pads[axis]
        windows = rounded_up(full or 0, span, stride, before, pads[axis + axes])
        padding.append(max(padding_for(windows, full or 0, span, stride) - before, 0))
    return padding


def _pad(node: NodeProto, after: list[int]) -> None:
    from onnx import helper

    before = (_ints(node, "pads") or [0] * 2 * len(after))[: len(after)]
    kept = [attribute for attribute in node.attribute if attribute.name not in ("ceil_mode", "pads", "auto_pad")]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute("pads", [*before, *after])])


# Standard operators that give the same shapes and types as operators that ONNX's shape inference does not know.
#
# Used only in the copy of the model that shape inference sees. Sources: ONNX Runtime's ContribOperators.md for
# `com.microsoft`; for PACTOps and the unregistered ones the models that use them and state their shapes.


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
    if operator.roles.form is Form.MATMUL and any(_attribute(node, name) for name in TURNS):
        return _turned_matmul(node)
    simple = UNREGISTERED.get(key) or _alias(node, operator, opset)
    return None if simple is None else _nodes(node, *simple)


def _is_replaced(node: NodeProto, key: tuple[str, str], operator: Operator) -> bool:
    """Whether inference does not know a node's operator, or not safely, and another one stands for it."""
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
    if _attribute(node, "channels_last"):
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
    """Whether this is a LayerNormalization that onnx 1.23 may crash on: it uses any axis without a look at the rank."""
    return node.op_type == LAYER_NORMALIZATION.name and _attribute(node, "axis", -1) != -1


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


def _attribute(node: NodeProto, name: str, default: int = 0) -> int:
    return next((int(a.i) for a in node.attribute if a.name == name), default)


def _ints(node: NodeProto, name: str) -> list[int]:
    """A list-of-ints attribute, or a single int as a list of one."""
    return next((list(a.ints) or ([a.i] if a.HasField("i") else []) for a in node.attribute if a.name == name), [])


def _turned_matmul(node: NodeProto) -> list[NodeProto] | None:
    """A matrix product after transposing the last two axes of an input."""
    from onnx import helper

    if _attribute(node, "transBatchA") or _attribute(node, "transBatchB"):
        return None
    first, second = _attribute(node, "transA"), _attribute(node, "transB")
    equation = f"...{'ji' if first else 'ij'},...{'kj' if second else 'jk'}->...ik"
    return [helper.make_node("Einsum", list(node.input[:2]), [node.output[0]], equation=equation)]


def _channels_last(node: NodeProto, pool: Operator, rank: Rank) -> list[NodeProto] | None:
    """A pooling node, between two Transposes where its channels are last; None until the rank is known."""
    from onnx import helper

    keep = CONTRIB_POOLS[pool]
    if not _attribute(node, "channels_last"):
        return _nodes(node, pool.name, (0,), keep, 0)
    axes = len(_ints(node, "kernel_shape")) + 2 if keep else rank(node.input[0])
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

    axes, keepdims, output = _ints(node, "axes"), _attribute(node, "keepdims", 1), node.output[0]
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


# Sizes of the graph's inputs: what the user gives, and 1 for a symbolic batch, carried to every use of the name.


def believed(size: int) -> Size:
    """A size that a file states; None for a number that is none: negative (Paddle writes -1), or too large."""
    return size if 0 <= size <= MAX_DIM else None


def stated_size(dim: TensorShapeProto.Dimension) -> Size:
    """Size that a file states for one axis of a value; None where it states none that can be one."""
    return believed(dim.dim_value) if dim.HasField("dim_value") else None


def too_many_axes(name: str, axes: int) -> str:
    """What is said of a tensor with more axes than are followed; empty for another."""
    return f"`{name}` has {axes} axes; tensors of up to {MAX_AXES} are followed" if axes > MAX_AXES else ""


def real_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """Inputs without the initializers listed among them."""
    constants = {tensor.name for tensor in graph.initializer} | {s.values.name for s in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in constants]


def apply_input_shapes(model: ModelProto, input_shapes: Mapping[str, tuple[Size, ...]] | None) -> None:
    """Set the sizes of the inputs in place: the user's first, then 1 for a symbolic axis 0 of rank 2 and more.

    A symbol so bound gets its size everywhere. Where the user contradicts a size in the file, sizes that the file
    gives for other values are dropped, as they no longer hold.

    Raises ModelError (`input-shape`) for names and ranks the model does not have.
    """
    given = dict(input_shapes or {})
    inputs = real_inputs(model.graph)
    unknown = [name for name in given if name not in {value.name for value in inputs}]
    if unknown:
        there = ", ".join(f"`{value.name}` {describe(value)}" for value in inputs) or "none"
        raise ModelError("input-shape", f"no input `{unknown[0]}`; the model's inputs: {there}")
    bound: dict[str, int] = {}
    contradicted = False
    for value in inputs:
        if value.name in given:
            contradicted |= _override(value, given[value.name], bound)
    for value in inputs:
        dims = value.type.tensor_type.shape.dim
        if value.name not in given and len(dims) >= 2 and not dims[0].HasField("dim_value"):
            _bind(dims[0], 1, bound)
    graphs = list(all_graphs(model.graph)) if bound or contradicted else []
    for graph in graphs:
        if contradicted:
            _forget_results(graph)
        for value in (*graph.input, *graph.output, *graph.value_info):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param in bound:
                    dim.dim_value = bound[dim.dim_param]


def _telling(name: str | bytes) -> bool:
    """Whether a name stands for one size: exporters write `?` for every size they do not know.

    Protobuf gives a name that is not UTF-8 as bytes, which stand for nothing.
    """
    return isinstance(name, str) and any(map(str.isalnum, name))


def forget_impossible_dims(model: ModelProto, problems: list[Problem]) -> None:
    """Make sizes unknown that are none (negative, or too large for any tensor), in place, and tell it once.

    Names that tell nothing go too, and so do shapes with more axes than are followed, each of which is told.
    """
    wrong: list[str] = []
    size = 0
    for graph in all_graphs(model.graph):
        for value in (*graph.input, *graph.output, *graph.value_info):
            many = too_many_axes(value.name, len(value.type.tensor_type.shape.dim))
            if many:
                problems.append(Problem("undecided", many))
                value.type.tensor_type.ClearField("shape")
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param and not _telling(dim.dim_param):
                    dim.ClearField("dim_param")
                if believed(dim.dim_value) is None:
                    size = size or dim.dim_value
                    wrong.append(value.name)
                    dim.ClearField("dim_value")
    if wrong:
        others = len(dict.fromkeys(wrong)) - 1
        more = f" (and {others} more values)" if others else ""
        allowed = f"allowed are 0 to {MAX_DIM}, or a name for a size that is not fixed"
        problems.append(Problem("invalid", f"`{wrong[0]}`{more} has the size {size}; {allowed}"))


def _override(value: ValueInfoProto, sizes: tuple[Size, ...], bound: dict[str, int]) -> bool:
    """Give one input the user's sizes; True where they contradict the file's."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        tensor.shape.SetInParent()
        for _ in sizes:
            tensor.shape.dim.add()
    dims = tensor.shape.dim
    if len(dims) != len(sizes):
        raise ModelError(
            "input-shape", f"input `{value.name}` is {describe(value)}: {len(dims)} sizes, not {len(sizes)}"
        )
    contradicted = False
    for axis, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
        if size is None:
            continue
        if not 0 < size <= MAX_DIM:
            raise ModelError("input-shape", f"input `{value.name}` axis {axis}: {size}; allowed are 1 to {MAX_DIM}")
        if bound.get(dim.dim_param, size) != size:
            raise ModelError(
                "input-shape",
                f"input `{value.name}` axis {axis}: {size}, but `{dim.dim_param}` is {bound[dim.dim_param]} elsewhere",
            )
        contradicted |= dim.HasField("dim_value") and dim.dim_value != size
        _bind(dim, size, bound)
    return contradicted


def _bind(dim: TensorShapeProto.Dimension, size: int, bound: dict[str, int]) -> None:
    """Give a symbolic or other size a number, and remember its symbol's."""
    if dim.dim_param:
        size = bound.setdefault(dim.dim_param, size)
    dim.dim_value = size


def describe(value: ValueInfoProto) -> str:
    """An input's shape for messages: `[batch, 3, 96, ?]`."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return "of unknown rank"
    sizes = [str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim]
    return f"[{', '.join(sizes)}]"


# Shapes and element types: ONNX's shape inference, completed by the shapes that the file states.


MAX_ROUNDS = 100
"""How often inference is repeated while it still finds more."""
MAX_VISITS = 100_000
"""Nodes that the repetitions may visit in all, for the largest models."""


def infer(model: ModelProto, *, believing: bool = True) -> list[Table]:
    """A table for the main graph and each graph inside it, in the order of `all_graphs`.

    A shape stated in the file is used only if inference finds none; one that contradicts inference is not used. Not
    `believing`, no shape of a result that the file states is used at all.
    """
    graphs = list(all_graphs(model.graph))
    copy = type(model).FromString(model.SerializeToString())
    versions = imported_versions(copy)
    for graph in _graphs(copy, len(graphs)):
        _forget_results(graph)
        _forget_impossible(graph)
        hide_dangerous(graph, versions)
    stated = [_stated(graph) for graph in (graphs if believing else _graphs(copy, len(graphs)))]
    standardise(copy, _graphs(copy, len(graphs)), lambda _: None)
    tables = _run(copy, len(graphs))
    if tables is None:
        return stated
    for _ in range(min(MAX_ROUNDS, 8 + MAX_VISITS // (1 + sum(len(graph.node) for graph in graphs)))):
        settled = settle_ceil_pools(copy, tables)
        if not settled and (_complete(copy, tables) or not _improve(copy, tables, stated)):
            break
        tables = _run(copy, len(graphs)) or tables
    whole = [
        known | {name: merge(inferred, known[name]) if name in known else inferred for name, inferred in table.items()}
        for table, known in zip(tables, stated, strict=True)
    ]
    for graph, table, known in zip(graphs, whole, stated, strict=True):
        _settle_types(graph, table, known, versions)
    return whole


def _settle_types(graph: GraphProto, table: Table, stated: Table, versions: Mapping[str, int]) -> None:
    """Give results of vendors' operators the type that they have, in place, where the file states none.

    The operators that stand for them in inference have the type of their first input.
    """
    for node in graph.node:
        domain = domain_of(node.domain)
        if not domain or (domain, node.op_type) not in TYPES or not node.output:
            continue
        if stated.get(node.output[0], (0, None))[0]:
            continue
        given = [elem_name(table.get(name, (0, None))[0]) if name else None for name in node.input]
        (kind,) = result_types((domain, node.op_type), versions.get(domain, 0), plain(node.attribute), given, 1)
        if kind and node.output[0] in table:
            table[node.output[0]] = elem_number(kind), table[node.output[0]][1]


def _graphs(model: ModelProto, count: int) -> list[GraphProto]:
    """The graphs of a model that is known to have so many."""
    return [model.graph] if count == 1 else list(all_graphs(model.graph))


def _complete(model: ModelProto, tables: list[Table]) -> bool:
    """Whether every value has a shape with all its sizes."""
    for graph, table in zip(_graphs(model, len(tables)), tables, strict=True):
        for node in graph.node:
            for name in node.output:
                shape = table[name][1] if name in table else None
                if name and (shape is None or None in shape):
                    return False
    return True


def _improve(model: ModelProto, tables: list[Table], stated: list[Table]) -> bool:
    """Add to the copy what helps inference further, in place; True where there was anything."""
    changed = standardise(model, _graphs(model, len(tables)), _ranks(tables))
    changed |= fold_shapes(model.graph, iter(tables))
    added = [_add_stated(g, t, s) for g, t, s in zip(_graphs(model, len(tables)), tables, stated, strict=True)]
    return changed or any(added)


def _forget_results(graph: GraphProto) -> None:
    """Drop the shapes a file states for computed values, so that stale ones do no harm."""
    del graph.value_info[:]
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


def _forget_impossible(graph: GraphProto) -> None:
    """Drop constants whose dims are no sizes, and such dims of inputs."""
    for value in graph.input:
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.HasField("dim_value") and believed(dim.dim_value) is None:
                dim.ClearField("dim_value")
    kept = [tensor for tensor in graph.initializer if None not in map(believed, tensor.dims)]
    if len(kept) < len(graph.initializer):
        copies = [type(tensor).FromString(tensor.SerializeToString()) for tensor in kept]
        del graph.initializer[:]
        graph.initializer.extend(copies)
    for node in graph.node:
        if operator_of_proto(node) is CONSTANT and any(None in map(believed, a.t.dims) for a in node.attribute):
            del node.attribute[:]


def _run(model: ModelProto, count: int) -> list[Table] | None:
    """ONNX's inference; None where it fails as a whole."""
    try:
        inferred = infer_shapes(model.SerializeToString())
    except OnnxLibraryError:
        return None
    return [_stated(graph) for graph in _graphs(inferred, count)]


def _stated(graph: GraphProto) -> Table:
    """What a graph says of its values."""
    table: Table = {}
    for value in (*graph.value_info, *graph.output, *graph.input):
        if value.type.HasField("tensor_type"):
            tensor_type = value.type.tensor_type
            sizes = tuple(stated_size(dim) for dim in tensor_type.shape.dim)
            table[value.name] = tensor_type.elem_type, _followed(sizes) if tensor_type.HasField("shape") else None
    for tensor in graph.initializer:
        table[tensor.name] = tensor.data_type, _followed(tuple(believed(d) for d in tensor.dims))
    return table


def _followed(shape: tuple[Size, ...]) -> tuple[Size, ...] | None:
    """A shape; None where it has more axes than are followed, which inference can make from few."""
    return shape if len(shape) <= MAX_AXES else None


def _ranks(tables: list[Table]) -> Rank:
    def rank(name: str) -> int | None:
        shapes = [table[name][1] for table in tables if name in table]
        return len(shapes[0]) if shapes and shapes[0] is not None else None

    return rank


def merge(inferred: Known, stated: Known) -> Known:
    """Inferred shapes, completed by those that the file states where the two agree."""
    elem, shape = inferred[0] or stated[0], inferred[1]
    if shape is None:
        return elem, stated[1]
    if stated[1] is None or len(stated[1]) != len(shape):
        return elem, shape
    if any(a is not None and b is not None and a != b for a, b in zip(shape, stated[1], strict=True)):
        return elem, shape
    return elem, tuple(b if a is None else a for a, b in zip(shape, stated[1], strict=True))


def _add_stated(graph: GraphProto, inferred: Table, stated: Table) -> bool:
    """Tell inference what the file states and it could not find; True where there was anything."""
    added = False
    present = {value.name for value in graph.value_info}
    outputs = {value.name: value for value in graph.output}
    for name, known in stated.items():
        better = merge(inferred.get(name, (0, None)), known)
        if name in present or better[1] is None or better == inferred.get(name) or not better[0]:
            continue
        value = outputs[name] if name in outputs else graph.value_info.add(name=name)
        if name in outputs and value.type.tensor_type.HasField("shape"):
            continue
        _set(value, better)
        added = True
    return added


def _set(value: ValueInfoProto, known: Known) -> None:
    """Write an element type and a shape."""
    tensor = value.type.tensor_type
    tensor.elem_type = known[0]
    tensor.shape.SetInParent()
    for size in known[1] or ():
        dim = tensor.shape.dim.add()
        if size is not None:
            dim.dim_value = size


# Inputs that a damaged node lacks; the checker reports it, and everything else may count on the positions.


@lru_cache(maxsize=1024)
def fewest_inputs(domain: str, op_type: str, version: int) -> int:
    """How many inputs an operator takes at least: by its schema, else by its record; 0 where neither is known."""
    try:
        return int(onnx.defs.get_schema(op_type, version, domain).min_input)
    except onnx.defs.SchemaError:
        operator = operator_named(domain, op_type)
    if not operator.known:
        return 0
    roles = operator.roles
    positions = [*roles.data, *roles.weights[:1]]
    positions += [position for triple in roles.quantized for position in (triple.value, triple.scale)]
    return max(positions, default=-1) + 1


def with_missing(inputs: tuple[str, ...], domain: str, op_type: str, version: int) -> tuple[str, ...]:
    """The inputs, followed by empty names for those that the operator cannot do without."""
    return (*inputs, *[""] * (fewest_inputs(domain, op_type, version) - len(inputs)))
