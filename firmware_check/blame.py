"""A layer that is wrong with one compiler and right with another is the compiler's, not the library's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firmware_check.target_check import TargetCheck
    from firmware_check.verdict import Disagreement, LayerVerdict

WRONG = ("FWC002", "FWC003")
"""Codes of what a compiler can make wrong: values, and memory that is overwritten."""


def blamed(checks: Iterable[TargetCheck]) -> list[TargetCheck]:
    """The checks; where two compilers differ on one model and CPU, their layers say so."""
    found = list(checks)
    return [_check(one, found) for one in found]


def _check(one: TargetCheck, checks: list[TargetCheck]) -> TargetCheck:
    layers = tuple(_layer(one, layer, checks) for layer in one.layers)
    return one if layers == one.layers else replace(one, layers=layers)


def _layer(one: TargetCheck, layer: LayerVerdict, checks: list[TargetCheck]) -> LayerVerdict:
    if not any(each.code in WRONG for each in layer.disagreements):
        return layer
    right = [each.compiler for each in checks if _beside(one, each) and _right_in(each, layer)]
    if not right:
        return layer
    said = tuple(_said(each, one.compiler, right[0]) for each in layer.disagreements)
    return replace(layer, disagreements=said)


def _beside(one: TargetCheck, other: TargetCheck) -> bool:
    same = (one.path, one.target.cpu, one.target.release) == (other.path, other.target.cpu, other.target.release)
    return same and one.compiler != other.compiler


def _right_in(other: TargetCheck, layer: LayerVerdict) -> bool:
    same = [each for each in other.layers if (each.label, each.tensor) == (layer.label, layer.tensor)]
    return any(not each.disagreements and not each.defects for each in same)


def _said(each: Disagreement, compiler: str, right: str) -> Disagreement:
    if each.code not in WRONG:
        return each
    return replace(each, text=f"{each.text}; right with {right}: a defect of {compiler}, not of CMSIS-NN")
