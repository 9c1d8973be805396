"""Logs of profilers: what a device measured of each operator, as each tool prints it.

TensorFlow Lite Micro's MicroProfiler prints `LogCsv` ("Event","Tag","Ticks"), `Log` (`CONV_2D took 77 ticks (0 ms).`)
and `LogTicksPerTagCsv`; ExecuTorch's Inspector a table in milliseconds; heliaPROFILER a CSV of counters; ST Edge AI a
table; EEMBC's runner and Zephyr's sample totals alone.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from itertools import islice, takewhile

from onnxlint_cmsis.ground.named_tuples import NamedTuple

MOST_LINES = 1_000_000
"""Lines of a log that are read."""
LONGEST_LINE = 4096
NOT_ENDED = "It has no second m-lap-us- of a run: the run had not ended, or lines are missing in it."


class ProfileEvent(NamedTuple):
    """One operator that ran."""

    operator: str
    """Its name in the log."""
    value: float
    """What was measured, in the unit of the profile."""
    number: int = -1
    """Its number in the log; -1 where the log has none."""


class Profile(NamedTuple):
    """What a log holds."""

    form: str
    """Who prints it so."""
    unit: str
    """`ticks`, `cycles`, `instructions`, `s`, `ms`, `us` or `ns`."""
    events: tuple[ProfileEvent, ...] = ()
    """Operators in the order in which they ran, those of several runs behind each other; none for totals."""
    sums: tuple[ProfileEvent, ...] = ()
    """Sums by operator, where the log has these alone."""
    total: float = 0.0
    """All of it."""
    counted: bool = True
    """Whether the log says of how many inferences the total is."""
    fault: str = ""
    """Why what it holds is no measurement, as a sentence."""


_LINE = re.compile("[^\\n\\v\\f\\r\\x1c-\\x1e\\x85\\u2028\\u2029]+")
"""A line as str.splitlines ends it; that makes all of them at once."""
_COLOR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_CSV = re.compile(r'(?:^|[\s>\]:])"?(\d{1,18})"?\s*[,;]\s*"?([A-Za-z][\w-]*)"?\s*[,;]\s*"?(-?\d{1,18})"?\s*$')
_TOOK = re.compile(r"(?:^|[\s>\]:])([A-Za-z][\w-]*) took (-?\d{1,18}) ticks \((-?\d{1,18}) ms\)")
_TAG = re.compile(r'(?:^|[\s>\]:])"?([A-Za-z][\w-]*)"?\s*,\s*(-?\d{1,18})\s*$')
_NAME = re.compile(r"[A-Z][A-Z0-9_]+")
"""A name that built-in operators have."""
_OWN = re.compile(r"(?:^|[\s>\]:])(\d{1,18}),([A-Za-z_].*)")
"""Number and name of an event of the application, such as `Model::Run, warm`: all before the ticks."""
_TICKS = re.compile(r"-?\d{1,18}")
_NUMBER = re.compile(r"\d{1,18}(?:[.,]\d{1,18})?(?:e[-+]\d\d?)?")
_GROUPED = re.compile(r"[1-9]\d{0,2},\d{3}")
"""What may have thousands apart, and may be a decimal comma."""
_SCALES = re.compile(r"\b(\w+) \((s|ms|us|ns|cycles)\)")
_ST = re.compile(
    r"\d{1,18} \d{1,18} ([A-Za-z][\w() .-]{0,60}?)(?: \(0x[0-9a-f]{1,8}\))? (\d{1,18}(?:[.,]\d{1,18})?) "
    r"(\d{1,18}(?:[.,]\d{1,18})?) ?%"
)
"""Type of a layer, without the number of its code, milliseconds, and their share."""
_COUNTERS = re.compile(r'\s*"?id"?\s*[,;]\s*"?op"?\s*[,;]')
_LIST = re.compile(r'"?\[[^\[\]]*\]"?')
_RUNNER = re.compile(r"m-(infer-start|lap-us)-(\d{1,18})")
_INVOKE = re.compile(r"invoke_cycles:\s*(\d{1,18})")


def read_profile(text: str) -> Profile | None:
    """What a log holds, whatever a console writes before its lines; None where no form that is known is in it."""
    written = (match[0] for match in _LINE.finditer(text.lstrip("\ufeff").replace("\0", "")) if not match[0].isspace())
    lines = [" ".join(_COLOR.sub("", line[:LONGEST_LINE]).split()) for line in islice(written, MOST_LINES)]
    readers: tuple[Callable[[Sequence[str]], Profile | None], ...] = (
        _counters, _csv_events, _took, _inspector, _st_table, _ticks_per_tag, _laps, _zephyr,
    )  # fmt: skip
    return next((profile for reader in readers if (profile := reader(lines))), None)


def _of(form: str, unit: str, events: Sequence[ProfileEvent]) -> Profile | None:
    total = sum(event.value for event in events)
    return Profile(form, unit, tuple(events), total=total) if events else None


def _csv_events(lines: Sequence[str]) -> Profile | None:
    """`LogCsv`. A line with a name that no operator has is an event where its number follows that of the last one."""
    events: list[ProfileEvent] = []
    begins = False
    for line in lines:
        before, _, ticks = line.rpartition(",")
        follows = 0 if begins or not events else events[-1].number + 1
        if (match := _CSV.search(line)) and (_NAME.fullmatch(match[2]) or int(match[1]) in (0, follows)):
            events.append(ProfileEvent(match[2], float(match[3]), int(match[1])))
        elif _TICKS.fullmatch(ticks) and (match := _OWN.search(before)):
            known = begins or events
            events += [ProfileEvent(match[2], float(ticks), follows)] if known and int(match[1]) == follows else []
        begins = '"Event","Tag","Ticks"' in line
    return _of("TensorFlow Lite Micro, LogCsv", "ticks", events)


def _took(lines: Sequence[str]) -> Profile | None:
    matches = [match for line in lines if (match := _TOOK.search(line))]
    events = [ProfileEvent(match[1], float(match[2])) for match in matches]
    return _of("TensorFlow Lite Micro, Log", "ticks", events)


def _ticks_per_tag(lines: Sequence[str]) -> Profile | None:
    begin = next((number for number, line in enumerate(lines) if '"Unique Tag"' in line), None)
    if begin is None:
        return None
    sums: list[ProfileEvent] = []
    for line in lines[begin + 1 :]:
        if "total number of ticks" in line:
            break
        if match := _TAG.search(line):
            sums.append(ProfileEvent(match[1], float(match[2])))
    total = sum(row.value for row in sums)
    return Profile("TensorFlow Lite Micro, LogTicksPerTagCsv", "ticks", (), tuple(sums), total, False) if sums else None


def _counters(lines: Sequence[str]) -> Profile | None:
    """heliaPROFILER: retired instructions where they were counted, else cycles."""
    begin = next((number for number, line in enumerate(lines) if _COUNTERS.match(line)), None)
    if begin is None:
        return None
    apart = ";" if ";" in lines[begin] else ","  # as a spreadsheet writes it where commas are decimal
    columns = [column.strip(' "') for column in lines[begin].split(apart)]
    counted = {"ARM_PMU_INST_RETIRED": "instructions", "ARM_PMU_CPU_CYCLES": "cycles"}
    column = next((name for name in counted if name in columns), None)
    if column is None:
        return None
    events = []
    for line in lines[begin + 1 :]:
        fields = dict(zip(columns, next(csv.reader([line], delimiter=apart), []), strict=False))
        try:
            event = ProfileEvent(fields["op"].strip(), float(fields[column]))
        except (KeyError, ValueError):
            break
        events.append(event)
    return _of("heliaPROFILER", counted[column], events)


def _inspector(lines: Sequence[str]) -> Profile | None:
    """ExecuTorch's Inspector: the average, else the median, else the first of the columns that have a unit."""
    head = next((line for line in lines if "event_name" in line and _SCALES.search(line)), "avg (ms)")
    columns = _SCALES.findall(head)
    names = [name for name, _ in columns]
    column = next((names.index(name) for name in ("avg", "p50") if name in names), 0)
    apart = re.compile(r"[\s,|│]+" if "," in head else r"[\s;|│]+")
    rows = []
    for line in lines:
        _, native, behind = line.partition("native_call_")
        name, *cells = apart.split(_LIST.sub("", behind)) if native else ("",)
        values = list(takewhile(_NUMBER.fullmatch, cells))
        if name and len(values) > column:
            rows.append((name, values[column]))
    return _of_texts("ExecuTorch's Inspector", columns[0][1], rows)


