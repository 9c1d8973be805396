"""Revisions of TensorFlow Lite Micro: when they came, and which CMSIS-NN they bring."""

from __future__ import annotations

import re
from typing import NamedTuple


class TflmRevision(NamedTuple):
    """One revision whose kernels and memory layout were read, and run."""

    commit: str
    """Commit of tensorflow/tflite-micro."""
    since: str
    """Day since which nothing of what is said about the revision has changed, ISO 8601."""
    date: str
    """Day of the commit."""
    cmsis_nn: str
    """Commit of ARM-software/CMSIS-NN that its build downloads (tools/make/ext_libs/cmsis_nn_download.sh)."""
    release: str
    """CMSIS-NN release whose rows answer for that commit."""
    older: tuple[tuple[str, str], ...] = ()
    """Entry points whose kernels are still those of an older release, with that release."""


REVISIONS = (
    TflmRevision(
        commit="90b983c2b3f1480642e040bbd2ddb37b998f3424",
        since="2026-08-12",
        date="2026-08-20",
        cmsis_nn="4ab83cc3cc98fb85ed6dafb55e8ca02f1628dcae",
        release="main",
        older=(("transpose_conv_s8", "7.0.0"),),
    ),
)
"""Reviewed revisions, oldest first. Of CMSIS-NN 4ab83cc3, arm_transpose_conv_s8.c alone differs from `main`."""

DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")


def reviewed_revision(text: str = "") -> TflmRevision:
    """The revision that a commit (its first letters) or a date (`2026-08`, `2026-08-20`) names, or the newest.

    Raises:
        ValueError: no reviewed revision has the commit, or none is as old as the date.

    """
    for revision in reversed(REVISIONS):
        dated = DATE.fullmatch(text)
        if revision.since[: len(text)] <= text if dated else revision.commit.startswith(text.lower()):
            return revision
    known = ", ".join(f"{revision.commit[:8]} (since {revision.since})" for revision in REVISIONS)
    raise ValueError(f"TensorFlow Lite Micro '{text}' has not been reviewed; reviewed: {known}")
