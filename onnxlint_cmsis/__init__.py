"""onnxlint-cmsis: what CMSIS-NN will do with an ONNX model on a Cortex-M, said before flashing.

`from onnxlint_cmsis import lint, layers, fix` is the Python API, described in docs/python.md. Names load when they are
used: importing the package alone loads neither NumPy nor ONNX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground import __version__

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.fix_results import FixResult
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.analysis.results import FileResult
    from onnxlint_cmsis.cli.api import fix, layers, lint, lint_bytes
    from onnxlint_cmsis.config.files import make_settings
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.formats.format import SUFFIXES, is_model, is_skipped
    from onnxlint_cmsis.ground.errors import UsageError
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.ground.types import Level
    from onnxlint_cmsis.model.model_error import ModelError
    from onnxlint_cmsis.output.layers import LayersReport

__all__ = [
    "SUFFIXES",
    "FileResult",
    "Finding",
    "FixResult",
    "LayerReport",
    "LayersReport",
    "Level",
    "ModelError",
    "Settings",
    "UsageError",
    "__version__",
    "fix",
    "is_model",
    "is_skipped",
    "layers",
    "lint",
    "lint_bytes",
    "make_settings",
]

_MODULES = {
    "SUFFIXES": "formats.format",
    "FileResult": "analysis.results",
    "Finding": "ground.findings",
    "FixResult": "analysis.fix_results",
    "LayerReport": "analysis.layers",
    "LayersReport": "output.layers",
    "Level": "ground.types",
    "ModelError": "model.model_error",
    "Settings": "config.settings",
    "UsageError": "ground.errors",
    "fix": "cli.api",
    "is_model": "formats.format",
    "is_skipped": "formats.format",
    "layers": "cli.api",
    "lint": "cli.api",
    "lint_bytes": "cli.api",
    "make_settings": "config.files",
}
"""Where each name that loads late is defined."""

if not TYPE_CHECKING:  # else a type checker would take every name for one of the package's

    def __getattr__(name: str) -> object:
        """A name of the API, loaded at its first use. Raises AttributeError for any other."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        member: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = member
        return member


def __dir__() -> list[str]:
    return sorted(__all__)
