"""Clocks as people write them: 120MHz, 80 MHz, 32kHz, 64000000."""

from __future__ import annotations

from onnxlint_cmsis.config.quantities import read_quantity

HERTZ_UNITS = {"": 1, "Hz": 1, "kHz": 1_000, "MHz": 1_000_000}
"""Hertz of each unit."""


HERTZ_WORDS = "a number with Hz, kHz or MHz behind it or not"


LEAST = 1_000
"""Hertz of the slowest clock; less is a number that lacks its unit."""


MOST_HERTZ = 2_000_000_000
"""Hertz of the fastest clock, above that of any Cortex-M."""


def frequency(text: object) -> int:
    """Hertz that a text or a whole number stands for.

    Raises:
        ValueError: with what was found, and what may have been meant.

    """
    hertz = read_quantity(text, HERTZ_UNITS, HERTZ_WORDS, _meant_hertz)
    if hertz < LEAST and 0 < hertz * HERTZ_UNITS["MHz"] <= MOST_HERTZ and str(text).isdecimal():
        raise ValueError(f"{text!r} is {hertz:,} Hz, less than 1kHz; did you mean {text}MHz?")
    if not LEAST <= hertz <= MOST_HERTZ:
        raise ValueError(f"{text!r} is not between 1kHz and {MOST_HERTZ // HERTZ_UNITS['MHz']}MHz")
    return hertz


def _meant_hertz(number: str, unit: str) -> list[str]:
    names = (name for name in HERTZ_UNITS if unit.lower() in (name.lower(), name.lower().removesuffix("hz")))
    return [f"{number}{name}" for name in names if name][:1]
