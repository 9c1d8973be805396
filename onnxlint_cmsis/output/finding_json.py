"""Findings as plain data for JSON and SARIF."""

from __future__ import annotations

import math

from onnxlint_cmsis.ground.findings import Finding, Resize
from onnxlint_cmsis.ground.types import Source


def finding_fields(finding: Finding) -> dict[str, object]:
    """Every field of a finding except its place, ready for JSON."""
    return {
        "code": finding.code,
        "name": finding.name,
        "level": finding.level.name.lower(),
        "effect": finding.effect.value,
        "message": finding.text,
        "remedy": finding.remedy,
        "cause": finding.cause,
        "targets": list(finding.targets),
        "taken": finding.taken,
        "wanted": finding.wanted,
        "resize": resize_fields(finding.resize) if finding.resize else None,
        "sources": [source_fields(source) for source in finding.sources],
        "properties": {name: finite(value) for name, value in finding.properties.items()},
    }


def location_fields(finding: Finding, path: str) -> dict[str, object]:
    """Where a finding is; unknown bytes are None."""
    where = finding.location
    return {
        "path": path,
        "graph": where.graph,
        "node": where.node,
        "op_type": where.op_type,
        "tensor": where.tensor,
        "offset": where.offset if where.offset >= 0 else None,
        "length": where.length if where.length >= 0 else None,
    }


def resize_fields(resize: Resize) -> dict[str, object]:
    """A channel count within reach."""
    return {
        "variable": resize.variable,
        "tensor": resize.tensor,
        "axis": resize.axis,
        "have": resize.have,
        "want": resize.want,
        "freedom": resize.freedom.value,
        "layers": list(resize.layers),
        "lock": resize.lock,
    }


def source_fields(source: Source) -> dict[str, object]:
    """A place in CMSIS-NN's source."""
    return {"release": source.release, "file": source.file, "function": source.function, "line": source.line}


def finite(value: str | int | float | bool) -> str | int | float | bool:
    """The value, or the name of a float that JSON has no number for."""
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)
