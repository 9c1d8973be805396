"""Rows of the tables held against CMSIS-NN's source and against the device."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from firmware_check.build import Bench
from firmware_check.compilers import CLANG
from firmware_check.errors import FirmwareError
from firmware_check.evidence.c_source import c_source
from firmware_check.evidence.call_layer import call_step
from firmware_check.evidence.call_runs import run_calls
from firmware_check.evidence.checked_citations import audit
from firmware_check.evidence.recorded_runs import read, record, record_rows
from firmware_check.evidence.seen import C_INSTEAD, NOT_BUILT, NOT_CONFIRMED, _seen, float_hazards_on
from firmware_check.evidence.smallest_calls import hazards_on, routed, sides, witnesses
from firmware_check.float_arithmetic import FloatOutput
from firmware_check.legacy.score_calls import score_steps, softmax
from firmware_check.library import Library, open_library
from firmware_check.options import board_named
from firmware_check.quantized_constants import packed
from firmware_check.verdict import compare_floats
from onnxlint_cmsis.cmsis_nn.apis import FLOAT
from onnxlint_cmsis.cmsis_nn.evidence import CONFIRMED, BranchSeen, HazardSeen, Recorded, recorded
from onnxlint_cmsis.cmsis_nn.library import evidence
from onnxlint_cmsis.cmsis_nn.tables import hazard
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from support.firmware_runs import broken_library, check, lacking, needs_firmware
from support.goldens import Told
from support.targets import target_of

WRAPPER = "Source/ConvolutionFunctions/arm_convolve_wrapper_s8.c"


def carried(folder: Path) -> Library:
    """A copy of the library at hand, to change."""
    library = open_library("")
    shutil.copytree(library.root, folder / "tree")
    return Library(folder / "tree", library.release, library.includes, "copy")


def drifts(library: Library) -> list[str]:
    """What is said of a wrapper; kernels of the library at hand are formatted otherwise than those of the release."""
    return [str(drift) for _, drift in audit(library) if drift and drift.citation.file == WRAPPER]


def test_every_cited_line_of_a_wrapper_holds(tmp_path: Path) -> None:
    assert drifts(carried(tmp_path)) == []


@pytest.mark.parametrize(
    "changed", ["output_dims->w % 8 == 0 && input_dims->c > 3", "output_dims->w % 8 == 0"], ids=["argument", "number"]
)
def test_a_changed_condition_is_named_with_the_row_to_mend(changed: str, tmp_path: Path, told: Told) -> None:
    library = carried(tmp_path)
    path = library.root / WRAPPER
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("output_dims->w % 4 == 0", changed), encoding="utf-8")
    (said,) = drifts(library)
    told(said)
    assert said.endswith("mend routes/convolve_s8: arm_convolve_1_x_n_s8")


def test_a_statement_that_moved_is_found_again(tmp_path: Path) -> None:
    library = carried(tmp_path)
    path = library.root / WRAPPER
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([*lines[:93], "", "", *lines[93:]]), encoding="utf-8")
    said = drifts(library)
    assert any("moved to line 96" in text for text in said)


def test_a_new_branch_is_named_though_no_line_moved(tmp_path: Path, told: Told) -> None:
    library = carried(tmp_path)
    path = library.root / WRAPPER
    text = path.read_text(encoding="utf-8")
    position = text.index("{", text.index("arm_cmsis_nn_status arm_convolve_wrapper_s8(")) + 1
    early = " if (filter_dims->h == 7) { return arm_convolve_7x7_s8(ctx, conv_params); }"
    path.write_text(text[:position] + early + text[position:], encoding="utf-8")
    (said,) = drifts(library)
    told(said)


def test_functions_of_several_builds_and_macros_have_all_their_lines() -> None:
    text = "#define LONG(a) \\\n    (a)\nint f(int a)\n{\n    g();\n}\n/* int f(int b) { */\nint f(int b)\n{\n}\n"
    source = c_source(text)
    assert source.function("LONG") == [1, 2]
    assert source.function("f") == [3, 4, 5, 6, 8, 9, 10]
    assert source.function("g") == []


def test_every_hazard_of_a_release_has_a_call_or_a_reason() -> None:
    target = target_of("cortex-m4", "7.0.0")
    calls = routed(target)
    without = {row.id for row in hazards_on(target) if not row.caller and not witnesses(row, calls)}
    assert without == {"lstm-initial-state-dropped", "lstm-s16-initial-state-dropped"}
    chosen = list(sides(target, calls))
    assert {side.branch for side in chosen if side.holds} >= {side.branch for side in chosen}
    assert len({side.asks for side in chosen if not side.holds}) > 20


def test_four_bit_weights_lie_two_to_a_byte_the_first_one_low() -> None:
    assert packed(np.array([1, -2, 7])).tolist() == [1 | (14 << 4) - 256, 7]


@pytest.mark.parametrize("stem", ["convolve", "depthwise"])
def test_what_a_call_computes_is_what_a_loop_computes(stem: str) -> None:
    """The reference of single calls against the definition of a convolution, groups and dilation among it."""
    deep = stem == "convolve"
    call = KernelCall(
        f"{stem}_s8", Dims(2, 5, 6, 4), Dims(6, 2, 3, 2) if deep else Dims(1, 2, 3, 8), Dims(2, 2, 3, 6 if deep else 8),
        Pair(2, 2), Pair(1, 1), Pair(0, 1), Pair(2, 1), 0 if deep else 2,
    )  # fmt: skip
    step = call_step("x", call, open_library(""))
    data = step.sources[0].reshape(2, 5, 6, 4).astype(int) - 7
    arrays = {array.name: array.values for array in step.step.arrays}
    weights = arrays["weights"][:-16].reshape(tuple(call.filter_dims))
    for n, y, x, c in np.ndindex(2, 2, 3, call.output_dims.c):
        total = int(arrays["bias"][c])
        for ky, kx, d in np.ndindex(2, 3, 2 if deep else 1):
            iy, ix = y * 2 - 1 + 2 * ky, x * 2 - 1 + kx
            if 0 <= iy < 5 and 0 <= ix < 6:
                channel = c // 3 * 2 + d if deep else c // 2
                total += int(data[n, iy, ix, channel]) * int(weights[c, ky, kx, d] if deep else weights[0, ky, kx, c])
        real = total * int(arrays["multipliers"][c]) * 2.0 ** (int(arrays["shifts"][c]) - 31) - 5
        assert abs(step.expected.reshape(tuple(call.output_dims))[n, y, x, c] - min(127, max(-128, real))) <= 0.5


@needs_firmware
def test_a_hazard_and_a_right_call_are_told_apart_on_the_device(tmp_path: Path) -> None:
    wrong = KernelCall(
        "depthwise_s8",
        Dims(1, 5, 5, 4),
        Dims(1, 3, 3, 4),
        Dims(1, 5, 6, 4),
        padding=Pair(1, 1),
        pad_after=Pair(1, 2),
        ch_mult=1,
    )
    right = wrong._replace(output_dims=Dims(1, 5, 5, 4), pad_after=Pair(1, 1))
    runs = run_calls({"wrong": wrong, "right": right}, Bench(board_named("m4"), open_library("")), tmp_path)
    assert runs["wrong"].trouble.of(hazard("dw-3x3-padding-after"))
    assert runs["right"].trouble == (0, (), (), ())
    assert all(run.unlike == () for run in runs.values())


@needs_firmware
def test_a_call_that_faults_is_taken_out_and_the_others_run(tmp_path: Path) -> None:
    body = 'if (input_dims->w == 3) { __asm__ volatile("udf #0"); }'
    library = open_library(str(broken_library(tmp_path, body)))
    calls = {
        str(width): KernelCall("convolve_s8", Dims(1, 3, width, 2), Dims(2, 2, 2, 2), Dims(1, 2, width - 1, 2))
        for width in (2, 3, 4)
    }
    runs = run_calls(calls, Bench(board_named("m4"), library), tmp_path / "runs")
    assert [run.ended[:21] for run in runs.values() if run.ended] == ["the firmware faulted "]
    assert [runs[width].trouble for width in ("2", "4")] == [(0, (), (), ())] * 2


@needs_firmware
@pytest.mark.skipif(bool(lacking(CLANG)), reason=lacking(CLANG))
def test_static_kernels_are_seen_in_what_clang_compiles(tmp_path: Path) -> None:
    """It would inline them where they are called once, and the trace would be without them."""
    calls = {
        name: KernelCall(
            "depthwise_s8", Dims(1, 1, 1, 1), Dims(1, 1, 1, outputs), Dims(1, 1, 1, outputs), ch_mult=outputs
        )
        for name, outputs in (("depthwise_conv_s8_generic", 3), ("depthwise_conv_s8_mult_4", 4))
    }
    runs = run_calls(calls, Bench(board_named("m4"), open_library(""), compiler=CLANG), tmp_path)
    assert runs
    for name, run in runs.items():
        assert run.observed is not None
        assert (run.observed.effective, run.unlike) == (name, ())


@needs_firmware
def test_a_call_that_cannot_be_built_shows_no_hazard(tmp_path: Path) -> None:
    """A linker's complaint is not what the firmware did."""
    library = open_library(str(broken_library(tmp_path, "no statement;")))
    call = KernelCall("convolve_s8", Dims(1, 3, 3, 4), Dims(4, 3, 3, 4), Dims(1, 1, 1, 4))
    (run,) = run_calls({"call": call}, Bench(board_named("m4"), library), tmp_path).values()
    assert "arm_convolve_s8.c" in run.failed
    assert not run.ended
    steps = [call_step("call", call, library)]
    seen = _seen(hazard("conv-grouped-as-dense"), steps, {"call": run}, Bench(board_named("m4"), library))
    assert (seen.outcome, seen.seen) == (NOT_BUILT, run.failed)


