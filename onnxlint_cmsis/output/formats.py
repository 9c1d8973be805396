"""From the result of a run to text: a function for each output format, imported when it is used."""

from __future__ import annotations

from onnxlint_cmsis.formats.format import part
from onnxlint_cmsis.output.run_results import Run

RENDERERS = {
    "full": "output.full:render",
    "concise": "output.concise:render",
    "json": "output.json_report:render",
    "sarif": "output.sarif:render",
    "github": "output.github:render",
    "junit": "output.junit:render",
    "gitlab": "output.gitlab:render",
    "rdjson": "output.reviewdog:render",
}
"""Function of each output format."""


def render(output_format: str, run: Run) -> str:
    """The whole report of a run in one of the formats of RENDERERS."""
    text: str = part(RENDERERS[output_format])(run)
    return text
