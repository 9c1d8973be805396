"""What ExecuTorch's portable kernels make of orders of memory: seen in programs that its C++ ran on Cortex-M4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.cli import api
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.executorch.interpret import Interpretation, ProgramRow
from onnxlint_cmsis.runtimes.runtime import runtime_of
from support.goldens import Told
from support.pte_writer import NHWC, PteWriter
from support.targets import target_of

RUNS, STOPS, WRONG = Outcome.REFERENCE, Outcome.REFUSED, Outcome.WRONG
NO_KERNEL = Outcome.NO_KERNEL
PLAIN = (0, 1, 2, 3)
IMAGE = (1, 3, 4, 5)
M4 = target_of("cortex-m4", "main")
Lying = tuple[Sequence[int], Sequence[int]]
"""Sizes and order of memory of a tensor."""


def program(op: str, sources: Sequence[Lying], result: Lying, *arguments: Any) -> bytes:
    """One call of an operator; several tensors in front of `dim` are a list where the operator is aten::cat."""
    writer = PteWriter()
    writer.inputs = [writer.tensor("float32", *source) for source in sources]
    operands = [(number,) for number in writer.inputs]
    if op == "aten::cat.out":
        operands = [(writer.add("TensorList", items=writer.inputs),)]
    writer.outputs.append(writer.call(op, *operands, *arguments, out=writer.tensor("float32", *result)))
    return writer.data()


def row_of(data: bytes, release: str = "executorch") -> ProgramRow:
    """What becomes of the only call on Cortex-M4."""
    settings = AnalysisSettings((M4,), runtime=runtime_of(release))
    interpretation = ModelAnalysis("m.pte", settings, data).execution
    assert isinstance(interpretation, Interpretation)
    return interpretation.rows(M4)[-1]


LAST: Lying = (IMAGE, NHWC)
SIZES: Lying = (IMAGE, PLAIN)
SCALAR: Lying = ((), ())
FLAT: Lying = ((1, 60), (0, 1))
WIDE: Lying = ((1, 6, 4, 5), NHWC)


@pytest.mark.parametrize(
    ("op", "sources", "result", "arguments", "verdict"),
    [
        ("aten::add.out", [LAST, LAST], LAST, [1], RUNS),
        ("aten::add.out", [SIZES, SCALAR], SIZES, [1], RUNS),
        ("aten::add.out", [LAST, SCALAR], LAST, [1], STOPS),
        ("aten::mul.out", [LAST, SIZES], LAST, [], STOPS),
        ("aten::relu.out", [LAST], LAST, [], RUNS),
        ("aten::relu.out", [LAST], SIZES, [], STOPS),
        ("aten::slice_copy.Tensor_out", [LAST], SIZES, [1, 0, 1, 1], STOPS),
        ("aten::permute_copy.out", [(IMAGE, (0, 3, 1, 2))], (IMAGE, (0, 3, 1, 2)), [[0, 1, 2, 3]], STOPS),
        ("aten::view_copy.out", [LAST], FLAT, [[1, 60]], STOPS),
        ("aten::view_copy.out", [SIZES], FLAT, [[1, 60]], RUNS),
        ("aten::mean.out", [LAST], LAST, [[1], True], STOPS),
        ("aten::mean.out", [SIZES], SIZES, [[1], True], RUNS),
        ("aten::convolution.out", [LAST, (IMAGE, PLAIN)], LAST, [], RUNS),
        ("aten::convolution.out", [LAST, (IMAGE, NHWC)], SIZES, [], STOPS),
        ("aten::cat.out", [SIZES, SIZES], ((1, 6, 4, 5), PLAIN), [1], RUNS),
        ("aten::cat.out", [LAST, LAST], WIDE, [1], WRONG),
        ("aten::cat.out", [LAST, LAST], ((2, 3, 4, 5), NHWC), [0], RUNS),
        ("aten::cat.out", [LAST, LAST], ((1, 3, 4, 10), NHWC), [-1], WRONG),
        ("aten::cat.out", [((1, 3, 1, 1), NHWC)] * 2, ((1, 6, 1, 1), NHWC), [1], RUNS),
        ("aten::constant_pad_nd.out", [SIZES], ((1, 3, 4, 6), PLAIN), [[1, 0], 0.0], RUNS),
        ("aten::constant_pad_nd.out", [LAST], ((1, 3, 4, 6), NHWC), [[1, 0], 0.0], WRONG),
        ("aten::constant_pad_nd.out", [LAST], ((2, 3, 4, 5), NHWC), [[0, 0, 0, 0, 0, 0, 1, 0], 0.0], RUNS),
        ("aten::unsqueeze_copy.out", [SIZES], ((1, 1, 3, 4, 5), (0, 1, 2, 3, 4)), [0], RUNS),
        ("aten::unsqueeze_copy.out", [LAST], ((1, 1, 3, 4, 5), (0, 1, 2, 3, 4)), [0], WRONG),
        ("aten::unsqueeze_copy.out", [LAST], ((1, 1, 3, 4, 5), (0, 1, 3, 4, 2)), [0], RUNS),
        ("aten::linear.out", [((1, 4), (0, 1))] * 2, ((1, 1), (0, 1)), [], NO_KERNEL),
        ("aten::nonsense.out", [LAST, SIZES], SIZES, [], NO_KERNEL),
        ("other::nonsense.out", [LAST, SIZES], SIZES, [], NO_KERNEL),
        ("cortex_m_more::nonsense.out", [LAST, SIZES], SIZES, [], NO_KERNEL),
        ("quantized_decomposed::nonsense.out", [LAST, SIZES], SIZES, [], NO_KERNEL),
        ("quantized_decomposed::quantize_per_tensor.out", [SIZES], SIZES, [1.0, 0, -128, 127, 1], RUNS),
        ("dim_order_ops::_empty_dim_order.out", [SIZES], SIZES, [], RUNS),
    ],
)
def test_a_portable_kernel(
    op: str, sources: list[Lying], result: Lying, arguments: list[Any], verdict: Outcome
) -> None:
    data = program(op, sources, result, *arguments)
    for release in ("executorch", "executorch@1.0.1"):
        row = row_of(data, release)
        assert (row.verdict, bool(row.stage)) == (verdict, verdict in (STOPS, NO_KERNEL))


def test_an_operator_of_a_newer_library_has_no_kernel_before() -> None:
    for op, releases in (("aten::grid_sampler_2d", ("1.0.1", "1.1.0")), ("et_copy::_h2d_copy", ("1.3.1", "1.4.0"))):
        data = program(f"{op}.out", [SIZES, SIZES], SIZES)
        verdicts = [row_of(data, f"executorch@{release}").verdict for release in releases]
        assert verdicts == [NO_KERNEL, RUNS]


def test_orders_of_memory_are_told_and_change_the_verdict(told: Told) -> None:
    for op, sources, result, arguments, word in (
        ("aten::add.out", [LAST, SCALAR], LAST, [1], "STOPS"),
        ("aten::view_copy.out", [LAST], FLAT, [[1, 60]], "STOPS"),
        ("aten::cat.out", [LAST, LAST], WIDE, [1], "WRONG RESULTS"),
    ):
        file = api.lint(program(op, sources, result, *arguments), targets=["cortex-m4"])
        assert [verdict.word for verdict in file.verdicts] == [word]
        (finding,) = file.findings
        told(finding.text)
