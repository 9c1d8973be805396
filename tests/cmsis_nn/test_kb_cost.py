"""Predicted instructions against the measured ones, and what the prediction leaves unsaid."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fit_cost
import fit_float
import held_out_errors
from non_negative import non_negative
from onnxlint_cmsis.cmsis_nn.cost import counts_of
from onnxlint_cmsis.cmsis_nn.cost_records import CPUS, FOLDER, INTEGER_CPUS, table_of
from onnxlint_cmsis.cmsis_nn.json_records import shape_answer
from onnxlint_cmsis.cmsis_nn.layer_records import call_of
from onnxlint_cmsis.cmsis_nn.library import copy_range, cost, instructions_range, reference_range, route
from onnxlint_cmsis.cmsis_nn.loops.plane import AxisSizes, odd_places, plane, whole_fours
from onnxlint_cmsis.cmsis_nn.releases import RELEASES, measured_on
from onnxlint_cmsis.cmsis_nn.targets import parse_isa, parse_target
from onnxlint_cmsis.ground.types import Dims, Isa, KernelCall, Pair, Target
from support import paths
from support.nightly import one_of
from support.targets import target_of

SAMPLE = paths.DATA / "cost_sample.jsonl.gz"
SHARED = paths.SHARED / "vectors" / "cost"
ALONE = ("m0", "m23")
"""Cores that are measured beside the one of their instruction set."""
MEASURED = [release for release in RELEASES[RELEASES.index("4.0.0") :] if measured_on(release) == release]
CORES = fit_cost.CORES
BUILDS = [parse_target(cpu, release) for release, cpu in product(MEASURED, CORES.values())]
COMPILED = [
    parse_target(cpu, "7.0.0", f"{compiler.name}@{compiler.version}")
    for compiler in fit_cost.MEASURED
    if compiler is not fit_cost.GCC_12
    for cpu in ("cortex-m4", "cortex-m55")
]
"""Builds by the later compilers."""
LATER = ("dsp-gcc13", "mve-gcc13", "dsp-clang19", "mve-clang19")
"""Ends of their files among the vectors."""

# Median and 95th percentile of the error in percent, for each kind.
DEMANDED = dict.fromkeys(("conv", "dw", "fc"), (2.0, 8.0))
REACHED = {
    **dict.fromkeys(("conv", "dw", "fc"), (0.25, 1.0)),
    **dict.fromkeys(("avg", "max", "add", "mul"), (0.15, 1.0)),
    "softmax": (3.0, 20.0),  # it skips exponentials of small values, so that the data decide
}
REACHED_ALONE = REACHED | {"avg": (0.9, 2.5), "max": (0.25, 1.8)}
"""The same on Cortex-M0 and M23, on which a division and a maximum take what the data decide."""
REACHED_LATER = REACHED | {"dw": (0.25, 1.5), "avg": (0.6, 2.5), "max": (0.7, 4.0)}
"""The same with gcc 13.2 and clang 19.1."""
needs_vectors = pytest.mark.skipif(not SHARED.exists(), reason="the complete cost vectors are not beside the project")

CONV = KernelCall("convolve_s8", Dims(1, 8, 8, 16), Dims(8, 3, 3, 16), Dims(1, 8, 8, 8), padding=Pair(1, 1))
DEPTHWISE = KernelCall("depthwise_s8", Dims(1, 8, 8, 4), Dims(1, 3, 3, 8), Dims(1, 6, 6, 8), ch_mult=2)
DENSE = KernelCall("fully_connected_s8", Dims(1, 1, 1, 64), Dims(64, 1, 1, 10), Dims(1, 1, 1, 10), per_channel=False)


@cache
def sample() -> tuple[dict[str, object], ...]:
    with gzip.open(SAMPLE, "rt") as lines:
        return tuple(json.loads(line) for line in lines)


def check(errors: dict[str, list[float]], limits: dict[str, tuple[float, float]]) -> None:
    for kind, (median, p95) in limits.items():
        if kind in errors:
            percentiles = np.percentile(errors[kind], [50, 95])
            assert percentiles[0] <= median, (kind, percentiles)
            assert percentiles[1] <= p95, (kind, percentiles)


@pytest.mark.parametrize("target", BUILDS, ids=lambda target: target.label)
def test_the_sample_is_predicted(target: Target) -> None:
    errors: dict[str, list[float]] = {}
    for record in sample():
        core = record.get("cpu", CPUS[Isa(str(record.get("isa", "scalar")))])
        if core == target.cpu and str(record["version"]).removeprefix("v") == target.release:
            number = cost(call_of(record), target)
            assert number is not None, record
            errors.setdefault(str(record["kind"]), []).append(
                abs(number / float(str(record["instructions"])) - 1) * 100
            )
    assert set(errors) >= {"conv", "dw", "fc", "avg", "max", "add", "mul"}
    check(errors, REACHED_ALONE if target.cpu in INTEGER_CPUS else REACHED)


@cache
def left_out(name: str) -> tuple[tuple[fit_cost.Row, float | None], ...]:
    """Every row of a build with what is predicted by fits to rows of other shapes."""
    return tuple(held_out_errors.left_out(SHARED / f"{name}.jsonl.gz"))


@needs_vectors
@pytest.mark.parametrize("core", one_of(3, [*CORES, *LATER]))
def test_shapes_left_out_of_the_fit_are_predicted(core: str) -> None:
    errors: dict[str, list[float]] = {}
    for row, number in left_out(f"v7.0.0-{core}"):
        assert number is not None, row
        errors.setdefault(row.kind, []).append(abs(number / row.instructions - 1) * 100)
    check(errors, DEMANDED)
    check(errors, REACHED_ALONE if core in ALONE else REACHED_LATER if core in LATER else REACHED)


@needs_vectors
@pytest.mark.parametrize("core", one_of(3, [*ALONE, *LATER]))
def test_each_function_is_predicted_on_shapes_that_no_fit_saw(core: str) -> None:
    """95 of 100 to 4 % where a function has weights, else to 8 %; a mean over kinds could hide one.

    What a softmax takes beyond its range counts, as random data lie anywhere in it.
    """
    target = fit_cost.target_of(SHARED / f"v7.0.0-{core}.jsonl.gz")
    errors: dict[str, list[float]] = {}
    for row, number in left_out(f"v7.0.0-{core}"):
        assert number is not None, row
        taken = route(row.call, target)
        least, most = instructions_range(row.call, target, taken) or (number, number)
        nearest = max(least, min(most, row.instructions))
        errors.setdefault(taken.effective, []).append(100 * abs(nearest / row.instructions - 1))
    errors |= {group.function: group.errors for group in held_out_errors.of_later(SHARED / f"v7.0.0-{core}.jsonl.gz")}
    assert len(errors) > 40
    beyond = {
        function: round(float(np.percentile(off, 95)), 1) for function, off in errors.items()
        if np.percentile(off, 95) > (4 if "conv" in function or "fully_connected" in function else 8)
    }  # fmt: skip
    assert beyond == {}
    assert max(errors.get("arm_softmax_s8", [0.0])) <= 1.0


@needs_vectors
@pytest.mark.parametrize("core", one_of(3, CORES))
def test_neighbours_left_out_of_the_fit_are_in_the_right_order(core: str) -> None:
    """Pairs that differ in one channel count alone and by over 2 % in instructions."""
    predicted = {id(row): number for row, number in left_out(f"v7.0.0-{core}")}
    rows = [row for row, _ in left_out(f"v7.0.0-{core}") if row.kind in DEMANDED]
    right = [
        (predicted[id(other)] > predicted[id(row)]) == (other.instructions > row.instructions)
        for row, other in fit_cost.neighbours(rows)
        if abs(other.instructions / row.instructions - 1) > 0.02
    ]
    assert len(right) > 5000
    assert sum(right) >= 0.97 * len(right)
    assert sum(right) >= 0.999 * len(right)


@needs_vectors
@pytest.mark.parametrize("core", one_of(3, [*CORES, *LATER]))
def test_the_tables_are_what_the_vectors_say(core: str) -> None:
    path = SHARED / f"v7.0.0-{core}.jsonl.gz"
    assert sorted(fit_cost.vectors_in(SHARED, "v7.0.0")) == sorted(
        SHARED / f"v7.0.0-{name}.jsonl.gz" for name in (*CORES, *LATER)
    )
    assert not fit_cost.stale(fit_cost.file_of(fit_cost.target_of(path)), path), path


@needs_vectors
def test_a_changed_table_is_stale(tmp_path: Path) -> None:
    path = SHARED / "v7.0.0-mve.jsonl.gz"
    table = json.loads((FOLDER / "7.0.0-mve.json").read_text())
    table["instructions"]["nt_t.four.vector"] += 0.1
    (tmp_path / "changed.json").write_text(json.dumps(table))
    assert fit_cost.stale(tmp_path / "changed.json", path)
    assert fit_cost.stale(tmp_path / "missing.json", path)


def test_every_measured_build_has_a_table_with_its_provenance() -> None:
    floats = {f"main-{build}" for build in fit_float.BUILDS}
    builds = [target._replace(compiler_version="12.2") for target in BUILDS] + COMPILED
    files = {fit_cost.file_of(target).stem: target for target in builds}
    assert {path.stem for path in FOLDER.glob("*.json")} == files.keys() | floats
    for name, target in files.items():
        table = json.loads((FOLDER / f"{name}.json").read_text())
        assert (table["release"], table["isa"], table["cpu"]) == (target.release, target.isa.value, target.cpu)
        assert (table["compiler"], table["flags"]) == (f"{target.compiler} {target.compiler_version}", "-O3")
        assert sum(table["rows"].values()) > 3600
        assert all(value >= 0 for value in table["instructions"].values())


def test_a_fit_finds_what_made_the_rows() -> None:
    rng = np.random.default_rng(1)
    counts, turns = rng.integers(0, 50, (200, 12)).astype(float), rng.integers(0, 9, 12).astype(float)
    fitted = non_negative(counts, counts @ turns)
    assert np.allclose(fitted, turns)


def test_a_fit_is_never_negative() -> None:
    rng = np.random.default_rng(2)
    matrix, wanted = rng.normal(size=(60, 8)), rng.normal(size=60)
    fitted = non_negative(matrix, wanted)
    gradient = matrix.T @ (wanted - matrix @ fitted)
    assert (fitted >= 0).all()
    assert np.allclose(gradient[fitted > 0], 0)
    assert (gradient[fitted == 0] <= 1e-6).all()


@pytest.mark.parametrize(
    ("call", "release", "isa", "compiler"),
    [
        (CONV, "cmsis5-5.9.0", "dsp", "gcc"),
        (CONV, "7.0.0", "dsp", "armclang"),
        (CONV._replace(entry="convolve_s16"), "6.0.0", "dsp", "gcc"),
        (CONV._replace(entry="convolve_s4"), "6.0.0", "dsp", "gcc"),
        (CONV._replace(input_dims=Dims(1, None, 8, 16)), "7.0.0", "dsp", "gcc"),
        (CONV._replace(filter_dims=Dims(8, 3, 3, 8)), "7.0.0", "mve", "gcc"),
        (DENSE._replace(per_channel=True), "6.0.0", "dsp", "gcc"),  # a release without the function
        (DENSE._replace(per_channel=True, weight_offset=5), "7.0.0", "dsp", "gcc"),
        (CONV._replace(entry="transpose_conv_s8"), "6.0.0", "dsp", "gcc"),
        (KernelCall("avgpool_s8", *[Dims(2, 4, 4, 8)] * 3), "7.0.0", "dsp", "gcc"),
        # the first window lies in the padding
        (
            KernelCall("max_pool_s8", Dims(1, 8, 8, 8), Dims(1, 2, 2, 1), Dims(1, 8, 8, 8), padding=Pair(2, 2)),
            "7.0.0", "dsp", "gcc",
        ),
        (KernelCall("softmax_s8", *[Dims(1, 4, 4, 8)] * 3), "7.0.0", "dsp", "gcc"),
        (KernelCall("no_such_entry", *[Dims(1, 4, 4, 8)] * 3), "7.0.0", "dsp", "gcc"),
        # 1xN with a padding that the kernel refuses: it returns an error
        (
            KernelCall("convolve_s8", Dims(1, 1, 8, 4), Dims(4, 1, 3, 4), Dims(1, 1, 4, 4), Pair(1, 2), Pair(0, 1)),
            "7.0.0", "mve", "gcc",
        ),
    ],
)  # fmt: skip
def test_what_was_not_measured_is_unknown(call: KernelCall, release: str, isa: str, compiler: str) -> None:
    assert cost(call, parse_isa(isa, release, compiler)) is None


def test_a_piece_that_was_never_measured_makes_the_cost_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    target = parse_isa("dsp")
    table = dict(table_of("7.0.0", "dsp") or {})
    assert cost(CONV, target) is not None
    del table["s8_s16.pair"]
    monkeypatch.setattr("onnxlint_cmsis.cmsis_nn.cost.table_for", lambda *_, **_floats: table)
    assert cost(CONV, target) is None


def test_the_same_work_costs_what_its_kernel_costs() -> None:
    """From padding_economics: 1x1, 8x8 pixels, 8 outputs on Cortex-M4; multiples of 16 matter more than those of 4."""
    measured = {13: 33120, 14: 35080, 15: 36640, 16: 32560, 17: 34640, 31: 49560, 32: 44320}
    for channels, instructions in measured.items():
        call = KernelCall("convolve_s8", Dims(1, 8, 8, channels), Dims(8, 1, 1, channels), Dims(1, 8, 8, 8))
        assert cost(call, target_of("cortex-m4")) == pytest.approx(instructions, rel=0.002)


def test_a_core_never_gets_the_number_of_another() -> None:
    """Cortex-M0 and M23 have no SMULL: a convolution takes 2.3 times the instructions of Cortex-M3, a softmax 3.6."""
    softmax = KernelCall("softmax_s8", *[Dims(4, 1, 1, 100)] * 3)
    rows = [parse_target("cortex-m3")] + [parse_target(cpu) for cpu in ("cortex-m0", "cortex-m0+", "cortex-m23")]
    for call in (CONV, DEPTHWISE, DENSE, softmax):
        other, *alone = (cost(call, target) for target in rows)
        assert all((number or 0) > 1.4 * (other or 0) for number in alone), call
    for release in MEASURED:
        other, first, second, third = (cost(CONV, target._replace(release=release)) for target in rows)
        assert None not in {other, first, third}
        assert first == second
        assert len({other, first, third}) == 3


@pytest.mark.parametrize(
    "cpu", ["cortex-m52+nomve", "cortex-m55+nomve", "cortex-m85+nodsp+nomve", "cortex-m4+nodsp", "cortex-m7+nodsp"]
)
def test_a_core_that_was_not_measured_has_no_number(cpu: str) -> None:
    """Calls take up to 27 % more or less than on the core of the same instruction set that was measured."""
    assert cost(CONV, parse_target(cpu)) is None
    assert copy_range(parse_target(cpu), [(8, 8), (8, 1)]) is None
    assert reference_range(parse_target(cpu), "lookup", (8, 8)) is None


@pytest.mark.parametrize(
    ("cpu", "same"),
    [("cortex-m33+nodsp", "cortex-m3"), ("cortex-m35p", "cortex-m4"), ("cortex-m85", "cortex-m55")],
)
def test_a_core_that_runs_the_code_of_another_has_its_number(cpu: str, same: str) -> None:
    assert cost(CONV, parse_target(cpu)) == cost(CONV, parse_target(same)) is not None


@pytest.mark.parametrize("compiler", ["gcc", "gcc@13.2"])
@pytest.mark.parametrize("cpu", ["cortex-m52", "cortex-m85"])
def test_a_core_that_runs_the_code_of_m55_has_the_range_of_its_compilers(cpu: str, compiler: str) -> None:
    """A dense layer takes 17 % less by gcc 13.2: one number said that it does not."""
    target, same = (parse_target(name, "7.0.0", compiler) for name in (cpu, "cortex-m55"))
    assert cost(DENSE, target) == cost(DENSE, same) is not None
    ends = instructions_range(DENSE, target, route(DENSE, target))
    assert ends == instructions_range(DENSE, same, route(DENSE, same))
    assert (ends is None) == (compiler != "gcc")


@pytest.mark.parametrize(("cpu", "compiler"), [("cortex-m52", "gcc@14.2"), ("cortex-m85", "clang@19.1")])
def test_code_that_is_made_for_a_core_has_no_number_of_m55(cpu: str, compiler: str) -> None:
    assert cost(DENSE, parse_target(cpu, "7.0.0", compiler)) is None


def test_rows_so_small_that_it_matters_what_runs_once_for_each_have_no_known_cost() -> None:
    """Every measured call had one row, so what runs once may run once for each."""
    target = target_of("cortex-m4")

    def rows(count: int, depth: int) -> KernelCall:
        return DENSE._replace(
            input_dims=Dims(count, 1, 1, depth),
            filter_dims=Dims(depth, 1, 1, 12),
            output_dims=Dims(count, 1, 1, 12),
        )

    assert cost(rows(1, 4), target) is not None
    assert cost(rows(2, 4), target) is None
    single, many = cost(rows(1, 800), target), cost(rows(16, 800), target)
    assert single is not None
    assert many is not None
    assert 0.98 * 16 * single <= many <= 16 * single


def test_images_are_worked_on_one_after_the_other() -> None:
    for target in (parse_isa(isa.value) for isa in Isa):
        single, two, three = (
            cost(CONV._replace(input_dims=Dims(n, 8, 8, 16), output_dims=Dims(n, 8, 8, 8)), target) for n in (1, 2, 3)
        )
        assert single < two < three
        assert two - single == pytest.approx(three - two, abs=1)


@given(
    outputs=st.integers(1, 9),
    stride=st.integers(1, 3),
    padding=st.integers(0, 4),
    size=st.integers(1, 5),
    dilation=st.integers(1, 3),
    inputs=st.integers(1, 12),
)
def test_an_axis_counts_every_tap(outputs, stride, padding, size, dilation, inputs) -> None:
    axis = AxisSizes(outputs, stride, padding, size, dilation, inputs)
    counted = plane(axis, axis).h
    taps = [[x * stride - padding + t * dilation for t in range(size)] for x in range(outputs)]
    every = [tap for window in taps for tap in window]
    assert counted.before == sum(tap < 0 for tap in every)
    assert counted.inside == sum(0 <= tap < inputs for tap in every)
    assert counted.after == sum(tap >= inputs for tap in every)
    assert counted.outside == sum(not any(0 <= tap < inputs for tap in window) for window in taps)
    ends = [(window[0] >= 0, window[-1] < inputs) for window in taps]
    assert counted.whole == ends.count((True, True))
    assert counted.cut_before == ends.count((False, True))
    assert counted.cut_after == ends.count((True, False))
    assert counted.cut_both == ends.count((False, False))


AXES = st.builds(AxisSizes, *[st.integers(*bounds) for bounds in ((1, 9), (1, 3), (0, 3), (1, 4), (1, 2), (1, 12))])


@given(AXES, AXES)
def test_groups_of_four_without_padding(height: AxisSizes, width: AxisSizes) -> None:
    def whole(axis: AxisSizes) -> list[bool]:
        return [start >= 0 and start + axis.reach < axis.inputs for start in axis.starts]

    flags = [row and column for row in whole(height) for column in whole(width)]
    assert whole_fours(height, width) == sum(all(flags[i : i + 4]) for i in range(0, len(flags) - 3, 4))


@given(AXES, AXES)
def test_odd_places_are_those_of_every_tap_on_the_input(height: AxisSizes, width: AxisSizes) -> None:
    counts = [[0, 0], [0, 0]]
    outputs, taps = product(height.starts, width.starts), list(product(range(height.size), range(width.size)))
    for pixel, (top, left) in enumerate(outputs):
        for tap, (y, x) in enumerate(taps):
            row, column = top + y * height.dilation, left + x * width.dilation
            if 0 <= row < height.inputs and 0 <= column < width.inputs:
                counts[(row * width.inputs + column) % 2][(pixel % 2 * len(taps) + tap) % 2] += 1
    assert odd_places(height, width) == tuple(map(tuple, counts))


@given(
    channels=st.integers(1, 600),
    outputs=st.integers(1, 300),
    plane_=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    kernel=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    build=st.sampled_from(BUILDS),
)
def test_any_convolution_has_a_cost_that_grows_with_its_outputs(channels, outputs, plane_, kernel, build) -> None:
    target, (height, width), (filter_h, filter_w) = build, plane_, kernel
    image, out = Dims(1, height + filter_h - 1, width + filter_w - 1, channels), Dims(1, height, width, outputs)
    call = KernelCall("convolve_s8", image, Dims(outputs, filter_h, filter_w, channels), out)
    taken = route(call, target)
    if taken.status:
        assert cost(call, target) is None
        return
    counts = counts_of(call, target, taken)
    assert all(times >= 0 for times in counts.values())
    wider = [
        cost(call._replace(output_dims=out._replace(c=c), filter_dims=Dims(c, filter_h, filter_w, channels)), target)
        for c in (outputs, outputs + 4, outputs + 8)
    ]
    assert all(less < other for less, other in pairwise(wider))


def records() -> Iterator[tuple[dict[str, object], str]]:
    base = {"kind": "conv", "in_c": 4, "out_c": 4, "out_h": 2, "out_w": 2}
    yield {**base, "kind": "pool"}, "field 'kind' is 'pool'; allowed: conv, dw, fc"
    yield {**base, "in_c": None}, "field 'in_c' is missing; conv needs in_c, out_c, out_h, out_w"
    yield {**base, "in_c": 0}, "field 'in_c' holds 0; allowed: whole numbers from 1 to 2147483647"
    yield {**base, "h": 65536}, "field 'h' holds 65536; allowed: whole numbers from 1 to 65535"
    yield {**base, "kind": "dw", "out_c": 6}, "field 'out_c' is 6; allowed: in_c 4 times ch_mult"
    yield {**base, "kind": "dw", "ch_mult": 2}, "field 'out_c' is 4; allowed: in_c 4 times ch_mult"
    yield {**base, "gain": 1}, "field 'gain' is not known; allowed: kind"
    yield {**base, "isa": "avx"}, "isa 'avx' is not known; allowed: scalar, dsp, mve"
    yield {**base, "isa": "dsp", "cpu": "m4"}, "fields 'isa' and 'cpu' exclude each other"


@pytest.mark.parametrize(("record", "says"), list(records()))
def test_a_record_that_cannot_be_answered(record: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says.split(";", maxsplit=1)[0]) as caught:
        shape_answer(record, target_of("m4"))
    assert says in str(caught.value)


def test_records_have_defaults_and_keep_what_they_had() -> None:
    record = {"kind": "add", "in_c": 64, "reps": 3, "instructions": 1.5, "version": "v7.0.0", "isa": "mve"}
    answer = shape_answer(record, target_of("m4"))
    assert {name: answer[name] for name in record} == {
        **record,
        "instructions": cost(call_of(record), parse_isa("mve")),
    }
    assert shape_answer({"kind": "add", "in_c": 64}, target_of("m4"))["instructions"] != answer["instructions"]


def test_a_softmax_on_mve_has_the_cost_of_the_gcc_that_was_measured() -> None:
    """gcc 12.2 leaves the MVE code out; 13.2 has it, and 12.3, which was not measured."""
    rows = KernelCall("softmax_s8", Dims(4, 1, 1, 10), Dims(None, None, None, None), Dims(4, 1, 1, 10))
    measured = {"gcc": True, "gcc@12.2": True, "gcc@12.3": False, "gcc@14": True}
    for compiler, known in measured.items():
        for cpu, release in (("cortex-m55", "7.0.0"), ("cortex-m4", "7.0.0"), ("cortex-m55", "main")):
            target = target_of(cpu, release, compiler)
            taken = route(rows, target)
            priced = instructions_range(rows, target, taken) or cost(rows, target)
            assert bool(priced) is (known or cpu == "cortex-m4"), target.label
