"""Revisions of TensorFlow Lite Micro: when they came, and which CMSIS-NN they bring."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

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
    unreleased: tuple[str, ...] = ()
    """Entry points whose kernels are those of no reviewed release, so that they are not judged."""


NEWEST = "90b983c2b3f1480642e040bbd2ddb37b998f3424"
_PIN_2026_05, _PIN_2026_06 = "6d9d61d8", "4ab83cc3cc98fb85ed6dafb55e8ca02f1628dcae"
_SUMS_OF_7 = ("fully_connected_s8", "batch_matmul_s8", "batch_matmul_s16", "convolve_s4")
"""Entry points that CMSIS-NN 95f293df and f2cb41ca have as 7.0.0 has them, all others as 6.0.0."""
_UNPACKED = ("convolve_s4", "fully_connected_s4")
"""Entry points of four bits that CMSIS-NN before 15dbe7cd has as 5.0.0 has them."""
_OF_FOUR = ("convolve_s8", "convolve_s16", "depthwise_s8", "fully_connected_s8", "svdf_s8", "svdf_state_s16_s8")
"""Entry points that CMSIS-NN d071e9f7 has otherwise than 4.0.0 and 4.1.0."""
_PAIRED = tuple(
    f"{name}_{kind}" for name in ("elementwise_add", "elementwise_mul", "max_pool") for kind in ("s8", "s16")
)
"""Further ones that CMSIS-NN e98ee09a has otherwise than 4.0.0."""


def _before_2026_05(
    cmsis_nn: str,
    release: str,
    days: str,
    older: dict[str, tuple[str, ...]] | None = None,
    unreleased: tuple[str, ...] = (),
) -> tuple[TflmRevision, ...]:
    """Revisions with one CMSIS-NN, of which kernels and library were read, and structures not.

    `days` has the commit and the day of each, `older` the entry points by the release that they are of.
    """
    pairs = tuple((entry, of) for of, entries in (older or {}).items() for entry in entries)
    rows = map(str.split, days.strip().splitlines())
    return tuple(TflmRevision(commit, since, cmsis_nn, "", release, pairs, unreleased) for since, commit in rows)


REVISIONS = (
    *_before_2026_05("e98ee09a", "4.0.0", """
        2022-12-21 0c425da368ff3b4ce4feda37a3de08a0f58c5d06
        2023-01-17 634398344a9ec8962720ea3e74ef3d5377770514
        2023-02-09 fe3c9842c701d53991a69aa619a2ed3dacb4f7f7
        2023-02-14 98fbfef1629a93d525e70922ad810436717f5509
        2023-02-16 a8c2ebf583a535efb550953c740fac13fdbc11a1
        2023-03-01 05bbf9edf77c60ea506abe08468133643a302bac
    """, unreleased=_OF_FOUR + _PAIRED),
    *_before_2026_05("d071e9f7", "4.1.0", """
        2023-03-02 17aae9e35d2c72bf2de6dc73cf49a2d552b71b43
        2023-03-06 a4dc63912587927cfbd77376ce7607a507774302
        2023-03-08 7f5168127346d1fb9cd449b0f75d8c84d32faa53
        2023-03-22 857f467014069b21027ee1614a64a1cab6b3a056
        2023-03-27 ffd7d16c864ba1d77be995a2902a5883e8550eab
        2023-03-30 a0c3d026ca7601cc7f58fbca3fb1c437ce43a877
        2023-04-06 7c5460c8fb48fe3b576263ab3b5886207fbb1cba
        2023-04-12 7330d1cf7a720e5c539080189ae47760a127f941
        2023-04-18 2b7f86c86ef15b6363efabf3e7163b3d478ea8b3
        2023-06-01 ebc20d4ee871d5d1687df7fa1b19429231e11e7a
    """, unreleased=_OF_FOUR),
    *_before_2026_05("dc64e488", "4.1.0", """
        2023-06-14 c6e758b3acbfe8e5a7151033987afe044db5b0a2
        2023-06-21 ef0a7b025a9d78dee0b81d7d27053f3aff097fb1
        2023-07-11 597ccf786ce4ee988a78f39dc02a6e3b6966f346
        2023-07-12 296b8185838ff644d368a7e69b42d34661704bc7
        2023-07-13 e687c60812bc9998bd92295f08de24ce4b157f7f
        2023-07-14 52007f6a479a37c6513fa5b6523791572902c25c
        2023-07-19 ed11500ab9761c101a918a4aaf9f44c4ac7056b3
        2023-07-20 c20bab12dbdb091bcd92b3204b4f1cfbfe58eae9
        2023-07-26 aa945a0fc6359a1ed8ecc2ca518fedcb35a7863b
        2023-08-01 0228e3e1997dda99ec1aa8988f790e8847eed24a
        2023-08-23 34691a66f27f4f7c2207ba78e630e57d881d2a4d
        2023-08-24 1dfe2bc58b0c8a73a49ab92ec624afaf1e13962e
        2023-09-01 494499956ed9554eb97d8723b4d6fe17873950d5
        2023-09-05 0cc7719f41b0870f4eae14f2a3c728caecba7f31
        2023-09-06 127f88fe3aaed550c6d7f644c07c8f407a45cf0f
    """),
    *_before_2026_05("58f17705", "5.0.0", """
        2023-09-19 4bcc144fc8d2c6171b0ee66200c3f365140965e1
        2023-09-25 4bbdef5f8aee54c3435cb46b4408865612f2ffb0
        2023-10-02 58d8f84ebe35aaf73c1be7a71885cea9ad4b3211
    """, {"4.1.0": ("depthwise_s8",)}, unreleased=("fully_connected_s8",)),
    *_before_2026_05("ca476254", "5.0.0", """
        2023-11-07 904edd2ce23151f53f2e59c77820b4ad43ab445d
    """, {"4.1.0": ("depthwise_s8",)}),
    *_before_2026_05("bfc54edb", "5.0.0", """
        2023-11-14 944b23edbffb3fda1ad74b55b9cff2480d9368b7
        2023-11-28 c1a5f16129afbfa057988d3ded31456aa68feb6d
        2023-11-30 b766947f5a0b8f34dbe1a12b904c99d524b291d3
        2024-01-02 ca5358f4680dbd94717a4c6bd77186bc1c799e1b
        2024-01-11 4b2bdd1a6cc2d0335815c2fbfd8d2fcb640bc2b4
        2024-01-22 a549448bb234cf3fed15ad5dabf83d06f82326ce
    """),
    *_before_2026_05("2a999a2f", "6.0.0", """
        2024-02-09 a7238a13e0ff0476242607752fe74466f51b591a
    """, {"5.0.0": ("convolve_s16", "depthwise_s8", "depthwise_s4", "transpose_conv_s8", "svdf_s8", *_UNPACKED)},
        unreleased=("convolve_s8", "fully_connected_s8")),
    *_before_2026_05("72e1ebf6", "6.0.0", """
        2024-02-23 d3088479753fb0963dd72d75bddbc5ff5bf64aec
    """, {"5.0.0": ("convolve_s16", "depthwise_s8", "depthwise_s4", *_UNPACKED)}, unreleased=("convolve_s8",)),
    *_before_2026_05("6cc31fb3", "6.0.0", """
        2024-03-18 79e3f35f3ce03c4f24fc9dfef40fcff5827b0112
        2024-03-21 a17682de2038418028d2d1f6674c6d1235f902d3
    """, {"5.0.0": ("convolve_s16", "depthwise_s8", *_UNPACKED)}, unreleased=("convolve_s8", "depthwise_s4")),
    *_before_2026_05("8492d82a", "6.0.0", """
        2024-04-23 0fc313bfe7341b499e3d9150a04f4ac6559151b2
    """, {"5.0.0": ("depthwise_s8", *_UNPACKED)}, unreleased=("convolve_s16", "depthwise_s4")),
    *_before_2026_05("15dbe7cd", "6.0.0", """
        2024-04-29 cf10f942ed0b0556f96e138a7926194bad958284
    """, {"5.0.0": ("depthwise_s8", "fully_connected_s4")}, unreleased=("depthwise_s4",)),
    *_before_2026_05("01dee38e", "6.0.0", """
        2024-05-07 be11bd79e4a8b28c9ee92c6f02ca0e85414fb768
        2024-05-29 eec75f069fe576a8633ca6a954fd4f7ad4406343
        2024-07-22 19aaea85e4679a9a2f265e07ba190ac5ea4d3766
    """),
    *_before_2026_05("f2cb41ca", "6.0.0", """
        2024-09-09 bf2ba11d93ccff7d7a2a8dfac26d0e87da0d730f
        2024-09-26 4ed97bfe2ae54239217e60b73b82cd86c410d53d
        2024-09-27 4bb78c700e5c56139f4bab700ea2f74f5455e841
        2024-11-06 d7c42b9964fb41870908ede2ceb4a0e9c6368b80
    """, {"7.0.0": _SUMS_OF_7}),
    *_before_2026_05("22080c68", "7.0.0", """
        2024-11-12 9a32964be99131002a83e494299fc44a3d39fdff
        2024-12-16 9b79b9faf208fddb509a0efc671bf338b5675ab9
        2025-02-05 6fc405dd653ecc756e4b8a932b097a483e4ea94f
        2025-03-17 b15beb9d49e5830ce66666c90d353939aa8e0d4f
    """),
    *_before_2026_05("e096196a", "7.0.0", """
        2025-03-20 392b78f2f395146287e3a8783a471b9dfac3757f
        2025-03-21 bf42f03951f207c136e7220761e49bedeeb3c6b6
        2025-04-04 0bf295625bddc4d53c21e669ee684f18bae31ce6
        2025-06-04 f50a6eaafd2f9243061b4d81c238a1de7a72dc80
        2025-07-10 74b9db940abf424a3980b8f386411e730bab2287
        2025-08-05 3d4cdc19fb31d8e8b0ef8bec2d34dbda607cff55
        2025-08-08 55a3cbeb1a45b1c6a53093921bbede7ad352d86c
        2025-08-20 7a7a3de092394db4ec780ddd85c6c64a52b0ae19
        2025-08-22 93ebaa9ca4a33449bfa61b6b0f3a63b4aa5f0e15
        2025-09-09 c3c78cb7ea8ae42722d2dc6beb1440e044b42717
        2025-10-17 62cbc8e3eb3df74d82d1f43856b0ec5e6a24e343
        2025-11-10 f5c36ef2efa9886d58b91106e28ab268cc725398
        2026-01-08 e028871fb63f11675667e886a2f46dd4dff9e927
        2026-01-16 3b638dd7513ef6bbbaa7fd281c1f78ce59d5f733
        2026-02-10 f5302ed4fa99b7ec697e578057a1f61445a442fe
        2026-03-31 f97216c24403ee1b4049c650e0d870096fbb3ba8
        2026-04-09 ac2c34673654e75d91f109e23f06f23ea6f1208a
    """),
    TflmRevision("d0890bb4569472d9a5a7f8303a8e81502c243ece", "2026-05-21", _PIN_2026_05, NEWEST),
    TflmRevision("cc99d0597f6a50383541f5ebccd94f997a8cb085", "2026-05-27", _PIN_2026_05, NEWEST),
    TflmRevision("b6ee3dc9745d8566bc730b74f172f2c7dea330eb", "2026-06-01", _PIN_2026_05, NEWEST),
    TflmRevision("7ca66d18e74881e8fd4ca5909eb36f06e8ee1301", "2026-06-16", _PIN_2026_05, NEWEST),
    TflmRevision("ca0b8b1308e038c2c1963e8b91139379266e8703", "2026-06-24", _PIN_2026_06, NEWEST),
    TflmRevision(NEWEST, "2026-07-01", _PIN_2026_06, NEWEST),
)  # fmt: skip
"""Reviewed revisions, oldest first. The newest was run; the others were held against it commit by commit.

