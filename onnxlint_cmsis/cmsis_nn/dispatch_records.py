"""JSON records in the schema of the dispatch vectors: the arguments of an entry point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxlint_cmsis.cmsis_nn.apis import FLOAT
from onnxlint_cmsis.cmsis_nn.json_fields import LARGEST, TARGET_FIELDS, flag, number, text
from onnxlint_cmsis.cmsis_nn.tables import ENTRIES, FLOAT_ENTRIES, LEGACY_ENTRIES
from onnxlint_cmsis.ground.types import AS_ASKED, Dims, FloatCall, KernelCall, Pair

ROUTE_KEYS = (
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

FLOAT_KEYS = ("packed", "scratch", "clamped", "zeros")
IGNORED = ("overrun",)

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


def wrapper_call(record: Mapping[str, object]) -> KernelCall:
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
        for name in FLOAT_KEYS:
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
