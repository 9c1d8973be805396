"""What is wrong with a memory plan that a file brings along: the interpreter takes its offsets as they are."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteTensor
from onnxlint_cmsis.formats.tflite.memory_plan import ONLINE, stated_plan
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.tflm.alive_buffers import AliveBuffers
from onnxlint_cmsis.runtimes.tflm.in_place import pairs_in_place
from onnxlint_cmsis.runtimes.tflm.lifetimes import NEVER, TooManySteps, planned_buffers
from onnxlint_cmsis.runtimes.tflm.planner import PlannedBuffer

CAUSE = "memory-plan"
"""Cause of the findings."""
ELEMENT_BYTES = {"INT16": 2, "FLOAT16": 2, "FLOAT32": 4, "INT32": 4, "UINT32": 4, "INT64": 8, "FLOAT64": 8}
"""Bytes that an element's address has to be a multiple of; 1 for other types."""
FOREVER = 1 << 40


class PlanFault(NamedTuple):
    """One thing that is wrong with a plan."""

    verdict: Outcome
    """REFUSED where AllocateTensors fails, else WRONG."""
    text: str
    """What is wrong, as a clause."""
    tensor: int = 0
    """Tensor that it is about, counted over all subgraphs."""
    level: Level | None = None
    """A milder level than the rule's."""


def refusal(model: TfliteModel) -> str | None:
    """What AllocateTensors prints where it refuses a plan; None where it takes it.

    It compares the number of offsets with that of all tensors, and nothing else
    (lite/micro/micro_allocation_info.cc, GetOfflinePlannedOffsets).
    """
    stated, tensors = stated_plan(model), _tensors(model)
    if stated is None or stated.number in (-1, len(tensors)):
        return None
    return f"Nbr of offline buffer offsets ({stated.number}) in metadata not equal nbr tensors ({len(tensors)})"


def plan_sentence(model: TfliteModel) -> str:
    """What comes of the plan of a file; empty where it has none."""
    stated = stated_plan(model)
    if stated is None:
        return ""
    faults = [fault.text for fault in plan_faults(model)]
    if faults:
        return f"the file's memory plan is wrong: {and_more(faults, 1)}"
    placed = sum(
        offset != ONLINE and not model.is_constant(tensor)
        for tensor, offset in zip(_tensors(model), stated.offsets, strict=True)
    )
    tensors = "1 tensor" if placed == 1 else f"{placed} tensors"
    return f"the file says where {tensors} lie, and none lies over another that is needed at the same time"


def plan_faults(model: TfliteModel) -> Iterator[PlanFault]:
    """What is wrong with the plan of a file, the same on every target: scratch is put around the plan on the device."""
    stated, tensors = stated_plan(model), _tensors(model)
    if stated is None:
        return
    if refusal(model):
        text = f"it has {stated.number} offsets, and the file has {len(tensors)} tensors"
        yield PlanFault(Outcome.REFUSED, text)
        return
    if not stated.whole:
        text = "it ends before its last offset, and the runtime takes the bytes behind it for the rest"
        yield PlanFault(Outcome.WRONG, text)
        return
    for number, (tensor, offset) in enumerate(zip(tensors, stated.offsets, strict=True)):
        if model.is_constant(tensor) or offset == ONLINE:
            continue
        if offset < 0:
            yield PlanFault(Outcome.WRONG, f"'{tensor.name}' lies at {offset}, in front of the arena", number)
        elif offset % ELEMENT_BYTES.get(tensor.elem_type, 1):
            unit = ELEMENT_BYTES[tensor.elem_type]
            text = f"'{tensor.name}' lies at {offset}, which is no multiple of the {unit} bytes of its elements"
            yield PlanFault(Outcome.WRONG, text, number, Level.WARNING)
    yield from _overlaps(model, tensors)


def _overlaps(model: TfliteModel, tensors: list[TfliteTensor]) -> Iterator[PlanFault]:
    """The first pair of tensors of each tensor that lie over each other while both are alive."""
    try:
        buffers = [buffer for buffer in planned_buffers(model, ()) if buffer.offset >= 0]
    except TooManySteps:
        return
    kept = (_kept(buffer, tensors) for buffer in buffers)
    lives = sorted((buffer for buffer in kept if buffer.first != NEVER), key=lambda b: (b.first, b.number))
    in_place, customs = pairs_in_place(model), _of_custom_operators(model)
    alive = AliveBuffers()
    for later in lives:
        alive.end_before(later.first)
        for earlier in alive.over(later.offset, _end(later)):
            pair = earlier.number, later.number
            if (pair in in_place and _handed_on(earlier, later)) or any(own >= {*pair} for own in customs):
                continue
            low, high = max(earlier.offset, later.offset), min(_end(earlier), _end(later))
            text = (
                f"'{tensors[later.number].name}' lies over '{tensors[earlier.number].name}' in bytes {low:,} to "
                f"{high - 1:,}, and both are needed at once"
            )
            yield PlanFault(Outcome.WRONG, text, later.number)
            break
        alive.add(later)


def _of_custom_operators(model: TfliteModel) -> list[set[int]]:
    """Tensors of each custom operator, counted over all subgraphs: who wrote it laid them out, as Vela does."""
    customs, start = [], 0
    for subgraph in model.subgraphs:
        for operator in subgraph.operators:
            if operator.custom_code:
                customs.append({start + number for number in (*operator.inputs, *operator.outputs) if number >= 0})
        start += len(subgraph.tensors)
    return customs


def _handed_on(operand: PlannedBuffer, result: PlannedBuffer) -> bool:
    """Tell whether a result lies exactly on an operand that nothing reads afterwards."""
    return (operand.offset, operand.size, operand.last) == (result.offset, result.size, result.first)


def _kept(buffer: PlannedBuffer, tensors: list[TfliteTensor]) -> PlannedBuffer:
    """A buffer with the life that its values have: those of a variable last from one run to the next."""
    return buffer._replace(first=0, last=FOREVER) if tensors[buffer.number].is_variable else buffer


def _end(buffer: PlannedBuffer) -> int:
    """First byte behind what a buffer holds, without the filling."""
    return buffer.offset + buffer.size


def _tensors(model: TfliteModel) -> list[TfliteTensor]:
    return [tensor for subgraph in model.subgraphs for tensor in subgraph.tensors]
