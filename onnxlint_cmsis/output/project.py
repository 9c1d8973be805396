"""Where the project can be found."""

from __future__ import annotations

HOME = "https://github.com/onnxlint-cmsis/onnxlint-cmsis"
"""Page about the tool."""


DOCUMENTATION = f"{HOME}/blob/main/docs"
"""Where the pages of docs/ can be read."""


def rule_page(code: str) -> str:
    """Address of a rule's page."""
    return f"{DOCUMENTATION}/rules/{code}.md"
