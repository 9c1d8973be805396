"""Foreign text as each output format may show it, wrapping and tables."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.analysis.short_names import distinct_cuts
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.output.run import Run


# Foreign text (names of a model, paths, what other programs said) as each output format may show it.
#
# Nothing of it can act there: move the cursor, end a line, hide characters, be markup, or be a command to a program
# that reads logs. Everything that is shown goes through one of these functions:
#
# | output | function |
# |---|---|
# | text in a terminal or a log, standard error, sentences for GitLab | `printable` |
# | GitHub annotations | `annotation`, `annotation_property` |
# | Markdown, and rdjson, whose messages become comments | `markdown` for sentences, `markdown_code` for names |
# | HTML, SVG and JUnit XML | `markup`; jinja2 escapes what stands in templates, after `printable` |
# | SARIF messages | `sarif_text` |
# | settings as TOML | `toml_string` |
# | JSON of every command, SARIF, GitLab, rdjson | `json_text`, which keeps data as they are |


_COLORS = {"error": "1;31", "warning": "1;33", "note": "1;36", "good": "32", "path": "1", "code": "1", "faint": "2"}
_COMMAND = r"(?<=#)#(?=[a-z]*\[)|(?<!\S):(?=:)"
"""What makes a command to a CI system: `##[error]` and `##vso[` anywhere, `::warning::` where a line may begin."""
_MARKDOWN = r"(?i)[\\`*\[\]<|#&~$@]|:(?=//)|(?<=www)\.|(?<![^\W_])_|_(?![^\W_])"
"""Characters that Markdown or HTML takes for markup, `@user`, and what makes an address a link."""
_BEGINS = r"^( *(?:[0-9]{1,9}(?=[.)](?: |$))|(?=>|[-+](?: |$)|-[ -]*$)))"
"""What stands before a mark that begins a quotation, a list or a rule, where it begins a line or an item of a list."""
_PARTED = {"@": "@&#8203;", "#": "\\#&#8203;"}
"""A zero-width space keeps `@user` and `#12` from becoming a mention; a backslash does not."""
_LONE = "[\ud800-\udfff]"


def printable(text: str) -> str:
    """The text with every character that has no visible form, and every command to a CI system, written as an escape.

    GitHub's runner takes `::` behind nothing but spaces for a command, and `##[` anywhere in a line (actions/runner,
    src/Runner.Common/ActionCommand.cs); Azure Pipelines takes `##vso[`, TeamCity `##teamcity[`.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _escape(c) for c in text)
    return re.sub(_COMMAND, _hexadecimal, text)


def name_in_c(text: str) -> str:
    """A name as C may have it behind a letter, and in comments: letters, digits and underscores, at most 80.

    Everything of a model or of a path that goes into C, into a linker script or into assembly is a number or goes
    through here: another character could end a comment, continue a line or be a trigraph, and the rest would be code.
    """
    return re.sub(r"[^A-Za-z0-9_]", "_", text[:80])


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _hexadecimal(match: re.Match[str]) -> str:
    return f"\\x{ord(match[0]):02x}"


def no_command(line: str) -> str:
    """A line of printable text that was broken anywhere, which may begin with `::` only now."""
    return re.sub(_COMMAND, _hexadecimal, line)


def annotation(text: str) -> str:
    """The text as the message of a GitHub annotation."""
    return printable(text).replace("%", "%25")


def annotation_property(text: str) -> str:
    """The text as a property of a GitHub annotation; a path stays the same for the runner, which decodes it."""
    from unicodedata import category

    codes = {character: f"%{ord(character):02X}" for character in "%\r\n:,"}
    spaces = [character for character in set(text) if category(character) == "Zs"]
    return re.sub(_COMMAND, _hexadecimal, "".join(codes.get(c) or (c if c in spaces else printable(c)) for c in text))


def markdown(text: str) -> str:
    """The text as a line of Markdown or a part of one: no link, image, mention, HTML, table, list or code is left."""
    escaped = re.sub(_MARKDOWN, lambda match: _PARTED.get(match[0], f"\\{match[0]}"), printable(text))
    return re.sub(_BEGINS, r"\1\\", escaped)


def markdown_code(text: str) -> str:
    """The text as inline code that it cannot end, in a table or elsewhere; empty for an empty text."""
    safe = printable(text)
    if not safe or not set("`|") & set(safe):
        return safe and f"`{safe}`"
    return f"<code>{''.join(c if c.isalnum() or c == ' ' else f'&#{ord(c)};' for c in safe)}</code>"


def markup(text: str) -> str:
    """The text as it may stand in HTML, SVG and XML, in an attribute too: nothing of it is markup or invisible."""
    import html

    return html.escape(printable(text))


def sarif_text(text: str) -> str:
    """The text of a SARIF message without links: readers take `[words](address)` for one (SARIF 2.1.0, 3.11.6)."""
    return printable(text).replace("](", "]\\x28")


def json_text(data: object, indent: int | None = 1) -> str:
    """The data as JSON in ASCII. Bytes of a path that are no text, which strict readers refuse, are escapes."""
    import json

    return json.dumps(whole_text(data), indent=indent) + "\n"


