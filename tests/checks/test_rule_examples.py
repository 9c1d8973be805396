"""Every rule reports its bad example, and not its good one."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Rule, RuleCause
from onnxlint_cmsis.checks.rule_registry import MODULES, LintCheck, acting_rules, every_check, every_rule
from support.paths import ROOT
from support.rule_examples import codes_and_levels, selectors

BY_NAME = pytest.mark.parametrize("check", every_check(), ids=lambda check: check.rule.name)


@BY_NAME
def test_the_bad_example_is_reported(check: LintCheck, tmp_path: Path) -> None:
    assert (check.rule.code, usual_level(check)) in codes_and_levels(check.rule.bad, tmp_path)


@BY_NAME
def test_the_good_example_is_not_reported(check: LintCheck, tmp_path: Path) -> None:
    assert check.rule.code not in {code for code, _ in codes_and_levels(check.rule.good, tmp_path)}


CAUSES = [(rule, cause) for rule in every_rule() for cause in rule.causes]
SELECTORS = [selector for rule in every_rule() if rule.causes for selector in rule.selectors]
BY_CAUSE = pytest.mark.parametrize(("rule", "cause"), CAUSES, ids=SELECTORS)


@BY_CAUSE
def test_the_bad_example_of_a_cause_is_reported_for_it(rule: Rule, cause: RuleCause, tmp_path: Path) -> None:
    assert f"{rule.code}[{cause.key}]" in selectors(cause.bad, tmp_path)


@BY_CAUSE
def test_the_good_example_of_a_cause_is_not_reported_for_it(rule: Rule, cause: RuleCause, tmp_path: Path) -> None:
    assert f"{rule.code}[{cause.key}]" not in selectors(cause.good, tmp_path)


def usual_level(check: LintCheck) -> str:
    """The rule's level; a missed kernel that was not measured to be faster is a note."""
    unmeasured = isinstance(check.run, RoutingCheck) and check.run.gain == RoutingCheck._field_defaults["gain"]
    return "note" if unmeasured else check.rule.level.name.lower()


def test_a_file_of_a_rule_knows_no_other_code_but_its_own() -> None:
    files = {path.stem: path for path in (ROOT / "onnxlint_cmsis/checks/rules").glob("[!_]*.py")}
    assert files.keys() == {name for names in MODULES.values() for name in names}
    for rule in every_rule():
        assert f'code="{rule.code}"' in files[rule.name.replace("-", "_")].read_text(encoding="utf-8")


def test_rules_that_a_fix_answers_look_at_what_a_lint_loads() -> None:
    assert acting_rules() == tuple(rule for rule in every_rule() if rule.action)
