"""C files with models in them, on the command line and from Python: each array is the model that it is."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from onnxlint_cmsis import ModelError, fix, layers, lint
from onnxlint_cmsis.cli.main import main
from support.c_sources import DECIMAL, array
from support.fixable_models import gaining
from support.goldens import Told
from support.tflite_models import conv_model
from support.tflite_steps import random_chain
from support.tflite_writer import write

TFLITE, OTHER, ONNX = random_chain(3), random_chain(4), gaining()
M4 = ("--isolated", "--target", "cortex-m4")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with sources, of which two hold models, and the model of one array beside it."""
    monkeypatch.chdir(tmp_path)
    Path("src").mkdir()
    Path("src/one.cc").write_text('#include "one.h"\n' + array("g_one", TFLITE, head="alignas(16) "))
    Path("src/two.h").write_text(array("g_first", OTHER, DECIMAL) + array("net", ONNX))
    Path("src/main.c").write_text("int main(void) { return 0; }\n" * 100)
    Path("one.tflite").write_bytes(TFLITE)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main([*words])
    said = capsys.readouterr()
    return code, said.out, said.err


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    data: dict[str, object] = json.loads(run(capsys, *words, "--output-format", "json")[1])
    return data


def test_a_search_finds_arrays_beside_files(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--show-files")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "one.tflite", "src/one.cc::g_one.tflite", "src/two.h::g_first.tflite", "src/two.h::net.onnx",
    ]  # fmt: skip
    assert run(capsys, "--show-files", "src/two.h::net")[1] == "src/two.h::net.onnx\n"


def test_an_array_is_judged_as_the_file_that_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    files = report(capsys, *M4, "--min-level", "note", "one.tflite", "src/one.cc")["files"]
    assert isinstance(files, list)
    alone, inside = files
    assert (alone.pop("path"), inside.pop("path")) == ("one.tflite", "src/one.cc::g_one.tflite")
    assert alone["verdicts"] == inside["verdicts"] and alone["verdicts"]
    assert alone["summary"].pop("fixable") and not inside["summary"].pop("fixable")
    assert alone["summary"] == inside["summary"]
    assert layers("src/two.h::net", targets=["m4"]).totals == layers(ONNX, targets=["m4"]).totals


def test_what_holds_no_model_is_a_finding_where_it_is_named(capsys: pytest.CaptureFixture[str], told: Told) -> None:
    Path("src/cut.h").write_text(array("g_cut", TFLITE).replace("};", ", SIZE };"))
    for path in ("src/main.c", "src/two.h::none", "src/cut.h"):
        code, out, _ = run(capsys, *M4, "--output-format", "concise", path)
        assert code == 2
        told(out.splitlines())
    with pytest.raises(ModelError, match=r"src/two\.h: 2 arrays in it hold models"):
        lint("src/two.h")


