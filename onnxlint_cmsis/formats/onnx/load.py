"""`load`: an ONNX file to a Graph, without reading its weights; `load_model` keeps the way to read them later."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, TensorProto

from onnxlint_cmsis.formats.onnx.arrays import NUMPY, array_of
from onnxlint_cmsis.formats.onnx.axes import refuse_axes
from onnxlint_cmsis.formats.onnx.checker import checker_problem, opset_problems
from onnxlint_cmsis.formats.onnx.connection_rules import refuse_loops
from onnxlint_cmsis.formats.onnx.document import Document
from onnxlint_cmsis.formats.onnx.functions import (
    expand_functions,
)
from onnxlint_cmsis.formats.onnx.graph_rules import MEANING, STRUCTURE
from onnxlint_cmsis.formats.onnx.input_sizes import apply_input_shapes, forget_impossible_dims
from onnxlint_cmsis.formats.onnx.opening import open_buffer
from onnxlint_cmsis.formats.onnx.shape_inference import infer
from onnxlint_cmsis.formats.onnx.to_graph import Flattener
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.graph import Graph, Problem
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.model.leftovers import Leftovers

__all__ = ["LoadedModel", "ModelError", "load", "load_model"]


class LoadedModel(NamedTuple):
    """A model and the way back to its weights."""

    graph: Graph
    """Nodes, tensors and constants."""
    document: Document
    """The parsed file."""
    tensors: dict[str, TensorProto | None]
    """Where each stored constant's values are, by its key in the graph; None where a key has several tensors."""

    def digest(self) -> bytes | None:
        """SHA-256 of the file and of its external data; None where these cannot be read."""
        return self.document.digest()

    def reader(self) -> Callable[[str], NDArray[Any] | None]:
        """A way to read the constants of the model by their key in its graph.

        Initializers and Constant nodes of any size, and up to `MAX_VALUES` elements of what follows from them; None
        for anything else, for external data that the loader refuses or that belongs to a model without a path, and
        for strings. 4-bit integers come as int8 and uint8, bfloat16 as float32.
        """

        def read(key: str) -> NDArray[Any] | None:
            tensor, constant = self.tensors.get(key), self.graph.constants.get(key)
            if constant is None:
                return None
            if tensor is not None:
                return array_of(self.document, tensor)
            values = constant.values() if constant.elem_type in NUMPY else None
            return None if values is None else np.array(values, dtype=constant.elem_type).reshape(constant.shape)

        return read

    def leftovers(self) -> Leftovers:
        """What the file says and the graph does not keep."""
        from onnxlint_cmsis.formats.onnx.left import leftovers

        return leftovers(self.document, self.tensors)

    def computed_sizes(self) -> Mapping[str, tuple[int, ...]]:
        """Sizes of the main graph's values as ONNX's inference finds them without those that the file states.

        Nothing rests on the numbers of a constant that a caller may replace.
        """
        model = ModelProto.FromString(self.document.model.SerializeToString())
        graph, known = model.graph, self.graph.constants
        fixed = [tensor for tensor in graph.initializer if not (t := known.get(tensor.name)) or not t.overridable]
        if len(fixed) < len(graph.initializer):
            kept = GraphProto(initializer=fixed)
            del graph.initializer[:]
            graph.initializer.extend(kept.initializer)
        table = infer(model, believing=False)[0]
        shapes = {name: shape for name, (_, shape) in table.items() if shape is not None}
        return {name: tuple(size or 0 for size in shape) for name, shape in shapes.items() if None not in shape}


def load(
    path: str | PathLike[str],
    *,
    input_shapes: Mapping[str, tuple[Size, ...]] | None = None,
    data: bytes | None = None,
) -> Graph:
    """The graph of a model file; arguments and errors are those of `load_model`."""
    return load_model(path, input_shapes=input_shapes, data=data).graph


def load_model(
    path: str | PathLike[str],
    *,
    input_shapes: Mapping[str, tuple[Size, ...]] | None = None,
    data: bytes | None = None,
) -> LoadedModel:
    """Read a model file, or `data` in its place (`path` is then its name, `-` for standard input).

    `input_shapes` gives sizes of inputs by name, None for one that stays symbolic; the batch of all other inputs
    (a symbolic axis 0 of rank 2 and more) is 1.

    Raises ModelError with kind `unreadable`, `not-a-model`, `lfs-pointer`, `too-deep` or `input-shape`.
    """
    collecting = gc.isenabled()
    gc.disable()  # tens of thousands of small lasting objects: looking for garbage among them takes a fifth of the time
    try:
        name = str(path)
        document = Document(name, open_buffer(name) if data is None else data)
        stripped = document.stripped
        forget_impossible_dims(document.model, document.problems)
        apply_input_shapes(document.model, input_shapes)
        calls = stripped.nodes, stripped.functions
        expanded = expand_functions(document.model, document.buffer, *calls, document.problems)
        tables = infer(document.model, problems=document.problems)
        flattener = Flattener(document, tables, expanded)
        graph = flattener.run()
        graph = replace(graph, problems=_problems(document, graph, flattener.given))
        return LoadedModel(graph, document, flattener.stored)
    finally:
        if collecting:
            gc.enable()


def _problems(document: Document, graph: Graph, given: set[str]) -> tuple[Problem, ...]:
    """Problems met on the way and those of the finished graph; onnx.checker is asked where there are none so far."""
    problems = [*graph.problems, *opset_problems(document.model)]
    refuse_loops(graph, given)
    refuse_axes(graph)
    problems += [problem for rule in STRUCTURE for problem in rule(graph, given)]
    if document.checkable and not any(problem.kind in ("invalid", "oversized") for problem in problems):
        rejected = checker_problem(document.checkable)
        problems += [rejected] if rejected else []
    return (*problems, *(problem for rule in MEANING for problem in rule(graph)))
