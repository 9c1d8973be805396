"""A difference as Markdown, for a pull request's summary."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.output.comparison import Figure, ModelDifference
from onnxlint_cmsis.output.comparison_text import (
    changed_layers,
    cost_text,
    figure_rows,
    finding_text,
    kernels_text,
    layer_name,
    library_lines,
    time_change,
    verdict_text,
)
from onnxlint_cmsis.output.foreign_text import markdown, markdown_code
from onnxlint_cmsis.output.shown_names import in_short

MOST_LAYERS = 50
"""Rows of the longest table of layers."""


def comparison_markdown(difference: ModelDifference, over: tuple[Figure, ...]) -> str:
    """A heading, a table of figures, the findings, and the layers folded away."""
    parts = [
        f"### {markdown_code(difference.before)} → {markdown_code(difference.after)}\n",
        *(f"{markdown(line)}\n" for line in library_lines(difference)),
    ]
    parts += _markdown_figures(difference, over)
    parts += [*_markdown_findings("New findings", difference.came, difference)]
    parts += _markdown_findings("Findings that are gone", difference.went, difference)
    return "\n".join([*parts, *_markdown_layers(difference)]) + "\n"


def _markdown_figures(difference: ModelDifference, over: tuple[Figure, ...]) -> Iterator[str]:
    yield "| figure | target | change | |\n|---|---|---|---|"
    for verdicts in difference.verdicts:
        yield f"| verdict | {', '.join(verdicts.targets)} | {verdict_text(verdicts, '→')} | |"
    if difference.outputs:
        outputs = markdown(in_short(difference.outputs.text, difference.names)).replace("\\|", "&#124;")
        yield f"| outputs | | {outputs} | |"
    if difference.registers:
        yield f"| operators | | {difference.registering} | |"
    for row in figure_rows(difference, lambda name: markdown_code(difference.names.get(name, name))):
        mark = "over the limit" if any(figure in over for figure in row.figures) else ""
        yield f"| {row.what} | {row.cpus} | {row.change} | {mark} |"
    yield ""


def _markdown_findings(title: str, findings: tuple[Finding, ...], difference: ModelDifference) -> Iterator[str]:
    if findings:
        yield f"**{title}**\n"
    for finding in findings:
        yield f"* `{finding.selector}` {finding.level.name.lower()}: {markdown(finding_text(difference, finding))}"
    if findings:
        yield ""


def _markdown_layers(difference: ModelDifference) -> Iterator[str]:
    if not difference.layers:
        return
    yield f"<details><summary>{changed_layers(difference)}</summary>\n"
    times = [time_change(changed, "→") for changed in difference.layers[:MOST_LAYERS]]
    timed = any(times)
    yield f"| layer | target | kernel | predicted instructions |{' predicted time |' * timed}"
    yield f"|---|---|---|---|{'---|' * timed}"
    for changed, time in zip(difference.layers, times, strict=False):
        kernels, cost = kernels_text(changed, "→"), f"{cost_text(changed, '→')}{f' | {time}' * timed}"
        name = markdown_code(layer_name(changed, difference.names))
        yield f"| {name} | {cpu_of(changed.target)} | {markdown(kernels)} | {cost} |"
    if len(difference.layers) > MOST_LAYERS:
        yield f"\n{len(difference.layers) - MOST_LAYERS} more are in the JSON report."
    yield "\n</details>"
