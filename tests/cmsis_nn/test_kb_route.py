"""Routing with unknown sizes, targets from words, and JSON records."""

from __future__ import annotations

import json
from itertools import product

import pytest

from onnxlint_cmsis.cmsis_nn.apis import FLOAT
from onnxlint_cmsis.cmsis_nn.json_records import shape_answer
from onnxlint_cmsis.cmsis_nn.library import cost, route
from onnxlint_cmsis.cmsis_nn.releases import RELEASES, normalise_release, said_of
from onnxlint_cmsis.cmsis_nn.targets import CPUS, parse_isa, parse_target
from onnxlint_cmsis.ground.types import Dims, Isa, KernelCall, Pair

M55 = parse_target("cortex-m55")
LINE = KernelCall("convolve_s8", Dims(1, 1, 32, 8), Dims(8, 1, 3, 8), Dims(1, 1, 32, 8), padding=Pair(0, 1))


def test_what_is_unknown_and_not_needed_does_not_matter() -> None:
    call = LINE._replace(input_dims=Dims(None, 8, 32, 8), output_dims=Dims(None, 8, None, 8))
    answer = route(call, M55)
    assert (answer.kernel, answer.status, answer.undecided) == ("arm_convolve_s8", 0, frozenset())
    assert answer.buffer_size == 4 * 32


def test_what_is_unknown_and_needed_is_named() -> None:
    answer = route(LINE._replace(input_dims=Dims(1, None, 32, 8)), M55)
    assert (answer.kernel, answer.chain, answer.effective, answer.status) == ("", (), "", None)
    assert answer.undecided == {"input_dims.h"}
    assert answer.candidates == ("arm_convolve_1_x_n_s8", "arm_convolve_s8")
    assert answer.buffer_size is None


def test_an_unknown_width_leaves_the_status_open_but_not_the_kernel() -> None:
    answer = route(LINE._replace(input_dims=Dims(1, 1, None, 8), output_dims=Dims(1, 1, None, 8)), M55)
    assert (answer.kernel, answer.chain, answer.status) == ("arm_convolve_1_x_n_s8", ("arm_convolve_1_x_n_s8",), None)
    assert answer.undecided == {"input_dims.w", "output_dims.w"}
    assert "conv-1xn-wrong-values" in [row.id for row in answer.open_hazards]
    on_m4 = route(LINE._replace(input_dims=Dims(1, 1, None, 8), output_dims=Dims(1, 1, None, 8)), parse_target("m4"))
    assert (on_m4.effective, on_m4.status) == ("arm_convolve_s8", 0)


@pytest.mark.parametrize("hidden", ["n", "h", "w", "c"])
def test_a_decided_route_is_the_route_of_every_size(hidden: str) -> None:
    for width, channels, height, cpu in product((7, 32), (1, 4, 6, 8), (1, 5), ("m55", "m4")):
        dims = Dims(1, height, width, channels)
        call = KernelCall("convolve_s8", dims, Dims(4, 1, 3, channels), Dims(1, height, width, 4), padding=Pair(0, 1))
        full, target = route(call, parse_target(cpu)), parse_target(cpu)
        open_ = route(call._replace(input_dims=dims._replace(**{hidden: None})), target)
        assert open_.kernel in ("", full.kernel)
        assert full.kernel in open_.candidates
        assert open_.status in (None, full.status)
        assert open_.buffer_size in (None, full.buffer_size)
        assert full.chain[: len(open_.chain)] == open_.chain


def test_what_was_tried_speaks_of_the_outer_call() -> None:
    """Depthwise as convolution swaps the filter's n and c; the explanation must not."""
    call = KernelCall("depthwise_s8", Dims(1, 8, 8, 1), Dims(1, 1, 1, 8), Dims(1, 4, 4, 8), Pair(2, 2), ch_mult=8)
    answer = route(call, M55)
    assert answer.kernel == "arm_convolve_1x1_s8"
    outer, fast, taken = answer.tried
    assert (outer[0].kernel, outer[1]) == ("arm_convolve_wrapper_s8", ())
    assert [part.explain_with(call.variables()) for part in fast[1]] == [
        "stride.w == 1 (stride.w is 2)",
        "stride.h == 1 (stride.h is 2)",
    ]
    assert (taken[0].kernel, taken[1]) == ("arm_convolve_1x1_s8", ())


@pytest.mark.parametrize(
    ("text", "cpu", "isa"),
    [
        ("cortex-m0", "cortex-m0", Isa.SCALAR),
        ("cortex-m0+", "cortex-m0+", Isa.SCALAR),
        ("m0plus", "cortex-m0+", Isa.SCALAR),
        ("M3", "cortex-m3", Isa.SCALAR),
        ("Cortex-M4", "cortex-m4", Isa.DSP),
        ("cortex-m4+nodsp", "cortex-m4+nodsp", Isa.SCALAR),
        ("cortex-m33+nodsp", "cortex-m33+nodsp", Isa.SCALAR),
        ("m35p", "cortex-m35p", Isa.DSP),
        ("m52", "cortex-m52", Isa.MVE),
        ("cortex-m55+nomve", "cortex-m55+nomve", Isa.DSP),
        ("cortex-m55+nodsp", "cortex-m55+nodsp", Isa.MVE),
        ("m85+nomve+nodsp", "cortex-m85+nodsp+nomve", Isa.SCALAR),
        ("m85+nodsp+nomve", "cortex-m85+nodsp+nomve", Isa.SCALAR),
    ],
)
def test_targets(text: str, cpu: str, isa: Isa) -> None:
    target = parse_target(text, "v7.0.0", "gcc")
    assert (target.cpu, target.isa, target.release) == (cpu, isa, "7.0.0")
    assert parse_target(target.cpu) == target


