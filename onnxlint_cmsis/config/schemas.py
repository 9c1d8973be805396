"""JSON Schemas of what settings hold."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.releases import REVIEWED
from onnxlint_cmsis.cmsis_nn.targets import CPUS, WRITTEN
from onnxlint_cmsis.config.boards import KNOWN_BOARDS
from onnxlint_cmsis.config.byte_sizes import BYTE_UNITS
from onnxlint_cmsis.config.clocks import HERTZ_UNITS as CLOCK_UNITS
from onnxlint_cmsis.config.clocks import LEAST, MOST_HERTZ
from onnxlint_cmsis.config.keys import LEVELS, UNLIMITED
from onnxlint_cmsis.runtimes.runtime import NAMES
from onnxlint_cmsis.timing.memories import MOST_CYCLES, UNKNOWN
from onnxlint_cmsis.timing.memories import NAMES as MEMORIES

SUPPRESSION_KEYS = {
    "rule": "Code, prefix or name of the rule, with a cause or not (`CNN403[broadcast]`); required.",
    "path": "Pattern of the files it covers; every file where it is absent.",
    "node": "Node as messages name it.",
    "tensor": "Tensor the finding is about.",
    "reason": "Why it is accepted.",
}


MAX_MULTIPLE = 64
"""Largest multiple to pad to; no kernel has blocks of more, and every size up to the multiple is looked at."""


TEXT: dict[str, object] = {"type": "string"}
RUNTIME: dict[str, object] = {**TEXT, "pattern": f"^(auto|({'|'.join(NAMES)})(@.+)?)$"}
COMPILER: dict[str, object] = {**TEXT, "pattern": WRITTEN}
RELEASE: dict[str, object] = {**TEXT, "enum": [*REVIEWED]}
TARGET: dict[str, object] = {
    "anyOf": [{"enum": [*CPUS]}, {**TEXT, "pattern": r"^(cortex-?)?m\d+(\+|p|plus)?(\+nodsp|\+nomve)*$"}]
}
TARGET_LIST: dict[str, object] = {"type": "array", "minItems": 1, "items": TARGET}
TEXTS: dict[str, object] = {"type": "array", "items": TEXT}
SIZE: dict[str, object] = {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "?"}]}
SHAPE_SCHEMA: dict[str, object] = {"type": "array", "minItems": 1, "items": SIZE}
BOUND: dict[str, object] = {"anyOf": [{"type": "integer", "minimum": 0}, {"const": UNLIMITED}]}
MEMORY_SIZE: dict[str, object] = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        {"type": "string", "pattern": rf"^\d+(\.\d+)? ?({'|'.join(BYTE_UNITS)})$"},
    ]
}
MEMORY: dict[str, object] = {
    "anyOf": [*MEMORY_SIZE["anyOf"], {"const": ""}, {"type": "object", "additionalProperties": MEMORY_SIZE}]  # type: ignore[misc]
}
FREQUENCY: dict[str, object] = {
    "anyOf": [
        {"type": "integer", "minimum": LEAST, "maximum": MOST_HERTZ},
        {"type": "string", "pattern": rf"^\d+(\.\d+)? ?({'|'.join(CLOCK_UNITS)})$"},
    ]
}
FREQUENCIES: dict[str, object] = {
    "anyOf": [*FREQUENCY["anyOf"], {"const": ""}, {"type": "object", "additionalProperties": FREQUENCY}]  # type: ignore[misc]
}
PLACEMENT: dict[str, object] = {
    "anyOf": [{"enum": [UNKNOWN, *MEMORIES]}, {"type": "integer", "minimum": 0, "maximum": MOST_CYCLES}]
}
PLACEMENTS: dict[str, object] = {
    "anyOf": [*PLACEMENT["anyOf"], {"const": ""}, {"type": "object", "additionalProperties": PLACEMENT}]  # type: ignore[misc]
}
BOARD: dict[str, object] = {"type": "string", "enum": [board.name for board in KNOWN_BOARDS]}
BOARDS: dict[str, object] = {"anyOf": [BOARD, {"const": ""}, {"type": "object", "additionalProperties": BOARD}]}
SUPPRESSION: dict[str, object] = {
    "type": "object",
    "properties": {name: {"type": "string", "description": doc} for name, doc in SUPPRESSION_KEYS.items()},
    "required": ["rule"],
    "additionalProperties": False,
}

CODE_LEVELS: dict[str, object] = {
    "type": "object",
    "additionalProperties": {"type": "string", "enum": list(LEVELS)},
}
GLOB_CODES: dict[str, object] = {"type": "object", "additionalProperties": TEXTS}
SHAPES: dict[str, object] = {"type": "object", "additionalProperties": SHAPE_SCHEMA}
SUPPRESSIONS: dict[str, object] = {"type": "array", "items": SUPPRESSION}
MULTIPLE: dict[str, object] = {"type": "integer", "minimum": 1, "maximum": MAX_MULTIPLE}
PERCENT_TEXT = r"^[0-9]{1,3}(\.[0-9]+)?%?$"
PERCENT: dict[str, object] = {
    "anyOf": [{"type": "number", "minimum": 0, "maximum": 100}, {"type": "string", "pattern": PERCENT_TEXT}]
}
