"""The runs of a profiler's log of a model: what is one, and why a log is not laid over a model.

A pairing that may be wrong is none: numbers, names and counts all have to fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import eq
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.profile_names import name_fault
from onnxlint_cmsis.analysis.profile_values import TICKS, is_operator, left_out, value_fault
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.images.profiles import Profile, ProfileEvent

BEGINS = "It begins within a run, which is left out."
UNLIKE, FEW = 4.0, 100.0
"""Factor between values of an operator in two runs from which on they are of two operators, and values that may be."""
ENDS = "It ends within a run, which is left out."
SHORT = 4
"""Operators of a model of which a log without numbers may begin or end within a run."""
REPEATED = "It repeats events of former runs, as without ClearEvents: each counts once."


class ProfileRuns(NamedTuple):
    """The whole runs in a log."""

    runs: tuple[tuple[ProfileEvent, ...], ...] = ()
    """Events of each run, in the order of the operators of the model."""
    fault: str = ""
    """Why the log is not laid over the model, as a sentence."""
    remarks: tuple[str, ...] = ()
    """What is left out of it, as sentences."""


class _NotOfModelError(Exception):
    """Why a log is not laid over a model, as a sentence."""


def runs_in(operators: Sequence[str], profile: Profile) -> ProfileRuns:
    """The runs of a model with these operators."""
    if not operators:
        return ProfileRuns(fault="The model has no operators.")
    try:
        blocks, begins = _operator_blocks(operators, profile)
        runs, ends = _whole_runs(blocks, len(operators))
    except _NotOfModelError as error:
        return ProfileRuns(fault=str(error))
    return ProfileRuns(tuple(runs), remarks=(*begins, *ends))


def _operator_blocks(operators: Sequence[str], profile: Profile) -> tuple[list[list[ProfileEvent]], list[str]]:
    """Events of operators, printed together, with remarks. Raises _NotOfModelError."""
    blocks, remarks = list(_blocks(profile.events)), list[str]()
    faults = [fault for block in blocks if (fault := _gap(block))]
    if (number := blocks[0][0].number) > 0:
        faults += [f"It begins with event {number}: the start of the run is missing in it."] * (len(blocks) == 1)
        blocks, remarks = blocks[1:], [BEGINS]
    if profile.unit == TICKS and not faults:
        own = frozenset(operators)
        other = [event.operator for block in blocks for event in block if not is_operator(event.operator, own)]
        kept = [[event for event in block if is_operator(event.operator, own)] for block in blocks]
        blocks = [block for block in kept if block]
        faults += [f"No event in it is an operator; the first is {other[0]}."] if not blocks else []
        remarks += [left_out(other)] if other else []
    faults = faults or [value_fault(profile.unit, [event for block in blocks for event in block])]
    if not any(faults) and blocks[0][0].number < 0:
        blocks, cut = _without_cut_runs(operators, blocks[0])
        remarks += cut
    faults += [name_fault(operators, block) for block in blocks]
    if any(faults):
        raise _NotOfModelError(next(filter(None, faults)))
    return blocks, remarks


def _without_cut_runs(
    operators: Sequence[str], block: list[ProfileEvent]
) -> tuple[list[list[ProfileEvent]], list[str]]:
    """Events without numbers, without the runs that are cut at both ends, with remarks. Raises _NotOfModelError.

    Names have to tell where a run begins: its last operator is nowhere else followed by its first one.
    """
    own, names, size = [*operators], [event.operator for event in block], len(operators)
    begin = next((at for at, name in enumerate(names[:size]) if names[at : at + size] == own), 0)
    end = (len(names) - begin) % size
    follows = names == (own * (len(names) // size + 2))[size - begin if begin else 0 :][: len(names)]
    told = size >= SHORT and (own[-1], own[0]) not in pairwise(own)
    if not told or not follows or not begin + end or len(names) - begin < size:
        return [block], []
    kept = block[begin : len(block) - end]
    cut = [(block[:begin], kept[size - begin : size]), (block[len(block) - end :], kept[-size:][:end])]
    if fault := next(filter(None, (_unlike(pair) for pair in cut if pair[0])), ""):
        raise _NotOfModelError(fault)
    return [kept], [remark for remark, (part, _) in zip((BEGINS, ENDS), cut, strict=True) if part]


def _whole_runs(blocks: Sequence[list[ProfileEvent]], size: int) -> tuple[list[tuple[ProfileEvent, ...]], list[str]]:
    """Runs of as many events as the model has operators, with remarks. Raises _NotOfModelError."""
    groups = [[tuple(block[at : at + size]) for at in range(0, len(block) - size + 1, size)] for block in blocks]
    shorter = len(blocks) > 1 and len(blocks[-1]) < len(blocks[-2])
    grows = len(blocks) > 1 and all(map(eq, groups[-1], groups[-2]))
    ends = len(blocks[-1]) % size > 0 and (shorter or grows)
    if odd := next((block for block in (blocks[:-1] if ends else blocks) if len(block) % size), []):
        other = f"It has {len(odd)} events, and the model {size} operators"
        raise _NotOfModelError(f"{other}: it is cut, or the log of another model.")
    if blocks[0][0].number < 0:
        starts = [index for index, run in enumerate(groups[0]) if run == groups[0][0]]
        groups = [groups[0][start:end] for start, end in pairwise([*starts, len(groups[0])])]
    if fault := next(filter(None, map(_unlike, groups)), ""):
        raise _NotOfModelError(fault)
    if ends and grows and len(groups[-1]) <= len(groups[-2]):
        groups = groups[:-1]
    newest = [group for group, after in pairwise([*groups, []]) if group == after or group != after[: len(group)]]
    remarks = ([REPEATED] if len(newest) < len(groups) else []) + ([ENDS] if ends else [])
    return [run for group in newest for run in group], remarks


def _unlike(runs: Sequence[Sequence[ProfileEvent]]) -> str:
    """What shows that runs printed together are the layers of a larger model, as a sentence; empty for runs of one."""
    spread = [
        (min(event.value for event in events), max(event.value for event in events), events[0].operator)
        for events in zip(*runs, strict=True)
    ]
    apart = [(most, least, name) for least, most, name in spread if most > FEW and most > UNLIKE * least]
    if 2 * sum(most for most, _, _ in apart) <= sum(most for _, most, _ in spread):
        return ""
    most, least, name = max(apart)
    took = f"{name} took {most:,.6g} and {least:,.6g} in the same place"
    return f"{took}: it is the log of another model, or a run was interrupted."


def _blocks(events: Sequence[ProfileEvent]) -> Iterator[list[ProfileEvent]]:
    """Events between which the numbers begin anew; all of them where they have none."""
    block: list[ProfileEvent] = []
    for event in events:
        if event.number == 0 and block:
            yield block
            block = []
        block.append(event)
    if block:
        yield block


def _gap(block: Sequence[ProfileEvent]) -> str:
    """Where a number does not follow the one before it, as a sentence; empty where each does."""
    for before, event in pairwise(block):
        if event.number >= 0 and event.number != before.number + 1:
            return f"Event {before.number} is followed by event {event.number}: lines are missing in it."
    return ""
