"""The runs of a profiler's log of a model: what is one, and why a log is not laid over a model.

A pairing that may be wrong is none: numbers, names and counts all have to fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.images.profiles import Profile, ProfileEvent

TICKS = "ticks"
WRAPPED = 2**32 - 2**24
"""Ticks from which on a value is less than nothing: a counter of 24 bits that wrapped, read as one of 32."""
KINDS = (
    ("nonlinear", ""), ("conv", "convolution"), ("pool", "pooling"), ("softmax", "softmax"), ("dense", "dense"),
    ("fullyconnected", "dense"), ("gemm", "dense"), ("matmul", "dense"), ("linear", "dense"), ("add", "sum"),
    ("mul", "product"), ("reshape", "reshape"), ("flatten", "reshape"), ("dequantize", "dequantize"),
    ("quantize", "quantize"), ("lstm", "lstm"), ("svdf", "svdf"), ("transpose", "transpose"), ("pad", "pad"),
)  # fmt: skip
"""What is in names of tools with different names for the same operators, and what that computes; the first counts."""


class ProfileRuns(NamedTuple):
    """The whole runs in a log."""

    runs: tuple[tuple[ProfileEvent, ...], ...] = ()
    """Events of each run, in the order of the operators of the model."""
    fault: str = ""
    """Why the log is not laid over the model, as a sentence."""
    remarks: tuple[str, ...] = ()
    """What is left out of it, as sentences."""


def nothing_measured(profile: Profile) -> str:
    """Why no value of a log counts, as a sentence; empty where they do."""
    if profile.empty and profile.unit == TICKS:
        return "Every value in it is 0: micro_time.cc of TensorFlow Lite Micro gives no time on this target; port it."
    if profile.empty:
        return "Every value in it is 0: nothing was measured."
    for event in (*profile.events, *profile.sums):
        if event.value < 0 or (profile.unit == TICKS and event.value >= WRAPPED):
            taken = f"{event.operator} took {event.value:,.0f} {profile.unit}"
            return f"{taken}: the counter wrapped; measure with a wider one."
    return ""


def sums_fault(operators: Sequence[str], sums: Sequence[ProfileEvent]) -> str:
    """Why sums by operator are not those of a model, as a sentence; empty where they can be."""
    names = {event.operator for event in sums}
    other = sorted(names ^ set(operators)) if names else []
    where = "the model" if other and other[0] in operators else "the log"
    return f"{other[0]} is in {where} alone: it is the log of another model." if other else ""


def runs_in(operators: Sequence[str], profile: Profile) -> ProfileRuns:
    """The runs of a model with these operators."""
    size, own = len(operators), frozenset(operators)
    if not size:
        return ProfileRuns(fault="The model has no operators.")
    events, remarks = list(profile.events), list[str]()
    if profile.unit == TICKS:  # the application measures under names of its own
        other = next((event.operator for event in events if not _is_operator(event, own)), "")
        events = [event for event in events if _is_operator(event, own)]
        remarks += [f"{other} is no operator: left out."] if other else []
    blocks = list(_blocks(events))
    fault = next(filter(None, (_gap(block) for block in blocks)), "")
    if not fault and len(blocks) > 1 and blocks[0][0].number > 0:
        blocks, remarks = blocks[1:], [*remarks, "It begins within a run, which is left out."]
    fault = fault or next(filter(None, (_name_fault(operators, block) for block in blocks)), "")
    if not fault and len(blocks) > 1 and len(blocks[-1]) < len(operators):
        blocks, remarks = blocks[:-1], [*remarks, "It ends within a run, which is left out."]
    odd = next((len(block) for block in blocks if len(block) % size or block[0].number > 0), None)
    if not fault and (odd is not None or not blocks):
        fault = f"It has {odd or 0} events, and the model {size} operators: it is cut, or the log of another model."
    if fault:
        return ProfileRuns(fault=fault)
    runs = (tuple(block[start : start + size]) for block in blocks for start in range(0, len(block), size))
    return ProfileRuns(tuple(runs), remarks=tuple(remarks))


def _is_operator(event: ProfileEvent, own: frozenset[str]) -> bool:
    return event.operator.isupper() or event.operator in own


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


def _name_fault(operators: Sequence[str], events: Sequence[ProfileEvent]) -> str:
    """The first event that is not the operator in its place, as a sentence; empty where all fit."""
    same = any(event.operator in operators for event in events)
    if not same and all(event.operator.isupper() for event in events):
        return f"It has {events[0].operator}, and no name fits: it is the log of another model."
    alike = 0
    for index, event in enumerate(events):
        number = (event.number if event.number >= 0 else index) % len(operators)
        kinds = {_kind(operators[number]), _kind(event.operator)}
        alike += len(kinds) == 1 and kinds != {""}
        if (same and event.operator != operators[number]) or len(kinds - {""}) > 1:
            other = f"Event {index} is {event.operator}, and operator {number} is {operators[number]}"
            return f"{other}: it is the log of another model."
    return "" if same or 2 * alike >= len(events) else "Names do not tell that it is the log of this model."


def _kind(name: str) -> str:
    """What an operator computes, by its name in any tool; empty where that does not tell."""
    plain = "".join(filter(str.isalnum, name.lower()))
    return next((kind for part, kind in KINDS if part in plain), "")
