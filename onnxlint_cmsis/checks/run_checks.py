"""Runs the checks on a model, and makes one finding of those that say the same for several targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.rule import RuleScope
from onnxlint_cmsis.checks.rule_registry import check_of_kind, checks_of
from onnxlint_cmsis.checks.subjects import ModelSubject, Subject
from onnxlint_cmsis.ground.findings import Finding

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.memory_needs import FlashNeed, RamNeed
    from onnxlint_cmsis.cmsis_nn.library import Route
    from onnxlint_cmsis.ground.types import Target
    from onnxlint_cmsis.lower.layer import Layer
    from onnxlint_cmsis.lower.lowered import Lowered
    from onnxlint_cmsis.runtimes.remark import RuntimeRemark


def model_findings(
    model: ModelAnalysis, lowered: Lowered, runs: Callable[[str], bool] = lambda _code: True
) -> list[Finding]:
    """All findings on the layers and on the model as a whole, in file order, but for those on sizes.

    `lowered` has the layers of the model that are to be judged; `runs` tells whether the rule of a code runs. Where the
    quantization of a layer is the cause and the rule about it runs, that rule says what the runtime makes of the layer.
    """
    subject = ModelSubject(model, lowered, code_of)
    checks = checks_of(RuleScope.LAYER)
    findings = [finding for layer in subject.layers() for check in checks for finding in check.findings(layer)]
    on_model = [check for check in checks_of(RuleScope.MODEL) if runs(check.rule.code)]
    findings += [finding for check in on_model for finding in check.findings(subject)]
    findings += remark_findings(remark for remark in model.execution.remarks if not any(map(runs, _tellers(remark))))
    order = {node.offset: node.index for node in model.graph.nodes} if model.execution.reads_file else None
    return merged(findings, order)


QUANTIZATION = "CNN5"
"""Start of the codes of the rules that say what the runtime does for their cause."""


def _tellers(remark: RuntimeRemark) -> list[str]:
    """Codes of the rules on quantization that say the same of the layers, with the numbers that are wrong."""
    return [code for cause in remark.causes if (code := code_of(cause.value)).startswith(QUANTIZATION)]


def remark_findings(remarks: Iterable[RuntimeRemark]) -> list[Finding]:
    """What is to be said of a runtime, each by the rule that claims its verdict."""
    return [finding for remark in remarks for finding in check_of_kind(remark.kind).findings(remark)]


def fit_findings(ram: RamNeed | None, flash: FlashNeed | None) -> Iterator[Finding]:
    """What is to be said of a model that does not fit a device."""
    for scope, need in ((RuleScope.RAM, ram), (RuleScope.FLASH, flash)):
        for check in checks_of(scope) if need else ():
            yield from check.findings(need)


def layer_subject(model: ModelAnalysis, layer: Layer, target: Target, taken: Route) -> Subject:
    """One layer on one target, for the checks of scope LAYER."""
    return Subject(model, layer, target, taken, code_of)


def code_of(kind: str) -> str:
    """Code of the rule that reports a kind of hazard, or a cause."""
    return check_of_kind(kind).rule.code


def merged(findings: list[Finding], order: Mapping[int, int] | None = None) -> list[Finding]:
    """Findings that differ in nothing but the target and its sources become one, in file order.

    `order` has the number of each node by its first byte, where nodes lie in another order.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        key = (finding.selector, finding.location, finding.level, finding.text, finding.resize, finding.wanted)
        groups.setdefault(key, []).append(finding)
    joined = [_one_finding(group) for group in groups.values()]

    def rank(finding: Finding) -> int:
        offset = finding.location.offset
        return offset if order is None else order.get(offset, len(order))

    return sorted(joined, key=lambda finding: (rank(finding), finding.selector))


def _one_finding(group: list[Finding]) -> Finding:
    """One finding of several that say the same of different targets."""
    targets = tuple(dict.fromkeys(label for finding in group for label in finding.targets))
    sources = tuple(dict.fromkeys(source for finding in group for source in finding.sources))
    properties: dict[str, str | int | float | bool] = {}
    for finding in group:
        properties |= {name: fact for name, fact in finding.properties.items() if name not in properties}
    return replace(group[0], targets=targets, sources=sources, properties=properties)
