"""The command `cost`: JSON lines of layers in, the same lines with predicted instructions out."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pytest

from onnxlint_cmsis.cli.main import main
from support import paths

SAMPLE = paths.DATA / "cost_sample.jsonl.gz"
LAYER = {"kind": "conv", "h": 8, "w": 8, "in_c": 16, "kh": 1, "kw": 1, "out_c": 8, "out_h": 8, "out_w": 8}


def cost(capsys, monkeypatch, text, *argv):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code = main(["cost", *argv])
    out, err = capsys.readouterr()
    return code, [json.loads(line) for line in out.splitlines()], err


def test_the_sample_is_answered_in_its_own_schema(capsys, monkeypatch):
    text = gzip.decompress(SAMPLE.read_bytes())
    code, answers, err = cost(capsys, monkeypatch, text)
    given = [json.loads(line) for line in text.splitlines()]
    assert (code, err, len(answers)) == (0, "", len(given))
    for record, answer in zip(given, answers, strict=True):
        assert {**answer, "instructions": record["instructions"]} == record
        assert answer["instructions"] == pytest.approx(record["instructions"], rel=0.2)


def test_the_options_say_what_a_line_does_not(capsys, monkeypatch):
    text = json.dumps(LAYER).encode()
    found = {
        (cpu, release): cost(capsys, monkeypatch, text, "--target", cpu, "--release", release)[1][0]["instructions"]
        for cpu in ("m3", "m4", "m55")
        for release in ("4.0.0", "7.0.0")
    }
    assert found["m4", "7.0.0"] == pytest.approx(32560, rel=0.001)
    assert found["m3", "7.0.0"] > found["m4", "7.0.0"] > found["m55", "7.0.0"]
    assert found["m4", "4.0.0"] != found["m4", "7.0.0"]


def test_what_is_unknown_is_null(capsys, monkeypatch):
    lines = [{**LAYER, "version": "5.9.0"}, {**LAYER, "compiler": "armclang"}, LAYER]
    code, answers, err = cost(capsys, monkeypatch, "\n".join(json.dumps(line) for line in lines).encode())
    assert (code, err) == (0, "")
    assert [answer["instructions"] is None for answer in answers] == [True, True, False]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"{", "not JSON: "),
        (b"[1]", "not a JSON object"),
        (b'{"kind": "pool"}', "field 'kind' is 'pool'; allowed: conv, dw, fc"),
        (b'{"kind": "fc", "in_c": 4}', "field 'out_c' is missing; fc needs in_c, out_c"),
        (b'{"kind": "add", "in_c": 4.5}', "field 'in_c' holds 4.5; allowed: whole numbers"),
        (b'{"kind": "add", "in_c": 4, "isa": "avx"}', "isa 'avx' is not known; allowed: "),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_answered(capsys, monkeypatch, bad, says):
    good = json.dumps(LAYER).encode()
    code, answers, err = cost(capsys, monkeypatch, b"\n".join([good, bad, b"", good]))
    assert code == 2
    assert [answer.get("line") for answer in answers] == [None, 2, None]
    assert says in answers[1]["error"]
    assert err == ""


def test_a_file(capsys, tmp_path):
    (tmp_path / "layers.jsonl").write_text(json.dumps(LAYER))
    assert main(["cost", str(tmp_path / "layers.jsonl")]) == 0
    assert json.loads(capsys.readouterr().out)["instructions"] > 0


def test_usage_errors(capsys):
    assert main(["cost", "none.jsonl"]) == 2
    assert main(["cost", "--target", "z80"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0] == "onnxlint-cmsis: error: none.jsonl: No such file or directory"
    assert "CPU 'z80' is not known; allowed: " in err


def test_help_says_that_instructions_are_not_cycles(capsys):
    assert main(["cost", "--help"]) == 0
    assert "(not cycles)" in " ".join(capsys.readouterr().out.split())
