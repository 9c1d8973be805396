"""Sizes of memory as people write them: 65536, 256K, 1M, 512KiB, 256kB."""

from __future__ import annotations

from onnxlint_cmsis.config.quantities import read_quantity

BYTE_UNITS = {"": 1, "K": 1024, "KiB": 1024, "M": 1024**2, "MiB": 1024**2, "kB": 1000, "MB": 1000**2}
"""Bytes of each unit: K and M are 1,024 and 1,024 squared, as in linker scripts; kB and MB are powers of 1,000."""


_MEANT = {"k": ("K", "kB"), "kb": ("K", "kB"), "kib": ("KiB",), "m": ("M", "MB"), "mb": ("M", "MB"), "mib": ("MiB",)}
"""Units in small letters, and what they may have been meant as."""


BYTE_WORDS = "a number of bytes, with K, KiB, M, MiB, kB or MB behind it or not"


MOST_BYTES = 2**32
"""Bytes that a 32-bit CPU can address."""


def byte_size(text: object) -> int:
    """Bytes that a text or a whole number stands for.

    Raises:
        ValueError: with what was found, and what may have been meant.

    """
    size = read_quantity(text, BYTE_UNITS, BYTE_WORDS, _meant_bytes)
    if not 0 < size <= MOST_BYTES:
        raise ValueError(f"{text!r} is not between 1 byte and {MOST_BYTES:,} bytes")
    return size


def _meant_bytes(number: str, unit: str) -> list[str]:
    names = _MEANT.get(unit.lower(), ())
    return [f"{number}{name} ({round(float(number) * BYTE_UNITS[name]):,} bytes)" for name in names]
