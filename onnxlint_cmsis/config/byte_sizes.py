"""Sizes of memory as people write them: 65536, 256K, 1M, 512KiB, 256kB."""

from __future__ import annotations

import re

UNITS = {"": 1, "K": 1024, "KiB": 1024, "M": 1024**2, "MiB": 1024**2, "kB": 1000, "MB": 1000**2}
"""Bytes of each unit: K and M are 1,024 and 1,024 squared, as in linker scripts; kB and MB are powers of 1,000."""
_MEANT = {"k": ("K", "kB"), "kb": ("K", "kB"), "kib": ("KiB",), "m": ("M", "MB"), "mb": ("M", "MB"), "mib": ("MiB",)}
"""Units in small letters, and what they may have been meant as."""
SHAPE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)")
WORDS = "a number of bytes, with K, KiB, M, MiB, kB or MB behind it or not"
MOST = 2**32
"""Bytes that a 32-bit CPU can address."""


def byte_size(text: object) -> int:
    """Bytes that a text or a whole number stands for.

    Raises:
        ValueError: with what was found, and what may have been meant.

    """
    size = _read(text)
    if not 0 < size <= MOST:
        raise ValueError(f"{text!r} is not between 1 byte and {MOST:,} bytes")
    return size


def _read(text: object) -> int:
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    found = SHAPE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{text!r} is not {WORDS}")
    number, unit = found.groups()
    if unit not in UNITS:
        meant = [
            f"{number}{name} ({round(float(number) * UNITS[name]):,} bytes)" for name in _MEANT.get(unit.lower(), ())
        ]
        rest = f"did you mean {' or '.join(meant)}?" if meant else f"units are {', '.join(filter(None, UNITS))}"
        raise ValueError(f"{text!r} has a unit that is not known; {rest}")
    return round(float(number) * UNITS[unit])
