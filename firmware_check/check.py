"""One model on one board: generate, build, run, judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from firmware_check.build import Bench, Image, build
from firmware_check.errors import FirmwareError, TooLargeError
from firmware_check.memory import Memory, memory_of, merged
from firmware_check.observe import observe
from firmware_check.reference import Arrays, input_ranges
from firmware_check.run import run_image
from firmware_check.toolchain import SectionSizes, symbols
from firmware_check.verdict import TOLERANCE, Differences, Disagreement, LayerVerdict, compare, judge
from onnxlint_cmsis.types import Target

if TYPE_CHECKING:
    from firmware_check.boards import Board
    from firmware_check.opening import OpenedModel
    from firmware_check.program import Program, Step, Value


@dataclass(frozen=True, eq=False)
class TargetCheck:
    """What one model did on one board."""

    path: str
    """Model file."""
    target: Target
    """CPU, release, compiler."""
    board: Board
    """Board it ran on."""
    per_layer: bool
    """Whether each layer ran alone, with inputs recorded from ONNX Runtime."""
    layers: tuple[LayerVerdict, ...]
    """Layers in the order they ran."""
    foreign: tuple[tuple[str, str], ...]
    """Nodes that did not run, with the reason."""
    memory: Memory
    """Flash and RAM, predicted and found."""
    sizes: SectionSizes | None = None
    """Of the untraced image; None where each layer has its own."""
    outputs: tuple[np.ndarray, ...] = ()
    """The model's outputs for all sets of inputs, as integers; empty where each layer ran alone."""
    output_differences: tuple[Differences, ...] = ()
    """Those outputs against the host's of the whole model."""
    runtime: str = "ONNX Runtime"
    """What computed the model on the host."""

    @property
    def instructions(self) -> int:
        """Instructions of all layers, not cycles."""
        return sum(layer.instructions for layer in self.layers)

    @property
    def predicted(self) -> dict[str, int]:
        """What onnxlint_cmsis predicts of the instructions, where it has a cost."""
        known = [layer for layer in self.layers if layer.predicted_instructions is not None]
        return {
            "layers": len(known),
            "instructions": sum(layer.predicted_instructions or 0 for layer in known),
            "measured": sum(layer.instructions for layer in known),
        }

    @property
    def agrees(self) -> bool:
        """Whether every layer is as predicted and right."""
        return not any(layer.disagreements for layer in self.layers)


def added_up(check: TargetCheck) -> list[str]:
    """One sentence for each output beyond the tolerance of a layer, where every layer is right."""
    layers = [layer.differences.largest for layer in check.layers if layer.differences]
    if not check.agrees or len(layers) < len(check.layers):
        return []
    return [
        f"output {number} differs from {check.runtime}'s by up to {found.largest} (in {found.count} of {found.total}"
        f" elements) although no layer, given the device's own input of the first set, differs by more than"
        f" {max(layers)}: differences of rounding in a layer reach the layers behind it and can add up"
        for number, (found, output) in enumerate(zip(check.output_differences, check.outputs, strict=True))
        if found.largest > max(TOLERANCE[8 * output.itemsize], *layers)
    ]


def inputs_of(model: OpenedModel, seed: int, count: int) -> list[Arrays]:
    """Sets of inputs from a seed."""
    return model.reference.random_inputs(seed, count, input_ranges(model.graph, model.program))


def check(model: OpenedModel, bench: Bench, inputs: list[Arrays], folder: Path, per_layer: bool) -> TargetCheck:
    """Run a model on a board, whole or layer by layer; models with foreign nodes always run layer by layer.

    Layers are judged on the first set of inputs, the model's outputs on all.
    """
    runner = _Runner(model, bench, Target(bench.board.cpu, bench.board.isa, bench.library.release), folder)
    return runner.layer_by_layer(inputs) if per_layer or model.program.foreign else runner.whole(inputs)


@dataclass(frozen=True, eq=False)
class _Ran:
    """One program that ran in both builds."""

    layers: tuple[LayerVerdict, ...]
    outputs: list[list[np.ndarray]]
    image: Image
    memory: Memory


