"""A layer's sizes in the words of the model's author, and other sizes near by that may work."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from onnxlint_cmsis.ground.types import Function, KernelCall, Pair, Size

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
    yield _channel_words(call, names)
    if "output_dims.c" in names:
        yield f"{_shape_words_shown(result.c)} output channels"
    if {"input_dims.h", "input_dims.w"} & set(names):
        yield f"input {_shape_words_shown(source.h)}x{_shape_words_shown(source.w)}"
    if {"output_dims.h", "output_dims.w"} & set(names):
        yield f"output {_shape_words_shown(result.h)}x{_shape_words_shown(result.w)}"
    if "bias" in names and not call.bias:
        yield "no bias"


def _channel_words(call: KernelCall, names: Collection[str]) -> str:
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
