"""The explanation of a rule, which is the docstring of its module, and the address of its page."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.checks.table import Rule

PACKAGE = "onnxlint-cmsis"
PROJECT_LINK = "Documentation"


def explanation(rule: Rule) -> str:
    """Markdown of the rule's page without its heading; the summary where Python runs without docstrings."""
    import inspect

    module = import_module(f"onnxlint_cmsis.checks.{rule.module}")
    return inspect.cleandoc(module.__doc__ or rule.summary)


def page_address(base: str, rule: Rule) -> str:
    """Address of the rule's page below the address of the documentation; empty where that is unknown."""
    return f"{base.rstrip('/')}/rules/{rule.code}.md" if base else ""


def documentation() -> str:
    """Address of the documentation as the installed package's metadata give it (`[project.urls]`); empty for none."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        links = metadata(PACKAGE).get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return next((link.partition(", ")[2] for link in links if link.startswith(f"{PROJECT_LINK}, ")), "")
