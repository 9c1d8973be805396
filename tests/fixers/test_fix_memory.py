"""Memory plans that `--fix` writes where RAM is named, and what becomes of those that a file brings along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.formats.tflite.memory_plan import stated_plan
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.runtimes.tflm.stated_plans import plan_faults
from support.goldens import check_golden
from support.planned_models import FITTING, WASTING, chain, with_plan
from support.tflite_writer import write

pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")

RAM = ("--target", "cortex-m4", "--isolated", "--ram", "64K")


def run(capsys, *args):
    code = main([*args])
    return code, capsys.readouterr().out


def fix_of(capsys, path, *args):
    _, out = run(capsys, str(path), *RAM, *args, "--output-format", "json")
    return json.loads(out)["files"][0]["fix"]


@pytest.fixture
def wasting(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(write(chain(*WASTING)))
    return path


def test_a_plan_is_written_where_ram_is_named(wasting, capsys):
    fix = fix_of(capsys, wasting, "--fix")
    assert fix["changed"]
    assert fix["written"]
    (memory,) = fix["memory"]
    assert (memory["before"], memory["after"]) == (12608, 8000)
    assert memory["head"] + memory["tail"] == memory["least"]
    assert fix["certificate"] is not None
    model = read_tflite(wasting)
    assert stated_plan(model) is not None
    assert not [*plan_faults(model)]


def test_what_is_told_of_a_plan(wasting, capsys):
    _, out = run(capsys, str(wasting), *RAM, "--diff")
    check_golden("memory_plan.txt", out.replace(str(wasting), "m.tflite"))


def test_no_plan_is_written_where_no_ram_is_named(wasting, capsys):
    before = wasting.read_bytes()
    code, out = run(capsys, str(wasting), "--target", "cortex-m4", "--isolated", "--fix", "--min-level", "note")
    assert code == 0
    assert "CNN604" in out
    assert wasting.read_bytes() == before


@pytest.mark.parametrize("option", [("--ignore", "CNN604"), ("--unfixable", "CNN604")])
def test_whoever_wants_no_plan_gets_none(wasting, capsys, option):
    before = wasting.read_bytes()
    assert not fix_of(capsys, wasting, "--fix", *option)["changed"]
    assert wasting.read_bytes() == before


def test_a_second_fix_changes_nothing(wasting, capsys):
    assert fix_of(capsys, wasting, "--fix")["changed"]
    once = wasting.read_bytes()
    assert not fix_of(capsys, wasting, "--fix")["changed"]
    assert wasting.read_bytes() == once


def test_a_plan_that_overlaps_is_no_equal_file(wasting, tmp_path, capsys):
    wrong = tmp_path / "wrong.tflite"
    wrong.write_bytes(write(with_plan(chain(*WASTING), [0] * 8)))
    right = tmp_path / "right.tflite"
    right.write_bytes(write(with_plan(chain(*WASTING), FITTING)))
    code, out = run(capsys, "verify", str(wasting), str(wrong))
    assert (code, "memory plan" in out) == (1, True)
    code, out = run(capsys, "verify", str(wasting), str(right))
    assert (code, out) == (0, "output 't7': equal for every input\n")


def test_a_plan_that_overlaps_gives_wrong_results(tmp_path, capsys):
    wrong = tmp_path / "wrong.tflite"
    wrong.write_bytes(write(with_plan(chain(*WASTING), [0] * 8)))
    code, out = run(capsys, str(wrong), "--target", "cortex-m4", "--isolated")
    assert (code, "WRONG RESULTS" in out, "CNN402" in out) == (1, True, True)


@pytest.mark.parametrize(("offsets", "missing"), [([0] * 8, 0), (FITTING, 1)])
def test_a_fix_with_ram_writes_a_right_plan_in_place_of_a_wrong_one(tmp_path, capsys, wasting, offsets, missing):
    wrong = tmp_path / "wrong.tflite"
    wrong.write_bytes(write(with_plan(chain(*WASTING), offsets, missing=missing)))
    assert fix_of(capsys, wrong, "--fix")["changed"]
    model = read_tflite(wrong)
    assert stated_plan(model) is not None
    assert not [*plan_faults(model)]
    assert run(capsys, "verify", str(wasting), str(wrong)) == (0, "output 't7': equal for every input\n")


def test_memory_tells_what_comes_of_a_plan(tmp_path, capsys, told):
    texts = []
    for name, described in (
        ("right", with_plan(chain(*WASTING), FITTING)),
        ("wrong", with_plan(chain(*WASTING), [0] * 8)),
        ("short", with_plan(chain(*WASTING), FITTING, missing=1)),
    ):
        path: Path = tmp_path / f"{name}.tflite"
        path.write_bytes(write(described))
        code, out = run(capsys, "memory", str(path), "--target", "cortex-m4", "--isolated", "--output-format", "json")
        report = json.loads(out)["targets"][0]
        texts.append(f"{code} {report['file_plan']} {report.get('reason', '')}")
    told("\n".join(texts))
