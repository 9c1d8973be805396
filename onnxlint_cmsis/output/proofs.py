"""What a proof compared, and what inexact repairs change, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.output.foreign_text import counted

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.proof_results import Proof, ValueChange


def proof_text(proof: Proof, *, beside_changes: bool = False) -> str:
    """What was compared, and how far outputs are apart; `beside_changes` where inexact repairs were done before."""
    from onnxlint_cmsis.analysis.proof_results import LITERT, shipped_text

    if not proof.equal:
        return proof.reason
    all_else = " all but these changes" if beside_changes else ""
    runtime = f"{proof.runtime} (reference kernels)" if proof.runtime == LITERT else proof.runtime
    tried = f"{counted(proof.inputs, 'input')} in {runtime}, before and after{all_else}"
    inside = f"; {counted(proof.inner, 'value')} inside agree as well" if proof.inner else ""
    same = "every output is bit for bit the same"
    certified = "outputs equal for every input, in the integers of a device; " if proof.every_input else ""
    tried = f"{certified}{tried}"
    if proof.written:
        shipped = shipped_text(proof) or f"with those that it is shipped with they are too, on {proof.written} inputs"
        return f"{tried}: with its optimisers off {same}, and so are the integers of a device; {shipped}{inside}"
    apart = [difference for difference in proof.differences if difference.largest > 0]
    if not apart:
        return f"{tried}: {same}{inside}"
    worst = max(apart, key=lambda difference: difference.relative)
    worst_text = f"largest difference {worst.largest:.2g}, {worst.relative:.1g} of the range of '{worst.output}'"
    return f"{tried}: {worst_text}{inside}"


def change_text(change: ValueChange) -> str:
    """`'y' by at most 0.91 steps of 0.00390625 (0.00355)`; how ONNX Runtime was set up, if it matters; the bound."""
    steps = f"{change.steps:.3g}"
    noun = "step" if steps == "1" else "steps"
    text = f"'{change.value}' by at most {steps} {noun} of {change.step:.6g} ({change.largest:.3g})"
    bound = "" if change.bound is None else f"; by at most {change.bound:.3g} on any input"
    if change.shipped_steps is None:
        return f"{text}, with ONNX Runtime's optimisers off{bound}"
    shipped = f"{change.shipped_steps:.3g}"
    told = text if shipped == steps else f"{text} with ONNX Runtime's optimisers off, {shipped} as it is shipped"
    return f"{told}{bound}"
