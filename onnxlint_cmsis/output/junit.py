"""JUnit XML: a suite for each file, a failing case for each finding that fails the run."""

from __future__ import annotations

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.output.fixes import fix_heads
from onnxlint_cmsis.output.foreign_text import markup
from onnxlint_cmsis.output.run_results import Run
from onnxlint_cmsis.output.shown_names import with_short_names


def render(run: Run) -> str:
    """The report as XML text."""
    suites = "".join(_suite(file, run) for file in run.files)
    tests = sum(_tests(file) for file in run.files)
    failures = sum(_failures(file, run) for file in run.files)
    errors = sum(bool(file.error) for file in run.files)
    counts = f'tests="{tests}" failures="{failures}" errors="{errors}"'
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return f'{head}<testsuites name="onnxlint-cmsis" {counts}>\n{suites}</testsuites>\n'


def _suite(file: FileResult, run: Run) -> str:
    counts = f'tests="{_tests(file)}" failures="{_failures(file, run)}" errors="{int(bool(file.error))}"'
    cases = [_finding(file, finding, run) for finding in file.findings]
    for line in fix_heads(file, run):
        failure = f'<failure type="fix" message="{markup(line)}" />'
        cases.append(
            _case(file, "fix", failure if _fix_fails(file, run) else f"<system-out>{markup(line)}</system-out>")
        )
    if file.error:
        cases.append(_case(file, "internal error", f'<error message="{markup(file.error)}" />'))
    if not cases:
        cases = [_case(file, "no findings", "")]
    body = "".join(cases)
    return f'  <testsuite name="{markup(file.path)}" {counts}>\n{body}  </testsuite>\n'


def _finding(file: FileResult, finding: Finding, run: Run) -> str:
    name = " ".join(part for part in (finding.selector, finding.name, finding.location.node) if part)
    level, text = finding.level.name.lower(), with_short_names(finding.complete, file, run)
    if finding.level >= file.fail_on:
        body = f'<failure type="{level}" message="{markup(text)}" />'
    else:
        body = f"<system-out>{markup(f'{level}: {text}')}</system-out>"
    return _case(file, name, body)


def _case(file: FileResult, name: str, body: str) -> str:
    return f'    <testcase classname="{markup(file.path)}" name="{markup(name)}">{body}</testcase>\n'


def _tests(file: FileResult) -> int:
    return max(1, len(file.findings) + bool(file.error) + bool(file.fix))


def _failures(file: FileResult, run: Run) -> int:
    return sum(finding.level >= file.fail_on for finding in file.findings) + _fix_fails(file, run)


def _fix_fails(file: FileResult, run: Run) -> bool:
    return file.fix is not None and (file.fix.failed or (run.diff and file.fix.changed))
