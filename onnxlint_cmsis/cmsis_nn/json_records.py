"""Layers given by their sizes as JSON records, for `shape` and the vectors: calls, routes and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxlint_cmsis.cmsis_nn.cost import cost_of_route, instructions_range
from onnxlint_cmsis.cmsis_nn.duties import duty_of
from onnxlint_cmsis.cmsis_nn.entry_points import ENTRIES, FLOAT_ENTRIES, LEGACY_ENTRIES
from onnxlint_cmsis.cmsis_nn.releases import FLOAT, LEGACY, family_of, parse_isa, parse_target
from onnxlint_cmsis.cmsis_nn.route import route
from onnxlint_cmsis.ground.types import AS_ASKED, NO_FRONT, Dims, FloatCall, KernelCall, Pair, Target
from onnxlint_cmsis.ground.words import did_you_mean

# Fields that JSON records of different schemas share: texts, whole numbers, the target.


TARGET_FIELDS = ("release", "version", "isa", "target", "cpu", "compiler", "specialized", "fused")
"""Fields of a record that say for which target it is asked."""
LARGEST = 2**31 - 1
"""Largest size; CMSIS-NN's are 32-bit."""


def target_of(record: Mapping[str, object], default: Target) -> Target:
    """The target of a record, the default's where missing or null.

    Its release is `release` or `version`, its CPU `target` or `cpu`, or there is `isa`; and `compiler`. `specialized`
    is false for functions for f32 and f16 that were built with NN_DISABLE_SPECIALIZATION, `fused` true with
    -ffp-contract=fast.

    Raises:
        ValueError: with the field, what was found and what is allowed.

    """
    release = text(record, _one_of(record, "release", "version"), default.release)
    cpu = _one_of(record, "target", "cpu")
    compiler = text(record, "compiler", default.built_with)
    if record.get("isa") is not None and record.get(cpu) is not None:
        raise ValueError(f"fields 'isa' and '{cpu}' exclude each other; give one of them")
    if record.get("isa") is not None:
        target = parse_isa(text(record, "isa", ""), release, compiler)
    elif record.get(cpu) is not None:
        target = parse_target(text(record, cpu, ""), release, compiler)
    else:
        target = parse_isa(default.isa.value, release, compiler)._replace(cpu=default.cpu)
    return target._replace(
        specialized=flag(record, "specialized", default=default.specialized),
        fused=flag(record, "fused", default=default.fused),
    )


def _one_of(record: Mapping[str, object], name: str, other: str) -> str:
    """Which of two names for one field a record uses; ValueError where it is both."""
    if record.get(name) is not None and record.get(other) is not None:
        raise ValueError(f"fields '{name}' and '{other}' exclude each other; give one of them")
    return other if record.get(other) is not None else name


def text(record: Mapping[str, object], name: str, default: str) -> str:
    """A text field; ValueError where it is something else."""
    value = record.get(name)
    if value is None:
        return default
    if isinstance(value, str):
        return value
    raise ValueError(f"field '{name}' is {value!r}; allowed: a text")


