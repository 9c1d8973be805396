"""What a proof compared, and what inexact repairs change, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.plain import counted
from onnxlint_cmsis.results.proof_result import LITERT, shipped_text

if TYPE_CHECKING:
    from onnxlint_cmsis.results.proof_result import Proof, ValueChange


def proof_text(proof: Proof, *, beside_changes: bool = False) -> str:
    """What was compared, and how far outputs are apart; `beside_changes` where inexact repairs were done before."""
    if not proof.equal:
        return proof.reason
    all_else = " all but these changes" if beside_changes else ""
    runtime = f"{proof.runtime} (reference kernels)" if proof.runtime == LITERT else proof.runtime
    tried = f"{counted(proof.inputs, 'input')} in {runtime}, before and after{all_else}"
    inside = f"; {counted(proof.inner, 'value')} inside agree as well" if proof.inner else ""
    same = "every output is bit for bit the same"
    if proof.written:
        shipped = shipped_text(proof) or f"with those that it is shipped with they are too, on {proof.written} inputs"
        return f"{tried}: with its optimisers off {same}, and so are the integers of a device; {shipped}{inside}"
    apart = [one for one in proof.differences if one.largest > 0]
    if not apart:
        return f"{tried}: {same}{inside}"
    worst = max(apart, key=lambda one: one.relative)
    worst_text = f"largest difference {worst.largest:.2g}, {worst.relative:.1g} of the range of '{worst.output}'"
    return f"{tried}: {worst_text}{inside}"


def change_text(change: ValueChange) -> str:
    """`'y' by at most 0.91 steps of 0.00390625 (0.00355)`; how ONNX Runtime was set up where that matters."""
    steps = f"{change.steps:.3g}"
    noun = "step" if steps == "1" else "steps"
    text = f"'{change.value}' by at most {steps} {noun} of {change.step:.6g} ({change.largest:.3g})"
    if change.shipped_steps is None:
        return f"{text}, with ONNX Runtime's optimisers off"
    shipped = f"{change.shipped_steps:.3g}"
    return text if shipped == steps else f"{text} with ONNX Runtime's optimisers off, {shipped} as it is shipped"
