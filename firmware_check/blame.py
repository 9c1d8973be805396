"""A layer that is wrong with one compiler and right with another is the compiler's, not the library's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from firmware_check.target_check import TargetCheck
    from firmware_check.verdict import LayerVerdict


WRONG = ("FWC002", "FWC003")
"""Codes of what a compiler can make wrong: values, and memory that is overwritten."""


def blamed(checks: Iterable[TargetCheck]) -> list[TargetCheck]:
    """The checks; where two compilers differ on one model and CPU, their layers say so."""
    judged = list(checks)
    told = []
    for check in judged:
        of_check = check.path, check.target.cpu, check.target.release
        others = [
            other
            for other in judged
            if (other.path, other.target.cpu, other.target.release) == of_check and other.compiler != check.compiler
        ]
        layers = tuple(_blamed_on_compiler(layer, check.compiler, others) for layer in check.layers)
        told.append(check if layers == check.layers else replace(check, layers=layers))
    return told


def _blamed_on_compiler(layer: LayerVerdict, compiler: str, others: list[TargetCheck]) -> LayerVerdict:
    """The layer; where it is wrong with a compiler and right with another, its disagreements say so."""
    if not any(disagreement.code in WRONG for disagreement in layer.disagreements):
        return layer
    for other in others:
        same = [twin for twin in other.layers if (twin.label, twin.tensor) == (layer.label, layer.tensor)]
        if any(not twin.disagreements and not twin.defects for twin in same):
            why = f"; right with {other.compiler}: a defect of {compiler}, not of CMSIS-NN"
            said = (
                replace(disagreement, text=f"{disagreement.text}{why}") if disagreement.code in WRONG else disagreement
                for disagreement in layer.disagreements
            )
            return replace(layer, disagreements=tuple(said))
    return layer
