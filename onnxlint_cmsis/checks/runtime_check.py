"""What the rules of scope RUNTIME share: one remark becomes one finding."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.findings import Statement
from onnxlint_cmsis.runtimes.remark import RuntimeRemark

CONVERTER_DECIDES = "converter_decides"
"""Property of findings on an ONNX model that hold only if the converter writes what is expected."""


def report_remark(remark: RuntimeRemark) -> Iterator[Statement]:
    """Say what a runtime makes of some layers, and where its source says so."""
    text = f"{remark.message} [{remark.source}]" if remark.source else remark.message
    facts: dict[str, str | int | float | bool] = {"verdict": remark.verdict.value, "nodes": ", ".join(remark.nodes)}
    if remark.converter:
        facts[CONVERTER_DECIDES] = True
    yield Statement(text, remark.location, remark.targets, properties=facts, level=remark.level)
