"""Integer terms of a condition: variables under CMSIS-NN's names and C's arithmetic on them."""

from __future__ import annotations

from collections.abc import Mapping, Set

from onnxlint_cmsis.ground.named_tuples import NamedTuple

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""The comparison that holds where one does not."""


def compared(op: str, left: int, right: int) -> bool:
    """Tell whether a comparison holds."""
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
        """Tell whether the term reads any of these variables."""
        return self.name in names if self.op == "var" else any(part.reads(names) for part in self.parts)

    def substitute(self, terms: Mapping[str, Term]) -> Term:
        """The same term with variables replaced by terms."""
        if self.op == "var":
            return terms.get(self.name, self)
        if not self.parts:
            return self
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
