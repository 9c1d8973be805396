"""The algebra of dimension variables: unions, refinements, locks."""

from __future__ import annotations

from itertools import pairwise

import pytest

from onnxlint_cmsis.model.axes import AxisForm, Resolver, axis_text
from onnxlint_cmsis.model.unification import unify
from onnxlint_cmsis.model.variables import MAX_PARTS, Dimension, Variables, find, leaves_of
from support.goldens import Told


class World:
    """Dimensions with letters for names."""

    def __init__(self) -> None:
        self.variables = Variables()

    def concat(self, *parts: Dimension) -> Dimension:
        return self.variables.concat(parts, "join")

    def product(self, *factors: Dimension) -> Dimension:
        return self.variables.product(factors, "grid")

    def tie(self, first: Dimension, second: Dimension) -> None:
        unify(self.variables, first, second, "here")

    def locked(self, dimension: Dimension) -> list[str]:
        wanted = set(leaves_of(dimension))
        return [str(lock) for pinned, lock in self.variables.pins if wanted & set(leaves_of(pinned))]

    def text(self, dimension: Dimension) -> str:
        return axis_text(Resolver().axis(dimension))


@pytest.fixture
def world() -> World:
    return World()


def test_leaves_become_one_class(world: World) -> None:
    first, second, third = (Dimension(8) for _ in range(3))
    world.tie(first, second)
    world.tie(third, second)
    assert find(first) is find(second) is find(third)
    assert not world.variables.pins


def test_a_symbolic_size_is_learnt(world: World) -> None:
    first, second = Dimension(None), Dimension(8)
    world.tie(first, second)
    assert find(first).size == 8


def test_sizes_that_disagree_lock_both(world: World, told: Told) -> None:
    first, second = Dimension(8), Dimension(9)
    world.tie(first, second)
    assert world.locked(first) == world.locked(second)
    told(world.locked(first))
    assert find(first) is not find(second)


def test_concat_parts_match_one_by_one(world: World) -> None:
    parts, others = (Dimension(4), Dimension(6)), (Dimension(4), Dimension(6))
    world.tie(world.concat(*parts), world.concat(*others))
    assert [find(part) for part in parts] == [find(other) for other in others]
    assert not world.variables.pins


def test_concat_boundaries_refine_leaves(world: World) -> None:
    first = world.concat(Dimension(4), Dimension(6))
    second = world.concat(Dimension(7), Dimension(3))
    world.tie(first, second)
    assert world.text(first) == world.text(second) == "[4 + 3 + 3]"
    assert not world.variables.pins


def test_repeated_parts_refine_each_other(world: World) -> None:
    twice = Dimension(6)
    first = world.concat(twice, twice)
    second = world.concat(Dimension(4), Dimension(8))
    world.tie(first, second)
    assert world.text(first) == "[4 + 2 + 4 + 2]"
    assert world.text(second) == "[4 + 2 + 4 + 2]"
    assert not world.variables.pins


def test_concat_of_symbolic_parts_is_locked(world: World, told: Told) -> None:
    first = world.concat(Dimension(None), Dimension(4))
    second = world.concat(Dimension(4), Dimension(None))
    world.tie(first, second)
    told(world.locked(first))


def test_products_match_from_both_ends(world: World) -> None:
    first = Dimension(5), Dimension(4), Dimension(3)
    second = Dimension(5), Dimension(4), Dimension(3)
    world.tie(world.product(*first), world.product(*second))
    assert [find(factor) for factor in first] == [find(factor) for factor in second]


def test_a_factor_is_refined_by_division(world: World) -> None:
    channels, plane = Dimension(12), Dimension(7)
    world.tie(world.product(channels, plane), world.product(Dimension(3), Dimension(4), Dimension(7)))
    assert world.text(channels) == "12 = 3 x 4"
    assert not world.variables.pins


def test_factors_that_do_not_nest_are_locked(world: World, told: Told) -> None:
    first, second = (Dimension(6), Dimension(4)), (Dimension(4), Dimension(6))
    world.tie(world.product(*first), world.product(*second))
    for factor in (*first, *second):
        told(world.locked(factor))


