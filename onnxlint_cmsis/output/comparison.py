"""What differs between two versions of a model."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.fingerprints import identity
from onnxlint_cmsis.analysis.grouped import grouped
from onnxlint_cmsis.analysis.pairing import LayerKey, paired
from onnxlint_cmsis.analysis.verdict_text import VerdictLine, cpu_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.output.proofs import proof_text
from onnxlint_cmsis.runtimes.tflm.resolver import more_methods

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnxlint_cmsis.analysis.layer_totals import Total
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.analysis.proof_results import Proof
    from onnxlint_cmsis.analysis.results import FileResult
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.output.layers import LayersReport
    from onnxlint_cmsis.timing.predicted_time import PredictedTime


METRICS = ("findings", "instructions", "most_instructions", "macs", "flash", "arena", "scratch", "unknown_layers")
"""Figures that are compared: flash is the bytes in flash beside code, arena those of activations or to write for it.

`most_instructions` is compared where a layer or copy has a range in place of one number, and no layer is left out.
"""


class ModelVersion(NamedTuple):
    """All that is known of one version."""

    name: str
    """As the user named it."""
    result: FileResult
    """Its findings, each by itself."""
    layers: LayersReport
    """Its layers."""
    keys: Mapping[str, LayerKey] = {}
    """What tells its layers from others, by label; a layer without a key is known by its name and sizes."""


class LeftOut(NamedTuple):
    """A layer whose cost is known in one version alone, so that the sums of both leave it out."""

    layer: str
    """Its node, or the label of an operator of a `.tflite` file; of the second version where both have it."""
    before: int | None
    """Predicted instructions in the first version; None where unknown or where it has no such layer."""
    after: int | None
    """Predicted instructions in the second version."""


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
    left_out: tuple[LeftOut, ...] = ()
    """Of the instructions: layers that take no part, since their cost is known in one version alone."""
    ranges: tuple[tuple[int, int], ...] = ()
    """Of `most_instructions`: the least and the most of each version."""

    @property
    def change(self) -> int | None:
        """By how much it grew; None where one is unknown."""
        return None if self.before is None or self.after is None else self.after - self.before


class VerdictPair(NamedTuple):
    """The verdicts on both versions on some targets."""

    targets: tuple[str, ...]
    """CPUs."""
    before: str
    """Words on the first version, `RUNS (as int8, once quantized)`; `none` where it has no such CPU."""
    after: str
    """Words on the second."""


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
    before: LayerReport | None
    """Its row in the first version; None where it is new."""
    after: LayerReport | None
    """Its row in the second; None where it is gone."""


class OutputAnswer(NamedTuple):
    """Whether two versions compute the same."""

    every_input: bool
    """Whether outputs are equal for every input, in the integers of a device."""
    reason: str
    """Why that is not known, as a clause; empty where it is."""
    sample: Proof | None = None
    """Outputs of both on some inputs; None where nothing was run."""

    @property
    def text(self) -> str:
        """The answer for people."""
        sample = self.sample
        if self.every_input:
            return "equal for every input"
        if sample is None:
            return f"not known to be equal: {self.reason}"
        if sample.equal:
            return f"equal on {proof_text(sample)}; not known for every input: {self.reason}"
        if any(difference.largest for difference in sample.differences):
            return f"differ: {sample.reason}"
        return f"not known to be equal: {self.reason}; a run could not tell either: {sample.reason}"


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
    verdicts: tuple[VerdictPair, ...] = ()
    """Verdicts, equal ones of several CPUs together."""
    registers: tuple[str, ...] = ()
    """What the application of the second registers in TensorFlow Lite Micro besides: `AddConcatenation()`."""
    outputs: OutputAnswer | None = None
    """Whether both compute the same; None where nobody asked."""

    @property
    def registering(self) -> str:
        """What the application has to register besides, as a sentence; empty for nothing."""
        return f"the application has to register {' and '.join(self.registers)} besides" if self.registers else ""


def difference(before: ModelVersion, after: ModelVersion) -> ModelDifference:
    """What changed; findings are the same where rule, node and tensor are, whatever the sizes."""
    sides = _sides(before, after)
    came, went = _changed_findings(before, after, sides)
    return ModelDifference(
        before.name,
        after.name,
        grouped(came),
        grouped(went),
        len(after.result.told) - len(came),
        tuple(_figures(before, after, _known_in_one(*sides, "instructions"))),
        tuple(_layers(*sides)),
        {**before.layers.names, **after.layers.names},
        (_library(before.layers), _library(after.layers)),
        all(total.arena_used is not None for version in (before, after) for total in version.layers.totals),
        tuple(_times(before.layers, after.layers, _known_in_one(*sides, "time"))),
        _verdicts(before.result, after.result),
        more_methods(before.layers.resolver, after.layers.resolver),
    )


def _verdicts(before: FileResult, after: FileResult) -> tuple[VerdictPair, ...]:
    old, new = ({cpu_of(said.target): VerdictLine((said,)).word for said in side.verdicts} for side in (before, after))
    pairs: dict[tuple[str, str], list[str]] = {}
    for cpu in dict.fromkeys((*old, *new)):
        pairs.setdefault((old.get(cpu, "none"), new.get(cpu, "none")), []).append(cpu)
    return tuple(VerdictPair(tuple(cpus), *words) for words, cpus in pairs.items())


def _library(layers: LayersReport) -> str:
    return layers.totals[0].target.partition(", ")[2] if layers.totals else ""


def _changed_findings(before: ModelVersion, after: ModelVersion, sides: Sequence[Side]) -> tuple[list[Finding], ...]:
    """Findings of the second version that the first has not, and the other way round.

    A finding on a layer stays with the layer, whatever its number and its tensor are called now.
    """
    old, new = sides
    layers: dict[str, str] = {}
    tensors: dict[str, str] = {}
    for key, row in old.items():
        other = new.get(key)
        layers[row.node] = other.node if other else f"\0{row.node}"
        if other and row.node in before.keys and other.node in after.keys:
            first, second = before.keys[row.node], after.keys[other.node]
            tensors.update(zip((first.tensor, *first.reads), (second.tensor, *second.reads), strict=False))

    def moved(finding: Finding) -> Finding:
        where = finding.location
        node, tensor = layers.get(where.node, where.node), tensors.get(where.tensor, where.tensor)
        return replace(finding, location=where._replace(node=node, tensor=tensor))

    places = {identity(moved(finding)): finding for finding in before.result.told}
    came = _beyond(after.result.told, [*map(moved, before.result.told)])
    went = _beyond([*map(moved, before.result.told)], after.result.told)
    return came, [places[identity(finding)] for finding in went]


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


def _figures(before: ModelVersion, after: ModelVersion, left_out: Mapping[str, Sequence[RowPair]]) -> Iterator[Figure]:
    yield Figure("findings", "", len(before.result.told), len(after.result.told))
    old, new = (_by_cpu(version.layers) for version in (before, after))
    for cpu in dict.fromkeys((*old, *new)):
        target = (new.get(cpu) or old[cpu]).target
        rest = tuple(_left_out(*pair) for pair in left_out.get(cpu, ()))
        first = _figures_of(old.get(cpu), sum(layer.before or 0 for layer in rest))
        pairs = zip(first, _figures_of(new.get(cpu), sum(layer.after or 0 for layer in rest)), strict=True)
        ranges = _ranges(old.get(cpu), new.get(cpu))
        for metric, pair in zip(METRICS[1:], pairs, strict=True):
            if metric != "most_instructions":
                yield Figure(metric, target, *pair, rest if metric == "instructions" else ())
            elif ranges and not rest:
                yield Figure(metric, target, *pair, ranges=ranges if None not in pair else ())


def _ranges(*totals: Total | None) -> tuple[tuple[int, int], ...]:
    """The least and the most instructions of each version; none where no version has a layer with a range."""
    if not any(total is not None and total.instructions_range for total in totals):
        return ()
    return tuple(total.instructions_range or (total.instructions,) * 2 for total in totals if total is not None)


def _known_in_one(old: Side, new: Side, field: str) -> dict[str, list[RowPair]]:
    """By CPU the layers of which a field (`instructions`, `time`) is known in one version alone.

    Those are layers of both versions, and new or gone ones that may stand for a gone or new one of the same operator
    of which it is unknown, as what a repair makes of a layer does.
    """
    left_out: dict[str, list[RowPair]] = {}
    single = {key: row for key, row in (*old.items(), *new.items()) if (key in old) != (key in new)}
    unknown = {(key in old, key[1], row.op) for key, row in single.items() if not _known(row, field)}
    for key in dict.fromkeys((*new, *old)):
        pair = old.get(key), new.get(key)
        known = [row is not None and _known(row, field) for row in pair]
        replaced = key in single and (key not in old, key[1], single[key].op) in unknown
        if known.count(True) == 1 and (key not in single or replaced):
            left_out.setdefault(key[1], []).append(pair)
    return left_out


def _known(row: LayerReport, field: str) -> bool:
    """Tell whether the field is known; a layer that the first run alone computes takes no time."""
    return getattr(row, field) is not None or row.instructions == 0


def _by_cpu(layers: LayersReport) -> dict[str, Total]:
    return {cpu_of(total.target): total for total in layers.totals}


def _left_out(before: LayerReport | None, after: LayerReport | None) -> LeftOut:
    row = after or before
    costs = (side.instructions if side else None for side in (before, after))
    return LeftOut(row.node if row else "", *costs)


def _times(before: LayersReport, after: LayersReport, left_out: Mapping[str, Sequence[RowPair]]) -> Iterator[TimePair]:
    old, new = _by_cpu(before), _by_cpu(after)
    for cpu in dict.fromkeys((*old, *new)):
        times = [side[cpu].time if cpu in side else None for side in (old, new)]
        gone = [
            [row.time for row in rows if row and row.time] for rows in zip(*left_out.get(cpu, ()), strict=True)
        ] or [[], []]
        pair = [time and time.without(layers) for time, layers in zip(times, gone, strict=True)]
        if any(pair):
            yield TimePair((new.get(cpu) or old[cpu]).target, *pair)


def _figures_of(total: Total | None, left_out: int) -> tuple[int | None, ...]:
    """The figures of a target in the order of METRICS, the instructions without those that are left out."""
    if total is None:
        return (None,) * (len(METRICS) - 1)
    arena = total.arena if total.arena_to_write is None else total.arena_to_write
    instructions = total.instructions - left_out if total.cost_known else None
    most = total.instructions_range[1] if total.instructions_range else instructions
    return instructions, most, total.macs, total.flash, arena, total.scratch, total.unknown_layers


def _layers(old: Side, new: Side) -> Iterator[LayerDifference]:
    for key in dict.fromkeys((*new, *old)):
        pair = old.get(key), new.get(key)
        if _seen(pair[0]) != _seen(pair[1]):
            yield LayerDifference(key[0], (pair[1] or old[key]).target, *pair)


RowPair = tuple["LayerReport | None", "LayerReport | None"]
"""A layer in both versions; None in one that has it not."""
Side = dict[tuple[str, str, int], "LayerReport"]
"""Layers of a version by name, CPU and number; a layer of both versions has the second's key in both."""


