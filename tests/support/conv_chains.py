"""Chains of convolutions, for the tests of planning and fixing."""

from __future__ import annotations

from itertools import pairwise

from support.dims_graphs import Builder


def chain(*widths, size=8, kernel=1):
    """1x1 convolutions, widths from the input's to the output's."""
    build = Builder()
    value = build.input("x", 1, widths[0], size, size)
    for index, (have, want) in enumerate(pairwise(widths)):
        value = build.conv(value, have, want, kernel=kernel, name=f"conv{index}")
        value = build.op("Relu", value)
    return build, value


def six_wide(count):
    """A model with `count` classes of 6 between convolutions, made by conv0, conv1, ..."""
    build, value = chain(4, *[6] * count, 3, size=4)
    return build.model(value)
