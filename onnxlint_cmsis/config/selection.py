"""Rule codes as users write them; the rules that run and that a fix may act on, and their levels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.words import alike

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.ground.types import Level


EVERY = "CNN"
_CODE = r"CNN[0-9]*"
_WITH_CAUSE = r"(?s)(.*?)\s*\[(.*)\]"


def resolve(text: str) -> str:
    """The code or prefix that a code, prefix or rule name stands for; ValueError names what exists.

    Behind a code or name may stand one of the rule's causes: `CNN401[rank]`.
    """
    wanted = text.strip()
    if wanted.upper() == EVERY:
        return EVERY
    from onnxlint_cmsis.checks.rule_registry import every_rule

    with_cause = re.fullmatch(_WITH_CAUSE, wanted)
    if with_cause:
        return _resolve_cause(text, *with_cause.groups())
    for rule in every_rule():
        if wanted.lower() == rule.name:
            return rule.code
    prefix = wanted.upper()
    if re.fullmatch(_CODE, prefix) and any(rule.code.startswith(prefix) for rule in every_rule()):
        return prefix
    raise ValueError(f"no rule has the code, prefix or name {text!r}; {_existing(wanted)}")


def _resolve_cause(text: str, rule: str, cause: str) -> str:
    """The code with a cause; ValueError names the causes that the rule has."""
    from onnxlint_cmsis.checks.rule_registry import every_rule

    code = resolve(rule)
    row = next((row for row in every_rule() if row.code == code), None)
    if row is None:
        raise ValueError(f"{text!r}: a cause stands behind a whole code or name, such as CNN401[rank]")
    if not row.causes:
        raise ValueError(f"{text!r}: {code} ({row.name}) has no causes")
    known = [known.key for known in row.causes]
    if cause.strip().lower() not in known:
        raise ValueError(f"{text!r}: {code} ({row.name}) has no cause {cause.strip()!r}; there are {', '.join(known)}")
    return f"{code}[{cause.strip().lower()}]"


def _existing(wanted: str) -> str:
    """The names that come close, or all codes."""
    from onnxlint_cmsis.checks.rule_registry import every_rule

    words = [word for rule in every_rule() for word in (rule.code, rule.name)]
    close = alike(wanted, words, cutoff=0.75)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"there are {', '.join(rule.code for rule in every_rule())}"


def longest(code: str, prefixes: Iterable[str]) -> int:
    """Length of the longest of the prefixes that the code starts with; -1 where none fits."""
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)


def enabled(code: str, settings: Settings, path: str) -> bool:
    """Tell whether the rule runs on the file: the longer prefix of select and ignore decides, ignore on a tie.

    `code` is that of a rule without causes, or a code with a cause.
    """
    selected, ignored = settings.select + settings.extend_select, settings.ignore + settings.extend_ignore
    if longest(code, selected) <= longest(code, ignored):
        return False
    return not any(longest(code, codes) >= 0 and glob.matches(path) for glob, codes in settings.per_file_ignores)


def fixable(settings: Settings, path: str) -> frozenset[str]:
    """Codes that a fix of the file may act on: their rules run on it, and fixable goes before unfixable.

    What has to be asked for is named more closely than as one of all rules.
    """
    from onnxlint_cmsis.checks.rule_registry import acting_rules

    able = settings.fixable + settings.extend_fixable
    return frozenset(
        rule.code
        for rule in acting_rules()  # none has causes
        if enabled(rule.code, settings, path)
        and longest(rule.code, able) > longest(rule.code, settings.unfixable)
        and not (rule.action and rule.action.asked and longest(rule.code, able) <= len(EVERY))
    )


def level_of(code: str, level: Level, settings: Settings) -> Level:
    """The level of a finding under the settings: the longest prefix wins, and a milder finding stays milder.

    `code` has the cause behind it where the rule has causes. A rule reports below its own level where nothing can be
    done about it; raising the rule leaves that as it is.
    """
    size = longest(code, settings.levels)
    if size < 0:
        return level
    from onnxlint_cmsis.checks.rule_registry import rule

    wanted = settings.levels[code[:size]]
    return wanted if level >= rule(code.partition("[")[0]).level else min(level, wanted)


def adjust(finding: Finding, settings: Settings) -> Finding | None:
    """The finding at the level the settings ask for, None where its rule does not run on the file."""
    if not enabled(finding.selector, settings, finding.location.path):
        return None
    level = level_of(finding.selector, finding.level, settings)
    if level == finding.level:
        return finding
    from dataclasses import replace

    return replace(finding, level=level)
