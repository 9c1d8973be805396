"""The row of a rule, its examples, and the stamp that makes a finding of what its check says."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum

from onnxlint_cmsis.checks.fix_actions import FixAction
from onnxlint_cmsis.findings import Content, Finding, Statement
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.types import Level


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
    """One `FlashNeed`: likewise."""


class Example(NamedTuple):
    """A model with options: documentation and test case in one."""

    model: str | bytes | None
    """Graph in ONNX's textual syntax, where `{v}` fills a constant with v; bytes as they are; None for no file."""
    options: str = ""
    """Options of the command line, separated by spaces."""
    files: Mapping[str, str] = {}
    """Name and text of other files in the model's folder."""
    shown: str = ""
    """What the documentation shows in place of bytes."""
    name: str = "model.onnx"
    """Name of the file."""


class Rule(NamedTuple):
    """One rule."""

    code: str
    """Stable code."""
    name: str
    """Kebab name; its module has it with underscores."""
    level: Level
    """Highest level it reports at; a finding may be milder."""
    scope: RuleScope
    """What its check looks at."""
    summary: str
    """One sentence."""
    docs: str | None
    """Markdown: the docstring of the rule's module, None where Python drops docstrings."""
    bad: Example
    """A model that it reports."""
    good: Example
    """The same model mended."""
    kinds: tuple[str, ...] = ()
    """What it reports, each with one rule: kinds of ModelError, other file problems, hazards, verdicts, runtimes."""
    action: FixAction | None = None
    """What a fix may do for its findings."""
    asks: bool = False
    """Whether its notes ask the reader for something, so that reports for people show them too."""

    @property
    def explanation(self) -> str:
        """Markdown of the rule's page without its heading."""
        return inspect.cleandoc(self.docs or self.summary)


def stamped(rule: Rule, said: Statement) -> Finding:
    """The finding that a rule makes of a statement."""
    level = rule.level if said.level is None else min(rule.level, said.level)
    content = {each.name: getattr(said, each.name) for each in fields(Content)}
    return Finding(rule.code, rule.name, level, asks=rule.asks, **content)