def test_numbers_that_show_a_hazard_of_softmax_show_no_other() -> None:
    """Twice the numbers are wrong where scores are near, and right where one is far below the largest."""
    for step in score_steps("softmax-q7-8-bit-difference-dsp-5-7", 3):
        (data,) = step.sources
        assert isinstance(step.expected, FloatOutput)
        doubled = np.minimum(2 * softmax(data), 127)
        other_class = np.where(data.astype(int) <= data.max() - 123, 127, doubled)
        strains = [compare_floats(row, *step.expected).strain for row in (softmax(data), doubled, other_class)]
        assert [strain is not None and strain <= 1 for strain in strains] == [True, True, False]
    for step in score_steps("softmax-q7-doubled", 3):
        (data,) = step.sources
        assert isinstance(step.expected, FloatOutput)
        assert int(data.max()) - int(data.min()) < 123
        strains = [compare_floats(row, *step.expected).strain for row in (softmax(data), 2 * softmax(data))]
        assert [strain is not None and strain <= 1 for strain in strains] == [True, False]
    for step in score_steps("nn-activations-direct-q15-negative-index-5-7", 3):
        assert step.sources[0].min() < 0
    assert score_steps("convolve-hwc-q7-fast-sizes-dsp", 3) == []


NO_PARAMETER = "the function has no parameter for an initial state"
REASONS = {
    "lstm-initial-state-dropped": NO_PARAMETER,
    "lstm-s16-initial-state-dropped": NO_PARAMETER,
    "dw-s4-opt-16-bit-channels-mve": "its call does not fit the board",
}
"""Hazards that no board shows, with the reason that the record has."""
ADDED_LATER = (
    "conv-1xn-one-row", "conv-1xn-one-row-5", "conv-1xn-s4-one-row", "dw-s4-odd-channels", "transpose-identity-of-two",
    "max-pool-empty-window", "max-pool-s16-empty-window", "conv-1xn-wrong-values",
)  # fmt: skip
"""Hazards that were run with gcc alone below main: clang 16, which the other runs are of, was not at hand."""
WITH_CLANG = dict.fromkeys(("conv-1xn-window-in-padding", "conv-1xn-window-outside"), C_INSTEAD)
"""Hazards that boards show with gcc alone."""


