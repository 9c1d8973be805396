"""Conditions on a call as values, with four readings: evaluate, explain, solve, and C."""

from __future__ import annotations

from collections.abc import Mapping, Set

from onnxlint_cmsis.ground.named_tuples import NamedTuple

# Comparisons of two numbers by their operator in C.


OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""The comparison that holds where one does not."""


def compared(op: str, left: int, right: int) -> bool:
    """Whether a comparison holds."""
    if op == "==":
        return left == right
    if op == "!=":
        return left != right
    if op == "<":
        return left < right
    if op == "<=":
        return left <= right
    return left > right if op == ">" else left >= right


def shown(value: int | None) -> str:
    """A number, or that it is unknown."""
    return "unknown" if value is None else str(value)


# Integer terms of a condition: variables under CMSIS-NN's names and C's arithmetic on them.


Values = Mapping[str, int | None]
"""What is known of a call: CMSIS-NN's name -> number, None where the model leaves it symbolic."""

_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}
_ATOM = 3
_C_GROUPS = ("input_dims", "filter_dims", "output_dims")
_C_NAMES = {
    "per_channel": "quant_params->is_per_channel",
    "ctx.size": "buf_size",
    "bias": "has_bias",
    "initial_state": "has_initial_state",
    "packed": "packed_weights",
    "clamped": "has_clamp",
}


def quotient(left: int, right: int) -> int | None:
    """Division as in C: truncated towards zero; None for a zero divisor, which C leaves undefined."""
    if right == 0:
        return None
    size = abs(left) // abs(right)
    return size if (left < 0) == (right < 0) else -size


def remainder(left: int, right: int) -> int | None:
    """`%` as in C: the sign of the dividend; None for a zero divisor."""
    whole = quotient(left, right)
    return None if whole is None else left - whole * right


class Term(NamedTuple):
    """A variable, a number, or C arithmetic on terms. Build it with `var` and Python's operators."""

    op: str
    """`var`, `int`, `name` (a named term), `max`, `min`, or the C operator."""
    parts: tuple[Term, ...] = ()
    """Operands, left to right."""
    name: str = ""
    """Variable's name, or the name a sub-term goes by in messages."""
    value: int = 0
    """Number, where op is `int`."""

    def __add__(self, other: Term | int) -> Term:  # type: ignore[override] # sums of terms, not of tuples
        return Term("+", (self, term(other)))

    def __sub__(self, other: Term | int) -> Term:
        return Term("-", (self, term(other)))

    def __mul__(self, other: Term | int) -> Term:  # type: ignore[override]
        return Term("*", (self, term(other)))

    def __rmul__(self, other: int) -> Term:  # type: ignore[override]
        return Term("*", (term(other), self))

    def __floordiv__(self, other: Term | int) -> Term:
        return Term("/", (self, term(other)))

    def __mod__(self, other: Term | int) -> Term:
        return Term("%", (self, term(other)))

    def evaluate(self, values: Values) -> int | None:
        """The number, or None where a variable it needs is unknown or C leaves the result undefined."""
        op = self.op
        if op == "var":
            return values.get(self.name)
        if op == "int":
            return self.value
        left = self.parts[0].evaluate(values)
        if op == "name" or left is None:
            return left
        right = self.parts[1].evaluate(values)
        return None if right is None else _apply(op, left, right)

    def names(self) -> frozenset[str]:
        """Every variable the term reads."""
        if self.op == "var":
            return frozenset((self.name,))
        return frozenset().union(*(part.names() for part in self.parts))

    def numbers(self) -> frozenset[int]:
        """Every number that stands in the term."""
        if self.op == "int":
            return frozenset((self.value,))
        return frozenset().union(*(part.numbers() for part in self.parts))

    def reads(self, names: Set[str]) -> bool:
        """Whether the term reads any of these variables."""
        return self.name in names if self.op == "var" else any(part.reads(names) for part in self.parts)

    def substitute(self, terms: Mapping[str, Term]) -> Term:
        """The same term with variables replaced by terms."""
        if self.op == "var":
            return terms.get(self.name, self)
        parts = tuple(part.substitute(terms) for part in self.parts)
        return self if parts == self.parts else Term(self.op, parts, self.name, self.value)

    def explain(self) -> str:
        """Text for a person, in CMSIS-NN's names: `stride.w * input_dims.c`."""
        return _text(self, "", 0)

    def to_c(self, params: str = "conv_params") -> str:
        """C text over the wrapper's arguments; `params` names its parameter struct."""
        return _text(self, params, 0)


