"""Text that is safe to print: nothing in a model or path can move the cursor, end a line or hide characters."""

from __future__ import annotations

import re

_COLORS = {"error": "1;31", "warning": "1;33", "note": "1;36", "good": "32", "path": "1", "code": "1", "faint": "2"}
_STYLE = re.compile("\x1b\\[[0-9;]*m")


def printable(text: str) -> str:
    """The text with every character that has no visible form written as an escape."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def paint(text: str, style: str, color: bool) -> str:
    """The text in a style of the terminal where colour is on."""
    return f"\x1b[{_COLORS[style]}m{text}\x1b[0m" if color else text


def unpainted(text: str) -> str:
    """The text without styles."""
    return _STYLE.sub("", text)


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
