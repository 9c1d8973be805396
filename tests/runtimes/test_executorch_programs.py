"""What ExecuTorch does with the calls of a program, and what a plan for another core does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.cli import api
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.types import Dims, Isa, KernelCall, Pair, Target
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.executorch.interpret import Interpretation, export_for
from onnxlint_cmsis.runtimes.executorch.plan import written
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH, runtime_of
from support.goldens import Told
from support.pte_writer import NHWC, PteWriter

PLANNED = {"mve": "cortex-m55", "dsp": "cortex-m4", "scalar": "cortex-m3"}
TARGETS = tuple(Target(cpu, Isa(isa), "main") for isa, cpu in PLANNED.items())


def interpreted(writer: PteWriter) -> Interpretation:
    settings = AnalysisSettings(TARGETS, runtime=runtime_of("executorch"))
    interpretation = ModelAnalysis("m.pte", settings, writer.data()).execution
    assert isinstance(interpretation, Interpretation)
    return interpretation


def verdicts(writer: PteWriter) -> list[Outcome]:
    """Of the last call on MVE, DSP and scalar code."""
    interpretation = interpreted(writer)
    return [interpretation.rows(target)[-1].verdict for target in TARGETS]


def depthwise(kernel: int, channels: int, scratch: int | None) -> PteWriter:
    writer = PteWriter()
    sizes = (1, channels, 25, 5)
    source = writer.image(*sizes)
    writer.inputs.append(source)
    writer.outputs.append(writer.depthwise(source, sizes, sizes, kernel, scratch))
    return writer


def dense(bias: Sequence[int] | None, sums: Sequence[int] | None) -> PteWriter:
    """A dense layer of 16 inputs; its sums are 128 * 16 where it has no bias."""
    writer = PteWriter()
    source = writer.tensor("int8", (1, 16))
    writer.inputs.append(source)
    writer.outputs.append(writer.linear(source, 16, 2, bias=bias, sums=sums))
    return writer


def convolution(scratch: int | None, **more: object) -> PteWriter:
    """3x3, 1 to 4 channels: DSP and scalar code ask for 48 bytes, MVE for 64, of which it writes 45."""
    writer = PteWriter()
    source = writer.image(1, 1, 8, 8)
    writer.inputs.append(source)
    writer.outputs.append(writer.convolution(source, (1, 1, 8, 8), (1, 4, 8, 8), 3, scratch, **more))  # type: ignore[arg-type]
    return writer


CMSIS_NN, WRONG, REFUSED = Outcome.CMSIS_NN, Outcome.WRONG, Outcome.REFUSED


@pytest.mark.parametrize(
    ("writer", "expected"),
    [
        (depthwise(3, 64, 4464), [CMSIS_NN] * 3),
        (depthwise(3, 64, 0), [REFUSED, CMSIS_NN, CMSIS_NN]),
        (depthwise(3, 64, None), [CMSIS_NN] * 3),
        (depthwise(1, 64, 496), [CMSIS_NN] * 3),
        (depthwise(1, 64, 128), [WRONG, CMSIS_NN, CMSIS_NN]),
        (convolution(48), [CMSIS_NN] * 3),
        (convolution(64), [CMSIS_NN] * 3),
        (convolution(0), [REFUSED] * 3),
        (dense([5, 6], None), [REFUSED, CMSIS_NN, CMSIS_NN]),
        (dense(None, [2048 + 5, 2048]), [CMSIS_NN, WRONG, WRONG]),
        (dense(None, [2048, 2048]), [CMSIS_NN] * 3),
        (dense([5, 0], [2048 + 5, 2048]), [CMSIS_NN] * 3),
        (dense([5, 0], [2048, 2048]), [WRONG, CMSIS_NN, CMSIS_NN]),
        (dense([0, 0], [2048, 2048]), [CMSIS_NN] * 3),
    ],
    ids=[
        "depthwise-mve", "depthwise-none", "depthwise-at-run-time", "pointwise-mve", "pointwise-dsp", "conv-dsp",
        "conv-mve", "conv-none", "dense-dsp", "dense-mve", "dense-mve-without-bias", "dense-with-both",
        "dense-with-a-bias-outside-the-sums", "dense-with-a-bias-of-zeros",
    ],
)  # fmt: skip
def test_a_plan_for_another_core(writer: PteWriter, expected: list[Outcome]) -> None:
    assert verdicts(writer) == expected


SEEN = {
    "mve": (
        ("depthwise", 1, 64, 25, 5, 436), ("depthwise", 1, 64, 1, 1, 64), ("depthwise", 1, 64, 1, 2, 188),
        ("depthwise", 1, 200, 3, 3, 496), ("depthwise", 3, 64, 25, 5, 4404), ("depthwise", 3, 16, 6, 6, 4356),
        ("depthwise", 3, 130, 4, 4, 4464), ("depthwise", 5, 8, 7, 7, 12284), ("depthwise", 3, 8, 1, 1, 1000),
        ("depthwise", 5, 300, 5, 5, 12400), ("depthwise", 1, 124, 2, 2, 496), ("depthwise", 3, 125, 2, 1, 2232),
        ("convolve", 3, 1, 8, 8, 45), ("convolve", 3, 8, 8, 8, 288), ("convolve", 3, 3, 2, 1, 55),
        ("convolve", 5, 2, 7, 7, 206), ("convolve", 3, 16, 1, 1, 144), ("convolve", 3, 5, 3, 3, 189),
        ("convolve", 3, 1, 1, 3, 33), ("convolve", 7, 1, 9, 9, 205), ("convolve", 3, 17, 4, 4, 621),
    ),
    "dsp": (
        ("depthwise", 1, 64, 25, 5, 128), ("depthwise", 1, 64, 1, 1, 128), ("depthwise", 1, 64, 1, 2, 128),
        ("depthwise", 1, 200, 3, 3, 400), ("depthwise", 5, 8, 7, 7, 400), ("depthwise", 5, 300, 5, 5, 15000),
        ("convolve", 3, 1, 8, 8, 42), ("convolve", 3, 8, 8, 8, 288), ("convolve", 3, 3, 2, 1, 110),
        ("convolve", 5, 2, 7, 7, 204), ("convolve", 3, 16, 1, 1, 432), ("convolve", 3, 5, 3, 3, 186),
        ("convolve", 3, 1, 1, 3, 42), ("convolve", 7, 1, 9, 9, 202), ("convolve", 3, 17, 4, 4, 618),
    ),
}  # fmt: skip
"""Bytes that calls wrote in QEMU (CMSIS-NN 99f736a6, gcc 12.2): function, window, input channels, rows, columns."""


@pytest.mark.parametrize("target", TARGETS[:2], ids=lambda target: target.cpu)
def test_as_many_bytes_of_scratch_are_written_as_were_seen(target: Target) -> None:
    assert SEEN[target.isa.value]
    for function, size, channels, rows, columns, seen in SEEN[target.isa.value]:
        depth = function == "depthwise"
        outputs = channels if depth else 4
        filter_dims = Dims(1, size, size, channels) if depth else Dims(4, size, size, channels)
        around = Pair(size // 2, size // 2)
        call = KernelCall(
            f"{function}_s8", Dims(1, rows, columns, channels), filter_dims, Dims(1, rows, columns, outputs),
            padding=around, pad_after=around, ch_mult=int(depth),
        )  # fmt: skip
        assert written(call, route(call, target), target.isa) == seen, call


@pytest.mark.parametrize("sizes", [(), (2,), (2, 2, 4), (2, 16)], ids=str)
def test_weights_of_any_rank_are_no_error(sizes: tuple[int, ...]) -> None:
    """The sums are those of rows alone."""
    writer = PteWriter()
    source = writer.tensor("int8", (1, 16))
    result = writer.linear(source, 16, 2, sums=[2048, 2048])
    weights = next(value["val"][1] for value in writer.values if value["val"][1].get("sizes") == [2, 16])
    weights |= {"sizes": list(sizes), "dim_order": list(range(len(sizes)))}
    writer.outputs.append(result)
    assert verdicts(writer) == [CMSIS_NN if len(sizes) == 2 else REFUSED] * 3


def test_the_bytes_behind_scratch_are_told(told: Told) -> None:
    interpretation = interpreted(depthwise(1, 64, 128))
    (row,) = interpretation.rows(TARGETS[0])
    told(row.reason)


@pytest.mark.parametrize(
    ("writer", "sets"),
    [
        (depthwise(3, 64, 4464), {Isa.MVE}),
        (depthwise(3, 64, 0), {Isa.DSP, Isa.SCALAR}),
        (depthwise(1, 64, 128), {Isa.DSP}),
        (depthwise(1, 64, 0), {Isa.SCALAR}),
        (depthwise(1, 64, 7), set()),
        (depthwise(3, 64, None), {*Isa}),
        (dense([5, 6], None), {Isa.DSP, Isa.SCALAR}),
        (dense(None, [2048, 2048]), {Isa.MVE}),
    ],
)
def test_what_a_program_was_planned_for(writer: PteWriter, sets: set[Isa]) -> None:
    assert {*interpreted(writer).planned_for} == sets


def one_channel(kernel: int, outputs: int, scratch: int) -> PteWriter:
    """A depthwise convolution of one channel, which MVE computes as a convolution of transposed weights."""
    writer = PteWriter()
    source = writer.image(1, 1, 8, 8)
    writer.inputs.append(source)
    sizes = (1, 1, 8, 8), (1, outputs, 8, 8)
    writer.outputs.append(writer.depthwise(source, *sizes, kernel, scratch))
    return writer


def test_an_exporter_plans_more_for_one_channel_than_its_kernel_asks_for() -> None:
    """It shows the weights as those of a convolution of one input channel, so that no kernel for 1x1 is found."""
    assert interpreted(one_channel(1, 16, 80)).planned_for == (Isa.MVE,)
    assert verdicts(one_channel(1, 16, 80)) == [CMSIS_NN] * 3
    assert interpreted(one_channel(1, 16, 16)).planned_for == ()
    assert interpreted(one_channel(5, 16, 528)).planned_for == (Isa.MVE,)


def test_what_a_program_was_planned_for_depends_on_no_target() -> None:
    writer = one_channel(3, 4, 100)
    armclang = TARGETS[0]._replace(release="7.0.0", compiler="armclang")
    settings = AnalysisSettings((armclang,), runtime=runtime_of("executorch"))
    interpretation = ModelAnalysis("m.pte", settings, writer.data()).execution
    assert isinstance(interpretation, Interpretation)
    assert interpretation.planned_for == (Isa.MVE,)


@pytest.mark.parametrize(
    ("kernel", "verdict", "low"), [(3, REFUSED, (64, 208)), (1, WRONG, (0, 16))], ids=["3x3", "1x1"]
)
def test_weights_of_one_channel_are_written_near_address_0_without_scratch(
    kernel: int, verdict: Outcome, low: tuple[int, int], told: Told
) -> None:
    interpretation = interpreted(one_channel(kernel, 16, 0))
    (row,), plan = interpretation.rows(TARGETS[0]), interpretation.plan(0, TARGETS[0])
    assert (row.verdict, plan.low) == (verdict, low)
    told(row.reason)


def test_a_kernel_that_falls_back_needs_no_scratch() -> None:
    """arm_convolve_1x1_s8_fast asks for a buffer with armclang, and runs without."""
    writer = PteWriter()
    source = writer.image(1, 16, 5, 5)
    writer.outputs.append(writer.convolution(source, (1, 16, 5, 5), (1, 8, 5, 5), 1, 0))
    report = api.lint(writer.data(), targets=["cortex-m4"], compiler="armclang")
    assert not [finding for finding in report.findings if finding.cause == "plan"]


NHWC_WEIGHTS = (0, 3, 1, 2)


@pytest.mark.parametrize(("channels", "verdict"), [(1, CMSIS_NN), (4, WRONG)])
def test_weights_are_taken_by_their_sizes_wherever_they_lie(channels: int, verdict: Outcome) -> None:
    """An exporter writes another order for weights of one channel, which are the same bytes in any order."""
    writer = PteWriter()
    source = writer.image(1, channels, 8, 8)
    result = writer.depthwise(source, (1, channels, 8, 8), (1, channels, 8, 8), 3, 4464)
    (weights,) = [
        value["val"][1] for value in writer.values
        if value["val"][0] == "Tensor" and value["val"][1]["sizes"] == [1, 3, 3, channels]
    ]  # fmt: skip
    weights["dim_order"] = list(NHWC_WEIGHTS)
    writer.outputs.append(result)
    assert verdicts(writer) == [verdict] * 3


def test_rows_and_axes_are_those_of_sizes_not_of_memory(told: Told) -> None:
    """Kernels that take the last axis for the one whose elements are neighbours do not ask for the order of memory."""
    writer = PteWriter()
    image, batch = writer.image(1, 4, 5, 6), writer.tensor("int8", (2, 3, 4), (0, 2, 1))
    flat = writer.tensor("int8", (1, 4, 1, 1), NHWC)
    channel, last = writer.image(1, 4, 1, 1), writer.tensor("int8", (1, 1, 1, 6))
    scalar = writer.tensor("int8", (1,))
    plain = writer.tensor("int8", (1, 4, 5, 6))
    softmax = [-1, 0, -128, 1 << 30, 20, -124]
    calls = (
        ("softmax", [(image,), *softmax], writer.image(1, 4, 5, 6), WRONG),
        ("softmax", [(flat,), *softmax], writer.image(1, 4, 1, 1), CMSIS_NN),
        ("transpose", [(image,), [0, 1, 3, 2]], writer.tensor("int8", (1, 4, 6, 5)), WRONG),
        ("minimum", [(image,), (scalar,)], writer.image(1, 4, 5, 6), CMSIS_NN),
        ("minimum", [(image,), (image,)], writer.image(1, 4, 5, 6), CMSIS_NN),
        ("minimum", [(image,), (plain,)], writer.image(1, 4, 5, 6), WRONG),
        ("maximum", [(image,), (channel,)], writer.image(1, 4, 5, 6), WRONG),
        ("maximum", [(plain,), (last,)], writer.tensor("int8", (1, 4, 5, 6)), CMSIS_NN),
        ("maximum", [(plain,), (last,)], writer.tensor("int8", (1, 4, 5, 5)), REFUSED),
        ("quantized_batch_matmul", [(batch,), 0, (batch,), 0, 0, 1 << 30, 0, (writer.tensor("uint8", (12,)),)],
         writer.tensor("int8", (2, 3, 3)), WRONG),
    )  # fmt: skip
    for name, arguments, result, _ in calls:
        writer.outputs.append(writer.call(f"cortex_m::{name}.out", *arguments, out=result))
    rows = interpreted(writer).rows(TARGETS[0])
    assert [row.verdict for row in rows] == [verdict for *_, verdict in calls]
    told(rows[0].reason)


@pytest.mark.parametrize("elem_type", ["quint2x4", "qint8", "bits8", "float8e5m2"])
def test_an_element_type_that_numpy_does_not_have_is_no_error(elem_type: str) -> None:
    writer = every_operator()
    for number in writer.inputs:
        writer.values[number]["val"][1]["scalar_type"] = elem_type
    assert api.lint(writer.data(), targets=["cortex-m4"]).error == ""


def test_a_dense_layer_asks_for_no_type(told: Told) -> None:
    writer = PteWriter()
    source = writer.tensor("int16", (1, 16))
    writer.outputs.append(writer.linear(source, 16, 2, bias=[5, 6]))
    (row,) = interpreted(writer).rows(TARGETS[1])
    assert row.verdict == WRONG
    told(row.reason)


def test_weights_for_other_channels_than_those_of_the_result_are_wrong() -> None:
    writer = PteWriter()
    source = writer.image(1, 4, 5, 5)
    result = writer.convolution(source, (1, 4, 5, 5), (1, 8, 5, 5), 3, None)
    weights = next(value["val"][1] for value in writer.values if value["val"][1].get("sizes") == [8, 3, 3, 4])
    weights["sizes"] = [4, 3, 6, 4]
    writer.outputs.append(result)
    assert verdicts(writer) == [WRONG] * 3


def test_a_shift_that_no_register_holds_ends_the_program() -> None:
    writer = PteWriter()
    source = writer.tensor("int8", (1, 4))
    add = [(source,), 0, 1 << 30, 0, (source,), 0, 1 << 30, 32, 0, 1 << 30, 0, -128, 127]
    writer.outputs.append(writer.call("cortex_m::quantized_add.out", *add, out=writer.tensor("int8", (1, 4))))
    assert verdicts(writer) == [Outcome.HALTS] * 3


@pytest.mark.parametrize(
    ("target", "config"),
    [
        ("cortex-m0+", "CortexM.M0PLUS, isa=cmsis_nn.Backend.SCALAR"),
        ("cortex-m33+nodsp", "CortexM.M33, isa=cmsis_nn.Backend.SCALAR"),
        ("cortex-m35p", "CortexM.M35P, isa=cmsis_nn.Backend.DSP"),
        ("cortex-m52", "CortexM.M55, isa=cmsis_nn.Backend.MVE"),
        ("cortex-m52+nomve", "CortexM.M55, isa=cmsis_nn.Backend.DSP"),
        ("cortex-m85", "CortexM.M85, isa=cmsis_nn.Backend.MVE"),
    ],
)
def test_the_line_to_export_again_names_what_an_exporter_knows(target: str, config: str) -> None:
    assert f"CortexMTargetConfig({config})" in export_for(parse_target(target, "main"), EXECUTORCH.since)


def test_the_rule_tells_each_core_what_happens(told: Told) -> None:
    report = api.lint(depthwise(1, 64, 128).data(), targets=["cortex-m55", "cortex-m4"])
    (finding,) = [finding for finding in report.findings if finding.code == "CNN402"]
    assert finding.cause == "overrun"
    assert [verdict.codes for verdict in report.verdicts] == [("CNN402[overrun]",), ()]
    assert [target.split(", ") for target in finding.targets] == [["cortex-m55", "CMSIS-NN main", "gcc"]]
    told(finding.text)
    told(finding.text)
    assert "CortexMTargetConfig(CortexM.M55, isa=cmsis_nn.Backend.MVE)" in finding.text


def test_a_kernel_refuses_what_it_does_not_take(told: Told) -> None:
    interpretation = interpreted(convolution(48, order=(0, 1, 2, 3)))
    assert {interpretation.rows(target)[0].stage for target in TARGETS} == {"execute"}
    told(interpretation.rows(TARGETS[1])[0].reason)


def test_a_form_with_channels_last_has_its_sizes_in_that_order() -> None:
    writer = PteWriter()
    source = writer.tensor("int8", (1, 8, 8, 1))
    writer.inputs.append(source)
    result = writer._window(
        "quantized_conv2d", source, writer.constant([[[[1]] * 3] * 3] * 4), 4, (1, 8, 8, 4), (3, 48),
        order=(0, 1, 2, 3), end="_nhwc",
    )  # fmt: skip
    writer.outputs.append(result)
    (row,) = interpreted(writer).rows(TARGETS[1])
    assert row.call is not None
    assert (row.verdict, row.call.input_dims, row.call.output_dims) == (CMSIS_NN, (1, 8, 8, 1), (1, 8, 8, 4))


def test_two_axes_that_stay_are_turned_all_the_same() -> None:
    for sizes, verdict in (((2, 2), "WRONG RESULTS"), ((1, 2), "RUNS"), ((2, 3, 1), "RUNS")):
        writer = PteWriter()
        source = writer.tensor("int8", sizes)
        writer.inputs.append(source)
        stay = [*range(len(sizes))]
        call = writer.call("cortex_m::transpose.out", (source,), stay, out=writer.tensor("int8", sizes))
        writer.outputs.append(call)
        (judged,) = api.lint(writer.data(), targets=["cortex-m4"]).verdicts
        assert judged.word == verdict


def test_what_is_not_cmsis_nn_is_named(told: Told) -> None:
    writer = PteWriter()
    source = writer.image(1, 4, 2, 2)
    writer.inputs.append(source)
    sub = writer.call("aten::sub.out", (source,), (source,), out=writer.tensor("float32", (1, 4, 2, 2), NHWC))
    copied = writer.call("dim_order_ops::_clone_dim_order.out", (sub,), out=writer.tensor("float32", (1, 4, 2, 2)))
    newer = writer.call("cortex_m::quantized_tan.out", (copied,), out=writer.image(1, 4, 2, 2))
    writer.outputs.append(writer.delegate("EthosUBackend", newer, writer.image(1, 4, 2, 2)))
    interpretation = interpreted(writer)
    rows = interpretation.rows(TARGETS[0])
    assert [row.verdict.value for row in rows] == ["reference code", "reference code", "undecided", "undecided"]
    told(rows[0].reason)
    told(rows[2].reason)
    assert "the delegate EthosUBackend" in rows[3].reason
    assert len(interpretation.lowered.records) == 4
    (note,) = interpretation.notes
    told(note)
    settings = AnalysisSettings(TARGETS[:1], runtime=runtime_of("executorch"))
    (target,) = ModelAnalysis("m.pte", settings, writer.data()).once(summarize).targets
    assert [share.layers for share in (target.reference_code, target.refused, target.undecided)] == [2, 0, 2]


def test_operands_in_different_orders_of_memory_are_told(told: Told) -> None:
    writer = PteWriter()
    first, second = writer.image(1, 4, 2, 2), writer.tensor("int8", (1, 4, 2, 2))
    arguments = [(first,), 0, 1, 0, (second,), 0, 1, 0, 0, 1, 0, -128, 127]
    writer.outputs.append(writer.call("cortex_m::quantized_add.out", *arguments, out=writer.image(1, 4, 2, 2)))
    (row,) = interpreted(writer).rows(TARGETS[0])
    assert row.verdict == WRONG
    told(row.reason)


def test_the_arena_is_what_the_file_plans() -> None:
    writer = depthwise(3, 64, 4464)
    arena = interpreted(writer).memory(TARGETS[0]).arena
    assert arena is not None
    assert (arena.used, arena.needed) == (writer.planned, writer.planned)
    (scratch,) = arena.scratch
    assert (scratch.node, scratch.bytes) == ("quantized_depthwise_conv2d#0", 4464)
    assert sum(life.bytes for life in arena.plan) == 2 * 8000 + 4464


def test_a_program_is_judged_for_executorch(told: Told) -> None:
    report = api.lint(depthwise(3, 64, None).data(), targets=["cortex-m4"], runtime="tflm")
    notes = " ".join(report.notes)
    assert "Judged for ExecuTorch" in notes
    told(notes)


def test_a_release_that_was_not_read_says_what_is_judged_in_its_place(told: Told) -> None:
    for release in ("", "main"):
        settings = {"release": release} if release else {}
        report = api.lint(depthwise(3, 64, None).data(), targets=["cortex-m4"], runtime="executorch@1.5.1", **settings)
        told(" ".join(report.notes))


def test_a_release_is_asked_for_by_its_number() -> None:
    assert runtime_of("executorch@1.4.1").label == "executorch@e4d02f41"
    assert runtime_of("executorch@1.5.1").cmsis_nn == "8.0.0"
    assert runtime_of("executorch@1.3.0").library("transpose_conv_s8", TARGETS[0]).release == "7.0.0"
    assert runtime_of("executorch@1.1.0").release == "7.0.0"
    reviewed = r"'1.7.0' has not been reviewed; reviewed: cff6f4dd .*, 1.6.0, 1.5.1, 1.4.1, 1.4.0, 1.3.1, .*, 1.0.1"
    with pytest.raises(ValueError, match=reviewed):
        runtime_of("executorch@1.7.0")


def test_a_program_of_1_1_is_judged_with_its_own_library() -> None:
    report = api.lint(depthwise(3, 64, None).data(), targets=["cortex-m4"], runtime="executorch@1.1.0")
    assert {verdict.target for verdict in report.verdicts} == {"cortex-m4, CMSIS-NN 7.0.0, gcc"}


def test_an_average_pool_that_rounds_up_has_the_size_that_its_kernel_expects() -> None:
    verdicts_of = []
    for rows in (2, 3):
        writer = PteWriter()
        source = writer.image(1, 4, 5, 5)
        scratch = writer.tensor("uint8", (4 * 4 * rows,))
        arguments = [(source,), [2, 2], [2, 2], [0, 0], True, 0, 0, 0, (scratch,)]
        result = writer.image(1, 4, rows, rows)
        writer.outputs.append(writer.call("cortex_m::quantized_avg_pool2d.out", *arguments, out=result))
        verdicts_of.append(interpreted(writer).rows(TARGETS[1])[0].verdict)
    assert verdicts_of == [REFUSED, CMSIS_NN]


def every_operator() -> PteWriter:
    """One call of each operator of the backend, of which no other reads the result."""
    writer = PteWriter()
    image, rows = writer.image(1, 8, 6, 6), writer.tensor("int8", (3, 8))
    channels = writer.image(1, 8, 1, 1)
    batch, other = writer.tensor("int8", (2, 3, 8)), writer.tensor("int8", (2, 5, 8))
    writer.inputs += [image, rows, channels, batch, other]
    add = [0, 1 << 30, 0]
    scales = [writer.constant([value] * 4, "int32") for value in (5, 1 << 30, -7)]
    weights = writer.constant([[[[1] * 8] * 3] * 3] * 4)
    transposed = [
        (image,), (weights,), (scales[0],), [2, 2], [1, 1], [0, 0], [1, 1], 128, -3, (scales[1],), (scales[2],), -128,
        127, (writer.tensor("uint8", (1632,)),), (writer.tensor("uint8", (0,)),),
    ]  # fmt: skip
    calls = (
        ("quantize_per_tensor", [(image,), 0.5, 0, -128, 127, 1], writer.image(1, 8, 6, 6)),
        ("quantized_transpose_conv2d", transposed, writer.image(1, 4, 11, 11)),
        ("quantized_add", [(image,), *add, (channels,), *add, *add, -128, 127], writer.image(1, 8, 6, 6)),
        ("quantized_mul", [(image,), 0, (image,), 0, 0, 1 << 30, 0], writer.image(1, 8, 6, 6)),
        ("quantized_div", [(image,), 0, (image,), 0, 0, 0.5], writer.image(1, 8, 6, 6)),
        ("quantized_activation", [(image,), (writer.constant(range(-128, 128)),)], writer.image(1, 8, 6, 6)),
        ("minimum", [(rows,), (rows,)], writer.tensor("int8", (3, 8))),
        ("maximum", [(rows,), (rows,)], writer.tensor("int8", (3, 8))),
        ("softmax", [(rows,), -1, 0, -128, 1 << 30, 20, -124], writer.tensor("int8", (3, 8))),
        ("transpose", [(rows,), [1, 0]], writer.tensor("int8", (8, 3))),
        ("pad", [(image,), [0, 1, 2, 0], [0, 1, 0, 0], 5], writer.image(1, 8, 8, 8)),
        ("quantized_max_pool2d", [(image,), [2, 2], [2, 2], [0, 0], [1, 1], False, 0, 0, -128, 127],
         writer.image(1, 8, 3, 3)),
        ("quantized_batch_matmul", [(batch,), 0, (other,), 0, 0, 1 << 30, 0, (writer.tensor("uint8", (20,)),)],
         writer.tensor("int8", (2, 3, 5))),
        ("dequantize_per_tensor", [(rows,), 0.5, 0, -128, 127, 1], writer.tensor("float32", (3, 8))),
    )  # fmt: skip
    for name, arguments, result in calls:
        writer.outputs.append(writer.call(f"cortex_m::{name}.out", *arguments, out=result))
    return writer


def test_each_operator_makes_its_call() -> None:
    interpretation = interpreted(every_operator())
    rows = {row.op.removeprefix("cortex_m::"): row for row in interpretation.rows(TARGETS[0])}
    beside = {name for name, row in rows.items() if row.verdict is Outcome.REFERENCE}
    assert beside == {"quantize_per_tensor", "dequantize_per_tensor", "quantized_div", "quantized_activation"}
    calls = {name: row.call for name, row in rows.items() if row.call}
    assert {name: (row.verdict, row.reason) for name, row in rows.items() if name in calls} == dict.fromkeys(
        calls, (CMSIS_NN, "")
    )
    entries = {name: call.entry for name, call in calls.items()}
    assert entries == {
        "quantized_transpose_conv2d": "transpose_conv_s8", "quantized_add": "elementwise_add_s8",
        "quantized_mul": "elementwise_mul_s8", "minimum": "minimum_s8", "maximum": "maximum_s8",
        "softmax": "softmax_s8", "transpose": "transpose_s8", "pad": "pad_s8", "quantized_max_pool2d": "max_pool_s8",
        "quantized_batch_matmul": "batch_matmul_s8",
    }  # fmt: skip
    assert calls["pad"].pad_front == (0, 1, 2, 0)
    assert (calls["pad"].input_dims, calls["pad"].output_dims) == ((1, 6, 6, 8), (1, 8, 8, 8))
    assert calls["quantized_add"].filter_dims == (1, 1, 1, 8)
    assert (calls["transpose"].input_dims, calls["transpose"].permutation) == ((1, 1, 3, 8), (1, 0))
    assert calls["quantized_batch_matmul"].filter_dims == (1, 2, 5, 8)
    assert calls["quantized_transpose_conv2d"].pad_after == (1, 1)


def test_every_command_takes_every_operator() -> None:
    data = every_operator().data()
    targets = ["cortex-m3", "cortex-m4", "cortex-m55"]
    assert len(api.layers(data, targets=targets).rows) == 3 * 14
    assert api.lint(data, targets=targets).error == ""
