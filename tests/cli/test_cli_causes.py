"""Causes of a rule, which select its findings: `CNN403[broadcast]`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from onnxlint_cmsis.checks.rule_registry import every_rule
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.config.selection import resolve
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.executorch.interpret import RELEASE
from onnxlint_cmsis.runtimes.executorch.plan import PLANS
from onnxlint_cmsis.runtimes.judged_layers import conditions_of
from onnxlint_cmsis.runtimes.remark import USUAL_CAUSES, kind_of
from onnxlint_cmsis.runtimes.runtime import NAMES
from onnxlint_cmsis.runtimes.tflm.kernels import KERNELS
from onnxlint_cmsis.runtimes.tflm.reference_checks import LIMITS
from onnxlint_cmsis.runtimes.tflm.sizes import STATED
from support.models import text

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
g (int8[1, 4, 8, 8] x) => (int8[1, 8, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[1, 4, 1, 1] k = {1}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(k, s, z)
    c = Mul(a, b)
    d = QuantizeLinear(c, s, z)
    e = DequantizeLinear(d, s, z)
    f = Concat<axis = 1>(e, e)
    y = QuantizeLinear(f, s, z)
}
"""
BROADCAST, JOINED = "CNN403[broadcast]", "CNN403[no-function]"
Lint = Callable[..., list[str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model of a product of two shapes and a concatenation."""
    onnx.save(text(MODEL), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lint(folder: Path, capsys: pytest.CaptureFixture[str]) -> Lint:
    """Selectors of what is reported of the model in TensorFlow Lite Micro, in order."""

    def runs(*words: str) -> list[str]:
        main(["--runtime", "tflm", "--output-format", "json", *words, "m.onnx"])
        findings = json.loads(capsys.readouterr().out)["findings"]
        return sorted(
            f"{finding['code']}[{finding['cause']}]" if finding["cause"] else finding["code"] for finding in findings
        )

    assert folder.is_dir()
    return runs


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (("--select", "CNN403"), [BROADCAST, JOINED]),
        (("--select", "CNN403[broadcast]"), [BROADCAST]),
        (("--select", "cnn403[Broadcast]"), [BROADCAST]),
        (("--select", "runtime-reference-code[broadcast]"), [BROADCAST]),
        (("--select", "CNN403", "--ignore", "CNN403[broadcast]"), [JOINED]),
        (("--select", "CNN4", "--ignore", "CNN403", "--extend-select", "CNN403[no-function]"), [JOINED]),
    ],
)
def test_a_cause_selects_findings(lint: Lint, words: tuple[str, ...], left: list[str]) -> None:
    assert lint("--isolated", *words) == left


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ('ignore = ["CNN403[broadcast]"]', [JOINED]),
        ('[per-file-ignores]\n"m.onnx" = ["CNN403[broadcast]"]', [JOINED]),
        ('[[suppress]]\nrule = "CNN403[broadcast]"', [JOINED]),
        ('[[suppress]]\nrule = "CNN403"', []),
    ],
)
def test_a_configuration_names_causes(lint: Lint, settings: str, left: list[str], folder: Path) -> None:
    (folder / "onnxlint-cmsis.toml").write_text(f'select = ["CNN403"]\n{settings}\n', encoding="utf-8")
    assert lint() == left


def test_a_level_is_given_to_a_cause(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = 'select = ["CNN403"]\n[levels]\n"CNN403[broadcast]" = "note"\n'
    (folder / "onnxlint-cmsis.toml").write_text(table, encoding="utf-8")
    main(["--runtime", "tflm", "--output-format", "json", "m.onnx"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {(finding["cause"], finding["level"]) for finding in findings} >= {("broadcast", "note")}


def test_the_metadata_of_a_model_names_causes(lint: Lint, folder: Path) -> None:
    model = onnx.load(folder / "m.onnx")
    model.metadata_props.add(key="onnxlint-cmsis:ignore", value="CNN403[broadcast],overrun the host does it")
    onnx.save(model, folder / "m.onnx")
    assert lint("--isolated", "--select", "CNN403,CNN090") == ["CNN090", JOINED]


def test_a_baseline_knows_causes_apart(lint: Lint, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The baseline of one cause leaves another cause of the same rule as it is."""
    main(["--isolated", "--runtime", "tflm", "--select", BROADCAST, "--write-baseline", "b.json", "m.onnx"])
    capsys.readouterr()
    rules = [
        entry["rule"]
        for entries in json.loads((folder / "b.json").read_text())["files"].values()
        for entry in entries.values()
    ]
    assert rules == [BROADCAST]
    assert lint("--isolated", "--select", "CNN403", "--baseline", "b.json") == [JOINED]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "CNN403[brodcast]",
            "CNN403 (runtime-reference-code) has no cause 'brodcast'; there are no-function, broadcast, ",
        ),
        ("CNN301[rank]", "CNN301 (returns-error) has no causes"),
        ("CNN4[rank]", "a cause stands behind a whole code or name, such as CNN401[rank]"),
        ("CNN999[rank]", "no rule has the code, prefix or name 'CNN999'"),
    ],
)
def test_an_unknown_cause_is_an_error_that_names_the_known_ones(name: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        resolve(name)


def test_reports_show_the_cause(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def shown(form: str) -> str:
        main(["--isolated", "--runtime", "tflm", "--select", BROADCAST, "--output-format", form, "m.onnx"])
        return capsys.readouterr().out

    assert folder.is_dir()
    assert all(BROADCAST in shown(form) for form in ("full", "concise", "github", "junit", "gitlab", "rdjson"))
    (run,) = json.loads(shown("sarif"))["runs"]
    assert {(result["ruleId"], result["properties"]["cause"]) for result in run["results"]} == {("CNN403", "broadcast")}
    (row,) = [rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == "CNN403"]
    assert "* `broadcast`: " in row["help"]["markdown"]


def test_a_rule_tells_of_its_causes(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rule", "CNN403[broadcast]"])
    page = capsys.readouterr().out
    assert "* `broadcast`: " in page
    assert "`mean`" not in page
    main(["rule", "CNN403", "--output-format", "json"])
    (row,) = json.loads(capsys.readouterr().out)["rules"]
    assert {"no-function", "broadcast", "mean"} <= {cause["cause"] for cause in row["causes"]}


CLAIMED = {kind: rule for rule in every_rule() for kind in rule.kinds}
ROWS = {
    (kind_of(row.verdict, row.cause), row.cause, row.source)
    for name in NAMES[1:]
    for row in conditions_of(name)
    if row.cause
}
LIMITED = {
    (kind, limit.key or USUAL_CAUSES[Outcome(kind)], limit.source)
    for limits in (*(kernel.rows for kernel in KERNELS.values()), *LIMITS.values(), *STATED.values())
    for limit in limits
    for kind in (limit.outcome.value if limit.outcome.value in CLAIMED else "refused",)
}


def test_every_row_of_a_runtime_has_a_cause_of_its_rule() -> None:
    assert all(CLAIMED[kind].cause(cause) for kind, cause, _ in ROWS | LIMITED)


def test_every_cause_is_that_of_a_row_whose_source_it_names() -> None:
    """Some causes are of no row: an odd file, sizes without a bound, what is not known, plans in a file,
    a program of another release.

    Of what was not reviewed a delegate is of no row, and its source is that of all.
    """
    known: dict[tuple[str, str], set[str]] = {}
    for kind, cause, source in ROWS | LIMITED:
        known.setdefault((CLAIMED[kind].code, cause), set()).add(source)
    cases = [*{rule.code: rule for rule in CLAIMED.values() if rule.causes}.values()]
    assert cases
    for rule in cases:
        for cause in rule.causes:
            sources = known.get((rule.code, cause.key))
            if sources is None or cause.key == "not-reviewed":
                assert cause.key in {
                    "unpredictable",
                    "operator-version",
                    "memory-plan",
                    "sizes",
                    *PLANS,
                    "not-reviewed",
                    RELEASE,
                }
            else:
                assert any(source.startswith(cause.source) for source in sources), (rule.code, cause.key, sources)
