"""Conditions: each reading against another one, on random trees and on every tree of the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.cmsis_nn.conditions import (
    FALSE,
    TRUE,
    Condition,
    all_of,
    any_of,
    at_least,
    at_most,
    equal,
    greater,
    less,
    not_,
    unequal,
)
from onnxlint_cmsis.cmsis_nn.delegations import DELEGATIONS
from onnxlint_cmsis.cmsis_nn.library import all_hazards
from onnxlint_cmsis.cmsis_nn.tables import ENTRIES, wrapper_for
from onnxlint_cmsis.cmsis_nn.terms import (
    Term,
    c_name,
    maximum,
    minimum,
    named,
    quotient,
    remainder,
    round_up,
    term,
    var,
)

NAMES = ("input_dims.c", "filter_dims.w", "stride.w", "padding.w", "ch_mult")
SMALL = st.integers(-9, 9)
Numbers = Mapping[str, int]


class C:
    """A reader of C expressions, independent of the trees: precedence, truncating division, short circuits."""

    LEVELS = (("||",), ("&&",), ("==", "!="), ("<=", ">=", "<", ">"), ("+", "-"), ("*", "/", "%"))

    def __init__(self, text: str, numbers: Numbers) -> None:
        self.tokens = re.findall(r"\|\||&&|[=!<>]=|[A-Za-z_][\w.]*(?:->[\w.]+)?|\d+|[-+*/%<>(),]", text)
        assert "".join(self.tokens) == re.sub(r"\s", "", text), text
        self.numbers = numbers

    def value(self) -> int:
        result = self.level(0)
        assert not self.tokens
        return result

    def level(self, depth: int) -> int:
        if depth == len(self.LEVELS):
            return self.atom()
        left = self.level(depth + 1)
        while self.tokens and self.tokens[0] in self.LEVELS[depth]:
            op = self.tokens.pop(0)
            left = self.apply(op, left, self.level(depth + 1))
        return left

    def apply(self, op: str, left: int, right: int) -> int:
        if op in ("/", "%"):
            whole = int(left / right)
            return whole if op == "/" else left - whole * right
        results = {"||": left or right, "&&": left and right, "==": left == right, "!=": left != right}
        results |= {"<=": left <= right, ">=": left >= right, "<": left < right, ">": left > right}
        results |= {"+": left + right, "-": left - right, "*": left * right}
        return int(bool(results[op])) if op in ("||", "&&") else int(results[op])

    def atom(self) -> int:
        token = self.tokens.pop(0)
        if token == "-":
            return -self.atom()
        if token == "(":
            result = self.level(0)
            assert self.tokens.pop(0) == ")"
            return result
        if token in ("MAX", "MIN"):
            assert self.tokens.pop(0) == "("
            left = self.level(0)
            assert self.tokens.pop(0) == ","
            right = self.level(0)
            assert self.tokens.pop(0) == ")"
            return max(left, right) if token == "MAX" else min(left, right)
        return int(token) if token.isdigit() else self.numbers[token]


def terms() -> st.SearchStrategy[Term]:
    leaves = st.sampled_from(NAMES).map(var) | SMALL.map(term)
    divisors = st.integers(1, 9)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, b: a - b, inner, inner),
            st.builds(lambda a, b: a * b, inner, inner),
            st.builds(lambda a, b: a // b, inner, divisors),
            st.builds(lambda a, b: a % b, inner, divisors),
            st.builds(lambda a, b: a % (b * 2), inner, divisors),
            st.builds(maximum, inner, inner),
            st.builds(minimum, inner, inner),
        ),
        max_leaves=8,
    )


def conditions() -> st.SearchStrategy[Condition]:
    compare = st.sampled_from((equal, unequal, less, at_most, greater, at_least))
    leaves = st.builds(lambda make, a, b: make(a, b), compare, terms(), terms())
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: all_of(*parts)),
            st.lists(inner, max_size=3).map(lambda parts: any_of(*parts)),
            inner.map(not_),
        ),
        max_leaves=6,
    )


def numbers() -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries(dict.fromkeys(NAMES, SMALL))


def in_c(values: Numbers) -> dict[str, int]:
    return {c_name(name, "conv_params"): value for name, value in values.items()}


def table_conditions() -> Iterator[Condition]:
    for entry in ENTRIES:
        wrapper = wrapper_for(entry)
        assert wrapper is not None
        yield from (branch.when for branch in wrapper.branches)
        yield from (case.when for case in (*wrapper.sizes, *wrapper.reverse_sizes))
    yield from (row.when for row in DELEGATIONS)
    yield from (row.when for row in all_hazards())


TABLE = list(dict.fromkeys(table_conditions()))


@given(conditions(), numbers())
def test_c_text_means_what_the_tree_means(condition: Condition, values: dict[str, int]) -> None:
    assert C(condition.to_c(), in_c(values)).value() == int(bool(condition.evaluate(values)))


@given(st.data())
def test_c_text_of_every_table_row(data: st.DataObject) -> None:
    condition = data.draw(st.sampled_from(TABLE))
    values = {name: data.draw(st.integers(1, 40)) for name in sorted(condition.names())}
    if condition.evaluate(values) is not None:
        assert C(condition.to_c(), in_c(values)).value() == int(bool(condition.evaluate(values)))


@given(conditions(), numbers())
def test_explanation_reads_like_the_c_text(condition: Condition, values: dict[str, int]) -> None:
    text = condition.explain().replace(" and ", " && ").replace(" or ", " || ")
    text = text.replace("max(", "MAX(").replace("min(", "MIN(").replace("always", "1").replace("never", "0")
    assert C(text, values).value() == int(bool(condition.evaluate(values)))


@given(conditions())
def test_explanation_is_stable(condition: Condition) -> None:
    assert condition.explain() == condition.substitute({}).explain()
    assert not_(not_(condition)).explain() == condition.explain()


@given(conditions(), numbers(), st.sets(st.sampled_from(NAMES)))
def test_an_answer_with_unknowns_holds_whatever_they_are(
    condition: Condition, values: dict[str, int], hidden: set[str]
) -> None:
    values = {name: max(value, 1) if "_dims." in name else value for name, value in values.items()}
    partial = {name: None if name in hidden else value for name, value in values.items()}
    truth = condition.evaluate(partial)
    assert truth in (None, condition.evaluate(values))
    assert bool(condition.unknown(partial)) == (truth is None)
    assert condition.unknown(partial) <= hidden


@given(conditions(), numbers())
def test_not_is_the_opposite(condition: Condition, values: dict[str, int]) -> None:
    assert not_(condition).evaluate(values) is (not condition.evaluate(values))


@given(conditions(), numbers())
def test_failures_are_what_is_not_true(condition: Condition, values: dict[str, int]) -> None:
    failed = condition.failures(values)
    assert (failed == ()) is (condition.evaluate(values) is True)
    assert all(part.evaluate(values) is not True for part in failed)


@given(conditions(), numbers(), st.sampled_from(NAMES), st.integers(0, 30))
def test_solve_gives_the_nearest_size_or_none(
    condition: Condition, values: dict[str, int], variable: str, limit: int
) -> None:
    fitting = [n for n in range(values[variable], limit + 1) if condition.evaluate({**values, variable: n})]
    assert condition.solve(values, variable, limit) == (fitting[0] if fitting else None)


@given(conditions())
def test_trees_are_values(condition: Condition) -> None:
    again = condition.substitute({name: var(name) for name in NAMES})
    assert again == condition
    assert hash(again) == hash(condition)
    with pytest.raises(AttributeError):
        condition.op = "any"


@given(st.integers(-50, 50), st.integers(-9, 9))
def test_division_is_that_of_c(left: int, right: int) -> None:
    if right == 0:
        assert quotient(left, right) is None
        assert remainder(left, right) is None
    else:
        assert quotient(left, right) == int(left / right)
        assert remainder(left, right) == left - int(left / right) * right


@given(st.integers(0, 1000), st.integers(1, 32))
def test_round_up(number: int, multiple: int) -> None:
    assert round_up(term(number), multiple).evaluate({}) == -(-number // multiple) * multiple


STEP = equal(var("stride.w") * var("input_dims.c") % 4, 0)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (STEP, "(stride.w * input_dims.c) % 4 == 0"),
        (all_of(STEP, less(var("input_dims.h"), 2)), "(stride.w * input_dims.c) % 4 == 0 and input_dims.h < 2"),
        (
            any_of(STEP, all_of(equal(var("a"), 1), equal(var("b"), 2))),
            "(stride.w * input_dims.c) % 4 == 0 or (a == 1 and b == 2)",
        ),
        (greater((var("a") + 1) // 2, var("b") - (var("c") - 1)), "(a + 1) / 2 > b - (c - 1)"),
        (equal(named("total_pad", var("a") + var("b")), 0), "total_pad == 0"),
        (TRUE, "always"),
        (FALSE, "never"),
    ],
)
def test_explain(condition: Condition, text: str) -> None:
    assert condition.explain() == text


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (STEP, "(stride.w * input_dims.c) % 4 == 0 (2 * 7 = 14, remainder 2)"),
        (equal(var("input_dims.c") % 4, 0), "input_dims.c % 4 == 0 (input_dims.c is 7)"),
        (equal(var("stride.w"), 1), "stride.w == 1 (stride.w is 2)"),
        (less(var("input_dims.c") * 9, 30), "input_dims.c * 9 < 30 (input_dims.c * 9 is 63)"),
        (equal(var("ch_mult"), 1), "ch_mult == 1 (ch_mult is unknown)"),
        (
            any_of(equal(var("stride.w"), 1), equal(var("input_dims.c"), 1)),
            "stride.w == 1 or input_dims.c == 1 (input_dims.c is 7, stride.w is 2)",
        ),
    ],
)
def test_explain_with_values(condition: Condition, text: str) -> None:
    assert condition.explain_with({"stride.w": 2, "input_dims.c": 7}) == text


def test_c_names() -> None:
    condition = all_of(STEP, equal(var("per_channel"), 0), greater(var("ctx.size"), 0))
    assert condition.to_c("dw_conv_params") == (
        "((dw_conv_params->stride.w * input_dims->c) % 4 == 0) && (quant_params->is_per_channel == 0) && (buf_size > 0)"
    )
    assert named("x", var("ch_mult") + 1).to_c("dw_conv_params") == "dw_conv_params->ch_mult + 1"


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        (at_least(0, var("filter_dims.h")), False),
        (greater(var("filter_dims.h"), 0), True),
        (equal(var("filter_dims.h"), 0), False),
        (unequal(-1, var("filter_dims.h")), True),
        (at_least(1, var("filter_dims.h")), None),
        (at_least(0, var("padding.h")), None),
        (at_least(0, var("filter_dims.h") - 1), None),
    ],
)
def test_an_unknown_size_is_at_least_one(condition: Condition, truth: bool | None) -> None:
    assert condition.evaluate({}) is truth


def test_a_false_part_decides_a_conjunction() -> None:
    assert all_of(STEP, equal(var("input_dims.h"), 1)).evaluate({"input_dims.h": 2}) is False
    assert any_of(STEP, equal(var("input_dims.h"), 1)).evaluate({"input_dims.h": 1}) is True


def test_solve_needs_the_present_size_and_reach() -> None:
    assert STEP.solve({"stride.w": 1, "input_dims.c": 5}, "input_dims.c", 100) == 8
    assert STEP.solve({"stride.w": 1, "input_dims.c": 5}, "input_dims.c", 7) is None
    assert STEP.solve({"stride.w": 1, "input_dims.c": None}, "input_dims.c", 7) is None
    assert (
        all_of(STEP, equal(var("input_dims.h"), 1)).solve(
            {"stride.w": 1, "input_dims.c": 5, "input_dims.h": 2}, "input_dims.c", 100
        )
        is None
    )


def test_holding_names_the_comparisons_that_make_it_true() -> None:
    width, height = greater(var("output_dims.w"), 3), greater(var("output_dims.h"), 3)
    either = any_of(height, all_of(width, equal(var("stride.w"), 2)))
    assert either.holding({"output_dims.h": 1, "output_dims.w": 4, "stride.w": 2}) == (
        width,
        equal(var("stride.w"), 2),
    )
    assert either.holding({"output_dims.h": 4, "output_dims.w": 4, "stride.w": 2}) == (height,)
    assert either.holding({"output_dims.h": None, "output_dims.w": 4, "stride.w": 1}) == ()
    assert TRUE.holding({}) == ()


@given(conditions(), numbers())
def test_holding_is_empty_only_where_nothing_holds_or_nothing_is_compared(
    condition: Condition, values: dict[str, int]
) -> None:
    held = condition.holding(values)
    assert all(part.terms and part.evaluate(values) for part in held)
    assert not held or condition.evaluate(values) is True
