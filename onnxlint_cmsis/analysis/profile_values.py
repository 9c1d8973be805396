"""What of a profiler's log counts: events of operators, and values that a counter can give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.names import domain_of

if TYPE_CHECKING:
    from onnxlint_cmsis.images.profiles import ProfileEvent

TICKS = "ticks"
NOT_ENDED = (-1, 2**32 - 1)
"""Ticks of an event that has only begun (tflite-micro 90b983c2, micro/micro_profiler.cc, MicroProfiler::BeginEvent)."""
WRAPPED = 2**32 - 2**24
"""Ticks from which on a value is less than nothing: a counter of 24 bits that wrapped, read as one of 32."""
LEAST, MOST = 1e-9, 1e18
"""The smallest value but 0 and the largest one that a log may have, in any unit."""
TOLD = 3
"""Names of events that are told."""


def is_operator(name: str, operators: Iterable[str]) -> bool:
    """Tell whether an event of TensorFlow Lite Micro is an operator; an application has events of its own."""
    return name in operators or domain_of(name) != ""


def left_out(names: Iterable[str]) -> str:
    """The events that are no operators, as a sentence; empty where there are none."""
    distinct = list(dict.fromkeys(names))
    if len(distinct) < 2:
        return f"{distinct[0]} is no operator: left out." if distinct else ""
    more = f" and {len(distinct) - TOLD} more" if len(distinct) > TOLD else ""
    return f"{', '.join(distinct[:TOLD])}{more} are no operators: left out."


def value_fault(unit: str, events: Sequence[ProfileEvent]) -> str:
    """Why the values of a log are none that count, as a sentence; empty where they do."""
    for name, value, *_ in events:
        taken = f"{name} took {value:,.0f} {unit}" if abs(value) < MOST else f"{name} took {value:g} {unit}"
        if unit == TICKS and value in NOT_ENDED:
            return f"{taken}: its event had not ended (EndEvent) when the log was printed."
        if unit == TICKS and (value < 0 or value >= WRAPPED):
            return f"{taken}: the counter wrapped or counts down; measure with a wider one that counts up."
        if value and not LEAST <= value <= MOST:
            return f"{name} took {value:g} {unit}, which no counter gives: the log is damaged."
    if any(value for _, value, *_ in events):
        return ""
    if unit == TICKS:
        return "Every value in it is 0: micro_time.cc of TensorFlow Lite Micro gives no time on this target; port it."
    return "Every value in it is 0: nothing was measured."
