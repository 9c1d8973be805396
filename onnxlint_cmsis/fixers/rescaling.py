"""Repairs that change outputs by a bounded amount, done before all others and only with --unsafe-fixes.

What they make takes the place of the file's model for all exact fixes, which are proven against it. Their promise is
one step: no output of the model is seen to change by more, nor is the result of a layer by its own repair. Results that
were repaired earlier may change a little more when a layer before them is repaired as well; the report has all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.rewriting import RewrittenLayer, asked, clean, name_of_site
from onnxlint_cmsis.fixers.snapshot import Snapshot
from onnxlint_cmsis.lower.affine_quantization import AffineQuantization
from onnxlint_cmsis.lower.quantization import of_input, of_integers
from onnxlint_cmsis.lower.stored_types import STORED, dequantizes
from onnxlint_cmsis.lower.verdict import Verdict
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.proof.proven_model import RuntimeRefusalError
from onnxlint_cmsis.proof.prover import INPUTS, Prover
from onnxlint_cmsis.proof.steps import Affine, Watched
from onnxlint_cmsis.rewrite.repairs.apply_repairs import repaired
from onnxlint_cmsis.rewrite.repairs.format_repairs import repairs_for

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.snapshot import Reasons
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.results.proof_result import ValueChange
    from onnxlint_cmsis.rewrite.repairs.needed import RepairSite
    from onnxlint_cmsis.rewrite.repairs.repair import RepairMade

LIMIT = 1.0
"""Steps by which a value may change."""
ROUNDING = 1e-3
"""Steps that floating point takes besides."""
STAYS = "it was tried, and CMSIS-NN would not compute the layer or another one then"


class Rescaled(NamedTuple):
    """A model after its inexact repairs."""

    state: Snapshot
    """The model, as a start for all other fixes; the same one where nothing was done."""
    layers: tuple[RewrittenLayer, ...]
    """What was done."""
    changes: tuple[ValueChange, ...]
    """The largest change seen of each output of the model, and of each result of a repaired layer."""
    left: Reasons
    """Repairs that were needed and not done, with the reason as a clause."""


class _Tried(NamedTuple):
    """Repairs of some layers, measured."""

    data: bytes
    """The model; empty where it was not made."""
    made: tuple[tuple[RepairSite, RepairMade], ...]
    """What was done to which layer."""
    changes: tuple[ValueChange, ...]
    """The largest changes seen."""
    why: str = ""
    """Why it may not be taken, as a clause; empty where it may."""


def rescaled(start: Snapshot) -> Rescaled:
    """The model with all inexact repairs that keep the promise. Raises UnreadableError, NotAppliedError."""
    done = Rescaled(start, (), (), {})
    if not start.request.options.unsafe:
        return done
    prover = Prover(start.data, Path(start.path), start.request.analysis.input_shapes)
    for row in (row for row in repairs_for(start.path) if not row.exact):
        sites = []
        for site in asked(row, done.state):
            why = row.refusal(done.state.graph, site.record)
            if why:
                done.left[name_of_site(site)] = why
            else:
                sites.append(site)
        done = _together(start, done, sites, prover)
    return done


def _together(start: Snapshot, done: Rescaled, sites: Sequence[RepairSite], prover: Prover) -> Rescaled:
    """The model with all of these repairs, or else with those that can be done one after the other."""
    if not sites:
        return done
    tried = _tried(start, done, sites, prover)
    if not tried.why and len(tried.made) == len(sites):
        return _taken(start, done, tried)
    if len(sites) == 1:
        return done._replace(left={**done.left, name_of_site(sites[0]): tried.why})
    for site in sites:
        fresh = next((one for one in asked(site.row, done.state) if name_of_site(one) == name_of_site(site)), None)
        if fresh is not None:
            done = _together(start, done, [fresh], prover)
    return done


def _tried(start: Snapshot, done: Rescaled, sites: Sequence[RepairSite], prover: Prover) -> _Tried:
    """Repairs done together, with what they change."""
    state = done.state
    found = repaired(state.data, state.graph, sites, lambda call: clean(state, call), state.lowered.records)
    if not found.made:
        return _Tried(b"", (), (), found.refused[0][1])
    new = _followed(start, found.data)
    if not _helps(state, new, [site for site, _ in found.made]):
        return _Tried(b"", found.made, (), STAYS)
    mine = [*_outputs(start.graph, new.graph), *_results(start, new, [_name(site.record) for site, _ in found.made])]
    earlier = _results(start, new, [one.output for one in done.layers])
    watched = [*mine, *(one for one in earlier if one not in mine)]
    try:
        changes = prover.changes(found.data, watched, INPUTS)
    except RuntimeRefusalError as error:
        return _Tried(b"", found.made, (), f"ONNX Runtime: {error}")
    if isinstance(changes, str):
        return _Tried(b"", found.made, (), changes)
    worst = max(changes[: len(mine)], key=lambda one: one.steps)
    over = f"`{worst.value}` would change by {worst.steps:.3g} steps of {worst.step:.3g}; allowed is {LIMIT:g}"
    return _Tried(found.data, found.made, changes, over if worst.steps > LIMIT + ROUNDING else "")


def _taken(start: Snapshot, done: Rescaled, tried: _Tried) -> Rescaled:
    unknown = (None,) * len(start.prices.targets)
    steps = max(one.steps for one in tried.changes)
    layers = [
        RewrittenLayer(site.row, site.record.node.outputs[0], site.record.node.label, (), made, unknown, unknown, steps)
        for site, made in tried.made
    ]
    return Rescaled(_followed(start, tried.data), (*done.layers, *layers), tried.changes, done.left)


def _followed(start: Snapshot, data: bytes) -> Snapshot:
    """A model that takes the place of the first one: nothing is compared with what was before it."""
    return Snapshot(start.path, data, start.request, start.prices)


def _helps(state: Snapshot, new: Snapshot, sites: Sequence[RepairSite]) -> bool:
    """Whether CMSIS-NN computes what the repairs are for, and all that it computed."""
    had, has = (
        {_name(one) for one in each.lowered.records if one.verdict is Verdict.CMSIS_NN} for each in (state, new)
    )
    plain = {_name(one) for one in new.lowered.beside}
    return had <= has and not any(_name(site.record) in plain for site in sites)


def _name(record: LoweredLayer) -> str:
    return record.node.outputs[0]


def _outputs(old: Graph, new: Graph) -> Iterator[Watched]:
    """Outputs of the model, in integers or as real numbers that a DequantizeLinear makes."""
    for name in old.outputs:
        yield Watched(name, name, _affine(_output_numbers(old, name)), _affine(_output_numbers(new, name)))


def _output_numbers(graph: Graph, name: str) -> AffineQuantization | None:
    producer = graph.producers.get(name)
    if graph.elem_type(name) in STORED:
        return of_integers(graph, name)
    return of_input(graph, producer, 0) if producer is not None and dequantizes(producer) else None


def _results(old: Snapshot, new: Snapshot, outputs: Sequence[str]) -> Iterator[Watched]:
    """What the repaired layers make, by their first outputs, where both models have it as integers."""
    before, after = ({one.node.outputs[0]: one.epilogue for one in each.lowered.records} for each in (old, new))
    for name in outputs:
        one, other = before.get(name), after.get(name)
        if one is not None and other is not None and not _handed_out(old.graph, one.tensor):
            numbers, made = _affine(one.quantization), _affine(other.quantization)
            if numbers is not None and made is not None:
                yield Watched(one.tensor, other.tensor, numbers, made)


def _handed_out(graph: Graph, tensor: str) -> bool:
    """Whether a tensor is an output of the model, or what one is made real of."""
    readers = graph.consumers.get(tensor, ())
    return tensor in graph.outputs or any(dequantizes(one) and one.outputs[0] in graph.outputs for one in readers)


def _affine(numbers: AffineQuantization | None) -> Affine | None:
    if numbers is None or not numbers.known or len(numbers.scales or ()) != 1:
        return None
    return Affine(numbers.scale, (numbers.zero_points or (0,))[0])
