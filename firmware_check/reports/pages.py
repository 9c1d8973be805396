"""Reports as Markdown, SVG and SARIF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import sarif_om as om

from firmware_check.compilers import SHOWS
from firmware_check.errors import FirmwareError
from firmware_check.reports.text import (
    COLUMNS,
    check_rows,
    default_lines,
    differing,
    distinct,
    kernel,
    memory_lines,
    said_of,
    sizes_of,
    unjudged_lines,
)
from firmware_check.target_check import added_up
from firmware_check.verdict import RULES
from onnxlint_cmsis.analysis.fingerprints import fingerprints
from onnxlint_cmsis.checks.rule_registry import check_of_kind
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.ground.findings import Finding, Location
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.output.plain import json_text, markdown, printable, sarif_text
from onnxlint_cmsis.output.run import HOME
from onnxlint_cmsis.output.sarif import FINGERPRINT, SCHEMA, artifact_location, to_json, uri_bases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware_check.compare import Comparison, LayerPair
    from firmware_check.library import Library
    from firmware_check.target_check import Failure, TargetCheck


# The report as Markdown, for a job summary.


def check_report(check: TargetCheck) -> str:
    """One check as a section with a table."""
    verdict = _bold(check.verdict)
    lines = [f"### {markdown(check.path)} on {check.label} ({check.board.machine}): {verdict}", ""]
    lines += _table(COLUMNS, check_rows(check))
    lines += [f"* {markdown(line)}" for line in said_of(check)]
    lines += ["", *(f"* {markdown(line)}" for line in (*memory_lines(check), *added_up(check))), ""]
    return "\n".join(lines) + "\n"


def library_report(library: Library) -> str:
    """What is proven."""
    return f"Proven here: {markdown(library.label)}\n"


def default_report(checks: Sequence[TargetCheck]) -> str:
    """What the linter says otherwise by default."""
    return "".join(f"* {markdown(line)}\n" for line in default_lines(checks))


def _bold(verdict: str) -> str:
    """Words that ask for a look in bold."""
    return verdict if verdict in ("agrees", "repaired") else f"**{verdict.lower()}**"


def failure_report(failure: Failure) -> str:
    """A target that the check could not run on."""
    return f"### {failure.where}: could not run\n\n* {markdown(failure.reason)}\n"


def comparison_report(comparison: Comparison) -> str:
    """Before against after as a section with a table."""
    before, after = comparison.before, comparison.after
    verdict = _bold(comparison.verdict)
    lines = [f"### {markdown(before.path)} against {markdown(after.path)} on {before.label}: {verdict}", ""]
    lines += _table(
        ("layer", "kernel before", "kernel after", "instructions before", "after", "saved"),
        [_row(name, pair) for name, pair in zip(comparison.called, comparison.pairs, strict=True)],
    )
    where = "on the device" if comparison.on_device else f"in {comparison.before.runtime}"
    lines.append(f"* instructions (not cycles): {before.instructions:,} before, {after.instructions:,} after")
    lines += [f"* {line}" for line in sizes_of(before, after)]
    lines += [
        f"* output {n} {where}: {differing(differences)} changed" for n, differences in enumerate(comparison.outputs)
    ]
    lines += [f"* {fault.code} {markdown(fault.text)}" for fault in comparison.disagreements]
    return "\n".join(lines) + "\n"


def _row(name: str, pair: LayerPair) -> list[str]:
    sides = [
        (kernel(side), f"{side.instructions.counted:,}") if side else ("-", "-") for side in (pair.before, pair.after)
    ]
    return [name, sides[0][0], sides[1][0], sides[0][1], sides[1][1], f"{pair.gain:,}"]


def _table(columns: Sequence[str], rows: list[list[str]]) -> list[str]:
    head = [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    return [*head, *(f"| {' | '.join(markdown(cell) for cell in row)} |" for row in rows), ""]


# Instructions per layer, before and after, as an SVG.


_INCHES_PER_LAYER = 0.32
_WIDTH = 10


def plot(path: str, checks: Sequence[TargetCheck], comparisons: Sequence[Comparison]) -> None:
    """Draw horizontal bars, one panel for each target; FirmwareError where matplotlib is missing or cannot write."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise FirmwareError("--plot needs matplotlib: pip install '.[firmware]'") from None
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "firmware_check"  # the same picture for the same numbers
    from matplotlib import pyplot as plt

    panels = [_of_comparison(comparison) for comparison in comparisons] or [_of_check(check) for check in checks]
    height = sum(1.2 + _INCHES_PER_LAYER * len(labels) for _, labels, _ in panels)
    ratios = [1.2 + _INCHES_PER_LAYER * len(labels) for _, labels, _ in panels]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(_WIDTH, height), squeeze=False, gridspec_kw={"height_ratios": ratios}
    )
    for (title, labels, series), axis in zip(panels, axes[:, 0], strict=True):
        thickness = 0.8 / len(series)
        for number, (name, values) in enumerate(series.items()):
            axis.barh([row + number * thickness for row in range(len(labels))], values, thickness, label=name)
        axis.set_yticks([row + 0.4 - thickness / 2 for row in range(len(labels))], labels, fontsize=7, parse_math=False)
        axis.invert_yaxis()
        axis.set_xlabel("instructions (not cycles)")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.set_title(printable(title), fontsize=9, parse_math=False)
        axis.legend()
    figure.tight_layout()
    try:
        figure.savefig(path, format="svg", metadata={"Date": None})
    except OSError as error:
        raise FirmwareError(f"{path}: {error.strerror}") from None
    plt.close(figure)


Panel = tuple[str, list[str], dict[str, list[int]]]


def _of_comparison(comparison: Comparison) -> Panel:
    before = [pair.before.instructions.counted if pair.before else 0 for pair in comparison.pairs]
    after = [pair.after.instructions.counted if pair.after else 0 for pair in comparison.pairs]
    title = f"{comparison.before.path} against {comparison.after.path}, {comparison.before.label}"
    return title, distinct(comparison.called), {"before": before, "after": after}


def _of_check(check: TargetCheck) -> Panel:
    labels = distinct([check.called(layer.label) for layer in check.layers])
    return f"{check.path}, {check.label}", labels, {"measured": [layer.instructions.counted for layer in check.layers]}


# Disagreements as SARIF 2.1.0, for GitHub's code-scanning page.


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
