"""Where the project can be found; written once."""

from __future__ import annotations

HOME = "https://pypi.org/project/onnxlint-cmsis/"
"""Page about the tool."""

DOCUMENTATION = ""
"""Address of the published docs; empty while they are only in the repository, and rules then carry no link."""


def rule_page(code: str, base: str = DOCUMENTATION) -> str:
    """Address of a rule's page; empty where the docs are not published."""
    return f"{base.rstrip('/')}/rules/{code}.md" if base else ""
