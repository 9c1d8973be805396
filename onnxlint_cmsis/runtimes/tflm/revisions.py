"""Revisions of TensorFlow Lite Micro: when they came, and which CMSIS-NN they bring."""

from __future__ import annotations

import re

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class TflmRevision(NamedTuple):
    """A run of commits that do the same, by its last one."""

    commit: str
    """Last commit of tensorflow/tflite-micro that was reviewed."""
    since: str
    """Day of the commit that began it, ISO 8601."""
    cmsis_nn: str
    """Commit of ARM-software/CMSIS-NN that its build downloads (tools/make/ext_libs/cmsis_nn_download.sh)."""
    layout: str
    """Revision whose structures it has; empty where they are not reviewed, and no arena is worked out."""
    release: str = "main"
    """CMSIS-NN release whose rows answer for that commit."""
    older: tuple[tuple[str, str], ...] = (("transpose_conv_s8", "7.0.0"),)
    """Entry points whose kernels are still those of an older release, with that release."""


NEWEST = "90b983c2b3f1480642e040bbd2ddb37b998f3424"
_PIN_2026_05, _PIN_2026_06 = "6d9d61d8", "4ab83cc3cc98fb85ed6dafb55e8ca02f1628dcae"
_FROM_7 = tuple(
    (entry, "7.0.0") for entry in ("fully_connected_s8", "batch_matmul_s8", "batch_matmul_s16", "convolve_s4")
)
"""Entry points that CMSIS-NN 95f293df and f2cb41ca have as 7.0.0 has them, all others as 6.0.0."""


def _before_2026_05(
    commit: str, since: str, cmsis_nn: str, release: str, older: tuple[tuple[str, str], ...] = ()
) -> TflmRevision:
    """A revision of which kernels and library were read, and structures not."""
    return TflmRevision(commit, since, cmsis_nn, "", release, older)


