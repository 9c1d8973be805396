"""The releases of CMSIS-NN: which were reviewed, their order, and what is said of one that was not."""

from __future__ import annotations

import re

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import did_you_mean


class Release(NamedTuple):
    """One release of the library."""

    name: str
    """Name that users, rows and files give it."""
    reviewed: str = ""
    """Day on which every row was held against its source, `2026-11-21`; the release is refused where empty."""
    measured_on: str = ""
    """Release whose measured instructions are taken for it; its own where empty."""
    apis: tuple[str, ...] = ("current",)
    """Names of the APIs whose rows were reviewed."""
    said: str = ""
    """How far it was reviewed, as a sentence, where its source was not read whole; empty where it was."""


RELEASE_ROWS = (
    Release("cmsis5-5.6.0", reviewed="2026-11-22", apis=("legacy",)),
    Release("cmsis5-5.7.0", reviewed="2026-11-22", apis=("legacy",)),
    Release("cmsis5-5.8.0", reviewed="2026-11-21", apis=("current", "legacy")),
    Release("cmsis5-5.9.0", reviewed="2026-11-21", apis=("current", "legacy")),
    Release("4.0.0", reviewed="2026-11-21"),
    Release("4.1.0", reviewed="2026-11-21"),
    Release("5.0.0", reviewed="2026-11-21"),
    Release("6.0.0", reviewed="2026-11-21"),
    Release("7.0.0", reviewed="2026-11-21"),
    Release("main", reviewed="2026-11-21", apis=("current", "float")),
    Release(
        "8.0.0",
        reviewed="2026-11-28",
        measured_on="main",
        said="CMSIS-NN 8.0.0 is judged as main (99f736a6): two files of its source and 600,000 answers of 30 size "
        "functions for integers are equal, and the rest of its source was not read.",
    ),
)
"""Oldest first: the one place that orders releases. `main` is commit 99f736a6 of ARM-software/CMSIS-NN."""

RELEASES = tuple(row.name for row in RELEASE_ROWS)
"""Names, oldest first."""

REVIEWED = tuple(row.name for row in RELEASE_ROWS if row.reviewed)
"""Names of those that may be asked about."""

V5_6, V5_7, V5_8, V5_9 = "cmsis5-5.6.0", "cmsis5-5.7.0", "cmsis5-5.8.0", "cmsis5-5.9.0"
"""The releases inside CMSIS 5, whose names are long."""

DEFAULT_RELEASE = "7.0.0"


_ROWS = {row.name: row for row in RELEASE_ROWS}
_ORDER = {name: position for position, name in enumerate(RELEASES)}
_VERSION = r"v?[0-9]+\.[0-9]+\.[0-9]+"


def said_of(release: str) -> str:
    """How far a release was reviewed, as a sentence; empty where all of its source was read."""
    return _ROWS[release].said


def normalise_release(text: str) -> str:
    """`v7.0.0` and `7.0.0` name one release, `5.9.0` and `cmsis5-5.9.0` another.

    Raises:
        ValueError: the release is unknown or not reviewed.

    """
    release = text.strip().lower()
    if release.startswith("v") and release[1:2].isdigit():
        release = release[1:]
    if f"cmsis5-{release}" in _ROWS:
        release = f"cmsis5-{release}"
    return reviewed(release)


def reviewed(release: str) -> str:
    """The release, where its rows were reviewed.

    Raises:
        ValueError: they were not, so nothing may be said of it.

    """
    if release in REVIEWED:
        return release
    names = ", ".join(REVIEWED)
    if release in _ROWS or re.fullmatch(_VERSION, release):
        raise ValueError(f"CMSIS-NN release {release} is not reviewed; reviewed are {names}")
    raise ValueError(f"CMSIS-NN release '{release}' is not known{did_you_mean(release, REVIEWED)}")


def holds(since: str, until: str, release: str) -> bool:
    """Tell whether a release is `since` or later, and older than `until`; an empty `until` is no bound.

    Raises:
        ValueError: the release is not reviewed.

    """
    here = _ORDER[reviewed(release)]
    return _ORDER[since] <= here and (not until or here < _ORDER[until])


def before(release: str) -> str:
    """The release before another."""
    return RELEASES[_ORDER[release] - 1]


def outlives(until: str, release: str) -> bool:
    """Tell whether a row that ends before `until` (empty: never) still holds in `release` or later."""
    return not until or _ORDER[release] < _ORDER[until]


def later(first: str, second: str) -> str:
    """The later of two releases."""
    return max(first, second, key=_ORDER.__getitem__)


def older(release: str) -> tuple[str, ...]:
    """The release and every older one, newest first."""
    return RELEASES[_ORDER[release] :: -1]


def distance(first: str, second: str) -> int:
    """How many releases lie between two of them."""
    return abs(_ORDER[first] - _ORDER[second])


def measured_on(release: str) -> str:
    """Release whose measured instructions are taken for a release: its own, unless its row names another."""
    return _ROWS[reviewed(release)].measured_on or release
