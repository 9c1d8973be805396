"""The explanation of a rule, which is the docstring of its module."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.checks.table import Rule


def explanation(rule: Rule) -> str:
    """Markdown of the rule's page without its heading; the summary where Python runs without docstrings."""
    import inspect

    module = import_module(f"onnxlint_cmsis.checks.{rule.module}")
    return inspect.cleandoc(module.__doc__ or rule.summary)
