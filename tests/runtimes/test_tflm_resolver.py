"""The operators that an application registers, as C++ that can be pasted."""

from __future__ import annotations

import json
import re

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.output.tflm_cpp import application_lines
from onnxlint_cmsis.runtimes.tflm.arena import ArenaLayout
from onnxlint_cmsis.runtimes.tflm.kernels import BUILTIN
from onnxlint_cmsis.runtimes.tflm.resolver import resolver_of
from support.paths import SHARED

METHODS = {
    "ADD_N": "AddAddN",
    "AVERAGE_POOL_2D": "AddAveragePool2D",
    "BATCH_MATMUL": "AddBatchMatMul",
    "BATCH_TO_SPACE_ND": "AddBatchToSpaceNd",
    "CUMSUM": "AddCumSum",
    "L2_NORMALIZATION": "AddL2Normalization",
    "L2_POOL_2D": "AddL2Pool2D",
    "PADV2": "AddPadV2",
    "SELECT_V2": "AddSelectV2",
    "SVDF": "AddSvdf",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "AddUnidirectionalSequenceLSTM",
    "VAR_HANDLE": "AddVarHandle",
}
"""By operator (lite/micro/micro_mutable_op_resolver.h)."""


def test_methods_are_spelled_as_in_the_header() -> None:
    assert METHODS
    for op, method in METHODS.items():
        (operator,) = resolver_of([(op, "")], BUILTIN, whole=True).operators
        assert (operator.method, operator.custom_code) == (method, "")


def test_custom_operators_have_the_runtimes_method_or_the_applications_kernel() -> None:
    custom = ("TFLite_Detection_PostProcess", "ethos-u", "mine", '"); system("x')
    resolver = resolver_of([("CUSTOM", name) for name in custom], BUILTIN, whole=True)
    assert application_lines(resolver, {}) == [
        "tflite::MicroMutableOpResolver<4> resolver;",
        "resolver.AddDetectionPostprocess();",
        "resolver.AddEthosU();",
        'resolver.AddCustom("mine", /* its kernel */);',
        "resolver.AddCustom(/* its name in the file */, /* its kernel */);",
    ]


def test_operators_without_a_method_are_told_and_not_registered() -> None:
    without = ["CONV_3D", "GELU", "POW", "RELU_N1_TO_1", "SELECT", "TILE", "TOPK_V2"]
    resolver = resolver_of([(op, "") for op in ("ADD", *without, "ADD")], BUILTIN, whole=True)
    assert application_lines(resolver, {}) == [
        "tflite::MicroMutableOpResolver<1> resolver;",
        "resolver.AddAdd();",
        *(f"// TensorFlow Lite Micro has no operator {op}" for op in without),
    ]
    (_, line) = application_lines(resolver_of([("GELU", "")], BUILTIN, whole=True), {})
    assert line == "// TensorFlow Lite Micro has no operator GELU"


@pytest.mark.parametrize(("needed", "declared"), [(5332, 5344), (5344, 5344), (1, 16)])
def test_arenas_are_declared_in_multiples_of_sixteen(needed: int, declared: int) -> None:
    assert ArenaLayout(needed, 0, 0, {}, (), ()).to_write == declared


@pytest.mark.skipif(not SHARED.exists(), reason="needs the models in a folder `shared` beside the project")
@pytest.mark.parametrize("command", ["memory", "layers"])
def test_every_operator_of_a_file_is_registered_once(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SHARED / "cases" / "users" / "vib_int8.tflite")
    used = {op.op for _, _, op in read_tflite(path).operators()}
    assert len(used) == 12
    main([command, "--target", "cortex-m4", path])
    text = capsys.readouterr().out
    calls = re.findall(r"^  resolver\.(Add\w+)\(\);$", text, re.MULTILINE)
    assert len(calls) == len({*calls}) == 12
    assert "  tflite::MicroMutableOpResolver<12> resolver;\n" in text
    assert "  alignas(16) uint8_t tensor_arena[6032];\n" in text
    main([command, "--target", "cortex-m4", "--output-format", "json", path])
    resolver = json.loads(capsys.readouterr().out)["resolver"]
    assert [row["method"] for row in resolver["operators"]] == calls
    assert resolver["whole"]
