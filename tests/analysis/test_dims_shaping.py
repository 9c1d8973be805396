"""Operators that regroup, cut, join or repeat axes: where the channels go, and what stops them."""

from __future__ import annotations

import numpy as np
import pytest

from support.dims_graphs import Builder, freedom, prove, reasons
from support.goldens import Told
from support.stems import head, stem


def dense(build: Builder, data: str, rows: int) -> str:
    """A last dense layer `dense`."""
    return build.op("MatMul", data, build.weights(rows, 2), name="dense")


def test_nchw_flatten_reads_blocks() -> None:
    build, data = stem()
    dimensions = prove(build, dense(build, build.op("Flatten", data, name="flat"), 96))
    assert dimensions.channel_text("flat_0", 1) == "96 = 6 x 4 x 4"
    assert freedom(dimensions, "stem_0", 1) == "FREE"


def test_nhwc_flatten_interleaves() -> None:
    build, data = stem()
    turned = build.op("Transpose", data, perm=[0, 2, 3, 1])
    dimensions = prove(build, dense(build, build.op("Reshape", turned, build.ints(1, 96), name="flat"), 96))
    assert dimensions.channel_text("flat_0", 1) == "96 = 4 x 4 x 6"
    assert freedom(dimensions, "stem_0", 1) == "FREE"
    named = [name for name in dimensions.size_names if name.element == 1 and name.position == 1]
    assert [dimensions.channel_text("flat_0", 1) for _ in named] == ["96 = 4 x 4 x 6"]


def test_flatten_of_a_pooled_plane_is_the_class_itself() -> None:
    build, data = stem()
    flat = build.op("Flatten", build.op("GlobalAveragePool", data), name="flat")
    dimensions = prove(build, dense(build, flat, 6))
    assert dimensions.class_of("flat_0", 1) == dimensions.class_of("stem_0", 1)


@pytest.mark.parametrize("target", [(1, 6), (1, -1), (0, 6), (0, -1)])
def test_reshape_to_a_vector(target: tuple[int, int]) -> None:
    build, data = stem()
    flat = build.op("Reshape", build.op("GlobalAveragePool", data), build.ints(*target), name="flat")
    dimensions = prove(build, dense(build, flat, 6))
    assert freedom(dimensions, "flat_0", 1) == "FREE"


def test_channel_shuffle_is_followed() -> None:
    build, data = stem(12)
    apart = build.op("Reshape", data, build.ints(1, 3, 4, 4, 4))
    crossed = build.op("Transpose", apart, perm=[0, 2, 1, 3, 4])
    mixed = build.op("Reshape", crossed, build.ints(1, 12, 4, 4), name="mixed")
    dimensions = prove(build, head(build, mixed, 12))
    assert dimensions.channel_text("stem_0", 1) == "12 = 3 x 4"
    assert dimensions.channel_text("mixed_0", 1) == "12 = 4 x 3"
    assert dimensions.leaves("stem_0", 1) == dimensions.leaves("mixed_0", 1)[::-1]
    assert not reasons(dimensions, "stem_0", 1)


def test_shuffle_of_rank_3_with_gather() -> None:
    build, data = stem(4)
    apart = build.op("Reshape", data, build.ints(2, 2, 16))
    crossed = build.op("Transpose", apart, perm=[1, 0, 2])
    split = build.op("Reshape", crossed, build.ints(2, -1, 2, 4, 4))
    first = build.op("Gather", split, build.const(0, np.int64), axis=0)
    dimensions = prove(build, head(build, first, 2))
    assert dimensions.channel_text("stem_0", 1) == "4 = 2 x 2"
    assert any("picked by index" in reason for reason in reasons(dimensions, "stem_0", 1))


def test_axes_that_do_not_nest_are_locked(told: Told) -> None:
    build, data = stem(6)
    odd = build.op("Reshape", data, build.ints(1, 4, 6, 4), name="odd")
    dimensions = prove(build, head(build, odd, 4))
    told(reasons(dimensions, "stem_0", 1))