def test_layers_memory_and_report_take_every_array(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("layers", "memory"):
        rows = json.loads(run(capsys, command, *M4, "--output-format", "json", "src/one.cc", "src/two.h")[1])
        assert [row["path"] for row in rows] == [
            "src/one.cc::g_one.tflite", "src/two.h::g_first.tflite", "src/two.h::net.onnx",
        ]  # fmt: skip
        same = json.loads(run(capsys, command, *M4, "--output-format", "json", "one.tflite")[1])
        assert {**rows[0], "path": ""} == {**same, "path": ""}
    pytest.importorskip("jinja2")
    assert run(capsys, "report", *M4, "src/two.h", "-o", "pages")[0] == 0
    assert sorted(path.name for path in Path("pages").iterdir()) == ["g_first.tflite.html", "net.onnx.html"]
    code, _, err = run(capsys, "report", *M4, "src/one.cc", "-o", "src/one.cc")
    assert (code, "is one of the models" in err) == (2, True)


def test_versions_are_compared_whether_they_are_arrays_or_files(capsys: pytest.CaptureFixture[str], told: Told) -> None:
    assert run(capsys, "verify", "src/one.cc", "one.tflite")[0] == 0
    assert run(capsys, "verify", "src/one.cc", "src/two.h::g_first")[0] == 1
    code, out, _ = run(capsys, "compare", *M4, "one.tflite", "src/one.cc::g_one")
    assert (code, "equal for every input" in out) == (0, True)
    code, _, err = run(capsys, "verify", "src/one.cc", "src/two.h")
    assert code == 2
    told(err.splitlines())


def test_an_array_is_not_fixed_and_no_finding_says_that_it_could_be(
    capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    before = Path("src/two.h").read_bytes()
    for option, expected in (("--fix", 2), ("--fix-only", 2), ("--diff", 0)):
        code, out, _ = run(capsys, *M4, option, "src/two.h::net", "--output-format", "json", "--exit-zero")
        fixed = json.loads(out)["files"][0]["fix"]
        assert (code, fixed["changed"], fixed["written"]) == (expected, False, False)
    told(fixed["reason"])
    assert Path("src/two.h").read_bytes() == before
    assert not any(finding.properties.get("fixable") for finding in lint("src/two.h::net", targets=["m55"]).findings)
    assert any(finding.properties.get("fixable") for finding in lint(ONNX, targets=["m55"]).findings)
    assert fix("src/one.cc", write=True).failed


def test_findings_are_at_the_line_of_the_array(capsys: pytest.CaptureFixture[str]) -> None:
    line = 1 + Path("src/two.h").read_text().splitlines().index("const unsigned char net[] = {")
    loud = (*M4, "--min-level", "note", "src/two.h::net")
    sarif = json.loads(run(capsys, *loud, "--output-format", "sarif")[1])["runs"][0]
    assert [artifact["location"]["uri"] for artifact in sarif["artifacts"]] == ["src/two.h"]
    regions = [result["locations"][0]["physicalLocation"]["region"] for result in sarif["results"]]
    assert {region["startLine"] for region in regions} == {line}
    assert "byteOffset" not in json.dumps(sarif)
    github = run(capsys, *loud, "--output-format", "github")[1].splitlines()
    assert github and all(f"file=src/two.h,line={line}," in text and "::net: " in text for text in github)
    gitlab = json.loads(run(capsys, *loud, "--output-format", "gitlab")[1])
    assert gitlab and {(e["location"]["path"], e["location"]["lines"]["begin"]) for e in gitlab} == {
        ("src/two.h", line)
    }
    diagnostics = json.loads(run(capsys, *loud, "--output-format", "rdjson")[1])["diagnostics"]
    assert {d["location"]["range"]["start"]["line"] for d in diagnostics} == {line}


def test_settings_name_the_file_of_an_array(capsys: pytest.CaptureFixture[str]) -> None:
    everything = json.loads(run(capsys, *M4, "--min-level", "note", "src", "--output-format", "json")[1])
    assert everything["findings"]
    Path("onnxlint-cmsis.toml").write_text('exclude = ["src/two.h"]\n[per-file-ignores]\n"src/one.cc" = ["CNN"]\n')
    quiet = json.loads(run(capsys, "--min-level", "note", "src", "--output-format", "json")[1])
    assert [file["path"] for file in quiet["files"]] == ["src/one.cc::g_one.tflite"]
    assert quiet["findings"] == []
    assert run(capsys, *M4, "src", "--write-baseline", "b.json")[0] == 0
    again = json.loads(run(capsys, *M4, "src", "--config", "baseline=b.json", "--output-format", "json")[1])
    assert again["findings"] == []
    Path("src/two.h").unlink()
    rest = json.loads(run(capsys, *M4, "src", "--config", "baseline=b.json", "--output-format", "json")[1])
    assert [finding["message"] for finding in rest["findings"]] == [
        f"src/two.h::{name}: the file does not exist any more. Write the baseline again (--write-baseline)."
        for name in ("g_first.tflite", "net.onnx")
    ]


def test_a_model_on_standard_input_is_told_by_its_mark(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def piped(data: bytes, *words: str) -> tuple[int, dict[str, object]]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code, out, _ = run(capsys, *words, *M4, "--output-format", "json", "-")
        return code, json.loads(out)

    named = json.loads(run(capsys, *M4, "--output-format", "json", "one.tflite")[1])
    whole = piped(TFLITE)[1]
    assert whole["files"][0]["path"] == "<stdin>.tflite"  # type: ignore[index]
    assert whole["files"][0]["verdicts"] == named["files"][0]["verdicts"]  # type: ignore[index]
    for command in ("layers", "memory"):
        named = json.loads(run(capsys, command, *M4, "--output-format", "json", "one.tflite")[1])
        assert {**piped(TFLITE, command)[1], "path": ""} == {**named, "path": ""}
    assert piped(ONNX)[1]["files"][0]["path"] == "<stdin>"  # type: ignore[index]
    text = Path("src/one.cc").read_bytes()
    assert piped(text)[1]["files"][0]["path"] == "<stdin>.h::g_one.tflite"  # type: ignore[index]
    inside = piped(text, "--stdin-filename", "src/one.cc")[1]
    assert inside["files"][0]["path"] == "src/one.cc::g_one.tflite"  # type: ignore[index]
    assert inside["files"][0]["verdicts"] == whole["files"][0]["verdicts"]  # type: ignore[index]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_arrays_of_a_commit_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
        subprocess.run(["git", *who, *words], check=True, capture_output=True)

    git("init", "-q")
    Path("src/gone.h").write_text(array("old", TFLITE))
    git("add", "--all")
    git("commit", "-qm", "a")
    assert run(capsys, "verify", "HEAD:src/one.cc", "src/one.cc")[0] == 0
    assert run(capsys, "verify", "HEAD:src/two.h::g_first", "src/one.cc")[0] == 1
    Path("src/two.h").write_text(array("g_first", TFLITE) + array("net", ONNX) + array("more", OTHER))
    Path("src/gone.h").unlink()
    Path("src/new.cc").write_text(array("fresh", OTHER))
    Path("src/main.c").write_text("int main(void) { return 1; }\n" * 100)
    code, out, err = run(capsys, "compare", "--base", "HEAD", *M4, "--output-format", "json")
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert [pair["after"] for pair in told["compared"]] == ["src/two.h::g_first.tflite"]
    assert sorted(told["new"]) == ["src/new.cc::fresh.tflite", "src/two.h::more.tflite"]
    assert told["deleted"] == ["src/gone.h::old.tflite"]


def test_a_damaged_model_in_an_array_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    Path("src/cut.h").write_text(array("cut", write(conv_model())[:400]))
    code, out, _ = run(capsys, *M4, "--output-format", "json", "src/cut.h")
    assert code == 2
    assert [finding["location"]["path"] for finding in json.loads(out)["findings"]] == ["src/cut.h::cut.tflite"]
