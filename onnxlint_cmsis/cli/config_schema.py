"""`onnxlint-cmsis config-schema`: the JSON Schema of the configuration."""

from __future__ import annotations

import sys

from onnxlint_cmsis.cli.options import CommandParser
from onnxlint_cmsis.config.keys import Key
from onnxlint_cmsis.config.settings import KEYS, SETTING_KINDS

DRAFT = "http://json-schema.org/draft-07/schema#"
"""What SchemaStore asks for, since editors know it best."""
URL = "https://json.schemastore.org/onnxlint-cmsis.json"
"""Where SchemaStore will serve the schema."""


def make_parser() -> CommandParser:
    """The options of the command."""
    return CommandParser("config-schema", "Print the JSON Schema of the configuration.")


def run(argv: list[str]) -> int:
    """Print the schema."""
    import json

    make_parser().parse_args(argv)
    sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
    return 0


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