@dataclass(frozen=True, eq=False)
class _Runner:
    model: OpenedModel
    bench: Bench
    target: Target
    folder: Path

    def whole(self, inputs: list[Arrays]) -> TargetCheck:
        """All layers in one image, each judged on the inputs that the device gave it."""
        program = self.model.program
        names = [value.tensor for value in (*program.inputs, *program.outputs)]
        known = [self.model.reference.tensors(names, each) for each in inputs]
        try:
            ran = self._run(program, known, self.folder)
        except TooLargeError as error:
            raise FirmwareError(f"the model does not fit the board: {error}; --per-layer needs less") from None
        places = [self._place(value) for value in program.outputs]
        outputs = tuple(
            np.stack([value.from_memory(memory[place]) for memory in ran.outputs])
            for value, place in zip(program.outputs, places, strict=True)
        )
        differences = tuple(
            compare(ours, np.stack([value.integers(each[value.tensor]) for each in known]))
            for ours, value in zip(outputs, program.outputs, strict=True)
        )
        found = self._check(ran.layers, ran.memory, False)
        return replace(found, sizes=ran.image.sizes, outputs=outputs, output_differences=differences)

    def _place(self, output: Value) -> int:
        """Number of the layer that makes an output."""
        made = [number for number, step in enumerate(self.model.program.steps) if step.output.buffer == output.buffer]
        if not made:
            raise FirmwareError(f"{self.model.path}: output '{output.tensor}' is an input, moved at most")
        return made[-1]

    def layer_by_layer(self, inputs: list[Arrays]) -> TargetCheck:
        """Each layer that fits the board in a separate image, on inputs recorded from ONNX Runtime."""
        layers: list[LayerVerdict] = []
        large: list[tuple[str, str]] = []
        memories: list[Memory] = []
        steps = self.model.program.steps
        known = self.model.reference.tensors([value.tensor for step in steps for value in step.inputs], inputs[0])
        for number, step in enumerate(steps):
            folder = self.folder / f"layer_{number}"
            folder.mkdir(exist_ok=True)
            try:
                ran = self._run(self.model.program.alone(step), [known], folder)
            except TooLargeError as error:
                large.append((step.label, f"it alone does not fit the board: {error}"))
                continue
            layers += ran.layers
            memories.append(ran.memory)
        if not layers:
            raise FirmwareError(f"no layer fits the board: {large[0][0]}: {large[0][1]}")
        return replace(
            self._check(tuple(layers), merged(memories), True), foreign=(*self.model.program.foreign, *large)
        )

    def _check(self, layers: tuple[LayerVerdict, ...], memory: Memory, per_layer: bool) -> TargetCheck:
        foreign = self.model.program.foreign
        found = TargetCheck(self.model.path, self.target, self.bench.board, per_layer, layers, foreign, memory)
        return replace(found, runtime=self.model.reference.runtime)

    def _run(self, program: Program, known: list[Arrays], folder: Path) -> _Ran:
        """The traced build on the first set of inputs and the untraced one on all, judged."""
        sets = [[value.to_memory(value.integers(each[value.tensor])) for value in program.inputs] for each in known]
        images = [build(program, self.bench, folder, self.model.path, traced) for traced in (True, False)]
        traced = run_image(images[0].path, program, self.bench, sets[:1], True)
        plain = run_image(images[1].path, program, self.bench, sets, True)
        names = symbols(images[0].path)
        memory = {value.buffer: array for value, array in zip(program.inputs, sets[0], strict=True)}
        verdicts = []
        for number, step in enumerate(program.steps):
            output = traced.outputs[0][number]
            reports = traced.layers[number], plain.layers[number]
            observed = observe(reports[0].calls, names, self.bench.library.returning_status)
            verdict = judge(step, self.target, observed, reports, self._differences(step, memory, output))
            if not np.array_equal(output, plain.outputs[0][number]):
                other = Disagreement("FWC001", "the traced and the untraced build give different outputs")
                verdict = replace(verdict, disagreements=(*verdict.disagreements, other))
            verdicts.append(verdict)
            memory[step.output.buffer] = output
        memory_used = memory_of(program, self.bench, self.target, images[1], verdicts)
        return _Ran(tuple(verdicts), plain.outputs, images[1], memory_used)

    def _differences(self, step: Step, memory: dict[int, np.ndarray], output: np.ndarray) -> Differences:
        """A layer's output against what ONNX Runtime makes of the same inputs."""
        ours = step.output.from_memory(output)
        if step.output.tensor == step.inputs[0].tensor:  # no ONNX node makes it: the same tensor lies in another way
            source = step.inputs[0].from_memory(memory[step.inputs[0].buffer])
            return compare(ours, np.broadcast_to(source, ours.shape), self.model.reference.runtime)
        inputs = {value.tensor: value.onnx(value.from_memory(memory[value.buffer])) for value in step.inputs}
        made = step.output.integers(self.model.reference.layer(step, inputs))
        return compare(ours, made, self.model.reference.runtime)
