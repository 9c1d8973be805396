"""Records of TensorFlow Lite's operators: each answers or declines its facets, and all of TFLM's are there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from onnxlint_cmsis.formats.names import UNKNOWN, operator_named
from onnxlint_cmsis.formats.tflite.names import TFLITE_OPERATORS
from onnxlint_cmsis.model.graph import TFLITE
from onnxlint_cmsis.operators.record import NotFollowed, Operator
from onnxlint_cmsis.runtimes.tflm.interpret import KERNELS
from onnxlint_cmsis.runtimes.tflm.kernels import LIMITS
from support.operator_records import answers_or_declines_new_lane

RECORDS = sorted(TFLITE_OPERATORS.values(), key=lambda operator: operator.name)


@pytest.mark.parametrize("operator", RECORDS, ids=lambda operator: operator.name)
def test_every_record_answers_or_declines_its_facets(operator: Operator) -> None:
    assert operator.domain == TFLITE
    for facet in ("axes", "sizes", "values", "demand", "fold"):
        answer = getattr(operator, facet)
        assert callable(answer) or (isinstance(answer, NotFollowed) and answer.because), facet
    assert all(getattr(operator, facet) is not None for facet in ("elements", "risk", "layout"))
    assert answers_or_declines_new_lane(operator)


def test_every_operator_of_the_runtime_has_a_record() -> None:
    assert {*KERNELS, *LIMITS} <= TFLITE_OPERATORS.keys()


def test_the_registry_finds_them_by_their_domain() -> None:
    assert operator_named(TFLITE, "CONV_2D") is TFLITE_OPERATORS["CONV_2D"]
    assert operator_named(TFLITE, "HASHTABLE") is UNKNOWN
    assert operator_named("", "CONV_2D") is UNKNOWN


def test_onnx_operators_are_found_without_them() -> None:
    code = (
        "import sys; from onnxlint_cmsis.formats.names import operator_named; operator_named('', 'Conv'); "
        "print([name for name in sys.modules if 'tflite' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
