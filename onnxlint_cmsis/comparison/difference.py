"""What changed from one version of a model to the next."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.results.fingerprint import identity
from onnxlint_cmsis.results.grouped_findings import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnxlint_cmsis.cmsis_nn.cost.predicted_time import PredictedTime
    from onnxlint_cmsis.findings import Finding
    from onnxlint_cmsis.layer_rows import Row
    from onnxlint_cmsis.layers_report import LayersReport, Total
    from onnxlint_cmsis.results.file_result import FileResult

METRICS = ("findings", "instructions", "macs", "flash", "arena", "scratch", "unknown_layers")
"""Figures that are compared: flash is the bytes of constants, arena those of activations."""


class ModelVersion(NamedTuple):
    """All that is known of one version."""

    name: str
    """As the user named it."""
    result: FileResult
    """Its findings, each by itself."""
    layers: LayersReport
    """Its layers."""


class Figure(NamedTuple):
    """One number of both versions."""

    metric: str
    """One of METRICS."""
    target: str
    """Label of the target; empty where it holds for all."""
    before: int | None
    """Number of the first version, None where unknown."""
    after: int | None
    """Number of the second."""

    @property
    def change(self) -> int | None:
        """By how much it grew; None where one is unknown."""
        return None if self.before is None or self.after is None else self.after - self.before


class TimePair(NamedTuple):
    """How long both versions are predicted to take on one target that has a clock."""

    target: str
    """Label of the target."""
    before: PredictedTime | None
    """Time of the first version; None where it has no such target."""
    after: PredictedTime | None
    """Time of the second."""


class LayerDifference(NamedTuple):
    """A layer that is new, gone, or has another kernel or cost on a target."""

    layer: str
    """What pairs its rows: the node, or the tensor that an operator of a `.tflite` file writes."""
    target: str
    """Label of the target."""
    before: Row | None
    """Its row in the first version; None where it is new."""
    after: Row | None
    """Its row in the second; None where it is gone."""


class ModelDifference(NamedTuple):
    """Two versions of a model."""

    before: str
    """Name of the first."""
    after: str
    """Name of the second."""
    came: tuple[Finding, ...]
    """Findings of the second that the first has not, equal causes as one."""
    went: tuple[Finding, ...]
    """Findings of the first that the second has not."""
    stayed: int
    """Findings that both have."""
    figures: tuple[Figure, ...]
    """Numbers of both."""
    layers: tuple[LayerDifference, ...]
    """Layers that changed."""
    names: Mapping[str, str] = {}
    """Short forms of names, for people."""
    libraries: tuple[str, str] = ("", "")
    """CMSIS-NN and compiler that each version is judged for; both empty for a version without layers."""
    arena_exact: bool = False
    """Whether the arenas of both are known to the byte."""
    times: tuple[TimePair, ...] = ()
    """Predicted times; none where no clock is given."""


def difference(before: ModelVersion, after: ModelVersion) -> ModelDifference:
    """What changed; findings are the same where rule, node and tensor are, whatever the sizes."""
    old, new = before.result.told, after.result.told
    came, went = _beyond(new, old), _beyond(old, new)
    return ModelDifference(
        before.name,
        after.name,
        grouped(came),
        grouped(went),
        len(new) - len(came),
        tuple(_figures(before, after)),
        tuple(_layers(before.layers, after.layers)),
        {**before.result.names, **before.layers.names, **after.result.names, **after.layers.names},
        (_library(before.layers), _library(after.layers)),
        all(total.arena_used is not None for each in (before, after) for total in each.layers.totals),
        tuple(_times(before.layers, after.layers)),
    )


def _cpu(label: str) -> str:
    """CPU of a target's label: versions of two formats are judged for two releases."""
    return label.partition(", ")[0]


def _library(layers: LayersReport) -> str:
    return layers.totals[0].target.partition(", ")[2] if layers.totals else ""


def _beyond(findings: Sequence[Finding], others: Sequence[Finding]) -> list[Finding]:
    """The findings without those that the others have as well."""
    known = Counter(identity(finding) for finding in others)
    left = []
    for finding in findings:
        key = identity(finding)
        known[key] -= 1
        if known[key] < 0:
            left.append(finding)
    return left


def _figures(before: ModelVersion, after: ModelVersion) -> Iterator[Figure]:
    yield Figure("findings", "", len(before.result.told), len(after.result.told))
    old, new = (_by_cpu(each.layers) for each in (before, after))
    for cpu in dict.fromkeys((*old, *new)):
        target = (new.get(cpu) or old[cpu]).target
        pairs = zip(_numbers(old.get(cpu)), _numbers(new.get(cpu)), strict=True)
        yield from (Figure(metric, target, *pair) for metric, pair in zip(METRICS[1:], pairs, strict=True))


def _by_cpu(layers: LayersReport) -> dict[str, Total]:
    return {_cpu(total.target): total for total in layers.totals}


def _times(before: LayersReport, after: LayersReport) -> Iterator[TimePair]:
    old, new = _by_cpu(before), _by_cpu(after)
    for cpu in dict.fromkeys((*old, *new)):
        pair = [side[cpu].time if cpu in side else None for side in (old, new)]
        if any(pair):
            yield TimePair((new.get(cpu) or old[cpu]).target, *pair)


def _numbers(total: Total | None) -> tuple[int | None, ...]:
    """The figures of a target in the order of METRICS."""
    if total is None:
        return (None,) * (len(METRICS) - 1)
    arena = total.arena if total.arena_used is None else total.arena_used
    instructions = total.instructions if total.cost_known else None
    return instructions, total.macs, total.constants, arena, total.scratch, total.unknown_layers


def _layers(before: LayersReport, after: LayersReport) -> Iterator[LayerDifference]:
    two_formats = _of_tflite(before) != _of_tflite(after)
    old, new = (_by_place(each.rows, each.names if two_formats else {}) for each in (before, after))
    for place in dict.fromkeys((*new, *old)):
        pair = old.get(place), new.get(place)
        if _seen(pair[0]) != _seen(pair[1]):
            target = str((pair[1] or pair[0] or {})["target"])
            yield LayerDifference(place[0], target, *pair)


def _of_tflite(layers: LayersReport) -> bool:
    return any("index" in row for row in layers.rows)


def _by_place(rows: Sequence[Row], names: Mapping[str, str]) -> dict[tuple[str, str, int], Row]:
    """Rows by layer and CPU; layers of one name are told apart by their order.

    An operator of a `.tflite` file goes by the tensor it writes, since its number moves. `names` are those that two
    formats share.
    """
    found: dict[tuple[str, str, int], Row] = {}
    for row in rows:
        if not row.get("layer", True):
            continue
        name, cpu = str(row["output"] if "index" in row else row["node"]), _cpu(str(row["target"]))
        name = names.get(name, name)
        number = next(n for n in range(len(rows) + 1) if (name, cpu, n) not in found)
        found[name, cpu, number] = row
    return found


def _seen(row: Row | None) -> tuple[object, ...] | None:
    """What makes a layer another one for the reader."""
    if row is None:
        return None
    return *(row.get(name) for name in ("verdict", "kernel", "effective", "instructions")), row.get("macs") or 0
