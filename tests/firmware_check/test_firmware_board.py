"""The firmware check as a whole: real builds with the default library, run under QEMU."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import example_models as models
from firmware_check import run
from firmware_check.cli import main
from support import paths
from support.firmware_runs import CORES, MISSING, broken_library, check, data, needs_firmware, running
from support.goldens import Told
from support.nightly import one_of

ROOT = paths.ROOT
MISSING += [name for name in ("jinja2", "bakenn") if find_spec(name) is None]

pytestmark = needs_firmware


@pytest.mark.parametrize(
    "make", [models.mobilenet, models.residual, models.one_dimensional], ids=lambda make: make.__name__
)
def test_dispatch_is_as_predicted_on_every_instruction_set(make, tmp_path: Path) -> None:
    report = data(make(tmp_path), *CORES)
    assert [check["board"] for check in report["checks"]] == ["mps2-an385", "mps2-an386", "mps3-an547"]
    for board in report["checks"]:
        assert board["agrees"]
        assert not board["not_run"]
        called = [layer for layer in board["layers"] if layer["function"]]
        assert len(called) >= 3
        for layer in called:
            assert layer["observed"]["chain"] == layer["predicted"]["chain"] != []
            assert layer["observed"]["effective"] == layer["predicted"]["effective"]
        assert all(layer["differences"]["largest"] <= 1 for layer in board["layers"])
        assert max(output["largest"] for output in board["outputs"]) <= 2


def test_every_other_cpu_runs_on_its_board(tmp_path: Path) -> None:
    report = data(models.one_dimensional(tmp_path), *[f"--target=cortex-{name}" for name in ("m0", "m7", "m33")])
    assert [check["board"] for check in report["checks"]] == ["mps2-an385", "mps2-an500", "mps2-an505"]
    assert all(check["agrees"] for check in report["checks"])


def test_runs_are_repeatable_to_the_instruction(tmp_path: Path) -> None:
    model = models.one_dimensional(tmp_path)
    assert data(model, *CORES) == data(model, *CORES)


def test_a_host_that_answers_late_is_in_no_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The clock runs while the firmware waits: counts depended on where between two ticks a layer began."""
    model, counts, answer = models.one_dimensional(tmp_path), set(), run._Host._put
    for delay in (0.0, 0.0011, 0.0037, 0.0073):
        with monkeypatch.context() as patch:
            patch.setattr(run._Host, "_put", lambda *given, wait=delay: (time.sleep(wait), answer(*given)))
            assert main([model, *CORES, "--json", "-"]) == 0
        checks = json.loads(capsys.readouterr().out)["checks"]
        counts.add(tuple(layer["observed"]["instructions"] for check in checks for layer in check["layers"]))
    assert len(counts) == 1


def test_each_layer_alone_gives_what_the_whole_gives(tmp_path: Path) -> None:
    model = models.residual(tmp_path)
    whole, alone = data(model)["checks"][0], data(model, "--per-layer")["checks"][0]
    assert alone["per_layer"]
    assert alone["agrees"]
    assert [layer["observed"]["chain"] for layer in whole["layers"]] == [
        layer["observed"]["chain"] for layer in alone["layers"]
    ]


def test_a_padded_multiplier_changes_the_static_kernel_and_saves_instructions(tmp_path: Path) -> None:
    pair = models.multiplier(tmp_path, 3), "--against", models.multiplier(tmp_path, 4)
    comparison = data(*pair)["comparisons"][0]
    layer = comparison["layers"][0]
    assert layer["before"]["effective"] == "depthwise_conv_s8_generic"
    assert layer["after"]["effective"] == "depthwise_conv_s8_mult_4"
    assert comparison["instructions"][1] < 0.8 * comparison["instructions"][0]
    assert [output["count"] for output in comparison["outputs"]] == [0]
    assert comparison["outputs_from"] == "device"


def test_a_model_without_its_dead_channels_is_strictly_better(tmp_path: Path) -> None:
    report = data(models.dead_lanes(tmp_path, 9), "--against", models.dead_lanes(tmp_path, 0), "--strict")
    comparison = report["comparisons"][0]
    assert all(layer["after"]["instructions"] < layer["before"]["instructions"] for layer in comparison["layers"])
    assert comparison["outputs"][0]["count"] == 0


