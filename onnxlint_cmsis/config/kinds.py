"""Kinds of setting values: their syntax, check, conversion and JSON Schema."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.config import setting_checks as checks
from onnxlint_cmsis.config import setting_schemas as schemas
from onnxlint_cmsis.config import setting_values as values
from onnxlint_cmsis.config.keys import UNLIMITED
from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxlint_cmsis.config.keys import Key


class Written(Enum):
    """How the option of a key is written on the command line."""

    WORD = "one value"
    NUMBER = "one number, or a word"
    FLAG = "the option alone; `--no-` stands for false"
    LIST = "values with commas between them, several times"
    REPEATED = "one value, several times"
    PAIRS = "NAME=VALUE, several times"
    BY_TARGET = "one value, or CPU=VALUE, several times"


SEVERAL = (Written.LIST, Written.REPEATED, Written.PAIRS, Written.BY_TARGET)
"""Those of options that may be given several times."""


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
    make: Callable[[Any, values.Place], object] = values.as_it_is
    """The checked value as Settings has it."""


_OR_UNLIMITED = f"from 0 up, or {UNLIMITED!r}"

KINDS: dict[str, Kind] = {
    "release": Kind("a text", checks.release, schemas.RELEASE),
    "runtime": Kind(
        "a runtime, with @ and a commit or date where it is not the newest",
        checks.runtime,
        schemas.RUNTIME,
        make=values.made_runtime,
    ),
    "compiler": Kind("a compiler, with @ and a version where it matters", checks.compiler, schemas.COMPILER),
    "path": Kind("a path, relative to the configuration file", checks.text, schemas.TEXT, make=values.path),
    "choice": Kind("one of the allowed values", checks.choice, schemas.TEXT),
    "least-level": Kind("a level", checks.choice, schemas.TEXT, make=values.least_level),
    "level": Kind("a level", checks.choice, schemas.TEXT, make=values.level),
    "targets": Kind("a list of texts", checks.nonempty_texts, schemas.TARGETS, Written.LIST),
    "texts": Kind("a list of texts", checks.nonempty_texts, {**schemas.TEXTS, "minItems": 1}, Written.LIST),
    "globs": Kind("a list of patterns", checks.texts, schemas.TEXTS, Written.REPEATED, values.globs),
    "codes": Kind("a list of rule codes, prefixes or names", checks.codes, schemas.TEXTS, Written.LIST),
    "code-levels": Kind(
        "a table of rule = level", checks.code_levels, schemas.CODE_LEVELS, Written.PAIRS, values.levels
    ),
    "glob-codes": Kind(
        "a table of pattern = list of rules", checks.glob_codes, schemas.GLOB_CODES, make=values.by_glob
    ),
    "shapes": Kind("a table of input = list of sizes", checks.shapes, schemas.SHAPES, Written.PAIRS),
    "flag": Kind("true or false", checks.flag, {"type": "boolean"}, Written.FLAG),
    "multiple": Kind(
        f"a whole number from 1 to {schemas.MAX_MULTIPLE}", checks.multiple, schemas.MULTIPLE, Written.NUMBER
    ),
    "percent": Kind("a number from 0 to 100", checks.percent, schemas.PERCENT, Written.NUMBER),
    "bytes": Kind(f"a whole number of bytes {_OR_UNLIMITED}", checks.bound, schemas.BOUND, Written.NUMBER),
    "memory": Kind("a size, or a table of CPU = size", checks.memory, schemas.MEMORY, Written.BY_TARGET),
    "board": Kind("the name of a board, or a table of CPU = name", checks.boards, schemas.BOARDS, Written.BY_TARGET),
    "frequency": Kind("a clock, or a table of CPU = clock", checks.frequencies, schemas.FREQUENCIES, Written.BY_TARGET),
    "count": Kind(f"a whole number {_OR_UNLIMITED}", checks.bound, schemas.BOUND, Written.NUMBER),
    "suppressions": Kind("a list of tables", checks.suppressions, schemas.SUPPRESSIONS, make=values.accepted),
}
"""Every kind by name."""


def setting_of(key: Key, value: object, place: values.Place) -> object:
    """Value of a key as Settings holds it; ValueError names the found and the allowed values."""
    kind = KINDS[key.kind]
    try:
        return kind.make(kind.check(key, value), place)
    except checks.NotOfKindError as error:
        raise ValueError(f"{error.args[0]!r} is not {kind.words}") from None
