"""What a proof compared, and what inexact repairs change, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.plain import counted

if TYPE_CHECKING:
    from onnxlint_cmsis.results.proof_result import Proof, ValueChange


def proof_text(proof: Proof, *, beside_changes: bool = False) -> str:
    """What was compared, and how far outputs are apart; `beside_changes` where inexact repairs were done before."""
    if not proof.equal:
        return proof.reason
    all_else = " all but these changes" if beside_changes else ""
    tried = f"{counted(proof.inputs, 'input')} in {proof.runtime}, before and after{all_else}"
    inside = f"; {counted(proof.inner, 'value')} inside agree as well" if proof.inner else ""
    apart = [one for one in proof.differences if one.largest > 0]
    if not apart:
        return f"{tried}: every output is bit for bit the same{inside}"
    worst = max(apart, key=lambda one: one.relative)
    worst_text = f"largest difference {worst.largest:.2g}, {worst.relative:.1g} of the range of '{worst.output}'"
    if proof.written:
        same = "with its optimisers off every output is bit for bit the same"
        return f"{tried}: {same}; its fused kernels for int8 and for uint8 round differently: {worst_text}{inside}"
    return f"{tried}: {worst_text}{inside}"


def change_text(change: ValueChange) -> str:
    """`output 'y' by at most 0.91 steps of 0.00390625 (0.00355)`."""
    steps = f"{change.steps:.3g}"
    noun = "step" if steps == "1" else "steps"
    return f"'{change.value}' by at most {steps} {noun} of {change.step:.6g} ({change.largest:.3g})"
