"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.algebra.context import Context
from onnxlint_cmsis.graph.model import Node

Rule = Callable[[Node, Context], None]
"""Ties, pins and binds the axes of one node; raises NotFollowedError where it cannot."""


def per_name(names: str, rule: Rule) -> dict[str, Rule]:
    """One row for each operator of a list of names."""
    return dict.fromkeys(names.split(), rule)
