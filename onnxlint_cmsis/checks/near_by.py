"""What a model's author can change about a layer: paddings and sizes near by, each tried with `route`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.model_sizes import other_sizes, shape_words
from onnxlint_cmsis.cmsis_nn.apis import api_of
from onnxlint_cmsis.cmsis_nn.conditions import FALSE
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function, KernelCall, Pair
from onnxlint_cmsis.model.windows import padding_for, places, reach
from onnxlint_cmsis.runtimes.tflite_padding import handed_over

if TYPE_CHECKING:
    from onnxlint_cmsis.checks.subjects import Subject
    from onnxlint_cmsis.cmsis_nn.hazard import Hazard
    from onnxlint_cmsis.cmsis_nn.library import Route


PADDINGS = frozenset({"padding.h", "padding.w", "pad_after.h", "pad_after.w"})
MOST_PADDING = 8
"""Largest padding tried; a window never needs more than it has columns."""
MOST_SIZES = 8
"""How far a height or width is changed."""


def about_padding(hazard: Hazard) -> bool:
    """Tell whether a hazard depends on how the window is padded."""
    return bool(PADDINGS & (hazard.when.names() | (hazard.unsized or FALSE).names()))


def met_by(subject: Subject, hazard: Hazard) -> str:
    """What the model asks that meets a hazard, in its author's words; empty where no size decides."""
    call = subject.asked
    if about_padding(hazard):
        return asked(call) + (
            ", which becomes a PAD operator"
            if handed_over(call, subject.model.settings.runtime) not in (call, None)
            else ""
        )
    names = (hazard.breach or hazard.when).names() & call.variables().keys()
    return shape_words(call, names | (hazard.when.names() & {"bias"}))


def asked(call: KernelCall) -> str:
    """What the model asks of a window, in its author's words: `padding=1 on width 128`, `pads=[0, 0, 1, 1] on 8x8`."""
    before, after, size = call.padding, call.pad_after, call.input_dims
    if _one_row(call):
        text = f"padding={before.w}" if before.w == after.w else f"padding={before.w} before and {after.w} after"
        return f"{text} on width {_near_by_shown(size.w)}"
    pads = (before.h, before.w, after.h, after.w)
    text = f"padding={before.h}" if len(set(pads)) == 1 else f"pads=[{', '.join(map(_near_by_shown, pads))}]"
    if _transposed(call) and call.stride.h == call.stride.w:
        text += f" with stride={_near_by_shown(call.stride.h)}"
    return f"{text} on {_near_by_shown(size.h)}x{_near_by_shown(size.w)}"


class NearBy(NamedTuple):
    """Another padding or size that no hazard is known of."""

    words: str
    """`padding=2 on width 128`, `34 output channels`."""
    retrain: bool
    """Whether the layer computes something else then, so that weights trained for it no longer fit."""


def works(subject: Subject, hazard: Hazard) -> Iterator[NearBy]:
    """What the author can change so that no hazard is known."""
    call = subject.asked
    if not about_padding(hazard):
        tried = other_sizes(call, hazard.when.names())
        yield from islice((NearBy(words, False) for words, other in tried if _works(subject, other)), 1)
        return
    for tries in (_paddings(call), _sizes(call)):
        working = next((other for other in tries if _works(subject, other)), None)
        if working is not None:
            yield NearBy(f"{asked(working)}{_changed_output(call, working)}", not _same_windows(call, working))


def _same_windows(call: KernelCall, other: KernelCall) -> bool:
    """Tell if a layer with another padding computes the same: each window starts where it did, and no output is new."""
    return (call.input_dims, call.padding, call.output_dims) == (other.input_dims, other.padding, other.output_dims)


def pad_in_front(subject: Subject) -> str:
    """What nodes in front of the layer can pad in its place, so that it computes the same; empty where none can.

    No kernel call takes such nodes over. What lies behind the last window needs no padding, and may be cut off.
    """
    call = subject.asked
    size, out = Pair(call.input_dims.h, call.input_dims.w), Pair(call.output_dims.h, call.output_dims.w)
    if _transposed(call) or None in (*size, *call.padding, *call.pad_after, *out):
        return ""
    axes = [
        tuple(number or 0 for number in axis)
        for axis in zip(size, out, call.padding, call.stride, _spans(call), strict=True)
    ]
    behind = Pair(*(padding_for(o, s, span, step) - before for s, o, before, step, span in axes))
    uncut = Pair(*(max(number or 0, 0) for number in behind))
    for after in dict.fromkeys((call.pad_after, uncut, behind if _one_row(call) else uncut)):
        sums = (s + before + (more or 0) for (s, _, before, _, _), more in zip(axes, after, strict=True))
        padded = _with(call, Pair(0, 0), Pair(0, 0), Pair(*sums))
        if padded is None or padded.output_dims != call.output_dims or _taken_over(call._replace(pad_after=after)):
            continue
        if _clean(subject.routed(padded)):
            return _padded(call, after)
    return ""


def _padded(call: KernelCall, after: Pair) -> str:
    """`A Pad node of the same amounts in front`."""
    before, last = call.padding, after.w or 0
    if after == call.pad_after:
        return "A Pad node of the same amounts in front"
    if not _one_row(call):
        return f"A Pad node with pads=[{before.h}, {before.w}, {after.h}, {after.w}] in front"
    cut = f"A Slice of the first {(call.input_dims.w or 0) + last} columns and a " if last < 0 else "A "
    return f"{cut}Pad node of {before.w} before and {max(last, 0)} after in front"


