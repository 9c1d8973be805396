"""Fingerprints of findings that survive unrelated edits of the model: no offsets, no channel counts, no path."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxlint_cmsis.findings import Finding

_DIGITS = 32


def identity(finding: Finding) -> str:
    """Hash of the rule and its subject: subgraph, node, tensor, resized variable.

    Of findings that are reported as one: hash of the rule and of their cause.
    """
    return _hash(*_group(finding)) if finding.others else _hash(*_place(finding))


def _place(finding: Finding) -> tuple[str, ...]:
    where, resize = finding.location, finding.resize
    return (finding.code, where.graph, where.node, where.tensor, resize.variable if resize else "")


def _group(finding: Finding) -> tuple[str, ...]:
    """Identity of a group: its cause, not its places."""
    return (finding.code, "group", finding.cause)


def _hash(*parts: str) -> str:
    import hashlib

    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def fingerprints(findings: Sequence[Finding]) -> tuple[str, ...]:
    """`identity:occurrence` of each finding of one file; equal identities are numbered from 1 in order."""
    seen: dict[str, int] = {}
    result = []
    for finding in findings:
        key = identity(finding)
        seen[key] = seen.get(key, 0) + 1
        result.append(f"{key}:{seen[key]}")
    return tuple(result)
