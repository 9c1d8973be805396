"""Suppressions in the configuration and in a model's metadata; the baseline; fingerprints."""

from __future__ import annotations

import json
from dataclasses import replace

import onnx
import pytest

from onnxlint_cmsis.analysis.fingerprints import fingerprints, identity
from onnxlint_cmsis.cli import engine
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.config import accepted, baseline
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.model.graph import Graph, Node
from support.cli_fakes import FakeEngine, note, routing_miss, wrong_result
from support.fixable_models import gaining
from support.linter import linted
from support.models import text

FINDINGS = (routing_miss(), wrong_result(), note())


def graph(metadata=None, of_conv_1=None):
    nodes = tuple(Node(i, f"Conv_{i}", "Conv", "", 13, (), ()) for i in range(3))
    node_metadata = {1: of_conv_1} if of_conv_1 else {}
    return Graph("m.onnx", nodes, {}, {}, (), (), {}, {}, (), metadata or {}, node_metadata)


def left(entries=(), model=None, **values):
    settings = make_settings(suppress=list(entries), **values)
    return accepted.apply(FINDINGS, settings, model, "m.onnx")


def codes_of(outcome):
    return [finding.code for finding in outcome.findings]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"rule": "CNN102"}, ["CNN302", "CNN111"]),
        ({"rule": "conv-1x1-fast"}, ["CNN302", "CNN111"]),
        ({"rule": "CNN1"}, ["CNN302"]),
        ({"rule": "CNN1", "node": "Conv_4"}, ["CNN102", "CNN302"]),
        ({"rule": "CNN1", "tensor": "x"}, ["CNN302", "CNN111"]),
        ({"rule": "CNN1", "path": "*.onnx"}, ["CNN302"]),
        ({"rule": "CNN1", "path": "other/*.onnx"}, ["CNN102", "CNN302", "CNN111"]),
    ],
)
def test_entries_of_the_configuration(entry, expected):
    assert codes_of(left([entry])) == expected


def test_counts_tell_how_often_each_entry_was_used():
    outcome = left([{"rule": "CNN1"}, {"rule": "CNN301"}, {"rule": "CNN302", "path": "other"}])
    assert (outcome.number, outcome.matches) == (2, {"arguments: suppress[0]": 2, "arguments: suppress[1]": 0})


def test_metadata_of_the_model_and_of_a_node():
    key = accepted.METADATA_KEY
    assert codes_of(left(model=graph({key: "CNN302 checked on the board"}))) == ["CNN102", "CNN111"]
    assert codes_of(left(model=graph({key: "CNN302, CNN111"}))) == ["CNN102"]
    assert codes_of(left(model=graph({}, {key: "CNN102"}))) == ["CNN302", "CNN111"]
    assert codes_of(left(model=graph({}, {"other": "CNN102"}))) == ["CNN102", "CNN302", "CNN111"]


def test_what_a_model_suppresses_in_vain_is_told_once(told):
    key = accepted.METADATA_KEY
    outcome = left(model=graph({}, {key: "CNN302,CNN102 later"}))
    assert codes_of(outcome) == ["CNN302", "CNN111", "CNN090"]
    unused = outcome.findings[-1]
    told(unused.message)
    assert (unused.location.node, unused.location.path) == ("Conv_1", "m.onnx")


@pytest.mark.parametrize("value", ["CNN999 why", "", "  ", "§", "everything"])
def test_a_suppression_that_names_no_rule_is_told(value, told):
    outcome = left(model=graph({accepted.METADATA_KEY: value}))
    assert codes_of(outcome) == ["CNN102", "CNN302", "CNN111", "CNN090"]
    told(outcome.findings[-1].message)


def test_the_unused_rule_can_be_deselected():
    assert codes_of(left(model=graph({accepted.METADATA_KEY: "CNN301"}), ignore=["CNN090"])) == [
        "CNN102", "CNN302", "CNN111",
    ]  # fmt: skip


def test_a_rule_that_does_not_run_leaves_its_suppression_alone():
    assert left([{"rule": "CNN301"}], ignore=["CNN301"]).matches == {}


@pytest.fixture
def project(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "lint_file", FakeEngine().lint_file)
    (tmp_path / "a.onnx").write_text("miss miss note")
    (tmp_path / "b.onnx").write_text("wrong")
    return tmp_path


