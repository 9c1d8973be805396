"""One model on one board: generate, build, run, judge."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from firmware_check.build import Bench, Image
from firmware_check.compilers import label_of
from firmware_check.errors import FirmwareError, TooLargeError
from firmware_check.execution import execute
from firmware_check.float_arithmetic import FloatOutput, float_output
from firmware_check.groups import groups_of, halves
from firmware_check.judging import CURVE_ERROR, damage_of, judge
from firmware_check.memory import Memory, memory_of, merged
from firmware_check.onnx_answers import Arrays, input_ranges
from firmware_check.opening import OpenedModel
from firmware_check.program import Program, Step, Value, side_by_side
from firmware_check.progress import Progress
from firmware_check.reading.left_out import advice_on
from firmware_check.reference import UNDEFINED, softmax_output
from firmware_check.room import check_room
from firmware_check.target_check import TargetCheck
from firmware_check.verdict import (
    ComparedOutputs,
    Differences,
    LayerVerdict,
    compare,
    compare_floats,
)
from onnxlint_cmsis.cmsis_nn.library import Route, route
from onnxlint_cmsis.cmsis_nn.releases import DEFAULT_RELEASE
from onnxlint_cmsis.formats.format import format_of
from onnxlint_cmsis.ground.types import Function, Target
from onnxlint_cmsis.runtimes.runtime import AUTO, Runtime, runtime_for


def inputs_of(model: OpenedModel, seed: int, count: int) -> list[Arrays]:
    """Sets of inputs from a seed."""
    return model.reference.random_inputs(seed, count, input_ranges(model.graph, model.program))


def run_on_board(model: OpenedModel, bench: Bench, inputs: list[Arrays], folder: Path, per_layer: bool) -> TargetCheck:
    """Run a model on a board, whole or layer by layer; models with foreign nodes always run layer by layer.

    Layers are judged on the first set of inputs, the model's outputs on all.
    """
    steps = model.program.steps
    progress = Progress(f"{model.path} on {bench.board.cpu}", len(steps))
    runner = _Runner(model, replace(bench, watch=progress.ran), bench.target, folder)
    progress.at(f"compiling {len(steps)} layers")
    try:
        apart = per_layer or model.program.foreign
        return runner.layer_by_layer(inputs) if apart else runner.whole(inputs)
    finally:
        progress.close()


@dataclass(frozen=True, eq=False)
class _Ran:
    """One program that ran in both builds."""

    layers: tuple[LayerVerdict, ...]
    outputs: list[list[np.ndarray]]
    """The model's outputs for each set; empty where layers ran apart."""
    image: Image
    memory: Memory


def _taken(taken: Route) -> tuple[object, ...]:
    """What of a route the linter judges, without its costs."""
    return taken.chain, taken.effective, taken.status, tuple(hazard.id for hazard in taken.hazards)


class Uneven:
    """Memory in which the traced and the untraced build hold other bytes."""

    def __init__(self) -> None:
        self._buffers: set[int] = set()
        self._overrun = False

    def made_by(
        self,
        step: Step,
        traced: np.ndarray,
        untraced: np.ndarray,
        overruns: bool = False,
        slack: np.ndarray | None = None,
    ) -> bool:
        """Tell whether a layer writes other bytes in one build than in the other although both give it the same inputs.

        With `slack` numbers may differ by so much: compilers fuse products and sums in one build and not in the other.
        Behind a layer that `overruns` its memory nobody knows what the next ones read.
        """
        given = self._overrun or any(value.buffer in self._buffers for value in step.inputs)
        self._overrun |= overruns
        same = np.array_equal(traced, untraced)
        (self._buffers.discard if same else self._buffers.add)(step.output.buffer)
        if slack is not None and not given:
            return (compare_floats(traced, untraced.astype(np.float64), slack).strain or 0) > 1
        return not same and not given


CURVES = (Function.ACTIVATION, Function.SOFTMAX)
"""Functions that ONNX Runtime approximates too."""


def _unjudged(value: Value, ours: np.ndarray, expected: list[np.ndarray]) -> Differences:
    """A model's output against ONNX Runtime's: layers are judged, and what their roundings add up to is shown."""
    whole = np.stack(expected)
    return compare_floats(ours, whole.astype(np.float64), None) if value.quantization.floating else compare(ours, whole)


