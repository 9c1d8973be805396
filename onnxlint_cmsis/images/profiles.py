"""Logs of profilers: what a device measured of each operator, as each tool prints it.

TensorFlow Lite Micro's MicroProfiler prints `LogCsv` ("Event","Tag","Ticks"), `Log` (`CONV_2D took 77 ticks (0 ms).`)
and `LogTicksPerTagCsv`; ExecuTorch's Inspector a table in milliseconds; heliaPROFILER a CSV of counters; ST Edge AI a
table; EEMBC's runner and Zephyr's sample totals alone.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence

from onnxlint_cmsis.ground.named_tuples import NamedTuple

MOST_LINES = 1_000_000
"""Lines of a log that are read."""
LONGEST_LINE = 4096


class ProfileEvent(NamedTuple):
    """One operator that ran."""

    operator: str
    """Its name in the log."""
    value: float
    """What was measured, in the unit of the profile."""


class Profile(NamedTuple):
    """What a log holds."""

    form: str
    """Who prints it so."""
    unit: str
    """`ticks`, `cycles`, `instructions`, `ms` or `us`."""
    events: tuple[ProfileEvent, ...] = ()
    """Operators in the order in which they ran, those of several runs behind each other; none for totals."""
    sums: tuple[ProfileEvent, ...] = ()
    """Sums by operator, where the log has these alone."""
    total: float = 0.0
    """All of it."""

    @property
    def empty(self) -> bool:
        """Whether it measured nothing: the default of TensorFlow Lite Micro's micro_time.cc gives 0 ticks always."""
        return not self.total


_CSV = re.compile(r'^\s*"?(\d+)"?\s*,\s*"?([A-Za-z][\w-]*)"?\s*,\s*"?(\d+)"?\s*$')
_TOOK = re.compile(r"([A-Za-z][\w-]*) took (\d+) ticks \((\d+) ms\)")
_TAG = re.compile(r'^\s*"?([A-Za-z][\w-]*)"?\s*,\s*(\d+)\s*$')
_NATIVE = re.compile(r"native_call_(\S+?)\s*[|│]?\s+(\d+(?:\.\d+)?)(?:\s|[|│]|$)")
_ST = re.compile(r"^\s*(\d+)\s+(\d+)\s+([A-Za-z][\w() .-]*?)\s+(\d+(?:\.\d+)?)\s+(\d+(?:\.\d+)?)\s*%")
_LAP = re.compile(r"m-lap-us-(\d+)")
_INVOKE = re.compile(r"invoke_cycles:\s*(\d+)")


def read_profile(text: str) -> Profile | None:
    """What a log holds; None where no form that is known is in it."""
    lines = [line[:LONGEST_LINE] for line in text.splitlines()[:MOST_LINES]]
    readers: tuple[Callable[[Sequence[str]], Profile | None], ...] = (
        _counters, _csv_events, _took, _inspector, _st_table, _ticks_per_tag, _laps, _zephyr,
    )  # fmt: skip
    return next((profile for reader in readers if (profile := reader(lines))), None)


def _of(form: str, unit: str, events: Sequence[ProfileEvent]) -> Profile | None:
    total = sum(event.value for event in events)
    return Profile(form, unit, tuple(events), total=total) if events else None


def _csv_events(lines: Sequence[str]) -> Profile | None:
    matches = [match for line in lines if (match := _CSV.match(line))]
    events = [ProfileEvent(match[2], float(match[3])) for match in matches]
    return _of("TensorFlow Lite Micro, LogCsv", "ticks", events)


def _took(lines: Sequence[str]) -> Profile | None:
    matches = [match for line in lines if (match := _TOOK.search(line))]
    events = [ProfileEvent(match[1], float(match[2])) for match in matches]
    return _of("TensorFlow Lite Micro, Log", "ticks", events)


def _ticks_per_tag(lines: Sequence[str]) -> Profile | None:
    begin = next((number for number, line in enumerate(lines) if line.lstrip().startswith('"Unique Tag"')), None)
    if begin is None:
        return None
    sums: list[ProfileEvent] = []
    for line in lines[begin + 1 :]:
        match = _TAG.match(line)
        if not match:
            break
        sums.append(ProfileEvent(match[1], float(match[2])))
    total = sum(row.value for row in sums)
    return Profile("TensorFlow Lite Micro, LogTicksPerTagCsv", "ticks", (), tuple(sums), total) if sums else None


def _counters(lines: Sequence[str]) -> Profile | None:
    """heliaPROFILER: retired instructions where they were counted, else cycles."""
    begin = next((number for number, line in enumerate(lines) if re.match(r"\s*id\s*,\s*op\s*,", line)), None)
    if begin is None:
        return None
    columns = [column.strip() for column in lines[begin].split(",")]
    counted = {"ARM_PMU_INST_RETIRED": "instructions", "ARM_PMU_CPU_CYCLES": "cycles"}
    column = next((name for name in counted if name in columns), None)
    if column is None:
        return None
    events = []
    for row in csv.reader(lines[begin + 1 :]):
        fields = dict(zip(columns, row, strict=False))
        try:
            events.append(ProfileEvent(fields["op"].strip(), float(fields[column])))
        except (KeyError, ValueError):
            break
    return _of("heliaPROFILER", counted[column], events)


def _inspector(lines: Sequence[str]) -> Profile | None:
    matches = [match for line in lines if (match := _NATIVE.search(line))]
    events = [ProfileEvent(match[1], float(match[2])) for match in matches]
    return _of("ExecuTorch's Inspector", "ms", events)


def _st_table(lines: Sequence[str]) -> Profile | None:
    matches = [match for line in lines if (match := _ST.match(line))]
    events = [ProfileEvent(match[3].strip(), float(match[4])) for match in matches]
    return _of("ST Edge AI", "ms", events)


def _laps(lines: Sequence[str]) -> Profile | None:
    laps = [int(match[1]) for line in lines for match in _LAP.finditer(line)]
    return Profile("EEMBC's runner", "us", total=float(laps[1] - laps[0])) if len(laps) > 1 else None


def _zephyr(lines: Sequence[str]) -> Profile | None:
    cycles = [float(match[1]) for line in lines if (match := _INVOKE.search(line))]
    return Profile("Zephyr's sample", "cycles", total=sorted(cycles)[len(cycles) // 2]) if cycles else None
