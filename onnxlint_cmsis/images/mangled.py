"""Names of C++ objects as people wrote them (Itanium C++ ABI, 5.1)."""

from __future__ import annotations

import re

LOCAL = re.compile(r"_ZZ.*E(\d+)(\w+)$")
"""A static variable of a function: `_ZZ4mainE12tensor_arena`."""


def plain_name(symbol: str) -> str:
    """The last part of a mangled name: `model_data` for `_ZN12_GLOBAL__N_110model_dataE`; other names as they are."""
    local = LOCAL.match(symbol)
    if local and len(local[2]) >= int(local[1][:4]):
        return local[2][: int(local[1][:4])]
    if not symbol.startswith("_ZN") and not symbol.startswith("_ZL"):
        return symbol
    rest, parts = symbol.removeprefix("_ZN").removeprefix("_ZL").lstrip("K"), []
    while rest[:1].isdigit():
        digits = len(rest) - len(rest.lstrip("0123456789"))
        length = int(rest[: min(digits, 4)])
        parts.append(rest[digits : digits + length])
        rest = rest[digits + length :]
    return parts[-1] if parts and parts[-1] else symbol
