"""C source as text: without comments, functions, and the statement that begins on a line."""

from __future__ import annotations

import re
from typing import NamedTuple

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


_MOST_LINES = 14
"""Lines that a statement may take."""


class CSource(NamedTuple):
    """One file, comments blanked so that lines stay where they are."""

    lines: tuple[str, ...]
    """Text of each line, the first one's index 0."""

    def statement(self, line: int) -> str:
        """What begins on a line, if anything: up to the `;` or `{` that ends it, or to the bracket that closes it."""
        lines: list[str] = []
        depth = 0
        if not self.lines[line - 1].strip():
            return ""
        for text in self.lines[line - 1 : line - 1 + _MOST_LINES]:
            lines.append(text.strip())
            depth += text.count("(") - text.count(")")
            if depth <= 0 and (text.rstrip().endswith((";", "{", ")")) or text.strip() == "else"):
                break
        return " ".join(lines)

    def block(self, line: int) -> str:
        """A statement with the block in braces behind it, up to the brace that closes it."""
        lines: list[str] = []
        depth = 0
        for text in self.lines[line - 1 :]:
            lines.append(text.strip())
            depth += text.count("{") - text.count("}")
            if depth <= 0 and (text.strip().startswith("}") or text.rstrip().endswith(";")):
                break
        return " ".join(lines)

    def behind(self, line: int, count: int) -> str:
        """So many lines from a line on."""
        return " ".join(line.strip() for line in self.lines[line - 1 : line - 1 + count])

    def function(self, name: str) -> list[int]:
        """Lines of a function's definitions, one for each build, or of a macro's; none where the file has neither."""
        numbers: list[int] = []
        for number, text in enumerate(self.lines, start=1):
            if re.match(rf"\s*#\s*define\s+{name}\b", text):
                numbers += range(number, self._macro_end(number) + 1)
            elif re.search(rf"\b{name}\s*\(", text) and text[:1] not in " \t#" and self._defines(number):
                numbers += range(number, self._end(number) + 1)
        return numbers

    def _macro_end(self, line: int) -> int:
        """Last line of a macro, which backslashes continue."""
        while self.lines[line - 1].rstrip().endswith("\\"):
            line += 1
        return line

    def _defines(self, line: int) -> bool:
        """Tell whether a body follows the brackets that open on a line."""
        text = " ".join(self.lines[line - 1 : line + 29])
        depth = 0
        for index, sign in enumerate(text):
            depth += (sign == "(") - (sign == ")")
            if sign == ")" and depth == 0:
                return text[index + 1 :].lstrip().startswith("{")
        return False

    def _end(self, line: int) -> int:
        """Line of the `}` in the first column that ends a function."""
        return next((n for n in range(line, len(self.lines)) if self.lines[n].startswith("}")), len(self.lines) - 1) + 1


def c_source(text: str) -> CSource:
    """A file's text without its comments."""
    blank = _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)
    return CSource(tuple(blank.split("\n")))
