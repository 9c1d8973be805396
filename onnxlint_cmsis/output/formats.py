"""Reporters: from the result of a run to text, one module per output format; the module is imported when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.output.run import Run


MODULES = {
    "full": "full",
    "concise": "concise",
    "json": "json_report",
    "sarif": "sarif",
    "github": "github",
    "junit": "junit",
    "gitlab": "gitlab",
    "rdjson": "rdjson",
}
"""Module of each output format."""


def render(output_format: str, run: Run) -> str:
    """The whole report of a run in one of the formats of MODULES."""
    module = import_module(f"onnxlint_cmsis.output.{MODULES[output_format]}")
    text: str = module.render(run)
    return text
