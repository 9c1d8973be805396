"""A release is added by its row, its changed branch and its measured instructions; one that is not reviewed is refused.

Both are tried on a copy of the package, as whoever adds the release would do it.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.cmsis_nn.library import cost, route
from onnxlint_cmsis.cmsis_nn.releases import RELEASE_ROWS, RELEASES, holds, normalise_release, reviewed
from onnxlint_cmsis.cmsis_nn.targets import parse_isa
from onnxlint_cmsis.ground.types import Dims, Isa, KernelCall, Target
from support import paths
from support.tflite_models import conv_model
from support.tflite_writer import write
from support.tree_copy import copy_folder

SAMPLE = paths.DATA / "dispatch_sample.jsonl.gz"
COSTS = paths.DATA / "cost_sample.jsonl.gz"
REFUSED = "CMSIS-NN release 7.1.0 is not reviewed; reviewed are cmsis5-5.6.0"
OLD_BRANCH = """        _s8_branch(
            "arm_convolve_1_x_n_s8",
            all_of(_S8_ONE_ROW, _STEP_BY_4, NOT_GROUPED),
            {"6.0.0": 95, "7.0.0": 95, "main": 94},
        ),
"""
NEW_BRANCHES = """        _s8_branch(
            "arm_convolve_1_x_n_s8",
            all_of(_S8_ONE_ROW, _STEP_BY_4, NOT_GROUPED),
            {"6.0.0": 95, "7.0.0": 95},
            "7.1.0",
        ),
        _s8_branch(
            "arm_convolve_1_x_n_s8",
            all_of(_S8_ONE_ROW, equal(STRIDE.w * IN.c % 8, 0), NOT_GROUPED),
            {"7.1.0": 97},
            "main",
        ),
        _s8_branch("arm_convolve_1_x_n_s8", all_of(_S8_ONE_ROW, _STEP_BY_4, NOT_GROUPED), {"main": 94}),
