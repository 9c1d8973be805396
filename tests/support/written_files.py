"""`.tflite` files that are written from tables: whether two are equal, and why layers are not covered."""

from __future__ import annotations

from typing import Any

from onnxlint_cmsis.analysis.certificate.reading import Model
from onnxlint_cmsis.analysis.certificate.table import Numbers
from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import TFLITE
from support.tflite_writer import write


def equal(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether two files are equal, not by their bytes: their notes differ."""
    new = {**new, "description": f"{new.get('description')}, new"}
    return verify(*(TFLITE.load("m.tflite", write(given)) for given in (old, new))).equal


def opaque(given: dict[str, Any]) -> list[str]:
    """Why layers are not covered, in their order."""
    return [*Model(TFLITE.load("m.tflite", write(given)), Numbers()).opaque.values()]