def test_every_hazard_is_seen_in_every_release_with_both_compilers_or_has_a_reason() -> None:
    """Recorded results: nothing is left unconfirmed, and no branch went another way than predicted."""
    assert {(run.release, run.cpu, run.compiler.split()[0]) for run in recorded()} >= {
        (release, cpu, compiler)
        for release in ("4.0.0", "4.1.0", "5.0.0", "6.0.0", "7.0.0", "main")
        for cpu in ("cortex-m3", "cortex-m4", "cortex-m55")
        for compiler in ("clang", "gcc")
    }
    for run in recorded():
        rows = {row.hazard: row for row in run.hazards}
        name, version = run.compiler.split()
        target = target_of(run.cpu, run.release)._replace(compiler=name, compiler_version=version)
        links = run.release == FLOAT.release and (run.cpu, name) != ("cortex-m55", "gcc")
        floats = [row for kind in FLOAT.types if links for row in float_hazards_on(target, kind)]
        wanted = {row.id for row in (*hazards_on(target), *floats)}
        later = {*ADDED_LATER, *(["tconv-padding-above-input"] if run.release == "7.0.0" else [])}
        assert wanted - (later if run.compiler == "clang 16.0.6" else set()) == set(rows), run.release
        left = {name: row.seen for name, row in rows.items() if row.outcome != CONFIRMED}
        allowed = {**REASONS, **(WITH_CLANG if run.compiler.startswith("clang") else {})}
        assert all(said.startswith(allowed[name]) for name, said in left.items())
        assert not [branch for branch in run.branches if branch.unlike]


