"""The test cases of a bundle: inputs, and the outputs that PyTorch computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from firmware_check.errors import FirmwareError
from firmware_check.executorch_results import KINDS
from firmware_check.program import Elements, Program
from firmware_check.verdict import compare, compare_floats
from onnxlint_cmsis.formats.pte.names import BACKEND
from onnxlint_cmsis.formats.pte.program_records import BundledCase, BundledTensor, Method, PteTensor

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.pte.calls import ProgramCall
    from onnxlint_cmsis.formats.pte.to_graph import LoadedProgram
    from onnxlint_cmsis.ground.types import KernelCall


class _NotComputedError(Exception):
    """A call that the host does not compute; the message says which, and why."""


class CaseRun:
    """One test case, run on the host call by call: layers in integers, what lies between them as ExecuTorch does."""

    def __init__(
        self, loaded: LoadedProgram, program: Program, constants: Mapping[str, Elements], case: BundledCase
    ) -> None:
        self.case = case
        self.known: dict[str, Elements] = {}
        """Values by their keys in the graph, in the order of memory."""
        self.ended = ""
        """The first call that is not computed here, and why; empty where all are."""
        self._loaded, self._constants = loaded, constants
        self._layers = {step.label: step for step in program.steps}
        self._foreign = dict(program.foreign)
        names = [method.name for method in loaded.program.methods]
        if case.method not in names:
            raise FirmwareError(f"its test cases are for a method '{case.method}', which the program does not have")
        self._number = names.index(case.method)
        self.method: Method = loaded.program.methods[self._number]
        for what, places, values in (
            ("inputs", self.method.inputs, case.inputs),
            ("outputs", self.method.outputs, case.outputs),
        ):
            if values and len(places) != len(values):
                raise FirmwareError(
                    f"a test case has {len(values)} {what} for the {len(places)} of method '{case.method}'"
                )
        for index, given in zip(self.method.inputs, case.inputs, strict=False):
            tensor = self.method.values[index]
            if isinstance(tensor, PteTensor) and isinstance(given, BundledTensor):
                self.known[self._key(index)] = _lying_as(tensor, given)
        try:
            for node, call in zip(loaded.graph.nodes, loaded.calls, strict=True):
                if call.method == self._number and node.outputs:
                    self.known[node.outputs[0]] = self._result(call, node.inputs)
        except _NotComputedError as error:
            self.ended = str(error)

    def _key(self, index: int) -> str:
        return self._loaded.keys[self._number, index]

    def _values(self, key: str, label: str) -> Elements:
        values = self.known.get(key, self._constants.get(key))
        if values is None:
            raise _NotComputedError(f"{label} reads what is not known")
        return values.reshape(-1)

    def _result(self, call: ProgramCall, keys: tuple[str, ...]) -> Elements:
        """What a call writes."""
        if (step := self._layers.get(call.label)) is not None:
            stem = cast("KernelCall", step.call).entry.rpartition("_")[0]
            sources = [self._values(value.tensor, call.label) for value in step.inputs]
            return np.asarray(KINDS[stem].compute(step, sources).astype(np.int8).reshape(-1))
        compute, result = BETWEEN.get(call.op), call.written
        source = self.method.values[call.operands[0]] if call.operands and call.operands[0] >= 0 else None
        if compute is None or result is None or not isinstance(source, PteTensor):
            why = self._foreign.get(call.label, "")
            raise _NotComputedError(f"{call.label} is not computed on the host: {why}")
        values = self._values(keys[0], call.label)
        if values.size != prod(source.sizes) or values.size != prod(result.sizes):
            raise _NotComputedError(f"{call.label} reads {values.size} elements of {prod(source.sizes)}")
        return compute(call, values, source, result)

    def compared(self, number: int) -> tuple[Elements, Elements] | None:
        """An output and what is expected of it, in the order of memory; None for what is no tensor."""
        tensor, expected = self.method.values[self.method.outputs[number]], self.case.outputs[number]
        if not isinstance(tensor, PteTensor) or not isinstance(expected, BundledTensor):
            return None
        ours = self.known.get(self._key(self.method.outputs[number]))
        return None if ours is None else (ours, _lying_as(tensor, expected))


def _lying_as(tensor: PteTensor, given: BundledTensor) -> Elements:
    """Values of a bundle in the order of memory that the program has for them."""
    if (given.elem_type, given.sizes) != (tensor.elem_type, tensor.sizes):
        raise FirmwareError(
            f"a test case has {given.elem_type} of sizes {list(given.sizes)} for {tensor.elem_type} of sizes "
            f"{list(tensor.sizes)}"
        )
    try:
        values = np.frombuffer(given.data, np.dtype(given.elem_type))
    except TypeError:
        raise FirmwareError(f"a test case has values of {given.elem_type}, which are not read") from None
    return _reordered(values, given, tensor)


def _reordered(values: Elements, before: BundledTensor | PteTensor, after: PteTensor) -> Elements:
    """The same tensor in another order of memory."""
    laid_out = values.reshape([before.sizes[axis] for axis in before.order])
    return np.asarray(laid_out.transpose([before.order.index(axis) for axis in after.order]).reshape(-1))


def _quantized(call: ProgramCall, values: Elements, source: PteTensor, result: PteTensor) -> Elements:
    """op_quantize_per_tensor.cpp: times the reciprocal in single precision, halves to even."""
    if source.elem_type != "float32" or result.elem_type not in ("int8", "int16"):
        raise _NotComputedError(f"{call.label} makes {result.elem_type} of {source.elem_type}")
    with np.errstate(all="ignore"):
        steps = np.rint(values * (np.float32(1) / np.float32(_scale(call))))
    low, high = (call.number_of(f"quant_{end}") for end in ("min", "max"))
    whole = np.nan_to_num(steps).astype(np.float64) + call.number_of("zero_point")
    return np.asarray(np.clip(whole, low, high).astype(result.elem_type))


def _real(call: ProgramCall, values: Elements, source: PteTensor, result: PteTensor) -> Elements:
    """op_dequantize_per_tensor.cpp."""
    if source.elem_type not in ("int8", "int16") or result.elem_type != "float32":
        raise _NotComputedError(f"{call.label} makes {result.elem_type} of {source.elem_type}")
    whole = values.astype(np.int64) - call.number_of("zero_point")
    return np.asarray(whole.astype(np.float32) * np.float32(_scale(call)))


def _scale(call: ProgramCall) -> float:
    scale = call.arguments.get("scale")
    return float(scale) if isinstance(scale, float) else 0.0


def _copied(call: ProgramCall, values: Elements, source: PteTensor, result: PteTensor) -> Elements:
    if source.sizes != result.sizes or source.elem_type != result.elem_type:
        raise _NotComputedError(f"{call.label} copies into other sizes or another type")
    return _reordered(values, source, result)


BETWEEN: Mapping[str, Callable[[ProgramCall, Elements, PteTensor, PteTensor], Elements]] = {
    f"{BACKEND}quantize_per_tensor": _quantized,
    f"{BACKEND}dequantize_per_tensor": _real,
    "dim_order_ops::_clone_dim_order": _copied,
}
"""What programs have between their layers, by operator: values before and behind lie in the order of memory."""


def expectations(runs: list[CaseRun]) -> list[str]:
    """What is to be said of the test cases of one method."""
    cases = f"the test case{'s' if len(runs) > 1 else ''} of method '{runs[0].case.method}' in the bundle ({len(runs)})"
    if ended := next((run.ended for run in runs if run.ended), ""):
        return [f"{cases}: outputs are not compared: {ended}"]
    told = []
    for number in range(min(len(run.case.outputs) for run in runs)):
        pairs = [pair for run in runs if (pair := run.compared(number)) is not None]
        if not pairs:
            continue
        ours, theirs = map(np.concatenate, zip(*pairs, strict=True))
        gaps = (
            compare_floats(ours, theirs.astype(np.float64), None) if ours.dtype.kind == "f" else compare(ours, theirs)
        )
        equal = f"equals what is expected, {gaps.total:,} elements"
        unlike = (
            f"differs from what is expected in {gaps.count:,} of {gaps.total:,} elements, by up to {gaps.largest:.3g}"
        )
        told.append(f"{cases}: output {number}, computed on the host, {unlike if gaps.count else equal}")
    return told or [f"{cases}: no output is expected"]
