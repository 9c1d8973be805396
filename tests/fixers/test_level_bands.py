"""Bands of different sizes, so that none takes much more than the others."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.fixers.memory.channel_tiles import group_ends
from onnxlint_cmsis.fixers.memory.level_bands import guessed_bytes, level_ends
from onnxlint_cmsis.fixers.memory.segments import ROWS, Segment
from onnxlint_cmsis.fixers.memory.tiled_file import tiled
from onnxlint_cmsis.formats.format import TFLITE
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.runtimes.tflm.free_plan import least_head, peak_steps
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from support.expanding_nets import Net
from support.linter import fixed
from support.tflite_writer import write
from support.tflm_agreement import REFERENCE


def shrinking(front: str = "INT8") -> bytes:
    """Three convolutions, each of which halves a map, behind a large input."""
    mobile = Net(3)
    source = mobile.activation([1, 96, 96, 3], front)
    if front != "INT8":
        source = mobile.operator("QUANTIZE", [source], mobile.activation([1, 96, 96, 3]))
    for channels in (8, 16, 16):
        source = mobile.convolution(source, channels, 3, 2)
    return write(mobile.model(source))


SEGMENT = Segment((0, 1, 2), 12, ROWS)
SEARCH = "onnxlint_cmsis.fixers.memory.fitting"


@pytest.mark.parametrize("count", [2, 3, 4])
def test_level_bands_take_less_and_compute_the_same(count: int) -> None:
    data = shrinking()
    model, even = read_tflite("m.tflite", data), group_ends(12, count, 1)
    level = level_ends(model, {}, SEGMENT, even)
    assert len(level) == count
    assert level[-1] == 12
    assert guessed_bytes(model, {SEGMENT: level}) < guessed_bytes(model, {SEGMENT: even})
    new = tiled("m.tflite", data, {SEGMENT: level})
    assert verify(TFLITE.load("m.tflite", data), TFLITE.load("m.tflite", new)).equal


def test_the_last_band_is_the_largest_and_the_others_shrink() -> None:
    first, *others = level_ends(read_tflite("m.tflite", shrinking()), {}, SEGMENT, (3, 6, 9, 12))
    sizes = [first, *(end - start for start, end in pairwise((first, *others)))]
    assert sizes[:-1] == sorted(sizes[:-1], reverse=True)
    assert sizes[-1] == max(sizes) > min(sizes) >= 2


def test_no_band_gets_less_than_two_lines() -> None:
    model = read_tflite("m.tflite", shrinking())
    assert level_ends(model, {}, SEGMENT, (2, 4, 6, 8, 10, 12)) == (2, 4, 6, 8, 10, 12)


def test_a_quantize_in_place_is_not_where_most_is_alive() -> None:
    """The uint8 input and its int8 copy lie on one place, so that the first convolution has most alive."""
    model = read_tflite("m.tflite", shrinking("UINT8"))
    arena = interpret(model, REFERENCE).arena
    assert arena is not None
    assert peak_steps(model, arena) == [2]
    assert least_head(model, arena) < arena.head


def test_the_fix_takes_level_bands() -> None:
    data = shrinking("UINT8")
    model = read_tflite("m.tflite", data)
    segment = Segment((1, 2, 3), 12, ROWS)
    even = min(guessed_bytes(model, {segment: group_ends(12, count, 1)}) for count in range(2, 7))
    result, new = fixed(data, "m.tflite", targets=["cortex-m4"], fix_policy="smaller", most_instructions=50)
    assert new is not None
    assert result.certificate is not None
    assert result.memory[0].after < even


def test_a_long_net_of_equal_maps_is_guessed_at_within_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its layers is at the peak, so that segments grow with the layers, and models in bands with the square."""
    mobile = Net(3)
    source = mobile.activation([1, 8, 8, 2])
    for _ in range(16):
        source = mobile.convolution(source, 2)
    data = write(mobile.model(source))
    guessed: list[Mapping[Segment, tuple[int, ...]]] = []

    def counted(model: TfliteModel, tiles: Mapping[Segment, tuple[int, ...]]) -> int:
        guessed.append(tiles)
        return guessed_bytes(model, tiles)

    def guesses(most: int) -> int:
        monkeypatch.setattr(f"{SEARCH}.MOST_LOOKED_AT", most)
        guessed.clear()
        assert fixed(data, "m.tflite", targets=["cortex-m4"], fix_policy="smaller").model is None
        return len(guessed)

    monkeypatch.setattr(f"{SEARCH}.guessed_bytes", counted)
    assert guesses(0) == 0
    assert 100 <= guesses(16 * 100) < 200 < guesses(1_000_000)