Each began with a commit that changed what a kernel takes or gives, so that a date has what held on that day. Before
2026-05-21 the kernels were read, and CMSIS-NN by git diff of Source and Include; the sizes of structures were not, so
that no arena is worked out. 01dee38e is 6.0.0 and 22080c68 is 7.0.0, to the byte; e096196a differs from 7.0.0 in a
cast of arm_depthwise_conv_wrapper_s8.c. From 2024-09-09 to 2024-09-17 the pin was 95f293df, which differs from f2cb41ca
in how the sums of dense kernels are added. Of CMSIS-NN 4ab83cc3, arm_transpose_conv_s8.c alone differs from `main`;
6d9d61d8 differs from it in the LSTM alone.

Before 2024-05-07 dc64e488 is 4.1.0 and bfc54edb 5.0.0, but for comments. Of the others each entry point was held
against the releases with all functions, tables and structures that it reaches: where nothing differs it is of that
release, else of none. What kernels of TensorFlow Lite Micro did before they changed, and nobody read, is in unread.py.
"""

ALL_READ = "2024-05-07"
"""Day from which all kernels were read; on an older one unread.py tells what was not."""
FIRST_DAY, LAST_DAY = "", "9999"
ENDS: Mapping[str, str] = MappingProxyType(dict(pairwise(row.since for row in REVISIONS)))
"""Day on which the next revision began, by the day of one; the newest has none."""


def holds(revision: TflmRevision, since: str, until: str) -> bool:
    """Tell if the last commit of a revision has what came on one day and went on another; empty for no such day."""
    if not since and not until:
        return True
    end = ENDS.get(revision.since, LAST_DAY)
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
    known = f"every day from {REVISIONS[0].since} on, and the commits that docs/runtimes.md lists"
    raise ValueError(f"TensorFlow Lite Micro '{text}' has not been reviewed; reviewed: {known}")
