"""Options of the output that commands share: its form, names and colour."""

from __future__ import annotations

from onnxlint_cmsis.cli.options import CommandParser


def add_form(parser: CommandParser, *more: str) -> None:
    """Add the option for the form of the output, as `form`: text, JSON, and what else there is."""
    forms = ("text", "json", *more)
    text = f"Form of the output: {', '.join(forms[:-1])} or {forms[-1]}. Default: text."
    add = parser.output.add_argument
    add("--output-format", dest="form", choices=forms, metavar="NAME", default="text", help=text)


def add_full_names(parser: CommandParser) -> None:
    """Add the option for whole names."""
    text = "Show names as they stand in the file."
    parser.output.add_argument("--full-names", action="store_true", help=text)


def add_color(parser: CommandParser) -> None:
    """Add the option that `wants_color` takes."""
    text = "Colour: auto, always or never. Default: auto."
    add = parser.output.add_argument
    add("--color", choices=("auto", "always", "never"), metavar="WHEN", default="auto", help=text)