def test_a_target_from_shape_follows_the_axis_it_names() -> None:
    build, data = stem()
    sizes = build.op("Shape", data)
    batch = build.op("Gather", sizes, build.ints(0), axis=0)
    target = build.op("Concat", batch, build.ints(-1), axis=0)
    dimensions = prove(build, dense(build, build.op("Reshape", data, target, name="flat"), 96))
    assert freedom(dimensions, "stem_0", 1) == "FREE"
    assert dimensions.channel_text("flat_0", 1) == "96 = 6 x 4 x 4"


def test_a_target_that_computes_with_the_channels_locks_them(told: Told) -> None:
    build, data = stem()
    sizes = build.op("Shape", data)
    channels = build.op("Gather", sizes, build.ints(1), axis=0)
    rest = build.op("Sub", build.op("Add", channels, build.ints(1), name="more"), build.ints(1))
    target = build.op("Concat", build.ints(1), rest, build.ints(16), axis=0)
    dimensions = prove(build, build.op("MatMul", build.op("Reshape", data, target), build.weights(16, 2)))
    told(reasons(dimensions, "stem_0", 1))


def test_a_target_given_at_run_time_locks(told: Told) -> None:
    build, data = stem()
    target = build.input("target", 2, elem_type=7)
    build.op("Reshape", data, target, name="flat")
    dimensions = build.analyse("stem_0")
    told(reasons(dimensions, "stem_0", 1))


def test_sizes_multiplied_are_a_grid() -> None:
    build, data = stem()
    sizes = build.op("Shape", data)
    height, width = (build.op("Gather", sizes, build.ints(axis), axis=0) for axis in (2, 3))
    target = build.op("Concat", build.ints(1, 6), build.op("Mul", height, width), axis=0)
    flat = build.op("Reshape", data, target, name="flat")
    dimensions = prove(build, build.op("Conv", flat, build.weights(2, 6, 1)))
    assert freedom(dimensions, "flat_0", 1) == "FREE"


def test_squeeze_and_unsqueeze() -> None:
    build, data = stem()
    vector = build.op("Squeeze", build.op("GlobalAveragePool", data), build.ints(2, 3), name="vector")
    back = build.op("Unsqueeze", vector, build.ints(2, 3), name="back")
    dimensions = prove(build, head(build, back, 6))
    assert dimensions.class_of("vector_0", 1) == dimensions.class_of("back_0", 1) == dimensions.class_of("stem_0", 1)


def test_a_squeezed_channel_stays_one(told: Told) -> None:
    build, data = stem(1)
    plane = build.op("Squeeze", data, build.ints(1), name="plane")
    dimensions = prove(build, build.op("MatMul", plane, build.weights(4, 2)))
    told(reasons(dimensions, "stem_0", 1))


def test_one_channel_moved_by_reshape_stays_one() -> None:
    build, data = stem(1)
    last = build.op("Reshape", data, build.ints(1, 4, 4, 1))
    dimensions = prove(build, build.op("MatMul", last, build.weights(1, 2)))
    assert freedom(dimensions, "stem_0", 1) == "LOCKED"


def test_older_opsets_keep_axes_in_attributes() -> None:
    build, data = stem(opset=11)
    vector = build.op("Squeeze", build.op("GlobalAveragePool", data), axes=[2, 3])
    back = build.op("Unsqueeze", vector, axes=[2, 3])
    pieces = build.op("Split", back, out=["low", "high"], split=[2, 4], axis=1)
    dimensions = prove(build, build.conv(pieces[1], 4, 2))
    assert dimensions.channel_text("stem_0", 1) == "[2 + 4]"
    assert [name.attribute for name in dimensions.size_names] == ["split", "split"]


def test_concat_and_split_hold_segments() -> None:
    build, data = stem(3)
    other = build.conv("x", 3, 5, name="other")
    both = build.op("Concat", data, other, axis=1, name="both")
    pieces = build.op("Split", both, build.ints(4, 4), out=["low", "high"], axis=1)
    summed = build.op("Add", pieces[0], pieces[1])
    dimensions = prove(build, head(build, summed, 4))
    assert dimensions.channel_text("both_0", 1) == "[3 + 1 + 3 + 1]"
    assert dimensions.channel_text("other_0", 1) == "[1 + 3 + 1]"


