"""Where the project can be found; written once."""

from __future__ import annotations

HOME = "https://pypi.org/project/onnxlint-cmsis/"
"""Page about the tool."""

DOCUMENTATION = ""
"""Folder of the published docs, empty while they are only in the repository; rules then carry their text but no link."""


def rule_page(code: str, base: str = DOCUMENTATION) -> str:
    """Address of a rule's page; empty where the docs are not published."""
    return f"{base.rstrip('/')}/rules/{code}.md" if base else ""
