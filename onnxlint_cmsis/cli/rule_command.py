"""`onnxlint-cmsis rule CODE`: explain a rule, or list all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.options import CommandParser
from onnxlint_cmsis.cli.output_options import add_form
from onnxlint_cmsis.cli.terminal import columns
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.output.foreign_text import json_text
from onnxlint_cmsis.output.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.checks.rule import Rule


VERSION = 1


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("rule", "Explain a rule: what it reports, why, and what to do.")
    add = parser.judged.add_argument
    add("rule", nargs="*", metavar="RULE", help="Code, prefix of codes, name, or code[cause].")
    add("--all", action="store_true", help="Every rule.")
    add_form(parser)
    return parser


def run(argv: list[str]) -> int:
    """Print what a rule is about."""
    args = make_parser().parse_args(argv)
    if bool(args.rule) == args.all:
        raise UsageError("name rules by code, prefix or name, or give --all")
    rules = _chosen(args.rule)
    if args.form == "json":
        text = json_text({"version": VERSION, "rules": [_fields(rule) for rule in rules]})
    elif args.all:
        rows = (f"{rule.code}  {rule.level.name.lower():<7}  {rule.name}: {rule.summary}" for rule in rules)
        text = "".join(f"{wrapped(row, columns())}\n" for row in rows)
    else:
        text = "\n".join(_page(rule, columns()) for rule in rules)
    sys.stdout.write(text)
    return 0


def _chosen(names: list[str]) -> list[Rule]:
    """The rules that the names stand for, in code order; all for no name."""
    from onnxlint_cmsis.checks.rule_registry import every_rule
    from onnxlint_cmsis.config.selection import resolve

    try:
        prefixes = tuple(resolve(name) for name in names)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not names:
        return [*every_rule()]
    return [chosen for rule in every_rule() if (chosen := _part(rule, prefixes))]


def _part(rule: Rule, prefixes: tuple[str, ...]) -> Rule | None:
    """The rule with the causes that are asked for; None where it is not asked for."""
    if rule.code.startswith(prefixes):
        return rule
    causes = tuple(cause for cause in rule.causes if f"{rule.code}[{cause.key}]".startswith(prefixes))
    return rule._replace(causes=causes) if causes else None


def _page(rule: Rule, width: int) -> str:
    """The rule's page as plain text."""
    parts = [_paragraph(part, width) for part in rule.explanation.split("\n\n")]
    return "\n\n".join([f"{rule.code} {rule.name} ({rule.level.name.lower()})", *parts]) + "\n"


def _paragraph(markdown: str, width: int) -> str:
    """A paragraph, or a list's entries, in lines of the terminal; tables and code stay as they are."""
    if markdown.startswith(("|", "```", "    ")):
        return markdown
    text = markdown.replace("**What to do.**", "What to do:").replace("**", "")
    entries = text.replace("\n* ", "\n\n* ").split("\n\n")
    return "\n".join(wrapped(" ".join(entry.split()), width, 2 if entry.startswith("* ") else 0) for entry in entries)


def _fields(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "level": rule.level.name.lower(),
        "summary": rule.summary,
        "explanation": rule.explanation,
        "causes": [
            {"cause": cause.key, "what": cause.what, "do": cause.do, "source": cause.source} for cause in rule.causes
        ],
    }