def number(value: object, name: str, low: int, high: int = LARGEST) -> int:
    """A whole number of a field within its bounds; ValueError where it is something else."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"field '{name}' holds {value!r}; allowed: whole numbers from {low} to {high}")
    return value


def flag(record: Mapping[str, object], name: str, *, default: bool) -> bool:
    """A field that is true or false; ValueError where it is something else."""
    value = record.get(name)
    if value is not None and value not in (True, False):
        raise ValueError(f"field '{name}' is {value!r}; allowed: true, false")
    return default if value is None else bool(value)


# Answering one JSON record.


_ANSWERS = (
    "kernel", "chain", "effective", "status", "buffer_size", "buffer_size_2", "hazards", "hazard_ids", "why", "reason",
    "instructions", "instructions_range", "before",
)  # fmt: skip


def shape_answer(record: Mapping[str, object], default: Target) -> dict[str, object]:
    """The same record with what the library does: kernel, chain, effective, status, sizes, hazards, why, instructions.

    A record has the fields of the dispatch vectors, with `wrapper`, or those of the cost vectors, with `kind`: see
    `_wrapper_call` and `call_of`. What is missing or null of `version`, `isa` (or `cpu`) and `compiler` is the default
    target's. Answers already present are replaced. `hazards` has the kinds of those met; `instructions` are predicted
    (not cycles), null where unknown; `instructions_range` is there where the data or versions of the compiler decide.
    `before` says what the application computes before the call, where it does.

    Raises:
        ValueError: with the field, what was found and what is allowed.

    """
    by_kind = record.get("wrapper") is None and record.get("kind") is not None
    keys, others = (_COST_KEYS, _OTHERS) if by_kind else ((*_ROUTE_KEYS, *_FLOAT_KEYS), _IGNORED)
    for name in record:
        if name not in (*keys, *_ANSWERS, *others):
            raise ValueError(f"field '{name}' is not known{did_you_mean(name, keys)}")
    target, call = target_of(record, default), call_of(record) if by_kind else _wrapper_call(record)
    if family_of(call.entry) is not LEGACY:
        family_of(call.entry).refuse_without(target.release)
    taken = route(call, target)
    values = {**call.variables(), **taken.seen}
    hazards = (*taken.hazards, *taken.inexact)
    answer: dict[str, object] = {
        **{name: value for name, value in record.items() if name not in _ANSWERS},
        "kernel": taken.kernel,
        "chain": list(taken.chain),
        "effective": taken.effective,
        "status": taken.status,
        "buffer_size": taken.buffer_size,
        "buffer_size_2": taken.reverse_buffer_size,
        "hazards": list(dict.fromkeys(hazard.kind for hazard in hazards)),
        "hazard_ids": [hazard.id for hazard in hazards],
        "instructions": cost_of_route(call, target, taken),
        "why": [
            {
                "kernel": branch.kernel,
                "taken": not failed,
                "failed": [condition.explain_with(values) for condition in failed],
                "source": str(branch.origin.source(target.release)),
            }
            for branch, failed in taken.tried
        ],
    }
    duty = duty_of(call, target) if taken.kernel else None
    if duty is not None:
        answer["before"] = {"call": duty.call(target.release), "what": duty.what, "otherwise": duty.otherwise}
    ends = instructions_range(call, target, taken)
    between = {"instructions_range": list(ends)} if ends else {}
    return {**answer, **between, **({"reason": taken.reason} if taken.reason else {})}


# JSON records in the schema of the dispatch vectors: the arguments of an entry point.


_ROUTE_KEYS = (
    *TARGET_FIELDS,
    "wrapper",
    "in",
    "filter",
    "out",
    "stride",
    "padding",
    "pad_after",
    "dilation",
    "ch_mult",
    "per_channel",
    "bias",
)
_FLOAT_KEYS = ("packed", "scratch", "clamped", "zeros")
_IGNORED = ("overrun",)
_FUNCTIONS = {
    **{f"arm_convolve_wrapper_{kind}": f"convolve_{kind}" for kind in ("s8", "s16", "s4")},
    **{f"arm_depthwise_conv_wrapper_{kind}": f"depthwise_{kind}" for kind in ("s8", "s16", "s4")},
    "arm_transpose_conv_wrapper_s8": "transpose_conv_s8",
    "arm_fully_connected_wrapper_s8": "fully_connected_s8",
    **{f"arm_convolve_wrapper_{kind}": f"convolve_{kind}" for kind in FLOAT.types},
    **{f"arm_depthwise_conv_wrapper_{kind}": f"depthwise_{kind}" for kind in FLOAT.types},
}
"""CMSIS-NN's own names of the entry points that pick a kernel."""
_WRAPPERS = (
    *ENTRIES,
    *LEGACY_ENTRIES,
    *(name for name in FLOAT_ENTRIES if not name.startswith(("batch_matmul", "softmax"))),
)
"""Entry points that the sizes of a record describe."""
_PAIRS = (("stride", 1, (1, 1)), ("padding", 0, (0, 0)), ("dilation", 1, (1, 1)))
"""Fields of two sizes: name, least allowed, default."""