def _sides(before: ModelVersion, after: ModelVersion) -> tuple[Side, Side]:
    """The layers of both versions, paired on each CPU."""
    two_formats = len({any(row.operator for row in version.layers.layers) for version in (before, after)}) > 1
    by_cpu: dict[str, tuple[list[LayerReport], list[LayerReport]]] = {}
    for number, version in enumerate((before, after)):
        for row in version.layers.layers:
            if row.computes:
                by_cpu.setdefault(cpu_of(row.target), ([], []))[number].append(row)
    old_side: Side = {}
    new_side: Side = {}
    for cpu, (old, new) in by_cpu.items():
        keys = [
            [_key(version, row, two_formats=two_formats) for row in rows]
            for version, rows in ((before, old), (after, new))
        ]
        other = {second: first for first, second in paired(*keys).items()}
        names: Counter[str] = Counter()

        def numbered(key: LayerKey, cpu: str = cpu, names: Counter[str] = names) -> tuple[str, str, int]:
            names[key.name] += 1
            return key.name, cpu, names[key.name] - 1

        for number, row in enumerate(new):
            key = numbered(keys[1][number])
            new_side[key] = row
            if number in other:
                old_side[key] = old[other[number]]
        for number in {*range(len(old))} - {*other.values()}:
            old_side[numbered(keys[0][number])] = old[number]
    return old_side, new_side


def _key(version: ModelVersion, row: LayerReport, *, two_formats: bool) -> LayerKey:
    """What a layer is known by; an operator of a `.tflite` file goes by the tensor it writes, since its number moves.

    Names that two formats share are the short ones.
    """
    name = row.tensor if row.operator else row.node
    if two_formats:
        name = version.layers.names.get(name, name)
    known = version.keys.get(row.node, LayerKey("", row.op))
    return known._replace(name=name, sizes=(row.input, row.output))


def _seen(row: LayerReport | None) -> tuple[object, ...] | None:
    """What makes a layer another one for the reader."""
    return row and (
        row.verdict.value, row.kernel, row.effective, row.instructions, row.instructions_range, row.macs or 0,
        row.time and row.time.cycles,
    )  # fmt: skip
