"""Checks of what settings hold: each gives the value, or raises ValueError with what is wrong with it."""

from __future__ import annotations

import re

from onnxlint_cmsis.cmsis_nn.releases import normalise_release
from onnxlint_cmsis.cmsis_nn.targets import parse_target, split_compiler
from onnxlint_cmsis.config.boards import known_board
from onnxlint_cmsis.config.byte_sizes import byte_size
from onnxlint_cmsis.config.clocks import frequency
from onnxlint_cmsis.config.keys import EVERY_TARGET, LEVELS, UNLIMITED, Key
from onnxlint_cmsis.config.schemas import MAX_MULTIPLE, PERCENT_TEXT, SUPPRESSION_KEYS
from onnxlint_cmsis.config.selection import resolve
from onnxlint_cmsis.ground.words import close_to
from onnxlint_cmsis.runtimes.runtime import runtime_of
from onnxlint_cmsis.timing.memories import memory_name


class NotOfKindError(ValueError):
    """A value that is nothing of the key's kind; the only argument is what was found."""


def _is_not(value: object, words: str) -> ValueError:
    return ValueError(f"{value!r} is not {words}")


def text(_key: Key, value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise NotOfKindError(value)
    return value


def choice(key: Key, value: object) -> str:
    """One of the texts that the key allows."""
    if value not in key.allowed or not isinstance(value, str):
        meant = close_to(value, list(key.allowed)) if isinstance(value, str) else []
        hint = f"; did you mean {meant[0]}?" if meant else ""
        raise ValueError(f"{value!r} is not one of {', '.join(key.allowed)}{hint}")
    return value


def texts(_key: Key, value: object) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise NotOfKindError(value)
    return tuple(value)


def nonempty_texts(key: Key, value: object) -> tuple[str, ...]:
    """A list of at least one text."""
    values = texts(key, value)
    if not values:
        raise ValueError("the list is empty; name at least one")
    return values


def codes(key: Key, value: object) -> tuple[str, ...]:
    """Codes of rules, from codes, prefixes and names."""
    return tuple(resolve(text) for text in texts(key, value))


def _table(_key: Key, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise NotOfKindError(value)
    for name in value:
        _entry_text(name)
    return value


def code_levels(key: Key, value: object) -> dict[str, str]:
    """A level for each rule."""
    return {resolve(code): choice(key._replace(allowed=LEVELS), level) for code, level in _table(key, value).items()}


def glob_codes(key: Key, value: object) -> dict[str, tuple[str, ...]]:
    """Rules for each pattern."""
    return {glob: codes(key, named) for glob, named in _table(key, value).items()}


def shapes(key: Key, value: object) -> dict[str, tuple[int | None, ...]]:
    """Sizes for each input, None for one that stays symbolic."""
    return {name: _shape(name, sizes) for name, sizes in _table(key, value).items()}


def _shape(name: str, sizes: object) -> tuple[int | None, ...]:
    if not isinstance(sizes, list) or not sizes or not all(map(_is_size, sizes)):
        raise ValueError(
            f"shape {sizes!r} of {name!r} is not a list of sizes; each is a whole number from 1 up, or '?'"
        )
    return tuple(None if size == "?" else size for size in sizes)


def _is_size(size: object) -> bool:
    return size == "?" or (isinstance(size, int) and not isinstance(size, bool) and size > 0)


def suppressions(key: Key, value: object) -> tuple[dict[str, str], ...]:
    """Accepted findings as tables of texts."""
    if not isinstance(value, (list, tuple)):
        raise NotOfKindError(value)
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


def flag(_key: Key, value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise NotOfKindError(value)
    return value


def multiple(_key: Key, value: object) -> int:
    """A multiple to pad to."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_MULTIPLE:
        raise NotOfKindError(value)
    return value


def percent(_key: Key, value: object) -> float:
    """A share from 0 to 100, as a number or as a text with or without `%`."""
    if isinstance(value, str) and re.fullmatch(PERCENT_TEXT, value):
        value = float(value.removesuffix("%"))
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 100:
        raise NotOfKindError(value)
    return float(value)


def bound(_key: Key, value: object) -> int | None:
    """A bound, None for no limit."""
    if value == UNLIMITED:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise NotOfKindError(value)
    return value


def release(key: Key, value: object) -> str:
    """A release by its full name."""
    return normalise_release(text(key, value))


def runtime(key: Key, value: object) -> str:
    """A runtime that is known."""
    name = text(key, value)
    runtime_of(name)
    return name


def compiler(key: Key, value: object) -> str:
    """A compiler that is known, with or without a version."""
    name = text(key, value)
    split_compiler(name)
    return name


def memory(key: Key, value: object) -> dict[str, int]:
    """Bytes of memory for each CPU."""
    return {cpu: byte_size(size) for cpu, size in by_target(key, value).items()}


def frequencies(key: Key, value: object) -> dict[str, int]:
    """Hertz for each CPU."""
    return {cpu: frequency(clock) for cpu, clock in by_target(key, value).items()}


def placements(key: Key, value: object) -> dict[str, str]:
    """Memories for each CPU."""
    return {cpu: memory_name(str(name)) for cpu, name in by_target(key, value).items()}


def boards(key: Key, value: object) -> dict[str, object]:
    """Boards for each CPU."""
    return {cpu: known_board(text(key, name)) for cpu, name in by_target(key, value).items()}


def by_target(key: Key, value: object) -> dict[str, object]:
    """A value for every target, or one for each CPU named."""
    if value == "":
        return {}
    if not isinstance(value, dict):
        return {EVERY_TARGET: value}
    return {cpu if cpu == EVERY_TARGET else parse_target(cpu).cpu: number for cpu, number in _table(key, value).items()}
