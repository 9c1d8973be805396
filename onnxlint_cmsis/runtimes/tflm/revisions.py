"""Revisions of TensorFlow Lite Micro: when they came, and which CMSIS-NN they bring."""

from __future__ import annotations

from typing import NamedTuple


class TflmRevision(NamedTuple):
    """One revision whose kernels and memory layout were read."""

    commit: str
    """Commit of tensorflow/tflite-micro."""
    date: str
    """Day of the commit, ISO 8601."""
    cmsis_nn: str
    """Commit of ARM-software/CMSIS-NN that its build downloads (tools/make/ext_libs/cmsis_nn_download.sh)."""
    release: str
    """CMSIS-NN release whose rows answer for that commit."""


REVISIONS = (
    TflmRevision(
        commit="90b983c2b3f1480642e040bbd2ddb37b998f3424",
        date="2026-08-20",
        cmsis_nn="4ab83cc3cc98fb85ed6dafb55e8ca02f1628dcae",
        release="main",
    ),
)
"""Reviewed revisions, oldest first. CMSIS-NN 4ab83cc3 is `main` without its last mend of transposed convolution."""


def reviewed_revision(text: str = "") -> TflmRevision:
    """The revision that a commit names (its first letters are enough), or the newest.

    Raises:
        ValueError: no reviewed revision starts so.

    """
    for revision in reversed(REVISIONS):
        if revision.commit.startswith(text.lower()):
            return revision
    known = ", ".join(f"{revision.commit[:8]} ({revision.date})" for revision in REVISIONS)
    raise ValueError(f"TensorFlow Lite Micro '{text}' has not been reviewed; reviewed: {known}")
