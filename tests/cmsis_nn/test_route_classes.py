"""Calls that are said to take the same route do, and cost together what they cost alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.cmsis_nn.library import cost, predicted, route, route_classes
from onnxlint_cmsis.cmsis_nn.releases import RELEASES
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from support.draws import draws
from support.targets import target_of

CPUS = ("cortex-m0", "cortex-m4", "cortex-m55")
planes = st.tuples(st.integers(1, 9), st.integers(1, 12))
kernels = st.tuples(st.integers(1, 4), st.integers(1, 6))
pairs = st.builds(Pair, st.integers(0, 2), st.integers(0, 2))
strides = st.builds(Pair, st.integers(1, 3), st.integers(1, 3))
dilations = st.sampled_from([Pair(1, 1), Pair(1, 1), Pair(2, 1), Pair(1, 3)])


@st.composite
def families(draw):
    """Calls of one entry point that differ in their channels: a grid of input and output counts."""
    entry = draw(st.sampled_from(["convolve_s8", "convolve_s16", "convolve_s4", "depthwise_s8", "depthwise_s16",
                                  "depthwise_s4", "transpose_conv_s8", "fully_connected_s8"]))  # fmt: skip
    (h, w), (kh, kw), (out_h, out_w) = draw(planes), draw(kernels), draw(planes)
    shape = draw(strides), draw(pairs), draw(pairs), draw(dilations)
    batch, groups = draw(st.integers(1, 2)), draw(st.sampled_from([1, 1, 2]))
    channels = draw(st.lists(st.integers(1, 40), min_size=2, max_size=6, unique=True))
    others = draw(st.lists(st.integers(1, 40), min_size=1, max_size=4, unique=True))
    calls = []
    for inputs, outputs in product(channels, others):
        if entry.startswith("depthwise"):
            total, multiplier, filter_dims = inputs * outputs, outputs, Dims(1, kh, kw, inputs * outputs)
        elif entry.startswith("fully"):
            total, multiplier, filter_dims = outputs, 0, Dims(inputs, 1, 1, outputs)
        else:
            total, multiplier, filter_dims = outputs, 0, Dims(outputs, kh, kw, max(1, inputs // groups))
        calls.append(
            KernelCall(
                entry,
                Dims(batch, h, w, inputs),
                filter_dims,
                Dims(batch, out_h, out_w, total),
                *shape,
                multiplier,
                False,
            )
        )
    return calls


def way(taken):
    """All of a route that planning looks at."""
    ids = tuple(hazard.id for hazard in taken.hazards), tuple(hazard.id for hazard in taken.open_hazards)
    return taken.kernel, taken.chain, taken.effective, taken.status, ids, taken.undecided, taken.reason


def together(calls):
    """The calls as one whose channel counts are arrays."""
    first = calls[0]

    def dims(name):
        rows = [getattr(call, name) for call in calls]
        return Dims(*(np.array(sizes) if len(set(sizes)) > 1 else sizes[0] for sizes in zip(*rows, strict=True)))

    arrays = {name: dims(name) for name in ("input_dims", "filter_dims", "output_dims")}
    if len({call.ch_mult for call in calls}) > 1:
        arrays["ch_mult"] = np.array([call.ch_mult for call in calls])
    return first._replace(**arrays)


@given(families(), st.sampled_from(RELEASES), st.sampled_from(CPUS))
@settings(max_examples=draws(400), deadline=None)
def test_calls_with_one_number_take_one_route(calls, release, cpu):
    target = target_of(cpu, release, "gcc")
    routes = {}
    for call, number in zip(calls, route_classes(together(calls), (target,))[0], strict=True):
        assert routes.setdefault(int(number), way(route(call, target))) == way(route(call, target))


@given(families(), st.sampled_from(RELEASES))
@settings(max_examples=draws(100), deadline=None)
def test_several_targets_are_numbered_as_each_alone(calls, release):
    targets = tuple(target_of(cpu, release, "gcc") for cpu in CPUS)
    for target, numbers in zip(targets, route_classes(together(calls), targets), strict=True):
        assert numbers.tolist() == route_classes(together(calls), (target,))[0].tolist()


@given(families(), st.sampled_from(RELEASES), st.sampled_from(CPUS))
@settings(max_examples=draws(400), deadline=None)
def test_calls_with_one_route_are_priced_together_as_alone(calls, release, cpu):
    target = target_of(cpu, release, "gcc")
    ways = {}
    for call in calls:
        ways.setdefault(way(route(call, target)), []).append(call)
    assert ways
    for same in ways.values():
        prices = predicted(together(same), target, route(same[0], target))
        numbers, known = (np.broadcast_to(values, len(same)) for values in prices)
        expected = [cost(call, target) for call in same]
        assert [round(number) if sure else None for number, sure in zip(numbers, known, strict=True)] == expected


@pytest.mark.parametrize("cpu", CPUS)
def test_numbers_are_few(cpu):
    """A thousand pointwise calls fall into a handful of kinds, or nothing would be gained."""
    plane = Dims(1, 8, 8, 0)
    calls = [
        KernelCall("convolve_s8", plane._replace(c=a), Dims(b, 1, 1, a), plane._replace(c=b))
        for a, b in product(range(8, 40), range(8, 40))
    ]
    assert len(set(route_classes(together(calls), (target_of(cpu, "7.0.0", "gcc"),))[0].tolist())) < 40


@given(families(), st.sampled_from(RELEASES), st.sampled_from(CPUS), st.sampled_from([1, 10**4, 10**6, 10**8]))
@settings(max_examples=draws(200), deadline=None)
def test_large_calls_with_one_number_take_one_route(calls, release, cpu, times):
    """Up to what 64 bits hold; beyond it no number is given."""
    target, routes = target_of(cpu, release, "gcc"), {}
    large = [
        call._replace(
            input_dims=call.input_dims._replace(c=call.input_dims.c * times),
            output_dims=call.output_dims._replace(c=call.output_dims.c * times),
            filter_dims=call.filter_dims._replace(c=call.filter_dims.c * times),
        )
        for call in calls
    ]
    try:
        (numbers,) = route_classes(together(large), (target,), large=True)
    except OverflowError:
        assert times > 10**6
        return
    for call, number in zip(large, numbers, strict=True):
        assert routes.setdefault(int(number), way(route(call, target))) == way(route(call, target))


@pytest.mark.parametrize(("size", "height"), [(2**60, 1), (2**31, 2**30)])
def test_numbers_beyond_64_bits_are_refused(size, height):
    plane = Dims(1, height, 1, 0)
    calls = [
        KernelCall("convolve_s8", plane._replace(c=channels), Dims(4, height, 1, channels), Dims(1, 1, 1, 4))
        for channels in (size, size + 1)
    ]
    with pytest.raises(OverflowError):
        route_classes(together(calls), (target_of("cortex-m4", "7.0.0", "gcc"),), large=True)
