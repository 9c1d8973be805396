"""The commands of the program: a row each."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Command(NamedTuple):
    """One command."""

    name: str
    """Word on the command line."""
    module: str
    """Module in this package with `make_parser` and `run`."""
    what: str
    """What it does, in a few words."""


COMMANDS = (
    Command("lint", "lint_command", "lint models, also without the word"),
    Command("rule", "rule_command", "explain a rule"),
    Command("layers", "layers_command", "kernel, cost and memory of every layer"),
    Command("memory", "memory_command", "arena of a model"),
    Command("compare", "compare_command", "what a change of a model means"),
    Command("widths", "widths_command", "what other channel counts would cost"),
    Command("scan", "scan_command", "lint thousands of models into a Parquet data set"),
    Command("report", "report_command", "a model as one HTML page"),
    Command("route", "route_command", "kernel of a shape"),
    Command("cost", "cost_command", "predicted instructions of a shape"),
    Command("config", "config_command", "settings that exist"),
    Command("config-schema", "config_schema", "JSON Schema of the configuration file"),
    Command("completion", "completion_command", "completion script for a shell"),
)
"""Every command, in the order of the help."""


def command_help() -> str:
    """A line for each command."""
    rows = [(command.name, command.what) for command in COMMANDS]
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:<{wide}}  {what}" for name, what in rows)
