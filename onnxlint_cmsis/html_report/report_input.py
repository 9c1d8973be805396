"""All that a report tells of one version of a model, worked out once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.comparison.difference import ModelVersion
from onnxlint_cmsis.errors import UsageError
from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.resolve import Configuration


class ReportInput(NamedTuple):
    """One version of a model."""

    version: ModelVersion
    """Its findings and layers."""
    model: ModelAnalysis
    """Its graph, classes and layers' verdicts."""
    memory: tuple[Mapping[str, object], ...]
    """What `memory` tells, for each target."""

    @property
    def names(self) -> Mapping[str, str]:
        """Short forms of names, for people."""
        return self.version.layers.names


def report_input(text: str, configuration: Configuration) -> ReportInput:
    """Read and lint a file, or a file of a git commit. Raises UsageError."""
    from onnxlint_cmsis.comparison.operand import operand
    from onnxlint_cmsis.engine import lint_file
    from onnxlint_cmsis.graph.model_error import ModelError
    from onnxlint_cmsis.layers_report import layers_report
    from onnxlint_cmsis.open_model import open_model
    from onnxlint_cmsis.tflite_files.memory_report import memory_reports

    given = operand(text)
    settings = configuration.settings_for(given.path)
    try:
        model = open_model(given.path, settings.analysis, given.data)
        result = lint_file(given.path, settings, given.data, model)
        layers = layers_report(given.path, settings, given.data, model)
        memory = tuple(memory_reports(model))
    except ModelError as error:
        raise UsageError(f"{text}: {error.message}") from None
    return ReportInput(ModelVersion(text, result, layers), model, memory)
