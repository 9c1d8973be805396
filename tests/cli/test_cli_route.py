"""The command `route`: JSON lines in, JSON lines out, and the options of a single shape."""

from __future__ import annotations

import io
import json
import sys

import pytest

from onnxlint_cmsis.analysis.results import WIDEST, cut
from onnxlint_cmsis.cli.main import main

SHAPE = {"wrapper": "convolve_s8", "in": [1, 8, 8, 16], "filter": [16, 1, 1, 16], "out": [1, 8, 8, 16]}
OPTIONS = ["--wrapper", "convolve_s8", "--in", "1,8,8,16", "--filter", "16,1,1,16", "--out", "1,8,8,16"]


def route(capsys, monkeypatch, text, *argv):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code = main(["route", *argv])
    out, err = capsys.readouterr()
    return code, [json.loads(line) for line in out.splitlines()], err


def test_records_are_answered_in_order(capsys, monkeypatch):
    lines = [{**SHAPE, "isa": isa, "version": version} for isa in ("scalar", "mve") for version in ("v4.0.0", "main")]
    text = "\n\n".join(json.dumps(line) for line in lines).encode()
    code, answers, err = route(capsys, monkeypatch, text)
    assert (code, err) == (0, "")
    assert [(answer["isa"], answer["version"]) for answer in answers] == [
        (line["isa"], line["version"]) for line in lines
    ]
    assert {answer["kernel"] for answer in answers} == {"arm_convolve_1x1_s8_fast"}
    assert set(answers[0]) >= {"kernel", "chain", "effective", "status", "buffer_size", "hazards", "why"}


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"{", "not JSON: "),
        (b"\xff", "not JSON: "),
        (b"[1]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"[" * 100000, "nested too deep"),
        (b'{"wrapper": "convolve_s9"}', "field 'wrapper' is 'convolve_s9'; allowed: "),
        (b'{"wrapper": "convolve_s8", "in": [1]}', "field 'in'"),
        (b'{"wrapper": "convolve_s8", "colour": 1}', "field 'colour' is not known; allowed: "),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_answered(capsys, monkeypatch, bad, says):
    good = json.dumps(SHAPE).encode()
    code, answers, err = route(capsys, monkeypatch, b"\n".join([good, bad, good]))
    assert code == 2
    assert [("kernel" in answer, answer.get("line")) for answer in answers] == [(True, None), (False, 2), (True, None)]
    assert says in answers[1]["error"]
    assert err == ""


def test_a_fault_inside_is_told_for_its_line_only(capsys, monkeypatch):
    from onnxlint_cmsis.cmsis_nn import json_records

    monkeypatch.setattr(json_records, "route_answer", lambda record, _: record if "a" in record else 1 / 0)
    code, answers, err = route(capsys, monkeypatch, b'{"b": 1}\n{"a": 1}')
    assert (code, answers[1]) == (2, {"a": 1})
    assert answers[0]["error"].startswith("internal error: ZeroDivisionError")
    assert err == ""


def test_a_file(capsys, monkeypatch, tmp_path):
    (tmp_path / "shapes.jsonl").write_text(json.dumps(SHAPE))
    code, answers, _ = route(capsys, monkeypatch, b"", str(tmp_path / "shapes.jsonl"))
    assert (code, len(answers)) == (0, 1)


def test_a_missing_file(capsys):
    assert main(["route", "none.jsonl"]) == 2
    assert capsys.readouterr().err == "onnxlint-cmsis: error: none.jsonl: No such file or directory\n"


def test_options_give_the_same_answer_as_a_record(capsys, monkeypatch):
    target = ["--target", "m4", "--release", "cmsis5-5.9.0"]
    assert main(["route", *OPTIONS, "--stride", "2,1", "--padding", "0,1", *target]) == 0
    single = json.loads(capsys.readouterr().out)
    record = json.dumps({**SHAPE, "stride": [2, 1], "padding": [0, 1]}).encode()
    assert route(capsys, monkeypatch, record, *target) == (0, [single], "")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([*OPTIONS, "--stride", "1"], "--stride: '1' is not 2 whole numbers separated by commas"),
        ([*OPTIONS, "--in", "1,2,x,4"], "--in: '1,2,x,4' is not 4 whole numbers"),
        ([*OPTIONS, "--target", "z80"], "CPU 'z80' is not known; allowed: "),
        ([*OPTIONS, "--release", "1"], "CMSIS-NN release '1' is not known; allowed: "),
        ([*OPTIONS, "--compiler", "iar"], "compiler 'iar' is not known; allowed: "),
        (["--wrapper", "convolve_s9"], "field 'wrapper' is 'convolve_s9'; allowed: "),
    ],
)
def test_usage_errors(capsys, argv, says):
    assert main(["route", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert says in err
    assert "internal error" not in err


def test_long_names_keep_both_ends_in_the_table():
    name = "functional_1/activation_0" + "x" * 100 + "_prequant"
    short = cut(name, WIDEST)
    assert len(short) == WIDEST
    assert short.startswith("functional_1/activ")
    assert short.endswith("_prequant")
    assert cut("Conv_1", WIDEST) == "Conv_1"
