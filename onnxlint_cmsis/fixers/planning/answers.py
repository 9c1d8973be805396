"""Layer findings that a class's new size resolves: errors, wrong results and, under `route`, missed kernels."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.checks.execution_checks import HazardCheck
from onnxlint_cmsis.checks.fix_actions import REPAIR
from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import RuleScope
from onnxlint_cmsis.checks.rule_registry import LintCheck, checks_of
from onnxlint_cmsis.checks.run_checks import code_of, layer_subject, remark_findings
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.cmsis_nn.library import Route
from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan
from onnxlint_cmsis.fixers.planning.planning_input import PlanningInput
from onnxlint_cmsis.fixers.planning.policies import POLICIES
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.sites import Site
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.lower.layer import Layer


def answered(plan: ModelPlan, group: DimensionClass) -> Iterator[Finding]:
    """Findings that only this class's new size resolves.

    Only those that the policy acts on; one for each target.
    """
    for site in plan.view.sites:
        if group.id in site.leaves:
            yield from _answered_at(plan, group, site)


def hazards_along(view: PlanningInput, prices: Prices, group: DimensionClass) -> Iterator[Finding]:
    """Findings on errors and wrong results of the layers along a class, one for each target."""
    for site in view.sites:
        if group.id in site.leaves:
            yield from layer_hazards(view.model, prices, site.layer)


def findings_of(model: ModelAnalysis, name: str) -> Iterator[Finding]:
    """Findings of one rule on the model as a whole, and on what a runtime makes of its layers."""
    subject = ModelSubject(model, model.lowered, code_of)
    for check in (check for check in checks_of(RuleScope.MODEL) if check.rule.name == name):
        yield from check.findings(subject)
    yield from (finding for finding in remark_findings(model.execution.remarks) if finding.name == name)


def layer_hazards(model: ModelAnalysis, prices: Prices, layer: Layer) -> Iterator[Finding]:
    """Findings on errors and wrong results of one layer, one for each target."""
    for target, price in zip(prices.targets, prices.of_layer(layer), strict=True):
        subject = layer_subject(model, layer, target, price.route)
        for check in (check for check in checks_of(RuleScope.LAYER) if check.rule.action is REPAIR):
            yield from check.findings(subject)


def _answered_at(plan: ModelPlan, group: DimensionClass, site: Site) -> Iterator[Finding]:
    sizes, rules = plan.decision.sizes, POLICIES[plan.options.policy].rules
    after = site.channels(sizes)
    held = site.channels({leaf: size for leaf, size in sizes.items() if leaf != group.id})
    if after is None or held is None:
        return
    prices = (plan.prices.of_layer(site.layer), plan.prices.at(site, held), plan.prices.at(site, after))
    for target, present, still, gone in zip(plan.prices.targets, *prices, strict=True):
        subject = layer_subject(plan.view.model, site.layer, target, present.route)
        for check in (check for check in checks_of(RuleScope.LAYER) if check.rule.code in rules):
            for finding in check.findings(subject):
                if _there(check, finding, still.route) and not _there(check, finding, gone.route):
                    yield finding


def _there(check: LintCheck, finding: Finding, route: Route) -> bool:
    """Tell whether a finding also holds for another route of its layer."""
    return isinstance(check.run, HazardCheck | RoutingCheck) and check.run.there(finding, route)