@pytest.mark.parametrize(
    ("text", "release", "compiler", "allowed"),
    [
        ("cortex-m99", "7.0.0", "gcc", "cortex-m55"),
        ("", "7.0.0", "gcc", "cortex-m55"),
        ("m", "7.0.0", "gcc", "cortex-m55"),
        ("m4+nofpu", "7.0.0", "gcc", "\\+nodsp"),
        ("m4+nodsp+nodsp", "7.0.0", "gcc", "\\+nodsp"),
        ("m4+nomve", "7.0.0", "gcc", "cortex-m52"),
        ("m0+nodsp", "7.0.0", "gcc", "cortex-m4"),
        ("m4", "9.0.0", "gcc", "cmsis5-5.6.0"),
        ("m4", "7.0.0", "iar", "armclang"),
    ],
)
def test_bad_targets_name_what_is_allowed(text: str, release: str, compiler: str, allowed: str) -> None:
    with pytest.raises(ValueError, match=allowed):
        parse_target(text, release, compiler)


def test_every_cpu_and_release_makes_a_target() -> None:
    for cpu, release in product(CPUS, RELEASES):
        assert parse_target(cpu, release).isa is CPUS[cpu]
        assert normalise_release(release) == release


SHAPE: dict[str, object] = {"wrapper": "convolve_s8", "in": [1, 1, 32, 7], "filter": [8, 1, 3, 7], "out": [1, 1, 15, 8]}


def test_answer_explains() -> None:
    result = shape_answer({**SHAPE, "stride": [1, 2], "cpu": "m55"}, parse_target("m4"))
    assert (result["kernel"], result["chain"], result["effective"]) == (
        "arm_convolve_s8",
        ["arm_convolve_s8"],
        "arm_convolve_s8",
    )
    assert (result["status"], result["buffer_size"], result["hazards"]) == (0, 128, [])
    why = result["why"]
    assert isinstance(why, list)
    assert [step["taken"] for step in why] == [False, False, False, True]
    assert why[2] == {
        "kernel": "arm_convolve_1_x_n_s8",
        "taken": False,
        "failed": ["(stride.w * input_dims.c) % 4 == 0 (2 * 7 = 14, remainder 2)"],
        "source": "CMSIS-NN 7.0.0 Source/ConvolutionFunctions/arm_convolve_wrapper_s8.c:95 arm_convolve_wrapper_s8",
    }
    json.dumps(result)


def test_answer_keeps_the_record_and_its_defaults() -> None:
    result = shape_answer({**SHAPE, "kernel": "wrong", "overrun": 0}, parse_isa("mve", "4.0.0"))
    assert {name: result[name] for name in SHAPE} == SHAPE
    assert result["kernel"] != "wrong"
    assert result["overrun"] == 0


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"wrapper": "conv"}, "convolve_s8"),
        ({"wrapper": None}, "convolve_s8"),
        ({"in": [1, 2, 3]}, "list of 4"),
        ({"in": "1,2,3,4"}, "list of 4"),
        ({"in": [1, 0, 3, 4]}, "from 1 to"),
        ({"in": [1, 2.0, 3, 4]}, "from 1 to"),
        ({"in": [1, True, 3, 4]}, "from 1 to"),
        ({"in": [1, None, 3, 4]}, "from 1 to"),
        ({"in": [1, 2**62, 3, 4]}, "from 1 to"),
        ({"out": None}, "list of 4"),
        ({"stride": [0, 1]}, "from 1 to"),
        ({"padding": [-1, 1]}, "from 0 to"),
        ({"pad_after": [1]}, "list of 2"),
        ({"dilation": 2}, "list of 2"),
        ({"version": "8"}, "8.0.0"),
        ({"version": 7}, "text"),
        ({"isa": "neon"}, "scalar"),
        ({"isa": "mve", "cpu": "m55"}, "exclude"),
        ({"cpu": "m99"}, "cortex-m55"),
        ({"compiler": "iar"}, "armclang"),
        ({"strides": [1, 1]}, "stride"),
        ({"wrapper": "depthwise_s8", "filter": [1, 1, 3, 9]}, "multiple"),
        ({"wrapper": "depthwise_s8", "filter": [1, 1, 3, 7], "ch_mult": 0}, "from 1 to"),
        ({"wrapper": "fully_connected_s8", "per_channel": 2}, "true, false"),
    ],
)
def test_bad_records_say_what_is_allowed(change: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        shape_answer({**SHAPE, **change}, M55)


def test_8_0_0_is_judged_as_main_and_says_so() -> None:
    call = KernelCall("convolve_s8", Dims(1, 8, 8, 4), Dims(4, 3, 3, 4), Dims(1, 6, 6, 4))
    for cpu in ("cortex-m3", "cortex-m4", "cortex-m55"):
        assert route(call, parse_target(cpu, "8.0.0")) == route(call, parse_target(cpu, "main"))
        assert cost(call, parse_target(cpu, "8.0.0")) == cost(call, parse_target(cpu, "main"))
    assert "99f736a6" in said_of("8.0.0") and not said_of("7.0.0")
    with pytest.raises(ValueError, match=r"functions for f32 and f16 of CMSIS-NN 8\.0\.0 were not read"):
        FLOAT.refuse_without("8.0.0")
