"""What one build tells otherwise than another: facts that differ, operators, functions and models that came or went."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.images.build import Build, LibraryBuild
from onnxlint_cmsis.images.facts import MAY, SURE, Fact, Value, facts_of

CORE = "core"
"""Key of both facts on the core: `cpu`, and `architecture` where the attributes name no core."""
NAMES = ("cmsis_nn", "cmsis_nn_memcpy", "operators", "operators_linked")
"""Keys whose values are names, which come and go."""
EMPTY_BESIDE = {"cmsis_nn_memcpy": "cmsis_nn", "operators_linked": "operators"}
"""Facts that a build does not have where there is no such name, and the one whose names it has then."""
SIZES = ("ram", "flash")
"""Keys whose values are bytes."""
REGION = "region"
"""Key of regions of memory."""
BY_MAP = (REGION, "map")
"""Keys of what a map file beside the image tells."""
SEVERAL = {"model": ("sha256", "name"), "arena": ("symbol",), REGION: ("name",)}
"""Facts that a build has several of, and by what two of them are the same, the surest first."""
UNTOLD = "not told"


class BuildChange(NamedTuple):
    """A fact that differs."""

    key: str
    """Key of the fact; CORE for the core."""
    before: Fact | None
    """The fact of the first build; None where it does not tell."""
    after: Fact | None
    """The fact of the second."""
    text: str
    """What changed, for people."""
    certainty: str
    """`sure` where both facts are."""
    came: tuple[str, ...] = ()
    """Names that the second build has alone."""
    went: tuple[str, ...] = ()
    """Names that the first build has alone."""


def build_changes(before: Build | LibraryBuild, after: Build | LibraryBuild) -> tuple[BuildChange, ...]:
    """All facts that differ, in the order in which facts are told."""
    old, new = _by_key(facts_of(before)), _by_key(facts_of(after))
    inlined = any(build.library is not None and build.library.inlined for build in (before, after))
    order = [*new, *(key for key in old if key not in new)]
    return tuple(change for key in order for change in _changes(key, old, new, inlined=inlined))


def _by_key(facts: tuple[Fact, ...]) -> dict[str, list[Fact]]:
    told: dict[str, list[Fact]] = {}
    for fact in facts:
        told.setdefault(CORE if fact.key in ("cpu", "architecture") else fact.key, []).append(fact)
    return told


def _changes(
    key: str, old: dict[str, list[Fact]], new: dict[str, list[Fact]], *, inlined: bool
) -> Iterator[BuildChange]:
    if key in BY_MAP and not (key in old and key in new):
        return  # the map file beside one of them is not there
    if key in SEVERAL:
        for before, after in _paired(old.get(key, []), new.get(key, []), SEVERAL[key]):
            text = _text_of_pair(key, before, after)
            if text:
                yield BuildChange(key, before, after, text, _certainty(before, after))
        return
    before, after = (next(iter(told.get(key, ())), None) for told in (old, new))
    old_names, new_names = (_names(key, old), _names(key, new)) if key in NAMES else (None, None)
    if old_names is not None and new_names is not None:
        came = tuple(name for name in new_names if name not in old_names)
        went = tuple(name for name in old_names if name not in new_names)
        # a compiler that inlines across files leaves functions without a symbol
        certainty = MAY if inlined and key == "cmsis_nn" else _certainty(before, after)
        if came or went:
            yield BuildChange(key, before, after, _names_text(came, went), certainty, came, went)
    elif before is None or after is None or (before.key, before.value) != (after.key, after.value):
        yield BuildChange(key, before, after, _text(key, before, after), _certainty(before, after))


def _names(key: str, told: dict[str, list[Fact]]) -> list[str] | None:
    """The names of a fact; None where the build does not tell them."""
    if key in told:
        value = told[key][0].value
        return value if isinstance(value, list) else None
    beside = told.get(EMPTY_BESIDE.get(key, ""))
    return [] if beside and isinstance(beside[0].value, list) else None


def _names_text(came: tuple[str, ...], went: tuple[str, ...]) -> str:
    parts = [(len(names), word, names) for word, names in (("new", came), ("gone", went)) if names]
    return "; ".join(f"{count} {word}: {and_more(names, 5)}" for count, word, names in parts)


def _text(key: str, before: Fact | None, after: Fact | None) -> str:
    if key in SIZES and before and after and isinstance(before.value, int) and isinstance(after.value, int):
        return f"{before.value:,} -> {after.value:,} bytes ({after.value - before.value:+,})"
    return " -> ".join(fact.text if fact else UNTOLD for fact in (before, after))


def _certainty(before: Fact | None, after: Fact | None) -> str:
    return MAY if any(fact and fact.certainty == MAY for fact in (before, after)) else SURE


def _paired(old: list[Fact], new: list[Fact], names: tuple[str, ...]) -> Iterator[tuple[Fact | None, Fact | None]]:
    """Facts of both builds that are of the same thing; the last two that are left are the same too."""
    left, right = list(old), list(new)

    def same_by(name: str) -> Callable[[Fact, Fact], bool]:
        return lambda before, after: _field(before, name) == _field(after, name)

    def only_ones(_before: Fact, _after: Fact) -> bool:
        return len(left) == len(right) == 1

    for same in (*map(same_by, names), only_ones):
        for before in list(left):
            after = next((fact for fact in right if same(before, fact)), None)
            if after:
                left.remove(before)
                right.remove(after)
                yield before, after
    yield from ((before, None) for before in left)
    yield from ((None, after) for after in right)


def _text_of_pair(key: str, before: Fact | None, after: Fact | None) -> str:
    """What differs between two models, arenas or regions; empty where only the address does."""
    if before is None or after is None:
        if key == "model":
            return f"gone: {before.text}" if before else f"new: {after.text if after else ''}"
        return _text(key, before, after)
    names = dict.fromkeys(str(_field(fact, "name")) for fact in (before, after))
    parts = []
    if _field(before, "sha256") != _field(after, "sha256"):
        parts.append("another model")
    if _field(before, "size") != _field(after, "size"):
        parts.append(f"{_field(before, 'size'):,} -> {_field(after, 'size'):,} bytes")
    for field, what in (("memory", "in"), ("aligned", "aligned to")):
        if _field(before, field) != _field(after, field):
            told = (_field(fact, field) for fact in (before, after))
            parts.append(f"{what} {' -> '.join(UNTOLD if value is None else str(value) for value in told)}")
    return f"{' -> '.join(names)}: {', '.join(parts)}" if parts else " -> ".join(names) if len(names) > 1 else ""


def _field(fact: Fact, name: str) -> object:
    value: Value = fact.value
    return value.get(name) if isinstance(value, dict) else None
