"""A verdict as text, the same wherever one is shown."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from onnxlint_cmsis.analysis.verdict import RUNS, WITHOUT, WORDS, TargetVerdict
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import and_more, quoted
from onnxlint_cmsis.lower.work import percent

FAMILY = "cortex-"
"""Stands before the first CPU of a line alone."""
LIBRARY = "CMSIS-NN "
"""Stands before a release in the label of a target."""
IN_REFERENCE_CODE = " in reference code"
"""Ends the word for Effect.REFERENCE in a sentence."""


class VerdictLine(NamedTuple):
    """Equal verdicts of several targets."""

    verdicts: tuple[TargetVerdict, ...]
    """One for each target."""
    several: Container[str] = ()
    """CPUs that the file has several targets of."""

    @property
    def targets(self) -> str:
        """`cortex-m0, m4`; with releases `cortex-m4 (6.0.0, 7.0.0)` where a CPU has several."""
        releases: dict[str, list[str]] = {}
        for verdict in self.verdicts:
            cpu, _, library = verdict.target.partition(", ")
            releases.setdefault(cpu, []).append(library.partition(", ")[0].removeprefix(LIBRARY))
        told = [f"{cpu} ({', '.join(names)})" if cpu in self.several else cpu for cpu, names in releases.items()]
        return ", ".join([*told[:1], *(cpu.removeprefix(FAMILY) for cpu in told[1:])])

    @property
    def word(self) -> str:
        """`RUNS (as int8, once quantized)`."""
        first = self.verdicts[0]
        return f"{first.word} ({first.condition})" if first.condition else first.word

    @property
    def brief_word(self) -> str:
        """The same as a table has it, with the rule that says why: `NO KERNEL (as int8), CNN190`."""
        first = self.verdicts[0]
        conditions = "; ".join(condition.partition(",")[0] for condition in first.condition.split("; "))
        told = first.codes if first.word != WORDS[Effect.REFERENCE] else ()
        why = "".join(f", {code}" for code in told[:1]) + (f" +{len(told) - 1}" if len(told) > 1 else "")
        return f"{first.word} ({conditions}){why}" if conditions else f"{first.word}{why}"

    def reason(self, names: Mapping[str, str], below: Container[str] = ()) -> str:
        """`'conv', 'dense' (CNN302)`; behind IN_REFERENCE_CODE `2 of 12 layers, 11 to 15 % of the instructions`.

        Of layers without a kernel it is `2 of 12 layers, 98 % of the work: 'conv', 'dense' (CNN501)`.
        Layers are counted, not named, where findings of all codes in `below` name them.
        """
        first = self.verdicts[0]
        if first.word == WORDS[Effect.REFERENCE]:
            return f"{len(first.layers)} of {first.every} layers{self._share()}"
        if first.word == WITHOUT:
            return f"{'the only layer' if first.every == 1 else f'all {first.every} layers'} in reference code"
        codes = ", ".join(first.codes)
        named = and_more(quoted(names.get(label, label) for label in first.layers))
        told = all(code in below for code in first.codes)
        if first.word == WORDS[Effect.NO_KERNEL] and first.layers:
            work = f", {percent(first.work)} of the work" if first.work is not None else ""
            counted = f"{len(first.layers)} of {first.every} layer{'s' * (first.every > 1)}{work}"
            named = counted if told else f"{counted}: {named}"
        elif len(first.layers) > 1 and told:
            named = f"{len(first.layers)} layers"
        return f"{named} ({codes})" if first.layers and codes else named or codes

    def _share(self) -> str:
        """`, 11 to 15 % of the instructions`; all and nothing are never rounded to."""
        shares = [verdict.share for verdict in self.verdicts if verdict.share]
        if len(shares) < len(self.verdicts):
            return ""
        least, most = (min(max(round(100 * part), 1), 99) for part in (min(shares)[0], max(s[1] for s in shares)))
        return f", {least} % of the instructions" if least == most else f", {least} to {most} % of the instructions"

    @property
    def cost(self) -> str:
        """Milliseconds where a clock is given, else predicted instructions; those of several targets in their order."""
        if any(verdict.time for verdict in self.verdicts):
            return _once_if_alike([verdict.time or "unknown" for verdict in self.verdicts])
        least = "at least " if any(verdict.unknown_cost and verdict.instructions for verdict in self.verdicts) else ""
        return least + _once_if_alike([_range(verdict) for verdict in self.verdicts])

    @property
    def brief_cost(self) -> str:
        """The same as a table has it: `>196k` for what is known at least, `<43.3M` for the end of a range."""
        if any(verdict.time for verdict in self.verdicts):
            return re.sub(r"predicted | at [^/]*Hz", "", self.cost.replace("at least ", ">"))
        more = [">" if verdict.unknown_cost and verdict.instructions else "" for verdict in self.verdicts]
        costs = [_range(verdict) for verdict in self.verdicts]
        costs = [f"<{cost.partition(' to ')[2]}" if " to " in cost else cost for cost in costs]
        return _once_if_alike([f"{least}{cost}" for least, cost in zip(more, costs, strict=True)])

    @property
    def arena(self) -> str:
        """Bytes to declare for the arena."""
        least = "" if self.verdicts[0].arena_exact else "at least "
        known = [verdict.arena_to_write for verdict in self.verdicts]
        return f"{least if None not in known else ''}{_once_if_alike([_number(size) for size in known])}"

    @property
    def flash(self) -> str:
        """Bytes in flash beside code."""
        return _once_if_alike([_number(verdict.flash) for verdict in self.verdicts])

    def _memory(self) -> Iterator[str]:
        """`arena 5,344 bytes`, `flash 23,912 bytes + code`; against a device `RAM 5,344 of 65,536` and so on."""
        first = self.verdicts[0]
        named = first.word != WORDS[Effect.DOES_NOT_FIT]
        if named and first.ram_room is not None and first.ram is not None:
            least = "at least " if first.fits is None else ""
            yield f"RAM {least}{_of([(verdict.ram, verdict.ram_room) for verdict in self.verdicts])}"
        elif not self.arena.startswith("unknown"):
            yield f"arena {self.arena} bytes"
        if named and first.flash_room is not None:
            yield f"flash {_of([(verdict.flash, verdict.flash_room) for verdict in self.verdicts])} + code"
        else:
            yield f"flash {self.flash} bytes + code"

    @property
    def accepted(self) -> str:
        """`2 findings accepted`; empty where none is."""
        number = self.verdicts[0].accepted
        return f"{number} finding{'s' if number > 1 else ''} accepted" if number else ""

    def text(self, names: Mapping[str, str], below: Container[str] = ()) -> str:
        """The whole line, without the file; `below` as in `reason`."""
        first = self.verdicts[0]
        figures: list[str] = []
        if first.flash is not None and first.word != WORDS[Effect.STOPS]:
            timed = any(verdict.time for verdict in self.verdicts)
            cost = self.cost if timed else f"{self.cost} instructions" if self.cost != "unknown" else "cost unknown"
            memory = ", ".join(self._memory())
            figures = [cost, f"FITS: {memory}"] if first.fits else [f"{cost}, {memory}"]
        parts = [self.reason(names, below), *figures, self.accepted]
        partly = IN_REFERENCE_CODE if first.word == WORDS[Effect.REFERENCE] else ""
        head = f"{first.word}{partly}{self.word.removeprefix(first.word)} on {self.targets}"
        return ": ".join(filter(None, (head, "; ".join(filter(None, parts)))))


def lines_of(given: Sequence[TargetVerdict]) -> tuple[VerdictLine, ...]:
    """Equal verdicts together, the worst first."""
    groups: dict[tuple[object, ...], list[TargetVerdict]] = {}
    for verdict in given:
        named = (verdict.ram_room is None, verdict.ram is None, verdict.flash_room is None, verdict.fits)
        key = (verdict.word, verdict.layers, verdict.codes, verdict.condition, verdict.every, bool(verdict.time), named)
        groups.setdefault(key, []).append(verdict)
    cpus = [cpu_of(verdict.target) for verdict in given]
    lines = (VerdictLine(tuple(group), {cpu for cpu in cpus if cpus.count(cpu) > 1}) for group in groups.values())
    return tuple(sorted(lines, key=lambda line: rank(line.verdicts)))


def rank(verdicts: Iterable[TargetVerdict]) -> int:
    """How good the worst of some verdicts is: 0 for STOPS."""
    words = [*WORDS.values(), WITHOUT, RUNS]
    return min((words.index(verdict.word) for verdict in verdicts), default=0)


def cpu_of(label: str) -> str:
    """CPU of a target's label."""
    return label.partition(", ")[0]


def _once_if_alike(texts: Sequence[str]) -> str:
    """The texts of several targets in their order, once where they are alike."""
    return texts[0] if len({*texts}) == 1 else " / ".join(texts)


def _number(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _of(pairs: Sequence[tuple[int | None, int | None]]) -> str:
    """`5,344 / 5,472 of 65,536`: what is needed of what is there."""
    if len({room for _, room in pairs}) == 1:
        return f"{_once_if_alike([_number(number) for number, _ in pairs])} of {_number(pairs[0][1])}"
    return _once_if_alike([f"{_number(number)} of {_number(room)}" for number, room in pairs])


def _range(verdict: TargetVerdict) -> str:
    """Instructions, of which the least alone is known where layers are left out."""
    if verdict.instructions is None:
        return "unknown"
    least, most = map(rounded, verdict.instructions)
    return least if least == most or verdict.unknown_cost else f"{least} to {most}"


def rounded(number: int) -> str:
    """Three digits of a prediction: `952k`, `1.38M`."""
    kept = int(float(f"{number:.3g}"))
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if kept >= unit:
            return f"{kept / unit:.{max(3 - len(str(kept // unit)), 0)}f}{name}"
    return str(number)
