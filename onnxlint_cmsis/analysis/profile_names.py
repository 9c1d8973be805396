"""Names of operators in a profiler's log, held against those of a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.names import domain_of

if TYPE_CHECKING:
    from onnxlint_cmsis.images.profiles import ProfileEvent

KINDS = {
    "convolution": ("conv", "convolution", "depthwise conv", "depthwise convolution", "conv transpose",
                    "transpose conv", "conv integer"),
    "pooling": ("pool", "pooling", "max pool", "max pooling", "average pool", "average pooling", "avg pool", "maxpool",
                "avgpool", "global average pool", "global avg pool", "global max pool"),
    "softmax": ("softmax",),
    "dense": ("dense", "fully connected", "gemm", "matmul", "mat mul", "batch matmul", "linear", "mat mul integer"),
    "sum": ("add",),
    "product": ("mul", "multiply"),
    "reshape": ("reshape", "flatten"),
    "dequantize": ("dequantize", "dequantize linear", "dequantize per tensor"),
    "quantize": ("quantize", "quantize linear", "quantize per tensor"),
    "lstm": ("lstm", "unidirectional sequence lstm"),
    "svdf": ("svdf",),
    "transpose": ("transpose",),
    "pad": ("pad", "padding", "mirror pad", "constant pad nd"),
}  # fmt: skip
"""Whole names of operators in any tool by what they compute, in words without sizes and versions."""
NAMES_DO_NOT_TELL = "Names do not tell that it is the log of this model."
_KIND = {name: kind for kind, names in KINDS.items() for name in names}
_BEFORE = re.compile(r"^(?:QLinear(?=[A-Z])|Q(?=[A-Z][a-z])|quantized_)")
"""What says of a name that the operator is quantized: ONNX's, ONNX Runtime's and ExecuTorch's."""
_SIZES = re.compile(r"_?(?:[1-3]d|v[2-9])(?=_|$)", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def name_fault(operators: Sequence[str], events: Sequence[ProfileEvent]) -> str:
    """The first event that is not the operator in its place, as a sentence; empty where all fit.

    Names of one format have to be equal; those of different tools have to mean the same.
    """
    names = [event.operator for event in events]
    plain = [name.partition(".")[0] for name in names]
    same = _domain(plain) == _domain(operators) != ""
    if same and not {*names, *plain} & {*operators}:
        return f"It has {names[0]}, and no name fits: it is the log of another model."
    alike = 0
    for index, event in enumerate(events):
        position = index % len(operators)
        operator = operators[position]
        equal = operator in (names[index], plain[index])
        kinds = {""} if equal else {kind_of(operator), kind_of(names[index])}
        alike += equal or (len(kinds) == 1 and kinds != {""})
        if not equal and (same or len(kinds - {""}) > 1):
            number = event.number if event.number >= 0 else index
            other = f"Event {number} is {event.operator}, and operator {position} is {operator}"
            lost = ", or lines are missing in it" if same and event.number < 0 else ""
            return f"{other}: it is the log of another model{lost}."
    return "" if 2 * alike >= len(events) else NAMES_DO_NOT_TELL


def _domain(names: Iterable[str]) -> str:
    """The format whose names of operators these are; empty where they tell none."""
    return next(filter(None, map(domain_of, names)), "")


def kind_of(name: str) -> str:
    """What an operator computes, by its whole name in any tool; empty where that does not tell."""
    plain = _BEFORE.sub("", name.rpartition("::")[2].partition(".")[0])
    return _KIND.get(" ".join(_WORD.findall(_SIZES.sub("", plain))).lower(), "")
