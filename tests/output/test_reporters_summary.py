"""The summary of a file in every format that has it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.analysis.fingerprints import fingerprints
from onnxlint_cmsis.analysis.grouped import grouped
from onnxlint_cmsis.analysis.results import FileResult, FileSummary, LayerShare, TargetSummary
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.output.formats import render
from support.cli_fakes import TARGET, a_run, routing_miss, wrong_result
from support.draws import draws
from support.goldens import check_golden
from support.linter import analysed, layered
from support.models import text as model_text
from support.random_models import GEOMETRY, random_models
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

NONE = LayerShare(0, 0, ())


def a_target(**more):
    first = TargetSummary(TARGET, LayerShare(3, 900, ()), NONE, NONE, NONE, 12345, "cortex-m55", 0, 640, 640, 96)
    return first._replace(**more)


M4 = "cortex-m4, CMSIS-NN 7.0.0, gcc"
OUTSIDE = {"reference_code": LayerShare(4, 1, tuple("abcd")), "no_kernel": LayerShare(1, 0, ("e",))}
NOTHING = a_target(target=M4, instructions=0, unknown_cost=3)
OTHER = a_target(target=M4, reference_code=LayerShare(1, 90, ("a",)), scratch=0)
SUMMARIES = {
    "all in CMSIS-NN": FileSummary((a_target(),), 900, 0, 2048),
    "what does not run is named with its share": FileSummary((a_target(**OUTSIDE, unknown_cost=5),), 901, 1, None),
    "a sum of nothing known": FileSummary((NOTHING,), 900, 0, 16),
    "one target unknown": FileSummary((a_target(unknown_cost=1), NOTHING), 900, 0, 16),
    "nothing to compute": FileSummary((a_target(cmsis_nn=NONE, instructions=0),), 0, 0, 16),
    "targets that differ": FileSummary((a_target(), OTHER), 990, 0, 16),
}


def test_summaries():
    files = [FileResult(name, (), Level.WARNING, summary=summary) for name, summary in SUMMARIES.items()]
    check_golden("screens/summaries", render("full", a_run(*files, width=80, verbose=True)))


UNMEASURED = NOTHING._replace(measured_on="cortex-m4+nodsp, gcc 12.2")


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ((a_target(), UNMEASURED), "not cycles, as measured on cortex-m55"),
        ((UNMEASURED,), "not cycles; no layer has a known cost"),
    ],
)
def test_a_build_is_named_only_where_a_cost_is_known(targets, said):
    result = FileResult("m.onnx", (), Level.WARNING, summary=FileSummary(targets, 900, 0, 16))
    text = " ".join(render("full", a_run(result, verbose=True)).split())
    assert said in text
    assert UNMEASURED.measured_on not in text


def test_scratch_that_the_runtime_asks_for_unseen_is_unknown(tmp_path, capsys, told):
    """What a kernel of an audio front end asks for was never measured: no 0 stands beside an unknown arena."""
    model = one_operator("CUSTOM", [tensor("x", [1, 8]), tensor("y", [1, 8])])
    model["operator_codes"][0]["custom_code"] = "SignalRfft"
    path = tmp_path / "m.tflite"
    path.write_bytes(write(model))
    summary = summarize(analysed(path, targets=["cortex-m4"]))
    assert (summary.targets[0].arena_used, summary.targets[0].scratch) == (None, None)
    result = FileResult("m.tflite", (), Level.WARNING, summary=summary)
    (file,) = json.loads(render("json", a_run(result)))["files"]
    assert "scratch" not in file["summary"]["targets"][0]
    row = next(line for line in render("full", a_run(result, verbose=True)).splitlines() if "cortex-m4" in line)
    size = f"{path.stat().st_size:,}"
    assert row.split()[-3:] == [size, "?", "?"]  # flash, arena, scratch
    assert main(["layers", "--isolated", "--target", "cortex-m4", str(path)]) == 0
    told(capsys.readouterr().out)


def test_json_and_sarif_have_the_same_summary():
    finding = routing_miss()
    finding.properties["fixable"] = True
    file = FileResult(
        "m.onnx", (finding, wrong_result()), Level.WARNING, summary=FileSummary((a_target(),), 900, 0, 64)
    )
    (told,) = json.loads(render("json", a_run(file)))["files"]
    (run,) = json.loads(render("sarif", a_run(file)))["runs"]
    assert run["properties"]["summaries"] == [{"path": "m.onnx", **told["summary"]}]
    assert (told["summary"]["findings"], told["summary"]["fixable"], told["summary"]["arena_at_least"]) == (2, 1, 64)
    assert told["summary"]["targets"][0]["cmsis_nn"] == {"layers": 3, "macs": 900, "nodes": []}


@given(random_models(GEOMETRY))
@settings(max_examples=draws(30), deadline=None)
def test_the_summary_adds_up_what_layers_shows(case):
    summary, report = summarize(analysed(case[0])), layered(case[0])
    rows, totals = report.rows, report.totals
    assert [target.instructions for target in summary.targets] == [total.instructions for total in totals if rows]
    for target in summary.targets:
        mine = [row for row in rows if row["target"] == target.target]
        layers = [row for row in mine if row["cause"] != "layout"]  # a copy is no layer
        for share, verdict in ((target.reference_code, "reference code"), (target.no_kernel, "no kernel")):
            assert share.nodes == tuple(row["node"] for row in layers if row["verdict"] == verdict)
        open_cost = [row for row in mine if row["instructions"] is None]
        assert target.unknown_cost == sum("instructions_range" not in row for row in open_cost)
        assert target.instructions == sum(row["instructions"] or 0 for row in mine)


def test_findings_of_two_effects_are_not_one():
    """What decides a verdict was folded into a note that does not, and not shown."""
    from dataclasses import replace

    from onnxlint_cmsis.ground.findings import Effect

    beside = replace(routing_miss(node="slice"), group="same", effect=Effect.REFERENCE)
    unknown = replace(routing_miss(node="sub"), group="same", effect=Effect.UNKNOWN)
    first, second = grouped([beside, unknown])
    assert (first.location.node, second.location.node) == ("sub", "slice")
    assert first.others == second.others == ()


def test_equal_causes_are_one_finding_with_one_fingerprint(told):
    from dataclasses import replace

    alike = [replace(routing_miss(node=f"n{i}"), group="same") for i in range(5)]
    (finding,) = grouped(alike)
    told(finding.message)
    (fewer,) = grouped(alike[1:])
    assert fingerprints([finding]) == fingerprints([fewer]) != fingerprints(alike[:1])
    assert len(grouped([*alike, wrong_result()])) == 2
    assert [finding.others for finding in grouped([routing_miss(), routing_miss()])] == [(), ()]


def test_what_a_runtime_refuses_counts_as_no_kernel_and_not_as_reference_code():
    data = model_text("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (int8[1, 4, 5, 5] x, int8[1, 4, 5, 5] z) => (int8[1, 8, 5, 5] y)
        <float s = {1}, float t = {2}, int8 o = {0}> {
            a = DequantizeLinear(x, s, o)
            b = DequantizeLinear(z, t, o)
            c = Concat<axis = 1>(a, b)
            y = QuantizeLinear(c, t, o)
        }
    """).SerializeToString()
    for runtime, expected in (("direct", (1, 0)), ("tflm", (0, 1))):
        (target,) = summarize(analysed(data, targets=["cortex-m4"], runtime=runtime)).targets
        assert (target.reference_code.layers, target.no_kernel.layers) == expected
