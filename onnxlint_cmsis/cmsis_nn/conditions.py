"""Conditions on a call as values, with several readings: evaluate, explain, failures, solve, to_c.

Nothing about a rule is stored twice: routes, messages, documentation, fixers and proofs read the same tree.
Unknown sizes follow Kleene's logic: a conjunction with a false part is false whatever the rest is. They are at
least 1.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.cmsis_nn.terms import OPPOSITE, Term, Values, compared, shown, term
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Condition(NamedTuple):
    """A comparison of two terms, or all or any of several conditions."""

    op: str
    """`==`, `!=`, `<`, `<=`, `>`, `>=`, `all` or `any`."""
    terms: tuple[Term, ...] = ()
    """Left and right of a comparison."""
    parts: tuple[Condition, ...] = ()
    """Members of `all` or `any`."""

    def evaluate(self, values: Values) -> bool | None:
        """True, False, or None where an unknown size leaves it open."""
        if self.terms:
            left, right = self.terms[0].evaluate(values), self.terms[1].evaluate(values)
            return (
                _below_any_size(self, left, right) if left is None or right is None else compared(self.op, left, right)
            )
        deciding = self.op == "any"
        open_ = False
        for part in self.parts:
            truth = part.evaluate(values)
            if truth is deciding:
                return deciding
            open_ = open_ or truth is None
        return None if open_ else not deciding

    def names(self) -> frozenset[str]:
        """Every variable the condition reads."""
        sides = (side.names() for side in self.terms)
        return frozenset().union(*sides, *(part.names() for part in self.parts))

    def numbers(self) -> frozenset[int]:
        """Every number that stands in the condition."""
        sides = (side.numbers() for side in self.terms)
        return frozenset().union(*sides, *(part.numbers() for part in self.parts))

    def unknown(self, values: Values) -> frozenset[str]:
        """The variables that keep `evaluate` from an answer; empty where it has one."""
        if self.evaluate(values) is not None:
            return frozenset()
        if self.terms:
            return frozenset(name for name in self.names() if values.get(name) is None)
        return frozenset().union(*(part.unknown(values) for part in self.parts))

    def failures(self, values: Values) -> tuple[Condition, ...]:
        """The conjuncts that are not True, innermost first listed; empty where the condition holds."""
        if self.op == "all":
            return tuple(failure for part in self.parts for failure in part.failures(values))
        return () if self.evaluate(values) else (self,)

    def holding(self, values: Values) -> tuple[Condition, ...]:
        """The comparisons that make the condition True, of alternatives those of the first that is; else none."""
        if self.evaluate(values) is not True:
            return ()
        if self.terms:
            return (self,)
        if self.op == "any":
            return next(part.holding(values) for part in self.parts if part.evaluate(values))
        return tuple(held for part in self.parts for held in part.holding(values))

    def substitute(self, terms: Mapping[str, Term]) -> Condition:
        """The same condition with variables replaced by terms, as where one size follows another."""
        return Condition(
            self.op,
            tuple(part.substitute(terms) for part in self.terms),
            tuple(part.substitute(terms) for part in self.parts),
        )

    def solve(self, values: Values, variable: str, limit: int) -> int | None:
        """Nearest size of `variable`, from the present one up to `limit`, that makes the condition True.

        None where no such size exists or the present size is unknown. The search is exact.
        """
        have = values.get(variable)
        if have is None:
            return None
        moving = [part for part in self.failures(values) if variable in part.names()]
        if len(moving) < len(self.failures(values)):
            return None
        trial = dict(values)
        for size in range(have, limit + 1):
            trial[variable] = size
            if self.evaluate(trial):
                return size
        return None

    def explain(self) -> str:
        """Text for a person, in CMSIS-NN's names: `(stride.w * input_dims.c) % 4 == 0`."""
        if self.terms:
            return f"{self.terms[0].explain()} {self.op} {self.terms[1].explain()}"
        if not self.parts:
            return "always" if self.op == "all" else "never"
        word = " and " if self.op == "all" else " or "
        return word.join(f"({part.explain()})" if len(part.parts) > 1 else part.explain() for part in self.parts)

    def explain_with(self, values: Values) -> str:
        """`explain()` with what the call has: `(stride.w * input_dims.c) % 4 == 0 (2 * 7 = 14, remainder 2)`."""
        return f"{self.explain()} ({self.have(values)})"

    def have(self, values: Values) -> str:
        """What the call has where the condition speaks of it: `2 * 7 = 14, remainder 2`."""
        if not self.terms:
            return ", ".join(f"{name} is {shown(values.get(name))}" for name in sorted(self.names()))
        left, right = self.terms
        if left.op == "%" and left.parts[0].op != "var":
            return f"{_with_value(left.parts[0], values)}, remainder {shown(left.evaluate(values))}"
        if left.op == "%":
            return f"{left.parts[0].explain()} is {shown(left.parts[0].evaluate(values))}"
        sides = [side for side in (left, right) if side.op != "int"]
        return ", ".join(f"{side.explain()} is {shown(side.evaluate(values))}" for side in sides)

    def to_c(self, params: str = "conv_params") -> str:
        """C text over the wrapper's arguments; `params` names its parameter struct (`dw_conv_params`, ...).

        `input_dims.c` is `input_dims->c`, `stride.w` is `<params>->stride.w`, `ch_mult` is `<params>->ch_mult`,
        `per_channel` is `quant_params->is_per_channel`, `ctx.size` (the scratch size answered) is `buf_size`; what no
        argument tells by itself is `has_bias` and `has_initial_state`.
        """
        if self.terms:
            return f"{self.terms[0].to_c(params)} {self.op} {self.terms[1].to_c(params)}"
        if not self.parts:
            return "1" if self.op == "all" else "0"
        word = " && " if self.op == "all" else " || "
        return word.join(f"({part.to_c(params)})" for part in self.parts)