def test_equal_pieces_stay_equal() -> None:
    build, data = stem(8)
    pieces = build.op("Split", data, out=["low", "high"], axis=1)
    dimensions = prove(build, build.conv(pieces[0], 4, 2), build.conv(pieces[1], 4, 2))
    assert dimensions.channel_text("stem_0", 1) == "[4 + 4]"
    assert dimensions.class_of("low", 1) == dimensions.class_of("high", 1)
    assert freedom(dimensions, "low", 1) == "FREE"


def test_slice_cuts_and_names_its_limits() -> None:
    build, data = stem(8)
    limits = [build.ints(value) for value in (2, -3, 1)]
    middle = build.op("Slice", data, *limits, name="middle")
    dimensions = prove(build, head(build, middle, 3))
    assert dimensions.channel_text("stem_0", 1) == "[2 + 3 + 3]"
    assert [(name.position, name.sign) for name in dimensions.size_names] == [(1, 1), (2, -1)]


def test_slice_of_a_flattened_plane_cuts_whole_channels() -> None:
    build, data = stem(6)
    flat = build.op("Flatten", data)
    low = build.op("Slice", flat, build.ints(0), build.ints(32), build.ints(1))
    high = build.op("Slice", flat, build.ints(32), build.ints(2**31 - 1), build.ints(1))
    dimensions = prove(build, dense(build, low, 32), build.op("MatMul", high, build.weights(64, 2)))
    assert dimensions.channel_text("stem_0", 1) == "[2 + 4]"
    assert not reasons(dimensions, "stem_0", 1)


@pytest.mark.parametrize(("start", "end", "step"), [(0, 8, 2), (7, -9, -1), (0, 99, 1)])
def test_slices_that_are_not_followed(start: int, end: int, step: int, told: Told) -> None:
    build, data = stem(8)
    limits = [build.ints(value) for value in (start, end, 1, step)]
    cut = build.op("Slice", data, *limits, name="cut")
    count = len(range(*slice(start, None if end < -8 else end, step).indices(8)))
    dimensions = prove(build, head(build, cut, count))
    told(reasons(dimensions, "stem_0", 1))


def test_gather_of_a_run_takes_a_piece() -> None:
    build, data = stem(8)
    dimensions = prove(build, head(build, build.op("Gather", data, build.ints(2, 3, 4), axis=1), 3))
    assert dimensions.channel_text("stem_0", 1) == "[2 + 3 + 3]"
    classes = [dimensions.class_with_id(leaf) for leaf in dimensions.leaves("stem_0", 1)]
    assert [group.freedom.value for group in classes] == ["LOCKED", "LOCKED", "FREE"]


def test_gather_in_another_order_locks() -> None:
    build, data = stem(4)
    dimensions = prove(build, head(build, build.op("Gather", data, build.ints(0, 2, 1, 3), axis=1), 4))
    assert freedom(dimensions, "stem_0", 1) == "LOCKED"


def test_pad_adds_fixed_ends() -> None:
    build, data = stem(4)
    padded = build.op("Pad", data, build.ints(0, 1, 1, 1, 0, 2, 1, 1), name="padded")
    dimensions = prove(build, head(build, padded, 7))
    assert dimensions.channel_text("padded_0", 1) == "[1 + 4 + 2]"
    assert freedom(dimensions, "stem_0", 1) == "FREE"


def test_reflected_channels_are_locked(told: Told) -> None:
    build, data = stem(4)
    padded = build.op("Pad", data, build.ints(0, 1, 0, 0, 0, 0, 0, 0), mode="reflect", name="padded")
    dimensions = prove(build, head(build, padded, 5))
    told(reasons(dimensions, "stem_0", 1))


def test_tile_repeats_the_class() -> None:
    build, data = stem(4)
    tiled = build.op("Tile", data, build.ints(1, 3, 1, 1), name="tiled")
    dimensions = prove(build, head(build, tiled, 12))
    assert dimensions.channel_text("tiled_0", 1) == "12 = 3 x 4"
    assert freedom(dimensions, "stem_0", 1) == "FREE"


