"""Versions of operators that nobody knew when TensorFlow Lite Micro was reviewed."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.runtimes.tflm.kernels import KERNELS
from onnxlint_cmsis.runtimes.tflm.reference_checks import LIMITS
from onnxlint_cmsis.runtimes.tflm.versions import HIGHEST_VERSION
from support.linter import linted
from support.tflite_models import one_operator, streaming_model, tensor
from support.tflite_writer import write
from support.versions import installed


def version_findings(model):
    result = linted(write(model), "m.tflite", targets=["cortex-m4", "cortex-m55"])
    assert not result.error
    return [finding for finding in result.findings if finding.selector == "CNN402[operator-version]"]


def of_version(op, version):
    model = one_operator(op, [tensor("x", [1, 8]), tensor("y", [1, 8])])
    model["operator_codes"][0]["version"] = version
    return model


def taken(op, version):
    """Whether LiteRT has a kernel for a version."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="the package ai-edge-litert is not installed")
    try:
        resolver = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        litert.Interpreter(model_content=bytes(write(of_version(op, version))), experimental_op_resolver_type=resolver)
    except ValueError as error:
        return "Didn't find op" not in str(error)
    return True


def test_every_operator_of_the_runtime_has_a_highest_version():
    assert set(HIGHEST_VERSION) == set(KERNELS) | set(LIMITS)


@pytest.mark.parametrize("op", sorted(HIGHEST_VERSION))
def test_litert_takes_no_version_above_the_highest(op):
    newer = [version for version in range(HIGHEST_VERSION[op] + 1, HIGHEST_VERSION[op] + 4) if taken(op, version)]
    assert not newer
    if installed("ai-edge-litert") < (2, 2):
        pytest.skip("LiteRT before 2.2 knows lower versions only")
    assert taken(op, HIGHEST_VERSION[op]) or op == "UNIDIRECTIONAL_SEQUENCE_LSTM"


def test_a_newer_version_is_told_once_for_all_targets(told):
    (finding,) = version_findings(of_version("RELU", 4))
    told(finding.text)
    assert "3 is the highest" in finding.text
    assert len(finding.targets) == 2


@pytest.mark.parametrize("version", [-1, 0, 1, 3])
def test_a_known_version_is_not_told(version):
    assert not version_findings(of_version("RELU", version))


def test_a_newer_version_inside_a_subgraph_is_told_there(told):
    model = streaming_model()
    model["operator_codes"][5]["version"] = 9
    (finding,) = version_findings(model)
    told(finding.text)


def test_a_custom_operator_has_versions_of_nobody():
    model = of_version("CUSTOM", 99)
    model["operator_codes"][0]["custom_code"] = "Mine"
    assert not version_findings(model)