def run(capsys, *argv):
    code = main([*argv, "--output-format", "concise", "--min-level", "note"])
    return code, capsys.readouterr().out.splitlines()


def test_an_entry_is_unused_only_where_no_file_of_the_run_needs_it(project, capsys, told):
    (project / "onnxlint-cmsis.toml").write_text('suppress = [{rule = "CNN302"}, {rule = "CNN103", path = "a.onnx"}]')
    code, lines = run(capsys, "a.onnx", "b.onnx")
    assert code == 1
    told(lines[-1])
    assert sum("CNN090" in line for line in lines) == 1
    assert sum("CNN090" in line for line in run(capsys, "b.onnx")[1]) == 0


def test_an_entry_that_covers_an_unreadable_file_is_not_called_unused(project, capsys):
    (project / "onnxlint-cmsis.toml").write_text('suppress = [{rule = "CNN301"}]')
    (project / "bad.onnx").write_text("unreadable")
    assert not any("CNN090" in line for line in run(capsys, ".")[1])


def test_baseline_hides_what_it_has_and_no_more(project, capsys, told):
    assert main(["--write-baseline", "base.json", "."]) == 0
    told(capsys.readouterr().out)
    assert run(capsys, ".", "--baseline", "base.json") == (0, [])
    (project / "a.onnx").write_text("miss miss miss note")
    code, lines = run(capsys, ".", "--baseline", "base.json")
    assert (code, len(lines)) == (1, 1)


def test_baseline_tells_what_is_no_longer_there(project, capsys, told):
    main(["--write-baseline", "base.json", "."])
    capsys.readouterr()
    (project / "a.onnx").write_text("miss")
    code, lines = run(capsys, "a.onnx", "--baseline", "base.json")
    assert code == 0
    told(lines)
    (project / "b.onnx").unlink()
    told(run(capsys, "a.onnx", "--baseline", "base.json")[1])


def test_baseline_paths_are_relative_to_its_folder(project, capsys, monkeypatch):
    main(["--write-baseline", "base.json", "."])
    capsys.readouterr()
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    assert run(capsys, "..", "--baseline", "../base.json") == (0, [])


def test_a_file_that_cannot_be_read_is_never_in_a_baseline(project, capsys):
    (project / "bad.onnx").write_text("unreadable")
    assert main(["--write-baseline", "base.json", "."]) == 2
    assert "bad.onnx" not in json.loads((project / "base.json").read_text())["files"]
    capsys.readouterr()
    assert run(capsys, ".", "--baseline", "base.json")[0] == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not valid JSON"),
        ("[]", "version None"),
        ('{"version": 2}', "version 2 of the baseline is not 1"),
        ('{"version": 1}', "not as --write-baseline writes it"),
        ('{"version": 1, "files": {"a": {"x": {"odd": 1}}}}', "not as --write-baseline writes it"),
        ('{"version": 1, "files": {"a": {"x": {"findings": "2", "rule": "", "node": ""}}}}', "not as --write-baseline"),
    ],
)
def test_a_bad_baseline_is_a_usage_error(project, capsys, text, says):
    (project / "base.json").write_text(text)
    assert main(["a.onnx", "--baseline", "base.json"]) == 2
    assert says in capsys.readouterr().err


def test_fingerprints_survive_what_does_not_change_the_finding():
    before = routing_miss()
    moved = replace(before, location=before.location._replace(offset=999, length=1, path="elsewhere.onnx"))
    retrained = replace(moved, resize=before.resize._replace(have=20, want=24), message="other", targets=())
    assert identity(before) == identity(moved) == identity(retrained)


def test_fingerprints_tell_findings_apart():
    base = routing_miss()
    location, resize = base.location, base.resize
    others = [
        replace(base, code="CNN103"),
        replace(base, location=location._replace(node="Conv_2")),
        replace(base, location=location._replace(graph="If_0")),
        replace(base, location=location._replace(tensor="y")),
        replace(base, resize=resize._replace(variable="ch_mult")),
        replace(base, location=location._replace(node="", graph="Conv_1")),
    ]
    assert len({identity(finding) for finding in [base, *others]}) == len(others) + 1


