"""Fingerprints of findings that survive unrelated edits of the model: no offsets, no channel counts, no path."""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.ground.findings import Finding

_DIGITS = 32


def identity(finding: Finding) -> str:
    """Hash of the rule with its cause, and of the subject: subgraph, node, tensor, resized variable.

    Of findings that are reported as one: hash of the rule with its cause, and of their group.
    """
    import hashlib

    where, resize = finding.location, finding.resize
    subject = (where.graph, where.node, where.tensor, resize.variable if resize else "")
    parts = (finding.selector, *(("group", finding.group) if finding.others else subject))
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
