"""From which step to which each buffer of a model is alive (lite/micro/micro_allocation_info.cc)."""

from __future__ import annotations

from itertools import accumulate

from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel, TfliteOperator
from onnxlint_cmsis.formats.tflite.memory_plan import ONLINE, stated_plan
from onnxlint_cmsis.runtimes.tflm.operator_view import tensor_bytes
from onnxlint_cmsis.runtimes.tflm.planner import PlannedBuffer
from onnxlint_cmsis.runtimes.tflm.resource_variables import HANDLE

NEVER = -1
MAX_STEPS = 100_000
"""Steps that are followed; bodies of control flow that run each other can have more than there are operators."""


class TooManySteps(Exception):  # noqa: N818 - the model's doing
    """Control flow that runs more operators than MAX_STEPS."""


Scratch = tuple[int, int, int]
"""A scratch request: subgraph, operator, bytes."""


class Lifetimes:
    """Steps counted over all subgraphs that the model runs."""

    def __init__(self, model: TfliteModel, scratch: tuple[Scratch, ...]) -> None:
        self.model = model
        self.step = 0
        counts = [len(subgraph.tensors) for subgraph in model.subgraphs]
        self.starts = [*accumulate(counts, initial=0)][:-1]
        self.first = [NEVER] * (sum(counts) + len(scratch))
        self.last = list(self.first)
        self._requests: dict[tuple[int, int], list[int]] = {}
        for request, (subgraph, owner, _) in enumerate(scratch, sum(counts)):
            self._requests.setdefault((subgraph, owner), []).append(request)
        self.loops: list[tuple[int, int]] = []
        """First and last step of every WHILE, whose bodies run again and again."""
        self._walk(0)

    def _touch(self, index: int, first: int, last: int) -> None:
        if self.first[index] == NEVER:
            self.first[index] = first
        self.last[index] = last

    def _walk(self, number: int) -> None:
        subgraph, start = self.model.subgraphs[number], self.starts[number]
        for tensor in subgraph.inputs:
            self._touch(start + tensor, self.step, self.step)
        for index, operator in enumerate(subgraph.operators):
            self._operator(number, index, operator)
        for tensor in subgraph.outputs:
            self._touch(start + tensor, self.step, self.step)

    def _operator(self, number: int, index: int, operator: TfliteOperator) -> None:
        start = self.starts[number]
        self.step += 1
        if self.step > MAX_STEPS:
            raise TooManySteps(f"its control flow runs more than {MAX_STEPS} operators")
        begun = self.step
        for tensor in operator.outputs:
            self._touch(start + tensor, begun, self.last[start + tensor])
        for _, body in operator.bodies:
            self.step += 1
            self._walk(body)
        if operator.op == "WHILE":
            self.loops.append((begun, self.step))
        for tensor in (*operator.inputs, *operator.outputs):
            if tensor >= 0:
                self.last[start + tensor] = self.step
        for request in self._requests.get((number, index), ()):
            self._touch(request, begun, self.step)


def planned_buffers(model: TfliteModel, scratch: tuple[Scratch, ...]) -> tuple[PlannedBuffer, ...]:
    """Every buffer that the planner places: tensors that are computed, then scratch requests."""
    lives = Lifetimes(model, scratch)
    stated = stated_plan(model)
    offsets = stated.offsets if stated else ()
    buffers: list[PlannedBuffer] = []
    for subgraph, start in zip(model.subgraphs, lives.starts, strict=True):
        buffers += _tensors(model, subgraph, start, lives, offsets)
    count = len(lives.first) - len(scratch)
    for index, (_, _, size) in enumerate(scratch, count):
        buffers.append(PlannedBuffer(index, size, lives.first[index], lives.last[index]))
    return tuple(buffers)


def _tensors(
    model: TfliteModel, subgraph: Subgraph, start: int, lives: Lifetimes, offsets: tuple[int, ...]
) -> list[PlannedBuffer]:
    """Tensors of a subgraph that the planner places; VAR_HANDLE points its output at its own data."""
    planned = []
    handles = {output for operator in subgraph.operators if operator.op == HANDLE for output in operator.outputs}
    for index, tensor in enumerate(subgraph.tensors, start):
        size = tensor_bytes(tensor)
        offset = offsets[index] if index < len(offsets) else ONLINE
        online = offset == ONLINE
        placed = model.is_constant(tensor) or index - start in handles or (tensor.is_variable and online)
        if size and not placed:
            planned.append(PlannedBuffer(index, size, lives.first[index], lives.last[index], offset))
    return planned
