"""onnxlint-cmsis: what CMSIS-NN will do with an ONNX model on a Cortex-M, said before flashing.

`from onnxlint_cmsis import lint, layers, fix` is the Python API, described in docs/python.md. Names load when they are
used: importing the package alone loads neither NumPy nor ONNX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.version import __version__

if TYPE_CHECKING:
    from onnxlint_cmsis.api import fix, layers, lint
    from onnxlint_cmsis.errors import UsageError
    from onnxlint_cmsis.findings import Finding
    from onnxlint_cmsis.graph.model_error import ModelError
    from onnxlint_cmsis.layers_report import LayersReport
    from onnxlint_cmsis.results.file_result import FileResult
    from onnxlint_cmsis.results.fix_result import FixResult
    from onnxlint_cmsis.types import Level

__all__ = [
    "FileResult",
    "Finding",
    "FixResult",
    "LayersReport",
    "Level",
    "ModelError",
    "UsageError",
    "__version__",
    "fix",
    "layers",
    "lint",
]

_MODULES = {
    "FileResult": "results.file_result",
    "Finding": "findings",
    "FixResult": "results.fix_result",
    "LayersReport": "layers_report",
    "Level": "types",
    "ModelError": "graph.model_error",
    "UsageError": "errors",
    "fix": "api",
    "layers": "api",
    "lint": "api",
}
"""Where each name that loads late is defined."""

if not TYPE_CHECKING:  # else a type checker would take every name for one of the package's

    def __getattr__(name: str) -> object:
        """A name of the API, loaded at its first use. Raises AttributeError for any other."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """The names of the API."""
    return sorted(__all__)
