"""Foreign text as each output format may show it, wrapping and tables."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass


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
