"""Shapes and element types: ONNX's shape inference, completed by the shapes that the file states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.attributes import plain
from onnxlint_cmsis.formats.onnx.constants import fold_shapes
from onnxlint_cmsis.formats.onnx.dangerous_nodes import OPAQUE, hide_dangerous
from onnxlint_cmsis.formats.onnx.functions import domain_of, imported_versions
from onnxlint_cmsis.formats.onnx.input_sizes import believed, forget_results, impossible_sizes, stated_size
from onnxlint_cmsis.formats.onnx.known_types import Known, Table
from onnxlint_cmsis.formats.onnx.library import OnnxLibraryError, infer_shapes
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.formats.onnx.runtime_sizes import settle_sizes
from onnxlint_cmsis.formats.onnx.surrogates import Rank, standardise
from onnxlint_cmsis.formats.onnx.tensors import elem_name, elem_number
from onnxlint_cmsis.formats.onnx.walk import all_graphs
from onnxlint_cmsis.ground.types import MAX_AXES, MAX_DIM, Size
from onnxlint_cmsis.operators.control import CONSTANT

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, ValueInfoProto

    from onnxlint_cmsis.model.graph import Problem


MAX_ROUNDS = 100
"""How often inference is repeated while it still finds more."""


MAX_VISITS = 100_000
"""Nodes that the repetitions may visit in all, for the largest models."""


def infer(model: ModelProto, *, believing: bool = True, problems: list[Problem] | None = None) -> list[Table]:
    """A table for the main graph and each graph inside it, in the order of `all_graphs`.

    A shape stated in the file is used only if inference finds none; one that contradicts inference is not used. Not
    `believing`, no shape of a result that the file states is used at all. Sizes that no tensor has are unknown, and
    `problems` get what is told of them.
    """
    graphs = list(all_graphs(model.graph))
    copy = type(model).FromString(model.SerializeToString())
    versions = imported_versions(copy)
    for graph in _graphs(copy, len(graphs)):
        forget_results(graph)
        _forget_impossible(graph)
        hide_dangerous(graph, versions)
    copy.opset_import.add(domain=OPAQUE, version=1)  # without it inference fails at a hidden node
    stated = [_stated(graph) for graph in (graphs if believing else _graphs(copy, len(graphs)))]
    standardise(copy, _graphs(copy, len(graphs)), lambda _: None)
    beyond: dict[str, int] = {}
    tables = _run(copy, len(graphs), beyond)
    if tables is None:
        return stated
    for _ in range(min(MAX_ROUNDS, 8 + MAX_VISITS // (1 + sum(len(graph.node) for graph in graphs)))):
        settled = settle_sizes(copy, tables)
        if not settled and (_complete(copy, tables) or not _improve(copy, tables, stated)):
            break
        tables = _run(copy, len(graphs), beyond) or tables
    if problems is not None:
        problems += impossible_sizes(list(beyond.items()))
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
        if not domain or not node.output:
            continue
        from onnxlint_cmsis.formats.onnx.signatures import TYPES, result_types

        if (domain, node.op_type) not in TYPES:
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
    """Tell whether every value has a shape with all its sizes."""
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


def _run(model: ModelProto, count: int, beyond: dict[str, int]) -> list[Table] | None:
    """ONNX's inference; None where it fails as a whole. Adds to `beyond` sizes that are too large for any tensor."""
    try:
        inferred = infer_shapes(model.SerializeToString())
    except OnnxLibraryError:
        return None
    graphs = _graphs(inferred, count)
    for graph in graphs:
        for value in (*graph.value_info, *graph.output):
            for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
                if dim.dim_value > MAX_DIM:
                    beyond.setdefault(value.name, dim.dim_value)
    return [_stated(graph) for graph in graphs]


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
