"""Kinds of setting values: their syntax, check, conversion and JSON Schema."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.cmsis_nn.releases import normalise_release, parse_target
from onnxlint_cmsis.config.byte_sizes import UNITS, byte_size
from onnxlint_cmsis.config.codes import resolve
from onnxlint_cmsis.config.globs import Glob
from onnxlint_cmsis.config.keys import BY_FORMAT, EVERY_TARGET, LEVELS, UNLIMITED
from onnxlint_cmsis.config.known_boards import KNOWN_BOARDS, known_board
from onnxlint_cmsis.config.settings import Suppression
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.runtime import NAMES, runtime_of
from onnxlint_cmsis.types import Level

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxlint_cmsis.config.keys import Key

SUPPRESSION_KEYS = {
    "rule": "Code, prefix or name of the rule; required.",
    "path": "Pattern of the files it covers; every file where it is absent.",
    "node": "Node as messages name it.",
    "tensor": "Tensor the finding is about.",
    "reason": "Why it is accepted.",
}


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


class Place(NamedTuple):
    """Where a value is written."""

    origin: str
    """The file, `command line`, or `default`."""
    root: str
    """Absolute folder that its patterns and paths are relative to."""


def _as_it_is(value: Any, _place: Place) -> object:
    return value


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
    make: Callable[[Any, Place], object] = _as_it_is
    """The checked value as Settings has it."""


MAX_MULTIPLE = 64
"""Largest multiple to pad to; no kernel has blocks of more, and every size up to the multiple is looked at."""


def setting_of(key: Key, value: object, place: Place) -> object:
    """Value of a key as Settings holds it; ValueError names the found and the allowed values."""
    kind = KINDS[key.kind]
    return kind.make(kind.check(key, value), place)


def _wrong(key: Key, value: object) -> ValueError:
    return _is_not(value, KINDS[key.kind].words)


def _is_not(value: object, words: str) -> ValueError:
    return ValueError(f"{value!r} is not {words}")


def _text(key: Key, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(key, value)
    return value


def _choice(key: Key, value: object) -> str:
    if value not in key.allowed or not isinstance(value, str):
        raise ValueError(f"{value!r} is not one of {', '.join(key.allowed)}")
    return value


def _texts(key: Key, value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise _wrong(key, value)
    return tuple(value)


def _nonempty_texts(key: Key, value: object) -> tuple[str, ...]:
    texts = _texts(key, value)
    if not texts:
        raise ValueError("the list is empty; name at least one")
    return texts


def _codes(key: Key, value: object) -> tuple[str, ...]:
    return tuple(resolve(text) for text in _texts(key, value))


def _table(key: Key, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _wrong(key, value)
    return value


def _code_levels(key: Key, value: object) -> dict[str, str]:
    return {resolve(code): _choice(key._replace(allowed=LEVELS), level) for code, level in _table(key, value).items()}


def _glob_codes(key: Key, value: object) -> dict[str, tuple[str, ...]]:
    return {glob: _codes(key, codes) for glob, codes in _table(key, value).items()}


def _shapes(key: Key, value: object) -> dict[str, tuple[int | None, ...]]:
    return {name: _shape(name, sizes) for name, sizes in _table(key, value).items()}


def _shape(name: str, sizes: object) -> tuple[int | None, ...]:
    if not isinstance(sizes, list) or not sizes or not all(map(_is_size, sizes)):
        raise ValueError(
            f"shape {sizes!r} of {name!r} is not a list of sizes; each is a whole number from 1 up, or '?'"
        )
    return tuple(None if size == "?" else size for size in sizes)


def _is_size(size: object) -> bool:
    return size == "?" or (isinstance(size, int) and not isinstance(size, bool) and size > 0)


def _suppressions(key: Key, value: object) -> tuple[dict[str, str], ...]:
    if not isinstance(value, (list, tuple)):
        raise _wrong(key, value)
    return tuple(_suppression(key, entry) for entry in value)


def _suppression(key: Key, entry: object) -> dict[str, str]:
    table = {name: _entry_text(text) for name, text in _table(key, entry).items()}
    for name in table:
        if name not in SUPPRESSION_KEYS:
            raise ValueError(f"unknown key {name!r} in an entry; allowed are {', '.join(SUPPRESSION_KEYS)}")
    if "rule" not in table:
        raise ValueError(f"entry {table!r} has no rule")
    return table | {"rule": resolve(table["rule"])}


def _entry_text(text: object) -> str:
    if not isinstance(text, str):
        raise _is_not(text, "a text")
    return text


def _flag(key: Key, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(key, value)
    return value


def _multiple(key: Key, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_MULTIPLE:
        raise _wrong(key, value)
    return value


def _percent(key: Key, value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 100:
        raise _wrong(key, value)
    return float(value)


def _bound(key: Key, value: object) -> int | None:
    if value == UNLIMITED:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _wrong(key, value)
    return value


def _release(key: Key, value: object) -> str:
    return normalise_release(_text(key, value))


def _runtime(key: Key, value: object) -> str:
    text = _text(key, value)
    runtime_of(text)
    return text


def _made_runtime(text: str, _place: Place) -> object:
    return runtime_of(text)


def _memory(key: Key, value: object) -> dict[str, int]:
    return {cpu: byte_size(size) for cpu, size in _by_target(key, value).items()}


def _boards(key: Key, value: object) -> dict[str, object]:
    return {cpu: known_board(_text(key, name)) for cpu, name in _by_target(key, value).items()}


def _by_target(key: Key, value: object) -> dict[str, object]:
    """A value for every target, or one for each CPU named."""
    if value == "":
        return {}
    if not isinstance(value, dict):
        return {EVERY_TARGET: value}
    return {cpu if cpu == EVERY_TARGET else parse_target(cpu).cpu: each for cpu, each in _table(key, value).items()}


def _globs(patterns: tuple[str, ...], place: Place) -> tuple[Glob, ...]:
    return tuple(Glob(pattern, place.root) for pattern in patterns)


def _by_glob(codes: dict[str, tuple[str, ...]], place: Place) -> tuple[tuple[Glob, tuple[str, ...]], ...]:
    return tuple((Glob(pattern, place.root), rules) for pattern, rules in codes.items())


def _level(name: str, _place: Place) -> Level:
    return Level[name.upper()]


def _least_level(name: str, _place: Place) -> Level | None:
    return None if name == BY_FORMAT else Level[name.upper()]


def _levels(names: dict[str, str], place: Place) -> dict[str, Level]:
    return {code: _level(name, place) for code, name in names.items()}


def _path(text: str, place: Place) -> str:
    return str(Path(place.root, text)) if text else ""


def _accepted(entries: tuple[dict[str, str], ...], place: Place) -> tuple[Suppression, ...]:
    """Entries of `suppress`, numbered by their origin."""
    made = []
    for number, entry in enumerate(entries):
        path = Glob(entry["path"], place.root) if "path" in entry else None
        rest = {name: text for name, text in entry.items() if name != "path"}
        made.append(Suppression(path=path, origin=f"{place.origin}: suppress[{number}]", **rest))
    return tuple(made)


_TEXT: dict[str, object] = {"type": "string"}
_RUNTIME: dict[str, object] = {**_TEXT, "pattern": f"^(auto|({'|'.join(NAMES)})(@.+)?)$"}
_TEXTS: dict[str, object] = {"type": "array", "items": _TEXT}
_SIZE: dict[str, object] = {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "?"}]}
_SHAPE: dict[str, object] = {"type": "array", "minItems": 1, "items": _SIZE}
_BOUND: dict[str, object] = {"anyOf": [{"type": "integer", "minimum": 0}, {"const": UNLIMITED}]}
_MEMORY_SIZE: dict[str, object] = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        {"type": "string", "pattern": rf"^\d+(\.\d+)? ?({'|'.join(UNITS)})$"},
    ]
}
_MEMORY: dict[str, object] = {
    "anyOf": [*_MEMORY_SIZE["anyOf"], {"const": ""}, {"type": "object", "additionalProperties": _MEMORY_SIZE}]  # type: ignore[misc]
}
_BOARD: dict[str, object] = {"type": "string", "enum": [board.name for board in KNOWN_BOARDS]}
_BOARDS: dict[str, object] = {"anyOf": [_BOARD, {"const": ""}, {"type": "object", "additionalProperties": _BOARD}]}
_SUPPRESSION: dict[str, object] = {
    "type": "object",
    "properties": {name: {"type": "string", "description": doc} for name, doc in SUPPRESSION_KEYS.items()},
    "required": ["rule"],
    "additionalProperties": False,
}

_CODE_LEVELS: dict[str, object] = {
    "type": "object",
    "additionalProperties": {"type": "string", "enum": list(LEVELS)},
}
_GLOB_CODES: dict[str, object] = {"type": "object", "additionalProperties": _TEXTS}
_SHAPES: dict[str, object] = {"type": "object", "additionalProperties": _SHAPE}
_SUPPRESSIONS: dict[str, object] = {"type": "array", "items": _SUPPRESSION}
_MULTIPLE: dict[str, object] = {"type": "integer", "minimum": 1, "maximum": MAX_MULTIPLE}
_PERCENT: dict[str, object] = {"type": "number", "minimum": 0, "maximum": 100}
_OR_UNLIMITED = f"from 0 up, or {UNLIMITED!r}"

KINDS: dict[str, Kind] = {
    "release": Kind("a text", _release, _TEXT),
    "runtime": Kind(
        "a runtime, with @ and a commit or date where it is not the newest", _runtime, _RUNTIME, make=_made_runtime
    ),
    "path": Kind("a path, relative to the configuration file", _text, _TEXT, make=_path),
    "choice": Kind("one of the allowed values", _choice, _TEXT),
    "least-level": Kind("a level", _choice, _TEXT, make=_least_level),
    "level": Kind("a level", _choice, _TEXT, make=_level),
    "texts": Kind("a list of texts", _nonempty_texts, {**_TEXTS, "minItems": 1}, Written.LIST),
    "globs": Kind("a list of patterns", _texts, _TEXTS, Written.REPEATED, _globs),
    "codes": Kind("a list of rule codes, prefixes or names", _codes, _TEXTS, Written.LIST),
    "code-levels": Kind("a table of rule = level", _code_levels, _CODE_LEVELS, Written.PAIRS, _levels),
    "glob-codes": Kind("a table of pattern = list of rules", _glob_codes, _GLOB_CODES, make=_by_glob),
    "shapes": Kind("a table of input = list of sizes", _shapes, _SHAPES, Written.PAIRS),
    "flag": Kind("true or false", _flag, {"type": "boolean"}, Written.FLAG),
    "multiple": Kind(f"a whole number from 1 to {MAX_MULTIPLE}", _multiple, _MULTIPLE, Written.NUMBER),
    "percent": Kind("a number from 0 to 100", _percent, _PERCENT, Written.NUMBER),
    "bytes": Kind(f"a whole number of bytes {_OR_UNLIMITED}", _bound, _BOUND, Written.NUMBER),
    "memory": Kind("a size, or a table of CPU = size", _memory, _MEMORY, Written.BY_TARGET),
    "board": Kind("the name of a board, or a table of CPU = name", _boards, _BOARDS, Written.BY_TARGET),
    "count": Kind(f"a whole number {_OR_UNLIMITED}", _bound, _BOUND, Written.NUMBER),
    "suppressions": Kind("a list of tables", _suppressions, _SUPPRESSIONS, make=_accepted),
}
"""Every kind by name."""
