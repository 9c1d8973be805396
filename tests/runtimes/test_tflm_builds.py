"""What a kernel has against an operator is asked once, however many cores and builds it is judged for."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.formats.tflite.computed_sizes import computed_sizes
from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel, TfliteOperator
from support.linter import linted
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write


@pytest.mark.parametrize("targets", [("cortex-m4",), ("cortex-m0", "cortex-m4", "cortex-m55")])
def test_sizes_of_a_result_are_worked_out_as_often_for_one_core_as_for_three(
    targets: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def counted(model: TfliteModel, subgraph: Subgraph, operator: TfliteOperator) -> tuple[tuple[int, ...], ...]:
        asked.append(operator.op)
        return computed_sizes(model, subgraph, operator)

    monkeypatch.setattr("onnxlint_cmsis.runtimes.tflm.sizes.computed_sizes", counted)
    tensors = [tensor(name, [1, 4, 4, 8]) for name in ("a", "b", "y")]
    linted(write(one_operator("ADD", tensors, ("AddOptions", {}))), "m.tflite", targets=targets)
    assert asked == ["ADD"] * 2  # MatchingElementsSize, and what the kernel computes