def test_words_on_evidence_follow_the_recorded_results(told: Told) -> None:
    asked = (
        ("conv-1xn-narrow-output-refused", "5.0.0"),
        ("conv-1x1-fast-padding-after", "cmsis5-5.9.0"),
        ("conv-dilation-ignored", "cmsis5-5.8.0"),
        ("convolve-hwc-q7-fast-sizes-dsp", "cmsis5-5.9.0"),
    )
    told(evidence(hazard(name), release) for name, release in asked)


def test_a_run_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    path = str(tmp_path / "results.json")
    old = Recorded("6.0.0", "cortex-m4", "gcc 12.2.1", "2026-11-21", (), ())
    new = old._replace(date="2026-11-22", hazards=(HazardSeen("a", CONFIRMED, "status -1", "call"),))
    other = new._replace(release="5.0.0", branches=(BranchSeen("b", 1, 2, ("c",)),))
    for run in (old, other, new):
        record(path, run)
    assert read(path) == [other, new]


def test_rows_are_added_to_the_run_of_their_compiler_alone(tmp_path: Path) -> None:
    file, target = str(tmp_path / "seen.json"), target_of("cortex-m4", "7.0.0")
    known = [row.id for row in hazards_on(target)][:3]
    seen = [HazardSeen(name, CONFIRMED, "1 of 2", "a call") for name in known]
    run = Recorded("7.0.0", "cortex-m4", "gcc 12.2.1", "2026-11-22", (seen[2], seen[0]), ())
    record(file, run)
    more = HazardSeen(known[1], NOT_CONFIRMED, "right", "another call")
    record_rows(file, run._replace(date="2026-11-28", hazards=(more,)), target)
    assert read(file) == [run._replace(hazards=(seen[0], more, seen[2]))]
    with pytest.raises(FirmwareError, match=r"no run of CMSIS-NN 7\.0\.0 on cortex-m4 with gcc 13\.2"):
        record_rows(file, run._replace(compiler="gcc 13.2"), target)


def test_commands_say_what_is_no_checkout(tmp_path: Path) -> None:
    for name in ("sources", "hazards"):
        done = check(name, "--cmsis-nn", str(tmp_path))
        assert done.returncode == 2
        assert "no CMSIS-NN there" in done.stderr