def _apply(op: str, left: int, right: int) -> int | None:
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if op == "*":
        return left * right
    if op == "/":
        return quotient(left, right)
    if op == "%":
        return remainder(left, right)
    return max(left, right) if op == "max" else min(left, right)


def term(value: Term | int) -> Term:
    """A term from a term or a number."""
    return value if isinstance(value, Term) else Term("int", value=value)


def var(name: str) -> Term:
    """A variable under its CMSIS-NN name: `input_dims.c`, `stride.w`, `ch_mult`."""
    return Term("var", name=name)


def maximum(left: Term | int, right: Term | int) -> Term:
    """C's MAX of two terms."""
    return Term("max", (term(left), term(right)))


def minimum(left: Term | int, right: Term | int) -> Term:
    """C's MIN of two terms."""
    return Term("min", (term(left), term(right)))


def named(name: str, value: Term) -> Term:
    """`value` under a name that messages print instead of its text; C text spells it out."""
    return Term("name", (value,), name)


def round_up(value: Term, multiple: int) -> Term:
    """`value` rounded up to a multiple, as CMSIS-NN's size functions do."""
    return (value + (multiple - 1)) // multiple * multiple


def c_name(name: str, params: str) -> str:
    """How C spells a variable: `input_dims.c` is `input_dims->c`, `stride.w` is `conv_params->stride.w`."""
    group, _, field = name.partition(".")
    if group in _C_GROUPS:
        return f"{group}->{field}"
    return _C_NAMES.get(name, f"{params}->{name}")


def _text(value: Term, params: str, outer: int) -> str:
    op = value.op
    if op == "var":
        return c_name(value.name, params) if params else value.name
    if op == "int":
        return str(value.value) if value.value >= 0 else f"({value.value})"
    if op == "name":
        return _text(value.parts[0], params, outer) if params else value.name
    if op in ("max", "min"):
        inner = ", ".join(_text(part, params, 0) for part in value.parts)
        return f"{op.upper() if params else op}({inner})"
    own = _PRECEDENCE[op]
    # Brackets round a * b in (a * b) % c are not needed in C; they are there for the reader.
    left, right = (_ATOM, _ATOM) if op == "%" else (own, own + 1)
    text = f"{_text(value.parts[0], params, left)} {op} {_text(value.parts[1], params, right)}"
    return f"({text})" if own < outer else text


# A dispatch condition as a value with several readings: evaluate, explain, failures, solve, to_c.
#
# Nothing about a rule is stored twice: routes, messages, documentation, fixers and proofs read the same tree.
# Unknown sizes follow Kleene's logic: a conjunction with a false part is false whatever the rest is. They are at
# least 1.


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
            return f"{_numbers(left.parts[0], values)}, remainder {shown(left.evaluate(values))}"
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


def _numbers(value: Term, values: Values) -> str:
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


def _joined(op: str, parts: tuple[Condition, ...]) -> Condition:
    flat: list[Condition] = []
    for part in parts:
        flat.extend(part.parts if part.op == op else (part,))
    return flat[0] if len(flat) == 1 else Condition(op, (), tuple(flat))


def all_of(*parts: Condition) -> Condition:
    """All of them; nested conjunctions are flattened, none at all is TRUE."""
    return _joined("all", parts)


def any_of(*parts: Condition) -> Condition:
    """Any of them; nested disjunctions are flattened, none at all is FALSE."""
    return _joined("any", parts)