"""
MAIN_ROW = '    Release("main"'
ANSWERS = ("kernel", "chain", "effective", "status", "buffer_size", "buffer_size_2", "hazard_ids")


class Copy:
    """A copy of the package in another folder, with 7.1.0 in front of main."""

    def __init__(self, folder: Path, row: str) -> None:
        """`row` is what `releases.py` says of the release behind its name."""
        self.folder = folder
        copy_folder("onnxlint_cmsis", folder)
        self.replace("releases.py", MAIN_ROW, f'    Release("7.1.0"{row}),\n{MAIN_ROW}')

    def replace(self, name: str, old: str, new: str) -> None:
        """Put another text in the place of one that a file of cmsis_nn has once."""
        path = self.folder / "onnxlint_cmsis" / "cmsis_nn" / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")

    def measure(self) -> None:
        """Give the release measured instructions: those of 7.0.0."""
        folder = self.folder / "onnxlint_cmsis" / "cmsis_nn" / "instructions"
        for isa in Isa:
            text = (folder / f"7.0.0-{isa.value}.json").read_text(encoding="utf-8")
            (folder / f"7.1.0-{isa.value}.json").write_text(text.replace('"7.0.0"', '"7.1.0"'), encoding="utf-8")

    def run(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run the copy's command line."""
        return subprocess.run(
            [sys.executable, "-m", "onnxlint_cmsis", *arguments],
            cwd=self.folder, input=text, env={**os.environ, "PYTHONPATH": str(self.folder)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    copy = Copy(tmp_path_factory.mktemp("added"), ', reviewed="2026-12-01"')
    copy.replace("integer/convolution.py", OLD_BRANCH, NEW_BRANCHES)
    copy.measure()
    return copy


@pytest.fixture(scope="module")
def unreviewed(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("unreviewed"), "")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Layers with and without hazards, with routes missed: 1x1, 1xN along 4 and along 8 channels, depthwise, dense."""
    rng = np.random.default_rng(0)
    nodes, weights, value, channels = [], [], "x", 6
    for index, (out, kernel, group, stride, pad) in enumerate(
        [(12, 1, 1, 1, 0), (4, 5, 1, 1, 2), (12, 3, 1, 2, 1), (12, 3, 12, 1, 1), (36, 3, 12, 1, 1), (7, 1, 1, 1, 0)]
    ):
        shape = (out, channels // group, 1, kernel)
        weights.append(numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), f"w{index}"))
        places = {"pads": [0, pad, 0, pad], "strides": [1, stride], "group": group}
        nodes.append(helper.make_node("Conv", [value, f"w{index}"], [f"y{index}"], f"conv{index}", **places))
        value, channels = f"y{index}", out
    graph = helper.make_graph(
        nodes, "layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 6, 1, 24])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, None)],
        weights,
    )  # fmt: skip
    path = tmp_path_factory.mktemp("model") / "layers.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    )
    return path


def records(path: Path) -> list[dict[str, object]]:
    """Records of 7.0.0, without what was measured."""
    with gzip.open(path, "rt") as lines:
        recorded = [json.loads(line) for line in lines]
    return [record for record in recorded if record.get("version") in ("v7.0.0", "7.0.0")]


def answers(copy: Copy, rows: list[dict[str, object]], release: str) -> list[dict[str, object]]:
    done = copy.run(
        "shape",
        "--output-format",
        "json",
        "-",
        text="".join(json.dumps({**row, "version": release}) + "\n" for row in rows),
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def left_the_s8_branch(row: dict[str, object]) -> bool:
    """Whether the changed branch sends a call of 7.0.0 another way."""
    (_, _, _, channels), (_, stride) = row["in"], row["stride"]
    return row["kernel"] == "arm_convolve_1_x_n_s8" and stride * channels % 8 != 0


def test_an_added_release_routes_as_the_one_before_but_for_its_changed_s8_branch(added: Copy) -> None:
    rows = records(SAMPLE)
    old, new = (answers(added, rows, release) for release in ("7.0.0", "7.1.0"))
    changed = [left_the_s8_branch(row) for row in rows]
    assert 3 < sum(changed) < len(rows) / 4
    for before, other, apart in zip(old, new, changed, strict=True):
        if apart:
            assert other["kernel"] == "arm_convolve_s8"
        else:
            assert [before[name] for name in ANSWERS] == [other[name] for name in ANSWERS]
    assert any(answer["hazard_ids"] and answer["buffer_size"] for answer in new)


def test_an_added_release_has_the_lines_of_the_nearest_older_one(added: Copy) -> None:
    rows = [row for row in records(SAMPLE) if row["kernel"] == "arm_convolve_1_x_n_s8"]
    sources = [step["source"] for answer in answers(added, rows, "7.1.0") for step in answer["why"]]
    assert {source.split()[1] for source in sources} == {"7.0.0", "7.1.0"}
    assert any(source.startswith("CMSIS-NN 7.1.0 ") and ":97 " in source for source in sources)


def test_an_added_release_costs_what_its_file_says(added: Copy) -> None:
    with gzip.open(COSTS, "rt") as lines:
        rows = [json.loads(line) for line in lines][:400]
    rows = [{name: value for name, value in row.items() if name not in ("version", "cpu")} for row in rows]
    old, new = (answers(added, rows, release) for release in ("7.0.0", "7.1.0"))
    numbers = [(before["instructions"], other["instructions"]) for before, other in zip(old, new, strict=True)]
    assert sum(before is not None and before == other for before, other in numbers) > 100
    assert sum(before != other for before, other in numbers) < len(rows) / 10


def test_an_added_release_is_linted_as_the_one_before(added: Copy, model: Path) -> None:
    dsp, dsp_added = (findings(added, model, "cortex-m4", release) for release in ("7.0.0", "7.1.0"))
    assert len(dsp) >= 2
    assert dsp == dsp_added
    old, new = (findings(added, model, "cortex-m55", release) for release in ("7.0.0", "7.1.0"))
    # conv1 leaves the 1xN kernel at 12 channels: it is told, and other channels pay around it or repair conv2.
    # What the whole plan saves stands beside conv4 as well.
    kinds = {row[:2] for row in places(old) ^ places(new)}
    assert kinds == {("CNN103", "conv1"), ("CNN201", "conv0"), ("CNN201", "conv4"), ("CNN301", "conv2")}


def places(findings: list[dict[str, object]]) -> set[tuple[str, ...]]:
    """Rule, node, channel count and numbers of each finding and of those that are told with it."""
    told = [{"code": finding["code"], **told} for finding in findings for told in (finding, *finding["others"])]
    return {(told["code"], told["location"]["node"], json.dumps([told["resize"], told["properties"]])) for told in told}


def findings(copy: Copy, model: Path, cpu: str, release: str) -> list[dict[str, object]]:
    options = ("--isolated", "--exit-zero", "--output-format", "json", "--target", cpu, "--release", release)
    done = copy.run(*options, str(model))
    assert done.returncode == 0, done.stderr
    text = done.stdout.replace("7.1.0", "7.0.0").replace(", measured on CMSIS-NN 7.0.0", "")
    return json.loads(text)["findings"]


def test_a_release_without_measurements_names_the_one_whose_it_takes(model: Path, tmp_path: Path) -> None:
    copy = Copy(tmp_path, ', reviewed="2026-12-01", measured_on="7.0.0"')
    source = "cortex-m4 with CMSIS-NN"
    options = ("--isolated", "--target", "cortex-m4", "--release", "7.1.0", str(model))
    assert source in copy.run("layers", *options).stdout
    assert source in copy.run("--exit-zero", "-v", *options).stdout
    small = tmp_path / "m.tflite"
    small.write_bytes(write(conv_model()))
    options_of_file = (*options[:-1], str(small))
    assert source in copy.run("layers", *options_of_file).stdout
    summary = json.loads(copy.run("--exit-zero", "--output-format", "json", *options_of_file).stdout)["files"][0]
    assert summary["summary"]["targets"][0]["measured_on"] == "cortex-m4 with CMSIS-NN 7.0.0, gcc 12.2 and 13.2"
    bare = Copy(tmp_path / "bare", ', reviewed="2026-12-01"')
    assert (
        json.loads(bare.run("layers", "--output-format", "json", *options).stdout)["layers"][0]["instructions"] is None
    )


def test_an_unreviewed_release_is_refused_everywhere(unreviewed: Copy, model: Path) -> None:
    (unreviewed.folder / "onnxlint-cmsis.toml").write_text('release = "7.1.0"\n', encoding="utf-8")
    shutil.copy(model, unreviewed.folder / "configured.onnx")
    record = json.dumps(records(SAMPLE)[0] | {"version": "7.1.0"})
    runs = [
        unreviewed.run("--isolated", "--release", "7.1.0", str(model)),
        unreviewed.run("layers", "--isolated", "--release", "7.1.0", str(model)),
        unreviewed.run("configured.onnx"),
        unreviewed.run("shape", "-", text=record + "\n"),
    ]
    for done in runs:
        assert done.returncode == 2
        assert REFUSED in done.stderr + done.stdout
        assert "Traceback" not in done.stderr


def test_a_release_that_is_not_reviewed_is_refused_in_the_api() -> None:
    dims = Dims(1, 8, 8, 8)
    call = KernelCall("convolve_s8", dims, dims, dims)
    for entry in ("convolve_s8", "avgpool_s8"):
        target = Target("cortex-m4", Isa.DSP, "7.1.0")
        for ask in (route, cost):
            with pytest.raises(ValueError, match=r"CMSIS-NN release 7\.1\.0 is not reviewed; reviewed are "):
                ask(call._replace(entry=entry), target)
    with pytest.raises(ValueError, match=r"CMSIS-NN release 9\.0\.0 is not reviewed"):
        parse_isa("dsp", "9.0.0")


def test_every_release_has_the_day_of_its_review() -> None:
    assert [row.name for row in RELEASE_ROWS if not row.reviewed] == []
    assert all(row.measured_on in ("", *RELEASES) for row in RELEASE_ROWS)
    assert [reviewed(name) for name in RELEASES] == [normalise_release(name) for name in RELEASES] == list(RELEASES)


@pytest.mark.parametrize(
    ("since", "until", "release", "held"),
    [
        ("6.0.0", "", "6.0.0", True),
        ("6.0.0", "", "main", True),
        ("6.0.0", "", "5.0.0", False),
        ("4.0.0", "6.0.0", "5.0.0", True),
        ("4.0.0", "6.0.0", "6.0.0", False),
    ],
)
def test_a_row_holds_from_its_first_release_to_before_the_first_without_it(
    since: str, until: str, release: str, held: bool
) -> None:
    assert holds(since, until, release) is held
