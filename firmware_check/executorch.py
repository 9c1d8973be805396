"""A `.pte` program as firmware, with the buffers that the file plans, and its reference."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from firmware_check.bundled_cases import CaseRun, expectations
from firmware_check.errors import FirmwareError
from firmware_check.evidence.call_layer import work
from firmware_check.executorch_numbers import (
    INT8,
    LayerCall,
    known_sizes,
    whole_numbers,
)
from firmware_check.executorch_results import KINDS
from firmware_check.program import (
    FilePlan,
    Program,
    Quantization,
    Step,
    Value,
)
from firmware_check.reading.constants import refuse_out_of_range
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.ground.types import Isa, KernelCall, Target
from onnxlint_cmsis.runtimes.executorch.interpret import Interpretation
from onnxlint_cmsis.runtimes.executorch.kernels import LINEAR
from onnxlint_cmsis.runtimes.executorch.plan import handed_over
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH

if TYPE_CHECKING:
    from firmware_check.library import Library
    from firmware_check.onnx_answers import Arrays
    from onnxlint_cmsis.formats.pte.to_graph import LoadedProgram


SUMS_HOLD_BIAS = "7.0.0"
"""First release whose kernel sums hold the bias."""
MOST = 1 << 25
"""Elements of a call, or of all its windows, that are computed on the host at most: no board holds more."""


class _Space:
    """Activations by their keys in the graph, each with the memory it lies in, and the layers made so far."""

    def __init__(self, loaded: LoadedProgram, library: Library) -> None:
        target = Target("", Isa.SCALAR, library.release)
        self.loaded, self.library = loaded, library
        self.interpretation = Interpretation(loaded, (target,), EXECUTORCH._replace(brings=False, by_file=True), "")
        self.rows = self.interpretation.rows(target)
        self._buffers: dict[str, int] = {}

    def value(self, key: str, shape: tuple[int, ...], zero: int) -> Value:
        """An activation as one call reads or writes it."""
        buffer = self._buffers.setdefault(key, len(self._buffers))
        return Value(key, buffer, shape, tuple(range(len(shape))), Quantization(1.0, zero))

    def step(self, number: int) -> Step:
        """The layer of a call. Raises Unsupported."""
        call, row, node = self.loaded.calls[number], self.rows[number], self.loaded.graph.nodes[number]
        if row.call is None or row.cause == "kernel":
            raise Unsupported(row.reason)
        kernel = self.interpretation.kernels[number]
        if kernel is None:
            raise Unsupported(f"{call.op} is not run by this release of ExecuTorch")
        function = kernel.function
        if not self.library.has(function):
            raise Unsupported(f"this copy of CMSIS-NN {self.library.release} has no {function}")
        if call.tensor("kernel_sum") and not self.library.since(SUMS_HOLD_BIAS):
            raise Unsupported(f"its kernel sums hold the bias, as CMSIS-NN takes them from {SUMS_HOLD_BIAS} on")
        dims = (*row.call.input_dims, *row.call.output_dims, *row.call.filter_dims)
        if any(size is not None and size < 1 for size in dims):
            raise Unsupported("it has no elements")
        if max(work(row.call), _windows(row.call)) > MOST:
            raise Unsupported("it is larger than any board")
        stem = row.call.entry.rpartition("_")[0]
        read = KINDS[stem].read(LayerCall(self.loaded, call, row.call))
        wide = next((number for number in whole_numbers(read) if not -(2**31) <= number < 2**31), None)
        if wide is not None:
            raise Unsupported(f"it is given {wide}; a register has 32 bits")
        keys = node.inputs[: len(read.offsets)]
        if read.numbers.get("swapped"):
            keys = keys[::-1]
        tensors = [self.loaded.graph.tensors[key] for key in (*keys, node.outputs[0])]
        shapes = [tuple(cast(int, size) for size in tensor.shape or ()) for tensor in tensors]
        zeros = (*(-offset for offset in read.offsets), read.result)
        *inputs, output = map(self.value, (*keys, node.outputs[0]), shapes, zeros)
        held = () if call.op == LINEAR else handed_over(call, kernel) or None
        if held and len(held) != len(kernel.scratch):
            raise Unsupported(f"it has {len(held)} of {len(kernel.scratch)} scratch buffers")
        step = Step(
            node.label, call.op.rpartition("::")[2], stem.removeprefix("elementwise_"), tuple(inputs), output, row.call,
            function, read.arrays, read.numbers, plan=FilePlan(held, partial(self.interpretation.plan, number)),
        )  # fmt: skip
        refuse_out_of_range(step)
        return step


def _windows(call: KernelCall) -> int:
    """Elements of all windows of a call, or of the input with what they reach around it: the host lays both out."""
    window = (call.filter_dims.h or 0) * (call.filter_dims.w or 0) * (call.input_dims.c or 0)
    around = max(map(abs, (*known_sizes(call.padding), *known_sizes(call.pad_after))))
    spans = zip(call.output_dims[1:3], call.stride, call.filter_dims[1:3], call.dilation, strict=True)
    reached = [
        (out or 0) * (step or 1) + (kernel or 0) * (apart or 1) + 2 * around for out, step, kernel, apart in spans
    ]
    plane = prod(size + 2 * max(reached) for size in known_sizes(call.input_dims)[1:3])
    images = (call.input_dims.n or 0) * (call.input_dims.c or 0)
    return max(window * prod(known_sizes(call.output_dims)[:3]), plane * images if window else 0)


def executorch_program(loaded: LoadedProgram, library: Library) -> Program:
    """The calls of CMSIS-NN of all methods as layers; portable operators and delegates do not run.

    Raises:
        FirmwareError: the program has no call that can be run.

    """
    space, steps, foreign = _Space(loaded, library), [], []
    for number, node in enumerate(loaded.graph.nodes):
        try:
            steps.append(space.step(number))
        except Unsupported as error:
            foreign.append((node.label, str(error)))
    if not steps:
        reasons = "; ".join(f"{label}: {reason}" for label, reason in foreign[:3])
        raise FirmwareError("no call of CMSIS-NN that can be run" + (f" ({reasons})" if reasons else ""))
    results = {step.output.tensor: step.output for step in steps}
    given = {value.tensor: value for step in steps for value in step.inputs if value.tensor not in results}
    outputs = tuple(results[key] for key in loaded.graph.outputs if key in results)
    return Program(tuple(given.values()), tuple(steps), outputs, tuple(foreign))


class IntegerReference:
    """What the calls of a program compute, in integers of any size."""

    runtime = "the integer reference"
    """Name in messages."""

    def __init__(self, loaded: LoadedProgram, program: Program, runs: int = 1) -> None:
        self._loaded, self._program = loaded, program
        read = loaded.reader()
        self._constants = {key: values for key in loaded.constants if (values := read(key)) is not None}
        self._cases = [CaseRun(loaded, program, self._constants, case) for case in loaded.program.cases[:runs]]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the test cases of a bundle say, method by method; nothing of a file without any."""
        methods = dict.fromkeys(run.case.method for run in self._cases)
        groups = ([run for run in self._cases if run.case.method == method] for method in methods)
        return tuple(text for group in groups for text in expectations(group))

    def random_inputs(self, seed: int, count: int, ranges: dict[str, tuple[float, float]]) -> list[Arrays]:  # noqa: ARG002
        """Sets of inputs for what no layer makes: of a bundle's test cases, else random int8 from a seed.

        Constants are as they are.
        """
        generator = np.random.default_rng(seed)
        sets = []
        for number in range(count):
            known = {**self._constants, **(self._cases[number % len(self._cases)].known if self._cases else {})}
            sets.append(
                {
                    value.tensor: np.asarray(known[value.tensor]).reshape(value.shape)
                    if value.tensor in known
                    else generator.integers(*INT8, value.shape, np.int8, endpoint=True)
                    for value in self._program.inputs
                }
            )
        return sets

    def tensors(self, names: list[str], inputs: Arrays) -> Arrays:
        """Values of any tensors that layers read or make, for one set of inputs."""
        known = dict(inputs)
        for step in self._program.steps:
            known[step.output.tensor] = self.layer(step, known)
        missing = next((name for name in names if name not in known), None)
        if missing is not None:
            raise FirmwareError(f"{self._loaded.program.path}: no call of CMSIS-NN makes '{missing}'")
        return {name: known[name] for name in names}

    def layer(self, step: Step, inputs: Arrays) -> np.ndarray:
        """What one layer makes of its inputs, which are given under the keys of their tensors."""
        stem = cast("KernelCall", step.call).entry.rpartition("_")[0]
        values = KINDS[stem].compute(step, [inputs[value.tensor].reshape(-1) for value in step.inputs])
        if values.size != prod(step.output.shape):
            raise FirmwareError(
                f"{self._loaded.program.path}: '{step.label}' computes {values.size} numbers, and the file says "
                f"{list(step.output.shape)} of its result"
            )
        return values.astype(np.int8).reshape(step.output.shape)