def test_equal_findings_are_numbered():
    first, second = fingerprints([routing_miss(), routing_miss()])
    assert (first.split(":")[1], second.split(":")[1]) == ("1", "2")
    assert first.split(":")[0] == second.split(":")[0] == identity(routing_miss())


def test_fingerprints_are_the_same_tomorrow():
    assert identity(routing_miss()) == "fef28b88687d6b9fff3326f217273b02"


def test_baseline_key_has_forward_slashes():
    assert baseline.key_of("/r/base.json", "/r/a/m.onnx") == "a/m.onnx"


@pytest.fixture
def sized(tmp_path, monkeypatch):
    """A model with a CNN201 that is accepted in every way, and a limit below which linting does not look for it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "onnxlint-cmsis.toml").write_text('targets = ["cortex-m4"]\nselect = ["CNN2", "CNN09"]\n')
    (tmp_path / "m.onnx").write_bytes(gaining())
    return ("--config", "size-checks-limit=10", "m.onnx")


def test_a_baseline_entry_of_a_rule_that_did_not_run_is_not_called_unused(sized, capsys):
    assert main(["--write-baseline", "base.json", "m.onnx"]) == 0
    for options in (sized, ("--select", "CNN3,CNN09", "m.onnx"), ("m.onnx",)):
        code, lines = run(capsys, "--baseline", "base.json", *options)
        assert code == 0
        assert not any("CNN091" in line for line in lines)


def test_a_suppression_of_a_rule_that_did_not_run_is_not_called_unused(sized, capsys, tmp_path):
    with (tmp_path / "onnxlint-cmsis.toml").open("a") as file:
        file.write('[[suppress]]\nrule = "CNN201"\n')
    assert not any("CNN090" in line for line in run(capsys, *sized)[1])
    model = onnx.load("m.onnx")
    model.metadata_props.add(key=accepted.METADATA_KEY, value="CNN201 trained so")
    onnx.save(model, "m.onnx")
    assert not any("CNN090" in line for line in run(capsys, "--isolated", "--select", "CNN2,CNN09", *sized)[1])


def test_a_baseline_written_below_the_limit_does_not_keep_a_fix_from_what_it_does_not_have(sized, capsys, told):
    main(["--write-baseline", "small.json", *sized])
    main(["--write-baseline", "whole.json", "--config", "size-checks-limit=unlimited", "m.onnx"])
    assert main(["--diff", "--baseline", "small.json", *sized]) == 1
    assert main(["--diff", "--baseline", "whole.json", *sized]) == 0
    told(capsys.readouterr().out)


def padded_convolution():
    """A 1x1 convolution with padding, named as PyTorch's exporter names it; messages call it 'c2'."""
    model = text(
        '<ir_version: 10, opset_import: ["" : 13]>\n'
        "g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {\n"
        "y = Conv<pads = [0, 0, 1, 1]>(x, w)\n}"
    )
    model.graph.node[0].name = "/c2/Conv"
    return model


@pytest.mark.parametrize(("node", "codes"), [("c2", set()), ("/c2/Conv", set()), ("c3", {"CNN302"}), ("", {"CNN302"})])
def test_a_suppression_takes_the_name_that_messages_show(node, codes):
    entries = [{"rule": "CNN302", "node": node}] if node else []
    result = linted(padded_convolution(), suppress=entries)
    assert {finding.code for finding in result.findings} & {"CNN302"} == codes
    assert result.names["/c2/Conv"] == "c2"
    assert [*result.matches.values()] == ([int(not codes)] if entries else [])


@pytest.mark.parametrize(("node", "changed"), [("c2", False), ("c3", True)])
def test_a_fix_leaves_what_a_shown_name_accepts(tmp_path, capsys, node, changed):
    onnx.save(padded_convolution(), tmp_path / "m.onnx")
    config = tmp_path / "onnxlint-cmsis.toml"
    config.write_text(f'[[suppress]]\nrule = "CNN302"\nnode = "{node}"\n', encoding="utf-8")
    before = (tmp_path / "m.onnx").read_bytes()
    main(["--fix", "--config", str(config), str(tmp_path / "m.onnx")])
    assert ((tmp_path / "m.onnx").read_bytes() != before) == changed, capsys.readouterr().out