def _wrapper_call(record: Mapping[str, object]) -> KernelCall:
    """The call of a record with `wrapper` (`convolve_s8` or `arm_convolve_wrapper_s8`), `in`, `filter` and `out`.

    What else is missing or null is stride [1, 1], padding [0, 0], dilation [1, 1], ch_mult filter channels / input
    channels for depthwise and 0 else, per_channel false for fully_connected_s8, bias true, and pad_after as the output
    size implies. Calls for f32 and f16 also say whether weights are `packed` (false), how many bytes of `scratch` they
    hand over (as many as the library asks for), whether a bound of the activation is finite: `clamped` (false), and
    whether the input may hold `zeros` (false), which transposed convolutions skip.
    """
    entry = text(record, "wrapper", "")
    entry = _FUNCTIONS.get(entry, entry)
    if entry not in _WRAPPERS:
        raise ValueError(f"field 'wrapper' is '{entry}'; allowed: {', '.join(_WRAPPERS)}")
    sizes = {name: _route_sizes(record, name, 4, 1, None) for name in ("in", "filter", "out")}
    pairs = {name: _route_sizes(record, name, 2, low, default) for name, low, default in _PAIRS}
    return KernelCall(
        entry=entry,
        input_dims=Dims(*sizes["in"]),
        filter_dims=Dims(*sizes["filter"]),
        output_dims=Dims(*sizes["out"]),
        stride=Pair(*pairs["stride"]),
        padding=Pair(*pairs["padding"]),
        pad_after=Pair(*_pad_after(record, entry, sizes, pairs)),
        dilation=Pair(*pairs["dilation"]),
        ch_mult=_route_multiplier(record, entry, sizes),
        per_channel=flag(record, "per_channel", default=False) if entry == "fully_connected_s8" else None,
        bias=flag(record, "bias", default=True),
        floating=_floating(record, entry),
    )


def _floating(record: Mapping[str, object], entry: str) -> FloatCall | None:
    """What a call for f32 or f16 says beside its sizes; None for another, which has none of these fields."""
    if entry not in FLOAT_ENTRIES:
        for name in _FLOAT_KEYS:
            if record.get(name) is not None:
                raise ValueError(f"field '{name}' is for {FLOAT.what}; '{entry}' is none")
        return None
    scratch = record.get("scratch")
    return FloatCall(
        packed=flag(record, "packed", default=False),
        scratch=AS_ASKED if scratch is None else number(scratch, "scratch", 0),
        clamped=flag(record, "clamped", default=False),
        zeros=flag(record, "zeros", default=False),
    )


def _route_sizes(
    record: Mapping[str, object], name: str, count: int, low: int, default: Sequence[int] | None
) -> tuple[int, ...]:
    """A list of so many sizes, each at least `low`."""
    value = record.get(name)
    if value is None and default is not None:
        return tuple(default)
    if not isinstance(value, (list, tuple)) or len(value) != count:
        raise ValueError(f"field '{name}' is {value!r}; allowed: a list of {count} whole numbers")
    return tuple(number(item, name, low) for item in value)


def _pad_after(
    record: Mapping[str, object],
    entry: str,
    sizes: Mapping[str, tuple[int, ...]],
    pairs: Mapping[str, tuple[int, ...]],
) -> tuple[int | None, int | None]:
    """The padding after, as given; where it is missing or null what the output size implies, [h, w]."""
    if entry.startswith(("transpose_conv", "fully_connected")):
        return None, None
    given = record.get("pad_after")
    if given is not None and given != [None, None]:
        first, second = _route_sizes(record, "pad_after", 2, -LARGEST, None)
        return first, second
    implied = [
        (sizes["out"][axis] - 1) * pairs["stride"][axis - 1]
        + (sizes["filter"][axis] - 1) * pairs["dilation"][axis - 1]
        + 1
        - sizes["in"][axis]
        - pairs["padding"][axis - 1]
        for axis in (1, 2)
    ]
    return implied[0], implied[1]


