"""Results of runs in a JSON file: one line for each row, so that a change is seen."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from firmware_check.errors import FirmwareError
from onnxlint_cmsis.atomic import write_text
from onnxlint_cmsis.cmsis_nn.observed import Recorded, recorded_of
from onnxlint_cmsis.cmsis_nn.releases import RELEASES


def record(path: str, run: Recorded) -> None:
    """Put a run in its place, in the order of releases, CPUs and compilers; one of the same three is replaced."""
    runs = [each for each in read(path) if _key(each) != _key(run)]
    runs = sorted([*runs, run], key=lambda each: (RELEASES.index(each.release), len(each.cpu), each.cpu, each.compiler))
    write_text(path, f"[\n{','.join(map(_text, runs)).lstrip()}]\n")


def read(path: str) -> list[Recorded]:
    """The runs in a file; none where there is no file."""
    if not Path(path).is_file():
        return []
    try:
        return [recorded_of(each) for each in json.loads(Path(path).read_text(encoding="utf-8"))]
    except (ValueError, KeyError, TypeError):
        raise FirmwareError(f"{path}: no results of firmware_check hazards") from None


def today() -> str:
    """The day, as 2026-11-22."""
    return datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()


def _key(run: Recorded) -> tuple[str, str, str]:
    return run.release, run.cpu, run.compiler.split()[0]


def _text(run: Recorded) -> str:
    head = {"release": run.release, "cpu": run.cpu, "compiler": run.compiler, "date": run.date}
    rows = {"hazards": run.hazards, "branches": run.branches}
    listed = [f'  "{name}": [\n   {_lines(list(each))}\n  ]' for name, each in rows.items()]
    whole = [*(f'  "{name}": {json.dumps(value)}' for name, value in head.items()), *listed]
    return " {\n" + ",\n".join(whole) + "\n }\n"


def _lines(rows: list[tuple[object, ...]]) -> str:
    return ",\n   ".join(json.dumps(row) for row in rows)
