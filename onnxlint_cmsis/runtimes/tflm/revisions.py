"""Revisions of TensorFlow Lite Micro: when they came, which CMSIS-NN they bring, what was mended since."""

from __future__ import annotations

import re
from enum import Enum

from onnxlint_cmsis.named_tuples import NamedTuple


class TflmDefect(str, Enum):
    """A defect of older kernels that a later revision mended."""

    POOL_FIRST_IMAGE = "a pool hands over a batch of 1"
    """K/cmsis_nn/pooling.cc, until 63819227 of 2026-06-01."""
    DEPTHWISE_BATCH = "a depthwise convolution of a batch stops a build with checks"
    """K/cmsis_nn/depthwise_conv.cc:150, until cc99d059 of 2026-05-27."""
    PAD_RANK = "a pad reads four sizes whatever the rank"
    """K/cmsis_nn/pad.cc, until 2ba41b0f of 2026-05-27."""
    EXTREME_RANK = "maximum and minimum take ranks other than 2 to 4 for one value"
    """K/cmsis_nn/maximum_minimum.cc, until 2ba41b0f of 2026-05-27."""


class TflmRevision(NamedTuple):
    """A run of commits that do the same, by its last one."""

    commit: str
    """Last commit of tensorflow/tflite-micro that was reviewed."""
    since: str
    """Day of the commit that began it, ISO 8601."""
    cmsis_nn: str
    """Commit of ARM-software/CMSIS-NN that its build downloads (tools/make/ext_libs/cmsis_nn_download.sh)."""
    layout: str
    """Revision whose structures it has."""
    release: str = "main"
    """CMSIS-NN release whose rows answer for that commit."""
    older: tuple[tuple[str, str], ...] = (("transpose_conv_s8", "7.0.0"),)
    """Entry points whose kernels are still those of an older release, with that release."""
    defects: frozenset[TflmDefect] = frozenset()
    """What later revisions mended."""


NEWEST = "90b983c2b3f1480642e040bbd2ddb37b998f3424"
_PIN_2026_05, _PIN_2026_06 = "6d9d61d8", "4ab83cc3cc98fb85ed6dafb55e8ca02f1628dcae"

REVISIONS = (
    TflmRevision(
        "d0890bb4569472d9a5a7f8303a8e81502c243ece", "2026-05-21", _PIN_2026_05, NEWEST, defects=frozenset(TflmDefect)
    ),
    TflmRevision(
        "cc99d0597f6a50383541f5ebccd94f997a8cb085",
        "2026-05-27",
        _PIN_2026_05,
        NEWEST,
        defects=frozenset({TflmDefect.POOL_FIRST_IMAGE}),
    ),
    TflmRevision("7ca66d18e74881e8fd4ca5909eb36f06e8ee1301", "2026-06-01", _PIN_2026_05, NEWEST),
    TflmRevision(NEWEST, "2026-06-24", _PIN_2026_06, NEWEST),
)
"""Reviewed revisions, oldest first. The newest was run; the others were held against it line by line.

Of CMSIS-NN 4ab83cc3, arm_transpose_conv_s8.c alone differs from `main`; 6d9d61d8 differs from it in the LSTM alone.
"""

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
