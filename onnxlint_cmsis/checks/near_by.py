"""Other sizes near by that may work or cost less, in the words of the model's author."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.conditions import FALSE, Condition, all_of, at_least, at_most
from onnxlint_cmsis.cmsis_nn.families import family_of
from onnxlint_cmsis.cmsis_nn.library import COMPILER, measured_pairs
from onnxlint_cmsis.cmsis_nn.measured_pairs import Evidence
from onnxlint_cmsis.cmsis_nn.releases import older
from onnxlint_cmsis.cmsis_nn.terms import Term
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function, KernelCall, Level, Pair, Size, Target
from onnxlint_cmsis.model.windows import places, reach
from onnxlint_cmsis.runtimes.tflite_padding import handed_over

if TYPE_CHECKING:
    from onnxlint_cmsis.checks.rule import Subject
    from onnxlint_cmsis.cmsis_nn.hazard import Hazard
    from onnxlint_cmsis.cmsis_nn.library import Route


# The sizes of a layer in the words of the model's author, and other sizes near by that may work.


GROUPS = {"input_dims.c", "filter_dims.c"}
MOST_CHANNELS = 8
"""How far output channels are changed."""


def shape_words(call: KernelCall, names: Collection[str]) -> str:
    """What the variables of these names are: `3x3 kernel, 64 input channels in 4 groups, no bias`."""
    return ", ".join(text for text in _words(call, names) if text)


def other_sizes(call: KernelCall, names: Collection[str]) -> Iterator[tuple[str, KernelCall]]:
    """Calls in which another of these variables is changed, nearest first, each with the words for the change."""
    if "input_dims.n" in names and (call.input_dims.n or 1) > 1:
        single = call._replace(input_dims=call.input_dims._replace(n=1), output_dims=call.output_dims._replace(n=1))
        yield "A batch of 1", single
    have = call.output_dims.c
    if "output_dims.c" in names and have and call.function in (Function.CONVOLVE, Function.TRANSPOSE_CONV):
        for step in (sign * far for far in range(1, MOST_CHANNELS + 1) for sign in (1, -1)):
            if have + step > 0:
                changed = call.output_dims._replace(c=have + step)
                yield f"{have + step} output channels", call._replace(output_dims=changed)


def _words(call: KernelCall, names: Collection[str]) -> Iterator[str]:
    source, filters, result = call.input_dims, call.filter_dims, call.output_dims
    if {"input_dims.n"} & set(names):
        yield f"a batch of {_shape_words_shown(source.n)}"
    if {"filter_dims.h", "filter_dims.w"} & set(names):
        yield f"{_shape_words_shown(filters.h)}x{_shape_words_shown(filters.w)} kernel"
    yield _pair("stride", call.stride) if {"stride.h", "stride.w"} & set(names) else ""
    yield _pair("dilation", call.dilation) if {"dilation.h", "dilation.w"} & set(names) else ""
    yield _channels(call, names)
    if "output_dims.c" in names:
        yield f"{_shape_words_shown(result.c)} output channels"
    if {"input_dims.h", "input_dims.w"} & set(names):
        yield f"input {_shape_words_shown(source.h)}x{_shape_words_shown(source.w)}"
    if {"output_dims.h", "output_dims.w"} & set(names):
        yield f"output {_shape_words_shown(result.h)}x{_shape_words_shown(result.w)}"
    if "bias" in names and not call.bias:
        yield "no bias"


def _channels(call: KernelCall, names: Collection[str]) -> str:
    inputs, filtered = call.input_dims.c, call.filter_dims.c
    if set(names) >= GROUPS and inputs and filtered and inputs != filtered:
        return f"{inputs} input channels in {inputs // filtered} groups"
    return f"{_shape_words_shown(inputs)} input channels" if GROUPS & set(names) else ""


def _pair(word: str, pair: Pair) -> str:
    return (
        f"{word}={_shape_words_shown(pair.h)}"
        if pair.h == pair.w
        else f"{word}s=[{_shape_words_shown(pair.h)}, {_shape_words_shown(pair.w)}]"
    )


def _shape_words_shown(size: Size) -> str:
    return "?" if size is None else str(size)


# Whether another kernel is really the better one: measured pairs of shapes, never a kernel's name. Each pair is one
# layer before and after its channel count took the kernel a check wants. A row speaks of one entry point, and so of
# one data type: s8, q7 and q15 were measured, and nothing is said of s4 and s16. The numbers are instructions retired
# by the real library under QEMU (`-icount shift=0`; Cortex-M3, M4 and M55; gcc 12.2, -O3), not cycles. They are in
# `cmsis_nn/measured_pairs.json`, which `lab/measure_evidence.py` makes, and for q7 and q15 `lab/measure_legacy.py`.


ENOUGH = 10
"""Fewer pairs than this prove nothing."""


class Gain(NamedTuple):
    """Where a rule claims that its kernels are faster."""

    rule: str
    """Kebab name of the rule, which its measured pairs have."""
    region: Condition
    """Over the call before and `want.*` after; found by looking at the pairs."""


UNMEASURED = Gain("", FALSE)


def between(low: int, value: Term, high: int) -> Condition:
    """`low <= value <= high`."""
    return all_of(at_least(value, low), at_most(value, high))


def pair_values(before: KernelCall, after: KernelCall) -> dict[str, int | None]:
    """Variables of a pair: those before under their own names, those after as `want.*`."""
    return before.variables() | {f"want.{name}": size for name, size in after.variables().items()}


def judge(gain: Gain, target: Target, before: KernelCall, after: KernelCall) -> tuple[Level, str]:
    """Level and sentence: a warning only where every measured pair of the same kind got faster."""
    row = _row(gain, target, before, after)
    if row is None:
        return Level.NOTE, "The cost of this change has not been measured"
    on = "" if row.release == target.release else f", measured on CMSIS-NN {row.release}"
    if row.inside and row.faster == row.pairs >= ENOUGH:
        return Level.WARNING, (
            f"This layer alone got faster in all {row.pairs} measured pairs of this kind "
            f"(median {row.median:+.0f} % instructions{on})"
        )
    return Level.NOTE, (
        f"Nothing is claimed: of {row.pairs} measured pairs outside the shapes that always gain, {row.faster} gained "
        f"(median {row.median:+.0f} %, worst {row.worst:+.0f} % instructions{on})"
    )


def _row(gain: Gain, target: Target, before: KernelCall, after: KernelCall) -> Evidence | None:
    if target.compiler != COMPILER or not gain.rule:
        return None
    rows = measured_pairs()
    inside = gain.region.evaluate(pair_values(before, after)) is True
    isa = target.isa.value
    wanted = [(gain.rule, before.entry, release, isa, inside) for release in older(target.release)]
    return next((row for key in wanted for row in rows if row[:5] == key), None)


# What a model's author can change about a layer: paddings and sizes near by, each tried with `route`.


PADDINGS = frozenset({"padding.h", "padding.w", "pad_after.h", "pad_after.w"})
MOST_PADDING = 8
"""Largest padding tried; a window never needs more than it has columns."""
MOST_SIZES = 8
"""How far a height or width is changed."""


def about_padding(hazard: Hazard) -> bool:
    """Whether a hazard depends on how the window is padded."""
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
    """Whether a layer with another padding computes the same: each window starts where it did, and no output is new."""
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
    behind = Pair(*((o - 1) * step + reach - s - before for s, o, before, step, reach in axes))
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
    return family_of(subject.layer.call.entry).releases


def _works(subject: Subject, call: KernelCall) -> bool:
    """Whether a changed call has no known hazard, as the runtime makes it."""
    handed = handed_over(call, subject.model.settings.runtime)
    return handed is not None and _clean(subject.routed(handed))


def _clean(taken: Route) -> bool:
    return bool(taken.kernel and not taken.undecided and not taken.hazards and not taken.open_hazards)


def _one_row(call: KernelCall) -> bool:
    return call.input_dims.h == 1 and call.filter_dims.h == 1


def _transposed(call: KernelCall) -> bool:
    return call.function is Function.TRANSPOSE_CONV


def _taken_over(call: KernelCall) -> bool:
    """Whether a Pad of the layer's own amounts would be folded into the call (see lower/pads.py)."""
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
