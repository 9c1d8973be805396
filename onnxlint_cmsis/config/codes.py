"""Rule codes as users write them: codes, prefixes and kebab names; the rules that run, and their levels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.findings import Finding
    from onnxlint_cmsis.types import Level

EVERY = "CNN"
_CODE = re.compile(r"CNN[0-9]*")


def resolve(text: str) -> str:
    """The code or prefix that a code, prefix or rule name stands for; ValueError names what exists."""
    wanted = text.strip()
    if wanted.upper() == EVERY:
        return EVERY
    from onnxlint_cmsis.checks.rule_registry import RULES

    for rule in RULES:
        if wanted.lower() == rule.name:
            return rule.code
    prefix = wanted.upper()
    if _CODE.fullmatch(prefix) and any(rule.code.startswith(prefix) for rule in RULES):
        return prefix
    raise ValueError(f"no rule has the code, prefix or name {text!r}; {_existing(wanted)}")


def _existing(wanted: str) -> str:
    """The names that come close, or all codes."""
    import difflib

    from onnxlint_cmsis.checks.rule_registry import RULES

    words = [word for rule in RULES for word in (rule.code, rule.name)]
    close = difflib.get_close_matches(wanted, words, cutoff=0.75)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"there are {', '.join(rule.code for rule in RULES)}"


def longest(code: str, prefixes: Iterable[str]) -> int:
    """Length of the longest of the prefixes that the code starts with; -1 where none fits."""
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)


def enabled(code: str, settings: Settings, path: str) -> bool:
    """Whether the rule runs on the file: the longer prefix of select and ignore decides, ignore on a tie."""
    selected, ignored = settings.select + settings.extend_select, settings.ignore + settings.extend_ignore
    if longest(code, selected) <= longest(code, ignored):
        return False
    return not any(longest(code, codes) >= 0 and glob.matches(path) for glob, codes in settings.per_file_ignores)


def fixable(settings: Settings, path: str) -> frozenset[str]:
    """Codes that a fix of the file may act on: their rules run on it, and fixable goes before unfixable."""
    from onnxlint_cmsis.checks.rule_registry import RULES

    able = settings.fixable + settings.extend_fixable
    return frozenset(
        rule.code
        for rule in RULES
        if rule.action
        and enabled(rule.code, settings, path)
        and longest(rule.code, able) > longest(rule.code, settings.unfixable)
    )


def level_of(code: str, level: Level, settings: Settings) -> Level:
    """The level of a finding under the settings: the longest prefix wins, and a milder finding stays milder.

    A rule reports below its own level where nothing can be done about it; raising the rule leaves that as it is.
    """
    size = longest(code, settings.levels)
    if size < 0:
        return level
    from onnxlint_cmsis.checks.rule_registry import rule

    wanted = settings.levels[code[:size]]
    return wanted if level >= rule(code).level else min(level, wanted)


def adjust(finding: Finding, settings: Settings) -> Finding | None:
    """The finding at the level the settings ask for, None where its rule does not run on the file."""
    if not enabled(finding.code, settings, finding.location.path):
        return None
    level = level_of(finding.code, finding.level, settings)
    if level == finding.level:
        return finding
    from dataclasses import replace

    return replace(finding, level=level)
