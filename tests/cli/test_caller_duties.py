"""What an application computes before it calls a function, and who is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnxlint_cmsis.cli import api
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.cmsis_nn.library import duty_of
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.types import Dims, KernelCall
from support.quantized_models import dense


def call(entry: str) -> KernelCall:
    return KernelCall(entry, Dims(1, 1, 1, 20), Dims(20, 1, 1, 12), Dims(1, 1, 1, 12))


@pytest.mark.parametrize(
    ("entry", "cpu", "release", "told"),
    [
        ("fully_connected_s8", "cortex-m55", "7.0.0", "fc_params.input_offset, fc_params.filter_offset, bias)"),
        ("fully_connected_s8", "cortex-m55", "main", "fc_params.input_offset, fc_params.filter_offset, bias)"),
        ("fully_connected_s8", "cortex-m55", "6.0.0", "weights, 1, NULL)"),
        ("fully_connected_s8", "cortex-m55", "5.0.0", "output_dims.c, weights)"),
        ("fully_connected_s8", "cortex-m55", "4.1.0", ""),
        ("fully_connected_s8", "cortex-m55+nomve", "7.0.0", ""),
        ("fully_connected_s8", "cortex-m4", "7.0.0", ""),
        ("fully_connected_s16", "cortex-m55", "7.0.0", ""),
        ("batch_matmul_s8", "cortex-m55", "7.0.0", ""),
        ("svdf_s8", "cortex-m55", "7.0.0", "-svdf_params.input_offset, 0, NULL)"),
        ("svdf_state_s16_s8", "cortex-m55", "7.0.0", ""),
        ("lstm_unidirectional_s8", "cortex-m4", "7.0.0", "input_offset, 0, bias)"),
        ("lstm_unidirectional_s8", "cortex-m4", "6.0.0", "input_offset, bias)"),
        ("lstm_unidirectional_s16", "cortex-m3", "main", "arm_vector_sum_s8_s64("),
    ],
)
def test_the_call_to_make_is_that_of_the_release(entry: str, cpu: str, release: str, told: str) -> None:
    duty = duty_of(call(entry), parse_target(cpu, release))
    assert (duty is not None) == bool(told)
    assert duty is None or told in duty.call(release)


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"targets": ["cortex-m55"]}, 1),
        ({"targets": ["cortex-m4"]}, 0),
        ({"targets": ["cortex-m55"], "runtime": "tflm"}, 0),
        ({"targets": ["cortex-m55"], "runtime": "executorch"}, 0),
    ],
    ids=["direct", "dsp", "tflm", "executorch"],
)
def test_who_writes_the_call_is_told(settings: dict[str, object], count: int) -> None:
    report = api.lint(dense().model(), **settings)
    notes = [finding for finding in report.findings if finding.code == "CNN306"]
    assert len(notes) == count
    assert all("arm_vector_sum_s8(" in note.remedy for note in notes)


def test_layers_and_shape_name_the_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dense.onnx"
    path.write_bytes(dense().model().SerializeToString())
    assert main(["layers", str(path), "--target", "cortex-m55", "--output-format", "json"]) == 0
    (layer,) = json.loads(capsys.readouterr().out)["layers"]
    assert layer["before"].startswith("arm_vector_sum_s8(")
    sizes = ["--in", "1,1,1,20", "--filter", "20,1,1,12", "--out", "1,1,1,12"]
    main(["shape", "--wrapper", "fully_connected_s8", *sizes, "--target", "cortex-m55", "--output-format", "json"])
    assert json.loads(capsys.readouterr().out)["before"]["call"] == layer["before"]
    main(["shape", "--wrapper", "fully_connected_s8", *sizes, "--target", "cortex-m4", "--output-format", "json"])
    assert "before" not in json.loads(capsys.readouterr().out)


def test_the_c_header_names_the_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dense.onnx"
    path.write_bytes(dense().model().SerializeToString())
    targets = ["--target", "cortex-m55", "--target", "cortex-m4"]
    assert main(["layers", str(path), *targets, "--output-format", "c"]) == 0
    calls = [line for line in capsys.readouterr().out.splitlines() if "arm_vector_sum_s8(" in line]
    assert len(calls) == 1
    assert calls[0].startswith("/* before the first run, for ")
    assert " on cortex-m55, CMSIS-NN 7.0.0, gcc: arm_vector_sum_s8(ctx.buf, " in calls[0]
    assert calls[0].endswith(", bias); */")
