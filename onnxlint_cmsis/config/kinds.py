"""The kinds of value a configuration key may have: how each is checked, and described as JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.config.codes import resolve
from onnxlint_cmsis.config.keys import LEVELS, UNLIMITED

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


class Kind(NamedTuple):
    """One kind of value."""

    words: str
    """What it is, for messages and docs."""
    check: Callable[[Key, object], object]
    """The checked value; ValueError says what is wrong with it."""
    schema: dict[str, object]
    """JSON Schema of the value; `choice` and `level` add the allowed values."""


MAX_MULTIPLE = 64
"""Largest multiple to pad to; no kernel has blocks of more, and every size up to the multiple is looked at."""


def check(key: Key, value: object) -> object:
    """The checked value of a key; ValueError says what was found and what is allowed."""
    return KINDS[key.kind].check(key, value)


def _wrong(key: Key, value: object) -> ValueError:
    return ValueError(f"{value!r} is not {KINDS[key.kind].words}")


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
    table = {name: _text(key._replace(kind="text"), text) for name, text in _table(key, entry).items()}
    for name in table:
        if name not in SUPPRESSION_KEYS:
            raise ValueError(f"unknown key {name!r} in an entry; allowed are {', '.join(SUPPRESSION_KEYS)}")
    if "rule" not in table:
        raise ValueError(f"entry {table!r} has no rule")
    return table | {"rule": resolve(table["rule"])}


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


_TEXT: dict[str, object] = {"type": "string"}
_TEXTS: dict[str, object] = {"type": "array", "items": _TEXT}
_SIZE: dict[str, object] = {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "?"}]}
_SHAPE: dict[str, object] = {"type": "array", "minItems": 1, "items": _SIZE}
_BOUND: dict[str, object] = {"anyOf": [{"type": "integer", "minimum": 0}, {"const": UNLIMITED}]}
_SUPPRESSION: dict[str, object] = {
    "type": "object",
    "properties": {name: {"type": "string", "description": doc} for name, doc in SUPPRESSION_KEYS.items()},
    "required": ["rule"],
    "additionalProperties": False,
}

KINDS: dict[str, Kind] = {
    "text": Kind("a text", _text, _TEXT),
    "path": Kind("a path, relative to the configuration file", _text, _TEXT),
    "choice": Kind("one of the allowed values", _choice, _TEXT),
    "level": Kind("a level", _choice, _TEXT),
    "texts": Kind("a list of texts", _nonempty_texts, {**_TEXTS, "minItems": 1}),
    "globs": Kind("a list of patterns", _texts, _TEXTS),
    "codes": Kind("a list of rule codes, prefixes or names", _codes, _TEXTS),
    "code-levels": Kind(
        "a table of rule = level",
        _code_levels,
        {"type": "object", "additionalProperties": {"type": "string", "enum": list(LEVELS)}},
    ),
    "glob-codes": Kind(
        "a table of pattern = list of rules", _glob_codes, {"type": "object", "additionalProperties": _TEXTS}
    ),
    "shapes": Kind("a table of input = list of sizes", _shapes, {"type": "object", "additionalProperties": _SHAPE}),
    "flag": Kind("true or false", _flag, {"type": "boolean"}),
    "multiple": Kind(
        f"a whole number from 1 to {MAX_MULTIPLE}",
        _multiple,
        {"type": "integer", "minimum": 1, "maximum": MAX_MULTIPLE},
    ),
    "percent": Kind("a number from 0 to 100", _percent, {"type": "number", "minimum": 0, "maximum": 100}),
    "bytes": Kind(f"a whole number of bytes from 0 up, or {UNLIMITED!r}", _bound, _BOUND),
    "count": Kind(f"a whole number from 0 up, or {UNLIMITED!r}", _bound, _BOUND),
    "suppressions": Kind("a list of tables", _suppressions, {"type": "array", "items": _SUPPRESSION}),
}
