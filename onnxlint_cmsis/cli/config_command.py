"""`onnxlint-cmsis config [KEY]`: the settings that exist, one of them explained, or their JSON Schema."""

from __future__ import annotations

import json
import sys

from onnxlint_cmsis.cli.options import CommandParser
from onnxlint_cmsis.cli.resolved_settings import toml
from onnxlint_cmsis.cli.terminal import columns
from onnxlint_cmsis.config.keys import Key
from onnxlint_cmsis.config.kinds import SETTING_KINDS
from onnxlint_cmsis.config.settings import KEYS
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.words import did_you_mean
from onnxlint_cmsis.output.wrapping import wrapped


def make_parser() -> CommandParser:
    """The options of the command."""
    text = "List the settings, explain one, or print the JSON Schema of the configuration."
    parser = CommandParser("config", text)
    parser.judged.add_argument("key", nargs="?", metavar="KEY", help="Name of a setting.")
    parser.output.add_argument("--schema", action="store_true", help="Print the JSON Schema.")
    return parser


def run(argv: list[str]) -> int:
    """Print the names of all settings, all that is known of one, or the schema."""
    args = make_parser().parse_args(argv)
    if args.schema:
        if args.key is not None:
            raise UsageError("--schema is of all settings; leave out KEY")
        sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
        return 0
    if args.key is None:
        sys.stdout.write("".join(f"{key.name}\n" for key in KEYS))
        return 0
    key = next((key for key in KEYS if key.name == args.key), None)
    if key is None:
        raise UsageError(f"setting {args.key!r} is not known{did_you_mean(args.key, [key.name for key in KEYS])}")
    lines = [wrapped(key.doc, columns(), 0), "", f"Type: {SETTING_KINDS[key.kind].words}"]
    lines += [f"Allowed: {', '.join(key.allowed)}"] if key.allowed else []
    lines += [f"Default: {toml(key.default)}", f"Option: {key.option or '--config ' + key.name + '=VALUE'}"]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


DRAFT = "http://json-schema.org/draft-07/schema#"
"""What SchemaStore asks for, since editors know it best."""
URL = "https://json.schemastore.org/onnxlint-cmsis.json"
"""Where SchemaStore will serve the schema."""


def schema() -> dict[str, object]:
    """The schema of `onnxlint-cmsis.toml` and of `[tool.onnxlint-cmsis]` in pyproject.toml."""
    return {
        "$schema": DRAFT,
        "$id": URL,
        "title": "configuration of onnxlint-cmsis",
        "description": "Settings of onnxlint-cmsis, a linter for models on Arm Cortex-M",
        "type": "object",
        "properties": {key.name: key_schema(key) for key in KEYS},
        "additionalProperties": False,
    }


def key_schema(key: Key) -> dict[str, object]:
    """The schema of one key."""
    allowed: dict[str, object] = {"enum": list(key.allowed)} if key.allowed else {}
    return {"description": key.doc, **SETTING_KINDS[key.kind].schema, **allowed, "default": key.default}
