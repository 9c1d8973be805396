"""The command `shape`: lines of JSON in either schema, and the options of a single shape; as text and as JSON."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pytest

from onnxlint_cmsis.analysis.short_names import WIDEST, cut
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.ground.types import AS_ASKED, Function
from support import float_vectors, paths
from support.goldens import Told

SHAPE = {"wrapper": "convolve_s8", "in": [1, 8, 8, 16], "filter": [16, 1, 1, 16], "out": [1, 8, 8, 16]}
OPTIONS = ["--wrapper", "convolve_s8", "--in", "1,8,8,16", "--filter", "16,1,1,16", "--out", "1,8,8,16"]
JSON = ["--output-format", "json"]
SAMPLE = paths.DATA / "cost_sample.jsonl.gz"
LAYER = {"kind": "conv", "h": 8, "w": 8, "in_c": 16, "kh": 1, "kw": 1, "out_c": 8, "out_h": 8, "out_w": 8}


def shape(capsys, monkeypatch, text, *argv):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code = main(["shape", *JSON, *argv])
    out, err = capsys.readouterr()
    return code, [json.loads(line) for line in out.splitlines()], err


def test_records_are_answered_in_order(capsys, monkeypatch):
    lines = [{**SHAPE, "isa": isa, "version": version} for isa in ("scalar", "mve") for version in ("v4.0.0", "main")]
    text = "\n\n".join(json.dumps(line) for line in lines).encode()
    code, answers, err = shape(capsys, monkeypatch, text)
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
        (b'{"kind": "pool"}', "field 'kind' is 'pool'; allowed: conv, dw, fc"),
        (b'{"kind": "fc", "in_c": 4}', "field 'out_c' is missing; fc needs in_c, out_c"),
        (b'{"kind": "add", "in_c": 4.5}', "field 'in_c' holds 4.5; allowed: whole numbers"),
        (b'{"kind": "add", "in_c": 4, "isa": "avx"}', "isa 'avx' is not known; allowed: "),
        (b'{"kind": "add", "wrapper": "convolve_s8"}', "field 'kind' is not known"),
        (b'{"wrapper": "convolve_s9"}', "field 'wrapper' is 'convolve_s9'; allowed: "),
        (b'{"wrapper": "convolve_s8", "in": [1]}', "field 'in'"),
        (b'{"wrapper": "convolve_s8", "colour": 1}', "field 'colour' is not known; allowed: "),
        (
            json.dumps({**SHAPE, "packed": True}).encode(),
            "field 'packed' is for functions for f32 and f16",
        ),
        (json.dumps({**SHAPE, "wrapper": "convolve_f32"}).encode(), "no functions for f32 and f16; allowed: main"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_answered(capsys, monkeypatch, bad, says):
    good = json.dumps(SHAPE).encode()
    code, answers, err = shape(capsys, monkeypatch, b"\n".join([good, bad, good]))
    assert code == 2
    assert [("kernel" in answer, answer.get("line")) for answer in answers] == [(True, None), (False, 2), (True, None)]
    assert says in answers[1]["error"]
    assert err == ""


def test_a_fault_inside_is_told_for_its_line_only(capsys, monkeypatch):
    from onnxlint_cmsis.cmsis_nn import json_records

    answer = {"a": 1, "hazards": []}
    monkeypatch.setattr(json_records, "shape_answer", lambda record, _: answer if "a" in record else 1 / 0)
    code, answers, err = shape(capsys, monkeypatch, b'{"b": 1}\n{"a": 1}')
    assert (code, answers[1]) == (2, answer)
    assert answers[0]["error"].startswith("internal error: ZeroDivisionError")
    assert err == ""


def test_the_sample_is_answered_in_its_own_schema(capsys, monkeypatch):
    text = gzip.decompress(SAMPLE.read_bytes())
    code, answers, err = shape(capsys, monkeypatch, text)
    given = [json.loads(line) for line in text.splitlines()]
    assert (code, err, len(answers)) == (0, "", len(given))
    for record, answer in zip(given, answers, strict=True):
        assert {name: answer[name] for name in record} == {**record, "instructions": answer["instructions"]}
        assert answer["instructions"] == pytest.approx(record["instructions"], rel=0.2)


def test_float_layers_are_answered_as_their_vectors_show(capsys, monkeypatch):
    sample = [
        row
        for row in float_vectors.rows(paths.DATA / "float_sample.csv.gz")
        if row["function"].startswith(("arm_convolve", "arm_depthwise", "arm_fully", "arm_max_pool"))
    ]
    calls = [float_vectors.call_of(row) for row in sample]
    # A pool's call has no channels in its window; a record names four sizes.
    told = [(row, call) for row, call in zip(sample, calls, strict=True) if min(call.filter_dims) > 0]
    records = [
        {
            "wrapper": call.entry,
            "in": call.input_dims,
            "filter": call.filter_dims,
            "out": call.output_dims,
            "stride": call.stride,
            "padding": call.padding,
            "pad_after": call.pad_after if call.function in (Function.CONVOLVE, Function.DEPTHWISE) else None,
            "dilation": call.dilation,
            "ch_mult": call.ch_mult if call.function is Function.DEPTHWISE else None,
            "bias": call.bias,
            "packed": call.floating.packed,
            "clamped": call.floating.clamped,
            "scratch": None if call.floating.scratch == AS_ASKED else call.floating.scratch,
            "cpu": row["cpu"],
            "specialized": row["specialization"] == "on",
        }
        for row, call in told
    ]
    text = "\n".join(map(json.dumps, records)).encode()
    code, answers, _ = shape(capsys, monkeypatch, text, "--release", "main")
    assert code == 0
    assert len(answers) > 100
    for answer, (row, call) in zip(answers, told, strict=True):
        taken = float_vectors.taken_by(row)
        hazards = [hazard.id for hazard in (*taken.hazards, *taken.inexact)]
        assert (answer["chain"], answer["status"]) == (list(taken.chain), taken.status), call
        assert (answer["buffer_size"], answer["hazard_ids"]) == (taken.buffer_size, hazards), call


def test_the_options_say_what_a_line_does_not(capsys, monkeypatch):
    text = json.dumps(LAYER).encode()
    instructions = {
        (cpu, release): shape(capsys, monkeypatch, text, "--target", cpu, "--release", release)[1][0]["instructions"]
        for cpu in ("m3", "m4", "m55")
        for release in ("4.0.0", "7.0.0")
    }
    assert instructions["m4", "7.0.0"] == pytest.approx(32560, rel=0.001)
    assert instructions["m3", "7.0.0"] > instructions["m4", "7.0.0"] > instructions["m55", "7.0.0"]
    assert instructions["m4", "4.0.0"] != instructions["m4", "7.0.0"]


def test_what_is_unknown_is_null(capsys, monkeypatch):
    lines = [{**LAYER, "version": "5.9.0"}, {**LAYER, "compiler": "armclang"}, LAYER]
    code, answers, err = shape(capsys, monkeypatch, "\n".join(json.dumps(line) for line in lines).encode())
    assert (code, err) == (0, "")
    assert [answer["instructions"] is None for answer in answers] == [True, True, False]


def test_both_schemas_give_one_answer(capsys, monkeypatch):
    layer = {"wrapper": "convolve_s8", "in": [1, 8, 8, 16], "filter": [8, 1, 1, 16], "out": [1, 8, 8, 8]}
    text = "\n".join(json.dumps(record) for record in (layer, LAYER)).encode()
    _, (first, second), _ = shape(capsys, monkeypatch, text)
    answers = [{name: answer[name] for name in answer if name not in {**layer, **LAYER}} for answer in (first, second)]
    assert answers[0] == answers[1]
    assert {"kernel", "hazards", "buffer_size", "instructions", "why"} <= set(answers[0])


def test_people_read_kernel_hazards_scratch_and_cost(capsys, monkeypatch, told: Told):
    monkeypatch.setenv("COLUMNS", "80")
    sizes = ["--in", "1,1,32,4", "--filter", "8,1,3,4", "--out", "1,1,15,8", "--stride", "1,2"]
    assert main(["shape", "--wrapper", "convolve_s8", *sizes]) == 0
    lines = [LAYER, {**LAYER, "version": "5.9.0", "cpu": "m0"}, {"kind": "pool"}]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(map(json.dumps, lines)).encode())))
    assert main(["shape", "--target", "cortex-m4"]) == 2
    told(capsys.readouterr().out)


def test_a_file(capsys, monkeypatch, tmp_path):
    (tmp_path / "shapes.jsonl").write_text(json.dumps(SHAPE))
    code, answers, _ = shape(capsys, monkeypatch, b"", str(tmp_path / "shapes.jsonl"))
    assert (code, len(answers)) == (0, 1)


def test_a_missing_file(capsys, told):
    assert main(["shape", "none.jsonl"]) == 2
    told(capsys.readouterr().err)


def test_options_give_the_same_answer_as_a_record(capsys, monkeypatch):
    target = ["--target", "m4", "--release", "cmsis5-5.9.0"]
    assert main(["shape", *JSON, *OPTIONS, "--stride", "2,1", "--padding", "0,1", *target]) == 0
    single = json.loads(capsys.readouterr().out)
    record = json.dumps({**SHAPE, "stride": [2, 1], "padding": [0, 1]}).encode()
    assert shape(capsys, monkeypatch, record, *target) == (0, [single], "")


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
    assert main(["shape", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert says in err
    assert "internal error" not in err


def test_help_says_that_instructions_are_not_cycles(capsys):
    assert main(["shape", "--help"]) == 0
    assert "(not cycles)" in " ".join(capsys.readouterr().out.split())


def test_long_names_keep_both_ends_in_the_table():
    name = "functional_1/activation_0" + "x" * 100 + "_prequant"
    short = cut(name, WIDEST)
    assert len(short) == WIDEST
    assert short.startswith("functional_1/activ")
    assert short.endswith("_prequant")
    assert cut("Conv_1", WIDEST) == "Conv_1"
