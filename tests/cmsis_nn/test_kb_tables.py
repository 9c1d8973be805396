"""The tables: every row names its source, and what it says of one release stands in the order of its source."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from onnxlint_cmsis.cmsis_nn.apis import APIS
from onnxlint_cmsis.cmsis_nn.conditions import TRUE
from onnxlint_cmsis.cmsis_nn.delegations import delegations
from onnxlint_cmsis.cmsis_nn.entry_points import ENTRY_POINTS, EntryPoint, entry_points
from onnxlint_cmsis.cmsis_nn.library import all_hazards, delegations_of, route
from onnxlint_cmsis.cmsis_nn.releases import RELEASES, holds, normalise_release
from onnxlint_cmsis.cmsis_nn.rows import Branch, Origin, Wrapper
from onnxlint_cmsis.cmsis_nn.tables import ENTRIES, FLOAT_ENTRIES, LEGACY_ENTRIES, hazards_of, wrapper_for
from onnxlint_cmsis.cmsis_nn.targets import COMPILERS, parse_isa
from onnxlint_cmsis.ground.types import Dims, Isa, KernelCall, Pair, Target

TARGETS = [parse_isa(isa.value, release, compiler) for isa, release, compiler in product(Isa, RELEASES, COMPILERS)]


def wrapper(entry: str) -> Wrapper:
    row = wrapper_for(entry)
    assert row is not None
    return row


def origins() -> list[Origin]:
    rows: list[Origin] = []
    for entry in (*ENTRIES, *LEGACY_ENTRIES, *FLOAT_ENTRIES):
        row = wrapper(entry)
        rows += [branch.origin for branch in row.branches]
        rows += [case.origin for case in (*row.sizes, *row.reverse_sizes)]
    rows += [row.origin for api in APIS for row in delegations(api)]
    rows += [row.origin for row in all_hazards()]
    return rows


def spans(row: EntryPoint) -> set[str]:
    return {release for release in RELEASES if holds(row.since, row.until, release)}


def branches() -> list[Branch]:
    entries = (*ENTRIES, *LEGACY_ENTRIES, *FLOAT_ENTRIES)
    return [branch for entry in entries for branch in wrapper(entry).branches]


def test_every_row_is_of_known_releases_and_has_a_source() -> None:
    cases = [*origins()]
    assert cases
    for origin in cases:
        assert origin.lines
        assert set(origin.lines) <= set(RELEASES)
        assert origin.isas
        assert set(origin.compilers) <= set(COMPILERS)
        assert origin.file.startswith("Source/")
        assert origin.function


def test_every_branch_of_a_wrapper_has_its_line() -> None:
    direct = {"arm_fully_connected_s8"}
    cases = [*branches()]
    assert cases
    for branch in cases:
        if branch.origin.function not in direct:
            assert min(branch.origin.lines.values()) > 0, branch.kernel


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.label)
def test_lines_follow_the_order_of_the_branches(target: Target) -> None:
    for entry in (*ENTRIES, *FLOAT_ENTRIES):
        lines = [branch.origin.source(target.release).line for branch in wrapper(entry).branches_for(target)]
        # One `if` decides both 1x1 kernels, and no line of arm_fully_connected_s8 was recorded.
        assert all(first <= second for first, second in pairwise(lines)), (entry, lines)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.label)
def test_a_chain_ends_in_an_else(target: Target) -> None:
    for entry in (*ENTRIES, *FLOAT_ENTRIES):
        taken = wrapper(entry).branches_for(target)
        if taken and entry != "fully_connected_s8":
            assert taken[-1].when == TRUE
            assert all(branch.when != TRUE for branch in taken[:-1])


def test_sizes_are_cited_from_the_functions_that_answer_them() -> None:
    sizes = [size for entry in (*ENTRIES, *FLOAT_ENTRIES) if (row := wrapper_for(entry)) for size in row.sizes]
    assert len({size.origin.function for size in sizes}) > 20
    assert not [size.origin for size in sizes if "get_buffer_size" not in size.origin.function]


def test_cmsis_5_lies_in_its_own_folder() -> None:
    origin = wrapper("convolve_s8").branches[0].origin
    source = origin.source("cmsis5-5.8.0")
    assert source.file == "CMSIS/NN/Source/ConvolutionFunctions/arm_convolve_wrapper_s8.c"
    assert (source.function, source.line) == ("arm_convolve_wrapper_s8", 62)


@pytest.mark.parametrize(
    ("entry", "first"),
    [
        ("convolve_s8", "cmsis5-5.8.0"),
        ("convolve_s16", "cmsis5-5.9.0"),
        ("convolve_s4", "5.0.0"),
        ("depthwise_s8", "cmsis5-5.8.0"),
        ("depthwise_s16", "4.0.0"),
        ("depthwise_s4", "5.0.0"),
        ("transpose_conv_s8", "5.0.0"),
        ("fully_connected_s8", "cmsis5-5.8.0"),
        ("max_pool_s16", "cmsis5-5.9.0"),
        ("pad_s8", "7.0.0"),
        ("lstm_unidirectional_s8", "4.0.0"),
        ("lstm_unidirectional_s16", "6.0.0"),
    ],
)
def test_releases_without_an_entry_point_give_a_reason_and_no_kernel(entry: str, first: str) -> None:
    dims = Dims(1, 1, 1, 1)
    assert RELEASES
    for release in RELEASES:
        answer = route(KernelCall(entry, dims, dims, dims, ch_mult=1, per_channel=False), parse_isa("dsp", release))
        there = RELEASES.index(release) >= RELEASES.index(first)
        assert bool(answer.kernel) is there
        assert bool(answer.reason) is not there
        assert (answer.status is None) is not there


def test_per_channel_dense_layers_came_with_7_0() -> None:
    dims = Dims(1, 1, 1, 1)
    call = KernelCall("fully_connected_s8", dims, dims, dims, per_channel=True)
    assert "7.0.0" in route(call, parse_isa("dsp", "6.0.0")).reason
    assert route(call, parse_isa("dsp", "7.0.0")).kernel == "arm_fully_connected_per_channel_s8"


def test_an_unknown_entry_point_gives_a_reason() -> None:
    dims = Dims(1, 1, 1, 1)
    assert "arm_maximum_s16" in route(KernelCall("maximum_s16", dims, dims, dims), parse_isa("dsp")).reason


def test_entry_points_do_not_overlap() -> None:
    assert ENTRY_POINTS
    for row in ENTRY_POINTS:
        assert row.entry not in ENTRIES
        assert row.function.startswith("arm_")
        assert row.types
        for other in entry_points(row.entry):
            assert other is row or not (spans(row) & spans(other))


def test_hazards_speak_of_entry_points_and_kernels_that_exist() -> None:
    entries = {*ENTRIES, *LEGACY_ENTRIES, *FLOAT_ENTRIES, *(row.entry for row in ENTRY_POINTS)}
    entries |= {row.function.removeprefix("arm_") for row in ENTRY_POINTS}
    kernels = {branch.kernel for branch in branches()}
    kernels |= {row.callee for api in APIS for row in delegations(api)}
    kernels |= {row.function for row in ENTRY_POINTS}
    cases = [*all_hazards()]
    assert cases
    for row in cases:
        assert set(row.entries) <= entries, row.id
        assert set(row.kernels) <= kernels, row.id


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.label)
def test_delegations_end(target: Target) -> None:
    cases = [row for api in APIS for row in delegations(api)]
    assert cases
    for row in cases:
        kernel, steps = row.kernel, 0
        while kernel:
            rows = delegations_of(kernel, target.release, target.isa)
            kernel, steps = next((step.callee for step in rows), ""), steps + 1
            assert steps < 4


@pytest.mark.parametrize(
    ("multiplier", "batch", "dilation", "release", "effective"),
    [
        (4, 1, 1, "7.0.0", "depthwise_conv_s8_mult_4"),
        (5, 1, 1, "7.0.0", "depthwise_conv_s8_generic"),
        (8, 2, 1, "7.0.0", "depthwise_conv_s8_generic"),
        (4, 1, 2, "7.0.0", "depthwise_conv_s8_generic"),
        (4, 1, 2, "cmsis5-5.8.0", "depthwise_conv_s8_mult_4"),
    ],
)
def test_the_multiplier_tile_is_the_effective_kernel(
    multiplier: int, batch: int, dilation: int, release: str, effective: str
) -> None:
    call = KernelCall(
        "depthwise_s8",
        Dims(batch, 8, 8, 3),
        Dims(1, 2, 2, 3 * multiplier),
        Dims(batch, 8 - dilation, 8 - dilation, 3 * multiplier),
        dilation=Pair(dilation, dilation),
        ch_mult=multiplier,
    )
    answer = route(call, parse_isa("dsp", release))
    assert (answer.chain, answer.effective) == (("arm_depthwise_conv_s8",), effective)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.label)
def test_errors_of_a_kernel_stand_in_the_order_of_its_source(target: Target) -> None:
    assert ENTRIES
    for entry in ENTRIES:
        for kernel in {name for row in all_hazards() for name in row.kernels}:
            errors = [
                row for row in hazards_of(entry, kernel, target) if row.kind == "returns-error" and not row.caller
            ]
            lines = [row.origin.source(target.release).line for row in errors]
            assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("text", "release"), [("v7.0.0", "7.0.0"), ("5.9.0", "cmsis5-5.9.0"), ("5.8.0", "cmsis5-5.8.0"), ("MAIN", "main")]
)
def test_a_release_goes_by_several_names(text: str, release: str) -> None:
    assert normalise_release(text) == release