def _route_multiplier(record: Mapping[str, object], entry: str, sizes: Mapping[str, tuple[int, ...]]) -> int:
    if not entry.startswith("depthwise"):
        return 0
    if record.get("ch_mult") is not None:
        return number(record["ch_mult"], "ch_mult", 1)
    channels, out = sizes["in"][3], sizes["filter"][3]
    if out % channels:
        raise ValueError(f"field 'filter' has {out} channels; allowed: a multiple of the input's {channels}")
    return out // channels


# JSON records in the schema of the cost vectors: one layer by its kind and sizes.


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
}
_AXES = ("axis_0", "axis_1", "axis_2", "axis_3")
_SECOND = ("second_n", "second_h", "second_w", "second_c")
_NO_DIMS = Dims(None, None, None, None)
_LONG = ("n", "in_c", "out_c", "ch_mult")
"""LoopSizes up to the largest; those of a plane are 16-bit in the kernels."""
_FROM_0 = ("pad_h", "pad_w", "ch_mult", "front_c", "rank", *_AXES)
_SIZES = (*_DEFAULTS, "in_c", "out_c", "out_h", "out_w", "ch_mult", "front_c", "rank", *_AXES, *_SECOND)
_BIAS, _TIME = "without_bias", "time_major"
_COST_KEYS = ("kind", *_SIZES, _BIAS, _TIME, *TARGET_FIELDS)

_OTHERS = ("reps", "data", "spread", "level", "shift")


def call_of(record: Mapping[str, object]) -> KernelCall:
    """The kernel call of a record. Fully connected layers have one scale, `fc_per_channel` one for each output.

    `kind`, the channel counts and, where there is a window, the output plane are required. What else is missing or
    null is 1, paddings 0, and `ch_mult` out_c / in_c. For add and mul `in_c` is the length of the block, softmax has
    `out_c` rows of `in_c`. A pad has `pad_h`, `pad_w` and `front_c` in front. A transpose of `rank` axes has them first
    of n, h, w, in_c, and `axis_0` ... say which of them the output has. maximum and minimum have a second operand of
    `second_n` ..., the first one's sizes where these are missing. An LSTM has `w` time steps of `in_c` values and
    `out_c` units; `time_major` is 1 where its first axis is the time. An SVDF has `in_c` inputs, `out_c` units of
    `rank` filters each, and `kh` values of memory for each filter; `svdf_s16` keeps them in 16 bits. `without_bias`
    is 1 for a layer without a bias.

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
    if kind == "transpose":
        return _transpose(given, size)
    if kind == "lstm":
        call = KernelCall(COST_KINDS[name], given, _NO_DIMS, given._replace(c=size["out_c"]))
        return call._replace(time_major=bool(number(record.get(_TIME) or 0, _TIME, 0, 1)))
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


def _transpose(given: Dims, size: Mapping[str, int]) -> KernelCall:
    """Axes that the call does not have lie in front, as in a lowered layer."""
    rank = size["rank"]
    order = tuple(size.get(name, 0) for name in _AXES[:rank])
    if sorted(order) != list(range(rank)) or not rank:
        raise ValueError(f"fields 'axis_0' ... are {list(order)}; allowed: each axis of {rank} once")
    axes = (1,) * (4 - rank)
    result = Dims(*axes, *(given[axis] for axis in order))
    return KernelCall(COST_KINDS["transpose"], Dims(*axes, *given[:rank]), _NO_DIMS, result, permutation=order)


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
