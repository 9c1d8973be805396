"""Every rule with its check, in code order; a new check is a file in `rules` and its name here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from onnxlint_cmsis.checks.facts import FixAction
from onnxlint_cmsis.checks.rule import Rule, RuleScope, stamped
from onnxlint_cmsis.ground.findings import Finding, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple

MODULES = (
    "unreadable_file",
    "not_onnx",
    "git_lfs_pointer",
    "invalid_model",
    "undecided",
    "external_data",
    "nested_too_deep",
    "wrong_input_shape",
    "not_tflite",
    "unused_suppression",
    "unused_baseline_entry",
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
    "no_entry_point",
    "more_channels",
    "dead_channels",
    "returns_error",
    "wrong_result",
    "overrun",
    "too_large",
    "runtime_stops",
    "runtime_wrong",
    "runtime_reference_code",
    "runtime_broadcast",
    "mean_for_average_pool",
    "runtime_hybrid",
    "runtime_float",
    "runtime_batch",
    "runtime_rank",
    "runtime_per_channel_dense",
    "padding_becomes_pad",
    "operator_not_in_runtime",
    "operator_version",
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
    "long_sums_s16",
    "does_not_fit_ram",
    "does_not_fit_flash",
    "scratch_exceeds_stack",
)
"""Modules of `rules`; each has `RULE` and `run`."""


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


def _check(name: str) -> LintCheck:
    module = import_module(f"onnxlint_cmsis.checks.rules.{name}")
    return LintCheck(module.RULE, module.run)


CHECKS: tuple[LintCheck, ...] = tuple(map(_check, MODULES))
RULES: tuple[Rule, ...] = tuple(check.rule for check in CHECKS)

_BY_CODE = {check.rule.code: check for check in CHECKS}
_BY_KIND = {kind: check for check in CHECKS for kind in check.rule.kinds}


def rule(code: str) -> Rule:
    """Row of a code. Raises KeyError for one that does not exist."""
    return _BY_CODE[code].rule


def check_of_kind(kind: str) -> LintCheck:
    """The check whose row claims a kind of ModelError, reading problem or hazard. Raises KeyError."""
    return _BY_KIND[kind]


def checks_of(scope: RuleScope) -> tuple[LintCheck, ...]:
    """Checks that look at one kind of thing."""
    return tuple(check for check in CHECKS if check.rule.scope is scope)


def codes_of(*actions: FixAction) -> tuple[str, ...]:
    """Codes of the rules whose findings an action answers, in code order."""
    return tuple(row.code for row in RULES if row.action in actions)


def codes_of_policy(policy: str) -> tuple[str, ...]:
    """Codes of the rules that a value of --fix-policy acts on."""
    return tuple(row.code for row in RULES if row.action and policy in row.action.policies)
