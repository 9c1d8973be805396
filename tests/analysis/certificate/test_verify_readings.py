"""How often `verify` reads a file: not at all where both have the same bytes, else once for all runtimes."""

from __future__ import annotations

from typing import Any

from onnxlint_cmsis.analysis.certificate.verifying import faults_elsewhere, verify
from onnxlint_cmsis.formats.format import LoadedFile
from onnxlint_cmsis.formats.onnx.load import load_model
from onnxlint_cmsis.model.leftovers import Leftovers
from support.two_convolutions import steady_pair

NOTE = b"\x32\x01n"
"""Bytes of a doc string behind a model: another file, which computes the same."""


class Counted:
    """A file that counts how often it is asked what its graph does not say."""

    def __init__(self, data: bytes) -> None:
        self.loaded: LoadedFile = load_model("m.onnx", data=data)
        self.readings = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loaded, name)

    def leftovers(self) -> Leftovers:
        self.readings += 1
        return self.loaded.leftovers()


def test_files_of_the_same_bytes_are_equal_and_not_read() -> None:
    old, new = (Counted(steady_pair()[0]) for _ in range(2))
    known = verify(old, new)
    assert known.equal and faults_elsewhere(known) == known.faults
    assert (old.readings, new.readings) == (0, 0)


def test_other_files_are_read_once_for_all_runtimes() -> None:
    old, new = Counted(steady_pair()[0]), Counted(steady_pair()[0] + NOTE)
    known = verify(old, new)
    assert known.equal and known.rounds
    assert faults_elsewhere(known) == known.faults
    assert (old.readings, new.readings) == (1, 1)
