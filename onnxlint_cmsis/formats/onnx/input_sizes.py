"""Sizes of the graph's inputs: what the user gives, and 1 for a symbolic batch, carried to every use of the name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.walk import all_graphs
from onnxlint_cmsis.ground.types import MAX_AXES, MAX_DIM, Size
from onnxlint_cmsis.model.graph import Problem
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, TensorShapeProto, ValueInfoProto


def believed(size: int) -> Size:
    """A size that a file states; None for a number that is none: negative (Paddle writes -1), or too large."""
    return size if 0 <= size <= MAX_DIM else None


def stated_size(dim: TensorShapeProto.Dimension) -> Size:
    """Size that a file states for one axis of a value; None where it states none that can be one."""
    return believed(dim.dim_value) if dim.HasField("dim_value") else None


def too_many_axes(name: str, axes: int) -> str | None:
    """What is said of a tensor with more axes than are followed; None for another."""
    return f"`{name}` has {axes} axes; tensors of up to {MAX_AXES} are followed" if axes > MAX_AXES else None


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
            forget_results(graph)
        for value in (*graph.input, *graph.output, *graph.value_info):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param in bound:
                    dim.dim_value = bound[dim.dim_param]


def forget_impossible_dims(model: ModelProto, problems: list[Problem]) -> None:
    """Make sizes unknown that are none (negative, or too large for any tensor), in place, and tell it once.

    Names that tell nothing go too, and so do shapes with more axes than are followed, each of which is told.
    """
    wrong: list[tuple[str, int]] = []
    for graph in all_graphs(model.graph):
        for value in (*graph.input, *graph.output, *graph.value_info):
            many = too_many_axes(value.name, len(value.type.tensor_type.shape.dim))
            if many:
                problems.append(Problem("undecided", many))
                value.type.tensor_type.ClearField("shape")
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param and not (isinstance(dim.dim_param, str) and any(map(str.isalnum, dim.dim_param))):
                    dim.ClearField("dim_param")
                if believed(dim.dim_value) is None:
                    wrong.append((value.name, dim.dim_value))
                    dim.ClearField("dim_value")
    problems += impossible_sizes(wrong)


def impossible_sizes(wrong: Sequence[tuple[str, int]]) -> Iterator[Problem]:
    """What is told of values that have sizes that are none: the first of those too large, and of those below 0."""
    large = [(name, size) for name, size in wrong if size > MAX_DIM]
    for kind, sizes in (("oversized", large), ("invalid", [item for item in wrong if item not in large])):
        if sizes:
            name, size = sizes[0]
            others = len(dict.fromkeys(name for name, _ in sizes)) - 1
            more = f", and {others} more value{'s have' if others > 1 else ' has'} such a size too" if others else ""
            allowed = f"a size is 0 to {MAX_DIM}, or a name where it is not fixed"
            yield Problem(kind, f"`{name}` has the size {size}{more}; {allowed}")


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


def forget_results(graph: GraphProto) -> None:
    """Drop the shapes a file states for computed values, so that stale ones do no harm."""
    del graph.value_info[:]
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
