"""JSON records in the schema of the cost vectors: a layer by its kind and sizes."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.cmsis_nn.json_fields import LARGEST, TARGET_FIELDS, number, text
from onnxlint_cmsis.ground.types import NO_FRONT, Dims, KernelCall, Pair

COST_KINDS = {
    "conv": "convolve_s8",
    "dw": "depthwise_s8",
    "fc": "fully_connected_s8",
    "fc_per_channel": "fully_connected_s8",
    "avg": "avgpool_s8",
    "max": "max_pool_s8",
    "add": "elementwise_add_s8",
    "mul": "elementwise_mul_s8",
    "softmax": "softmax_s8",
    "transpose_conv": "transpose_conv_s8",
    "pad": "pad_s8",
    "transpose": "transpose_s8",
    "maximum": "maximum_s8",
    "minimum": "minimum_s8",
    "conv_s16": "convolve_s16",
    "dw_s16": "depthwise_s16",
    "fc_s16": "fully_connected_s16",
    "avg_s16": "avgpool_s16",
    "max_s16": "max_pool_s16",
    "add_s16": "elementwise_add_s16",
    "mul_s16": "elementwise_mul_s16",
    "softmax_s16": "softmax_s16",
    "softmax_s8_s16": "softmax_s8_s16",
    "conv_s4": "convolve_s4",
    "dw_s4": "depthwise_s4",
    "fc_s4": "fully_connected_s4",
    "lstm": "lstm_unidirectional_s8",
    "lstm_s16": "lstm_unidirectional_s16",
    "svdf": "svdf_s8",
    "svdf_s16": "svdf_state_s16_s8",
    "batch_matmul": "batch_matmul_s8",
    "batch_matmul_s16": "batch_matmul_s16",
    "concatenation": "concatenation_s8",
}
"""Entry point of each kind; a kind without a type is s8."""

_DEFAULTS = {
    "n": 1, "h": 1, "w": 1, "kh": 1, "kw": 1, "stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 0,
    "dil_h": 1, "dil_w": 1,
}  # fmt: skip

_PLANE = ("in_c", "out_c", "out_h", "out_w")

_REQUIRED = {
    **dict.fromkeys(("conv", "dw", "avg", "max", "transpose_conv", "pad", "maximum", "minimum"), _PLANE),
    **dict.fromkeys(("fc", "softmax"), ("in_c", "out_c")),
    **dict.fromkeys(("add", "mul"), ("in_c",)),
    "transpose": (*_PLANE, "rank"),
    "lstm": ("w", "in_c", "out_c"),
    "svdf": ("in_c", "out_c", "kh", "rank"),
    "batch_matmul": ("w", "in_c", "out_c"),
    "concatenation": ("h", "in_c", "out_c"),
}

_AXES = ("axis_0", "axis_1", "axis_2", "axis_3")
_SECOND = ("second_n", "second_h", "second_w", "second_c")
_NO_DIMS = Dims(None, None, None, None)
_LONG = ("n", "in_c", "out_c", "ch_mult")
"""LoopSizes up to the largest; those of a plane are 16-bit in the kernels."""
_FROM_0 = ("pad_h", "pad_w", "ch_mult", "front_c", "rank", *_AXES)
_SIZES = (*_DEFAULTS, "in_c", "out_c", "out_h", "out_w", "ch_mult", "front_c", "rank", *_AXES, *_SECOND)
_BIAS, _TIME, _OFFSET = "without_bias", "time_major", "second_offset"
COST_KEYS = ("kind", *_SIZES, _BIAS, _TIME, _OFFSET, *TARGET_FIELDS)
OTHERS = ("reps", "data", "spread", "level", "shift")


def call_of(record: Mapping[str, object]) -> KernelCall:
    """The kernel call of a record. Fully connected layers have one scale, `fc_per_channel` one for each output.

    `kind`, the channel counts and, where there is a window, the output plane are required. What else is missing or
    null is 1, paddings 0, and `ch_mult` out_c / in_c. For add and mul `in_c` is the length of the block, softmax has
    `out_c` rows of `in_c`. A pad has `pad_h`, `pad_w` and `front_c` in front. A transpose of `rank` axes has them first
    of n, h, w, in_c, and `axis_0` ... say which of them the output has. maximum and minimum have a second operand of
    `second_n` ..., the first one's sizes where these are missing. An LSTM has `w` time steps of `in_c` values and
    `out_c` units; `time_major` is 1 where its first axis is the time. An SVDF has `in_c` inputs, `out_c` units of
    `rank` filters each, and `kh` values of memory for each filter; `svdf_s16` keeps them in 16 bits. A batch_matmul
    has n x h left matrices of `w` rows and `in_c` columns, `second_n` x `second_h` right ones of `out_c` rows, and
    `second_offset` is 1 where these have a zero-point other than 0. A concatenation joins `h` rows of `in_c` numbers
    and of what `out_c` has more. `without_bias` is 1 for a layer without a bias.

    Raises:
        ValueError: with the field, what was found and what is allowed.

    """
    name = text(record, "kind", "")
    if name not in COST_KINDS:
        raise ValueError(f"field 'kind' is '{name}'; allowed: {', '.join(COST_KINDS)}")
    kind = name.removesuffix("_s16").removesuffix("_s8").removesuffix("_s4").removesuffix("_per_channel")
    size, bias = _cost_sizes(record, kind), not number(record.get(_BIAS) or 0, _BIAS, 0, 1)
    given = Dims(size["n"], size["h"], size["w"], size["in_c"])
    if kind in ("add", "mul"):
        return KernelCall(COST_KINDS[name], given, given, given)
    if kind == "softmax":
        rows = Dims(size["out_c"], 1, 1, size["in_c"])
        return KernelCall(COST_KINDS[name], rows, Dims(None, None, None, None), rows)
    if kind == "lstm":
        call = KernelCall(COST_KINDS[name], given, _NO_DIMS, given._replace(c=size["out_c"]))
        return call._replace(time_major=bool(number(record.get(_TIME) or 0, _TIME, 0, 1)))
    if kind in _OWN_DIMS:
        call = _OWN_DIMS[kind](given, size)
        offset = bool(number(record.get(_OFFSET) or 0, _OFFSET, 0, 1))
        return call._replace(entry=COST_KINDS[name], weight_offset=offset)
    if kind == "svdf":
        filters = Dims(size["rank"] * size["out_c"], size["kh"], 1, size["in_c"])
        return KernelCall(COST_KINDS[name], given, filters, given._replace(c=size["out_c"]), bias=bias)
    return KernelCall(
        COST_KINDS[name],
        given,
        _filter(kind, size),
        Dims(max(size["n"], size.get("second_n", 1)), size["out_h"], size["out_w"], size["out_c"]),
        Pair(size["stride_h"], size["stride_w"]),
        Pair(size["pad_h"], size["pad_w"]),
        dilation=Pair(size["dil_h"], size["dil_w"]),
        ch_mult=size["ch_mult"] if kind == "dw" else 0,
        per_channel=name == "fc_per_channel" if kind == "fc" else None,
        bias=bias,
        pad_front=Dims(0, size["pad_h"], size["pad_w"], size.get("front_c", 0)) if kind == "pad" else NO_FRONT,
    )


def _join_of(given: Dims, size: Mapping[str, int]) -> KernelCall:
    if size["out_c"] <= size["in_c"]:
        raise ValueError(f"field 'out_c' is {size['out_c']}; allowed: more than in_c, {size['in_c']}")
    runs = size["in_c"], size["out_c"] - size["in_c"]
    return KernelCall("concatenation_s8", given, _NO_DIMS, given._replace(c=size["out_c"]), runs=runs)


def _products(given: Dims, size: Mapping[str, int]) -> KernelCall:
    images, heights = size.get("second_n", size["n"]), size.get("second_h", size["h"])
    result = Dims(max(size["n"], images), max(size["h"], heights), size["w"], size["out_c"])
    return KernelCall("batch_matmul_s8", given, Dims(images, heights, size["out_c"], size["in_c"]), result)


def _transpose(given: Dims, size: Mapping[str, int]) -> KernelCall:
    """Axes that the call does not have lie in front, as in a lowered layer."""
    rank = size["rank"]
    order = tuple(size.get(name, 0) for name in _AXES[:rank])
    if sorted(order) != list(range(rank)) or not rank:
        raise ValueError(f"fields 'axis_0' ... are {list(order)}; allowed: each axis of {rank} once")
    axes = (1,) * (4 - rank)
    result = Dims(*axes, *(given[axis] for axis in order))
    return KernelCall(COST_KINDS["transpose"], Dims(*axes, *given[:rank]), _NO_DIMS, result, permutation=order)


_OWN_DIMS = {"transpose": _transpose, "concatenation": _join_of, "batch_matmul": _products}
"""Kinds whose dims tell something else, and how their calls are made."""


def _cost_sizes(record: Mapping[str, object], kind: str) -> dict[str, int]:
    """Every size of a record, defaults filled in."""
    missing = [name for name in _REQUIRED[kind] if record.get(name) is None]
    if missing:
        raise ValueError(f"field '{missing[0]}' is missing; {kind} needs {', '.join(_REQUIRED[kind])}")
    size = {**_DEFAULTS, "out_h": 1, "out_w": 1, "out_c": 1}
    for name in _SIZES:
        if record.get(name) is not None:
            low = 0 if name in _FROM_0 else 1
            size[name] = number(record[name], name, low, LARGEST if name in _LONG else 2**16 - 1)
    if kind == "dw":
        if size["out_c"] % size["in_c"] or size.get("ch_mult", 0) * size["in_c"] not in (0, size["out_c"]):
            raise ValueError(f"field 'out_c' is {size['out_c']}; allowed: in_c {size['in_c']} times ch_mult")
        size["ch_mult"] = size["out_c"] // size["in_c"]
    return size


def _filter(kind: str, size: Mapping[str, int]) -> Dims:
    if kind in ("conv", "transpose_conv"):
        return Dims(size["out_c"], size["kh"], size["kw"], size["in_c"])
    if kind == "fc":
        return Dims(size["in_c"], 1, 1, size["out_c"])
    if kind in ("maximum", "minimum"):
        first = (size["n"], size["h"], size["w"], size["in_c"])
        return Dims(*(size.get(name, own) for name, own in zip(_SECOND, first, strict=True)))
    if kind == "pad":
        return _NO_DIMS
    return Dims(1, size["kh"], size["kw"], size["out_c"] if kind == "dw" else 1)
