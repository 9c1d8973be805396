"""What GitHub and other readers need of the SARIF, beyond what the validator sees; and the validator."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from urllib.parse import unquote

import pytest

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.checks.rule_registry import check_of_kind, every_rule
from onnxlint_cmsis.cmsis_nn.library import all_hazards
from onnxlint_cmsis.ground.findings import Location, PythonPlace
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.output import project
from onnxlint_cmsis.output.formats import render
from support import paths
from support.cli_fakes import NASTY, a_run, note, routing_miss, unreadable, wrong_result
from support.goldens import check_golden
from support.sarif_validator import complaints, needs_multitool

GOLDEN = paths.GOLDEN


def result(path, *findings, **more):
    return FileResult(path, findings, Level.WARNING, **more)


RUNS = {
    "findings": lambda: a_run(
        result("models/a b#%é.onnx", routing_miss(), routing_miss(), wrong_result(), note(), notes=("as s8",)),
        result("models/n.onnx", routing_miss(node=NASTY), wrong_result(node="Conv\n2")),
    ),
    "outside": lambda: a_run(result("../out/x.onnx", note()), result("/abs/y.onnx", note()), result("in.onnx")),
    "clean": lambda: a_run(result("a.onnx"), exit_code=0),
    "nothing": lambda: a_run(exit_code=0),
    "unreadable": lambda: a_run(result("bad.onnx", unreadable(), readable=False), exit_code=2, category="night"),
    "internal-error": lambda: a_run(result("odd.onnx", error="RuntimeError: x"), exit_code=2),
    "configuration": lambda: a_run(result("pyproject.toml", unreadable(), model=False)),
}


def sarif(name):
    log = json.loads(render("sarif", RUNS[name]()))
    assert len(log["runs"]) == 1
    return log["runs"][0]


@pytest.fixture(params=RUNS)
def run(request):
    return sarif(request.param)


def artifact_locations(node):
    if isinstance(node, dict):
        if "artifactLocation" in node:
            yield node["artifactLocation"]
        for value in node.values():
            yield from artifact_locations(value)
    elif isinstance(node, list):
        for value in node:
            yield from artifact_locations(value)


def test_log_names_version_and_schema():
    log = json.loads(render("sarif", RUNS["clean"]()))
    assert (log["version"], log["$schema"]) == ("2.1.0", "https://json.schemastore.org/sarif-2.1.0.json")


def test_results_are_there_even_when_empty(run):
    assert isinstance(run["results"], list)


def test_every_result_has_level_place_and_fingerprint():
    results = [(run, result) for run in map(sarif, RUNS) for result in run["results"]]
    assert results
    for run, result in results:
        assert result["level"] in ("note", "warning", "error")
        assert result["message"]["text"]
        assert len(result["locations"]) == 1
        physical = result["locations"][0]["physicalLocation"]
        assert physical["region"] == {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1}
        assert result["partialFingerprints"]["primaryLocationLineHash"]
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_fingerprints_are_unique_in_a_file():
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in sarif("findings")["results"][:4]]
    assert len(set(prints)) == 4


def test_uris_are_relative_encoded_and_agree_with_the_artifacts():
    locations = [(run, location) for run in map(sarif, RUNS) for location in artifact_locations(run["results"])]
    assert locations
    for run, location in locations:
        uri = location["uri"]
        assert not uri.startswith(("/", "./", "../"))
        assert "/../" not in uri
        assert "/./" not in uri
        assert uri.isascii()
        assert not set(uri) & set(' #<>"\\')
        artifact = run["artifacts"][location["index"]]["location"]
        assert (artifact["uri"], artifact.get("uriBaseId")) == (uri, location.get("uriBaseId"))


def test_an_image_is_told_of_at_its_first_model_and_each_path_is_looked_up_once(monkeypatch):
    asked = []
    monkeypatch.setattr("os.path.realpath", lambda path: asked.append(str(path)) or str(path).replace("link", "a.elf"))
    models = [result(f"{number}.onnx", firmware=("link", "a.elf", "")[number % 3]) for number in range(60)]
    images = [result(name, note(), model=False) for name in ("a.elf", "b.elf")]
    results = json.loads(render("sarif", a_run(*models[2:], *images)))["runs"][0]["results"]
    places = [row["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for row in results]
    assert places == ["3.onnx", "b.elf"]
    assert len(asked) == 4


def test_uris_decode_to_the_paths():
    assert [unquote(artifact["location"]["uri"]) for artifact in sarif("findings")["artifacts"]] == [
        "models/a b#%é.onnx",
        "models/n.onnx",
    ]


def test_files_outside_of_the_working_directory_have_a_base():
    run = sarif("outside")
    assert run["originalUriBaseIds"] == {"FILESYSTEM": {"uri": "file:///"}}
    assert [(artifact["location"]["uri"], artifact["location"].get("uriBaseId")) for artifact in run["artifacts"]] == [
        ("out/x.onnx", "FILESYSTEM"),
        ("abs/y.onnx", "FILESYSTEM"),
        ("in.onnx", None),
    ]


def test_rules_are_those_of_the_table_in_full(run):
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in every_rule()]
    for rule, row in zip(rules, every_rule(), strict=True):
        assert rule["shortDescription"]["text"] == row.summary
        assert 0 < len(rule["fullDescription"]["text"]) <= 1024
        assert rule["help"]["text"] == rule["help"]["markdown"]
        links = re.findall(r"\]\(([^)]*)\)", rule["help"]["markdown"])
        assert all(link.startswith("https://") for link in links)
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] == row.level.name.lower()
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert 0 < len(rule["properties"]["tags"]) <= 10
        assert "security-severity" not in rule["properties"]


def test_rules_link_to_their_page_once_the_docs_are_published():
    assert sarif("clean")["tool"]["driver"]["rules"]
    for rule in sarif("clean")["tool"]["driver"]["rules"]:
        assert rule["helpUri"] == project.rule_page(rule["id"])


def test_driver():
    driver = sarif("clean")["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("onnxlint-cmsis", driver["version"])
    assert driver["informationUri"].startswith("https://")


@pytest.mark.parametrize(
    ("name", "successful", "levels"),
    [
        ("findings", True, ["note"]),
        ("clean", True, []),
        ("unreadable", True, ["error"]),
        ("internal-error", False, ["error"]),
    ],
)
def test_invocation(name, successful, levels):
    (invocation,) = sarif(name)["invocations"]
    assert invocation["executionSuccessful"] is successful
    assert invocation["workingDirectory"] == {"uri": "file:///repo/"}
    assert [notification["level"] for notification in invocation.get("toolExecutionNotifications", [])] == levels


def test_category_is_there_only_when_given():
    assert sarif("unreadable")["automationDetails"] == {"id": "night/"}
    assert "automationDetails" not in sarif("clean")


def test_a_tensor_of_a_subgraph_has_its_path_once():
    finding = replace(
        wrong_result(), location=Location("m.onnx", "c", "Conv", "If_0.then_branch/a", "If_0.then_branch")
    )
    log = json.loads(render("sarif", a_run([finding])))
    places = log["runs"][0]["results"][0]["locations"][0]["logicalLocations"]
    assert [location["fullyQualifiedName"] for location in places] == ["If_0.then_branch/c", "If_0.then_branch/a"]
    assert [location["name"] for location in places] == ["c", "a"]


def test_precision_is_very_high_only_where_everything_was_run():
    rules = json.loads(render("sarif", a_run([])))["runs"][0]["tool"]["driver"]["rules"]
    precisions = {rule["id"]: rule["properties"]["precision"] for rule in rules}
    read = {check_of_kind(row.kind).rule.code for row in all_hazards()}
    assert read and all(precisions[code] == "high" for code in read)
    assert precisions["CNN102"] == "very-high"


def test_node_and_bytes():
    miss, _, wrong, _ = sarif("findings")["results"][:4]
    names = [
        (location["kind"], location["fullyQualifiedName"]) for location in miss["locations"][0]["logicalLocations"]
    ]
    assert names == [("node", "Conv_1"), ("tensor", "x")]
    assert wrong["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "If_0/then_branch/Conv_2"
    assert miss["relatedLocations"][0]["physicalLocation"]["region"] == {"byteOffset": 120, "byteLength": 34}
    assert "relatedLocations" not in wrong
    at_start = sarif("findings")["results"][3]
    assert at_start["relatedLocations"][0]["physicalLocation"]["region"]["byteOffset"] == 0, "0 is an offset, not unset"


def test_nothing_unset_is_written(run):
    def walk(node):
        if isinstance(node, dict):
            for name, value in node.items():
                assert value is not None, name
                assert value != -1, name
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk({name: value for name, value in run.items() if name != "properties"})


def test_golden():
    log = json.loads(render("sarif", RUNS["findings"]()))
    driver = log["runs"][0]["tool"]["driver"]
    driver["rules"] = [rule["id"] for rule in driver["rules"] if rule["id"] == "CNN102"]
    for result in log["runs"][0]["results"]:
        del result["ruleIndex"]  # changes with every new rule
    del driver["version"], driver["semanticVersion"]
    check_golden("findings.sarif", json.dumps(log, indent=1) + "\n")


@needs_multitool
def test_the_validator_is_silent(tmp_path):
    files = [tmp_path / f"{name}.sarif" for name in RUNS]
    for file, make in zip(files, RUNS.values(), strict=True):
        file.write_text(render("sarif", make()))
    assert complaints(files, tmp_path) == []


@needs_multitool
def test_the_validator_sees_what_is_wrong(tmp_path):
    text = render("sarif", RUNS["findings"]())
    no_message, no_region = json.loads(text), json.loads(text)
    del no_message["runs"][0]["results"][0]["message"]
    del no_region["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    files = [tmp_path / f"{name}.sarif" for name in ("message", "region", "broken")]
    for file, content in zip(files, (json.dumps(no_message), json.dumps(no_region), "{"), strict=True):
        file.write_text(content)
    rules = {json.loads(line)["ruleId"] for line in complaints(files, tmp_path)}
    assert {"JSON1002", "GH1003", "JSON0001"} <= rules


def test_a_layer_of_pytorch_leads_to_its_line_where_the_file_is_there(tmp_path):
    (tmp_path / "models.py").write_text("x = 1\n")
    finding = routing_miss()
    absolute = str(tmp_path / "models.py")
    for file, there in (("models.py", True), (absolute, True), ("gone.py", False), ("/etc/passwd", False)):
        line = PythonPlace("encoder.0.conv", file, 46)
        run = a_run(result("m.onnx", finding, places={finding.location.node: line}), folder=str(tmp_path))
        (reported,) = json.loads(render("sarif", run))["runs"][0]["results"]
        related = [location["physicalLocation"] for location in reported.get("relatedLocations", ())]
        lines = [
            location["region"]["startLine"]
            for location in related
            if location["artifactLocation"]["uri"] == "models.py"
        ]
        assert lines == [46] * there
        text = render("full", run)
        assert f"'{finding.location.node}' ({file.rpartition('/')[2]}:46)" in text
