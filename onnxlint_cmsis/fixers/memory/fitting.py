"""The fewest channel tiles with which a model fits RAM, or with which it takes least, by the arenas of drafts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.memory.band_segments import band_segments, not_in_bands
from onnxlint_cmsis.fixers.memory.channel_tiles import MOST_GROUPS, group_ends
from onnxlint_cmsis.fixers.memory.drafts import Draft, Tiles, drafted
from onnxlint_cmsis.fixers.memory.level_bands import guessed_bytes, level_ends
from onnxlint_cmsis.fixers.memory.segments import CHANNELS, Segment, segments
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.free_plan import free_plan, peak_steps

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
    from onnxlint_cmsis.runtimes.tflm.arena import ArenaLayout

MOST_ROUNDS = 12
"""Tiles that are added or made smaller."""
MOST_DRAFTS, MOST_OPERATORS = 160, 4000
"""Models that are laid out, and operators in all of them together: some seconds."""
MOST_LOOKED_AT = 1_000_000
"""Operators of all models in bands that are guessed at, before they are made level: some seconds."""
MOST_BANDS = 6
"""Bands of a segment: more cost more than they gain."""
MOST_LEVELLED, MOST_GUESSED = 4, 2
"""Segments of each number of bands whose bands are made level, and those that are laid out: guessed to take least."""

Arenas = Callable[["TfliteModel"], Sequence["ArenaLayout"]]
"""Arenas of a model on all targets; none where it has none on one."""


class Fit(NamedTuple):
    """Tiles, and what a model takes with them and a memory plan."""

    tiles: Tiles
    """Segments with the ends of their groups."""
    draft: Draft
    """The model with them."""
    arenas: tuple[ArenaLayout, ...]
    """Arenas on all targets; none where the model has none."""
    sizes: tuple[int, ...]
    """Bytes to write on each target."""

    def over(self, rooms: Sequence[int | None]) -> int:
        """Bytes that are too few on the target with the least room; 0 or less where it fits all."""
        if not self.sizes:
            return 1 << 62
        over = (size - room for size, room in zip(self.sizes, rooms, strict=True) if room is not None)
        return max(over, default=0)

    @property
    def planned(self) -> bool:
        """Tell whether a memory plan makes an arena smaller."""
        return self.sizes != tuple(arena.to_write for arena in self.arenas)

    @property
    def groups(self) -> int:
        """Groups of all tiles, each of which adds operators."""
        return sum(map(len, self.tiles.values()))

    def parts(self, model: TfliteModel) -> tuple[str, ...]:
        """Layers of a file in groups or bands, as clauses behind `with`."""
        return tuple(f"{len(ends)} {segment.parts} in {segment.label(model)}" for segment, ends in self.tiles.items())


class Search:
    """The search for tiles of one model."""

    def __init__(
        self,
        model: TfliteModel,
        arenas: Arenas,
        rooms: Sequence[int | None],
        allowed: Callable[[Fit], bool] = lambda _fit: True,
    ) -> None:
        """`rooms` are the bytes of RAM of each target; `allowed` is asked of tiles before they are taken."""
        self._model, self._arenas, self._rooms = model, arenas, rooms
        self._allowed = allowed
        self._segments = [*segments(model), *band_segments(model)]
        self._most = min(MOST_DRAFTS, MOST_OPERATORS // max(1, len(model.subgraphs[0].operators)))
        self._known: dict[tuple[tuple[Segment, tuple[int, ...]], ...], Fit] = {}
        self._guesses = MOST_LOOKED_AT // max(1, len(model.subgraphs[0].operators))
        self._refused = False

    def best(self) -> Fit:
        """The fewest groups that fit; where none do, the tiles that take least. Each round takes the highest step."""
        fit = self.fit({})
        for _ in range(MOST_ROUNDS):
            if fit.over(self._rooms) <= 0:
                return self._fewer(fit)
            ahead = (other for other in self._candidates(fit) if self._rank(other) < self._rank(fit))
            ranked = sorted(ahead, key=self._rank)
            better = next(filter(self._allowed, ranked), None)
            if better is None:
                self._refused = bool(ranked)
                break
            fit = better
        return fit

    def limit(self, fit: Fit) -> str | None:
        """Why the layer with the highest step stays as it is, as a clause; None where no layer has it."""
        number = next((origin for arena in fit.arenas for origin in _highest(fit.draft, arena)), None)
        if number is None:
            return None
        operator = self._model.subgraphs[0].operators[number]
        name = f"{operator.op}#{number} at the peak"
        if any(number in segment.operators for segment in self._segments):
            return f"parts of {name} would {'cost too much or meet a hazard' if self._refused else 'take no less'}"
        why = not_in_bands(self._model, operator) or "the layers around it do not, or its result is read elsewhere"
        return f"{name} runs in no parts: {why}"

    def steps(self, allowed: Callable[[Fit], bool]) -> Iterator[Fit]:
        """Of all that was laid out, for each number of groups the tiles that take least, where more groups take less.

        `allowed` is asked of them, those that take least first.
        """
        by_groups: dict[int, list[Fit]] = {}
        for fit in self._known.values():
            if fit.tiles and fit.sizes:
                by_groups.setdefault(fit.groups, []).append(fit)
        least = self._rank(self.fit({}))[0]
        for _, alike in sorted(by_groups.items()):
            smaller = sorted((fit for fit in alike if self._rank(fit)[0] < least), key=self._rank)
            for fit in filter(allowed, smaller):
                least = self._rank(fit)[0]
                yield fit
                break

    def fit(self, tiles: Tiles) -> Fit:
        """What a model takes with tiles; no sizes where it does not run in such tiles."""
        key = tuple(sorted(tiles.items()))
        if key not in self._known:
            arenas: tuple[ArenaLayout, ...] = ()
            draft = Draft(self._model, ())
            with suppress(NotAppliedError):
                draft = drafted(self._model, tiles)
                arenas = tuple(self._arenas(draft.model)) if len(self._known) <= self._most else ()
            plan = free_plan(draft.model, arenas) if arenas else None
            with_plan = plan.arenas if plan else arenas
            draft = draft._replace(model=draft.model._replace(data=self._model.data))  # no copy of the file for each
            self._known[key] = Fit(tiles, draft, arenas, tuple(arena.to_write for arena in with_plan))
        return self._known[key]

    def _rank(self, fit: Fit) -> tuple[int, int]:
        """What is better comes first: what fits, or is nearest to it; then fewer operators."""
        return max(0, fit.over(self._rooms)), len(fit.draft.origins)

    def _candidates(self, fit: Fit) -> Iterator[Fit]:
        """Tiles over the highest steps, in more groups than they have."""
        bands: list[tuple[int, Tiles, Segment]] = []
        high = {origin for arena in fit.arenas for origin in _highest(fit.draft, arena)}
        for segment in self._segments:
            if not high & {*segment.operators}:
                continue
            others = {other: ends for other, ends in fit.tiles.items() if not {*other.operators} & {*segment.operators}}
            crossed = segment.axis != CHANNELS and {other.axis for other in others} - {CHANNELS, segment.axis}
            if len(fit.tiles) - len(others) > 1 or crossed:  # the checker takes rows apart, or columns
                continue
            least = max((len(ends) for other, ends in fit.tiles.items() if other not in others), default=1)
            ways = [{**others, segment: ends} for ends in _ways(segment) if len(ends) > least]
            if segment.axis == CHANNELS:
                yield from map(self.fit, ways)
            elif self._guesses > 0:
                self._guesses -= len(ways)
                bands += [(guessed_bytes(self._model, tiles), tiles, segment) for tiles in ways]
        by_count: dict[int, list[tuple[Tiles, Segment]]] = {}
        for _, tiles, segment in sorted(bands, key=lambda way: way[0]):
            by_count.setdefault(sum(map(len, tiles.values())), []).append((tiles, segment))
        for alike in by_count.values():
            level = [self._level(*way) for way in alike[:MOST_LEVELLED]]
            yield from map(self.fit, sorted(level, key=partial(guessed_bytes, self._model))[:MOST_GUESSED])

    def _level(self, tiles: Tiles, segment: Segment) -> Tiles:
        """The same with bands of one segment that take about the same room, where that takes less."""
        if segment.axis == CHANNELS:
            return tiles
        others = {other: ends for other, ends in tiles.items() if other != segment}
        level = {**others, segment: level_ends(self._model, others, segment, tiles[segment])}
        return min(tiles, level, key=partial(guessed_bytes, self._model))

    def _fewer(self, fit: Fit) -> Fit:
        """The same with as few groups in each tile as still fit."""
        for segment in fit.tiles:
            rest = {other: ends for other, ends in fit.tiles.items() if other != segment}
            for option in (rest, *({**rest, segment: ends} for ends in _ways(segment))):
                if sum(map(len, option.values())) >= fit.groups:
                    break
                level = self._level(option, segment) if segment in option else option
                if (fewer := self.fit(level)).over(self._rooms) <= 0 and self._allowed(fewer):
                    fit = fewer
                    break
        return fit


def _highest(draft: Draft, arena: ArenaLayout) -> Iterator[int]:
    """Operators, by the number in the file, in whose steps most bytes are alive."""
    steps = {*peak_steps(draft.model, arena)}
    begun = {buffer.number: buffer.first for buffer in arena.plan}
    for operator, origin in zip(draft.model.subgraphs[0].operators, draft.origins, strict=True):
        if operator.outputs and begun.get(operator.outputs[0]) in steps:
            yield origin


def _ways(segment: Segment) -> list[tuple[int, ...]]:
    """Ends of groups of a segment, the fewest groups first."""
    unit, most = (1, min(MOST_BANDS, segment.size // 2)) if segment.axis != CHANNELS else (4, MOST_GROUPS)
    every = {group_ends(segment.size, groups, unit) for groups in range(2, most + 1)}
    return sorted((ends for ends in every if len(ends) > 1), key=len)
