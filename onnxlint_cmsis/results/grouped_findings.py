"""Findings of equal cause as one, where they are reported; suppressions and baselines speak of each by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxlint_cmsis.findings import Finding

SHOWN = 3
"""Places that a message names."""
SAVED = "instructions_saved."
"""Property that has the predicted instructions saved on a CPU; those of a group add up."""


def grouped(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of one file, those of one rule, level, cause and set of targets as one at the first's place."""
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        alone = () if finding.cause else (number,)
        key = (finding.code, finding.level, finding.cause, finding.targets, *alone)
        groups.setdefault(key, []).append(finding)
    return tuple(_one(group) for group in groups.values())


def _one(group: list[Finding]) -> Finding:
    first, *others = group
    if not others:
        return first
    text = f"{first.message.removesuffix('.')}. {_more(others)}"
    return replace(first, message=f"{text}{_together(group)}", others=tuple(others))


def _more(others: list[Finding]) -> str:
    """A sentence: 'b', 'c', 'd' and 28 more."""
    names = list(dict.fromkeys(each.location.node or each.location.tensor for each in others))
    named = [f"'{name}'" for name in names if name][:SHOWN]
    rest = len(others) - len(named)
    if not named:
        return f"The same holds {rest} more {'time' if rest == 1 else 'times'}."
    more = f" and {rest} more" if rest else ""
    return f"The same holds for {', '.join(named)}{more}."


def _together(group: list[Finding]) -> str:
    """What a fix of all of them saves, where each says what its own saves."""
    saved: dict[str, int] = {}
    for finding in group:
        for name, value in finding.properties.items():
            if name.startswith(SAVED) and isinstance(value, int):
                cpu = name.removeprefix(SAVED)
                saved[cpu] = saved.get(cpu, 0) + value
    if not saved:
        return ""
    gains = ", ".join(f"{-gain:+,} on {cpu}" for cpu, gain in saved.items())
    return f" Together: {gains} predicted instructions."
