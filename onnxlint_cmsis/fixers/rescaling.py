"""Repairs that change outputs by a bounded amount, done before exact ones and only with --unsafe-fixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxlint_cmsis.analysis.proof_results import ValueChange
from onnxlint_cmsis.fixers.attempt import prover_of
from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.repairable import RepairSite, repairs_for
from onnxlint_cmsis.fixers.progress import Progress, RewrittenLayer, step_of_site
from onnxlint_cmsis.fixers.proof.bounds import Side, most_apart
from onnxlint_cmsis.fixers.proof.prove import INPUTS, Prover
from onnxlint_cmsis.fixers.proof.proven import RuntimeRefusalError
from onnxlint_cmsis.fixers.proof.value_changes import Affine, Watched
from onnxlint_cmsis.fixers.retyping import restarted
from onnxlint_cmsis.fixers.rewriting import asked
from onnxlint_cmsis.fixers.snapshot import Snapshot
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.find_quantization import of_input, of_integers
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.quantization import AffineQuantization
from onnxlint_cmsis.lower.stored_types import STORED, dequantizes
from onnxlint_cmsis.model.graph import Graph

LIMIT = 1.0
"""Steps by which a value may change."""
ROUNDING = 1e-3
"""Steps that floating point takes besides."""
RESCALING_STAYS = "it was tried, and CMSIS-NN would not compute the layer or another one then"


class _Tried(NamedTuple):
    data: bytes
    """The model; empty where it was not made."""
    repairs: tuple[tuple[RepairSite, RepairMade], ...]
    """What was done to which layer."""
    changes: tuple[ValueChange, ...]
    """The largest changes seen."""
    why: str = ""
    """Why it may not be taken, as a clause; empty where it may."""


def rescaled(start: Snapshot) -> Progress:
    """Do all inexact repairs that keep their promise. Raises UnreadableError, NotAppliedError.

    The promise: no output of the model is seen to change by more than one step, nor is the result of a layer by its own
    repair. Results that were repaired earlier may change a little more; the report has all.
    """
    done = Progress(start)
    if not (start.request.options.unsafe and start.request.compared):
        return done
    prover = prover_of(start)
    for row in (row for row in repairs_for(start.analysis.format) if not row.exact):
        sites = []
        for site in asked(row, done.state):
            why = row.refusal(done.state.graph, site.record)
            if why:
                done = done._replace(left={**done.left, step_of_site(site): why})
            else:
                sites.append(site)
        done = _together(start, done, sites, prover)
    return done


def _together(start: Snapshot, done: Progress, sites: Sequence[RepairSite], prover: Prover) -> Progress:
    """The model with all of these repairs, or else with those that can be done one after the other."""
    if not sites:
        return done
    tried = _tried(start, done, sites, prover)
    if not tried.why and len(tried.repairs) == len(sites):
        unknown = (None,) * len(start.prices.targets)
        steps = max(change.steps for change in tried.changes)
        layers = [
            RewrittenLayer(
                site.row, site.record.node.outputs[0], site.record.node.label, (), repair, unknown, unknown, steps
            )
            for site, repair in tried.repairs
        ]
        return Progress(restarted(start, tried.data), (*done.layers, *layers), done.left, changes=tried.changes)
    if len(sites) == 1:
        return done._replace(left={**done.left, step_of_site(sites[0]): tried.why})
    for site in sites:
        step = step_of_site(site)
        fresh = next((again for again in asked(site.row, done.state) if step_of_site(again) == step), None)
        if fresh is not None:
            done = _together(start, done, [fresh], prover)
    return done


def _tried(start: Snapshot, done: Progress, sites: Sequence[RepairSite], prover: Prover) -> _Tried:
    """Repairs done together, with what they change."""
    state = done.state
    repaired = state.repaired(sites, state.lowered.records)
    if not repaired.repairs:
        return _Tried(b"", (), (), repaired.refused[0][1])
    new, rescaled_layers = restarted(start, repaired.data), [_name(site.record) for site, _ in repaired.repairs]
    had, has = (
        {_name(record) for record in snapshot.lowered.records if record.verdict is Outcome.CMSIS_NN}
        for snapshot in (state, new)
    )
    causes = {_name(record): record.cause for record in state.lowered.beside}
    stuck = {_name(record) for record in new.lowered.beside if record.cause is causes.get(_name(record))}
    if not had <= has or not stuck.isdisjoint(rescaled_layers):
        return _Tried(b"", repaired.repairs, (), RESCALING_STAYS)
    mine = [
        Watched(name, name, _affine(_output_numbers(start.graph, name)), _affine(_output_numbers(new.graph, name)))
        for name in start.graph.outputs
    ]
    mine += _results(start, new, rescaled_layers)
    earlier = _results(start, new, [layer.output for layer in done.layers])
    watched = [*mine, *(value for value in earlier if value not in mine)]
    apart = most_apart(*(Side(snapshot.graph, snapshot.analysis.read) for snapshot in (start, new)))
    try:
        changes = prover.changes(repaired.data, watched, INPUTS)
    except RuntimeRefusalError as error:
        return _Tried(b"", repaired.repairs, (), f"ONNX Runtime: {error}")
    if isinstance(changes, str):
        return _Tried(b"", repaired.repairs, (), changes)
    changes = tuple(change._replace(bound=apart.get(change.value)) for change in changes)
    worst = max(changes[: len(mine)], key=lambda change: change.steps)
    over = f"`{worst.value}` would change by {worst.steps:.3g} steps of {worst.step:.3g}; allowed is {LIMIT:g}"
    return _Tried(repaired.data, repaired.repairs, changes, over if worst.steps > LIMIT + ROUNDING else "")


def _output_numbers(graph: Graph, name: str) -> AffineQuantization | None:
    """Quantization of an output, in integers or as real numbers that a DequantizeLinear makes."""
    producer = graph.producers.get(name)
    if graph.elem_type(name) in STORED:
        return of_integers(graph, name)
    return of_input(graph, producer, 0) if producer is not None and dequantizes(producer) else None


def _results(old: Snapshot, new: Snapshot, outputs: Sequence[str]) -> Iterator[Watched]:
    """What the repaired layers make, by their first outputs, where both models have it as integers."""
    before, after = ({_name(record): record.epilogue for record in snapshot.lowered.records} for snapshot in (old, new))
    graph = old.graph
    for name in outputs:
        old_end, new_end = before.get(name), after.get(name)
        if old_end is None or new_end is None:
            continue
        readers = [reader for reader in graph.consumers.get(old_end.tensor, ()) if dequantizes(reader)]
        if old_end.tensor in graph.ends or any(reader.outputs[0] in graph.ends for reader in readers):
            continue  # it is watched as an output of the model
        old_numbers, new_numbers = _affine(old_end.quantization), _affine(new_end.quantization)
        if old_numbers is not None and new_numbers is not None:
            yield Watched(old_end.tensor, new_end.tensor, old_numbers, new_numbers)


def _affine(numbers: AffineQuantization | None) -> Affine | None:
    """A quantization with one known scale; None for any other."""
    if numbers is None or not numbers.known or len(numbers.scales or ()) != 1:
        return None
    return Affine(numbers.scale, (numbers.zero_points or (0,))[0])


def _name(record: LoweredLayer) -> str:
    return record.node.outputs[0]
