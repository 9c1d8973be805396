"""A model file of either format, analysed."""

from __future__ import annotations

from onnxlint_cmsis.analysis.analysis import AnalysisSettings, ModelAnalysis
from onnxlint_cmsis.formats.suffixes import is_tflite_path


def open_model(path: str, settings: AnalysisSettings, data: bytes | None = None) -> ModelAnalysis:
    """Read a file by its name's ending, or `data` in its place. Raises ModelError."""
    if not is_tflite_path(path):
        return ModelAnalysis(path, settings, data)
    from onnxlint_cmsis.analysis.tflite_analysis import TfliteAnalysis

    return TfliteAnalysis(path, settings, data)