def test_the_ends_that_match_stay_free(world: World) -> None:
    inner, same = Dimension(5), Dimension(5)
    world.tie(world.product(Dimension(6), Dimension(4), inner), world.product(Dimension(4), Dimension(6), same))
    assert find(inner) is find(same)
    assert not world.locked(inner)


def test_a_product_over_a_concat_distributes(world: World) -> None:
    first, second, plane = Dimension(2), Dimension(3), Dimension(4)
    flat = world.product(world.concat(first, second), plane)
    pieces = Dimension(8), Dimension(12)
    world.tie(flat, world.concat(*pieces))
    assert [world.text(piece) for piece in pieces] == ["8 = 2 x 4", "12 = 3 x 4"]
    assert not world.variables.pins


def test_blocks_of_a_product_meet_the_parts_of_a_concat(world: World) -> None:
    first, second, block = Dimension(8), Dimension(8), Dimension(8)
    groups = Dimension(2)
    world.tie(world.concat(first, second), world.product(groups, block))
    assert find(first) is find(second) is find(block)
    assert not world.locked(block)
    assert world.locked(groups)


def test_blocks_that_straddle_a_boundary_are_locked(world: World, told: Told) -> None:
    first, second = Dimension(6), Dimension(10)
    world.tie(world.concat(first, second), world.product(Dimension(2), Dimension(8)))
    assert world.locked(first) == world.locked(second)
    told(world.locked(first))


def test_a_factor_of_one_that_is_dropped_is_locked(world: World, told: Told) -> None:
    factor, channels, plane, out = Dimension(1), Dimension(8), Dimension(4), (Dimension(8), Dimension(4))
    world.tie(world.product(channels, factor, plane), world.product(*out))
    assert find(out[0]) is find(channels)
    told(world.locked(factor))


def test_a_leaf_inside_its_own_structure_is_no_cycle(world: World) -> None:
    leaf, factor = Dimension(8), Dimension(1)
    world.tie(leaf, world.product(leaf, factor))
    assert world.text(leaf) == "8"
    assert world.locked(factor)


def test_a_symbolic_leaf_inside_its_own_structure_is_locked(world: World) -> None:
    leaf, other = Dimension(None), Dimension(None)
    structure = world.concat(leaf, other)
    world.tie(structure, leaf)
    assert world.locked(leaf)
    grid = world.product(other, leaf, Dimension(None))
    world.tie(leaf, grid)
    assert world.locked(grid)


def test_a_structure_inside_another_is_no_cycle(world: World) -> None:
    inner = world.product(Dimension(None), Dimension(None))
    outer = world.product(inner, Dimension(None))
    world.tie(inner, outer)
    assert Resolver().axis(outer) is not None


def test_pins_reach_leaves_bound_later(world: World) -> None:
    whole, parts = Dimension(8), (Dimension(3), Dimension(5))
    world.variables.pin(whole, "end", "output")
    world.tie(whole, world.concat(*parts))
    assert world.locked(parts[0]) == world.locked(parts[1]) == ["end: output"]


def test_too_many_parts_are_locked_not_followed(world: World, told: Told) -> None:
    parts = [Dimension(2) for _ in range(MAX_PARTS + 1)]
    whole = world.concat(*parts)
    assert whole.size == 2 * len(parts)
    assert world.locked(parts[0]) == world.locked(whole)
    told(world.locked(whole))


def test_parts_that_turn_out_to_contradict_their_axis_are_not_followed(world: World, told: Told) -> None:
    part = Dimension(None)
    whole = world.concat(part, Dimension(2))
    world.tie(whole, Dimension(5))
    world.tie(part, Dimension(4))
    resolver = Resolver()
    axis = resolver.axis(whole)
    assert (axis.form, axis.size) == (AxisForm.LEAF, 5)
    told(resolver.opaque[axis.leaf])
    assert len(resolver.opaque) == 3


def test_long_chains_need_no_recursion() -> None:
    world = World()
    chain = [Dimension(4) for _ in range(50_000)]
    for first, second in pairwise(chain):
        world.tie(first, second)
    assert find(chain[0]) is find(chain[-1])
    nested = Dimension(2)
    for _ in range(400):
        nested = world.product(nested, Dimension(None))
    assert len(leaves_of(nested)) == 401
    assert Resolver().axis(nested).size is None
