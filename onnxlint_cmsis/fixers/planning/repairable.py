"""All repairs by rewriting, which one answers a finding, and the layers that need one. Nothing is rewritten here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, partial

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.cmsis_nn.library import Route, parameters
from onnxlint_cmsis.fixers.planning.fits.counted_padding import COUNTED_PADDING
from onnxlint_cmsis.fixers.planning.fits.depthwise_normalization import DEPTHWISE_NORMALIZATION
from onnxlint_cmsis.fixers.planning.fits.explicit_pad import EXPLICIT_PAD
from onnxlint_cmsis.fixers.planning.fits.fold_constants import FOLD_CONSTANTS
from onnxlint_cmsis.fixers.planning.fits.mean_pool import MEAN_POOLS
from onnxlint_cmsis.fixers.planning.fits.more_columns import MORE_COLUMNS
from onnxlint_cmsis.fixers.planning.fits.negated import NEGATED
from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.fixers.planning.fits.scales import EQUAL_SCALES, SOFTMAX_OUTPUT
from onnxlint_cmsis.fixers.planning.fits.shifted_taps import SHIFTED_TAPS
from onnxlint_cmsis.fixers.planning.fits.signed_integers import SIGNED_INTEGERS
from onnxlint_cmsis.fixers.planning.fits.slices import SLICES
from onnxlint_cmsis.fixers.planning.fits.split_batch import SPLIT_BATCH
from onnxlint_cmsis.fixers.planning.fits.split_groups import SPLIT_GROUPS
from onnxlint_cmsis.fixers.planning.fits.useless_pairs import USELESS_PAIRS
from onnxlint_cmsis.fixers.planning.fits.wider_window import WIDER_WINDOW
from onnxlint_cmsis.fixers.planning.fits.zero_bias import ZERO_BIAS
from onnxlint_cmsis.fixers.planning.fits.zero_taps import OUTPUT_PADDING, SPREAD_TAPS
from onnxlint_cmsis.fixers.planning.prices import risks
from onnxlint_cmsis.formats.format import Format
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall, Target
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome

REPAIRS: tuple[RepairRow, ...] = (
    *MEAN_POOLS,
    FOLD_CONSTANTS,
    DEPTHWISE_NORMALIZATION,
    SLICES,
    NEGATED,
    COUNTED_PADDING,
    SOFTMAX_OUTPUT,
    EQUAL_SCALES,
    USELESS_PAIRS,
    SIGNED_INTEGERS,
    ZERO_BIAS,
    SPLIT_GROUPS,
    WIDER_WINDOW,
    EXPLICIT_PAD,
    OUTPUT_PADDING,
    SHIFTED_TAPS,
    SPREAD_TAPS,
    MORE_COLUMNS,
    SPLIT_BATCH,
)
"""Repairs in the order in which they are tried; a layer that two could mend takes the first one that does."""


@cache
def repairs_for(form: Format) -> tuple[RepairRow, ...]:
    """Repairs of files of a format, in the order in which they are tried; those that it cannot carry refuse."""
    if form.repairs is None:
        return REPAIRS
    reason = f"in a {form.suffix} file it would need operators that the application may not have registered"
    return tuple(
        row if row.name in form.repairs else row._replace(unfit=lambda _graph, _record: reason)
        for row in REPAIRS
        if row.hazards and row.exact and not (row.rule or row.as_written)
    )


class RepairSite(NamedTuple):
    """One layer that needs a repair."""

    row: RepairRow
    """The repair."""
    record: LoweredLayer
    """The layer."""
    hazards: tuple[str, ...]
    """Names of its hazards that the repair answers."""


def needed(model: ModelAnalysis) -> Iterator[RepairSite]:
    """Each layer that some target needs a repair for, with each repair that answers, in the order of the table."""
    met = {id(record): _hazards(model, record) for record in _records(model)}
    for row in repairs_for(model.format):
        for node in row.nodes(model.graph) if row.nodes else ():
            yield RepairSite(row, LoweredLayer(node, Outcome.UNDECIDED), ())
        for record in model.lowered.beside if row.causes else ():
            if record.cause is not None and record.cause.value in row.causes:
                yield RepairSite(row, record, ())
        for record in _records(model) if row.hazards else ():
            hazards = tuple(name for name in met[id(record)] if name in row.hazards)
            if hazards:
                yield RepairSite(row, record, hazards)


class Answers:
    """Which repair answers a finding of a model. Each layer is looked at once, however many findings there are."""

    def __init__(self, model: ModelAnalysis) -> None:
        self._model = model
        self._labels: dict[str, frozenset[str]] = {}

    def repair_for(self, finding: Finding) -> RepairRow | None:
        """Return the first repair that answers a finding and fits its layer; None if there is none. Tries nothing."""
        graph, label = self._model.graph, finding.location.node
        rows = repairs_for(self._model.format)
        ruled = [row for row in rows if row.rule and row.rule == finding.name]
        for row in (row for row in ruled if row.nodes):
            if row.name not in self._labels:
                nodes = row.nodes(self._model.graph) if row.nodes else ()
                self._labels[row.name] = frozenset(node.label for node in nodes)
            labels = self._labels[row.name]
            if label in labels or (row.whole and labels):
                return row
        for row in (row for row in ruled if row.causes):
            for record in self._beside.get(label, ()):
                if record.cause and record.cause.value in row.causes:
                    return None if row.refusal(graph, record) else row
        hazard = finding.properties.get("hazard")
        for row in (row for row in rows if hazard and hazard in row.hazards):
            if any(not row.refusal(graph, record) for record in self._computed.get(label, ())):
                return row
        return None

    def mends(self, row: RepairRow, label: str, room: int | None) -> bool:
        """Tell whether layers of a label would meet fewer hazards after a repair; constants may grow by `room`."""
        return any(map(partial(_mends, self._model, row, room), self._computed.get(label, ())))

    @cached_property
    def _computed(self) -> dict[str, list[LoweredLayer]]:
        return _by_label(_records(self._model))

    @cached_property
    def _beside(self) -> dict[str, list[LoweredLayer]]:
        return _by_label(self._model.lowered.beside)


def _mends(model: ModelAnalysis, row: RepairRow, room: int | None, record: LoweredLayer) -> bool:
    if record.layer is None or row.calls is None or row.refusal(model.graph, record):
        return False
    had = [taken for _, taken in model.routes(record.layer)]
    for call in row.calls(record):
        routes = [[model.route(call, target)] for target in model.settings.targets]
        if not row.clean or not any(risks(alone) for (alone,) in routes):
            grown = 0 if room is None else _growth(record, call, model.settings.targets[0])
            return fewer_risks(had, routes) and (room is None or grown <= room)
    return False


def _growth(record: LoweredLayer, call: KernelCall, target: Target) -> int:
    """Bytes by which the weights and bias of a call exceed those of the layer; float ones take four bytes each."""
    had, has = (parameters(asked, target) for asked in (record.call or call, call))
    return 0 if had is None or has is None else (has.total - had.total) * (1 if record.weights else 4)


def fewer_risks(had: Sequence[Route], has: Sequence[Sequence[Route]]) -> bool:
    """Tell whether routes meet fewer hazards, or may meet fewer, than one did, and more on no target; by target."""
    before = [risks(route) for route in had]
    now: list[set[str]] = [set().union(*map(risks, routes)) for routes in has]
    return now != before and all(new <= old for new, old in zip(now, before, strict=True))


def _by_label(records: Iterable[LoweredLayer]) -> dict[str, list[LoweredLayer]]:
    table: dict[str, list[LoweredLayer]] = {}
    for record in records:
        table.setdefault(record.node.label, []).append(record)
    return table


def _records(model: ModelAnalysis) -> Iterator[LoweredLayer]:
    return (record for record in model.lowered.records if record.verdict is Outcome.CMSIS_NN and record.layer)


def _hazards(model: ModelAnalysis, record: LoweredLayer) -> tuple[str, ...]:
    """Names of the hazards of a layer, on any target."""
    if record.layer is None:
        return ()
    routes = (route for _, route in model.routes(record.layer))
    return tuple(dict.fromkeys(hazard.id for route in routes for hazard in route.hazards))