def test_strict_refuses_a_layer_that_got_worse(tmp_path: Path) -> None:
    report = data(models.dead_lanes(tmp_path, 0), "--against", models.dead_lanes(tmp_path, 9), "--strict", code=1)
    codes = [disagreement["code"] for disagreement in report["comparisons"][0]["disagreements"]]
    assert set(codes) == {"FWC006"}
    assert len(codes) == 4


def test_changed_outputs_are_seen(tmp_path: Path) -> None:
    before = models.multiplier(tmp_path, 3)
    after = tmp_path / "after.onnx"
    after.write_bytes(Path(before).read_bytes())
    change_a_weight(after)
    report = data(before, "--against", str(after), code=1)
    assert [disagreement["code"] for disagreement in report["comparisons"][0]["disagreements"]] == ["FWC005"]


def change_a_weight(path: Path) -> None:
    """Another sign for one weight, which leaves every scale as it is."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(path)
    for number, tensor in enumerate(model.graph.initializer):
        if tensor.name == "p":
            values = numpy_helper.to_array(tensor).copy()
            values[0, 0] *= -1
            model.graph.initializer[number].CopyFrom(numpy_helper.from_array(values, "p"))
    onnx.save(model, path)


def test_a_scratch_overrun_is_seen(tmp_path: Path, told: Told) -> None:
    layer = data(models.wide_padding(tmp_path, 3), code=1)["checks"][0]["layers"][0]
    assert layer["disagreements"] == []
    (defect,) = layer["defects"]
    assert defect["code"] == "CNN303"
    told(defect["text"])


def test_a_known_wrong_result_is_seen_and_named(tmp_path: Path) -> None:
    layer = data(models.right_padding(tmp_path), code=1)["checks"][0]["layers"][0]
    assert layer["predicted"]["hazards"] == ["dw-3x3-padding-after"]
    (wrong,) = layer["defects"]
    assert wrong["code"] == "CNN302"
    assert "dw-3x3-padding-after" in wrong["text"]


def test_reports_in_every_form(tmp_path: Path, told: Told) -> None:
    files = {name: str(tmp_path / f"out.{name}") for name in ("json", "markdown", "sarif", "plot")}
    asked = [part for name, path in files.items() for part in (f"--{name}", path)]
    done = check(models.right_padding(tmp_path), *asked, "--sarif-category", "board")
    assert done.returncode == 1
    assert "CNN302" in done.stdout
    told(done.stdout)
    log = json.loads(Path(files["sarif"]).read_text(encoding="utf-8"))
    assert log["runs"][0]["automationDetails"] == {"id": "board/"}
    results = log["runs"][0]["results"]
    assert {result["ruleId"] for result in results} == {"CNN302"}
    assert all(result["partialFingerprints"]["primaryLocationLineHash"] for result in results)
    told(Path(files["markdown"]).read_text(encoding="utf-8"))
    assert "<svg" in Path(files["plot"]).read_text(encoding="utf-8")


def test_the_trace_shows_who_called_whom(tmp_path: Path) -> None:
    done = check(models.multiplier(tmp_path, 4), "--trace")
    lines = [line.strip() for line in done.stdout.splitlines()]
    position = lines.index("arm_depthwise_conv_wrapper_s8, status 0")
    assert lines[position + 1 : position + 3] == ["arm_depthwise_conv_s8, status 0", "depthwise_conv_s8_mult_4"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("for (;;) { __asm__ volatile(\"\"); }", "the firmware did not end within 3 s"),
        ("__asm__ volatile(\"udf #0\");", "the firmware faulted in layer 'y'"),
    ],
    ids=["endless", "fault"],
)  # fmt: skip
def test_firmware_that_hangs_or_faults_is_reported_in_one_line(body: str, said: str, tmp_path: Path) -> None:
    library = broken_library(tmp_path, body)
    model = models.save(
        tmp_path, "one", [models.conv("x", "w", "y")], ([1, 3, 4, 4], [1, 4, 3, 3]),
        models.with_biases({"w": models.filters(4, 3, 2, 2)}),
    )  # fmt: skip
    done = check(model, "--cmsis-nn", str(library), "--timeout", "3")
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not running(str(tmp_path))


def test_what_does_not_fit_the_board_is_said(tmp_path: Path, told: Told) -> None:
    done = check(models.large(tmp_path), "--target", "cortex-m55")
    assert done.returncode == 2
    told(done.stderr)
    assert len(done.stderr.splitlines()) == 1


def test_layers_beside_one_that_does_not_fit_the_board_run(tmp_path: Path, told: Told) -> None:
    weights = models.with_biases({"w": models.filters(800, 4, 1, 1), "v": models.filters(800, 800, 1, 1)})
    layers = [models.conv("x", "w", "m"), models.conv("m", "v", "y")]
    model = models.save(tmp_path, "half", layers, ([1, 4, 2, 2], [1, 800, 2, 2]), weights)
    (check,) = data(model, "--per-layer", "--target", "cortex-m55")["checks"]
    assert [layer["node"] for layer in check["layers"]] == ["m"]
    (left,) = check["not_run"]
    assert left["node"] == "y"
    told(left["reason"])


def test_a_model_of_which_no_layer_fits_the_board_is_said(tmp_path: Path, told: Told) -> None:
    done = check(models.large(tmp_path), "--target", "cortex-m55", "--per-layer")
    assert done.returncode == 2
    told(done.stderr)
    assert "--per-layer" not in done.stderr


def test_a_sweep_measures_what_the_cost_model_predicts(tmp_path: Path) -> None:
    from onnxlint_cmsis.cmsis_nn.library import cost
    from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
    from support.targets import target_of

    done = check("sweep", "--kind", "dw", "--every", "5", "--target", "cortex-m4", folder=tmp_path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 12
    for row in rows:
        call = KernelCall(
            "depthwise_s8", Dims(row["n"], row["h"], row["w"], row["in_c"]),
            Dims(1, row["kh"], row["kw"], row["out_c"]), Dims(row["n"], row["out_h"], row["out_w"], row["out_c"]),
            padding=(pad := Pair(row["pad_h"], row["pad_w"])), pad_after=pad, ch_mult=row["ch_mult"],
        )  # fmt: skip
        predicted = cost(call, target_of("cortex-m4", "4.0.0"))
        assert predicted is not None
        assert abs(row["instructions"] - predicted) <= max(0.05 * predicted, 200), row


VECTORS = paths.SHARED / "vectors" / "cost"


@pytest.mark.skipif(not VECTORS.is_dir(), reason="needs the cost vectors in a folder `shared` beside the project")
@pytest.mark.parametrize(
    ("core", "isa"), one_of(3, [("cortex-m55", "mve"), ("cortex-m3", "scalar"), ("cortex-m4", "dsp")])
)
def test_a_sweep_agrees_with_the_recorded_rows_to_1_percent(core: str, isa: str) -> None:
    import gzip

    vectors = VECTORS / f"v4.0.0-{isa}.jsonl.gz"
    recorded = [json.loads(line) for line in gzip.decompress(vectors.read_bytes()).splitlines()]
    done = check("sweep", "--like", str(vectors), "--target", core)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 3364  # every row of a kind that the default library has
    shape = [name for name in rows[0] if name not in ("instructions", "reps", "version", "isa")]
    known = {tuple(row[name] for name in shape): row for row in recorded}
    for row in rows:
        before = known[tuple(row[name] for name in shape)]
        assert set(row) == set(before)
        assert (row["version"], row["isa"]) == (before["version"], before["isa"])
        # reading the bias as a pointer takes the call an instruction or two more than when the rows were recorded
        assert abs(row["instructions"] - before["instructions"]) <= 0.01 * before["instructions"] + 2, row


def test_what_fix_writes_is_proven_on_the_device(tmp_path: Path) -> None:
    """Dead channels cut: strictly better. A multiplier padded: another static kernel, fewer instructions."""
    folder = tmp_path / "fixed"
    folder.mkdir()
    before = [models.dead_lanes(tmp_path, 9), models.multiplier(tmp_path, 3)]
    after = [models.dead_lanes(folder, 9), models.multiplier(folder, 3)]
    fixer = [sys.executable, "-m", "onnxlint_cmsis", "--isolated", "--fix-only", "--target", "m4", "--release", "4.0.0"]
    fixed = subprocess.run([*fixer, *after], cwd=ROOT, capture_output=True, check=False)
    assert fixed.returncode == 0, fixed.stderr
    cut = data(before[0], "--against", after[0], "--strict")["comparisons"][0]
    padded = data(before[1], "--against", after[1])["comparisons"][0]
    for comparison in (cut, padded):
        assert comparison["instructions"][1] < 0.7 * comparison["instructions"][0]
        assert [output["count"] for output in comparison["outputs"]] == [0]
    assert padded["layers"][0]["after"]["effective"] == "depthwise_conv_s8_mult_4"
