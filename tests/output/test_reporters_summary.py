"""The summary of a file in every format that has it."""

from __future__ import annotations

import json

from hypothesis import given, settings

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.analysis.results import FileResult, FileSummary, LayerShare, TargetSummary, fingerprints, grouped
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.linting.engine import layers_report
from onnxlint_cmsis.output.formats import render
from support.cli_fakes import TARGET, a_run, routing_miss, wrong_result
from support.models import text as model_text
from support.random_models import GEOMETRY, random_models
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

NONE = LayerShare(0, 0, ())


def a_target(**more):
    first = TargetSummary(TARGET, LayerShare(3, 900, ()), NONE, NONE, NONE, 12345, "cortex-m55", 0, 640, 96)
    return first._replace(**more)


def lines(summary):
    text = render("full", a_run(FileResult("m.onnx", (), Level.WARNING, summary=summary)))
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


def test_a_model_that_runs_in_cmsis_nn_says_so():
    assert lines(FileSummary((a_target(),), 900, 0, 2048)) == [
        "layers   3 of 3 in CMSIS-NN (100 % of 900 MACs)",
        "cost     12,345 predicted instructions (not cycles)",
        "memory   constants 640; arena at least 2,048; scratch 96 bytes",
        "findings 0, 0 fixable with --fix",
    ]


def test_what_does_not_run_is_named_with_its_share():
    beside = {"plain": LayerShare(4, 1, tuple("abcd")), "refused": LayerShare(1, 0, ("e",))}
    found = lines(FileSummary((a_target(**beside, unknown_cost=5),), 901, 1, None))
    assert found[:5] == [
        "layers   3 of 8 in CMSIS-NN (99 % of 901 MACs, 1 layer of unknown size left out)",
        "plain    4 in plain code (1 % of MACs): 'a', 'b', 'c' and 1 more",
        "refused  1 in neither (0 % of MACs): 'e'",
        "cost     12,345 predicted instructions (not cycles), 5 layers of unknown cost left out",
        "memory   constants 640; arena unknown; scratch 96 bytes",
    ]


def test_a_sum_of_nothing_known_is_unknown():
    nothing = a_target(target="cortex-m4, CMSIS-NN 7.0.0, gcc", instructions=0, unknown_cost=3)
    assert "cost     unknown" in lines(FileSummary((nothing,), 900, 0, 16))
    assert (
        "cost     12,345 on cortex-m55, unknown on cortex-m4 predicted instructions (not cycles), "
        "1 layer of unknown cost on cortex-m55 left out"
    ) in lines(FileSummary((a_target(unknown_cost=1), nothing), 900, 0, 16))
    assert "cost     0 predicted instructions (not cycles)" in lines(
        FileSummary((a_target(cmsis_nn=NONE, instructions=0),), 0, 0, 16)
    )


def test_targets_that_differ_are_told_apart():
    other = a_target(target="cortex-m4, CMSIS-NN 7.0.0, gcc", plain=LayerShare(1, 90, ("a",)), scratch=0)
    found = lines(FileSummary((a_target(), other), 990, 0, 16))
    assert found[0] == "layers   cortex-m55: 3 of 3 in CMSIS-NN (91 % of 990 MACs)"
    assert found[2] == "plain    cortex-m4: 1 in plain code (9 % of MACs): 'a'"
    assert "scratch 96 on cortex-m55, 0 on cortex-m4 bytes" in found[4]


def test_scratch_that_the_runtime_asks_for_unseen_is_unknown(tmp_path):
    """What a kernel of an audio front end asks for was never measured: no 0 stands beside an unknown arena."""
    model = one_operator("CUSTOM", [tensor("x", [1, 8]), tensor("y", [1, 8])])
    model["operator_codes"][0]["custom_code"] = "SignalRfft"
    path = tmp_path / "m.tflite"
    path.write_bytes(write(model))
    settings = make_settings(targets=["cortex-m4"])
    summary = summarize(ModelAnalysis(str(path), settings.analysis))
    assert (summary.targets[0].arena_used, summary.targets[0].scratch) == (None, None)
    assert "memory   constants 0; arena unknown; scratch unknown" in lines(summary)
    result = FileResult("m.tflite", (), Level.WARNING, summary=summary)
    (told,) = json.loads(render("json", a_run(result)))["files"]
    assert "scratch" not in told["summary"]["targets"][0]


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
@settings(max_examples=30, deadline=None)
def test_the_summary_adds_up_what_layers_shows(made):
    data, chosen = made[0].SerializeToString(), make_settings()
    found = summarize(ModelAnalysis("m.onnx", chosen.analysis, data))
    report = layers_report("m.onnx", chosen, data)
    rows, totals = report.rows, report.totals
    assert [target.instructions for target in found.targets] == [each.instructions for each in totals if rows]
    for target in found.targets:
        mine = [row for row in rows if row["target"] == target.target]
        layers = [row for row in mine if row["cause"] != "layout"]  # a copy is no layer
        for share, verdict in ((target.plain, "plain code"), (target.refused, "refused")):
            assert share.nodes == tuple(row["node"] for row in layers if row["verdict"] == verdict)
        open_cost = [row for row in mine if row["instructions"] is None]
        assert target.unknown_cost == sum("instructions_range" not in row for row in open_cost)
        assert target.instructions == sum(row["instructions"] or 0 for row in mine)


def test_equal_causes_are_one_finding_with_one_fingerprint():
    from dataclasses import replace

    alike = [replace(routing_miss(node=f"n{i}"), cause="same") for i in range(5)]
    (found,) = grouped(alike)
    assert found.message.endswith("The same holds for 'n1', 'n2', 'n3' and 1 more.")
    (fewer,) = grouped(alike[1:])
    assert fingerprints([found]) == fingerprints([fewer]) != fingerprints(alike[:1])
    assert len(grouped([*alike, wrong_result()])) == 2
    assert [each.others for each in grouped([routing_miss(), routing_miss()])] == [(), ()]


def test_what_a_runtime_refuses_counts_as_refused_and_not_as_plain_code():
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
        given_settings = make_settings(targets=["cortex-m4"], runtime=runtime).analysis
        (target,) = summarize(ModelAnalysis("-", given_settings, data)).targets
        assert (target.plain.layers, target.refused.layers) == expected
