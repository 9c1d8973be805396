"""Clocks as people write them: 120MHz, 80 MHz, 32kHz, 64000000."""

from __future__ import annotations

import re

UNITS = {"": 1, "Hz": 1, "kHz": 1_000, "MHz": 1_000_000}
"""Hertz of each unit."""
SHAPE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)")
WORDS = "a number with Hz, kHz or MHz behind it or not"
LEAST = 1_000
"""Hertz of the slowest clock; less is a number that lacks its unit."""
MOST = 2_000_000_000
"""Hertz of the fastest clock, above that of any Cortex-M."""


def frequency(text: object) -> int:
    """Hertz that a text or a whole number stands for.

    Raises:
        ValueError: with what was found, and what may have been meant.

    """
    hertz = _read(text)
    if hertz < LEAST and 0 < hertz * UNITS["MHz"] <= MOST and str(text).isdecimal():
        raise ValueError(f"{text!r} is {hertz:,} Hz, less than 1kHz; did you mean {text}MHz?")
    if not LEAST <= hertz <= MOST:
        raise ValueError(f"{text!r} is not between 1kHz and {MOST // UNITS['MHz']}MHz")
    return hertz


def _read(text: object) -> int:
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    found = SHAPE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{text!r} is not {WORDS}")
    number, unit = found.groups()
    if unit not in UNITS:
        meant = next((name for name in UNITS if unit.lower() in (name.lower(), name.lower().removesuffix("hz"))), "")
        rest = f"did you mean {number}{meant}?" if meant else f"units are {', '.join(filter(None, UNITS))}"
        raise ValueError(f"{text!r} has a unit that is not known; {rest}")
    return round(float(number) * UNITS[unit])
