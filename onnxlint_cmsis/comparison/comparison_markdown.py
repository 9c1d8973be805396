"""A difference as Markdown, for a pull request's summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.comparison.comparison_text import (
    change_text,
    cost_text,
    finding_text,
    kernel_text,
    layer_name,
    left_out_text,
    library_lines,
    time_text,
    word,
)
from onnxlint_cmsis.reporters.plain import counted, markdown, markdown_code

if TYPE_CHECKING:
    from onnxlint_cmsis.comparison.difference import Figure, ModelDifference
    from onnxlint_cmsis.findings import Finding

MOST_LAYERS = 50
"""Rows of the longest table of layers."""


def comparison_markdown(found: ModelDifference, over: tuple[Figure, ...]) -> str:
    """A heading, a table of figures, the findings, and the layers folded away."""
    parts = [
        f"### {markdown_code(found.before)} → {markdown_code(found.after)}\n",
        *(f"{markdown(line)}\n" for line in library_lines(found)),
    ]
    parts += _figures(found, over)
    parts += [*_findings("New findings", found.came, found)]
    parts += _findings("Findings that are gone", found.went, found)
    return "\n".join([*parts, *_layers(found)]) + "\n"


def _figures(found: ModelDifference, over: tuple[Figure, ...]) -> Iterator[str]:
    yield "| figure | target | change | |\n|---|---|---|---|"
    for figure in found.figures:
        if figure.before or figure.after:
            mark = "over the limit" if figure in over else ""
            rest = left_out_text(figure, lambda name: markdown_code(found.names.get(name, name)))
            cpu = figure.target.partition(", ")[0]
            yield f"| {word(found, figure.metric)} | {cpu} | {change_text(figure)}{rest} | {mark} |"
    for pair in found.times:
        yield f"| time | {pair.target.partition(', ')[0]} | {time_text(pair)} | |"
    yield ""


def _findings(title: str, findings: tuple[Finding, ...], found: ModelDifference) -> Iterator[str]:
    if findings:
        yield f"**{title}**\n"
    for finding in findings:
        yield f"* `{finding.code}` {finding.level.name.lower()}: {markdown(finding_text(found, finding))}"
    if findings:
        yield ""


def _layers(found: ModelDifference) -> Iterator[str]:
    if not found.layers:
        return
    yield f"<details><summary>{counted(len(found.layers), 'layer')} changed</summary>\n"
    yield "| layer | target | kernel | predicted instructions |\n|---|---|---|---|"
    for each in found.layers[:MOST_LAYERS]:
        old, new = (kernel_text(row) for row in (each.before, each.after))
        kernels = new if old == new else f"{old} → {new}"
        cost = cost_text(each, "→")
        name = markdown_code(layer_name(each, found.names))
        yield f"| {name} | {each.target.partition(', ')[0]} | {markdown(kernels)} | {cost} |"
    if len(found.layers) > MOST_LAYERS:
        yield f"\n{len(found.layers) - MOST_LAYERS} more are in the JSON report."
    yield "\n</details>"
