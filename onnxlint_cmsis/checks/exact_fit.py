"""What findings on memory say of a fix that changes no output."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.memory_needs import ExactWay

CONVERT = "convert the float model to an int8 .tflite file, of which --fix with --ram computes layers in parts too"
"""What to do about an ONNX model: converters write none of its integers, so that no parts of it are proven there."""


def fits_exactly(exact: ExactWay | None, room: int | None) -> bool:
    """Tell whether a fix makes the model fit."""
    return exact is not None and room is not None and exact.bytes <= room


def exact_text(exact: ExactWay | None, room: int | None) -> str:
    """What a fix reaches, as a sentence; empty where it gains nothing."""
    if exact is None:
        return ""
    if not fits_exactly(exact, room):
        return f"With {exact.text} it computes the same and needs {exact.bytes:,}, the least that was found."
    price = f", at {exact.percent:+.1f} % instructions" if round(exact.percent, 1) else ""
    return f"With {exact.text} it computes the same, needs {exact.bytes:,} and fits{price}."


def exact_remedy(exact: ExactWay | None, room: int | None) -> str:
    """What to do where a fix makes the model fit; empty where none does."""
    if exact is None or not fits_exactly(exact, room):
        return ""
    methods = f"; register {' and '.join(exact.registers)} in the application" if exact.registers else ""
    return f"--fix writes it after proof{methods}."


def exact_facts(exact: ExactWay | None) -> dict[str, str | int | float | bool]:
    """The same as properties of a finding."""
    return {} if exact is None else {"exact": exact.text, "exact_after": exact.bytes}
