"""Checks of what a runtime makes of layers: one remark becomes one finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.file_problem import group_of
from onnxlint_cmsis.checks.rule import RuleCause
from onnxlint_cmsis.ground.findings import Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.remark import RuntimeRemark

CONVERTER_DECIDES = "converter_decides"
"""Property of findings on an ONNX model that hold only if the converter writes what is expected."""


_NAMES = r"#(?:, #)*(?: and # more)?"
"""Names and numbers in what `group_of` makes of a message: as many layers as have one reason."""


def about_remark(remark: RuntimeRemark) -> Statement:
    """What a runtime makes of some layers, and where its source says so."""
    text = f"{remark.message} [{remark.source}]" if remark.source else remark.message
    facts: dict[str, str | int | float | bool] = {"verdict": remark.verdict.value, "nodes": ", ".join(remark.nodes)}
    if remark.converter:
        facts[CONVERTER_DECIDES] = True
    said = Statement(text, remark.location, remark.targets, properties=facts, level=remark.level, effect=remark.effect)
    group = f"{remark.verdict.value}: {re.sub(_NAMES, '#', group_of(remark.message))}"
    return replace(said, brief=remark.message, group=group)


class RemarkCheck(NamedTuple):
    """The remarks on a runtime that a rule claims, each with what its cause says to do."""

    causes: tuple[RuleCause, ...]
    """Causes of the rule."""

    def __call__(self, remark: RuntimeRemark) -> Iterator[Statement]:
        """Yield the one statement."""
        do = remark.do or next(cause.do for cause in self.causes if cause.key == remark.cause)
        said = about_remark(remark)
        group = f"{said.group}: {remark.do}" if remark.do else said.group
        yield replace(said, cause=remark.cause, remedy=do, group=group)
