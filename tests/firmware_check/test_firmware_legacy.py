"""Functions for q7 and q15: the order of weights, checkouts of CMSIS 5, and calls of every kind.

ONNXLINT_CMSIS_5 names a checkout of CMSIS 5 that calls are run from.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from firmware_check.build import Bench
from firmware_check.cli import main
from firmware_check.errors import FirmwareError
from firmware_check.evidence.both_apis import entries_of
from firmware_check.evidence.call_runs import run_steps
from firmware_check.legacy.arguments import arguments
from firmware_check.legacy.arithmetic import QNumbers
from firmware_check.legacy.cmsis_5 import interleaved, open_any, open_cmsis_5
from firmware_check.legacy.legacy_call import legacy_step, step_with
from firmware_check.options import board_named
from firmware_check.predicted_hazards import Trouble
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from support.firmware_runs import MISSING
from support.goldens import Told
from support.targets import target_of

FOLDER = os.environ.get("ONNXLINT_CMSIS_5", "")
ORDERS = {
    "q7": """
        11 21 13 23 31 41 33 43 12 22 14 24 32 42 34 44 15 25 35 45 16 26 36 46 17 27 37 47
        51 52 53 54 55 56 57 61 62 63 64 65 66 67""",
    "q7q15": """
        11 21 12 22 31 41 32 42 13 23 14 24 33 43 34 44 15 25 16 26 35 45 36 46 17 27 37 47
        51 52 53 54 55 56 57 61 62 63 64 65 66 67""",
}
"""The matrix of 6 rows and 7 columns in the comments of the `_opt` functions."""


@pytest.mark.parametrize(("kind", "order"), ORDERS.items())
def test_weights_are_interleaved_as_the_comments_of_the_library_show(kind: str, order: str) -> None:
    weights = np.array([[10 * row + column for column in range(1, 8)] for row in range(1, 7)])
    assert interleaved(weights, kind).tolist() == list(map(int, order.split()))


def test_weights_of_sixteen_bits_are_interleaved_in_pairs() -> None:
    weights = np.array([[10 * row + column for column in range(1, 4)] for row in range(1, 7)])
    order = "11 12 21 22 31 32 41 42 13 23 33 43 51 52 53 61 62 63"
    assert interleaved(weights, "q15").tolist() == list(map(int, order.split()))


def test_fewer_than_four_rows_keep_their_order() -> None:
    weights = np.arange(15).reshape(3, 5)
    assert all((interleaved(weights, kind) == weights.reshape(-1)).all() for kind in ("q7", "q15", "q7q15"))


def convolution(in_c: int, out_c: int) -> KernelCall:
    return KernelCall(
        "convolve_q7", Dims(1, 5, 5, in_c), Dims(out_c, 3, 3, in_c), Dims(1, 5, 5, out_c),
        padding=Pair(1, 1), pad_after=Pair(1, 1),
    )  # fmt: skip


def test_arguments_are_in_the_order_of_the_header() -> None:
    call = convolution(6, 7)
    numbers = QNumbers(np.zeros(0), np.zeros(0), np.zeros(0), 3, 9, 8)
    square = "source, 5, 6, weights, 7, 3, 1, 1, bias, 3, 9, result, 5, scratch, 0"
    assert arguments("arm_convolve_HWC_q7_basic", call, numbers) == square
    expected = "source, 5, 5, 6, weights, 7, 3, 3, 1, 1, 1, 1, bias, 3, 9, result, 5, 5, scratch, 0"
    assert arguments("arm_convolve_HWC_q7_fast_nonsquare", call, numbers) == expected


def tree(folder: Path, header: str) -> str:
    include = folder / "CMSIS" / "NN" / "Include"
    include.mkdir(parents=True)
    (include / "arm_nnfunctions.h").write_text(header, encoding="utf-8")
    source = folder / "CMSIS" / "NN" / "Source" / "ConvolutionFunctions"
    source.mkdir(parents=True)
    lines = ["", "arm_status arm_convolve_HWC_q7_RGB(const q7_t *Im_in, const uint16_t dim_im_in)", "{"]
    lines += [""] * 102 + ["    if (ch_im_in != 3)", "    {", "        return ARM_MATH_SIZE_MISMATCH;", "    }", "}"]
    (source / "arm_convolve_HWC_q7_RGB.c").write_text("\n".join(lines), encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize(
    ("header", "release"),
    [
        ("arm_status arm_convolve_HWC_q7_fast(void); arm_status arm_convolve_wrapper_s16(void);", "cmsis5-5.9.0"),
        ("arm_status arm_convolve_HWC_q7_fast(void); arm_status arm_convolve_wrapper_s8(void);", "cmsis5-5.8.0"),
        ("arm_status arm_convolve_HWC_q7_fast(void); arm_status arm_convolve_s8(void);", "cmsis5-5.7.0"),
        ("arm_status arm_convolve_HWC_q7_fast(void);", "cmsis5-5.6.0"),
    ],
)
def test_a_checkout_of_cmsis_5_is_known_by_its_header(header: str, release: str, tmp_path: Path) -> None:
    folder = tree(tmp_path, header)
    assert open_any(folder).release == open_cmsis_5(f"{folder}/CMSIS/NN").release == release
    assert "convolve_q7" in entries_of(release)


def test_another_folder_is_none(tmp_path: Path) -> None:
    with pytest.raises(FirmwareError, match="no CMSIS 5 there"):
        open_cmsis_5(str(tmp_path))
    newer = "arm_cmsis_nn_status arm_convolve_wrapper_s8(void);"
    with pytest.raises(FirmwareError, match="no CMSIS 5 there"):
        open_cmsis_5(tree(tmp_path, newer))


def test_lines_of_cmsis_5_are_held_against_the_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    folder = tree(tmp_path, "arm_status arm_convolve_HWC_q7_fast(void);")
    assert main(["sources", "--cmsis-nn", folder]) == 1
    said = capsys.readouterr().out
    file = "Source/ConvolutionFunctions/arm_convolve_HWC_q7_RGB.c"
    rgb = [line.partition("; mend")[0] for line in said.splitlines() if file in line]
    assert any(line.startswith(f"{file}:235 ") and line.endswith("moved to line 106") for line in rgb)
    assert not any(f"{file}:106 " in line for line in rgb), "the check for DSP stands where the row says"
    told(said)


@pytest.mark.skipif(not FOLDER, reason="ONNXLINT_CMSIS_5 names no checkout of CMSIS 5")
@pytest.mark.skipif(bool(FOLDER and MISSING), reason=f"this machine has no {', '.join(MISSING)}")
@pytest.mark.parametrize("cpu", ["cortex-m3", "cortex-m4", "cortex-m55"])
def test_a_pad_that_reaches_fast_changes_no_bit(cpu: str, tmp_path: Path) -> None:
    """Channels 6 -> 8 and 7 -> 8 of zeros take arm_convolve_HWC_q7_fast; the first seven outputs stay."""
    generator = np.random.default_rng(4)
    source = generator.integers(-128, 128, (1, 5, 5, 6)).astype(np.int8)
    weights = generator.integers(-128, 128, (7, 3, 3, 6)).astype(np.int8)
    bias = generator.integers(-128, 128, 7).astype(np.int8)
    more = ((0, 0), (0, 0), (0, 0), (0, 2))
    plain = QNumbers(source, weights, bias, 4, 9, 8)
    wide = QNumbers(np.pad(source, more), np.pad(weights, ((0, 1), *more[1:])), np.pad(bias, (0, 1)), 4, 9, 8)
    bench = Bench(board_named(cpu), open_cmsis_5(FOLDER), 60.0, jobs=1)
    steps = {
        "basic": step_with("basic", convolution(6, 7), bench.target, plain),
        "fast": step_with("fast", convolution(8, 8), bench.target, wide),
    }
    before, after = (step.expected for step in steps.values())
    assert before is not None and after is not None and np.unique(before).size > 50
    assert (after.reshape(25, 8) == np.pad(before.reshape(25, 7), ((0, 0), (0, 1)))).all()
    runs = run_steps(list(steps.values()), bench, tmp_path)
    for name, step in steps.items():
        assert step.step.function == f"arm_convolve_HWC_q7_{name}"
        assert (runs[name].trouble, runs[name].unlike) == (Trouble(0, (), ()), ())


def test_a_step_carries_what_the_call_needs() -> None:
    target = target_of("cortex-m4", "cmsis5-5.9.0")
    step = legacy_step("conv", convolution(6, 7), target).step
    assert (step.function, step.numbers["scratch"]) == ("arm_convolve_HWC_q7_basic", 4 * 9 * 6)
    assert [array.name for array in step.arrays] == ["weights", "bias"]
