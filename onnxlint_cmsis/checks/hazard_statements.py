"""What is said of a hazard that a call meets: what it does, and what steps around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.near_by import about_padding, met_by, pad_in_front, right_releases, span, works
from onnxlint_cmsis.checks.subjects import Subject, freedom_text, taken, way_out, with_resize
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.library import evidence
from onnxlint_cmsis.ground.findings import Effect, Resize, Statement
from onnxlint_cmsis.ground.types import Freedom, Level, Target
from onnxlint_cmsis.ground.words import RETRAIN
from onnxlint_cmsis.runtimes.status import status_text, status_use

RETURNS_ERROR = "returns-error"
"""Kind of hazards whose status a runtime may drop."""


def statement(subject: Subject, hazard: Hazard) -> Statement:
    """The statement on one hazard of one layer and target."""
    # No size helps where a compiler makes the hazard: another compiler does.
    repair = None if hazard.compiler else next(repairs(subject), None)
    numbers = _deciding_sizes(subject, hazard)
    near = () if hazard.compiler else tuple(works(subject, hazard))
    exact = pad_in_front(subject) if about_padding(hazard) else ""
    if exact and all(other.retrain for other in near):  # nothing has to be trained again
        near = ()
    sure = hazard.on(subject.target) is not None
    met = met_by(subject, hazard)
    parts = [f"{subject.route.effective} {hazard.brief}{f': {met}' if met else ''}."]
    mending: list[str] = []
    if near:
        others = "".join(f", and so does {other.words}" for other in near[1:])
        verb = "work" if near[0].words.endswith("channels") else "works"
        mending.append(f"{near[0].words} {verb}{others}.")
        if any(other.retrain for other in near):
            mending.append(f"{'This' if len(near) == 1 else 'Either'} {RETRAIN}.")
    open_way = repair is not None and repair[0].freedom is not Freedom.LOCKED
    if repair and open_way:
        mending.append(way_out(*repair))
    if not near and (exact or not open_way):
        mending += _way_round(subject, hazard, exact)
    if repair and not open_way and not mending:
        mending.append(f"{taken(*repair)}, but {freedom_text(repair[0])}.")
    if not sure:
        parts.append(_not_sure(subject.target))
    if hazard.kind == RETURNS_ERROR:
        seen = status_text(subject.model.settings.runtime.name, subject.layer.call.entry)
        parts += [seen] if seen else []
    releases = span(subject, hazard)
    brief = subject.say(" ".join(parts)).message
    parts += [f"Present {releases}."] if releases else []
    means = f"{repair[0].variable} {repair[0].freedom.value}" if repair else ""
    said = replace(
        subject.say(" ".join(parts)),
        sources=(hazard.origin.source(subject.target.release),),
        properties={**facts(hazard, subject.target.release), **({"sizes": numbers} if numbers else {})},
        group=f"{hazard.id} {means}".strip(),
        remedy=" ".join(mending),
        brief=brief,
        level=None if sure else Level.WARNING,
        effect=_effect(subject, hazard) if sure else None,
    )
    return with_resize(said, *repair) if repair else said


def _effect(subject: Subject, hazard: Hazard) -> Effect | None:
    """Wrong values where the runtime never looks at a status; elsewhere what the rule says."""
    if hazard.kind != RETURNS_ERROR or not subject.model.settings.runtime.reads_tflite:
        return None
    use = status_use(subject.layer.call.entry)
    return Effect.WRONG if use is not None and use.unseen else None


def _not_sure(target: Target) -> str:
    """Why a compiler's defect may not be there."""
    if target.compiler_version:
        return f"{target.compiler} {target.compiler_version} was not run and may do the same."
    return f"Which {target.compiler} builds it is not known; --compiler {target.compiler}@VERSION says it."


def _way_round(subject: Subject, hazard: Hazard, exact: str) -> Iterator[str]:
    """What helps: nodes that pad in front, what the row says, a release."""
    if exact:
        yield f"{exact}, in place of the layer's padding, {'compute' if ' and a ' in exact else 'computes'} the same."
        if subject.layer.assumed:
            yield "Quantize first: in a float model exporters and ONNX Runtime's pre-processing fold a Pad back."
    elif hazard.way_round:
        yield hazard.way_round
    else:
        others = right_releases(subject)
        if others:
            yield f"CMSIS-NN {others[0]} has no known hazard here."


def facts(hazard: Hazard, release: str) -> dict[str, str | int | float | bool]:
    """What is the same for every layer that meets a hazard: its name, why it happens, how that is known."""
    return {"hazard": hazard.id, "why": hazard.what, "known": evidence(hazard, release)}


def _deciding_sizes(subject: Subject, hazard: Hazard) -> str:
    """What the layer has and what is allowed, with the tensors whose sizes these are; empty where none decides."""
    values = subject.route.seen if hazard.kernels else subject.layer.call.variables()
    text = hazard.numbers(values)
    tensors = subject.tensors()
    meant = [dims for dims in tensors if f"{dims}." in text] or ["input_dims", "output_dims"]
    named = ", ".join(f"{dims} of '{tensors[dims]}'" for dims in meant if dims in tensors)
    return f"{text} ({named})" if text and named else text


def repairs(subject: Subject) -> Iterator[tuple[Resize, str]]:
    """Channel counts within reach whose route has no hazard, changeable ones first."""
    sentences = []
    for variable in ("input_dims.c", "ch_mult"):
        if variable == "ch_mult" and not _has_multiplier(subject):
            continue
        for want, route in subject.candidates(variable):
            if route.kernel and not route.undecided and not route.hazards and not route.open_hazards:
                sentences.append((subject.resize(variable, want), route.effective))
                break
    yield from sorted(sentences, key=lambda pair: pair[0].freedom is Freedom.LOCKED)


def _has_multiplier(subject: Subject) -> bool:
    """Tell whether a layer has several outputs per channel: one with one each is of another kind."""
    if (subject.size("ch_mult") or 0) < 2:
        return False
    return subject.model.dimensions.multiplier_class(subject.layer.node.index) is not None
