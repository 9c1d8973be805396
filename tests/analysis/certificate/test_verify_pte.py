"""A `.pte` file is equal to its own bytes, and to nothing else: no runtime for hosts runs its kernels."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.ground.types import Isa
from support.draws import draws
from support.pte_pairs import FALSE, RIGHT, WAYS, hunt
from support.pte_programs import random_program

EXAMPLES = int(os.environ.get("ONNXLINT_EXAMPLES") or draws(60))
"""Pairs that are drawn."""


def test_the_answer_names_what_a_program_is_equal_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = random_program(2, Isa.DSP, 3).data()
    for name, data in (("a", program), ("b", program), ("c", program + bytes(1))):
        (tmp_path / f"{name}.pte").write_bytes(data)
    old, same, other = (str(tmp_path / f"{name}.pte") for name in "abc")
    assert main(["verify", old, same]) == 0 and "equal for every input" in capsys.readouterr().out
    assert main(["verify", old, other, "--output-format", "json"]) == 1
    assert "a program of ExecuTorch, which equals its own bytes alone" in capsys.readouterr().out


def test_a_program_is_equal_to_its_own_bytes_alone() -> None:
    counted = hunt([], EXAMPLES, 1)
    assert not any(counted[way, FALSE] for way in WAYS)
    assert counted["same", RIGHT] > 0
    assert sum(counted[way, RIGHT] for way in WAYS) > EXAMPLES / 4
