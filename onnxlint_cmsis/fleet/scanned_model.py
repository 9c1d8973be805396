"""One model of a scan, from its URL to its rows, in a process that the model may end."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.api import lint_bytes
from onnxlint_cmsis.fleet.scan_rows import ERROR, EXTERNAL, FILE, OK, UNREADABLE, ScanRow, finding_row, summarized
from onnxlint_cmsis.ground.files import MODEL, NotReadError, read_stream
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.cli.api import Settings


class ScanJob(NamedTuple):
    """One model to scan."""

    url: str
    """Where the model is."""
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
    except OSError as error:
        why = f"cannot be read: {error.strerror}" if error.strerror else _scan_model_told(error)
        return (ScanRow(FILE, job.url, UNREADABLE, message=why),)
    except Exception as error:  # each file system raises other errors
        return (ScanRow(FILE, job.url, UNREADABLE, message=_scan_model_told(error)),)
    file_row = ScanRow(FILE, job.url, OK, len(data), hashlib.sha256(data).hexdigest())
    try:
        result = lint_bytes(job.url, data, job.settings)
        row = file_row._replace(findings=len(result.findings))
        if not result.readable:
            why = result.findings[0].message if result.findings else "it is no model"
            row = row._replace(status=UNREADABLE, message=why)
        elif result.unfetched:
            row = row._replace(status=EXTERNAL)
        if result.summary.targets:
            row = summarized(row, result)
        return (row, *(finding_row(row, finding) for finding in result.findings))
    except Exception as error:
        return (file_row._replace(status=ERROR, message=_scan_model_told(error)),)


def _scan_model_told(error: Exception) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
