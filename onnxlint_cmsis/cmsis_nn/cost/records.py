"""JSON records in the schema of the cost vectors: one layer by its kind and sizes."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.cmsis_nn.cost import cost
from onnxlint_cmsis.cmsis_nn.json_fields import LARGEST, TARGET_FIELDS, number, target_of, text
from onnxlint_cmsis.errors import did_you_mean
from onnxlint_cmsis.types import Dims, KernelCall, Pair, Target

ENTRIES = {
    "conv": "convolve_s8",
    "dw": "depthwise_s8",
    "fc": "fully_connected_s8",
    "avg": "avgpool_s8",
    "max": "max_pool_s8",
    "add": "elementwise_add_s8",
    "mul": "elementwise_mul_s8",
    "softmax": "softmax_s8",
}
"""Entry point of each kind."""

_DEFAULTS = {
    "n": 1, "h": 1, "w": 1, "kh": 1, "kw": 1, "stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 0,
    "dil_h": 1, "dil_w": 1,
}  # fmt: skip
_REQUIRED = {
    **dict.fromkeys(("conv", "dw", "avg", "max"), ("in_c", "out_c", "out_h", "out_w")),
    **dict.fromkeys(("fc", "softmax"), ("in_c", "out_c")),
    **dict.fromkeys(("add", "mul"), ("in_c",)),
}
_LONG = ("n", "in_c", "out_c", "ch_mult")
"""LoopSizes up to the largest; those of a plane are 16-bit in the kernels."""
_SIZES = (*_DEFAULTS, "in_c", "out_c", "out_h", "out_w", "ch_mult")
_KNOWN = ("kind", *_SIZES, *TARGET_FIELDS)
_OTHERS = ("reps", "instructions")


def answer(record: Mapping[str, object], default: Target) -> dict[str, object]:
    """The same record with `instructions`: predicted instructions (not cycles) of one call, null where unknown.

    Raises:
        ValueError: with the field, what was found and what is allowed.

    """
    for name in record:
        if name not in (*_KNOWN, *_OTHERS):
            raise ValueError(f"field '{name}' is not known{did_you_mean(name, _KNOWN)}")
    return {**record, "instructions": cost(call_of(record), target_of(record, default))}


def call_of(record: Mapping[str, object]) -> KernelCall:
    """The kernel call of a record; all kinds are s8, fully connected layers have one scale.

    `kind`, the channel counts and, where there is a window, the output plane are required. What else is missing or
    null is 1, paddings 0, and `ch_mult` out_c / in_c. For add and mul `in_c` is the length of the block, softmax has
    `out_c` rows of `in_c`.

    Raises:
        ValueError: with the field, what was found and what is allowed.

    """
    kind = text(record, "kind", "")
    if kind not in ENTRIES:
        raise ValueError(f"field 'kind' is '{kind}'; allowed: {', '.join(ENTRIES)}")
    size = _sizes(record, kind)
    given = Dims(size["n"], size["h"], size["w"], size["in_c"])
    if kind in ("add", "mul"):
        return KernelCall(ENTRIES[kind], given, given, given)
    if kind == "softmax":
        rows = Dims(size["out_c"], 1, 1, size["in_c"])
        return KernelCall(ENTRIES[kind], rows, Dims(None, None, None, None), rows)
    return KernelCall(
        ENTRIES[kind],
        given,
        _filter(kind, size),
        Dims(size["n"], size["out_h"], size["out_w"], size["out_c"]),
        Pair(size["stride_h"], size["stride_w"]),
        Pair(size["pad_h"], size["pad_w"]),
        dilation=Pair(size["dil_h"], size["dil_w"]),
        ch_mult=size["ch_mult"] if kind == "dw" else 0,
        per_channel=False if kind == "fc" else None,
    )


def _sizes(record: Mapping[str, object], kind: str) -> dict[str, int]:
    """Every size of a record, defaults filled in."""
    missing = [name for name in _REQUIRED[kind] if record.get(name) is None]
    if missing:
        raise ValueError(f"field '{missing[0]}' is missing; {kind} needs {', '.join(_REQUIRED[kind])}")
    size = {**_DEFAULTS, "out_h": 1, "out_w": 1, "out_c": 1}
    for name in _SIZES:
        if record.get(name) is not None:
            low = 0 if name in ("pad_h", "pad_w", "ch_mult") else 1
            size[name] = number(record[name], name, low, LARGEST if name in _LONG else 2**16 - 1)
    if kind == "dw":
        size["ch_mult"] = _multiplier(size)
    return size


def _multiplier(size: Mapping[str, int]) -> int:
    if size["out_c"] % size["in_c"] or size.get("ch_mult", 0) * size["in_c"] not in (0, size["out_c"]):
        raise ValueError(f"field 'out_c' is {size['out_c']}; allowed: in_c {size['in_c']} times ch_mult")
    return size["out_c"] // size["in_c"]


def _filter(kind: str, size: Mapping[str, int]) -> Dims:
    if kind == "conv":
        return Dims(size["out_c"], size["kh"], size["kw"], size["in_c"])
    if kind == "fc":
        return Dims(size["in_c"], 1, 1, size["out_c"])
    return Dims(1, size["kh"], size["kw"], size["out_c"] if kind == "dw" else 1)
