"""Before against after: dispatch, instructions, sizes, outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from firmware_check.errors import FirmwareError
from firmware_check.verdict import Disagreement, compare

if TYPE_CHECKING:
    from firmware_check.check import Check
    from firmware_check.opening import Model
    from firmware_check.reference import Arrays
    from firmware_check.verdict import Differences, LayerVerdict

NOISE = 80
"""Instructions by which two measurements of the same work may differ: one count of SysTick at either end."""


@dataclass(frozen=True)
class Pair:
    """One layer before and after; None where the other model has no such layer."""

    label: str
    """ONNX node."""
    before: LayerVerdict | None
    """In the model that was given."""
    after: LayerVerdict | None
    """In the model that it is held against."""

    @property
    def gain(self) -> int:
        """Instructions saved, negative where there are more."""
        return (self.before.instructions if self.before else 0) - (self.after.instructions if self.after else 0)

    @property
    def rerouted(self) -> bool:
        """Whether another function does the work."""
        return bool(self.before and self.after and self.before.observed.effective != self.after.observed.effective)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two checks on one board, with the same inputs."""

    before: Check
    """Of the model that was given."""
    after: Check
    """Of the model that it is held against."""
    pairs: tuple[Pair, ...]
    """Layers side by side."""
    outputs: tuple[Differences, ...]
    """Outputs before against after, bit for bit."""
    on_device: bool
    """Whether the outputs are the device's; else ONNX Runtime's, since each layer ran alone."""
    disagreements: tuple[Disagreement, ...]
    """Changed outputs, and what --strict asks for."""

    @property
    def agrees(self) -> bool:
        """Whether both checks agree and nothing is against the comparison."""
        return self.before.agrees and self.after.agrees and not self.disagreements


def compare_checks(
    models: tuple[Model, Model], checks: tuple[Check, Check], inputs: list[Arrays], strict: bool
) -> Comparison:
    """Hold one check against another."""
    before, after = checks
    on_device = not (before.per_layer or after.per_layer)
    outputs = _device_outputs(before, after) if on_device else _host_outputs(models, inputs)
    pairs = _pairs(before, after)
    found = [
        Disagreement(
            "FWC005", f"output {number}: {each.count} of {each.total} integers changed, by up to {each.largest}"
        )
        for number, each in enumerate(outputs)
        if each.count
    ]
    if strict:
        found += _strictly(pairs)
    return Comparison(before, after, pairs, outputs, on_device, tuple(found))


def check_interfaces(before: Model, after: Model) -> None:
    """FirmwareError where the two models do not take the same inputs or give the same outputs."""
    for what in ("inputs", "outputs"):
        one, other = ([_interface(model, name) for name in getattr(model.graph, what)] for model in (before, after))
        if one != other:
            raise FirmwareError(f"{before.path} and {after.path} have different {what}: {one} and {other}")


def _interface(model: Model, name: str) -> tuple[str, str, tuple[int | None, ...] | None]:
    return name, model.graph.elem_type(name), model.graph.shape(name)


def _device_outputs(before: Check, after: Check) -> tuple[Differences, ...]:
    return tuple(compare(one, other) for one, other in zip(before.outputs, after.outputs, strict=True))


def _host_outputs(models: tuple[Model, Model], inputs: list[Arrays]) -> tuple[Differences, ...]:
    names = list(models[0].graph.outputs)
    one, other = ([model.reference.tensors(names, each) for each in inputs] for model in models)
    return tuple(
        _exactly(np.stack([each[name] for each in one]), np.stack([each[name] for each in other])) for name in names
    )


def _exactly(one: np.ndarray, other: np.ndarray) -> Differences:
    """Differences of two arrays of any type; floats are compared by their bits."""
    if np.issubdtype(one.dtype, np.floating):
        kind = {2: np.int16, 4: np.int32, 8: np.int64}[one.dtype.itemsize]
        return compare(one.view(kind), other.view(kind))
    return compare(one, other)


def _pairs(before: Check, after: Check) -> tuple[Pair, ...]:
    """Layers by name, in the order of the model before; those that only one has stand alone."""
    others = {layer.label: layer for layer in after.layers}
    labels = {layer.label for layer in before.layers}
    pairs = [Pair(layer.label, layer, others.get(layer.label)) for layer in before.layers]
    return (*pairs, *(Pair(layer.label, None, layer) for layer in after.layers if layer.label not in labels))


def _strictly(pairs: tuple[Pair, ...]) -> list[Disagreement]:
    """At least one layer's kernel or instruction count better, none worse."""
    worse = [pair for pair in pairs if pair.gain < -NOISE]
    better = [pair for pair in pairs if pair.gain > NOISE or (pair.rerouted and pair.gain >= -NOISE)]
    found = [Disagreement("FWC006", f"layer '{pair.label}' takes {-pair.gain} instructions more") for pair in worse]
    if not better:
        found.append(Disagreement("FWC006", "no layer has a better kernel or takes fewer instructions"))
    return found
