"""Programs of one release of ExecuTorch in another: operators, arguments, and what each release hands to CMSIS-NN."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.cli import api
from onnxlint_cmsis.formats.format import RELEASES
from onnxlint_cmsis.formats.pte.names import SIGNATURES
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Isa, Level, Target
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.executorch.interpret import EXECUTE, LOAD, Interpretation, ProgramRow
from onnxlint_cmsis.runtimes.executorch.kernels import KERNELS, kernel_of
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH_RELEASES, runtime_of
from support.paths import SHARED
from support.pte_writer import PteWriter

CMSIS_NN, WRONG, REFUSED, HALTS = (
    Outcome.CMSIS_NN, Outcome.WRONG, Outcome.REFUSED, Outcome.HALTS
)  # fmt: skip
CPUS = {Isa.MVE: "cortex-m55", Isa.DSP: "cortex-m4", Isa.SCALAR: "cortex-m3"}
LAST = (0, 2, 3, 1)


def interpreted(writer: PteWriter, release: str = "", isa: Isa = Isa.DSP) -> Interpretation:
    runtime = runtime_of(f"executorch@{release}" if release else "executorch")
    target = Target(CPUS[isa], isa, runtime.release)
    interpretation = ModelAnalysis("m.pte", AnalysisSettings((target,), runtime=runtime), writer.data()).execution
    assert isinstance(interpretation, Interpretation)
    return interpretation


def last_row(writer: PteWriter, release: str, isa: Isa = Isa.DSP) -> ProgramRow:
    interpretation = interpreted(writer, release, isa)
    return interpretation.rows(interpretation.targets[0])[-1]


def convolution(arguments: int, padding: list[int] | None = None, order: tuple[int, ...] = LAST) -> PteWriter:
    """A 3x3 convolution of four to four channels; the order of its result in memory."""
    writer = PteWriter()
    source, weights = writer.image(1, 4, 8, 8), writer.constant([[[[1] * 4] * 3] * 3] * 4)
    numbers = [(writer.constant([value] * 4, "int32"),) for value in (1 << 30, -7)]
    window = (None, [1, 1], padding or [1, 1], [1, 1], 0, 0, *numbers, -128, 127)
    scratch = [(writer.tensor("uint8", (256,)),)] if arguments == 13 else []
    result = writer.tensor("int8", (1, 4, 8, 8), order)
    writer.call("cortex_m::quantized_conv2d.out", (source,), (weights,), *window, *scratch, out=result)
    writer.inputs, writer.outputs = [source], [result]
    return writer


def average_pool(arguments: int) -> PteWriter:
    writer = PteWriter()
    source, result = writer.image(1, 8, 8, 8), writer.image(1, 8, 4, 4)
    window = [[2, 2], [2, 2], [0, 0], *([False] if arguments == 9 else []), 0, 0, 0]
    scratch = [(writer.tensor("uint8", (32,)),)] if arguments > 7 else []
    writer.call("cortex_m::quantized_avg_pool2d.out", (source,), *window, *scratch, out=result)
    writer.inputs, writer.outputs = [source], [result]
    return writer


def total(arguments: int) -> PteWriter:
    writer = PteWriter()
    source, result = writer.image(1, 8, 4, 4), writer.image(1, 8, 4, 4)
    pair = ((source,), 0, 1 << 30, 0)
    limits = (-128, 127) if arguments == 13 else ()
    writer.call("cortex_m::quantized_add.out", *pair, *pair, 0, 1 << 30, -19, *limits, out=result)
    writer.inputs, writer.outputs = [source], [result]
    return writer


def looked_up() -> PteWriter:
    writer = PteWriter()
    source, result = writer.tensor("int8", (1, 8)), writer.tensor("int8", (1, 8))
    table = writer.constant([*range(-128, 128)])
    writer.call("cortex_m::quantized_activation.out", (source,), (table,), out=result)
    writer.inputs, writer.outputs = [source], [result]
    return writer


def pad(order: tuple[int, ...]) -> PteWriter:
    writer = PteWriter()
    source = writer.tensor("int8", (1, 4, 3, 3), order)
    result = writer.tensor("int8", (1, 4, 5, 5), order)
    amounts = [0, 0, 1, 1] if order != LAST else [0, 1, 1, 0]
    writer.call("cortex_m::pad.out", (source,), amounts, amounts, 0, out=result)
    writer.inputs, writer.outputs = [source], [result]
    return writer


def quantized(kind: str) -> PteWriter:
    writer = PteWriter()
    source, result = writer.tensor("float32", (1, 8)), writer.tensor(kind, (1, 8))
    low = -128 if kind == "int8" else -32768
    writer.call("cortex_m::quantize_per_tensor.out", (source,), 0.5, 0, low, -low - 1, 2, out=result)
    writer.inputs, writer.outputs = [source], [result]
    return writer


@pytest.mark.parametrize(
    ("writer", "runs"),
    [
        (convolution(12), ("1.1.0", "1.2.0", "1.3.0", "1.3.1")),
        (convolution(13), ("1.4.0", "1.4.1", "1.5.1", "1.6.0")),
        (convolution(13, [1, 1, 1, 1]), ("1.6.0",)),
        (average_pool(8), ("1.4.0", "1.4.1")),
        (average_pool(9), ("1.5.1", "1.6.0")),
        (total(11), ("1.1.0", "1.2.0")),
        (total(13), ("1.3.0", "1.3.1", "1.4.0", "1.4.1", "1.5.1", "1.6.0")),
    ],
    ids=["conv-12", "conv-13", "conv-four-paddings", "average-8", "average-9", "add-11", "add-13"],
)
def test_a_program_runs_in_the_releases_that_made_it(writer: PteWriter, runs: tuple[str, ...]) -> None:
    verdicts = {release: last_row(writer, release).verdict for release in EXECUTORCH_RELEASES}
    right = [release for release, verdict in verdicts.items() if verdict is CMSIS_NN]
    assert set(right) == set(runs)
    assert all(verdicts[release] in (REFUSED, WRONG) for release in set(verdicts) - set(right))


def test_other_arguments_stop_it_when_it_runs_and_a_missing_operator_when_it_is_loaded() -> None:
    row = last_row(convolution(12), "1.5.1")
    assert (row.verdict, row.stage, row.cause) == (REFUSED, EXECUTE, "release")
    assert "1.1.0 to 1.3.1" in row.reason and "InvalidProgram" in row.reason
    row = last_row(looked_up(), "1.1.0")
    assert (row.verdict, row.stage, row.cause) == (REFUSED, LOAD, "operator")
    assert last_row(looked_up(), "1.4.0").stage == ""


@pytest.mark.parametrize("release", ["1.1.0", "1.2.0", "1.3.0", "1.3.1"])
def test_an_average_pool_gets_no_buffer_before_1_4(release: str) -> None:
    rows = {isa: last_row(average_pool(7), release, isa) for isa in Isa}
    assert {isa: row.verdict for isa, row in rows.items()} == {
        Isa.SCALAR: CMSIS_NN, Isa.DSP: REFUSED, Isa.MVE: CMSIS_NN
    }  # fmt: skip
    assert (rows[Isa.DSP].stage, rows[Isa.DSP].cause) == (EXECUTE, "buffer")


def test_every_sum_of_1_0_is_wrong() -> None:
    row = last_row(total(11), "1.0.1")
    assert row.verdict is WRONG and "127" in row.reason
    assert last_row(total(11), "1.1.0").verdict is CMSIS_NN


@pytest.mark.parametrize(
    ("release", "verdict"),
    [("1.1.0", REFUSED), ("1.2.0", WRONG), ("1.3.1", WRONG), ("1.4.1", WRONG), ("1.5.1", REFUSED)],
)
def test_how_a_convolution_looks_at_its_result(release: str, verdict: Outcome) -> None:
    """From 1.2.0 to 1.4.1 it looks at its input twice."""
    arguments = 12 if RELEASES[release] < RELEASES["1.4.0"] else 13
    assert last_row(convolution(arguments, order=(0, 1, 2, 3)), release).verdict is verdict


def test_a_pad_of_1_2_takes_every_image_as_nchw() -> None:
    assert last_row(pad(LAST), "1.2.0").verdict is WRONG
    assert last_row(pad((0, 1, 2, 3)), "1.2.0").verdict is CMSIS_NN
    assert last_row(pad(LAST), "1.3.0").verdict is CMSIS_NN


def test_int16_is_quantized_since_1_3() -> None:
    assert [last_row(quantized("int16"), release).verdict for release in ("1.2.0", "1.3.0")] == [
        HALTS, Outcome.REFERENCE
    ]  # fmt: skip
    assert last_row(quantized("int8"), "1.2.0").verdict is Outcome.REFERENCE


def test_a_convolution_allocates_as_much_as_the_general_one_asks_for_before_1_3() -> None:
    """A convolution of 1x1 needs none, and gets what arm_convolve_s8 would take: 4 x 4 x 16 channels."""
    writer = PteWriter()
    sizes = (1, 16, 8, 8)
    source = writer.image(*sizes)
    writer.inputs, writer.outputs = [source], [writer.convolution(source, sizes, sizes, 1, None)]
    assert [last_row(writer, release).scratch for release in ("1.1.0", "1.2.0", "1.3.0")] == [(64,), (64,), (0,)]
    assert last_row(writer, "1.2.0", Isa.MVE).scratch == (64,)


def test_four_numbers_of_padding_are_top_left_bottom_right() -> None:
    row = last_row(convolution(13, [0, 2, 2, 0]), "1.6.0")
    assert row.call is not None
    assert (tuple(row.call.padding), tuple(row.call.pad_after)) == ((0, 2), (2, 0))


@pytest.mark.parametrize(
    ("writer", "commit"),
    [
        (convolution(12), "e2f18eb2"),
        (convolution(13), "cff6f4dd"),
        (convolution(13, [1, 1, 1, 1]), "1.6.0"),
        (average_pool(8), "e4d02f41"),
        (total(11), "cff6f4dd"),
    ],
    ids=["made-by-1.3.1", "as-usual", "four-paddings", "made-by-1.4.1", "of-another-library"],
)
def test_a_program_decides_on_the_revision_where_none_was_asked_for(writer: PteWriter, commit: str) -> None:
    """Not on one with another CMSIS-NN, which the targets name."""
    settings = AnalysisSettings((Target("cortex-m4", Isa.DSP, "main"),), runtime=runtime_of("executorch"))
    analysis = ModelAnalysis("m.pte", settings, writer.data())
    assert analysis.settings.runtime.commit == commit
    asked = settings._replace(runtime=runtime_of("executorch@cff6f4dd"))
    assert ModelAnalysis("m.pte", asked, writer.data()).settings.runtime.commit == "cff6f4dd"


@pytest.mark.parametrize(
    ("writer", "asked", "do"),
    [
        (convolution(12), "1.5.1", "with ExecuTorch 1.3.1, or export the program again with 1.5.1"),
        (convolution(13), "1.3.1", "with ExecuTorch 1.4.0 or a newer one, or export the program again with 1.3.1"),
        (average_pool(8), "1.5.1", "with ExecuTorch 1.4.1, or"),
        (looked_up(), "1.1.0", "with ExecuTorch 1.4.0 or a newer one, or export the program again with 1.1.0"),
    ],
    ids=["older", "newer", "between", "missing"],
)
def test_the_firmware_that_fits_a_program_is_named(writer: PteWriter, asked: str, do: str) -> None:
    (remark,) = interpreted(writer, asked).remarks
    assert remark.cause == ("operator" if asked == "1.1.0" else "release") and do in remark.do


@pytest.mark.parametrize("op", SIGNATURES)
def test_each_release_has_one_signature_and_kernels_for_it(op: str) -> None:
    """Signatures of an operator follow on each other, and a kernel stands wherever one does."""
    rows = SIGNATURES[op]
    assert [row.until for row in rows[:-1]] == [row.since for row in rows[1:]]
    assert len({len(row.names) for row in rows}) == len(rows)
    for day in RELEASES.values():
        has = any(row.holds(day) for row in rows)
        assert op not in KERNELS or has == (kernel_of(op, day) is not None), (op, day)


REPORTS = SHARED / "cases" / "reports"


@pytest.mark.skipif(not REPORTS.is_dir(), reason="the shared cases are not here")
@pytest.mark.parametrize(
    ("file", "cpu", "release"),
    [
        ("mcu_et1.3.1_m55.pte", "cortex-m55", "1.5.1"),
        ("mcu_et1.5.1_m55.pte", "cortex-m55", "1.3.1"),
        ("tanh_et1.5.1_m55.pte", "cortex-m55", "1.1.0"),
        ("avgpool_et1.3.1_m4.pte", "cortex-m4", "1.3.1"),
        ("e1_avgpool.onnx", "cortex-m4", "1.2.0"),
    ],
)
def test_what_was_reported_stops(file: str, cpu: str, release: str) -> None:
    report = api.lint(REPORTS / file, targets=[cpu], runtime=f"executorch@{release}")
    errors = [finding.effect for finding in report.findings if finding.level is Level.ERROR]
    assert Effect.STOPS in errors
    assert [verdict.word for verdict in report.verdicts] == ["STOPS"]
