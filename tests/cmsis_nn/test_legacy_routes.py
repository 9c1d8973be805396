"""The choices between functions for q7 and q15: each side of each condition, in every release and build."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.cmsis_nn.json_records import shape_answer
from onnxlint_cmsis.cmsis_nn.library import INTEGER, Route, all_hazards, api_of, route
from onnxlint_cmsis.cmsis_nn.library import LEGACY as FAMILY
from onnxlint_cmsis.cmsis_nn.tables import LEGACY_ENTRIES, wrapper_for
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from support.goldens import Told
from support.targets import target_of

LEGACY = ("cmsis5-5.6.0", "cmsis5-5.7.0", "cmsis5-5.8.0", "cmsis5-5.9.0")
NEWEST = LEGACY[-1]


def square(
    kind: str, in_c: int, out_c: int, size: int = 8, k: int = 3, pad: int = 1, after: int | None = None
) -> KernelCall:
    after = pad if after is None else after
    out = size + pad + after - k + 1
    return KernelCall(
        f"convolve_{kind}", Dims(1, size, size, in_c), Dims(out_c, k, k, in_c), Dims(1, out, out, out_c),
        padding=Pair(pad, pad), pad_after=Pair(after, after),
    )  # fmt: skip


def wide(call: KernelCall) -> KernelCall:
    """The call on a plane twice as wide."""
    source, result = call.input_dims, call.output_dims
    return call._replace(
        input_dims=source._replace(w=2 * (source.w or 0)),
        output_dims=result._replace(w=(result.w or 0) + (source.w or 0)),
    )


def taken(call: KernelCall, cpu: str, release: str = NEWEST) -> Route:
    return route(call, target_of(cpu, release))


def ids(answer: Route) -> list[str]:
    return [hazard.id for hazard in answer.hazards]


@pytest.mark.parametrize("release", LEGACY)
@pytest.mark.parametrize("cpu", ["m0", "m4", "m55"])
@pytest.mark.parametrize(
    ("call", "kernel"),
    [
        (square("q7", 3, 8), "arm_convolve_HWC_q7_RGB"),
        (wide(square("q7", 3, 8)), "arm_convolve_HWC_q7_basic_nonsquare"),
        (square("q7", 4, 8), "arm_convolve_HWC_q7_fast"),
        (square("q7", 4, 7), "arm_convolve_HWC_q7_basic"),
        (square("q7", 6, 8), "arm_convolve_HWC_q7_basic"),
        (wide(square("q7", 4, 8)), "arm_convolve_HWC_q7_fast_nonsquare"),
        (wide(square("q7", 4, 7)), "arm_convolve_HWC_q7_basic_nonsquare"),
        (square("q7", 4, 8, k=1, pad=0), "arm_convolve_1x1_HWC_q7_fast_nonsquare"),
        (square("q7", 4, 8, k=1, pad=1), "arm_convolve_HWC_q7_fast"),
        (square("q7", 6, 8, k=1, pad=0), "arm_convolve_HWC_q7_basic"),
        (square("q15", 2, 8), "arm_convolve_HWC_q15_fast"),
        (square("q15", 3, 8), "arm_convolve_HWC_q15_basic"),
        (square("q15", 2, 7), "arm_convolve_HWC_q15_basic"),
        (wide(square("q15", 2, 8)), "arm_convolve_HWC_q15_fast_nonsquare"),
        (wide(square("q15", 2, 7)), ""),
    ],
)
def test_the_most_special_function_that_takes_a_layer_runs_it(
    call: KernelCall, kernel: str, cpu: str, release: str
) -> None:
    answer = taken(call, cpu, release)
    assert (answer.kernel, bool(answer.reason), answer.hazards) == (kernel, not kernel, ())
    assert answer.status == (0 if kernel else None)


@pytest.mark.parametrize(
    ("cpu", "release", "kernel", "hazards"),
    [
        ("m4", NEWEST, "arm_convolve_HWC_q15_basic", []),
        ("m55", NEWEST, "arm_convolve_HWC_q15_fast", []),
        ("m0", NEWEST, "arm_convolve_HWC_q15_fast", []),
        ("m4", "cmsis5-5.8.0", "arm_convolve_HWC_q15_fast", ["convolve-hwc-q15-fast-odd-output-dsp-5-8"]),
        ("m0", "cmsis5-5.8.0", "arm_convolve_HWC_q15_fast", []),
    ],
)
def test_an_odd_output_of_sixteen_bits(cpu: str, release: str, kernel: str, hazards: list[str]) -> None:
    answer = taken(square("q15", 2, 2, size=9), cpu, release)
    assert (answer.kernel, ids(answer)) == (kernel, hazards)


def test_one_padding_for_both_sides() -> None:
    """SAME_UPPER of an even size with stride 2 pads behind alone, SAME_LOWER in front alone."""
    call = KernelCall(
        "convolve_q7", Dims(1, 8, 8, 4), Dims(4, 3, 3, 4), Dims(1, 4, 4, 4), Pair(2, 2), Pair(0, 0), Pair(1, 1)
    )
    assert ids(taken(call, "m4")) == ["convolve-hwc-q7-fast-padding-after-dsp"]
    assert ids(taken(call, "m0")) == ids(taken(call, "m55")) == []
    lower = call._replace(padding=Pair(1, 1), pad_after=Pair(0, 0))
    assert (taken(lower, "m4").kernel, ids(taken(lower, "m4"))) == ("arm_convolve_HWC_q7_fast", [])
    basic = call._replace(output_dims=Dims(1, 4, 4, 3), filter_dims=Dims(3, 3, 3, 4))
    assert (taken(basic, "m4").kernel, ids(taken(basic, "m4"))) == ("arm_convolve_HWC_q7_basic", [])


def test_gcc_joins_two_stores_in_the_oldest_release_alone() -> None:
    call = square("q7", 5, 8)
    assert ids(taken(call, "m4", "cmsis5-5.6.0")) == ["convolve-hwc-q7-basic-unaligned-store-dsp-5-6"]
    assert ids(taken(call, "m4", "cmsis5-5.7.0")) == ids(taken(call, "m0", "cmsis5-5.6.0")) == []
    assert ids(route(call, target_of("m4", "cmsis5-5.6.0", "armclang"))) == []


@pytest.mark.parametrize(("in_c", "out_c", "status"), [(4, 4, 0), (4, 8, -3)])
@pytest.mark.parametrize("cpu", ["m0", "m4", "m55"])
def test_depthwise_takes_one_output_for_each_input_channel(in_c: int, out_c: int, status: int, cpu: str) -> None:
    assert LEGACY
    for release in LEGACY:
        call = square("q7", in_c, out_c)._replace(entry="depthwise_q7", ch_mult=out_c // in_c)
        assert taken(call, cpu, release).status == status
        assert taken(wide(call), cpu, release).status == status


@pytest.mark.parametrize(
    ("entry", "function"),
    [
        ("fully_connected_q7", "arm_fully_connected_q7"),
        ("fully_connected_q15", "arm_fully_connected_q15"),
        ("fully_connected_q7q15", "arm_fully_connected_mat_q7_vec_q15"),
    ],
)
@pytest.mark.parametrize(("out_c", "end"), [(4, "_opt"), (3, "")])
def test_four_rows_are_interleaved(entry: str, function: str, out_c: int, end: str) -> None:
    answer = taken(KernelCall(entry, Dims(1, 1, 1, 1), Dims(1, 1, 1, out_c), Dims(1, 1, 1, out_c)), "m4")
    assert (answer.kernel, ids(answer)) == (function + end, [])


def test_pools_are_square() -> None:
    call = KernelCall("max_pool_q7", Dims(1, 8, 8, 4), Dims(1, 3, 3, 1), Dims(1, 8, 8, 4), padding=Pair(1, 1))
    assert ids(taken(call, "m4")) == ["maxpool-q7-hwc-in-place-dsp"]
    assert ids(taken(call._replace(stride=Pair(2, 2), output_dims=Dims(1, 4, 4, 4)), "m4")) == []
    flat = call._replace(input_dims=Dims(1, 1, 8, 4), output_dims=Dims(1, 1, 8, 4))
    assert "both axes" in taken(flat, "m4").reason


def test_other_releases_and_dilations_have_no_function() -> None:
    call = square("q7", 4, 4)
    assert "cmsis5-5.6.0 to cmsis5-5.9.0" in taken(call, "m4", "4.0.0").reason
    assert "dilation" in taken(call._replace(dilation=Pair(2, 2)), "m4").reason


def test_releases_by_api() -> None:
    assert FAMILY.releases == LEGACY
    assert INTEGER.releases[0] == "cmsis5-5.8.0"
    with pytest.raises(ValueError, match=r"cmsis5-5\.7\.0 has no wrappers .* allowed: cmsis5-5\.8\.0"):
        INTEGER.refuse_without("cmsis5-5.7.0")
    record = {"wrapper": "convolve_s8", "in": [1, 8, 8, 4], "filter": [4, 1, 1, 4], "out": [1, 8, 8, 4]}
    old = target_of("m4", "cmsis5-5.7.0")
    with pytest.raises(ValueError, match="has no wrappers"):
        shape_answer(record, old)
    answer = shape_answer({**record, "wrapper": "convolve_q7"}, old)
    assert (answer["kernel"], answer["buffer_size"]) == ("arm_convolve_1x1_HWC_q7_fast_nonsquare", 16)


def test_every_row_of_the_legacy_api_is_told_apart_from_the_others() -> None:
    assert all(api_of(entry) is FAMILY and wrapper_for(entry) for entry in LEGACY_ENTRIES)
    for row in all_hazards():
        assert len({api_of(entry) for entry in row.entries}) == 1, row.id


def pool(entry: str, height: int = 8, width: int = 8, window: tuple[int, int] = (2, 2), stride: int = 2) -> KernelCall:
    """A pool whose stride along the width is 2."""
    return KernelCall(
        entry, Dims(1, height, width, 4), Dims(1, *window, 1), Dims(1, 4, 4, 4),
        Pair(stride, 2), Pair(0, 0), Pair(0, 0), Pair(1, 1),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (pool("avgpool_q7", 25, 5), "its input is 25x5; arm_avepool_q7_HWC takes one size for both axes"),
        (pool("max_pool_q7", window=(1, 2)), "its filter is 1x2; arm_maxpool_q7_HWC takes one size for both axes"),
        (pool("max_pool_q7", stride=1), "its stride is 1x2; arm_maxpool_q7_HWC takes one stride for both axes"),
        (
            pool("max_pool_q7")._replace(padding=Pair(0, 1)),
            "its padding is 0x1; arm_maxpool_q7_HWC takes one padding for both axes",
        ),
        (
            pool("max_pool_q7")._replace(dilation=Pair(2, 2)),
            "its dilation is 2x2; the functions for q7 and q15 have no argument for it",
        ),
        (
            square("q7", 4, 8)._replace(dilation=Pair(2, 1)),
            "its dilation is 2x1; the functions for q7 and q15 have no argument for it",
        ),
        (
            wide(square("q15", 2, 7)),
            "its input is 8x16; arm_convolve_HWC_q15_basic takes one size for both axes, "
            "and arm_convolve_HWC_q15_fast_nonsquare takes even numbers of channels alone",
        ),
    ],
)
def test_a_refusal_names_the_one_condition_that_fails(call: KernelCall, reason: str) -> None:
    assert taken(call, "m4").reason == reason


def test_another_release_is_no_matter_of_sizes(told: Told) -> None:
    told(taken(pool("avgpool_q7", 25, 5), "m4", "7.0.0").reason)


@pytest.mark.parametrize(
    ("release", "cpu", "told"),
    [
        ("5.6.0", "cortex-m4", ()),
        ("5.7.0", "cortex-m4", ("softmax-q7-8-bit-difference-dsp-5-7", "softmax-q7-doubled-dsp-5-7")),
        ("5.7.0", "cortex-m3", ("softmax-q7-doubled-plain-5-7",)),
        ("5.8.0", "cortex-m4", ("softmax-q7-doubled",)),
        ("5.9.0", "cortex-m3", ("softmax-q7-doubled",)),
    ],
)
def test_a_softmax_gives_twice_its_numbers_or_another_class(release: str, cpu: str, told: tuple[str, ...]) -> None:
    row = Dims(1, 1, 1, 10)
    taken = route(KernelCall("softmax_q7", row, Dims(1, 1, 1, 1), row), target_of(cpu, f"cmsis5-{release}"))
    assert tuple(hazard.id for hazard in taken.hazards) == told
    assert all(hazard.kind == "wrong-result" for hazard in taken.hazards)
    wide = route(KernelCall("softmax_q15", row, Dims(1, 1, 1, 1), row), target_of(cpu, f"cmsis5-{release}"))
    assert wide.hazards == ()


@pytest.mark.parametrize("cpu", ["cortex-m3", "cortex-m4"])
def test_activations_in_16_bits_take_negative_numbers_for_0_until_5_8(cpu: str) -> None:
    row = Dims(1, 1, 1, 10)
    call = KernelCall("activation_q15", row, Dims(1, 1, 1, 1), row)
    told = {
        release: [hazard.id for hazard in route(call, target_of(cpu, f"cmsis5-{release}")).hazards]
        for release in ("5.6.0", "5.7.0", "5.8.0", "5.9.0")
    }
    row_id = "nn-activations-direct-q15-negative-index-5-7"
    assert told == {"5.6.0": [row_id], "5.7.0": [row_id], "5.8.0": [], "5.9.0": []}
    narrow = KernelCall("activation_q7", row, Dims(1, 1, 1, 1), row)
    assert route(narrow, target_of(cpu, "cmsis5-5.6.0")).hazards == ()
