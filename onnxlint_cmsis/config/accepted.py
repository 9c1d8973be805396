"""Accepted findings: entries of the configuration, and `onnxlint-cmsis:ignore` in the metadata of a model or node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onnxlint_cmsis.config.selection import adjust, enabled, resolve
from onnxlint_cmsis.config.settings import Settings, Suppression
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnxlint_cmsis.ground.findings import Finding, Location
    from onnxlint_cmsis.model.graph import Graph, Node


METADATA_KEY = "onnxlint-cmsis:ignore"
UNUSED_SUPPRESSION = "unused-suppression"
"""Kind of the problem that a suppression matches nothing."""
_NAME = r"[\w-]+(?:\[[\w-]*\])?"
_VALUE = rf"(?s)\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*(.*)"


class Suppressed(NamedTuple):
    """Findings of a file that no suppression matches."""

    findings: tuple[Finding, ...]
    """Findings that are not accepted, then one for each suppression of the model that matches nothing."""
    number: int
    """Findings left out."""
    matches: dict[str, int]
    """By origin the findings that each configuration entry which covers the file matches."""


class _Marked(NamedTuple):
    """A suppression that a model carries."""

    suppression: Suppression
    where: Location


def apply(
    findings: Sequence[Finding], settings: Settings, graph: Graph | None, path: str, skipped: Sequence[str] = ()
) -> Suppressed:
    """Leave out the accepted findings of one file, given its selected findings.

    `graph` is None for a file that could not be read; `skipped` are codes of rules that did not run on it, so their
    suppressions are not called unused. An entry of the configuration may cover many files, so that one is unused can
    only be told at the end of a run, from `matches`.
    """
    configured = [entry for entry in settings.suppress if _covers(entry, settings, path)]
    marked, unknown = _in_model(graph, path) if graph else ([], [])
    entries = [*configured, *(mark.suppression for mark in marked)]
    hits = [0] * len(entries)
    kept: list[Finding] = []
    for finding in findings:
        matching = [i for i, entry in enumerate(entries) if matches(entry, finding)]
        for i in matching:
            hits[i] += 1
        if not matching:
            kept.append(finding)
    idle = [mark for mark, hit in zip(marked, hits[len(configured) :], strict=True) if not hit]
    unused = [_unused(mark) for mark in idle if not concerns(mark.suppression, skipped)]
    reported = (adjust(finding, settings) for finding in [*unknown, *unused])
    matched = {entry.origin: hit for entry, hit in zip(configured, hits, strict=False)}
    return Suppressed((*kept, *(finding for finding in reported if finding)), len(findings) - len(kept), matched)


def matches(entry: Suppression, finding: Finding) -> bool:
    """Tell whether an entry that covers the file accepts the finding."""
    where, resize = finding.location, finding.resize
    tensors = (where.tensor, resize.tensor if resize else where.tensor)
    return (
        finding.selector.startswith(entry.rule)
        and entry.node in ("", where.node)
        and entry.graph in (None, where.graph)
        and (not entry.tensor or entry.tensor in tensors)
    )


def concerns(entry: Suppression, codes_: Sequence[str]) -> bool:
    """Tell whether an entry is about one of the rules."""
    return any(code.startswith(entry.rule) for code in codes_)


def unused_finding(message: str, where: Location) -> Finding:
    """A finding of the rule unused-suppression with the text and place given."""
    from onnxlint_cmsis.checks.file_problem import FileProblem
    from onnxlint_cmsis.checks.rule_registry import check_of_kind

    return next(check_of_kind(UNUSED_SUPPRESSION).findings(FileProblem(message, where)))


def _covers(entry: Suppression, settings: Settings, path: str) -> bool:
    """True where the entry's pattern matches the file and its rules run on it."""
    from onnxlint_cmsis.checks.rule_registry import every_rule

    return (entry.path is None or entry.path.matches(path)) and any(
        enabled(selector, settings, path)
        for row in every_rule()
        for selector in row.selectors
        if selector.startswith(entry.rule)
    )


def _in_model(graph: Graph, path: str) -> tuple[list[_Marked], list[Finding]]:
    """The suppressions a model carries, and a finding on each that names no rule."""
    marked: list[_Marked] = []
    unknown: list[Finding] = []
    for value, where, node in _values(graph, path):
        names, reason = _parts(value)
        for name in names:
            try:
                rule = resolve(name)
            except ValueError as error:
                unknown.append(unused_finding(f"{METADATA_KEY} of {_carrier(where)}: {error}", where))
                continue
            label, scope = ("", None) if node is None else (node.label, node.graph)
            entry = Suppression(rule, node=label, graph=scope, reason=reason, origin=_carrier(where))
            marked.append(_Marked(entry, where))
    return marked, unknown


def _values(graph: Graph, path: str) -> Iterator[tuple[str, Location, Node | None]]:
    """Every value of the metadata key, with its place and the node that carries it."""
    from onnxlint_cmsis.ground.findings import Location

    if METADATA_KEY in graph.metadata:
        yield graph.metadata[METADATA_KEY], Location(path), None
    for index, metadata in graph.node_metadata.items():
        if METADATA_KEY in metadata:
            node = graph.nodes[index]
            where = Location(path, node.label, node.op_type, "", node.graph, node.offset, node.length)
            yield metadata[METADATA_KEY], where, node


def _parts(value: str) -> tuple[list[str], str]:
    """The rules and the reason in `conv-1x1,overrun reason text`."""
    match = re.fullmatch(_VALUE, value)
    if match is None:
        return [value], ""
    return [name.strip() for name in match[1].split(",")], match[2].strip()


def _carrier(where: Location) -> str:
    return f"{where.op_type} '{where.node}'" if where.node else "the model"


def _unused(mark: _Marked) -> Finding:
    entry = mark.suppression
    reason = f" ({entry.reason})" if entry.reason else ""
    return unused_finding(
        f"{METADATA_KEY} of {entry.origin} names {entry.rule}{reason}, which reports nothing there", mark.where
    )


def suppressed(settings: Settings, path: str, graph: Graph, finding: Finding) -> bool:
    """Tell whether the configuration or the model accepts a finding, of any rule."""
    return finding not in apply([finding], settings, graph, path).findings
