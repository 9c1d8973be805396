"""Files of instructions that are like those of another release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cost_files import read_costs, write_costs


def numbers(release: str, **pieces: float) -> dict[str, Any]:
    return {
        "release": release,
        "instructions": pieces,
        "later": {"rows": 1, "instructions": {"pad": pieces["conv"] + 1}},
    }


def test_a_file_tells_only_the_pieces_that_cost_another_number(tmp_path: Path) -> None:
    base, file = tmp_path / "7.0.0-dsp.json", tmp_path / "main-dsp.json"
    write_costs(base, numbers("7.0.0", conv=3.0, dw=4.0))
    write_costs(file, numbers("main", conv=3.0, dw=5.0))
    told = json.loads(file.read_text())
    assert (told["like"], told["instructions"], told["later"]["instructions"]) == ("7.0.0", {"dw": 5.0}, {})
    assert read_costs(file) == numbers("main", conv=3.0, dw=5.0)


def test_a_file_keeps_its_numbers_where_the_one_it_is_like_changes(tmp_path: Path) -> None:
    base, file = tmp_path / "7.0.0-dsp.json", tmp_path / "main-dsp.json"
    write_costs(base, numbers("7.0.0", conv=3.0, dw=4.0))
    write_costs(file, numbers("main", conv=3.0, dw=5.0))
    write_costs(base, numbers("7.0.0", conv=9.0, dw=5.0))
    assert read_costs(file) == numbers("main", conv=3.0, dw=5.0)
    assert json.loads(file.read_text())["instructions"] == {"conv": 3.0}


def test_a_file_with_fewer_pieces_tells_all_of_its_own(tmp_path: Path) -> None:
    base, file = tmp_path / "7.0.0-dsp.json", tmp_path / "main-dsp.json"
    write_costs(base, numbers("7.0.0", conv=3.0, dw=4.0))
    write_costs(file, numbers("main", conv=3.0))
    assert read_costs(file) == json.loads(file.read_text()) == numbers("main", conv=3.0)
