"""Answering one JSON record in the schema of the dispatch vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxlint_cmsis.cmsis_nn.apis import refuse_without
from onnxlint_cmsis.cmsis_nn.json_fields import LARGEST, TARGET_FIELDS, number, target_of, text
from onnxlint_cmsis.cmsis_nn.kinds_of_q import is_legacy
from onnxlint_cmsis.cmsis_nn.route import Route, route
from onnxlint_cmsis.cmsis_nn.routes import ENTRIES, LEGACY_ENTRIES
from onnxlint_cmsis.errors import did_you_mean
from onnxlint_cmsis.types import Dims, KernelCall, Pair, Target

_KNOWN = (
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
_ANSWERS = ("kernel", "chain", "effective", "status", "buffer_size", "buffer_size_2", "hazards", "hazard_ids", "why")
_IGNORED = ("overrun",)
_FUNCTIONS = {
    **{f"arm_convolve_wrapper_{kind}": f"convolve_{kind}" for kind in ("s8", "s16", "s4")},
    **{f"arm_depthwise_conv_wrapper_{kind}": f"depthwise_{kind}" for kind in ("s8", "s16", "s4")},
    "arm_transpose_conv_wrapper_s8": "transpose_conv_s8",
    "arm_fully_connected_wrapper_s8": "fully_connected_s8",
}
"""CMSIS-NN's own names of the entry points that pick a kernel."""
_PAIRS = (("stride", 1, (1, 1)), ("padding", 0, (0, 0)), ("dilation", 1, (1, 1)))
"""Fields of two sizes: name, least allowed, default."""


def answer(record: Mapping[str, object], default: Target) -> dict[str, object]:
    """The same record with what the library does: kernel, chain, effective, status, sizes, hazards and why.

    `wrapper` (`convolve_s8` or `arm_convolve_wrapper_s8`), `in`, `filter` and `out` are required. What else is
    missing or null is the default target's version, isa and compiler (`isa` and `cpu` exclude each other), stride
    [1, 1], padding [0, 0], dilation [1, 1], ch_mult filter channels / input channels for depthwise and 0 else,
    per_channel false for fully_connected_s8, bias true, and pad_after as the output size implies. Answers already
    present are replaced. `hazards` has the kinds of those met.

    Raises:
        ValueError: with the field, what was found and what is allowed.

    """
    for name in record:
        if name not in (*_KNOWN, *_ANSWERS, *_IGNORED):
            raise ValueError(f"field '{name}' is not known{did_you_mean(name, _KNOWN)}")
    entry = _FUNCTIONS.get(str(record.get("wrapper")))
    target, call = target_of(record, default), _call({**record, "wrapper": entry} if entry else record)
    if not is_legacy(call.entry):
        refuse_without("current", target.release)
    kept = {name: value for name, value in record.items() if name not in _ANSWERS}
    return {**kept, **_result(route(call, target), call, target)}


def _call(record: Mapping[str, object]) -> KernelCall:
    entry = text(record, "wrapper", "")
    if entry not in (*ENTRIES, *LEGACY_ENTRIES):
        raise ValueError(f"field 'wrapper' is '{entry}'; allowed: {', '.join((*ENTRIES, *LEGACY_ENTRIES))}")
    sizes = {name: _sizes(record, name, 4, 1, None) for name in ("in", "filter", "out")}
    pairs = {name: _sizes(record, name, 2, low, default) for name, low, default in _PAIRS}
    return KernelCall(
        entry=entry,
        input_dims=Dims(*sizes["in"]),
        filter_dims=Dims(*sizes["filter"]),
        output_dims=Dims(*sizes["out"]),
        stride=Pair(*pairs["stride"]),
        padding=Pair(*pairs["padding"]),
        pad_after=Pair(*_pad_after(record, sizes, pairs)),
        dilation=Pair(*pairs["dilation"]),
        ch_mult=_multiplier(record, entry, sizes),
        per_channel=_per_channel(record, entry),
        bias=_flag(record, "bias", default=True),
    )


def _sizes(
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
    record: Mapping[str, object], sizes: Mapping[str, tuple[int, ...]], pairs: Mapping[str, tuple[int, ...]]
) -> tuple[int | None, int | None]:
    """The padding after, as given; where it is missing or null what the output size implies, [h, w]."""
    if str(record["wrapper"]).startswith(("transpose_conv", "fully_connected")):
        return None, None
    given = record.get("pad_after")
    if given is not None and given != [None, None]:
        first, second = _sizes(record, "pad_after", 2, -LARGEST, None)
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


def _multiplier(record: Mapping[str, object], entry: str, sizes: Mapping[str, tuple[int, ...]]) -> int:
    if not entry.startswith("depthwise"):
        return 0
    if record.get("ch_mult") is not None:
        return number(record["ch_mult"], "ch_mult", 1)
    channels, out = sizes["in"][3], sizes["filter"][3]
    if out % channels:
        raise ValueError(f"field 'filter' has {out} channels; allowed: a multiple of the input's {channels}")
    return out // channels


def _per_channel(record: Mapping[str, object], entry: str) -> bool | None:
    if entry != "fully_connected_s8":
        return None
    return _flag(record, "per_channel", default=False)


def _flag(record: Mapping[str, object], name: str, *, default: bool) -> bool:
    value = record.get(name)
    if value is not None and value not in (True, False):
        raise ValueError(f"field '{name}' is {value!r}; allowed: true, false")
    return default if value is None else bool(value)


def _result(found: Route, call: KernelCall, target: Target) -> dict[str, object]:
    hazards = found.hazards
    result: dict[str, object] = {
        "kernel": found.kernel,
        "chain": list(found.chain),
        "effective": found.effective,
        "status": found.status,
        "buffer_size": found.buffer_size,
        "buffer_size_2": found.reverse_buffer_size,
        "hazards": list(dict.fromkeys(hazard.kind for hazard in hazards)),
        "hazard_ids": [hazard.id for hazard in hazards],
        "why": _why(found, call, target),
    }
    return {**result, "reason": found.reason} if found.reason else result


def _why(found: Route, call: KernelCall, target: Target) -> list[dict[str, object]]:
    """Each branch tried, in the order of the C source, with the conditions that failed and their numbers."""
    values = call.variables()
    return [
        {
            "kernel": branch.kernel,
            "taken": not failed,
            "failed": [condition.explain_with(values) for condition in failed],
            "source": str(branch.origin.source(target.release)),
        }
        for branch, failed in found.tried
    ]
