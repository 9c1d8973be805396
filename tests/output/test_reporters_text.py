"""The text formats against golden files, and what nasty names may not do to them. UPDATE_GOLDEN=1 writes the files."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.analysis.grouped import grouped
from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.analysis.verdict import TargetVerdict
from onnxlint_cmsis.config.keys import FORMATS
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.ground.findings import UNSAFELY, Effect
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.output.foreign_text import printable
from onnxlint_cmsis.output.formats import RENDERERS, render
from support.cli_fakes import NASTY, TARGET, a_run, note, routing_miss, unreadable, wrong_result
from support.goldens import check_golden


def result(path, *findings, **more):
    return FileResult(path, findings, Level.WARNING, **more)


def everything(**more):
    figures = {"every": 7, "instructions": (311_844, 402_115), "arena": 2048, "arena_to_write": 2048, "flash": 640}
    wrong = TargetVerdict(TARGET, "WRONG RESULTS", ("Conv_2", NASTY), ("CNN302",), accepted=2, **figures)
    findings = (routing_miss(), routing_miss(), wrong_result(), note())
    return a_run(
        result("models/kws.onnx", *findings, statistics=(("nodes", 7),), verdicts=(wrong,)),
        result("models/with space.onnx", routing_miss(node=NASTY), notes=("analysed as the s8 model it will become",)),
        result("clean.onnx", verdicts=(TargetVerdict(TARGET, "RUNS", condition="as int8, once quantized", **figures),)),
        result("bad.onnx", unreadable(), readable=False),
        result("odd.onnx", error="RuntimeError: broke"),
        **{"exit_code": 2, "hidden": (note(),), "statistics": True, **more},
    )


def golden(name, text):
    check_golden(name, text.replace(f'"{__version__}"', '"VERSION"'))


@pytest.mark.parametrize("output_format", [name for name in FORMATS if name not in ("sarif", "github")])
def test_golden(output_format):
    golden(f"report.{output_format}", render(output_format, everything()))


def test_golden_color_and_quiet():
    golden("report.color", render("full", everything(color=True)))
    golden("report.quiet", render("full", everything(quiet=True, statistics=False)))


def test_what_holds_for_all_findings_of_a_kind_is_told_once():
    facts = {"why": "too short", "known": "reproduced"}
    first, second = (replace(wrong_result(node=node), properties=facts) for node in ("a", "b"))
    text = render("full", a_run([first, second], explain=True))
    assert [text.count(part) for part in facts.values()] == [1, 1]
    assert text.count("returns wrong values") == 2


def test_what_the_finding_above_says_to_do_is_not_said_again():
    findings = [replace(wrong_result(node=node), remedy="Pad it by hand.") for node in ("a", "b")]
    short, long = (render("full", a_run(findings, explain=explain)) for explain in (False, True))
    assert (short.count("Pad it by hand."), short.count("do: as above.")) == (1, 1)
    assert (long.count("Pad it by hand."), long.count("as above")) == (2, 0)
    findings.insert(1, replace(wrong_result(node="c"), remedy="Widen it."))
    assert render("full", a_run(findings)).count("Pad it by hand.") == 2


def test_layers_are_named_where_no_finding_below_names_them():
    wrong = TargetVerdict(TARGET, "WRONG RESULTS", ("a", "b"), ("CNN302",), every=2)
    finding, below = wrong_result(node="a"), "2 layers (CNN302)"
    file, accepted = (result("m.onnx", finding, verdicts=(verdict,)) for verdict in (wrong, wrong._replace(accepted=1)))
    assert below in render("full", a_run(file))
    for run in (a_run(file, hidden=(finding,)), a_run(file, verbose=True), a_run(accepted)):
        assert "'a', 'b' (CNN302)" in render("full", run)
    assert "'a', 'b' (CNN302)" in render("concise", a_run(file))


def test_no_line_is_spent_on_the_hint_alone():
    hint = "; --explain says why"
    shown = render("full", a_run([wrong_result()], width=0))
    line = shown.splitlines()[-1]
    assert line.endswith(hint)
    assert render("full", a_run([wrong_result()], width=max(len(line), 40))).endswith(f"{hint}\n")
    assert hint not in render("full", a_run([wrong_result()], width=max(len(line) - 1, 40)))


def test_an_option_to_pass_is_shown_as_it_has_to_be_written():
    option = 'extra_options={"TensorQuantOverrides": {"/body/body.0/Conv_output_0": [{"symmetric": True}]}}'
    finding = replace(wrong_result(node="/body/body.0/Conv"), properties={"option": option})
    assert f"option   {option}\n" in render("full", a_run([finding], explain=True))
    assert "option   " not in render("full", a_run([finding]))


def test_a_finding_is_two_parts_unless_asked_to_explain():
    brief = "Conv 'a': wrong."
    finding = replace(wrong_result(), message=f"{brief} Present since 1.0.", brief=brief, remedy="Do it.")
    path, what, do = render("full", a_run([finding], quiet=True)).splitlines()
    assert (path, what.endswith(brief), do) == ("m.onnx", True, "    do: Do it.")
    assert "Present since 1.0." in render("full", a_run([finding], explain=True, quiet=True))


@pytest.mark.parametrize("more", [{"width": 0}, {"width": 80}, {"width": 80, "explain": True}])
def test_what_to_do_stands_in_a_line_of_its_own(more):
    text = render("full", a_run([replace(wrong_result(), remedy="Do it.")], quiet=True, **more))
    assert text.splitlines()[2].split() == ["do:", "Do", "it."]


def test_a_file_below_a_table_says_once_which_library_it_is_judged_for():
    """CPUs stand behind a finding where it does not hold on all of its file."""
    ours, theirs = (f"cortex-m{number}, CMSIS-NN {release}, gcc" for number, release in ((4, "7.0.0"), (4, "main")))
    wide = f"cortex-m55, {theirs.partition(', ')[2]}"
    first = replace(wrong_result(), targets=(ours,))
    second, third = (replace(wrong_result(node=node), targets=labels) for node, labels in (("b", (wide,)), ("c", ())))
    verdicts = [tuple(TargetVerdict(label, "STOPS") for label in labels) for labels in ((ours,), (theirs, wide))]
    files = result("a.onnx", first, verdicts=verdicts[0]), result("b.tflite", second, third, verdicts=verdicts[1])
    text = render("full", a_run(*files, width=0)._replace(targets=(ours, theirs, wide)))
    heads = [line for line in text.splitlines() if line.startswith(("a.onnx (", "b.tflite ("))]
    assert heads == ["a.onnx (CMSIS-NN 7.0.0, gcc)", "b.tflite (CMSIS-NN main, gcc)"]
    assert re.findall(r"\[on .*?\]", text) == ["[on cortex-m55]"]


@pytest.mark.parametrize("effect", Effect)
def test_a_finding_without_a_remedy_says_so(effect):
    text = render("full", a_run([replace(wrong_result(), effect=effect)], quiet=True))
    assert text.splitlines()[-1].startswith("    do: ")
    assert ("Nothing: " in text) is (effect in (Effect.REFERENCE, Effect.COSTS, Effect.NOTE))


def test_findings_stand_in_the_order_of_what_they_do():
    given = [replace(wrong_result(node=str(n)), effect=effect) for n, effect in enumerate(reversed(Effect))]
    assert [finding.effect for finding in grouped(given)] == list(Effect)


def test_the_default_text_takes_the_short_remedy(told):
    finding = replace(wrong_result(), remedy="Do it, in many words.", brief_remedy="Do it.")
    short, long, concise = (
        render(form, a_run([finding], explain=explain, quiet=True))
        for form, explain in (("full", False), ("full", True), ("concise", False))
    )
    assert ["in many words" in text for text in (short, long, concise)] == [False, True, True]
    unsafe = replace(finding, properties={UNSAFELY: True})
    told(render("full", a_run([unsafe])))


def test_other_places_are_named_in_few_words(told):
    same = replace(wrong_result(node="a"), group="c", brief="Conv 'a': wrong.")
    (finding,) = grouped([same, *(replace(same, location=same.location._replace(node=node)) for node in "bcde")])
    told(render("full", a_run([finding])))
    told(render("concise", a_run([finding])))


@pytest.mark.parametrize("output_format", ["full", "concise", "github", "rdjson", "gitlab", "junit"])
def test_formats_for_people_shorten_names_unless_asked_for_whole_ones(output_format):
    run = a_run([replace(wrong_result(), message="Conv 'a/long/path/to/stem' is wrong.")])
    file = run.files[0]._replace(names={"a/long/path/to/stem": "stem"})
    short, whole = (render(output_format, run._replace(files=(file,), full_names=full)) for full in (False, True))
    assert "a/long/path/to/stem" not in short
    assert "stem" in short
    assert "a/long/path/to/stem" in whole


def test_every_format_has_a_function():
    assert tuple(RENDERERS) == FORMATS


def test_a_clean_run_says_what_it_looked_at(told):
    told(render("full", a_run([])))
    assert render("concise", a_run([])) == ""
    assert render("github", a_run([])) == ""
    assert render("full", a_run([], quiet=True)) == ""


@given(st.text(), st.text())
def test_a_concise_finding_is_one_visible_line(path, message):
    finding = routing_miss(node=message)
    text = render("concise", a_run(result(path, finding)))
    assert text.count("\n") == 1
    assert text[:-1].isprintable()


@given(st.text())
def test_printable_keeps_visible_text_and_shows_the_rest(text):
    shown = printable(text)
    assert shown.isprintable()
    assert (shown == text) is (text.isprintable() and not re.search(r"##[a-z]*\[|(?<!\S)::", text))


GITHUB = re.compile(r"::(error|warning|notice) file=([^,:\r\n]*),title=([^,:\r\n]*)::([^\r\n]*)")


def decoded(text, names):
    for code, character in {"0D": "\r", "0A": "\n", "3A": ":", "2C": ","}.items():
        if character in names:
            text = text.replace(f"%{code}", character)
    return text.replace("%25", "%")


IN_PATHS = st.characters(exclude_characters="/\\\0", exclude_categories=("C", "Zl", "Zp"), codec="utf-8")


@given(st.text(IN_PATHS | st.sampled_from("\r\n:,%\u3000"), min_size=1), st.text())
def test_github_escapes_so_that_the_runner_reads_the_same(path, node):
    text = render("github", a_run(result(path, routing_miss(node=node)), full_names=True))
    match = GITHUB.fullmatch(text[:-1])
    assert match is not None
    assert text.endswith("\n")
    assert decoded(match[2], "\r\n:,") == path
    assert decoded(match[4], "") == printable(routing_miss(node=node).complete)


def test_github_levels(told):
    run = a_run([routing_miss(), wrong_result(), note()], result("odd.onnx", error="E: x"))
    lines = render("github", run).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::warning", "::error", "::notice", "::error"]
    told(lines[0])


@given(st.text(), st.text())
def test_junit_is_xml_whatever_the_names(path, node):
    root = ET.fromstring(render("junit", a_run(result(path, routing_miss(node=node)))))
    assert root.find("testsuite/testcase/failure") is not None


def test_junit_fails_for_what_fails_the_run_and_passes_when_clean():
    root = ET.fromstring(render("junit", everything()))
    rows = {
        suite.get("name"): (len(suite), len(suite.findall("testcase/failure")), len(suite.findall("testcase/error")))
        for suite in root
    }
    assert rows == {
        "models/kws.onnx": (4, 3, 0),
        "models/with space.onnx": (1, 1, 0),
        "clean.onnx": (1, 0, 0),
        "bad.onnx": (1, 1, 0),
        "odd.onnx": (1, 0, 1),
    }
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("8", "5", "1")


def test_gitlab_entries_are_complete_and_told_apart():
    entries = json.loads(render("gitlab", everything()))
    assert len(entries) == sum(len(file.findings) + bool(file.error) for file in everything().files)
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)
    assert {entry["severity"] for entry in entries} == {"critical", "minor", "info", "blocker"}
    first = entries[0]
    assert first["location"] == {"path": "models/kws.onnx", "lines": {"begin": 1}}
    assert first["check_name"] == "CNN102 conv-1x1-fast"
    assert first["description"].startswith("Conv 'Conv_1'")


def test_json_has_every_field():
    report = json.loads(render("json", everything()))
    assert report["version"] == 1
    assert [file["path"] for file in report["files"]][2:] == ["clean.onnx", "bad.onnx", "odd.onnx"]
    first, second, wrong, *_ = report["findings"]
    assert first["resize"] == {
        "variable": "input_dims.c", "tensor": "x", "axis": 1, "have": 10, "want": 12,
        "freedom": "COUPLED", "layers": ["Conv_0", "Conv_3"], "lock": "",
    }  # fmt: skip
    assert first["properties"] == {"macs": 1200, "ratio": "nan"}
    assert first["location"]["offset"] == 120
    assert wrong["location"]["offset"] is None
    assert wrong["location"]["graph"] == "If_0/then_branch"
    assert first["fingerprint"] != second["fingerprint"]
    assert report["statistics"]["by_level"] == {"error": 2, "warning": 3, "note": 1}


def test_json_names_every_field_of_a_finding():
    from dataclasses import fields

    from onnxlint_cmsis.ground.findings import Finding, Location, Resize
    from onnxlint_cmsis.ground.types import Source

    finding = json.loads(render("json", a_run([routing_miss()])))["findings"][0]
    assert {field.name for field in fields(Finding)} - {"asks", "group", "brief", "brief_remedy"} <= set(
        finding
    )  # about the text, and about what is told together
    for kind, key in ((Location, "location"), (Resize, "resize")):
        assert set(kind._fields) <= set(finding[key])
    assert set(Source._fields) <= set(finding["sources"][0])


def test_json_and_sarif_are_ascii():
    for output_format in ("json", "sarif"):
        assert render(output_format, everything()).isascii()