REVISIONS = (
    _before_2026_05("be11bd79e4a8b28c9ee92c6f02ca0e85414fb768", "2024-05-07", "01dee38e", "6.0.0"),
    _before_2026_05("eec75f069fe576a8633ca6a954fd4f7ad4406343", "2024-05-29", "01dee38e", "6.0.0"),
    _before_2026_05("19aaea85e4679a9a2f265e07ba190ac5ea4d3766", "2024-07-22", "01dee38e", "6.0.0"),
    _before_2026_05("bf2ba11d93ccff7d7a2a8dfac26d0e87da0d730f", "2024-09-09", "f2cb41ca", "6.0.0", _FROM_7),
    _before_2026_05("4ed97bfe2ae54239217e60b73b82cd86c410d53d", "2024-09-26", "f2cb41ca", "6.0.0", _FROM_7),
    _before_2026_05("4bb78c700e5c56139f4bab700ea2f74f5455e841", "2024-09-27", "f2cb41ca", "6.0.0", _FROM_7),
    _before_2026_05("d7c42b9964fb41870908ede2ceb4a0e9c6368b80", "2024-11-06", "f2cb41ca", "6.0.0", _FROM_7),
    _before_2026_05("9a32964be99131002a83e494299fc44a3d39fdff", "2024-11-12", "22080c68", "7.0.0"),
    _before_2026_05("9b79b9faf208fddb509a0efc671bf338b5675ab9", "2024-12-16", "22080c68", "7.0.0"),
    _before_2026_05("6fc405dd653ecc756e4b8a932b097a483e4ea94f", "2025-02-05", "22080c68", "7.0.0"),
    _before_2026_05("b15beb9d49e5830ce66666c90d353939aa8e0d4f", "2025-03-17", "22080c68", "7.0.0"),
    _before_2026_05("392b78f2f395146287e3a8783a471b9dfac3757f", "2025-03-20", "e096196a", "7.0.0"),
    _before_2026_05("bf42f03951f207c136e7220761e49bedeeb3c6b6", "2025-03-21", "e096196a", "7.0.0"),
    _before_2026_05("0bf295625bddc4d53c21e669ee684f18bae31ce6", "2025-04-04", "e096196a", "7.0.0"),
    _before_2026_05("f50a6eaafd2f9243061b4d81c238a1de7a72dc80", "2025-06-04", "e096196a", "7.0.0"),
    _before_2026_05("74b9db940abf424a3980b8f386411e730bab2287", "2025-07-10", "e096196a", "7.0.0"),
    _before_2026_05("3d4cdc19fb31d8e8b0ef8bec2d34dbda607cff55", "2025-08-05", "e096196a", "7.0.0"),
    _before_2026_05("55a3cbeb1a45b1c6a53093921bbede7ad352d86c", "2025-08-08", "e096196a", "7.0.0"),
    _before_2026_05("7a7a3de092394db4ec780ddd85c6c64a52b0ae19", "2025-08-20", "e096196a", "7.0.0"),
    _before_2026_05("93ebaa9ca4a33449bfa61b6b0f3a63b4aa5f0e15", "2025-08-22", "e096196a", "7.0.0"),
    _before_2026_05("c3c78cb7ea8ae42722d2dc6beb1440e044b42717", "2025-09-09", "e096196a", "7.0.0"),
    _before_2026_05("62cbc8e3eb3df74d82d1f43856b0ec5e6a24e343", "2025-10-17", "e096196a", "7.0.0"),
    _before_2026_05("f5c36ef2efa9886d58b91106e28ab268cc725398", "2025-11-10", "e096196a", "7.0.0"),
    _before_2026_05("e028871fb63f11675667e886a2f46dd4dff9e927", "2026-01-08", "e096196a", "7.0.0"),
    _before_2026_05("3b638dd7513ef6bbbaa7fd281c1f78ce59d5f733", "2026-01-16", "e096196a", "7.0.0"),
    _before_2026_05("f5302ed4fa99b7ec697e578057a1f61445a442fe", "2026-02-10", "e096196a", "7.0.0"),
    _before_2026_05("f97216c24403ee1b4049c650e0d870096fbb3ba8", "2026-03-31", "e096196a", "7.0.0"),
    _before_2026_05("ac2c34673654e75d91f109e23f06f23ea6f1208a", "2026-04-09", "e096196a", "7.0.0"),
    TflmRevision("d0890bb4569472d9a5a7f8303a8e81502c243ece", "2026-05-21", _PIN_2026_05, NEWEST),
    TflmRevision("cc99d0597f6a50383541f5ebccd94f997a8cb085", "2026-05-27", _PIN_2026_05, NEWEST),
    TflmRevision("b6ee3dc9745d8566bc730b74f172f2c7dea330eb", "2026-06-01", _PIN_2026_05, NEWEST),
    TflmRevision("7ca66d18e74881e8fd4ca5909eb36f06e8ee1301", "2026-06-16", _PIN_2026_05, NEWEST),
    TflmRevision("ca0b8b1308e038c2c1963e8b91139379266e8703", "2026-06-24", _PIN_2026_06, NEWEST),
    TflmRevision(NEWEST, "2026-07-01", _PIN_2026_06, NEWEST),
)
"""Reviewed revisions, oldest first. The newest was run; the others were held against it commit by commit.

Each began with a commit that changed what a kernel takes or gives, so that a date has what held on that day. Before
2026-05-21 the kernels were read, and CMSIS-NN by git diff of Source and Include; the sizes of structures were not, so
that no arena is worked out. 01dee38e is 6.0.0 and 22080c68 is 7.0.0, to the byte; e096196a differs from 7.0.0 in a
cast of arm_depthwise_conv_wrapper_s8.c. From 2024-09-09 to 2024-09-17 the pin was 95f293df, which differs from f2cb41ca
in how the sums of dense kernels are added. Of CMSIS-NN 4ab83cc3, arm_transpose_conv_s8.c alone differs from `main`;
6d9d61d8 differs from it in the LSTM alone.
"""

FIRST_DAY, LAST_DAY = "", "9999"


def holds(revision: TflmRevision, since: str, until: str) -> bool:
    """Whether the last commit of a revision has what came on one day and went on another; empty for no such day."""
    following = REVISIONS.index(revision) + 1
    end = REVISIONS[following].since if following < len(REVISIONS) else LAST_DAY
    return since < end and not FIRST_DAY < until < end


DATE = r"\d{4}-\d{2}(-\d{2})?"


def reviewed_revision(text: str = "") -> TflmRevision:
    """The revision that a commit (its first letters) or a date (`2026-08`, `2026-08-20`) names, or the newest.

    Raises:
        ValueError: no reviewed revision has the commit, or none is as old as the date.

    """
    for revision in reversed(REVISIONS):
        dated = re.fullmatch(DATE, text)
        if revision.since[: len(text)] <= text if dated else revision.commit.startswith(text.lower()):
            return revision
    known = ", ".join(f"{revision.commit[:8]} (since {revision.since})" for revision in REVISIONS)
    raise ValueError(f"TensorFlow Lite Micro '{text}' has not been reviewed; reviewed: {known}")
