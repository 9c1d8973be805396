"""The row of a rule, its examples, and the stamp that makes a finding of what its check says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.fix_actions import FixAction
from onnxlint_cmsis.ground.findings import Content, Effect, Finding, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level

if TYPE_CHECKING:
    pass


class RuleScope(str, Enum):
    """What a rule's `run` takes."""

    FILE = "file"
    """One `FileProblem`: what reading a file, or a file beside it, brought up."""
    MODEL = "model"
    """The `ModelSubject`."""
    CLASS = "class"
    """One `ClassFact`: a class of channel counts with the size that planning gives it."""
    LAYER = "layer"
    """One `Subject`: a layer on a target."""
    RUNTIME = "runtime"
    """One `RuntimeRemark`: what a runtime makes of layers, for one reason."""
    RAM = "RAM"
    """One `RamNeed`: what a model needs on a target, and what is there."""
    FLASH = "flash"
    """One `FlashNeed`: what the constants of a model need on a target, and what is there."""
    IMAGE = "image"
    """One `ImageSubject`: a firmware image or a library, with what is set for it."""
    DEPLOYMENT = "deployment"
    """One `Deployment`: a model in a firmware image."""


class Example(NamedTuple):
    """A model with options: what a rule is tried on."""

    model: str | bytes | None
    """Graph in ONNX's textual syntax, where `{v}` fills a constant with v; bytes as they are.

    None for no file, or for one that `shown` names; the tests build that one.
    """
    options: str = ""
    """Options of the command line, separated by spaces."""
    files: Mapping[str, str] = {}
    """Name and text of other files in the model's folder."""
    shown: str = ""
    """What a file that is no text holds."""
    name: str = "model.onnx"
    """Name of the file."""


def quantized_layer(  # noqa: PLR0913
    lines: str,
    shape: str,
    result: str = "",
    *,
    kind: str = "int8",
    zero: int = 0,
    scale: float = 0.1,
    constants: str = "",
) -> str:
    """Graph of lines that make `c` of `a`, both quantized: `a` with scale 0.1 and a zero-point, `c` with a scale.

    `constants` follow those of the two; the result has the input's shape unless it has its own.
    """
    body = "\n".join(f"    {line.strip()}" for line in lines.strip().splitlines())
    more = f", {constants}" if constants else ""
    return f"""
<ir_version: 10, opset_import: ["" : 21]>
g ({kind}[{shape}] x) => ({kind}[{result or shape}] y)
<float s = {{0.1}}, {kind} z = {{{zero}}}, float t = {{{scale:g}}}{more}> {{
    a = DequantizeLinear(x, s, z)
{body}
    y = QuantizeLinear(c, t, z)
}}
"""


class RuleCause(NamedTuple):
    """One reason for which a rule reports something, by which its findings can be selected (`CNN401[rank]`)."""

    key: str
    """Word in square brackets behind the code."""
    what: str
    """Why it happens, as a sentence."""
    do: str
    """What to do about it, as a sentence; it says so where there is nothing to do."""
    source: str
    """Where a runtime's source says so: a file, with lines where few decide."""
    bad: Example
    """A model that is reported for it."""
    good: Example
    """The bad model, mended."""


class Rule(NamedTuple):
    """One rule."""

    code: str
    """Stable code."""
    name: str
    """Kebab name; its module has it with underscores."""
    level: Level
    """Highest level it reports at; a finding may be milder."""
    effect: Effect
    """What it does to whoever runs the model; a finding may say another."""
    summary: str
    """What the rule is about, in one sentence."""
    docs: str | None
    """Markdown: the docstring of the rule's module, None where Python drops docstrings."""
    bad: Example
    """A model that it reports."""
    good: Example
    """The bad model, mended."""
    kinds: tuple[str, ...] = ()
    """What it reports, each with one rule: kinds of ModelError, other file problems, hazards, verdicts, runtimes."""
    action: FixAction | None = None
    """What a fix may do for its findings."""
    asks: bool = False
    """Whether its notes ask the reader for something, so that reports for people show them too."""
    causes: tuple[RuleCause, ...] = ()
    """Reasons by which its findings can be told apart; none where one reason is all there is."""

    @property
    def selectors(self) -> tuple[str, ...]:
        """What its findings have in `Finding.selector`: the code, with each cause where it has causes."""
        return tuple(f"{self.code}[{cause.key}]" for cause in self.causes) or (self.code,)

    @property
    def explanation(self) -> str:
        """Markdown of the rule's page without its heading."""
        import inspect

        return "\n\n".join(filter(None, (inspect.cleandoc(self.docs or self.summary), causes_text(self.causes))))

    def cause(self, key: str) -> RuleCause:
        """A cause of the rule. Raises KeyError for one that it does not have."""
        for cause in self.causes:
            if cause.key == key:
                return cause
        raise KeyError(f"{self.code} has no cause {key}")


def causes_text(causes: Iterable[RuleCause]) -> str:
    """Causes as a list in Markdown; empty for none."""
    return "\n".join(f"* `{cause.key}`: {cause.what} **What to do.** {cause.do}" for cause in causes)


def stamped(rule: Rule, said: Statement) -> Finding:
    """The finding that a rule makes of a statement: a warning at least where it decides the verdict.

    Raises KeyError for a cause that its table does not have.
    """
    if rule.causes or said.cause:
        rule.cause(said.cause)
    level = rule.level if said.level is None else min(rule.level, said.level)
    content = {field.name: getattr(said, field.name) for field in fields(Content)}
    effect = said.effect or _left(rule.effect, rule.level, level)
    level = max(level, Level.WARNING) if effect.decides else level
    return Finding(rule.code, rule.name, level, asks=rule.asks, effect=effect, **content)


def _left(effect: Effect, worst: Level, level: Level) -> Effect:
    """What is left of a rule's effect at a milder level, which says that it is not sure to happen."""
    if level is worst or not effect.decides:
        return effect
    if level is not Level.WARNING:
        return Effect.NOTE
    return Effect.MAY_FAIL if effect.rank < Effect.MAY_FAIL.rank else effect
