"""Shapes and element types: ONNX's shape inference, completed by the shapes that the file states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx_graph.ceil_pools import settle_ceil_pools
from onnxlint_cmsis.formats.onnx_graph.contrib_equivalents import Rank, standardise
from onnxlint_cmsis.formats.onnx_graph.folding import fold_shapes
from onnxlint_cmsis.formats.onnx_graph.functions import imported_versions
from onnxlint_cmsis.formats.onnx_graph.guards import hide_dangerous
from onnxlint_cmsis.formats.onnx_graph.input_shapes import believed, stated_size
from onnxlint_cmsis.formats.onnx_graph.known_shapes import Known, Table
from onnxlint_cmsis.formats.onnx_graph.onnx_library import OnnxLibraryError, infer_shapes
from onnxlint_cmsis.formats.onnx_graph.proto_operators import operator_of_proto
from onnxlint_cmsis.formats.onnx_graph.subgraph_walk import all_graphs
from onnxlint_cmsis.operators.control_operators import CONSTANT
from onnxlint_cmsis.types import MAX_AXES, Size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import GraphProto, ModelProto, ValueInfoProto

MAX_ROUNDS = 100
"""How often inference is repeated while it still finds more."""
MAX_VISITS = 100_000
"""Nodes that the repetitions may visit in all, for the largest models."""


def infer(model: ModelProto) -> list[Table]:
    """A table for the main graph and each graph inside it, in the order of `all_graphs`.

    A shape stated in the file is used only if inference finds none; one that contradicts inference is not used.
    """
    graphs = list(all_graphs(model.graph))
    stated = [_stated(graph) for graph in graphs]
    copy = type(model).FromString(model.SerializeToString())
    versions = imported_versions(copy)
    for graph in _graphs(copy, len(graphs)):
        _forget_results(graph)
        _forget_impossible(graph)
        hide_dangerous(graph, versions)
    standardise(copy, _graphs(copy, len(graphs)), lambda _: None)
    tables = _run(copy, len(graphs))
    if tables is None:
        return stated
    for _ in range(min(MAX_ROUNDS, 8 + MAX_VISITS // (1 + sum(len(graph.node) for graph in graphs)))):
        settled = settle_ceil_pools(copy, tables)
        if not settled and (_complete(copy, tables) or not _improve(copy, tables, stated)):
            break
        tables = _run(copy, len(graphs)) or tables
    return [_merge_tables(t, s) for t, s in zip(tables, stated, strict=True)]


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
    """Drop constants whose dims are no sizes."""
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
    for values in (graph.value_info, graph.output, graph.input):
        _read(values, table)
    for tensor in graph.initializer:
        table[tensor.name] = tensor.data_type, _followed(tuple(believed(d) for d in tensor.dims))
    return table


def _read(values: Iterable[ValueInfoProto], table: Table) -> None:
    for value in values:
        if value.type.HasField("tensor_type"):
            tensor = value.type.tensor_type
            shape = None
            if tensor.HasField("shape"):
                shape = _followed(tuple(stated_size(dim) for dim in tensor.shape.dim))
            table[value.name] = tensor.elem_type, shape


def _followed(shape: tuple[Size, ...]) -> tuple[Size, ...] | None:
    """A shape; None where it has more axes than are followed, which inference can make from few."""
    return shape if len(shape) <= MAX_AXES else None


def _ranks(tables: list[Table]) -> Rank:
    def rank(name: str) -> int | None:
        shapes = [table[name][1] for table in tables if name in table]
        return len(shapes[0]) if shapes and shapes[0] is not None else None

    return rank


def merge(found: Known, stated: Known) -> Known:
    """Inferred shapes, completed by those that the file states where the two agree."""
    elem, shape = found[0] or stated[0], found[1]
    if shape is None:
        return elem, stated[1]
    if stated[1] is None or len(stated[1]) != len(shape):
        return elem, shape
    if any(a is not None and b is not None and a != b for a, b in zip(shape, stated[1], strict=True)):
        return elem, shape
    return elem, tuple(b if a is None else a for a, b in zip(shape, stated[1], strict=True))


def _merge_tables(found: Table, stated: Table) -> Table:
    return stated | {name: merge(known, stated[name]) if name in stated else known for name, known in found.items()}


def _add_stated(graph: GraphProto, found: Table, stated: Table) -> bool:
    """Tell inference what the file states and it could not find; True where there was anything."""
    added = False
    present = {value.name for value in graph.value_info}
    outputs = {value.name: value for value in graph.output}
    for name, known in stated.items():
        better = merge(found.get(name, (0, None)), known)
        if name in present or better[1] is None or better == found.get(name) or not better[0]:
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
