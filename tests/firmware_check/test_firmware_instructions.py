"""Instructions of layers: predicted against counted, what is said where they disagree, and what is not judged."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firmware_check import cli, compilers, instructions
from firmware_check.build import Bench
from firmware_check.compilers import CLANG
from firmware_check.instructions import AGREES, DISAGREES, NOT_JUDGED, Instructions, instructions_of
from firmware_check.library import Library, open_library
from firmware_check.options import board_named
from firmware_check.program import Array, Quantization, Step, Value
from onnxlint_cmsis.cmsis_nn.cost_error import ZERO, DocumentedError
from onnxlint_cmsis.cmsis_nn.library import cost
from onnxlint_cmsis.ground.types import Dims, KernelCall
from support import firmware_models as models
from support.firmware_runs import CORES, data, needs_firmware
from support.goldens import Told

FOUR = DocumentedError(4, 100)
DENSE = KernelCall("fully_connected_s8", Dims(1, 1, 1, 64), Dims(64, 1, 1, 24), Dims(1, 1, 1, 24), per_channel=False)


@pytest.mark.parametrize(
    ("ends", "counted", "verdict"),
    [
        ((10_000, 10_000), 10_500, AGREES),
        ((10_000, 10_000), 10_501, DISAGREES),
        ((10_000, 10_000), 9_499, DISAGREES),
        ((200, 200), 300, AGREES),  # percent of a tiny layer say nothing
        ((10_000, 20_000), 15_000, AGREES),
        ((10_000, 20_000), 20_900, AGREES),
        ((10_000, 20_000), 21_000, DISAGREES),
        ((10_000, 20_000), 9_000, DISAGREES),
    ],
)
def test_what_is_counted_agrees_within_the_documented_error(ends: tuple[int, int], counted: int, verdict: str) -> None:
    assert Instructions(counted, ends, FOUR).verdict == verdict


def test_a_disagreement_says_what_was_predicted_counted_and_documented(told: Told) -> None:
    told(
        [
            Instructions(1_290, (1_000, 1_000), FOUR).disagreement,
            Instructions(9_000, (10_000, 20_000), FOUR).disagreement,
        ]
    )


def bench(cpu: str = "cortex-m4", release: str = "7.0.0", **more: object) -> Bench:
    library = replace(open_library(""), release=release)
    return Bench(board_named(cpu), library, **more)  # type: ignore[arg-type]


def step(form: str = "fully_connected", function: str = "arm_fully_connected_s8", **numbers: object) -> Step:
    source, output = (Value(name, index, (4, 8), (0, 1), Quantization(0.1, 0)) for index, name in enumerate("xy"))
    return Step("y", "Gemm", form, (source,), output, DENSE if function else None, function, numbers=numbers)


def judged(layer: Step, on: Bench, counted: int, status: int = 0) -> Instructions:
    return instructions_of(layer, on, status, counted)


def versioned(monkeypatch: pytest.MonkeyPatch, gcc: str, clang: str = "19.1.7") -> None:
    said = {"gcc": f"arm-none-eabi-gcc (15) {gcc}", "clang": f"clang version {clang}"}
    monkeypatch.setattr(compilers, "version_of", lambda row: said[row.name])


@pytest.mark.parametrize(
    "cpu", ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m23", "cortex-m33", "cortex-m55"]
)
def test_a_call_is_judged_on_each_board(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    versioned(monkeypatch, "12.2.1")
    number = cost(DENSE, bench(cpu).target)
    assert number
    assert judged(step(), bench(cpu), number).verdict == AGREES
    assert judged(step(), bench(cpu), 2 * number).verdict == DISAGREES


@pytest.mark.parametrize(
    ("gcc", "cpu", "why"),
    [
        ("13.2.1", "cortex-m55", ""),
        ("13.3.0", "cortex-m55", "gcc 13.2 was measured, not gcc 13.3.0"),
        ("14.2.1", "cortex-m4", "gcc 13.2 was measured, not gcc 14.2.1"),
        ("12.20.1", "cortex-m4", "gcc 12.2 was measured, not gcc 12.20.1"),
        ("13.2.1", "cortex-m0", "no number is known of arm_fully_connected_s8 here"),
        ("11.3.1", "cortex-m4", "no number is known of code of gcc 11.3.1"),
    ],
)
def test_another_compiler_than_the_measured_one_is_named(
    gcc: str, cpu: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    versioned(monkeypatch, gcc)
    assert judged(step(), bench(cpu), 1).unjudged == why


def test_c_code_in_place_of_inline_assembly_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    versioned(monkeypatch, "12.2.1")
    assert judged(step(), bench(compiler=CLANG), 1).verdict == DISAGREES
    assert "inline assembly" in judged(step(), bench("cortex-m55", compiler=CLANG), 1).unjudged


def test_what_returns_an_error_and_what_calls_several_times_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    versioned(monkeypatch, "12.2.1")
    assert judged(step(), bench(), 1, status=-1).unjudged == "it returned status -1"
    assert judged(step(block=4), bench(), 1).verdict == NOT_JUDGED


@pytest.mark.parametrize(
    ("form", "numbers", "within"),
    [
        ("reference_lookup", {}, 200),
        ("reference_requantize", {}, 1_600),
        ("reference_move", {"places": [(4, 1), (8, 4)]}, 800),
    ],
)
def test_reference_code_is_judged_by_its_range(
    form: str, numbers: dict[str, object], within: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    versioned(monkeypatch, "12.2.1")
    plain = step(form, "", **numbers)
    assert judged(plain, bench(), within).verdict == AGREES
    assert judged(plain, bench(), 10_000).verdict == DISAGREES
    versioned(monkeypatch, "13.2.1")
    assert judged(plain, bench(), within).unjudged == "gcc 12.2 was measured, not gcc 13.2.1"
    assert judged(step("reference_softmax", ""), bench(), 1).verdict == NOT_JUDGED


def test_a_changed_library_is_not_judged(tmp_path: Path) -> None:
    carried = open_library("")
    assert carried.as_measured
    root = tmp_path / "changed"
    shutil.copytree(carried.root, root)
    changed = Library(root, "4.0.0", (), str(root))
    assert not changed.as_measured
    on = replace(bench(), library=changed)
    assert "is not the CMSIS-NN 4.0.0 that was measured" in judged(step(), on, 1).unjudged


def test_outputs_of_channels_of_zeros_may_take_less(monkeypatch: pytest.MonkeyPatch) -> None:
    versioned(monkeypatch, "12.2.1")
    weights = np.ones((8, 64))
    weights[:6] = 0
    live, dead = (
        replace(step(), call=DENSE._replace(output_dims=Dims(1, 1, 1, 8)), arrays=(Array("weights", "int8_t", values),))
        for values in (np.ones((8, 64)), weights)
    )
    number = judged(live, bench(), 1).predicted
    assert number
    least = number[0] - judged(live, bench(), 1).allowed
    assert [judged(layer, bench(), least).verdict for layer in (live, dead)] == [AGREES, AGREES]
    below = least - ZERO * 6 * 4
    assert [judged(layer, bench(), below).verdict for layer in (live, dead)] == [DISAGREES, AGREES]
    assert judged(dead, bench(), below - 1).verdict == DISAGREES


@needs_firmware
def test_layers_agree_on_their_instructions_on_each_board(tmp_path: Path) -> None:
    boards = "cortex-m0,cortex-m7,cortex-m23,cortex-m33"
    checks = [*data(models.one_layer(tmp_path), *CORES, "--target", boards)["checks"]]
    assert checks
    for check in checks:
        assert check["instructions_verdict"] == "agrees"
        assert check["predicted"]["layers"] == len(check["layers"])


@needs_firmware
def test_a_wrong_number_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, written = models.one_layer(tmp_path), {name: str(tmp_path / name) for name in ("json", "sarif")}
    options = [path, *(word for name, file in written.items() for word in (f"--{name}", file))]
    assert cli.main(options) == cli.AGREES
    assert "DISAGREES" not in capsys.readouterr().out
    monkeypatch.setattr(instructions, "cost_of_route", lambda *_: 100)
    assert cli.main(options) == cli.DISAGREES
    said = capsys.readouterr().out
    assert "FWC004 instructions: 100 predicted" in " ".join(said.split())
    (check,) = json.loads(Path(written["json"]).read_text())["checks"]
    assert check["instructions_verdict"] == "DISAGREES"
    assert {layer["instructions"]["verdict"] for layer in check["layers"] if layer["function"]} == {"DISAGREES"}
    (run,) = json.loads(Path(written["sarif"]).read_text())["runs"]
    assert {result["ruleId"] for result in run["results"]} == {"FWC004"}


@needs_firmware
def test_what_is_not_judged_is_named_in_each_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(instructions, "cost_of_route", lambda *_: None)
    written = str(tmp_path / "sarif")
    assert cli.main([models.one_layer(tmp_path), "--sarif", written]) == cli.AGREES
    reason = "no number is known of arm_convolve_s8 here"
    assert f"instructions not judged: y: {reason}" in " ".join(capsys.readouterr().out.split())
    (run,) = json.loads(Path(written).read_text())["runs"]
    texts = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert any(reason in text for text in texts)
