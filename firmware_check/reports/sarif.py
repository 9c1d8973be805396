"""Disagreements as SARIF 2.1.0, for GitHub's code-scanning page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import sarif_om as om

from firmware_check.predicted_hazards import SHOWS
from firmware_check.reports.text import unjudged_lines
from firmware_check.verdict import RULES
from onnxlint_cmsis.analysis.fingerprints import fingerprints
from onnxlint_cmsis.checks.rule_registry import check_of_kind
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.ground.findings import Finding, Location
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.output.foreign_text import json_text, printable, sarif_text
from onnxlint_cmsis.output.project import HOME
from onnxlint_cmsis.output.sarif import FINGERPRINT, SCHEMA, artifact_location, uri_bases
from onnxlint_cmsis.output.sarif_objects import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware_check.compare import Comparison
    from firmware_check.target_check import TargetCheck


HELP = {
    "FWC001": "The firmware ran other kernels, returned another status or asked for other scratch than predicted.",
    "FWC002": "A layer's output differs from ONNX Runtime's for the same inputs by more than one unit.",
    "FWC003": "A kernel wrote past its scratch buffer or its output.",
    "FWC004": "A layer took more or fewer instructions than predicted, beyond the error that docs/cost.md states.",
    "FWC005": "The other model gives another output for the same input.",
    "FWC006": "--strict: no layer got better, or one got worse.",
}
"""What each rule means."""


class _SarifRule(NamedTuple):
    name: str
    said: str


_LINTER = [check_of_kind(kind).rule for kind in SHOWS]


_RULES = {code: _SarifRule(name, HELP[code]) for code, name in RULES.items()} | {
    rule.code: _SarifRule(rule.name, rule.summary) for rule in _LINTER
}
"""Codes of disagreements, and those of the linter's rules for defects that occurred."""


def render(
    checks: Sequence[TargetCheck],
    comparisons: Sequence[Comparison],
    folder: str,
    category: str = "",
    complete: bool = True,
) -> str:
    """The log as JSON text; paths are relative to `folder` where they are below it. `complete`: every target ran.

    GitHub takes one run of each category in an upload, and a later run of a category for the newer state of it.
    """
    findings = [*_of_checks(checks), *_of_comparisons(comparisons)]
    rules = [_rule(code, *row) for code, row in _RULES.items()]
    driver = om.ToolComponent(
        name="firmware_check", version=__version__, semantic_version=__version__, information_uri=HOME, rules=rules,
        contents=None,
    )  # fmt: skip
    run = om.Run(
        tool=om.Tool(driver=driver),
        invocations=[
            om.Invocation(
                execution_successful=complete, tool_execution_notifications=_not_judged(checks, folder) or None
            )
        ],
        original_uri_base_ids=uri_bases((finding.location.path for finding in findings), folder),
        results=[_result(*finding, folder) for finding in zip(findings, fingerprints(findings), strict=True)],
        column_kind="unicodeCodePoints",
        newline_sequences=None,
        # GitHub takes the text before the last slash as the category
        automation_details=om.RunAutomationDetails(id=f"{category}/") if category else None,
    )
    return json_text(to_json(om.SarifLog(schema_uri=SCHEMA, version="2.1.0", runs=[run])))


def _not_judged(checks: Sequence[TargetCheck], folder: str) -> list[Any]:
    """A notification for each reason why instructions of layers were not held against a prediction."""
    return [
        om.Notification(
            message=om.Message(text=sarif_text(f"{check.label}: {line}")),
            level="note",
            locations=[om.Location(physical_location=om.PhysicalLocation(artifact_location(check.path, folder)))],
        )
        for check in checks
        for line in unjudged_lines(check)
    ]


def _of_checks(checks: Sequence[TargetCheck]) -> list[Finding]:
    return [
        _finding(fault.code, f"{layer.op_type} '{layer.label}': {fault.text}", check, layer.label, layer.op_type)
        for check in checks
        for layer in check.layers
        for fault in (*layer.disagreements, *layer.defects)
    ]


def _of_comparisons(comparisons: Sequence[Comparison]) -> list[Finding]:
    return [
        _finding(fault.code, f"Against {comparison.after.path}: {fault.text}", comparison.before, "", "")
        for comparison in comparisons
        for fault in comparison.disagreements
    ]


def _finding(code: str, text: str, check: TargetCheck, node: str, op_type: str) -> Finding:
    label = check.label
    return Finding(code, _RULES[code].name, Level.ERROR, text, Location(check.path, node, op_type), (label,))


def _rule(code: str, name: str, said: str) -> Any:
    return om.ReportingDescriptor(
        id=code,
        name="".join(word.capitalize() for word in name.split("-")),
        short_description=om.MultiformatMessageString(text=said),
        full_description=om.MultiformatMessageString(text=said),
        help=om.MultiformatMessageString(text=said, markdown=said),
        help_uri=f"{HOME}#firmware",
        default_configuration=om.ReportingConfiguration(level="error"),
        properties={"tags": ["cmsis-nn", "firmware"], "precision": "very-high", "problem.severity": "error"},
    )


def _result(finding: Finding, fingerprint: str, folder: str) -> Any:
    path = finding.location.path
    location = artifact_location(path, folder)
    region = om.Region(start_line=1, start_column=1, end_line=1, end_column=1)
    node = printable(finding.location.node)
    logical = [om.LogicalLocation(name=node, fully_qualified_name=node, kind="node")] if node else None
    physical = om.PhysicalLocation(artifact_location=location, region=region)
    return om.Result(
        rule_id=finding.code,
        rule_index=list(_RULES).index(finding.code),
        level="error",
        message=om.Message(text=sarif_text(finding.complete)),
        locations=[om.Location(physical_location=physical, logical_locations=logical)],
        partial_fingerprints={FINGERPRINT: fingerprint},
    )
