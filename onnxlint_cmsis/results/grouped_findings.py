"""Findings of equal cause as one, where they are reported; suppressions and baselines speak of each by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.findings import PROMISES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxlint_cmsis.findings import Finding

SHOWN = 3
"""Places that a message names."""
SAVED = "instructions_saved."
"""Start of the properties that have the predicted instructions saved on each CPU."""
PLAN = "plan_"
"""What stands before these for all changes of a plan together; those of single classes do not add up."""


def grouped(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of one file, those of equal cause as one at the first's place.

    They have one rule, level, cause and set of targets, and a fix does the same about them.
    """
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        alone = () if finding.cause else (number,)
        promised = tuple(bool(finding.properties.get(name)) for name in PROMISES)
        key = (finding.code, finding.level, finding.cause, finding.targets, promised, *alone)
        groups.setdefault(key, []).append(finding)
    return tuple(_one(group) for group in groups.values())


def _one(group: list[Finding]) -> Finding:
    first, *others = group
    if not others:
        return first
    text = f"{first.message.removesuffix('.')}. {_more(others)}"
    return replace(first, message=" ".join(filter(None, (text, _gain(first, PLAN)))), others=tuple(others))


def brief_text(finding: Finding) -> str:
    """What is the matter in few words."""
    if not finding.brief:
        return finding.message
    if finding.others:
        more = f"Also {_places([*finding.others])}."
        return " ".join(filter(None, (finding.brief, more, _gain(finding, PLAN))))
    gain = _gain(finding, "")
    return f"{finding.brief.removesuffix('.')}: {gain}" if gain else finding.brief


def _more(others: list[Finding]) -> str:
    """A sentence that names the other places."""
    return f"The same holds {'for ' if _named(others) else ''}{_places(others)}."


def _places(others: list[Finding]) -> str:
    """`'b', 'c', 'd' and 28 more`; `2 more times` where none has a name."""
    named = _named(others)
    rest = len(others) - len(named)
    if not named:
        return f"{rest} more {'time' if rest == 1 else 'times'}"
    return f"{', '.join(named)}{f' and {rest} more' if rest else ''}"


def _named(others: list[Finding]) -> list[str]:
    """The first names, in quotes."""
    names = list(dict.fromkeys(each.location.node or each.location.tensor for each in others))
    return [f"'{name}'" for name in names if name][:SHOWN]


def _gain(finding: Finding, of: str) -> str:
    """What its class saves, `-1,234 on cortex-m4 predicted instructions, +16 bytes.`; with PLAN what the plan does."""
    start = f"{of}{SAVED}"
    saved = {name.removeprefix(start): gain for name, gain in finding.properties.items() if name.startswith(start)}
    if not saved:
        return ""
    gains = f"{', '.join(f'{-int(gain):+,} on {cpu}' for cpu, gain in saved.items())} predicted instructions"
    if not of:
        return f"{gains}, {finding.properties['bytes_added']:+,} bytes."
    return f"{'All that --fix changes' if finding.properties.get('fixable') else 'All such changes'}: {gains}."
