"""Every rule with its check, loaded where it can apply; a new check is a file in `rules` and its name here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from onnxlint_cmsis.checks.fix_actions import FixAction
from onnxlint_cmsis.checks.rule import Rule, RuleScope, stamped
from onnxlint_cmsis.ground.findings import Finding, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple

MODULES: Mapping[RuleScope, tuple[str, ...]] = MappingProxyType(
    {
        RuleScope.LAYER: (
            "conv_1x1",
            "conv_1x1_fast",
            "conv_1xn",
            "conv_s16_fast",
            "conv_s4_even",
            "conv_legacy_fast",
            "depthwise_3x3",
            "depthwise_opt",
            "depthwise_multiplier_tile",
            "depthwise_to_conv",
            "depthwise_s16_fast",
            "transpose_conv_reversed",
            "fully_connected_per_channel",
            "returns_error",
            "wrong_result",
            "overrun",
            "too_large",
            "inexact",
            "kernel_sums",
            "long_sums_s16",
            "scratch_exceeds_stack",
        ),
        RuleScope.MODEL: (
            "undecided",
            "float_call",
            "no_entry_point",
            "weight_zero_point",
            "weight_scales",
            "weight_type",
            "unsigned_integers",
            "int16_zero_point",
            "activation_type",
            "dynamic_quantization",
            "bias_scale",
            "softmax_scale",
            "unequal_scales",
            "clamp_scale",
            "scale_out_of_range",
            "float_island",
            "useless_quantization",
            "sum_overflow",
            "few_levels",
            "time_beside_kernels",
            "unfolded_constant",
            "planner_wastes",
        ),
        RuleScope.CLASS: (
            "more_channels",
            "dead_channels",
        ),
        RuleScope.RUNTIME: (
            "runtime_stops",
            "runtime_wrong",
            "runtime_reference_code",
            "padding_becomes_operator",
        ),
        RuleScope.RAM: ("does_not_fit_ram",),
        RuleScope.FLASH: ("does_not_fit_flash",),
        RuleScope.IMAGE: (
            "library_not_optimized",
            "reference_kernels",
            "memcpy_in_kernels",
            "structures_differ",
            "extension_not_used",
            "build_differs",
            "unused_operators",
        ),
        RuleScope.DEPLOYMENT: (
            "arena_size",
            "operator_not_registered",
            "model_placement",
            "another_model",
        ),
        RuleScope.FILE: (
            "unreadable_file",
            "not_a_model",
            "git_lfs_pointer",
            "invalid_model",
            "external_data",
            "nested_too_deep",
            "wrong_input_shape",
            "unused_suppression",
            "unused_baseline_entry",
        ),
    }
)
"""Modules of `rules` by what their checks look at, in code order; each has `RULE` and `run`."""


class LintCheck(NamedTuple):
    """A rule and what it runs."""

    rule: Rule
    """The row."""
    run: Callable[[Any], Iterator[Statement]]
    """What it says of one thing of its scope (see RuleScope)."""

    def findings(self, subject: object) -> Iterator[Finding]:
        """What it says, as findings."""
        for said in self.run(subject):
            yield stamped(self.rule, said)


@cache
def checks_of(scope: RuleScope) -> tuple[LintCheck, ...]:
    """Checks that look at one kind of thing, in code order; their files are loaded now."""
    modules = (import_module(f"onnxlint_cmsis.checks.rules.{name}") for name in MODULES[scope])
    return tuple(LintCheck(module.RULE, module.run) for module in modules)


def every_check() -> tuple[LintCheck, ...]:
    """All checks, in code order."""
    return tuple(sorted((check for scope in MODULES for check in checks_of(scope)), key=lambda check: check.rule.code))


def every_rule() -> tuple[Rule, ...]:
    """Rows of all rules, in code order."""
    return tuple(check.rule for check in every_check())


@cache
def rule(code: str) -> Rule:
    """Row of a code. Raises KeyError for one that does not exist."""
    return _first(lambda row: row.code == code, code).rule


@cache
def check_of_kind(kind: str) -> LintCheck:
    """The check whose row claims a kind of ModelError, reading problem or hazard. Raises KeyError."""
    return _first(lambda row: kind in row.kinds, kind)


def _first(fits: Callable[[Rule], bool], name: str) -> LintCheck:
    """The check whose row fits; kinds of things are loaded until there is one. Raises KeyError."""
    for scope in MODULES:
        for check in checks_of(scope):
            if fits(check.rule):
                return check
    raise KeyError(name)


ACTING = (RuleScope.LAYER, RuleScope.MODEL, RuleScope.CLASS, RuleScope.RUNTIME)
"""What rules look at whose findings a fix may act on."""


@cache
def acting_rules() -> tuple[Rule, ...]:
    """Rows of the rules whose findings an action answers, in code order."""
    rows = (check.rule for scope in ACTING for check in checks_of(scope))
    return tuple(sorted((row for row in rows if row.action), key=lambda row: row.code))


def codes_of(*actions: FixAction) -> tuple[str, ...]:
    """Codes of the rules whose findings an action answers, in code order."""
    return tuple(row.code for row in acting_rules() if row.action in actions)


def codes_of_policy(policy: str) -> tuple[str, ...]:
    """Codes of the rules that a value of --fix-policy acts on."""
    return tuple(row.code for row in acting_rules() if row.action and policy in row.action.policies)
