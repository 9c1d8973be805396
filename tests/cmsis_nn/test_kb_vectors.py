"""Every dispatch vector: kernel, chain, status and sizes as the real library gave them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnxlint_cmsis.cmsis_nn.json_records import shape_answer
from onnxlint_cmsis.cmsis_nn.tables import hazard
from support import paths
from support.nightly import one_of
from support.targets import target_of

SAMPLE = paths.DATA / "dispatch_sample.jsonl.gz"
SHARED = paths.SHARED / "vectors" / "dispatch"
DEFAULT = target_of("cortex-m55")
CHECKED = ("kernel", "chain", "status", "buffer_size", "buffer_size_2")

FILES = [
    *(f"cmsis5-{release}-{isa}" for release in ("5.8.0", "5.9.0") for isa in ("scalar", "dsp", "mve")),
    *(f"v{release}-{isa}" for release in ("4.0.0", "4.1.0", "5.0.0", "6.0.0") for isa in ("scalar", "dsp", "mve")),
    *(
        f"{release}-{build}"
        for release in ("v7.0.0", "main")
        for build in ("scalar", "dsp", "mve", "dsp-armclang", "mve-armclang")
    ),
]

# The vectors record writes past the scratch buffer; rows past the output tensor and reads are other matters.
SCRATCH_OVERRUNS = {
    "conv-grouped-1xn-scratch",
    "dw-opt-window-outside",
    "dw-fast-s16-window-outside",
    "dw-s4-opt-window-outside",
    "tconv-scratch-too-small",
}
# Kernels that the host cannot run, so that their writes were not recorded: dsp and MVE code of these entry points.
UNRECORDED = {
    ("depthwise_s8", "dsp"),
    ("depthwise_s16", "dsp"),
    ("depthwise_s4", "dsp"),
    ("transpose_conv_s8", "mve"),
}


def vectors(path: Path) -> Iterator[dict[str, object]]:
    with gzip.open(path, "rt") as lines:
        for line in lines:
            yield json.loads(line)


def disagreements(path: Path) -> list[str]:
    wrong = []
    for vector in vectors(path):
        answer = shape_answer(vector, DEFAULT)
        wrong += [f"{name}: {answer[name]} for {vector}" for name in CHECKED if answer[name] != vector[name]]
    return wrong


def overrun_mismatches(path: Path) -> list[str]:
    wrong = []
    for vector in vectors(path):
        if (vector["wrapper"], vector["isa"]) in UNRECORDED:
            continue
        identifiers = shape_answer(vector, DEFAULT)["hazard_ids"]
        assert isinstance(identifiers, list)
        if (vector["overrun"] != 0) != bool(SCRATCH_OVERRUNS.intersection(identifiers)):
            wrong.append(f"{identifiers} for {vector}")
    return wrong


def test_there_are_28_files() -> None:
    assert len(set(FILES)) == 28


def test_sample_agrees_everywhere() -> None:
    assert disagreements(SAMPLE) == []


def test_sample_has_every_file() -> None:
    seen = {(vector["version"], vector["isa"], vector["compiler"]) for vector in vectors(SAMPLE)}
    assert len(seen) == len(FILES)


def test_samples_are_small_enough_to_keep() -> None:
    assert [path.name for path in paths.DATA.iterdir() if path.stat().st_size > 800_000] == []


def test_sample_overruns_are_predicted() -> None:
    assert overrun_mismatches(SAMPLE) == []


@pytest.mark.skipif(not SHARED.exists(), reason="the complete dispatch vectors are not beside the project")
@pytest.mark.parametrize("name", one_of(4, FILES))
def test_every_vector_agrees(name: str) -> None:
    path = SHARED / f"{name}.jsonl.gz"
    assert disagreements(path) == []
    assert overrun_mismatches(path) == []


def test_overrun_rows_exist() -> None:
    assert {hazard(name).kind for name in SCRATCH_OVERRUNS} == {"overrun"}


def test_overruns_happen_in_the_sample() -> None:
    counted = sum(vector["overrun"] != 0 for vector in vectors(SAMPLE))
    assert counted > 40
