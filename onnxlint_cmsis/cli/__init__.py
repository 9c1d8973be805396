"""The command line, one file per command, and what its commands and the Python API do with one file or with many."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Command(NamedTuple):
    """One command."""

    name: str
    """Word on the command line."""
    module: str
    """Module of the package with `make_parser` and `run`, imported when it is called for."""
    what: str
    """What it does, in a few words."""


COMMANDS = (
    Command("lint", "cli.lint_command", "lint models, also without the word"),
    Command("rule", "cli.rule_command", "explain a rule"),
    Command("layers", "cli.layers_command", "kernel, cost and memory of every layer"),
    Command("memory", "cli.memory_command", "arena of a model"),
    Command("compare", "cli.compare_command", "what a change of a model means"),
    Command("verify", "cli.verify_command", "whether two files compute the same for every input"),
    Command("widths", "cli.widths_command", "what other channel counts would cost"),
    Command("scan", "fleet.scan_command", "lint thousands of models into a Parquet data set"),
    Command("report", "cli.report_command", "a model as one HTML page"),
    Command("shape", "cli.shape_command", "a layer given by its sizes: kernel, hazards, scratch, cost"),
    Command("image", "cli.image_command", "what a firmware image tells of its build"),
    Command("config", "cli.config_command", "settings that exist, and their JSON Schema"),
    Command("completion", "cli.completion_command", "completion script for a shell"),
)
"""Every command, in the order of the help."""


def command_help() -> str:
    """A line for each command."""
    rows = [(command.name, command.what) for command in COMMANDS]
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:<{wide}}  {what}" for name, what in rows)
