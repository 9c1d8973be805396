"""What a fix costs the whole model, in the words that findings and the report of the fix share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict_text import cpu_of, rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onnxlint_cmsis.analysis.fix_results import ModelPrice, PriceChange


def whole_price(price: PriceChange, *, changed: bool = False) -> str:
    """`51.6k to 53.1k -> 54.2k instructions, layers of unknown cost 1 -> 0; arena 544 -> 576, flash 64 -> 96 bytes`.

    With `changed` what stays is left out; empty where all stays.
    """
    before, after = price.before, price.after
    arenas = ["unknown" if side.arena is None else f"{side.arena:,}" for side in (before, after)]
    sizes = [("arena", arenas), ("flash", [f"{before.flash:,}", f"{after.flash:,}"])]
    memory = ", ".join(f"{name} {old} -> {new}" for name, (old, new) in sizes if not changed or old != new)
    costs = "" if changed and before.instructions == after.instructions else f"{_both(before, after)} instructions"
    stays = before.unknown == after.unknown and (changed or not after.unknown)
    unknown = "" if stays else f"layers of unknown cost {before.unknown:,} -> {after.unknown:,}"
    time = ", ".join(filter(None, (costs, unknown)))
    return "; ".join(filter(None, (time, f"{memory} bytes" if memory else "")))


def whole_prices(prices: Iterable[PriceChange]) -> str:
    """`on cortex-m4 51.6k -> 54.2k instructions, arena 544 -> 576 bytes; on ...` of what changes."""
    words = [(cpu_of(price.target), whole_price(price, changed=True).replace("; ", ", ")) for price in prices]
    return "; ".join(f"on {cpu} {text}" for cpu, text in words if text)


def _both(before: ModelPrice, after: ModelPrice) -> str:
    """Costs before and after, to three digits where these tell them apart."""
    words = [_words(side, rounded) for side in (before, after)]
    if words[0] == words[1] and before.instructions != after.instructions:
        words = [_words(side, "{:,}".format) for side in (before, after)]
    return " -> ".join(words)


def _words(side: ModelPrice, written: Callable[[int], str]) -> str:
    if side.unknown and not any(side.instructions):
        return "unknown"
    return " to ".join(dict.fromkeys(map(written, side.instructions)))
