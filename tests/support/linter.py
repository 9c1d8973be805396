"""What most tests ask of the linter, through its public faces. Settings are keys of the configuration."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from onnx import ModelProto

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.dimensions import Dimensions
from onnxlint_cmsis.analysis.fix_results import FixResult
from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.cli.engine import layers_report, lint_file
from onnxlint_cmsis.cli.file_fix import fix_file
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.formats.format import ONNX, part
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.output.layers import LayersReport

Model = ModelProto | bytes | Path | str
"""A model in memory, or the path of the file that holds it."""


def analysed(model: Model, name: str = "m.onnx", **settings: Any) -> ModelAnalysis:
    """The analysis of a model, read from memory under a name, or from its file."""
    path, data = _given(model, name)
    return ModelAnalysis(path, make_settings(path, **settings).analysis, data)


def linted(model: Model, name: str = "m.onnx", **settings: Any) -> FileResult:
    """What is found in a model."""
    path, data = _given(model, name)
    return lint_file(path, make_settings(path, **settings), data)


def layered(model: Model, name: str = "m.onnx", **settings: Any) -> LayersReport:
    """The layers of a model."""
    path, data = _given(model, name)
    return layers_report(path, make_settings(path, **settings), data)


class FixedModel(NamedTuple):
    """A fix of a model in memory."""

    result: FixResult
    """What was done."""
    model: bytes | None
    """The new model; None where nothing was written."""


def fixed(model: ModelProto | bytes, name: str = "m.onnx", **settings: Any) -> FixedModel:
    """A model fixed as `--fix-only` fixes a file of that name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(_given(model, name)[1] or b"")
        result = fix_file(str(path), make_settings(str(path), **settings), write=True).result
        assert result is not None, "it cannot be read as a model"
        return FixedModel(result, path.read_bytes() if result.written else None)


def with_plan(model: ModelProto, graph: Graph, dimensions: Dimensions, plan: Plan) -> ModelProto:
    """A model with sizes of classes changed, as the editor of its format does it. Raises NotAppliedError."""
    data: bytes = part(ONNX.editor).resized(model.SerializeToString(), graph, dimensions, plan)
    return ModelProto.FromString(data)


def _given(model: Model, name: str) -> tuple[str, bytes | None]:
    """The path of a model and its bytes; no bytes for a file."""
    if isinstance(model, (Path, str)):
        return str(model), None
    return name, model if isinstance(model, bytes) else model.SerializeToString()
