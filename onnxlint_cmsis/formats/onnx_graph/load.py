"""`load`: an ONNX file to a Graph, without reading its weights; `load_model` keeps the way to read them later."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx_graph.checker import checker_problem, opset_problems
from onnxlint_cmsis.formats.onnx_graph.document import Document
from onnxlint_cmsis.formats.onnx_graph.flatten import Flattener
from onnxlint_cmsis.formats.onnx_graph.functions import expand_functions
from onnxlint_cmsis.formats.onnx_graph.inference import infer
from onnxlint_cmsis.formats.onnx_graph.input_shapes import apply_input_shapes, forget_impossible_dims
from onnxlint_cmsis.formats.onnx_graph.source import open_buffer
from onnxlint_cmsis.formats.onnx_graph.validate import meaning_problems, structure_problems
from onnxlint_cmsis.graph.model_error import ModelError
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.types import Size

if TYPE_CHECKING:
    from os import PathLike

    from onnx import TensorProto

    from onnxlint_cmsis.graph.model import Graph, Problem

__all__ = ["LoadedModel", "ModelError", "load", "load_model"]


class LoadedModel(NamedTuple):
    """A model and the way back to its weights."""

    graph: Graph
    """Nodes, tensors and constants."""
    document: Document
    """The parsed file."""
    tensors: dict[str, TensorProto | None]
    """Where each stored constant's values are, by its key in the graph; None where a key has several tensors."""


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

    Raises ModelError with kind `unreadable`, `not-onnx`, `lfs-pointer`, `too-deep` or `input-shape`.
    """
    collecting = gc.isenabled()
    gc.disable()  # tens of thousands of small lasting objects: looking for garbage among them takes a fifth of the time
    try:
        return _load(str(path), input_shapes, data)
    finally:
        if collecting:
            gc.enable()


def _load(name: str, input_shapes: Mapping[str, tuple[Size, ...]] | None, data: bytes | None) -> LoadedModel:
    document = Document(name, open_buffer(name) if data is None else data)
    stripped = document.stripped
    forget_impossible_dims(document.model, document.problems)
    apply_input_shapes(document.model, input_shapes)
    calls = stripped.nodes, stripped.functions
    expanded = expand_functions(document.model, document.buffer, *calls, document.problems)
    flattener = Flattener(document, infer(document.model), expanded)
    graph = flattener.run()
    graph = replace(graph, problems=_problems(document, graph, flattener.given))
    return LoadedModel(graph, document, flattener.stored)


def _problems(document: Document, graph: Graph, given: set[str]) -> tuple[Problem, ...]:
    """Problems met on the way and those of the finished graph; onnx.checker is asked where there are none so far."""
    found = [*graph.problems, *opset_problems(document.model), *structure_problems(graph, given)]
    if document.checkable and not any(problem.kind == "invalid" for problem in found):
        rejected = checker_problem(document.checkable)
        found += [rejected] if rejected else []
    return (*found, *meaning_problems(graph))
