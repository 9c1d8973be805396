"""Files of instructions: one that is `like` another release leaves out the pieces that cost the same there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LIKE = {"main": "7.0.0"}
"""Release to the one that its files differ from."""


def read_costs(file: Path) -> dict[str, Any]:
    """A file with all its pieces, nothing where there is none."""
    if not file.exists():
        return {}
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    like = data.pop("like", "")
    if like:
        other = read_costs(_file_of(file, like))
        for part, of_other in _parts(data, other):
            part["instructions"] = dict(sorted({**of_other, **part["instructions"]}.items()))
    return data


def write_costs(file: Path, data: dict[str, Any]) -> None:
    """Write a file without the pieces that the release it is like has; files that are like it keep their numbers."""
    likes = [_file_of(file, release) for release, like in LIKE.items() if like == data.get("release")]
    kept = [(other_file, read_costs(other_file)) for other_file in likes if other_file.exists()]
    like = LIKE.get(str(data.get("release")), "")
    other = read_costs(_file_of(file, like)) if like else {}
    text = json.loads(json.dumps(data))
    if other and all(of_other.keys() <= part["instructions"].keys() for part, of_other in _parts(text, other)):
        text = {"like": like, **text}
        for part, of_other in _parts(text, other):
            pieces = part["instructions"].items()
            part["instructions"] = {name: cost for name, cost in pieces if of_other.get(name) != cost}
    file.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
    for other_file, numbers in kept:
        write_costs(other_file, numbers)


def _file_of(file: Path, release: str) -> Path:
    """The file of the same build in another release."""
    return file.with_name(f"{release}-{file.name.partition('-')[2]}")


def _parts(data: dict[str, Any], other: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, float]]]:
    """Both parts with integers, each with the pieces of the same part of another file."""
    pairs = ((data, other), (data.get("later", {}), other.get("later", {})))
    return [(part, of_other.get("instructions", {})) for part, of_other in pairs if "instructions" in part]
