"""The arena of a model: sizes worked out by hand."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.analysis.activations import activations
from onnxlint_cmsis.analysis.arena_plan import ArenaStep, ArenaUses, plan_arena
from support.dims_graphs import Builder
from support.linter import analysed


def arena(build, *outputs, **settings):
    model = analysed(build.model(*outputs), **settings)
    uses = activations(model.graph, model.lowered)
    return None if uses is None else plan_arena(uses).size


def test_a_chain_needs_its_largest_pair():
    build = Builder()
    value = build.op("Relu", build.conv(build.input("x", 1, 4, 8, 8), 4, 8, name="first"))
    assert arena(build, build.conv(value, 8, 4, name="second")) == 8 * 64 + 4 * 64


def test_a_residual_keeps_its_source():
    build = Builder()
    source = build.conv(build.input("x", 1, 4, 8, 8), 4, 4, name="first")
    inner = build.conv(source, 4, 4, name="second")
    assert arena(build, build.op("Add", source, inner)) == 3 * 4 * 64


def test_int16_takes_twice_as_much():
    build = Builder()
    value = build.conv(build.input("x", 1, 4, 8, 8), 4, 8, name="first")
    assert arena(build, value, assume="s16") == 2 * (4 * 64 + 8 * 64)


def test_an_unknown_size_leaves_the_arena_unknown():
    build = Builder()
    assert arena(build, build.conv(build.input("x", 1, 4, "h", 8), 4, 8, name="first")) is None


@pytest.mark.parametrize(("in_place", "size"), [(True, 64), (False, 128)])
def test_a_step_in_place_needs_no_second_buffer(in_place, size):
    uses = ArenaUses({0: 64, 1: 64}, (0,), (ArenaStep((0,), (1,), in_place),), (1,))
    assert plan_arena(uses).size == size