def test_expand_keeps_the_channels_and_locks_what_it_repeats(told: Told) -> None:
    build, data = stem(4)
    pooled = build.op("GlobalAveragePool", data)
    dimensions = prove(build, head(build, build.op("Expand", pooled, build.ints(1, 4, 3, 3)), 4))
    assert freedom(dimensions, "stem_0", 1) == "FREE"
    build, data = stem(1)
    dimensions = prove(build, head(build, build.op("Expand", data, build.ints(1, 5, 4, 4), name="wide"), 5))
    told(reasons(dimensions, "stem_0", 1))


def test_expand_to_the_shape_of_another_tensor() -> None:
    build, data = stem(4)
    gate = build.op("GlobalAveragePool", build.conv("x", 3, 4, name="gate"))
    spread = build.op("Expand", gate, build.op("Shape", data))
    dimensions = prove(build, head(build, build.op("Add", data, spread), 4))
    assert dimensions.class_of("gate_0", 1) == dimensions.class_of("stem_0", 1)
    assert freedom(dimensions, "stem_0", 1) == "COUPLED"


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(mode: str) -> None:
    build, data = stem(12)
    moved = build.op("DepthToSpace", data, blocksize=2, mode=mode, name="moved")
    dimensions = prove(build, head(build, moved, 3))
    text = {"DCR": "12 = 2 x 2 x 3", "CRD": "12 = 3 x 2 x 2"}[mode]
    assert dimensions.channel_text("stem_0", 1) == text
    assert freedom(dimensions, "moved_0", 1) == "FREE"


def test_space_to_depth() -> None:
    build, data = stem(3)
    moved = build.op("SpaceToDepth", data, blocksize=2, name="moved")
    dimensions = prove(build, head(build, moved, 12))
    assert dimensions.channel_text("moved_0", 1) == "12 = 2 x 2 x 3"
    assert freedom(dimensions, "stem_0", 1) == "FREE"


@pytest.mark.parametrize("by", ["scales", "sizes"])
def test_resize_keeps_the_channels(by: str, told: Told) -> None:
    build, data = stem(4)
    empty = build.const([], np.float32)
    if by == "scales":
        output = build.op("Resize", data, empty, build.const([1, 1, 2, 2], np.float32), name="big")
    else:
        output = build.op("Resize", data, "", "", build.ints(1, 4, 8, 8), name="big")
    dimensions = prove(build, head(build, output, 4))
    assert freedom(dimensions, "stem_0", 1) == "FREE"
    told(reasons(dimensions, "big_0", 2)[0])


def test_resize_to_sizes_from_shape() -> None:
    build, data = stem(4)
    kept = build.op("Slice", build.op("Shape", data), build.ints(0), build.ints(2))
    sizes = build.op("Concat", kept, build.ints(8, 8), axis=0)
    dimensions = prove(build, head(build, build.op("Resize", data, "", "", sizes), 4))
    assert freedom(dimensions, "stem_0", 1) == "FREE"


def test_upsample_before_opset_9() -> None:
    build, data = stem(4, opset=8)
    output = build.op("Upsample", data, scales=[1.0, 1.0, 2.0, 2.0])
    dimensions = prove(build, head(build, output, 4))
    assert freedom(dimensions, "stem_0", 1) == "FREE"


def test_constants_of_a_shape_grow_with_it() -> None:
    build, data = stem(4)
    zeros = build.op("ConstantOfShape", build.ints(4, 1, 1), name="zeros")
    dimensions = prove(build, head(build, build.op("Add", data, zeros), 4))
    assert freedom(dimensions, "stem_0", 1) == "FREE"
    assert [(name.position, name.element) for name in dimensions.size_names] == [(0, 0), (0, 1), (0, 2)]


def test_a_negative_size_leaves_the_classes_in_their_places() -> None:
    build, data = stem()
    filled = build.op("ConstantOfShape", build.ints(8, -6, 1, 1), name="filled")
    dimensions = build.analyse(head(build, build.op("Conv", data, filled), 8))
    assert [group.id for group in dimensions.classes] == [*range(len(dimensions.classes))]
    assert all(group.size > 0 for group in dimensions.classes)
