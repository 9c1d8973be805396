"""One model of a scan, from its URL to its rows; this runs in a process that the model may end."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from onnxlint_cmsis.bounded_reading import MODEL, NotReadError, read_stream
from onnxlint_cmsis.fleet.scan_rows import ERROR, EXTERNAL, FILE, OK, UNREADABLE, ScanRow, finding_row, summarized
from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.settings import Settings


class ScanJob(NamedTuple):
    """One model to scan."""

    url: str
    """Where it is."""
    settings: Settings
    """What it is linted with."""


def scan_model(job: ScanJob) -> tuple[ScanRow, ...]:
    """The row of the file and those of its findings; whatever goes wrong is told in the first."""
    import fsspec

    try:
        with fsspec.open(job.url, "rb") as file:
            data = read_stream(file, MODEL, job.url)
    except NotReadError as error:
        return (ScanRow(FILE, job.url, UNREADABLE, message=f"the file {error.strerror}"),)
    except Exception as error:  # each file system raises other errors
        return (ScanRow(FILE, job.url, UNREADABLE, message=_told(error)),)
    file_row = ScanRow(FILE, job.url, OK, len(data), hashlib.sha256(data).hexdigest())
    try:
        return _linted(job, data, file_row)
    except Exception as error:
        return (file_row._replace(status=ERROR, message=_told(error)),)


def _linted(job: ScanJob, data: bytes, row: ScanRow) -> tuple[ScanRow, ...]:
    from onnxlint_cmsis.engine import lint_file
    from onnxlint_cmsis.formats.onnx_graph.external import NOT_FETCHED

    model = _opened(job, data)
    result = lint_file(job.url, job.settings, data, model)
    found = [finding for finding in result.findings if NOT_FETCHED not in finding.message]
    row = row._replace(findings=len(found))
    if not result.readable:
        row = row._replace(status=UNREADABLE, message=found[0].message if found else "it is no model")
    elif model and any(NOT_FETCHED in problem.message for problem in model.graph.problems):
        row = row._replace(status=EXTERNAL)
    if result.summary:
        row = summarized(row, result.summary)
    return (row, *(finding_row(row, finding) for finding in found))


def _opened(job: ScanJob, data: bytes) -> ModelAnalysis | None:
    """The analysis of the model; None where there is none, which linting explains."""
    from onnxlint_cmsis.graph.model_error import ModelError
    from onnxlint_cmsis.open_model import open_model

    try:
        return open_model(job.url, job.settings.analysis, data)
    except ModelError:
        return None


def _told(error: Exception) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
