"""The rules of the table as SARIF reporting descriptors."""

from __future__ import annotations

from typing import Any

import sarif_om as om

from onnxlint_cmsis.checks.rule import Rule
from onnxlint_cmsis.output.project import DOCUMENTATION, rule_page

MOST_TEXT = 1024
"""Characters that GitHub takes of a description."""


TAGS = {
    "0": "file", "1": "routing", "2": "sizes", "3": "execution", "4": "runtime", "5": "quantization", "6": "memory",
    "7": "build",
}  # fmt: skip
"""Tag by the first digit of the code."""


PRECISIONS = {"0": "very-high", "1": "very-high", **dict.fromkeys("234567", "high")}
"""Confidence by the first digit of the code: sizes rest on predictions, and some rows behind the execution rules were
read and never run."""


SEVERITIES = {"error": "error", "warning": "warning", "note": "recommendation"}
"""GitHub's word for each level."""


def descriptors() -> list[Any]:
    """One descriptor for each rule of the table."""
    from onnxlint_cmsis.checks.rule_registry import every_rule

    return [_descriptor(rule) for rule in every_rule()]


def _descriptor(rule: Rule) -> Any:
    level = rule.level.name.lower()
    text = rule.explanation.replace("](../", f"]({DOCUMENTATION}/")
    return om.ReportingDescriptor(
        id=rule.code,
        name="".join(word.capitalize() for word in rule.name.split("-")),
        short_description=om.MultiformatMessageString(text=rule.summary),
        full_description=om.MultiformatMessageString(text=_first_paragraphs(text)),
        help=om.MultiformatMessageString(text=text, markdown=text),
        help_uri=rule_page(rule.code),
        default_configuration=om.ReportingConfiguration(level=level),
        properties={
            "tags": [tag for tag in ("cmsis-nn", TAGS.get(rule.code[3:4], "")) if tag],
            "precision": PRECISIONS[rule.code[3:4]],
            "problem.severity": SEVERITIES[level],
        },
    )


def _first_paragraphs(text: str) -> str:
    """As many whole paragraphs from the beginning as GitHub takes."""
    result = ""
    for paragraph in text.split("\n\n"):
        joined = f"{result}\n\n{paragraph}".strip()
        if len(joined) > MOST_TEXT:
            break
        result = joined
    return result or text[:MOST_TEXT]
