"""Predicted instructions of functions for f32 and f16 against measurements, and what is left unknown."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import fit_float
from float_calls import SOFTWARE, calls
from measure_float import measured_numbers
from onnxlint_cmsis.cmsis_nn.library import (
    cost,
    cost_of_route,
    instructions_range,
    measured_build,
    predicted,
    route,
)
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.types import AS_ASKED, WEIGHTED, Dims, FloatCall, Function, Isa, KernelCall, Pair
from support.float_vectors import VECTORS, call_of, rows, target_of
from support.nightly import one_of

CLOCK = 7
"""Instructions of a vector's row that read its clock."""
SHORT = 1000
"""Instructions below which the clock of the vectors, of 40 instructions, makes more than 1 %."""
OTHER_CODE = ("arm_softmax_f16", "m55")
"""Function that the vectors have with other conversions than gcc's, which its assembler encodes wrongly: theirs take up
to 16 instructions more for eight numbers."""
PRODUCTS = ("arm_convolve", "arm_depthwise", "arm_fully_connected", "arm_batch_matmul")
"""Beginnings of the functions that multiply matrices."""
EVERY = one_of(2, (7, 1))
"""One of so many calls is looked at."""
CONV = KernelCall(
    "convolve_f32", Dims(1, 8, 8, 16), Dims(8, 3, 3, 16), Dims(1, 8, 8, 8), padding=Pair(1, 1), floating=FloatCall()
)


def published(build: str) -> dict[str, Any]:
    parts: dict[str, Any] = json.loads((fit_float.FOLDER / f"main-{build}.json").read_text())["float"]
    return parts


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("build", fit_float.BUILDS)
def test_some_shapes_held_apart_are_predicted_as_published_and_to_their_limit(build: str, every: int) -> None:
    rows = fit_float.float_rows(build, "apart", every)
    errors = fit_float.float_errors(rows, published(build)["instructions"])
    told = published(build)["apart_error_percent"]
    assert len(errors) >= 40
    for kernel, pairs in errors.items():
        largest = max(error for error, _ in pairs)
        assert largest <= told[kernel]["max"] + 0.01, kernel
        if every == 1:
            assert (len(pairs), largest) == (told[kernel]["rows"], pytest.approx(told[kernel]["max"], abs=0.01)), kernel
    assert every > 1 or errors.keys() == told.keys()
    if fit_float.BUILDS[build].isa is not Isa.SCALAR:
        limits = {row.kernel: row.limit for row in rows}
        for kernel in told if every == 1 else errors:
            assert told[kernel]["p95"] <= limits[kernel], (kernel, told[kernel])


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("cpu", SOFTWARE)
def test_software_takes_what_its_range_says(cpu: str, every: int) -> None:
    """Calls held apart with random numbers, some zeros, and zeros alone lie in their range, to 5 %."""
    target = parse_target(cpu, "main")
    numbers = measured_numbers(cpu, "apart")
    inside: dict[str, list[bool]] = defaultdict(list)
    for measured, number in [*zip(calls("apart", cpu), numbers, strict=True)][::every]:
        taken = route(measured.call, target)
        known = cost_of_route(measured.call, target, taken)
        ends = instructions_range(measured.call, target, taken) or (known and (known, known))
        took = number + fit_float.CALLER
        if ends:
            inside[taken.kernel].append(0.95 * ends[0] <= took <= 1.05 * ends[1])
    assert len(inside) >= 55
    assert sum(map(len, inside.values())) >= 0.99 * len(numbers) // every
    for kernel, answers in inside.items():
        assert sum(answers) >= 0.93 * len(answers) - (every > 1), kernel
    assert sum(map(sum, inside.values())) >= 0.994 * sum(map(len, inside.values()))


@pytest.mark.parametrize("build", [name for name, target in fit_float.BUILDS.items() if target.isa is not Isa.SCALAR])
def test_transposed_convolutions_of_inputs_with_zeros_take_what_their_range_says(build: str) -> None:
    target = fit_float.BUILDS[build]
    numbers = measured_numbers(fit_float.measured_as(build), "apart")
    inside = []
    for measured, number in zip(calls("apart", target.cpu), numbers, strict=True):
        if measured.call.floating is None or not measured.call.floating.zeros:
            continue
        took = number + fit_float.CALLER
        if ends := instructions_range(measured.call, target, route(measured.call, target)):
            inside.append(0.95 * ends[0] <= took <= 1.05 * ends[1])
    assert len(inside) > 800
    assert all(inside)


