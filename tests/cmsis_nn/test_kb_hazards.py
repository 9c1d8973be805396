"""The hazard table: exactness where there is a definition to compare with, and the documented examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest

from onnxlint_cmsis.cmsis_nn.arguments import LEFT_PAD_NUM, NO_PAD_NUM, RIGHT_PAD_NUM
from onnxlint_cmsis.cmsis_nn.library import INTEGER, Route, all_hazards, hazards, route
from onnxlint_cmsis.cmsis_nn.releases import RELEASES
from onnxlint_cmsis.cmsis_nn.tables import hazard
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from support.goldens import Told
from support.targets import target_of


def truncated(left: int, right: int) -> int:
    return int(left / right)


def columns(in_w: int, k: int, s: int, p: int, out_w: int) -> tuple[int, int, int, int] | None:
    """A, L, M, R of the kernel; None where it refuses the geometry or hands it on."""
    total = (out_w - 1) * s + k - in_w
    uneven = total - truncated(total, 2) * 2
    if 2 * p + uneven != total:
        return None
    right = 0 if p + uneven == 0 else max(1, truncated(p + uneven + s - 1, s))
    left = 0 if p == 0 else max(1, truncated(p + s - 1, s))
    middle = max(out_w - left - right, 0)
    return (uneven, left, middle, right) if left + middle + right == out_w else None


def reads(in_w: int, k: int, s: int, p: int, out_w: int) -> list[list[int | str]] | None:
    """What each tap of each output column reads: an input column, `zero`, or `stale` memory."""
    split = columns(in_w, k, s, p, out_w)
    if split is None:
        return None
    uneven, left, middle, right = split
    start = s * (left + middle) - p
    left_strip: list[int | str] = ["zero"] * p + list(range(k))
    right_strip: list[int | str] = [*range(start, start + k - 1), *["zero"] * (right if uneven else p)]
    plain: list[int | str] = list(range(-p, s * out_w + k))
    rows = [left_strip[o * s : o * s + k] for o in range(left)]
    rows += [plain[o * s : o * s + k] for o in range(left, left + middle)]
    rows += [right_strip[o * s : o * s + k] for o in range(right)]
    return [[*row, *["stale"] * (k - len(row))] for row in rows]


def asked(in_w: int, k: int, s: int, p: int, out_w: int) -> list[list[int | str]]:
    """What the definition of convolution asks each tap to read."""
    taps = [[o * s - p + t for t in range(k)] for o in range(out_w)]
    return [[x if 0 <= x < in_w else "zero" for x in row] for row in taps]


def geometries() -> list[tuple[int, int, int, int, int]]:
    """All (in_w, k, s, p, out_w) of the range whose right padding is any that the kernel accepts or just not."""
    drawn = []
    for k, s, p, in_w in product(range(1, 9), range(1, 6), range(5), range(1, 41)):
        for after in range(-s, p + 3):
            steps, rest = divmod(in_w + p + after - k, s)
            if rest == 0 and steps >= 0:
                drawn.append((in_w, k, s, p, steps + 1))
    return drawn


def sizes(geometry: tuple[int, int, int, int, int]) -> dict[str, int | None]:
    names = ("input_dims.w", "filter_dims.w", "stride.w", "padding.w", "output_dims.w")
    return dict(zip(names, geometry, strict=True))


def test_one_by_n_wrong_values_are_exactly_those_of_the_simulation() -> None:
    """A tap that reads past the input has a row of its own: what lies behind it decides the value."""
    counts = Counter[str]()
    rows = {name: hazard(f"conv-1xn-{name}").when for name in ("wrong-values", "reads-past-input")}
    for geometry in geometries():
        taps, in_w = reads(*geometry), geometry[0]
        wrong = taps is not None and taps != asked(*geometry)
        past = any(isinstance(tap, int) and tap >= in_w for row in taps or () for tap in row)
        expected = {"wrong-values": wrong and not past, "reads-past-input": past}
        assert {name: when.evaluate(sizes(geometry)) for name, when in rows.items()} == expected, geometry
        counts["right"] += taps is not None and not wrong
        counts.update(name for name, is_so in expected.items() if is_so)
    assert counts["right"] > 3000
    assert counts["wrong-values"] > 500
    assert counts["reads-past-input"] > 500


def test_one_by_n_columns_are_the_kernels() -> None:
    cases = [*geometries()]
    assert cases
    for geometry in cases:
        split = columns(*geometry)
        if split is not None:
            values = sizes(geometry)
            assert (LEFT_PAD_NUM.evaluate(values), NO_PAD_NUM.evaluate(values), RIGHT_PAD_NUM.evaluate(values)) == (
                split[1:]
            )


def convolution(width: int, k: int, stride: int, before: int, after: int, channels: int) -> KernelCall:
    out = (width + before + after - k) // stride + 1
    return KernelCall(
        "convolve_s8",
        Dims(1, 1, width, channels),
        Dims(8, 1, k, channels),
        Dims(1, 1, out, 8),
        Pair(1, stride),
        Pair(0, before),
        Pair(0, after),
    )


def run(call: KernelCall, cpu: str, release: str = "7.0.0") -> Route:
    return route(call, target_of(cpu, release))


def ids(answer: Route) -> list[str]:
    return [item.id for item in answer.hazards]


@pytest.mark.parametrize(
    ("width", "k", "before", "after", "wrong"),
    [
        (32, 3, 0, 0, "conv-1xn-wrong-values"),
        (32, 5, 1, 2, "conv-1xn-reads-past-input"),
        (33, 5, 2, 2, "conv-1xn-reads-past-input"),
    ],
)
@pytest.mark.parametrize("release", ["6.0.0", "7.0.0", "main"])
def test_one_by_n_examples_with_4_channels_are_wrong_and_with_3_right(
    width: int, k: int, before: int, after: int, wrong: str, release: str
) -> None:
    stride2 = {channels: convolution(width, k, 2, before, after, channels) for channels in (3, 4)}
    assert ids(run(stride2[4], "cortex-m55", release)) == [wrong]
    assert ids(run(stride2[3], "cortex-m55", release)) == []
    assert ids(run(stride2[4], "cortex-m4", release)) == []
    assert ids(run(stride2[4], "cortex-m55", "5.0.0")) == []


@pytest.mark.parametrize("release", ["4.1.0", "5.0.0", "6.0.0", "7.0.0", "main"])
def test_symmetric_padding_with_an_even_width_is_refused(release: str) -> None:
    answer = run(convolution(32, 3, 2, 1, 1, 8), "cortex-m55", release)
    assert (answer.status, ids(answer)) == (-3, ["conv-1xn-geometry-refused"])
    assert answer.chain == ("arm_convolve_1_x_n_s8",)


def transposed(size: int, k: int, stride: int, pad: int, channels: int) -> KernelCall:
    out = (size - 1) * stride + k - 2 * pad
    dims = Dims(1, size, size, channels), Dims(4, k, k, channels), Dims(1, out, out, 4)
    return KernelCall("transpose_conv_s8", *dims, Pair(stride, stride), Pair(pad, pad))


@pytest.mark.parametrize("k", [3, 4])
def test_everyday_transposed_convolution_is_wrong_in_7_0_and_right_with_17_channels(k: int) -> None:
    assert "tconv-padding-not-in-strides" in ids(run(transposed(11, k, 2, 1, 16), "cortex-m4"))
    assert ids(run(transposed(11, k, 2, 1, 17), "cortex-m4")) == []
    assert ids(run(transposed(11, k, 2, 1, 16), "cortex-m4", "main")) == []
    assert ids(run(transposed(11, k, 2, 1, 16), "cortex-m4", "6.0.0")) == []


def test_transposed_rows_past_the_output() -> None:
    point, third = transposed(6, 1, 2, 0, 4), transposed(6, 3, 3, 1, 4)
    assert "tconv-rows-past-output" in ids(run(point, "cortex-m4"))
    assert "tconv-rows-past-output-main" in ids(run(point, "cortex-m4", "main"))
    assert "tconv-rows-past-output" not in ids(run(third, "cortex-m4"))
    assert "tconv-rows-past-output-main" in ids(run(third, "cortex-m4", "main"))


def rows_written(call: KernelCall, release: str) -> int:
    """Rows the ring buffer is emptied of, by the loops of arm_transpose_conv_s8."""
    in_h, k, s, p = call.input_dims.h, call.filter_dims.h, call.stride.h, call.padding.h
    out_h = call.output_dims.h
    assert in_h and k and s and p is not None and out_h
    if release == "7.0.0":
        rows = sum(s for j in range(in_h) if max(0, p - j * s) == 0)
    else:
        rows = sum(max(0, (j + 1) * s - p) - max(0, j * s - p) for j in range(in_h))
    return rows + sum(p <= in_h * s + y < p + out_h for y in range(k - s))


@pytest.mark.parametrize("release", ["7.0.0", "main"])
def test_transposed_rows_past_the_output_are_exactly_those_of_the_loops(release: str) -> None:
    seen = set()
    for size, k, stride, pad in product(range(1, 9), range(1, 6), range(1, 6), range(4)):
        call = transposed(size, k, stride, pad, 4)
        out_h = call.output_dims.h
        if out_h is None or out_h < 1 or pad > k:
            continue
        past = any("rows-past-output" in name for name in ids(run(call, "cortex-m4", release)))
        assert past is (rows_written(call, release) > out_h), call
        seen.add(past)
    assert seen == {False, True}


def cleared_rows(in_h: int, k: int, stride: int, pad: int, out_h: int) -> int:
    """Most rows of im2col that the depthwise loops fill for one output row."""
    most = 0
    for row in range(out_h):
        base = row * stride - pad
        first, last = max(0, -base), min(k, in_h - base)
        most = max(most, first + max(0, last - first) + k - last)
    return most


def test_depthwise_windows_outside_are_exactly_those_of_the_loops() -> None:
    when, seen = hazard("dw-opt-window-outside").when, set()
    for in_h, k, stride, pad, out_h in product(range(1, 7), range(1, 5), range(1, 4), range(6), range(1, 9)):
        values: dict[str, int | None] = {
            "input_dims.h": in_h,
            "filter_dims.h": k,
            "stride.h": stride,
            "padding.h": pad,
            "output_dims.h": out_h,
        }
        truth = when.evaluate(values)
        assert truth is (cleared_rows(in_h, k, stride, pad, out_h) > k), values
        seen.add(truth)
    assert seen == {False, True}


def planes() -> Iterator[dict[str, int | None]]:
    """One axis of a layer, the same for both: every size known, the output by ONNX's rounding down."""
    for size, k, stride, before, after in product(range(1, 8), range(1, 5), range(1, 4), range(6), range(7)):
        room = size + before + after - k
        if room >= 0:
            numbers = (size, k, stride, before, after, room // stride + 1)
            groups = ("input_dims", "filter_dims", "stride", "padding", "pad_after", "output_dims")
            pairs = zip(groups, numbers, strict=True)
            yield {f"{group}.{axis}": number for group, number in pairs for axis in "hw"}


def fits(name: str, values: dict[str, int | None]) -> bool:
    """Whether a geometry can come to the row's kernel."""
    point = values["filter_dims.h"] == 1 and values["padding.h"] == 0
    if "1x1" in name:
        return point and (values["stride.h"] == 1 or "fast" not in name)
    return values["filter_dims.h"] == 3 if "3x3" in name else True


@pytest.mark.parametrize("name", [item.id for item in all_hazards() if item.unsized])
def test_what_the_padding_after_decides_is_what_the_sizes_decide(name: str) -> None:
    row, told = hazard(name), set()
    for values in planes():
        if fits(name, values):
            blank = {key: None if key[:2] in ("in", "ou") else number for key, number in values.items()}
            truth = row.meets(blank)
            assert truth in (None, row.when.evaluate(values)), values
            told.add(truth)
    assert told >= {True, False}


@pytest.mark.parametrize("name", ["conv-1x1-padding-after", "conv-1x1-fast-padding-after", "avgpool-empty-window"])
def test_known_sizes_decide_whatever_the_padding_after_says(name: str) -> None:
    row = hazard(name)
    cases = [*planes()]
    assert cases
    for values in cases:
        assert row.meets({**values, "pad_after.h": None, "pad_after.w": None}) is row.when.evaluate(values)


def test_numbers_name_only_what_makes_the_hazard(told: Told) -> None:
    call = convolution(32, 3, 2, 1, 1, 8)
    answer = run(call, "cortex-m55")
    told(answer.hazards[0].numbers(answer.seen))
    wrong = run(convolution(32, 3, 2, 0, 0, 4), "cortex-m55")
    told(wrong.hazards[0].numbers(wrong.seen))
    assert hazard("fc-null-context").numbers(call.variables()) == ""


def test_a_padding_of_minus_one_in_all_is_accepted() -> None:
    # width 16, filter 3, stride 2: the last input is never read
    assert "conv-1xn-geometry-refused" not in ids(run(convolution(16, 3, 2, 0, 0, 4), "cortex-m55"))
    assert "one more" not in hazard("conv-1xn-geometry-refused").what


def test_no_row_speaks_of_the_lstm_gates() -> None:
    # input_gate and forget_gate of arm_nn_lstm_step_s8 and _s16 are one buffer, so that naming the other is no defect
    rows = {item.id for item in hazards(INTEGER) if any("lstm" in entry for entry in item.entries)}
    assert rows == {"lstm-initial-state-dropped", "lstm-s16-initial-state-dropped"}


def depthwise(pad: int, width: int = 9, out_w: int = 9) -> KernelCall:
    return KernelCall(
        "depthwise_s8",
        Dims(1, 9, width, 8),
        Dims(1, 3, 3, 8),
        Dims(1, 9, out_w, 8),
        padding=Pair(1, pad),
        ch_mult=1,
    )


def test_3x3_with_wide_padding_fails_in_5_8() -> None:
    answer = run(depthwise(2, out_w=11), "cortex-m4", "cmsis5-5.8.0")
    assert (answer.kernel, answer.status) == ("arm_depthwise_conv_3x3_s8", -1)
    assert run(depthwise(2, out_w=11), "cortex-m4", "cmsis5-5.9.0").kernel == "arm_depthwise_conv_s8_opt"


def test_3x3_is_wrong_with_two_columns_of_padding_after() -> None:
    assert ids(run(depthwise(1), "cortex-m4")) == []
    assert ids(run(depthwise(1, out_w=10), "cortex-m4")) == ["dw-3x3-padding-after"]
    assert ids(run(depthwise(1, out_w=10), "cortex-m55")) == []


@pytest.mark.parametrize(
    ("entry", "release"), [("convolve_s8", "5.0.0"), ("convolve_s16", "7.0.0"), ("convolve_s4", "main")]
)
def test_grouped_convolution_is_dense(entry: str, release: str) -> None:
    call = KernelCall(entry, Dims(1, 8, 8, 8), Dims(8, 3, 3, 4), Dims(1, 6, 6, 8))
    assert [item.kind for item in run(call, "cortex-m4", release).hazards] == ["wrong-result"]


def test_grouped_convolution_is_right_from_6_0_on_where_groups_divide() -> None:
    call = KernelCall("convolve_s8", Dims(1, 8, 8, 8), Dims(8, 3, 3, 4), Dims(1, 6, 6, 8))
    assert ids(run(call, "cortex-m4", "6.0.0")) == []
    odd = call._replace(filter_dims=Dims(7, 3, 3, 4), output_dims=Dims(1, 6, 6, 7))
    assert run(odd, "cortex-m4", "6.0.0").status == -1


def test_1x1_with_padding_after() -> None:
    fast = KernelCall("convolve_s8", Dims(1, 8, 8, 8), Dims(8, 1, 1, 8), Dims(1, 8, 9, 8))
    assert ids(run(fast, "cortex-m4")) == ["conv-1x1-fast-padding-after"]
    strided = fast._replace(output_dims=Dims(1, 4, 5, 8), stride=Pair(2, 2))
    assert ids(run(strided, "cortex-m4")) == ["conv-1x1-padding-after"]
    right = fast._replace(output_dims=Dims(1, 4, 4, 8), stride=Pair(2, 2))
    assert ids(run(right, "cortex-m4")) == []


def test_dilation_is_ignored_in_5_8() -> None:
    call = KernelCall("convolve_s8", Dims(1, 8, 8, 8), Dims(8, 3, 3, 8), Dims(1, 4, 4, 8), dilation=Pair(2, 2))
    assert ids(run(call, "cortex-m4", "cmsis5-5.8.0")) == ["conv-dilation-ignored"]
    assert ids(run(call, "cortex-m4", "cmsis5-5.9.0")) == []


def test_16_bit_sizes(told: Told) -> None:
    wide = KernelCall("convolve_s8", Dims(1, 3, 65536, 3), Dims(8, 3, 3, 3), Dims(1, 1, 65534, 8))
    assert [item.kind for item in run(wide, "cortex-m4").hazards] == ["too-large"]
    told(run(wide, "cortex-m4").hazards[0].numbers(wide.variables()))


def deep(channels: int, pixels: int) -> KernelCall:
    return KernelCall("convolve_s8", Dims(1, 3, 2 + pixels, channels), Dims(8, 3, 3, channels), Dims(1, 1, pixels, 8))


@pytest.mark.parametrize(
    ("release", "cpu", "channels", "pixels", "cut"),
    [
        ("7.0.0", "cortex-m0", 7282, 1, True),  # 65538 columns
        ("7.0.0", "cortex-m0", 7282, 3, True),
        ("7.0.0", "cortex-m0", 7282, 2, False),
        ("7.0.0", "cortex-m4", 7282, 1, False),  # dsp code counts in steps of 4
        ("7.0.0", "cortex-m4", 29128, 1, True),  # 262152 columns
        ("7.0.0", "cortex-m4", 29127, 1, False),
        ("7.0.0", "cortex-m55", 29128, 1, False),
        ("5.0.0", "cortex-m0", 7282, 1, True),
        ("5.0.0", "cortex-m0", 7282, 2, False),
        ("4.1.0", "cortex-m0", 7282, 2, True),  # the count is a uint16_t parameter
        ("4.1.0", "cortex-m4", 7282, 2, True),
        ("4.1.0", "cortex-m4", 7282, 1, False),
        ("4.1.0", "cortex-m4", 29128, 1, True),
        ("cmsis5-5.8.0", "cortex-m0", 29128, 1, False),  # a plain loop
        ("cmsis5-5.8.0", "cortex-m4", 7282, 2, True),
    ],
)
def test_columns_are_cut_off_where_the_source_counts_in_16_bits(
    release: str, cpu: str, channels: int, pixels: int, cut: bool
) -> None:
    hazards_met = run(deep(channels, pixels), cpu, release).hazards
    assert [item.kind for item in hazards_met] == (["too-large"] if cut else [])


def test_the_odd_column_of_a_grouped_layer_has_the_columns_of_one_group() -> None:
    call = deep(14564, 1)
    halves = call._replace(filter_dims=call.filter_dims._replace(c=7282))
    assert len(run(halves, "cortex-m0").hazards) == 1
    assert (
        run(halves._replace(filter_dims=Dims(8, 3, 3, 3641), input_dims=Dims(1, 3, 3, 7282)), "cortex-m0").hazards == ()
    )


def test_pooling_window_in_the_padding() -> None:
    call = KernelCall("avgpool_s8", Dims(1, 5, 5, 8), Dims(1, 2, 2, 1), Dims(1, 4, 3, 8), Pair(2, 2))
    assert run(call, "cortex-m4").status == -1
    inside = call._replace(output_dims=Dims(1, 3, 3, 8))
    assert run(inside, "cortex-m4").status == 0


def test_average_pooling_reads_one_image_before_6_0() -> None:
    call = KernelCall("avgpool_s8", Dims(2, 4, 4, 8), Dims(1, 2, 2, 1), Dims(2, 2, 2, 8), Pair(2, 2))
    assert ids(run(call, "cortex-m4", "5.0.0")) == ["avgpool-one-image"]
    assert ids(run(call, "cortex-m4", "6.0.0")) == []


@pytest.mark.parametrize("release", ["4.0.0", "4.1.0", "5.0.0", "6.0.0"])
@pytest.mark.parametrize("entry", ["max_pool_s8", "max_pool_s16"])
def test_max_pooling_reads_one_image_before_6_0(entry: str, release: str) -> None:
    call = KernelCall(entry, Dims(2, 6, 6, 4), Dims(1, 2, 2, 1), Dims(2, 3, 3, 4), Pair(2, 2))
    name = "max-pool-one-image" if entry == "max_pool_s8" else "max-pool-s16-one-image"
    assert ids(run(call, "cortex-m4", release)) == ([] if release == "6.0.0" else [name])
    assert ids(run(call._replace(input_dims=Dims(1, 6, 6, 4)), "cortex-m4", release)) == []


@pytest.mark.parametrize(
    ("kernel", "pad", "extra", "channels", "wrong"),
    [(3, 0, 0, 4, False), (3, 0, 1, 4, True), (3, 0, 1, 17, False), (2, 0, 1, 8, True), (4, 2, 1, 4, False)],
)
def test_outputs_past_what_the_input_spreads_to_are_wrong(
    kernel: int, pad: int, extra: int, channels: int, wrong: bool
) -> None:
    """Stride 2 over 11 pixels: output_padding above the padding at the end, on the direct route."""
    out = 10 * 2 + kernel - 2 * pad + extra
    image, result = Dims(1, 11, 11, channels), Dims(1, out, out, 4)
    call = KernelCall("transpose_conv_s8", image, Dims(4, kernel, kernel, channels), result, Pair(2, 2), Pair(pad, pad))
    for release in ("7.0.0", "main"):
        assert ("tconv-output-past-rows" in ids(run(call, "cortex-m55", release))) is wrong
    assert "tconv-output-past-rows" not in ids(run(call, "cortex-m55", "6.0.0"))


def test_a_wide_depthwise_layer_needs_a_bias_on_mve() -> None:
    def wide(channels: int, entry: str = "depthwise_s8") -> KernelCall:
        image = Dims(1, 8, 8, channels)
        shape = image, Dims(1, 3, 3, channels), image, Pair(1, 1), Pair(1, 1), Pair(1, 1)
        return KernelCall(entry, *shape, ch_mult=1, bias=False)

    assert ids(run(wide(125), "cortex-m55")) == ["dw-opt-no-bias"]
    assert ids(run(wide(125, "depthwise_s4"), "cortex-m55")) == ["dw-s4-opt-no-bias", "dw-s4-opt-gcc-predicate"]
    assert ids(run(wide(125, "depthwise_s4"), "cortex-m55", "5.0.0")) == []
    three = wide(125)._replace(input_dims=Dims(1, 1, 3, 125), output_dims=Dims(1, 1, 3, 125))
    for fine in (wide(124), wide(125)._replace(bias=True), three):
        assert ids(run(fine, "cortex-m55")) == []  # only four outputs at a time take the pointer beyond the first block
    assert ids(run(wide(125), "cortex-m4")) == []


def steps(call: KernelCall) -> list[tuple[int, int]]:
    """Which element of each operand the loops of arm_maximum_s8 read for each output, followed as the source has them.

    Steps of the row and column pointers of 7.0.0, lines 146-245; runs of elements are read one after the other, and an
    operand that is a single number for a run is read again.
    """
    dims = call.input_dims, call.filter_dims
    (n1, h1, w1, c1), (n2, h2, w2, c2) = dims
    ones, twos = n1 * h1 * w1 * c1, n2 * h2 * w2 * c2
    out: list[tuple[int, int]] = []

    def block(first: int, second: int, rows: int, other: int) -> None:
        for index in range(max(rows, other)):
            out.append((first + (index if rows > 1 else 0), second + (index if other > 1 else 0)))

    if dims[0] == dims[1] or ones == 1 or twos == 1:
        block(0, 0, ones, twos)
        return out
    column = 0 if w1 >= w2 else c1, 0 if w2 >= w1 else c2
    row = (
        column[0] if h1 >= h2 else -w1 * (c1 - column[0]),
        column[1] if h2 >= h1 else -w2 * (c2 - column[1]),
    )
    for image in range(max(n1, n2)):
        first = image * h1 * w1 * c1 if n1 >= n2 else 0
        second = image * h2 * w2 * c2 if n2 >= n1 else 0
        if dims[0][1:] == dims[1][1:] or h1 * w1 * c1 == 1 or h2 * w2 * c2 == 1:
            block(first, second, h1 * w1 * c1, h2 * w2 * c2)
            continue
        for _ in range(max(h1, h2)):
            if (w1, c1) == (w2, c2) or w1 * c1 == 1 or w2 * c2 == 1:
                block(first, second, w1 * c1, w2 * c2)
                first, second = first + w1 * c1, second + w2 * c2
            else:
                for _ in range(max(w1, w2)):
                    block(first, second, c1, c2)
                    first, second = first + c1 - column[0], second + c2 - column[1]
            first, second = first + row[0], second + row[1]
    return out


def broadcast(call: KernelCall) -> list[tuple[int, int]]:
    """Which element of each operand each output is made of, by the definition of a broadcast."""
    indices = []
    for indices_of_output in product(*map(range, call.output_dims)):
        pair = []
        for sizes in (call.input_dims, call.filter_dims):
            index = 0
            for position, size in zip(indices_of_output, sizes, strict=True):
                index = index * size + (position if size > 1 else 0)
            pair.append(index)
        indices.append((pair[0], pair[1]))
    return indices


@pytest.mark.parametrize("entry", ["maximum_s8", "minimum_s8"])
@pytest.mark.parametrize("release", ["7.0.0", "main"])
def test_an_extreme_is_flagged_exactly_where_its_pointers_leave_the_broadcast(entry: str, release: str) -> None:
    """All 2,401 pairs of shapes of 1 to 3 in each axis; the library itself agrees on each, natively and on boards."""
    pairs = [pair for pair in product((1, 2, 3), repeat=2) if pair[0] == pair[1] or 1 in pair]
    flagged = 0
    for axes in product(pairs, repeat=4):
        first, second = zip(*axes, strict=True)
        call = KernelCall(entry, Dims(*first), Dims(*second), Dims(*map(max, axes)))
        wrong = steps(call) != broadcast(call)
        names = ids(run(call, "cortex-m4", release))
        assert names == ([f"{entry.removesuffix('_s8')}-single-columns"] if wrong else []), call
        flagged += wrong
    assert flagged == 336


@pytest.mark.parametrize(
    ("compiler", "sure"),
    [("gcc", None), ("gcc@12", None), ("gcc@12.2", True), ("gcc@12.2.1", True), ("gcc@12.3", None), ("gcc@11.3", None),
     ("gcc@13", False), ("gcc@14.2.1", False), ("armclang", False), ("armclang@6.22", False)],
)  # fmt: skip
def test_a_defect_of_gcc_is_known_for_one_version_and_open_for_some(compiler: str, sure: bool | None) -> None:
    call = KernelCall("depthwise_s4", Dims(1, 6, 6, 8), Dims(1, 3, 3, 8), Dims(1, 4, 4, 8), ch_mult=1)
    target = target_of("cortex-m55", "7.0.0", compiler)
    rows = [row for row in route(call, target).hazards if row.compiler]
    assert [row.id for row in rows] == ([] if sure is False else ["dw-s4-opt-gcc-predicate"])
    assert all(row.on(target) is sure for row in rows)


def test_a_defect_of_gcc_is_of_the_4_bit_depthwise_kernel_on_mve_alone() -> None:
    call = KernelCall("depthwise_s4", Dims(1, 6, 6, 8), Dims(1, 3, 3, 8), Dims(1, 4, 4, 8), ch_mult=1)
    layer = call._replace(input_dims=Dims(1, 6, 6, 1), filter_dims=Dims(1, 3, 3, 1), output_dims=Dims(1, 4, 4, 1))
    dense = KernelCall("convolve_s4", Dims(1, 6, 6, 8), Dims(8, 3, 3, 8), Dims(1, 4, 4, 8))
    assert ids(run(call, "cortex-m55")) == ["dw-s4-opt-gcc-predicate"]
    for other in (layer, dense, call._replace(entry="depthwise_s8"), call._replace(dilation=Pair(2, 2))):
        assert ids(run(other, "cortex-m55")) == []
    assert ids(run(call, "cortex-m4")) == ids(run(call, "cortex-m55", "5.0.0")) == []


def test_a_product_of_two_activations_needs_a_sum_for_each_row_on_mve() -> None:
    call = KernelCall("batch_matmul_s8", Dims(1, 2, 5, 8), Dims(1, 2, 12, 8), Dims(1, 2, 5, 12))
    assert [run(call, cpu).buffer_size for cpu in ("cortex-m3", "cortex-m4", "cortex-m55")] == [0, 0, 48]
    assert run(call._replace(entry="batch_matmul_s16"), "cortex-m55").buffer_size == 0


def test_a_callers_duty_is_no_defect_of_the_model() -> None:
    call = KernelCall("fully_connected_s8", Dims(1, 1, 1, 8), Dims(8, 1, 1, 4), Dims(1, 1, 1, 4), per_channel=False)
    assert (run(call, "cortex-m55").status, ids(run(call, "cortex-m55"))) == (0, [])
    assert hazard("fc-null-context").caller


def test_rows_are_complete() -> None:
    names = [item.id for item in all_hazards()]
    assert len(set(names)) == len(names)
    for item in all_hazards():
        assert item.kind in ("returns-error", "wrong-result", "overrun", "too-large", "inexact")
        assert item.entries and item.what.endswith(".") and item.what[0].isupper()
        assert item.brief and item.brief[0].islower() and not item.brief.endswith(".")
        assert not item.way_round or item.way_round.endswith(".")
        assert set(item.origin.lines) <= set(RELEASES)
        assert (item.status == 0) == (item.kind != "returns-error")


@pytest.mark.parametrize(("cpu", "width", "status"), [("m4", 4, 0), ("m4", 5, -3), ("m0", 5, 0), ("m55", 5, 0)])
def test_legacy_functions_refuse_sizes(cpu: str, width: int, status: int) -> None:
    call = KernelCall("convolve_HWC_q15_fast", Dims(1, 4, 4, 2), Dims(2, 1, 1, 2), Dims(1, width, width, 2))
    assert run(call, cpu, "cmsis5-5.9.0").status == status
    odd = call._replace(input_dims=Dims(1, 4, 4, 3))
    assert run(odd, cpu, "cmsis5-5.9.0").status == -3
    assert run(call, cpu, "4.0.0").kernel == ""


def padded_rows(bits: str, above: int, below: int, stride: int, channels: int = 4) -> KernelCall:
    """A window of height 1 on an input of height 1, with rows of padding."""
    out_h = (above + below) // stride + 1
    return KernelCall(
        f"convolve_{bits}",
        Dims(1, 1, 12, channels),
        Dims(4, 1, 3, channels),
        Dims(1, out_h, 12, 4),
        Pair(stride, 1),
        Pair(above, 1),
        Pair(below, 1),
    )


ONE_ROW = {
    **dict.fromkeys(("cmsis5-5.8.0", "cmsis5-5.9.0", "4.0.0", "4.1.0", "5.0.0"), "conv-1xn-one-row-5"),
    **dict.fromkeys(("6.0.0", "7.0.0", "main"), "conv-1xn-one-row"),
}


@pytest.mark.parametrize("release", ONE_ROW)
def test_one_by_n_computes_the_one_row_of_the_input_whatever_is_padded(release: str) -> None:
    for above, below, stride in product(range(4), range(4), (1, 2, 3, 5)):
        call = padded_rows("s8", above, below, stride)
        out_h = call.output_dims.h or 0
        rows = [row * stride - above for row in range(out_h)]
        answer = run(call, "cortex-m55", release)
        taken = "arm_convolve_1_x_n_s8" in answer.chain
        assert taken is (out_h == 1 or not release.startswith("cmsis5")), call
        assert ids(answer) == ([ONE_ROW[release]] if taken and rows != [0] else []), call
        for cpu in ("cortex-m3", "cortex-m4"):
            assert ids(run(call, cpu, release)) == []


def test_one_by_n_with_padded_rows_is_right_where_another_kernel_computes_it() -> None:
    assert ids(run(padded_rows("s8", 1, 1, 1, channels=3), "cortex-m55")) == []
    narrow = padded_rows("s8", 1, 1, 1)._replace(
        input_dims=Dims(1, 1, 2, 4), filter_dims=Dims(4, 1, 5, 4), output_dims=Dims(1, 3, 2, 4), padding=Pair(1, 2)
    )
    answer = run(narrow, "cortex-m55")
    assert (answer.chain, ids(answer)) == (("arm_convolve_1_x_n_s8", "arm_convolve_s8"), [])


@pytest.mark.parametrize("release", ["6.0.0", "7.0.0", "main"])
def test_one_by_n_of_4_bits_computes_one_row_too(release: str) -> None:
    assert ids(run(padded_rows("s4", 1, 1, 1), "cortex-m55", release)) == ["conv-1xn-s4-one-row"]
    assert ids(run(padded_rows("s4", 0, 0, 1), "cortex-m55", release)) == []
    assert ids(run(padded_rows("s4", 1, 1, 1), "cortex-m4", release)) == []
