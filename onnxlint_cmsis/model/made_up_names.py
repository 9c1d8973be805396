"""Names that are made up: no file has them."""

from __future__ import annotations


def unlike(wanted: str, taken: set[str]) -> str:
    """A name that is not taken, which it is from now on: the wanted one, with as many `~` behind it as that takes.

    `taken` has every name of the file, so that no file can hold what is made up.
    """
    while wanted in taken:
        wanted += "~"
    taken.add(wanted)
    return wanted
