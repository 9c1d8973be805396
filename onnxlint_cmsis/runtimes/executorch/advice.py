"""What to do about a call of a program, where more is known than the cause of a finding.

Each line was done in PyTorch with the exporter of ExecuTorch 1.5.1, and gave a program that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from onnxlint_cmsis.formats.pte.calls import ProgramCall
from onnxlint_cmsis.formats.pte.names import BACKEND
from onnxlint_cmsis.formats.pte.program_records import PteTensor, Value
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.executorch.portable import CONVOLUTION, ONE_ORDER

IMAGE_RANK = 4
"""Axes of an image."""
CHANNELS_LAST = (
    "Export again with module.to(memory_format=torch.channels_last) and example inputs likewise: the backend takes no "
    "other convolutions."
)
OVER_TIME = (
    "Write each nn.Conv1d as an nn.Conv2d with a window of (1, k), and export with inputs of (1, channels, 1, time) in "
    "channels_last: the backend takes no convolution of three axes."
)
QUANTIZED = f"Quantize it with CortexMQuantizer: no call of this program reaches the backend. {CHANNELS_LAST}"
ONE_CHANNEL = (
    "Compute it on x.reshape(1, -1) and reshape back: the exporter writes two orders of memory for images of one "
    "channel."
)
NO_TURNS = (
    "Leave out what turns the axes of its input, such as permute, unsqueeze and contiguous: in channels_last images "
    "stay as they are from convolution to convolution."
)
SUM_OF_PARTS = (
    "Pad each part with zeros to the whole, torch.nn.functional.pad(a, ...), and add them, which is the same. Or split "
    "the convolution behind it in one for each part, and add their results."
)
IN_ORDER = "Call .contiguous() in front of the permute or transpose, so that its input lies in the order of its sizes."
MOVED = "Call .contiguous() in front of the reshape or view: the exporter then writes the call that moves elements."
OTHER_CURVE = "Train with nn.ReLU, nn.SiLU or nn.GELU in its place, which the backend computes; or leave it: it runs."
REGISTER = "Register a kernel of it with the application"


class ProgramFacts(NamedTuple):
    """What advice on every call of a program depends on."""

    operators: frozenset[str]
    """Operators of the whole program."""
    over_time: bool
    """Whether a convolution of the program has three axes: batch, channels and time."""


class _Asked(NamedTuple):
    """What advice depends on."""

    call: ProgramCall
    """The call."""
    verdict: Outcome
    """What becomes of it."""
    tensors: tuple[PteTensor, ...]
    """Those that it reads and writes."""
    program: ProgramFacts
    """What is known of the whole program."""


def _registered(asked: _Asked) -> str:
    curve = CURVES.get(asked.call.op)
    return f"{REGISTER}, or train with {curve} in its place, which the backend computes." if curve else f"{REGISTER}."


def _of_one_channel(asked: _Asked) -> bool:
    images = [tensor for tensor in asked.tensors if len(tensor.sizes) == IMAGE_RANK]
    return asked.call.op in ONE_ORDER and bool(images) and all(image.sizes[1] == 1 for image in images)


def _lies_in_order(asked: _Asked) -> bool:
    """Tell whether all convolutions were exported in the order of sizes: none is the backend's."""
    ours = any(name.startswith(f"{BACKEND}quantized_") and "conv" in name for name in asked.program.operators)
    return CONVOLUTION in asked.program.operators and not ours


CURVES: Mapping[str, str] = MappingProxyType({"aten::hardswish": "nn.SiLU", "aten::hardsigmoid": "nn.Sigmoid"})
"""A curve that the backend computes in place of one that nothing computes."""
ADVICE: tuple[tuple[tuple[Outcome, ...], Callable[[_Asked], bool], str | Callable[[_Asked], str]], ...] = (
    ((Outcome.REFUSED,), _of_one_channel, ONE_CHANNEL),
    (
        (Outcome.REFERENCE, Outcome.REFUSED, Outcome.NO_KERNEL),
        lambda asked: CONVOLUTION in asked.program.operators and not _reaches_backend(asked),
        QUANTIZED,
    ),
    (
        (Outcome.REFERENCE, Outcome.REFUSED, Outcome.NO_KERNEL),
        lambda asked: asked.program.over_time and _lies_in_order(asked),
        OVER_TIME,
    ),
    (
        (Outcome.REFERENCE, Outcome.REFUSED, Outcome.NO_KERNEL),
        _lies_in_order,
        CHANNELS_LAST,
    ),
    ((Outcome.NO_KERNEL,), lambda _: True, _registered),
    ((Outcome.REFUSED,), lambda asked: "conv2d" in asked.call.op, NO_TURNS),
    (
        (Outcome.WRONG,),
        lambda asked: asked.call.op == "aten::cat" and all(tensor.elem_type == "int8" for tensor in asked.tensors),
        SUM_OF_PARTS,
    ),
    ((Outcome.WRONG,), lambda asked: asked.call.op == f"{BACKEND}transpose", IN_ORDER),
    ((Outcome.REFERENCE,), lambda asked: asked.call.op in ("aten::leaky_relu", "aten::elu"), OTHER_CURVE),
)
"""Outcomes, when a line helps, and the line; the first that fits is said."""


def _reaches_backend(asked: _Asked) -> bool:
    return any(name.startswith(BACKEND) for name in asked.program.operators)


def facts_of(calls: Sequence[ProgramCall]) -> ProgramFacts:
    """What is known of a program by all its calls."""
    images = [call.written for call in calls if call.op == CONVOLUTION and call.written is not None]
    return ProgramFacts(
        frozenset(call.op for call in calls), any(len(image.sizes) == IMAGE_RANK - 1 for image in images)
    )


def advice(call: ProgramCall, verdict: Outcome, values: Sequence[Value], program: ProgramFacts) -> str:
    """What to do about a call, as a sentence; empty where the cause's own words hold.

    `values` are those of its method.
    """
    numbers = (*call.operands, *call.results)
    tensors = (values[number] for number in numbers if number >= 0)
    asked = _Asked(call, verdict, tuple(t for t in tensors if isinstance(t, PteTensor)), program)
    for verdicts, helps, do in ADVICE:
        if verdict in verdicts and helps(asked):
            return do if isinstance(do, str) else do(asked)
    return ""