def _st_table(lines: Sequence[str]) -> Profile | None:
    matches = [match for line in lines if (match := _ST.match(line))]
    return _of_texts("ST Edge AI", "ms", [(match[1], match[2]) for match in matches], [match[3] for match in matches])


def _of_texts(form: str, unit: str, rows: Sequence[tuple[str, str]], beside: Sequence[str] = ()) -> Profile | None:
    """A profile of values as they are written, with a decimal comma too; `beside` are other numbers of the table."""
    texts = [*(text for _, text in rows), *beside]
    commas = [text for text in texts if "," in text]
    if commas and all(map(_GROUPED.fullmatch, commas)):
        fault = f"{commas[0]} may have a decimal comma or thousands apart: write the table with decimal points."
        return Profile(form, unit, fault=fault)
    return _of(form, unit, [ProfileEvent(name, float(text.replace(",", "."))) for name, text in rows])


def _laps(lines: Sequence[str]) -> Profile | None:
    """The runner of EEMBC prints the time before and after as many inferences as `m-infer-start-` says.

    Source: mlcommons/tiny 1afd2c9, benchmark/api/internally_implemented.cpp, ee_infer.
    """
    inferences, laps, seen = 0, list[int](), False
    taken: dict[bool, list[float]] = {True: [], False: []}
    for match in (match for line in lines for match in _RUNNER.finditer(line)):
        seen = True
        if match[1] == "infer-start":
            inferences, laps = int(match[2]), []
            continue
        laps.append(int(match[2]))
        if len(laps) == 2:
            taken[inferences > 0].append((laps[1] - laps[0]) / max(1, inferences))
            inferences, laps = 0, []
    whole = taken[True] or taken[False]
    values = sorted(value for value in whole if value > 0) or whole
    if not values:
        return Profile("EEMBC's runner", "us", fault=NOT_ENDED) if seen else None
    return Profile("EEMBC's runner", "us", (), (), values[len(values) // 2], bool(taken[True]))


def _zephyr(lines: Sequence[str]) -> Profile | None:
    cycles = [float(match[1]) for line in lines if (match := _INVOKE.search(line))]
    return Profile("Zephyr's sample", "cycles", total=sorted(cycles)[len(cycles) // 2]) if cycles else None
