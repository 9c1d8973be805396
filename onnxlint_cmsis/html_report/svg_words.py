"""Words in drawings."""

from __future__ import annotations

from html import escape

from onnxlint_cmsis.reporters.plain import printable


def words(text: str) -> str:
    """The text as it may stand in SVG: no character of it is markup, none is invisible."""
    return escape(printable(text))
