"""Two versions of a model on one board, layer by layer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from firmware_check.errors import FirmwareError
from firmware_check.verdict import Differences, Disagreement, LayerVerdict, compare
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.operators.shaping import TRANSPOSE

if TYPE_CHECKING:
    from firmware_check.onnx_answers import Arrays
    from firmware_check.opening import OpenedModel
    from firmware_check.target_check import TargetCheck


LayerKey = tuple[str, bool, int]
"""What a layer makes: the tensor before its QuantizeLinear, whether the layer only moves it, and for which time."""

NOISE = 80
"""Instructions by which two measurements of the same work may differ: one count of SysTick at either end."""


@dataclass(frozen=True)
class LayerPair:
    """One layer before and after; None where the other model has no such layer."""

    label: str
    """ONNX node, as the model that has the layer names it; the one before where both have it."""
    before: LayerVerdict | None
    """The layer in the model that was given."""
    after: LayerVerdict | None
    """The layer in the model that the first one is compared with."""

    @property
    def gain(self) -> int:
        """Instructions saved, negative where there are more."""
        before, after = ((side.instructions.counted if side else 0) for side in (self.before, self.after))
        return before - after

    @property
    def rerouted(self) -> bool:
        """Tell whether another function does the work."""
        return bool(self.before and self.after and self.before.observed.effective != self.after.observed.effective)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two checks on one board, with the same inputs."""

    before: TargetCheck
    """Check of the model that was given."""
    after: TargetCheck
    """Check of the model that the first one is compared with."""
    pairs: tuple[LayerPair, ...]
    """Layers side by side."""
    outputs: tuple[Differences, ...]
    """Outputs before against after, bit for bit."""
    on_device: bool
    """Whether the outputs are the device's; else ONNX Runtime's, since layers ran alone or a defect was repaired."""
    disagreements: tuple[Disagreement, ...]
    """Changed outputs, and what --strict asks for."""

    @property
    def called(self) -> list[str]:
        """What people call the layers of the pairs."""
        return [(self.before if pair.before else self.after).called(pair.label) for pair in self.pairs]

    @property
    def agrees(self) -> bool:
        """Tell whether both checks agree and nothing is against the comparison."""
        return self.before.agrees and self.after.agrees and not self.disagreements

    @property
    def repaired(self) -> bool:
        """Tell whether the model before is defective and the one after is right, both as predicted."""
        return self.agrees and self.before.defective and self.after.right

    @property
    def verdict(self) -> str:
        """What came of the comparison, in words."""
        if not self.agrees:
            return "DISAGREES"
        if self.repaired:
            return "repaired"
        return "agrees, and is defective" if self.after.defective else "agrees"


def compare_checks(
    models: tuple[OpenedModel, OpenedModel], checks: tuple[TargetCheck, TargetCheck], inputs: list[Arrays], strict: bool
) -> Comparison:
    """Hold one check against another."""
    before, after = checks
    repaired = before.defective and not after.defective  # then the device's outputs change, ONNX Runtime's do not
    on_device = not (before.per_layer or after.per_layer or repaired)
    if on_device:
        outputs = tuple(compare(old, new) for old, new in zip(before.outputs, after.outputs, strict=True))
    else:
        outputs = _host_outputs(models, inputs)
    pairs = _pairs((models[0], before), (models[1], after))
    differing = [
        Disagreement(
            "FWC005", f"output {number}: {delta.count:,} of {delta.total:,} integers changed, by up to {delta.largest}"
        )
        for number, delta in enumerate(outputs)
        if delta.count
    ]
    if strict:
        differing += _strictly(pairs)
    return Comparison(before, after, pairs, outputs, on_device, tuple(differing))


def check_interfaces(before: OpenedModel, after: OpenedModel) -> None:
    """FirmwareError where the two models do not take the same inputs or give the same outputs."""
    for what in ("inputs", "outputs"):
        ours, others = (
            [(name, model.graph.elem_type(name), model.graph.shape(name)) for name in getattr(model.graph, what)]
            for model in (before, after)
        )
        if ours != others:
            raise FirmwareError(f"{before.path} and {after.path} have different {what}: {ours} and {others}")


def _host_outputs(models: tuple[OpenedModel, OpenedModel], inputs: list[Arrays]) -> tuple[Differences, ...]:
    names = list(models[0].graph.outputs)
    old, new = ([model.reference.tensors(names, arrays) for arrays in inputs] for model in models)
    return tuple(
        _exactly(np.stack([values[name] for values in old]), np.stack([values[name] for values in new]))
        for name in names
    )


def _exactly(old: np.ndarray, new: np.ndarray) -> Differences:
    """Differences of two arrays of any type; floats are compared by their bits."""
    if np.issubdtype(old.dtype, np.floating):
        kind = {2: np.int16, 4: np.int32, 8: np.int64}[old.dtype.itemsize]
        return compare(old.view(kind), new.view(kind))
    return compare(old, new)


def _pairs(before: tuple[OpenedModel, TargetCheck], after: tuple[OpenedModel, TargetCheck]) -> tuple[LayerPair, ...]:
    """Pairs of layers that make one tensor, in the first model's order; a layer of one model only stands alone."""
    ours, others = _layers_by_tensor(*before), _layers_by_tensor(*after)
    pairs = [LayerPair(layer.label, layer, others.get(key)) for key, layer in ours.items()]
    return (*pairs, *(LayerPair(layer.label, None, layer) for key, layer in others.items() if key not in ours))


def _layers_by_tensor(model: OpenedModel, check: TargetCheck) -> dict[LayerKey, LayerVerdict]:
    """Layers by what they make; quantization keeps the name of a tensor, and leaves nodes without one numbered anew."""
    times: Counter[tuple[str, bool]] = Counter()
    layers: dict[LayerKey, LayerVerdict] = {}
    for layer in check.layers:
        producer = model.graph.producers.get(layer.tensor)
        quantizes = producer is not None and operator_of(producer).quantizes
        tensor = producer.inputs[0] if producer is not None and quantizes else layer.tensor
        identity = tensor, layer.op_type == TRANSPOSE.name
        key = (*identity, times[identity])
        layers[key] = layer
        times[identity] += 1
    return layers


def _strictly(pairs: tuple[LayerPair, ...]) -> list[Disagreement]:
    """At least one layer's kernel or instruction count better, none worse."""
    worse = [pair for pair in pairs if pair.gain < -NOISE]
    better = [pair for pair in pairs if pair.gain > NOISE or (pair.rerouted and pair.gain >= -NOISE)]
    faults = [Disagreement("FWC006", f"layer '{pair.label}' takes {-pair.gain:,} instructions more") for pair in worse]
    if not better:
        faults.append(Disagreement("FWC006", "no layer has a better kernel or takes fewer instructions"))
    return faults
