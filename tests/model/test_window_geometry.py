"""Windows along an axis, counted by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.model.windows import padding_for, places, reach, rounded_up, same_padding, same_places

SMALL = st.integers(1, 9)


@given(st.integers(1, 40), SMALL, st.integers(1, 3), SMALL, st.integers(0, 5), st.integers(0, 5))
def test_windows_are_counted(size: int, kernel: int, dilation: int, stride: int, before: int, after: int) -> None:
    span = reach(kernel, dilation)
    assert span == max(tap * dilation for tap in range(kernel)) + 1
    starts = [start for start in range(0, size + before + after, stride) if start + span <= size + before + after]
    assert max(places(size, span, stride, before, after), 0) == len(starts)
    if starts:
        assert padding_for(len(starts), size, span, stride) == starts[-1] + span - size


@given(st.integers(1, 40), st.integers(1, 9), SMALL)
def test_same_has_a_window_for_each_stride_and_no_row_to_spare(size: int, span: int, stride: int) -> None:
    before, after = same_padding(size, span, stride)
    assert same_places(size, stride) == len(range(0, size, stride))
    assert after - before in (0, 1)
    assert places(size, span, stride, before, after) == same_places(size, stride)
    assert before + after == 0 or places(size, span, stride, before, after - 1) < same_places(size, stride)


@given(st.integers(1, 30), SMALL, SMALL, st.integers(0, 4), st.integers(0, 4))
def test_rounding_up_drops_a_last_window_that_starts_behind_the_input(
    size: int, span: int, stride: int, before: int, after: int
) -> None:
    if span > size + before + after:
        return
    starts = range(0, size + before + after - span + stride, stride)
    dropped = starts[-1] >= size + before
    assert rounded_up(size, span, stride, before, after) == len(starts) - dropped