@pytest.mark.parametrize("path", VECTORS)
def test_the_rows_of_the_real_kernels_are_predicted(path) -> None:
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    ranges: list[bool] = []
    for row in rows(path):
        measured = float(row["instructions"] or 0) - CLOCK
        if row["status"] != "0" or row["specialization"] == "off" or measured < SHORT:
            continue
        call, target = call_of(row), target_of(row)
        taken = route(call, target)
        if (row["function"], row["cpu"]) == OTHER_CODE:
            number = cost_of_route(call, target, taken)
            assert number is None or 0.85 * measured < number < measured, row["id"]
            continue
        number, ends = cost_of_route(call, target, taken), instructions_range(call, target, taken)
        if ends is not None and number is None:
            ranges.append(0.97 * ends[0] <= measured <= 1.03 * ends[1])
        elif number is not None:
            errors[row["function"], row["cpu"]].append(abs(number / measured - 1) * 100)
    assert len(ranges) > 3
    assert sum(ranges) >= 0.97 * len(ranges)
    assert sum(map(len, errors.values())) > 100
    for (function, cpu), values in errors.items():
        if len(values) >= 20:
            limit = fit_float.LIMITS[function.startswith(PRODUCTS)]
            assert np.percentile(values, 95) <= limit, (function, cpu, len(values), max(values))


