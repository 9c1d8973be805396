"""A number with a unit behind it, as people write sizes of memory and clocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

SHAPE = r"(\d+(?:\.\d+)?) ?([A-Za-z]*)"


def read_quantity(
    text: object, units: Mapping[str, int], words: str, meant: Callable[[str, str], Iterable[str]]
) -> int:
    """The whole number that a text stands for, or a whole number as it is.

    `units` has the factor of each unit; `words` say what is allowed; `meant` gives what a number with a unit that is
    not known may have been meant as.

    Raises:
        ValueError: with what was found, and what may have been meant.

    """
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    quantity = re.fullmatch(SHAPE, text.strip()) if isinstance(text, str) else None
    if quantity is None:
        raise ValueError(f"{text!r} is not {words}")
    number, unit = quantity.groups()
    if unit not in units:
        close = list(meant(number, unit))
        rest = f"did you mean {' or '.join(close)}?" if close else f"units are {', '.join(filter(None, units))}"
        raise ValueError(f"{text!r} has a unit that is not known; {rest}")
    return round(float(number) * units[unit])
