"""Programs whose sizes are decided when they run: what is judged, and which sizes a user can give.

A program that was exported with `dynamic_shapes` states the largest sizes, which its memory is planned for
(schema/program.fbs, Tensor). Smaller ones would need the sizes of everything behind, which the program computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxlint_cmsis.formats.pte.names import BACKEND, RESIZING
from onnxlint_cmsis.formats.pte.program_records import Method, PteTensor
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.model_error import ModelError

FIX_THE_SIZES = "Export it without dynamic_shapes, or give the largest sizes with --input-shape."


def sizes_left_open(method: Method, calls: Sequence[tuple[str, str, PteTensor | None]]) -> str | None:
    """What is said of a method whose sizes are decided when it runs; None for another.

    `calls` are label, operator and result of each kernel's.
    """
    moving = [value for value in method.values if isinstance(value, PteTensor) and value.dynamic]
    if not moving:
        return None
    tensors = "1 tensor" if len(moving) == 1 else f"{len(moving)} tensors"
    text = f"method '{method.name}' decides the sizes of {tensors} when it runs; the largest ones are judged"
    kept = next((label for label, op, result in calls if result and result.dynamic and _keeps_sizes(op)), "")
    keeps = f", and '{kept}' keeps them: smaller inputs leave old values in its result, or end it" if kept else ""
    return text + keeps


def _keeps_sizes(op: str) -> bool:
    """Tell whether the kernel of an operator leaves its result the largest sizes."""
    return op.startswith(BACKEND) and op not in RESIZING


def refuse_other_sizes(inputs: Mapping[str, Sequence[Size]], given: Mapping[str, tuple[Size, ...]]) -> None:
    """Raise ModelError (`input-shape`) for a name or sizes that the program does not have."""
    for name, sizes in given.items():
        if name not in inputs:
            there = ", ".join(f"`{key}` {_text(shape)}" for key, shape in inputs.items()) or "none"
            raise ModelError("input-shape", f"no input `{name}`; the model's inputs: {there}")
        pairs = zip(sizes, inputs[name], strict=False)
        if len(sizes) != len(inputs[name]) or any(size not in (None, stated) for size, stated in pairs):
            allowed = f"a program is judged with the sizes that its memory is planned for, {_text(inputs[name])}"
            raise ModelError("input-shape", f"input `{name}`: {_text(sizes)}; {allowed}")


def _text(shape: Sequence[Size]) -> str:
    return "x".join("?" if size is None else str(size) for size in shape) or "a scalar"
