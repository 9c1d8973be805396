"""Findings of one group as one, where they are reported; suppressions and baselines speak of each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onnxlint_cmsis.analysis.verdict_text import rounded
from onnxlint_cmsis.ground.findings import PROMISES, Finding
from onnxlint_cmsis.ground.words import and_more

SAVED = "instructions_saved."
"""Start of the properties that have the predicted instructions saved on each CPU."""
PLAN = "plan_"
"""What stands before these for all changes of a plan together; those of single classes do not add up."""


def grouped(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of one file by what they do, the worst first; those of one group as one at the first's place.

    They have one rule, cause, level, effect, group and set of targets, and a fix does the same about them.
    """
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        alone = () if finding.group else (number,)
        promised = tuple(bool(finding.properties.get(name)) for name in PROMISES)
        key = (finding.selector, finding.level, finding.effect, finding.group, finding.targets, promised, *alone)
        groups.setdefault(key, []).append(finding)
    return tuple(sorted((_joint(group) for group in groups.values()), key=lambda finding: finding.effect.rank))


def _joint(group: list[Finding]) -> Finding:
    """The first finding, with a sentence that names the places of the others."""
    first, *others = group
    if not others:
        return first
    more = f"The same holds {'for ' if _named(others) else ''}{_places(others)}."
    message = " ".join(filter(None, (f"{first.message.removesuffix('.')}. {more}", _gain(first, PLAN))))
    return replace(first, message=message, others=tuple(others))


def brief_text(finding: Finding) -> str:
    """What is the matter in few words; what all changes of a plan save comes first."""
    if not finding.brief:
        return finding.message
    plan = _gain(finding, PLAN, brief=True)
    if finding.others:
        return " ".join(filter(None, (plan, finding.brief, f"Also {_places([*finding.others])}.")))
    gain = _gain(finding, "", brief=True)
    whole = {name: value for name, value in finding.properties.items() if name.startswith(f"{PLAN}{SAVED}")}
    alone = all(finding.properties.get(name.removeprefix(PLAN)) == value for name, value in whole.items())
    said = f"{finding.brief.removesuffix('.')}: {gain}" if gain else finding.brief
    return said if alone else f"{plan} {said}"


def _places(others: list[Finding]) -> str:
    """`'b', 'c', 'd' and 28 more`; `2 more times` where none has a name."""
    named = _named(others)
    rest = len(others) - len(named)
    if not named:
        return f"{rest} more {'time' if rest == 1 else 'times'}"
    return and_more(named, len(named), len(others))


def _named(others: list[Finding]) -> list[str]:
    names = list(dict.fromkeys(finding.location.node or finding.location.tensor for finding in others))
    return [f"'{name}'" for name in names if name][:2]


def _gain(finding: Finding, of: str, *, brief: bool = False) -> str:
    """What its class saves, `-1,234 predicted instructions on cortex-m4, +16 bytes.`; with PLAN what the plan does.

    In brief three digits for each of its targets, in their order: `-1.63M / -271k predicted instructions`.
    """
    start = f"{of}{SAVED}"
    saved = {name.removeprefix(start): gain for name, gain in finding.properties.items() if name.startswith(start)}
    if not saved:
        return ""
    short = " / ".join(f"{'+' if int(gain) < 0 else '-'}{rounded(abs(int(gain)))}" for gain in saved.values())
    exact = ", ".join(f"{-int(gain):+,} on {cpu}" for cpu, gain in saved.items())
    gains = f"{short} predicted instructions" if brief else exact.replace(" on ", " predicted instructions on ", 1)
    if not of:
        return f"{gains}, {finding.properties['bytes_added']:+,} bytes."
    if brief and finding.properties.get("fixable") and all(int(gain) > 0 for gain in saved.values()):
        return f"--fix saves {gains.replace('-', '').replace(' predicted', '')} in all."
    return f"{'All that --fix changes' if finding.properties.get('fixable') else 'All such changes'}: {gains}."
