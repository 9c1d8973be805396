"""Comparisons of two numbers by their operator in C."""

from __future__ import annotations

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""The comparison that holds where one does not."""


def compared(op: str, left: int, right: int) -> bool:
    """Whether a comparison holds."""
    if op == "==":
        return left == right
    if op == "!=":
        return left != right
    if op == "<":
        return left < right
    if op == "<=":
        return left <= right
    return left > right if op == ">" else left >= right


def shown(value: int | None) -> str:
    """A number, or that it is unknown."""
    return "unknown" if value is None else str(value)
