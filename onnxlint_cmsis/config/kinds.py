"""Kinds of setting values: their syntax, check, conversion and JSON Schema."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from onnxlint_cmsis.config import checked, converted, schemas
from onnxlint_cmsis.config.keys import UNLIMITED, Key
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Written(Enum):
    """How the option of a key is written on the command line."""

    WORD = "one value"
    FLAG = "the option alone"
    LIST = "values with commas between them, several times"
    REPEATED = "one value, several times"
    PAIRS = "NAME=VALUE, several times"
    BY_TARGET = "one value, or CPU=VALUE, several times"


SEVERAL = (Written.LIST, Written.REPEATED, Written.PAIRS, Written.BY_TARGET)
"""Ways of writing an option that may be given several times."""


class Kind(NamedTuple):
    """One kind of value."""

    words: str
    """What it is, for messages and docs."""
    check: Callable[[Key, object], object]
    """The checked value; ValueError says what is wrong with it."""
    schema: dict[str, object]
    """JSON Schema of the value; `choice` and `level` add the allowed values."""
    written: Written = Written.WORD
    """How its option is written."""
    make: Callable[[Any, converted.ValueSource], object] = converted.as_it_is
    """The checked value as Settings has it."""


_OR_UNLIMITED = f"from 0 up, or {UNLIMITED!r}"

SETTING_KINDS: dict[str, Kind] = {
    "release": Kind("a text", checked.release, schemas.RELEASE),
    "runtime": Kind(
        "a runtime, with @ and a commit or date where it is not the newest",
        checked.runtime,
        schemas.RUNTIME,
        make=converted.runtime_named,
    ),
    "compiler": Kind("a compiler, with @ and a version where it matters", checked.compiler, schemas.COMPILER),
    "path": Kind("a path, relative to the configuration file", checked.text, schemas.TEXT, make=converted.path),
    "choice": Kind("one of the allowed values", checked.choice, schemas.TEXT),
    "least-level": Kind("a level", checked.choice, schemas.TEXT, make=converted.least_level),
    "level": Kind("a level", checked.choice, schemas.TEXT, make=converted.level),
    "targets": Kind("a list of texts", checked.nonempty_texts, schemas.TARGET_LIST, Written.LIST),
    "globs": Kind("a list of patterns", checked.texts, schemas.TEXTS, Written.REPEATED, converted.globs),
    "codes": Kind("a list of rule codes, prefixes or names", checked.codes, schemas.TEXTS, Written.LIST),
    "code-levels": Kind("a table of rule = level", checked.code_levels, schemas.CODE_LEVELS, make=converted.levels),
    "glob-codes": Kind(
        "a table of pattern = list of rules", checked.glob_codes, schemas.GLOB_CODES, make=converted.by_glob
    ),
    "shapes": Kind("a table of input = list of sizes", checked.shapes, schemas.SHAPES, Written.PAIRS),
    "flag": Kind("true or false", checked.flag, {"type": "boolean"}, Written.FLAG),
    "multiple": Kind(f"a whole number from 1 to {schemas.MAX_MULTIPLE}", checked.multiple, schemas.MULTIPLE),
    "percent": Kind("a number from 0 to 100", checked.percent, schemas.PERCENT),
    "bytes": Kind(f"a whole number of bytes {_OR_UNLIMITED}", checked.bound, schemas.BOUND),
    "memory": Kind("a size, or a table of CPU = size", checked.memory, schemas.MEMORY, Written.BY_TARGET),
    "board": Kind("the name of a board, or a table of CPU = name", checked.boards, schemas.BOARDS, Written.BY_TARGET),
    "placement": Kind(
        "a memory, or a table of CPU = memory", checked.placements, schemas.PLACEMENTS, Written.BY_TARGET
    ),
    "frequency": Kind(
        "a clock, or a table of CPU = clock", checked.frequencies, schemas.FREQUENCIES, Written.BY_TARGET
    ),
    "count": Kind(f"a whole number {_OR_UNLIMITED}", checked.bound, schemas.BOUND),
    "suppressions": Kind("a list of tables", checked.suppressions, schemas.SUPPRESSIONS, make=converted.accepted),
}
"""Every kind by name."""


def setting_of(key: Key, value: object, source: converted.ValueSource) -> object:
    """Value of a key as Settings holds it; ValueError names the found and the allowed values."""
    kind = SETTING_KINDS[key.kind]
    try:
        return kind.make(kind.check(key, value), source)
    except checked.NotOfKindError as error:
        raise ValueError(f"{error.args[0]!r} is not {kind.words}") from None
