"""`load`: an ONNX file to a Graph, without reading its weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.onnx_graph.document import MAX_VALUES, Document
from onnxlint_cmsis.onnx_graph.errors import ModelError
from onnxlint_cmsis.onnx_graph.flatten import Flattener
from onnxlint_cmsis.onnx_graph.functions import expand_functions
from onnxlint_cmsis.onnx_graph.inference import infer
from onnxlint_cmsis.onnx_graph.shapes import apply_input_shapes
from onnxlint_cmsis.onnx_graph.source import open_buffer
from onnxlint_cmsis.types import Size

if TYPE_CHECKING:
    from os import PathLike

    from onnxlint_cmsis.onnx_graph.graph import Graph

__all__ = ["MAX_VALUES", "ModelError", "load"]


def load(
    path: str | PathLike[str],
    *,
    input_shapes: Mapping[str, tuple[Size, ...]] | None = None,
    data: bytes | None = None,
) -> Graph:
    """Read a model file, or `data` in its place (`path` is then its name, `-` for standard input).

    `input_shapes` gives sizes of inputs by name, None for one that stays symbolic; the batch of all other inputs
    (a symbolic axis 0 of rank 2 and more) is 1.

    Raises ModelError with kind `unreadable`, `not-onnx`, `lfs-pointer`, `too-deep` or `input-shape`.
    """
    name = str(path)
    document = Document(name, open_buffer(name) if data is None else data)
    stripped = document.stripped
    apply_input_shapes(document.model, input_shapes)
    expand_functions(document.model, document.buffer, stripped.nodes, stripped.functions, document.problems)
    return Flattener(document, infer(document.model)).run()