@dataclass(frozen=True, eq=False)
class _Runner:
    model: OpenedModel
    bench: Bench
    target: Target
    folder: Path

    def whole(self, inputs: list[Arrays]) -> TargetCheck:
        """All layers in one image, each judged on the inputs that the device gave it."""
        program = self.model.program
        places = [self._writer_of(value) for value in program.outputs]
        names = [value.tensor for value in (*program.inputs, *program.outputs)]
        try:
            check_room(program, self.bench.board, self.target)
            known = [self.model.reference.tensors(names, arrays) for arrays in inputs]
            ran = self._run(program, known, self.folder)
        except TooLargeError as error:
            raise FirmwareError(f"the model does not fit the board: {error}; --per-layer needs less") from None
        outputs = tuple(
            np.stack([value.from_memory(memory[output_index]) for memory in ran.outputs])
            for value, output_index in zip(program.outputs, places, strict=True)
        )
        differences = tuple(
            _unjudged(value, ours, [value.held(tensors[value.tensor]) for tensors in known])
            for ours, value in zip(outputs, program.outputs, strict=True)
        )
        result = self._check([ran], False, ())
        return replace(result, sizes=ran.image.sizes, outputs=outputs, output_differences=differences)

    def _writer_of(self, output: Value) -> int:
        """Number of the layer that makes an output."""
        writers = [
            number for number, step in enumerate(self.model.program.steps) if step.output.buffer == output.buffer
        ]
        if not writers:
            raise FirmwareError(f"{self.model.path}: output '{output.tensor}' is an input, moved at most")
        return writers[-1]

    def layer_by_layer(self, inputs: list[Arrays]) -> TargetCheck:
        """Each layer that fits the board alone, on inputs recorded from ONNX Runtime; many in one image."""
        steps = self.model.program.steps
        groups, large = groups_of(steps, self.bench.board, self.target)
        known = self.model.reference.tensors([value.tensor for step in steps for value in step.inputs], inputs[0])
        runs = [ran for group in groups for ran in self._group(group, known, large)]
        if not runs:
            raise FirmwareError(f"no layer fits the board: {large[0][0].label}: {large[0][1]}")
        left = [(step.label, f"it alone does not fit the board: {why}") for step, why in large]
        return self._check(runs, True, tuple(left))

    def _group(self, steps: tuple[Step, ...], known: Arrays, large: list[tuple[Step, str]]) -> list[_Ran]:
        """A group of layers in one image; in two where they turn out not to fit together."""
        folder = self.folder / f"layers_{self.model.program.steps.index(steps[0])}_{len(steps)}"
        try:
            return [self._run(side_by_side(steps), [known], folder)]
        except TooLargeError as error:
            if len(steps) == 1:
                large.append((steps[0], str(error)))
                return []
        return [ran for half in halves(steps) for ran in self._group(half, known, large)]

    def _check(self, ran: list[_Ran], per_layer: bool, large: tuple[tuple[str, str], ...]) -> TargetCheck:
        memory = merged([part.memory for part in ran]) if per_layer else ran[0].memory
        rescued = dict.fromkeys(name for part in ran for name in part.image.rescued)
        row = self.bench.compiler
        remarks = [
            f"{label_of(row)} ends with an internal error in {name}: compiled without {row.rescued}" for name in rescued
        ]
        remarks += self.model.remarks
        foreign = (*self.model.program.foreign, *large)
        remarks += advice_on(reason for _, reason in foreign)
        flagged = flagged_layers(self.model, self.target, {label for label, _ in foreign})
        return TargetCheck(
            self.model.path, self.target, self.bench.board, per_layer,
            tuple(layer for part in ran for layer in part.layers), foreign, memory, compiler=label_of(row),
            remarks=tuple(remarks), unseen=flagged, runtime=self.model.reference.runtime,
            otherwise=self._otherwise(), default=self.default, names=self._names(), floating=self.model.assume,
        )  # fmt: skip

    def _otherwise(self) -> tuple[str, ...] | None:
        """Layers whose call takes another kernel or has other hazards where the linter is not told a release."""
        if self.model.assume:  # the default release has no function for f32 or f16
            return None
        default = self.target._replace(release=self.default)
        calls = ((step, step.call) for step in self.model.program.steps if step.call is not None)
        others = tuple(
            step.label
            for step, call in calls
            if (not step.function and self.target != default)
            or _taken(route(call, self.target)) != _taken(route(call, self._runtime.library(call.entry, default)))
        )
        return others if others or self.target != default else None

    @property
    def _runtime(self) -> Runtime:
        """What the linter judges a file of this format for."""
        return runtime_for(Runtime(AUTO), format_of(self.model.path))

    @property
    def default(self) -> str:
        """Release that the linter judges where it is told none: that of the runtime, where one reads the file."""
        return self._runtime.release or DEFAULT_RELEASE

    def _names(self) -> Mapping[str, str]:
        """Short forms of the names of nodes, as the linter shows them."""
        from onnxlint_cmsis.analysis.layer_names import layer_names

        return layer_names(self.model.analysis(self.target)).names

    def _run(self, program: Program, known: list[Arrays], folder: Path) -> _Ran:
        """The traced build on the first set of inputs and the untraced one on all, judged."""
        given = program.given()
        sets = [[value.to_memory(value.held(tensors[value.tensor])) for value in given] for tensors in known]
        done = execute(program, self.bench, folder, self.model.path, sets)
        memory = {value.buffer: array for value, array in zip(given, sets[0], strict=True)}
        verdicts, uneven = [], Uneven()
        for number, step in enumerate(program.steps):
            output = done.traced.outputs[0][number]
            reports = done.traced.layers[number], done.plain.layers[number]
            outputs = self._compared(step, memory, output)
            overruns, plain = bool(damage_of(*reports)), done.plain.outputs[0][number]
            differs = uneven.made_by(step, output, plain, overruns, self._slack(step, memory))
            verdict = judge(step, self.bench, done.observed[number], reports, replace(outputs, uneven=differs))
            verdicts.append(verdict)
            memory[step.output.buffer] = output
        memory_used = memory_of(program, self.bench, self.target, done.image, verdicts)
        return _Ran(tuple(verdicts), done.plain.outputs, done.image, memory_used)

    def _slack(self, step: Step, memory: dict[int, np.ndarray]) -> np.ndarray | None:
        """By how much two builds may differ: each by what rounding allows; None where they may not."""
        bound = self._exact(step, memory)
        return None if bound is None else 2 * bound.allowed

    def _exact(self, step: Step, memory: dict[int, np.ndarray]) -> FloatOutput | None:
        if not step.output.quantization.floating:
            return None
        return float_output(step, [memory[value.buffer] for value in step.inputs])

    def _floats(self, step: Step, memory: dict[int, np.ndarray], output: np.ndarray) -> ComparedOutputs:
        """A float layer's output against double precision and ONNX Runtime, which rounds as much once more."""
        exact, runtime = self._exact(step, memory), self.model.reference.runtime
        if step.output.tensor == step.inputs[0].tensor:  # no ONNX node makes it: the same tensor lies in another way
            source = step.inputs[0].from_memory(memory[step.inputs[0].buffer])
            ours = step.output.from_memory(output)
            return ComparedOutputs(compare_floats(ours, np.broadcast_to(source, ours.shape), np.zeros(ours.shape)))
        inputs = {value.tensor: value.onnx(value.from_memory(memory[value.buffer])) for value in step.inputs}
        theirs = step.output.to_memory(self.model.reference.layer(step, inputs)).astype(np.float64)
        if exact is None:  # reference code moves what is there
            return ComparedOutputs(compare_floats(output, theirs, np.zeros(output.shape), runtime))
        unlike = compare_floats(output, exact.values, exact.allowed, "double precision")
        allowed = 2 * exact.allowed + (CURVE_ERROR if step.call and step.call.function in CURVES else 0.0)
        return ComparedOutputs(compare_floats(output, theirs, allowed, runtime), unlike)

    def _compared(self, step: Step, memory: dict[int, np.ndarray], output: np.ndarray) -> ComparedOutputs:
        """A layer's output against ONNX Runtime's, and against plain integers where a function's are written down."""
        if step.output.quantization.floating:
            return self._floats(step, memory, output)
        expected = softmax_output(step, memory[step.inputs[0].buffer])
        if expected is None:
            return ComparedOutputs(self._differences(step, memory, output))
        differences = None if step.plan else self._differences(step, memory, output)
        unlike = compare(output[expected.defined], expected.values[expected.defined], "plain integers")
        left = output.size - unlike.total
        how = f"compared with {differences.runtime} alone" if differences else "not compared"
        remarks = (UNDEFINED.format(count=left, how=how),) if left else ()
        return ComparedOutputs(differences, unlike, remarks)

    def _differences(self, step: Step, memory: dict[int, np.ndarray], output: np.ndarray) -> Differences:
        """A layer's output against what ONNX Runtime makes of the same inputs."""
        ours = step.output.from_memory(output)
        if step.output.tensor == step.inputs[0].tensor:  # no ONNX node makes it: the same tensor lies in another way
            source = step.inputs[0].from_memory(memory[step.inputs[0].buffer])
            return compare(ours, np.broadcast_to(source, ours.shape), self.model.reference.runtime)
        inputs = {value.tensor: value.onnx(value.from_memory(memory[value.buffer])) for value in step.inputs}
        expected = step.output.held(self.model.reference.layer(step, inputs))
        return compare(ours, expected, self.model.reference.runtime)


def flagged_layers(model: OpenedModel, target: Target, labels: Set[str]) -> tuple[tuple[str, str], ...]:
    """Label and hazard of each layer among `labels` that the target computes wrongly."""
    if not labels:
        return ()
    records = model.analysis(target).lowered.records
    calls = [(record.node.label, record.call) for record in records if record.call is not None]
    return tuple(
        (label, hazard.id) for label, call in calls if label in labels for hazard in route(call, target).hazards
    )
