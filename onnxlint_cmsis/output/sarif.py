"""SARIF 2.1.0 as GitHub code scanning takes it, built on the classes of sarif-om."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sarif_om as om

from onnxlint_cmsis.analysis.fingerprints import fingerprints
from onnxlint_cmsis.formats.format import array_in, file_of
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.output.finding_json import finding_fields
from onnxlint_cmsis.output.fix_json import fix_fields
from onnxlint_cmsis.output.fixes import fix_heads
from onnxlint_cmsis.output.foreign_text import json_text, printable, sarif_text
from onnxlint_cmsis.output.project import HOME
from onnxlint_cmsis.output.sarif_objects import to_json
from onnxlint_cmsis.output.sarif_rules import descriptors
from onnxlint_cmsis.output.shown_names import named_array
from onnxlint_cmsis.output.shown_paths import below, below_root, root
from onnxlint_cmsis.output.summaries import summary_fields, verdict_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from onnxlint_cmsis.analysis.results import FileResult
    from onnxlint_cmsis.ground.findings import Finding, Location
    from onnxlint_cmsis.output.run_results import Run


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
OUTSIDE = "FILESYSTEM"
"""Base of the files that are not below the working directory."""
FINGERPRINT = "primaryLocationLineHash"
MOST_PLACES = 1000
"""Locations that GitHub takes of one result."""
PYTHON = MOST_PLACES
"""Identifier of the location in Python code, behind those of all places."""
_SHOWN_ELSEWHERE = ("code", "level", "message")


def render(run: Run) -> str:
    """The log as JSON text, ASCII only."""
    log = om.SarifLog(schema_uri=SCHEMA, version="2.1.0", runs=[_run(run)])
    return json_text(to_json(log))


def _run(run: Run) -> Any:
    rules = descriptors()
    driver = om.ToolComponent(
        name="onnxlint-cmsis",
        version=__version__,
        semantic_version=__version__,
        information_uri=HOME,
        rules=rules,
        contents=None,
    )
    index = {rule.id: number for number, rule in enumerate(rules)}
    models = _models_in_images(run)
    summaries = [{"path": printable(file.path), **fields} for file in run.files if (fields := summary_fields(file))]
    verdicts = [{"path": printable(file.path), **fields} for file in run.files for fields in verdict_fields(file)]
    return om.Run(
        tool=om.Tool(driver=driver),
        # GitHub takes the text before the last slash as the category
        automation_details=om.RunAutomationDetails(id=f"{run.category}/") if run.category else None,
        invocations=[_invocation(run)],
        original_uri_base_ids=uri_bases((file_of(file.path) for file in run.files), run.folder),
        artifacts=[_artifact(file, run) for file in run.files],
        results=[
            result for number, file in enumerate(run.files) for result in _results(file, number, run, index, models)
        ],
        column_kind="unicodeCodePoints",
        properties={"verdicts": verdicts, "summaries": summaries} if verdicts or summaries else None,
        newline_sequences=None,
    )


def _invocation(run: Run) -> Any:
    """How the run went: it succeeded where every file was analysed or its findings say why not."""
    return om.Invocation(
        execution_successful=not any(file.error or (file.fix and file.fix.failed) for file in run.files),
        exit_code=run.exit_code,
        working_directory=om.ArtifactLocation(uri=f"{Path(run.folder).as_uri().rstrip('/')}/"),
        tool_execution_notifications=list(_notifications(run)) or None,
    )


def _notifications(run: Run) -> Iterator[Any]:
    """One for each file that could not be analysed, and one for each note about how a file was read."""
    for number, file in enumerate(run.files):
        if file.error:
            yield _notification(f"Internal error: {file.error}", "error", file, number, run)
        elif not file.readable:
            yield _notification("The file could not be analysed.", "error", file, number, run)
        for note in file.notes:
            yield _notification(note, "note", file, number, run)
        for line in fix_heads(file, run):
            yield _notification(line, "error" if file.fix and file.fix.failed else "note", file, number, run)


def _notification(text: str, level: str, file: FileResult, number: int, run: Run) -> Any:
    location = om.Location(physical_location=om.PhysicalLocation(artifact_location=_artifact_of(file, number, run)))
    return om.Notification(message=om.Message(text=sarif_text(text)), level=level, locations=[location])


def _artifact(file: FileResult, run: Run) -> Any:
    array = array_in(file.path)
    kind = "application/octet-stream" if file.model and not array else None
    roles = ["analysisTarget", "modified"] if file.fix and file.fix.written else ["analysisTarget"]
    properties = {"fix": fix_fields(file.fix)} if file.fix else None
    return om.Artifact(
        location=_artifact_of(file, None, run),
        mime_type=kind,
        roles=roles,
        properties=properties,
        description=om.Message(text=named_array("a model in it.", file)) if array else None,
    )


def _artifact_of(file: FileResult, number: int | None, run: Run) -> Any:
    """The file, with its place in `artifacts`."""
    return artifact_location(file_of(file.path), run.folder, -1 if number is None else number)


def artifact_location(path: str, folder: str, index: int = -1) -> Any:
    """A file relative to the folder or to the root, since GitHub refuses absolute URIs outside of the checkout.

    One on another drive of Windows has an absolute URI.
    """
    if inside := below(path, folder):
        return om.ArtifactLocation(uri=inside, index=index)
    if outside := below_root(path, folder):
        return om.ArtifactLocation(uri=outside, uri_base_id=OUTSIDE, index=index)
    return om.ArtifactLocation(uri=Path(folder, path).as_uri(), index=index)


def uri_bases(paths: Iterable[str], folder: str) -> dict[str, Any] | None:
    """What URIs are relative to where not all files are below the folder."""
    if all(below(path, folder) for path in paths):
        return None
    return {OUTSIDE: om.ArtifactLocation(uri=root(folder))}


def _results(
    file: FileResult, number: int, run: Run, index: Mapping[str, int], models: Mapping[str, int]
) -> Iterator[Any]:
    at, image = None if file.model else models.get(_real(file.path, run)), list[Any]()
    if at is not None:
        physical = om.PhysicalLocation(artifact_location=_artifact_of(file, number, run))
        image = [om.Location(id=1, physical_location=physical, message=om.Message(text="The image with this model."))]
    for finding, print_ in zip(file.findings, fingerprints(file.findings), strict=True):
        around = (finding, file, number, run)
        fields = {**finding_fields(finding), "op_type": finding.location.op_type}
        yield om.Result(
            rule_id=finding.code,
            rule_index=index.get(finding.code, -1),
            level=finding.level.name.lower(),
            message=om.Message(text=sarif_text(named_array(finding.complete, file))),
            locations=[_location(*around) if at is None else _location(finding, run.files[at], at, run)],
            related_locations=[*image, *_bytes(*around), *_others(*around), *_python(finding, file, run)] or None,
            partial_fingerprints={FINGERPRINT: named_array(print_, file).replace(" ", "")},
            properties={name: value for name, value in fields.items() if name not in _SHOWN_ELSEWHERE and value},
        )


def _models_in_images(run: Run) -> dict[str, int]:
    """The number of the first model file whose bytes an image has: a repository has that, and seldom the image."""
    real = {name: _real(name, run) for name in {file.firmware for file in run.files} - {""}}
    models: dict[str, int] = {}
    for number, file in enumerate(run.files):
        if file.firmware:
            models.setdefault(real[file.firmware], number)
    return models


def _real(path: str, run: Run) -> str:
    """The file that a path leads to."""
    return os.path.realpath(Path(run.folder, path))


def _python(finding: Finding, file: FileResult, run: Run) -> Iterator[Any]:
    """The line that PyTorch's exporter noted, where its file is below the working directory."""
    source = file.places.get(finding.location.node)
    inside = below(source.file, run.folder) if source and source.file else ""
    if source and inside and Path(run.folder, source.file).is_file():
        region = om.Region(start_line=source.line)
        physical = om.PhysicalLocation(artifact_location=om.ArtifactLocation(uri=inside), region=region)
        text = f"PyTorch module {source.module}." if source.module else "Line that the layer was exported from."
        yield om.Location(id=PYTHON, physical_location=physical, message=om.Message(text=sarif_text(text)))


