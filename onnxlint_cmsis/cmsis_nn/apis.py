"""The two APIs of CMSIS-NN, and the releases that have each."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.releases import RELEASE_ROWS, V5_9

DEFAULT_LEGACY_RELEASE = V5_9
"""The last release with functions for q7 and q15."""


def releases_with(api: str) -> tuple[str, ...]:
    """Reviewed releases that have an API, oldest first."""
    return tuple(row.name for row in RELEASE_ROWS if row.reviewed and api in row.apis)


def refuse_without(api: str, release: str) -> None:
    """Refuse a release without reviewed rows for an API.

    Raises:
        ValueError: the release is not one of those allowed, which the message names.

    """
    if release not in releases_with(api):
        functions = "functions for q7 and q15" if api == "legacy" else "wrappers for s8, s16 and s4"
        raise ValueError(f"CMSIS-NN {release} has no {functions}; allowed: {', '.join(releases_with(api))}")