def not_(condition: Condition) -> Condition:
    """The opposite, pushed down to the comparisons."""
    if condition.terms:
        return Condition(OPPOSITE[condition.op], condition.terms)
    return Condition("any" if condition.op == "all" else "all", (), tuple(not_(part) for part in condition.parts))


# CMSIS-NN's names as terms, for tables.


IN_N, IN_H, IN_W, IN_C = (var(f"input_dims.{axis}") for axis in "nhwc")
FILTER_N, FILTER_H, FILTER_W, FILTER_C = (var(f"filter_dims.{axis}") for axis in "nhwc")
OUT_N, OUT_H, OUT_W, OUT_C = (var(f"output_dims.{axis}") for axis in "nhwc")
STRIDE_H, STRIDE_W = var("stride.h"), var("stride.w")
PAD_H, PAD_W = var("padding.h"), var("padding.w")
PAD_AFTER_H, PAD_AFTER_W = var("pad_after.h"), var("pad_after.w")
DILATION_H, DILATION_W = var("dilation.h"), var("dilation.w")
CH_MULT = var("ch_mult")
PER_CHANNEL = var("per_channel")
BIAS = var("bias")
INITIAL_STATE = var("initial_state")
CTX_SIZE = var("ctx.size")
PACKED, CLAMPED, ACTIVATION = var("packed"), var("clamped"), var("activation")
ADJ_X, ADJ_Y = var("adj_x"), var("adj_y")
OFFSET_H, OFFSET_W = var("padding_offset.h"), var("padding_offset.w")
PERMUTED_AXES = var("permutation.axes")
PERMUTATION = tuple(var(f"permutation.{axis}") for axis in range(4))

TAPS = FILTER_H * FILTER_W
COLS = FILTER_H * FILTER_W * IN_C

NO_PADDING = all_of(equal(PAD_W, 0), equal(PAD_H, 0))
UNIT_STRIDE = all_of(equal(STRIDE_W, 1), equal(STRIDE_H, 1))
UNIT_DILATION = all_of(equal(DILATION_W, 1), equal(DILATION_H, 1))
FILTER_1X1 = all_of(equal(FILTER_W, 1), equal(FILTER_H, 1))
NOT_GROUPED = equal(IN_C, FILTER_C)
SINGLE_COLUMNS = any_of(
    all_of(equal(IN_W, 1), equal(IN_C, 1), greater(IN_H, 1), greater(FILTER_W, 1)),
    all_of(equal(FILTER_W, 1), equal(FILTER_C, 1), greater(FILTER_H, 1), greater(IN_W, 1)),
)
"""Operands of which one has a single column and channel, and is repeated along the width."""

# The numbers arm_convolve_1_x_n_s8 works out on MVE (main: arm_convolve_1_x_n_s8.c:80-90), C division throughout.
TOTAL_PAD = named("total_pad", (OUT_W - 1) * STRIDE_W + FILTER_W - IN_W)
ASYM_PAD = named("asym_pad", TOTAL_PAD % 2)
_RIGHT = PAD_W + ASYM_PAD
# MAX(1, ...) where padding after is not 0 and 0 where it is: asym_pad is at least -1, so -(pad + asym) lifts only -1.
RIGHT_PAD_NUM = named("right_pad_num", maximum((_RIGHT + STRIDE_W - 1) // STRIDE_W, _RIGHT * -1))
LEFT_PAD_NUM = named("left_pad_num", (PAD_W + STRIDE_W - 1) // STRIDE_W)
NO_PAD_NUM = named("no_pad_num", maximum(OUT_W - (RIGHT_PAD_NUM + LEFT_PAD_NUM), 0))

# The source tests padding.w * 2 + asym_pad == total_pad; asym_pad is the remainder of total_pad / 2.
PADDING_ACCEPTED = equal(PAD_W, TOTAL_PAD // 2)
NARROW_OUTPUT = unequal(RIGHT_PAD_NUM + NO_PAD_NUM + LEFT_PAD_NUM, OUT_W)
COLUMNS_FIT = equal(RIGHT_PAD_NUM + NO_PAD_NUM + LEFT_PAD_NUM, OUT_W)
