"""What a run does around its checks: keeps firmware, outlives a target that cannot run, explains, pairs layers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import example_models as models
from support import firmware_models as more
from support.firmware_runs import check, data, needs_firmware
from support.goldens import Told

pytestmark = needs_firmware

KEPT = {"model.c", "firmware.h", "reference.h", "link.ld", "model.elf", "model.map"}


def names(folder: Path) -> set[str]:
    """Files in a folder."""
    return {path.name for path in folder.iterdir()}


def test_keep_writes_the_firmware_of_each_model_and_target(tmp_path: Path) -> None:
    model, kept = models.residual(tmp_path), tmp_path / "new" / "kept"
    done = check(model, "--against", model, "--target", "m3", "--target", "m4", "--keep", str(kept))
    assert done.returncode == 0, done.stderr
    folders = [f"residual{which}-cortex-{cpu}" for which in ("", "-against") for cpu in ("m3", "m4")]
    assert names(kept) == set(folders)
    for folder in folders:
        assert names(kept / folder) == KEPT
    written = kept / "residual-cortex-m4"
    text = (written / "model.c").read_text(encoding="utf-8")
    assert " bytes of guard" not in text  # the measured build, not the traced one
    listed = subprocess.run(["arm-none-eabi-nm", written / "model.elf"], capture_output=True, text=True, check=True)
    assert " layer_0_weights" in listed.stdout
    assert "model" in (written / "model.map").read_text(encoding="utf-8")


def test_keep_has_each_layer_that_ran_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = check(models.one_dimensional(tmp_path), "--per-layer", "--keep", str(kept))
    assert done.returncode == 0, done.stderr
    (folder,) = kept.iterdir()
    (sources,) = folder.iterdir()
    assert sources.name.startswith("layers_0_")
    assert names(sources) == KEPT


def test_keep_overwrites_nothing(tmp_path: Path, told: Told) -> None:
    model, kept = models.one_dimensional(tmp_path), tmp_path / "kept"
    there = kept / f"{Path(model).stem}-cortex-m4" / "mine"
    there.parent.mkdir(parents=True)
    there.write_text("mine", encoding="utf-8")
    done = check(model, "--keep", str(kept))
    assert (done.returncode, done.stdout) == (2, "")
    told(done.stderr)
    assert names(there.parent) == {"mine"}
    before = Path(model).read_bytes()
    done = check(model, "--keep", model)
    told(done.stderr)
    assert Path(model).read_bytes() == before


def test_keep_has_the_firmware_that_does_not_fit_the_board(tmp_path: Path) -> None:
    weights = models.with_biases(
        {"w": models.filters(620, 830, 1, 1)}
    )  # its constants fit the flash, the code does not
    model = models.save(tmp_path, "wide", [models.conv("x", "w", "y")], ([1, 830, 1, 1], [1, 620, 1, 1]), weights)
    done = check(model, "--target", "m55", "--keep", str(tmp_path / "kept"))
    assert done.returncode == 2
    assert names(tmp_path / "kept" / "wide-cortex-m55") == KEPT - {"model.elf"}


@pytest.mark.parametrize("order", [("m4", "m55"), ("m55", "m4")], ids=["last", "first"])
def test_a_target_that_cannot_run_leaves_the_others_their_reports(
    order: tuple[str, str], tmp_path: Path, told: Told
) -> None:
    weights = models.with_biases({"w": models.filters(700, 1024, 1, 1)})  # fit the M4's board, not the M55's
    shapes = [1, 1024, 1, 1], [1, 700, 1, 1]
    model = models.save(tmp_path, "wide", [models.conv("x", "w", "y")], shapes, weights)
    reports = [f"--{kind}={tmp_path / kind}" for kind in ("json", "markdown", "sarif")]
    done = check(model, *(f"--target={cpu}" for cpu in order), "--runs=1", *reports)
    assert done.returncode == 2
    assert done.stdout.splitlines()[1].startswith(f"{model} on cortex-m4")
    told(done.stderr)
    assert len(done.stderr.splitlines()) == 1
    report = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    assert [check["board"] for check in report["checks"]] == ["mps2-an386"]
    assert [failure["cpu"] for failure in report["could_not_run"]] == ["cortex-m55"]
    told((tmp_path / "markdown").read_text(encoding="utf-8"))
    run = json.loads((tmp_path / "sarif").read_text(encoding="utf-8"))["runs"][0]
    assert run["invocations"] == [{"executionSuccessful": False}]


def test_targets_of_which_none_can_run_are_each_said(tmp_path: Path) -> None:
    done = check(
        models.one_dimensional(tmp_path), "--target=m3", "--target=m55", "--json=-", "--runs=1", "--timeout=0.001"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["cortex-m3", "cortex-m55"]


def test_an_output_further_off_than_any_layer_is_explained(tmp_path: Path, told: Told) -> None:
    markdown = tmp_path / "report.md"
    done = check(more.branches(tmp_path), "--runs", "16", "--markdown", str(markdown))
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "although no layer" in line]
    told(line)
    assert f"* {line}\n" in markdown.read_text(encoding="utf-8")


def test_an_output_as_right_as_its_layers_needs_no_explanation(tmp_path: Path) -> None:
    assert "although no layer" not in check(models.one_dimensional(tmp_path)).stdout


def unnamed(folder: Path, padded: bool) -> str:
    """Two convolutions without names; perhaps behind a Pad that gives the input a channel of zeros."""
    first = models.filters(4, 3, 2, 2)
    weights = models.with_biases({"w0": first, "w1": models.filters(5, 4, 1, 1)})
    nodes = [models.conv("x", "w0", "c"), models.conv("c", "w1", "y")]
    if padded:
        weights["w0"] = np.pad(first, [(0, 0), (0, 1), (0, 0), (0, 0)])
        nodes[0].input[0] = "x_padded"
        nodes.insert(0, helper.make_node("Pad", ["x", "pads"], ["x_padded"]))
    for node in nodes:
        node.name = ""
    path = models.save(folder, "padded" if padded else "plain", nodes, ([1, 3, 4, 4], [1, 5, 3, 3]), weights)
    model = onnx.load(path)
    if padded:
        model.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 0, 0, 0, 1, 0, 0]), "pads"))
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("quantized", [False, True], ids=["float", "quantized"])
def test_layers_without_names_pair_across_a_fix_that_adds_a_node(quantized: bool, tmp_path: Path) -> None:
    paths = [unnamed(tmp_path, padded) for padded in (False, True)]
    if quantized:
        paths = [more.quantized(path, tmp_path) for path in paths]
    report = data(paths[0], "--against", paths[1])
    (comparison,) = report["comparisons"]
    sides = [(layer["before"], layer["after"]) for layer in comparison["layers"]]
    assert [tuple(side and side["effective"] for side in pair) for pair in sides] == [
        ("arm_convolve_s8", "arm_convolve_s8"), ("arm_convolve_1x1_s8_fast", "arm_convolve_1x1_s8_fast"), (None, ""),
    ]  # fmt: skip
    assert comparison["layers"][2]["node"].startswith("Pad#")
    assert [output["count"] for output in comparison["outputs"]] == [0]