def span(subject: Subject, hazard: Hazard) -> str:
    """Releases in which the layer meets the hazard: `since CMSIS-NN 6.0.0, fixed in main`; each is tried.

    Empty where no release has it, but a commit between two that a runtime brings.
    """
    known = _releases(subject)
    routes = {name: subject.routed_in(name) for name in known}
    met = [name for name in known if any(present.id == hazard.id for present in routes[name].hazards)]
    if not met:
        return ""
    last = known.index(met[-1]) + 1
    since = f"since CMSIS-NN {met[0]}"
    if last == len(known):
        return f"in every release up to {met[-1]}" if met[0] == known[0] else f"{since}, not fixed in {met[-1]}"
    after = known[last]
    return f"{since}, fixed in {after}" if _clean(routes[after]) else f"from CMSIS-NN {met[0]} to {met[-1]}"


def right_releases(subject: Subject) -> tuple[str, ...]:
    """Releases with a kernel for the layer and no known hazard, newest first."""
    return tuple(name for name in reversed(_releases(subject)) if _clean(subject.routed_in(name)))


def _releases(subject: Subject) -> tuple[str, ...]:
    """Releases that have the functions of a layer's API, oldest first."""
    return api_of(subject.layer.call.entry).releases


def _works(subject: Subject, call: KernelCall) -> bool:
    """Tell whether a changed call has no known hazard, as the runtime makes it."""
    handed = handed_over(call, subject.model.settings.runtime)
    return handed is not None and _clean(subject.routed(handed))


def _clean(taken: Route) -> bool:
    return bool(taken.kernel and not taken.undecided and not taken.hazards and not taken.open_hazards)


def _one_row(call: KernelCall) -> bool:
    return call.input_dims.h == 1 and call.filter_dims.h == 1


def _transposed(call: KernelCall) -> bool:
    return call.function is Function.TRANSPOSE_CONV


def _taken_over(call: KernelCall) -> bool:
    """Tell whether a Pad of the layer's own amounts would be folded into the call (see lower/pads.py)."""
    amounts = (((before or 0), (after or 0)) for before, after in zip(call.padding, call.pad_after, strict=True))
    axes = zip(_spans(call), amounts, strict=True)
    return all(0 <= after - before <= 1 and before + after < (reach or 1) for reach, (before, after) in axes)


def _spans(call: KernelCall) -> Pair:
    """Rows and columns that a window reaches over."""
    sizes = zip((call.filter_dims.h, call.filter_dims.w), call.dilation, strict=True)
    return Pair(*(reach(size or 1, step or 1) for size, step in sizes))


def _paddings(call: KernelCall) -> Iterator[KernelCall]:
    """The call with other paddings: those of the same sum first, then even ones, then near ones."""
    spans = _spans(call)
    limits = [min((reach or 1) - 1, MOST_PADDING) for reach in spans]
    before, after = call.padding.w or 0, call.pad_after.w or 0
    most = range(max(limits) + 1)
    ways = [(b, a) for b in most for a in most if (b, a) != (before, after) or not _one_row(call)]
    ways.sort(key=lambda way: (abs(sum(way) - before - after), abs(way[0] - way[1]), abs(way[0] - before)))
    size = Pair(call.input_dims.h, call.input_dims.w)
    for way in ways:
        paddings = [Pair(*(min(amount, limit) for limit in limits)) for amount in way]
        changed = _with(call, paddings[0], paddings[1], size)
        if changed is not None and changed != call:
            yield changed


def _sizes(call: KernelCall) -> Iterator[KernelCall]:
    """The call on other widths, and heights where the window has rows: one less, one more, two less, and so on."""
    h, w = call.input_dims.h, call.input_dims.w
    if h is None or w is None:
        return
    for step in (sign * far for far in range(1, MOST_SIZES + 1) for sign in (-1, 1)):
        size = Pair(h if _one_row(call) else h + step, w + step)
        changed = _with(call, call.padding, call.pad_after, size) if min(size.h or 0, size.w or 0) > 0 else None
        if changed is not None:
            yield changed


def _with(call: KernelCall, before: Pair, after: Pair, size: Pair) -> KernelCall | None:
    """The call with another padding and input plane, and the output that follows; None where there is none."""
    axes = [_output(call, axis, before[axis], after[axis], size[axis]) for axis in (0, 1)]
    if any(axis is None or axis < 1 for axis in axes):
        return None
    return call._replace(
        input_dims=call.input_dims._replace(h=size.h, w=size.w),
        output_dims=call.output_dims._replace(h=axes[0], w=axes[1]),
        padding=before,
        pad_after=after,
    )


def _output(call: KernelCall, axis: int, before: int | None, after: int | None, size: int | None) -> int | None:
    """Output size along an axis: ONNX's formula; of a transposed convolution what changes with padding and input."""
    stride, had = call.stride[axis], call.input_dims[1 + axis]
    now, old = call.output_dims[1 + axis], (call.padding[axis], call.pad_after[axis])
    if before is None or after is None or size is None or stride is None or had is None or now is None or None in old:
        return None
    if _transposed(call):
        return now + sum(amount or 0 for amount in old) - before - after + (size - had) * stride
    outputs = places(size, _spans(call)[axis] or 1, stride, before, after)
    return outputs if outputs > 0 else None


def _changed_output(call: KernelCall, changed: KernelCall) -> str:
    """What the output becomes, where the input stays and the output does not."""
    old, new = call.output_dims, changed.output_dims
    if call.input_dims != changed.input_dims or old == new:
        return ""
    if _one_row(call):
        return f" (output width {new.w} for {old.w})"
    return f" (output {new.h}x{new.w} for {old.h}x{old.w})"


def _near_by_shown(size: int | None) -> str:
    return "?" if size is None else str(size)