def whole_text(data: object) -> Any:
    """The data with half characters, which no UTF-8 has, written as escapes."""
    if isinstance(data, str):
        return re.sub(_LONE, lambda match: _escape(match[0]), data)
    if isinstance(data, dict):
        return {whole_text(key): whole_text(value) for key, value in data.items()}
    return [whole_text(item) for item in data] if isinstance(data, (list, tuple)) else data


def toml_string(text: str) -> str:
    """The text as a basic string of TOML, in quotes; half characters, which TOML has not, are escapes twice over."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    shown = "".join(c if c.isprintable() else _toml_escape(c) for c in quoted)
    return f'"{re.sub(_COMMAND, lambda match: _toml_escape(match[0]), shown)}"'


def _toml_escape(character: str) -> str:
    if re.match(_LONE, character):
        return f"\\{_escape(character)}"
    return f"\\u{ord(character):04x}" if ord(character) < 1 << 16 else f"\\U{ord(character):08x}"


def paint(text: str, style: str, color: bool) -> str:
    """The text in a style of the terminal where colour is on."""
    return f"\x1b[{_COLORS[style]}m{text}\x1b[0m" if color else text


def block_character() -> str:
    """A full block for bars, where standard output can write one."""
    try:
        "█".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#"
    return "█"


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# Text in lines that are no wider than the terminal.


_TIE = "\N{NO-BREAK SPACE}"
"""Keeps a percent sign with its number while lines are broken; printable text has none."""
INDENT = 4
"""Columns that the lines after the first are moved in by."""
LABELS = {"proof": "good", "left": "warning", "do:": "path"}
"""Styles of labels that are not faint."""
NARROWEST = 40
"""Columns that are used even where the terminal has fewer."""


class _Wrapper(textwrap.TextWrapper):
    """Breaks lines at spaces, and a list without any that is too long for a line behind a comma before a name."""

    def _split(self, text: str) -> list[str]:
        chunks = super()._split(text)
        long = (re.split(r"(?<=,)(?=[^\W\d])", chunk) if len(chunk) > self.width else [chunk] for chunk in chunks)
        return [piece for pieces in long for piece in pieces]


def wrapped(text: str, width: int, indent: int = INDENT) -> str:
    """The printable text in lines of at most `width` columns, those after the first moved in; 0 for one line.

    What is painted goes through it before it is painted.
    """
    text = printable(text)
    if width <= 0 or len(text) <= width:
        return text
    escapes = 3 if "::" in text else 0  # columns for a `:` that is written as an escape where a name is broken
    lines = _Wrapper(
        max(width, NARROWEST) - escapes,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    ).wrap(text.replace(" %", f"{_TIE}%"))
    return "\n".join(map(no_command, lines)).replace(_TIE, " ")


LABEL = 8
"""Columns of a label."""
DO = "do:"
"""Stands in front of what to do, on a line of its own or on the last of a message."""


def labelled(label: str, text: str, run: Run, columns: int = LABEL) -> str:
    """A line under a finding or file: a label in a column, then the text, the lines after the first below it."""
    line = wrapped(f"{' ' * INDENT}{label:<{columns}} {text}", run.width, INDENT + columns + 1)
    start = INDENT + columns
    return f"{' ' * INDENT}{paint(line[INDENT:start], LABELS.get(label, 'faint'), run.color)}{line[start:]}"


# A table of text with aligned columns, no wider than the terminal.


_GAP = "  "


class TableFit(NamedTuple):
    """How a table gets narrow enough."""

    width: int = 0
    """Columns of the terminal; 0 for lines of any length."""
    elastic: Mapping[str, int] = {}
    """Columns whose cells may be shortened in the middle, and the least characters of a cell."""
    spare: Sequence[str] = ()
    """Columns left out if the table is still too wide, the last one first."""


def fitted(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = (), fit: TableFit | None = None
) -> str:
    """The rows under their heads, as wide as `fit` allows; columns named in `right` are aligned to the right."""
    width, elastic, spare = fit or TableFit()
    lines = [list(head), *([printable(cell) for cell in row] for row in rows)]
    shown = [*head]
    least = {name: min(_widest(lines, head, name), kept) for name, kept in elastic.items()}
    for name in reversed(spare):
        if width and _total([least.get(name, _widest(lines, head, name)) for name in shown]) > width:
            shown.remove(name)
    widths = {name: _widest(lines, head, name) for name in shown}
    while width and _total([*widths.values()]) > width:
        able = [name for name in elastic if name in shown and widths[name] > least[name]]
        if not able:
            break
        widths[max(able, key=lambda name: widths[name])] -= 1
    columns = [_column([line[list(head).index(name)] for line in lines], wide) for name, wide in widths.items()]
    return "".join(_line(line, widths, right) for line in zip(*columns, strict=True))


def _widest(lines: Sequence[Sequence[str]], head: Sequence[str], name: str) -> int:
    column = list(head).index(name)
    return max(len(line[column]) for line in lines)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _column(cells: Sequence[str], width: int) -> list[str]:
    """The cells, those that are too long without their middle; different cells stay different."""
    shorter = distinct_cuts(cells, width)
    return [shorter.get(cell, cell) for cell in cells]


def _line(cells: Sequence[str], widths: dict[str, int], right: Sequence[str]) -> str:
    padded = (
        cell.rjust(width) if name in right else cell.ljust(width)
        for cell, (name, width) in zip(cells, widths.items(), strict=True)
    )
    return _GAP.join(padded).rstrip() + "\n"
