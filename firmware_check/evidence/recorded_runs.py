"""Results of runs in a JSON file: one line for each row, so that a change is seen."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from firmware_check.errors import FirmwareError
from firmware_check.evidence.smallest_calls import hazards_on
from onnxlint_cmsis.cmsis_nn.evidence import Recorded, recorded_of
from onnxlint_cmsis.cmsis_nn.releases import RELEASES
from onnxlint_cmsis.ground.atomic_write import write_text
from onnxlint_cmsis.ground.types import Target


def record(path: str, run: Recorded) -> None:
    """Put a run in its place, in the order of releases, CPUs and compilers; one of the same three is replaced."""
    runs = [recorded for recorded in read(path) if _key(recorded) != _key(run)]
    runs = sorted(
        [*runs, run],
        key=lambda recorded: (RELEASES.index(recorded.release), len(recorded.cpu), recorded.cpu, recorded.compiler),
    )
    write_text(path, f"[\n{','.join(map(_record_text, runs)).lstrip()}]\n")


def record_rows(path: str, run: Recorded, target: Target) -> None:
    """Put some hazards of a run into the recorded one of the same compiler, in the order of the tables."""
    old = next((old for old in read(path) if (_key(old), old.compiler) == (_key(run), run.compiler)), None)
    if old is None:
        raise FirmwareError(f"{path}: no run of CMSIS-NN {run.release} on {run.cpu} with {run.compiler} to add rows to")
    rows = {row.hazard: row for row in (*old.hazards, *run.hazards)}
    order = [name for name in (row.id for row in hazards_on(target)) if name in rows]
    hazards = (*(rows[name] for name in order), *(row for name, row in rows.items() if name not in order))
    record(path, old._replace(hazards=hazards))


def read(path: str) -> list[Recorded]:
    """The runs in a file; none where there is no file."""
    if not Path(path).is_file():
        return []
    try:
        return [recorded_of(row) for row in json.loads(Path(path).read_text(encoding="utf-8"))]
    except (ValueError, KeyError, TypeError):
        raise FirmwareError(f"{path}: no results of firmware_check hazards") from None


def today() -> str:
    """The day, as 2026-11-22."""
    return datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()


def _key(run: Recorded) -> tuple[str, str, str]:
    return run.release, run.cpu, run.compiler.split()[0]


def _record_text(run: Recorded) -> str:
    head = {"release": run.release, "cpu": run.cpu, "compiler": run.compiler, "date": run.date}
    rows = {"hazards": run.hazards, "branches": run.branches}
    lines = {name: ",\n   ".join(json.dumps(row) for row in recorded) for name, recorded in rows.items()}
    listed = [f'  "{name}": [\n   {text}\n  ]' for name, text in lines.items()]
    whole = [*(f'  "{name}": {json.dumps(value)}' for name, value in head.items()), *listed]
    return " {\n" + ",\n".join(whole) + "\n }\n"
