"""Kinds of setting values: their syntax, check, conversion and JSON Schema."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from onnxlint_cmsis.config.checked import (
    NotOfKindError,
    boards,
    bound,
    choice,
    code_levels,
    codes,
    compiler,
    flag,
    frequencies,
    glob_codes,
    memory,
    multiple,
    nonempty_texts,
    percent,
    placements,
    release,
    runtime,
    shapes,
    suppressions,
    text,
    texts,
)
from onnxlint_cmsis.config.converted import (
    Place,
    accepted,
    as_it_is,
    by_glob,
    globs,
    least_level,
    level,
    levels,
    path,
    runtime_named,
)
from onnxlint_cmsis.config.keys import UNLIMITED, Key
from onnxlint_cmsis.config.schemas import (
    BOARDS,
    BOUND,
    CODE_LEVELS,
    COMPILER,
    FREQUENCIES,
    GLOB_CODES,
    MAX_MULTIPLE,
    MEMORY,
    MULTIPLE,
    PERCENT,
    PLACEMENTS,
    RELEASE,
    RUNTIME,
    SHAPES,
    SUPPRESSIONS,
    TARGET_LIST,
    TEXT,
    TEXTS,
)
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
    make: Callable[[Any, Place], object] = as_it_is
    """The checked value as Settings has it."""


_OR_UNLIMITED = f"from 0 up, or {UNLIMITED!r}"

SETTING_KINDS: dict[str, Kind] = {
    "release": Kind("a text", release, RELEASE),
    "runtime": Kind(
        "a runtime, with @ and a commit or date where it is not the newest",
        runtime,
        RUNTIME,
        make=runtime_named,
    ),
    "compiler": Kind("a compiler, with @ and a version where it matters", compiler, COMPILER),
    "path": Kind("a path, relative to the configuration file", text, TEXT, make=path),
    "choice": Kind("one of the allowed values", choice, TEXT),
    "least-level": Kind("a level", choice, TEXT, make=least_level),
    "level": Kind("a level", choice, TEXT, make=level),
    "targets": Kind("a list of texts", nonempty_texts, TARGET_LIST, Written.LIST),
    "globs": Kind("a list of patterns", texts, TEXTS, Written.REPEATED, globs),
    "codes": Kind("a list of rule codes, prefixes or names", codes, TEXTS, Written.LIST),
    "code-levels": Kind("a table of rule = level", code_levels, CODE_LEVELS, make=levels),
    "glob-codes": Kind("a table of pattern = list of rules", glob_codes, GLOB_CODES, make=by_glob),
    "shapes": Kind("a table of input = list of sizes", shapes, SHAPES, Written.PAIRS),
    "flag": Kind("true or false", flag, {"type": "boolean"}, Written.FLAG),
    "multiple": Kind(f"a whole number from 1 to {MAX_MULTIPLE}", multiple, MULTIPLE),
    "percent": Kind("a number from 0 to 100", percent, PERCENT),
    "bytes": Kind(f"a whole number of bytes {_OR_UNLIMITED}", bound, BOUND),
    "memory": Kind("a size, or a table of CPU = size", memory, MEMORY, Written.BY_TARGET),
    "board": Kind("the name of a board, or a table of CPU = name", boards, BOARDS, Written.BY_TARGET),
    "placement": Kind("a memory, or a table of CPU = memory", placements, PLACEMENTS, Written.BY_TARGET),
    "frequency": Kind("a clock, or a table of CPU = clock", frequencies, FREQUENCIES, Written.BY_TARGET),
    "count": Kind(f"a whole number {_OR_UNLIMITED}", bound, BOUND),
    "suppressions": Kind("a list of tables", suppressions, SUPPRESSIONS, make=accepted),
}
"""Every kind by name."""


def setting_of(key: Key, value: object, source: Place) -> object:
    """Value of a key as Settings holds it; ValueError names the found and the allowed values."""
    kind = SETTING_KINDS[key.kind]
    try:
        return kind.make(kind.check(key, value), source)
    except NotOfKindError as error:
        raise ValueError(f"{error.args[0]!r} is not {kind.words}") from None