def _location(finding: Finding, file: FileResult, number: int, run: Run) -> Any:
    """The file as a whole, which is all a text viewer has of a binary, and the node by name."""
    region = om.Region(start_line=file.line, start_column=1, end_line=file.line, end_column=1)
    physical = om.PhysicalLocation(artifact_location=_artifact_of(file, number, run), region=region)
    return om.Location(physical_location=physical, logical_locations=_logical(finding) or _symbol(finding, file))


def _symbol(finding: Finding, file: FileResult) -> list[Any] | None:
    """The function of an image, or the array that the model is."""
    function, array = str(finding.properties.get("function", "")), array_in(file.path).rpartition(".")[0]
    name = printable(function or array)
    return [om.LogicalLocation(name=name, kind="function" if function else "variable")] if name else None


def _logical(finding: Finding) -> list[Any] | None:
    """The node, then the tensor, each with the path of subgraphs it is in; a tensor's key has it already."""
    where = finding.location
    above = f"{where.graph}/" if where.graph else ""
    named = [(where.node, above + where.node, "node"), (where.tensor.removeprefix(above), where.tensor, "tensor")]
    places = [
        om.LogicalLocation(name=printable(name), fully_qualified_name=printable(full), kind=kind)
        for name, full, kind in named
        if name
    ]
    return places or None


def _bytes(finding: Finding, file: FileResult, number: int, run: Run) -> Iterator[Any]:
    """The node's bytes in the file, where they are known."""
    where = finding.location
    if where.offset >= 0 and where.length >= 0 and not array_in(file.path):
        text = "Bytes of the node in the file."
        yield om.Location(id=1, physical_location=_physical(where, file, number, run), message=om.Message(text=text))


def _others(finding: Finding, file: FileResult, number: int, run: Run) -> Iterator[Any]:
    """The other places of a finding, each with what would be said of it alone."""
    for other_id, other in enumerate(finding.others[: MOST_PLACES - 3], 2):
        yield om.Location(
            id=other_id,
            physical_location=_physical(other.location, file, number, run),
            logical_locations=_logical(other),
            message=om.Message(text=sarif_text(other.text)),
        )


def _physical(where: Location, file: FileResult, number: int, run: Run) -> Any:
    """Bytes of a node in the file; the file as a whole where they are unknown."""
    known = where.offset >= 0 and where.length >= 0 and not array_in(file.path)
    region = om.Region(byte_offset=where.offset, byte_length=where.length) if known else None
    return om.PhysicalLocation(artifact_location=_artifact_of(file, number, run), region=region)