TRUE = Condition("all")
FALSE = Condition("any")


def _below_any_size(condition: Condition, left: int | None, right: int | None) -> bool | None:
    """The answer of a comparison with an unknown size where the other side is below 1, the least a size can be."""
    known = left if right is None else right
    unknown = condition.terms[1] if right is None else condition.terms[0]
    if known is None or known >= 1 or unknown.op != "var" or "_dims." not in unknown.name:
        return None
    return compared(condition.op, known, 1) if right is None else compared(condition.op, 1, known)


def _with_value(value: Term, values: Values) -> str:
    known = {name: term(number) for name in value.names() if (number := values.get(name)) is not None}
    return f"{value.substitute(known).explain()} = {shown(value.evaluate(values))}"


def equal(left: Term | int, right: Term | int) -> Condition:
    """`left == right`."""
    return Condition("==", (term(left), term(right)))


def unequal(left: Term | int, right: Term | int) -> Condition:
    """`left != right`."""
    return Condition("!=", (term(left), term(right)))


def less(left: Term | int, right: Term | int) -> Condition:
    """`left < right`."""
    return Condition("<", (term(left), term(right)))


def at_most(left: Term | int, right: Term | int) -> Condition:
    """`left <= right`."""
    return Condition("<=", (term(left), term(right)))


def greater(left: Term | int, right: Term | int) -> Condition:
    """`left > right`."""
    return Condition(">", (term(left), term(right)))


def at_least(left: Term | int, right: Term | int) -> Condition:
    """`left >= right`."""
    return Condition(">=", (term(left), term(right)))


def _flattened(op: str, parts: tuple[Condition, ...]) -> Condition:
    flat: list[Condition] = []
    for part in parts:
        flat.extend(part.parts if part.op == op else (part,))
    return flat[0] if len(flat) == 1 else Condition(op, (), tuple(flat))


def all_of(*parts: Condition) -> Condition:
    """All of them; nested conjunctions are flattened, none at all is TRUE."""
    return _flattened("all", parts)


def any_of(*parts: Condition) -> Condition:
    """Any of them; nested disjunctions are flattened, none at all is FALSE."""
    return _flattened("any", parts)


def not_(condition: Condition) -> Condition:
    """The opposite, pushed down to the comparisons."""
    if condition.terms:
        return Condition(OPPOSITE[condition.op], condition.terms)
    return Condition("any" if condition.op == "all" else "all", (), tuple(not_(part) for part in condition.parts))