@pytest.mark.parametrize("build", fit_float.BUILDS)
@pytest.mark.parametrize("kind", ["f32", "f16"])
def test_layers_of_usual_sizes_have_a_cost(build: str, kind: str) -> None:
    """What nobody drew has no number, or a wrong one: first layers of 1 to 3 channels, f16 on 32 channels and more."""
    target, bare = fit_float.BUILDS[build], FloatCall()
    for inputs in (1, 3, 8, 16, 31, 32, 64, 128):
        image, row = Dims(1, 16, 16, inputs), Dims(1, 1, 40, inputs)
        usual = [
            KernelCall(
                f"{entry}_{kind}", source, Dims(outputs, rows, taps, inputs) if entry == "convolve" else
                Dims(1, rows, taps, inputs), source._replace(c=outputs if entry == "convolve" else inputs),
                padding=Pair(rows // 2, taps // 2), ch_mult=entry == "depthwise", bias=bias, floating=given,
            )
            for given in (bare, bare._replace(packed=True), bare._replace(scratch=0))
            for bias in (True, False)
            for source, rows in ((image, 3), (image, 1), (row, 1))
            for taps in (1, 3, 5)
            for entry, outputs in (("convolve", 8), ("convolve", 33), ("depthwise", 0))
        ]  # fmt: skip
        pads = [
            KernelCall(
                f"pad_{kind}", image, Dims(1, 1, 1, 1), Dims(1, 17, 17, inputs + more),
                pad_front=Dims(0, 1, 1, more), bias=False, floating=bare,
            )
            for more in (0, 1)
        ]  # fmt: skip
        for call in (*usual, *pads):
            taken = route(call, target)
            assert cost_of_route(call, target, taken) or instructions_range(call, target, taken), call


@pytest.mark.parametrize("cpu", ["cortex-m7", "cortex-m33", "cortex-m35p"])
def test_a_cpu_that_was_measured_by_itself_has_its_own_numbers(cpu: str) -> None:
    numbers = [cost(CONV, parse_target(name, "main")) for name in (cpu, "cortex-m4")]
    assert None not in numbers
    assert numbers[0] != numbers[1]
    assert measured_build(parse_target(cpu, "main"), floats=True) == fit_float.FLOAT_CPUS[cpu]
    assert measured_build(parse_target(cpu, "main")) == "cortex-m4"


def test_a_call_without_measurements_has_no_cost() -> None:
    assert cost(CONV, parse_target("cortex-m4", "main"))
    assert cost(CONV, parse_target("cortex-m3", "main")) is None  # the data decide: it has a range
    assert cost(CONV, parse_target("cortex-m4", "main")._replace(compiler="armclang")) is None
    recurrent = KernelCall(
        "lstm_unidirectional_f32", Dims(1, 1, 4, 8), Dims(8, 1, 1, 8), Dims(1, 1, 4, 8), floating=FloatCall()
    )
    assert cost(recurrent, parse_target("cortex-m4", "main")) is None


def test_windows_that_step_over_all_of_the_input_take_less() -> None:
    """Two taps on rows -1 and 1 of an input with one row, or on -1 and 0."""
    call = KernelCall(
        "depthwise_f16", Dims(1, 1, 9, 4), Dims(1, 2, 1, 4), Dims(1, 1, 9, 4), padding=Pair(1, 0),
        ch_mult=2, floating=FloatCall(),
    )._replace(filter_dims=Dims(1, 2, 1, 8), output_dims=Dims(1, 1, 9, 8))  # fmt: skip
    target = parse_target("cortex-m4", "main")
    near, apart = cost(call, target), cost(call._replace(dilation=Pair(2, 1)), target)
    taps = cost(call._replace(input_dims=Dims(1, 3, 9, 4), dilation=Pair(2, 1)), target)
    assert near and apart and taps
    assert apart < taps


def test_padding_that_no_device_has_is_not_counted_window_by_window() -> None:
    wide = CONV._replace(padding=Pair(1 << 19, 1), output_dims=Dims(1, 1 << 19, 8, 8))
    assert cost(wide, parse_target("cortex-m4", "main")) is None


@pytest.mark.parametrize(
    ("cpu", "same"),
    [("cortex-m33+nodsp", "cortex-m33"), ("cortex-m4+nodsp", "cortex-m4")],
)
def test_a_floating_point_unit_needs_no_other_instructions(cpu: str, same: str) -> None:
    assert cost(CONV, parse_target(cpu, "main")) == cost(CONV, parse_target(same, "main"))


def test_software_has_a_range_on_each_cpu_without_a_floating_point_unit() -> None:
    ends = {}
    for cpu in ("cortex-m0", "cortex-m0+", "cortex-m23", "cortex-m3"):
        target = parse_target(cpu, "main")
        least, most = ends[cpu] = instructions_range(CONV, target, route(CONV, target)) or (0, 0)
        assert 5 * (cost(CONV, parse_target("cortex-m4", "main")) or 0) < least < most < 2.5 * least
        assert measured_build(target, floats=True) == cpu.removesuffix("+")
    assert ends["cortex-m0"] == ends["cortex-m0+"] > ends["cortex-m3"]


def test_a_concatenation_costs_a_copy_for_each_run_of_each_operand() -> None:
    joined = KernelCall(
        "concatenation_f32", Dims(1, 5, 5, 8), Dims(1, 1, 1, 1), Dims(1, 5, 5, 24), runs=(8, 16), floating=FloatCall()
    )
    rows = joined._replace(output_dims=Dims(1, 15, 5, 8), runs=(200, 400))
    target = parse_target("cortex-m55", "main")
    by_pixel, by_image = cost(joined, target), cost(rows, target)
    assert by_pixel and by_image
    assert by_image < by_pixel
    assert cost(joined._replace(runs=()), target) is None


@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
def test_images_that_are_joined_cost_a_copy_for_each_operand(cpu: str) -> None:
    """The result has more images than an operand."""
    target, size = parse_target(cpu, "main"), Dims(1, 1, 1, 1)
    images = KernelCall(
        "concatenation_f32", Dims(3, 1, 1, 40), size, Dims(8, 1, 1, 40), runs=(120, 200), floating=FloatCall()
    )
    numbers = images._replace(input_dims=Dims(1, 1, 1, 120), output_dims=Dims(1, 1, 1, 320))
    assert cost(images, target) == cost(numbers, target) > 200 / (4 if cpu == "cortex-m55" else 16)


@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m23"])
def test_a_copy_that_does_not_begin_on_a_word_goes_byte_by_byte(cpu: str) -> None:
    """A pixel of f16 in front moves all others by half a word."""
    took = {}
    for kind in ("f16", "f32"):
        image = KernelCall(
            f"pad_{kind}", Dims(1, 1, 40, 1), Dims(1, 1, 1, 1), Dims(1, 1, 42, 1), floating=FloatCall()
        )  # fmt: skip
        for front in (1, 2):
            took[kind, front] = cost(image._replace(pad_front=Dims(0, 0, front, 0)), parse_target(cpu, "main")) or 0
    assert took["f16", 1] > 2 * took["f16", 2] > 200
    assert took["f32", 1] == pytest.approx(took["f32", 2], rel=0.02)


@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m23"])
def test_an_operand_behind_an_odd_count_of_numbers_is_joined_byte_by_byte(cpu: str) -> None:
    joined = KernelCall(
        "concatenation_f16", Dims(1, 5, 5, 1), Dims(1, 1, 1, 1), Dims(1, 5, 5, 64), floating=FloatCall()
    )
    odd, even = (cost(joined._replace(runs=runs), parse_target(cpu, "main")) for runs in ((1, 63), (2, 62)))
    assert odd and even
    assert odd > 3 * even


@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
def test_an_lstm_has_a_range_on_all_code(cpu: str) -> None:
    call = KernelCall(
        "lstm_unidirectional_f32", Dims(1, 1, 4, 8), Dims(1, 1, 1, 1), Dims(1, 1, 4, 8), initial_state=False,
        floating=FloatCall(),
    )  # fmt: skip
    target = parse_target(cpu, "main")
    least, most = instructions_range(call, target, route(call, target)) or (0, 0)
    assert 0 < 1.1 * least < most < 1.5 * least


def test_data_decide_what_a_softmax_takes_where_it_skips_exponentials() -> None:
    call = KernelCall("softmax_f32", Dims(4, 1, 1, 50), Dims(1, 1, 1, 1), Dims(4, 1, 1, 50), floating=FloatCall())
    scalar, vectors = parse_target("cortex-m4", "main"), parse_target("cortex-m55", "main")
    least, most = instructions_range(call, scalar, route(call, scalar)) or (0, 0)
    assert 0 < 1.5 * least < most
    assert cost(call, scalar) is None
    assert instructions_range(call, vectors, route(call, vectors)) is None
    assert cost(call, vectors)


def resized(call: KernelCall, inputs: Any, outputs: Any) -> KernelCall:
    """A layer with weights at other channel counts; each may be an array."""
    given, weights, result = call.input_dims, call.filter_dims, call.output_dims
    if call.function is Function.DEPTHWISE:
        outputs = inputs * call.ch_mult
        weights = weights._replace(c=outputs)
    elif call.function is Function.FULLY_CONNECTED:
        weights = weights._replace(n=inputs, c=outputs)
    else:
        weights = weights._replace(n=outputs, c=inputs)
    return call._replace(
        input_dims=given._replace(c=inputs), filter_dims=weights, output_dims=result._replace(c=outputs)
    )


@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
def test_many_channel_counts_at_once_cost_what_each_costs(cpu: str) -> None:
    """Those that run the same functions are predicted together, as planning does."""
    target, channels = parse_target(cpu, "main"), np.random.default_rng(7)
    weighted = [measured.call for measured in calls("apart", cpu) if measured.call.function in WEIGHTED]
    checked = 0
    for call in weighted[::97]:
        if call.floating is None or call.floating.scratch not in (0, AS_ASKED):
            continue
        sizes = channels.integers(1, 40, (2, 12))
        ways: dict[object, list[int]] = {}
        singles = [resized(call, int(inputs), int(outputs)) for inputs, outputs in sizes.T]
        for number, single in enumerate(singles):
            taken = route(single, target)
            ways.setdefault((taken.kernel, taken.chain, taken.effective, taken.status), []).append(number)
        for numbers in ways.values():
            many = predicted(resized(call, *sizes[:, numbers]), target, route(singles[numbers[0]], target))
            expected = [predicted(singles[number], target, route(singles[number], target)) for number in numbers]
            known = np.broadcast_to(many.known, len(numbers))
            assert [single.known for single in expected] == known.tolist()
            together = np.broadcast_to(many.instructions, len(numbers))
            for instructions, alone in zip(together[known], filter(lambda cost: cost.known, expected), strict=True):
                assert instructions == pytest.approx(alone.instructions), call
                checked += 1
    assert checked > 200
