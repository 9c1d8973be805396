"""Other layers of 16-bit activations: how often their loops run.

Sources (7.0.0): NNSupportFunctions/arm_nn_vec_mat_mult_t_s16.c, PoolingFunctions/arm_avgpool_s16.c and
arm_max_pool_s16.c, BasicMathFunctions/arm_elementwise_add_s16.c and arm_elementwise_mul_s16.c,
SoftmaxFunctions/arm_softmax_s16.c.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cost.convolution_s16_cost import beyond
from onnxlint_cmsis.cmsis_nn.cost.memory import library_block
from onnxlint_cmsis.cmsis_nn.cost.plane import up
from onnxlint_cmsis.cmsis_nn.cost.size_columns import Counts, LoopSizes, add, by_rest
from onnxlint_cmsis.types import Isa

OUTPUTS = {Isa.SCALAR: 1, Isa.DSP: 2, Isa.MVE: 4}
"""Outputs of a fully connected layer computed together."""


def fully_connected_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """One vector by matrix product for each input row. Sums have 64 bits beyond 512 products, on scalar always."""
    depth, (groups, rest) = sizes.in_c, divmod(sizes.out_c, OUTPUTS[isa])
    counts: Counts = {"fc_s16": 1, "fc_s16.row": sizes.n}
    counts |= {"fc_s16.group.enter": sizes.n * (groups > 0), "fc_s16.rest.enter": sizes.n * (rest > 0)}
    for name, outputs in (("fc_s16.group", sizes.n * groups), ("fc_s16.rest", sizes.n * rest)):
        counts[name] = outputs
        counts |= _products(isa, name, outputs, depth)
    return counts


def _products(isa: Isa, name: str, outputs: int, depth: int) -> Counts:
    if isa is Isa.SCALAR:
        return {f"{name}.depth": outputs * depth}
    long = beyond(depth)
    if isa is Isa.MVE:
        return {
            f"{name}.vector": outputs * up(depth - long, 8),
            f"{name}.long": outputs * long,
            f"{name}.long.enter": outputs * (long > 0),
        }
    blocks = (depth - long) // 4
    counts = {f"{name}.depth_4": outputs * blocks, f"{name}.depth_4.enter": outputs * (blocks > 0)}
    counts |= dict(by_rest(f"{name}.tail", outputs, depth - long, 4)[1:])
    return counts | {f"{name}.long": outputs * long, f"{name}.long.enter": outputs * (long > 0)}


def avgpool_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """Scalar goes channel by channel, dsp adds whole pixels in a buffer, MVE takes 8 channels at a time."""
    plane, images, pixels = sizes.plane, sizes.n, sizes.n * sizes.pixels
    rows, taps = images * plane.h.inside * sizes.out_w, images * plane.inside
    counts = {"avg_s16": 1, "avg_s16.image": images, "avg_s16.row": images * sizes.out_h, "avg_s16.pixel": pixels}
    if isa is Isa.DSP:
        more = taps - pixels
        return counts | {
            "avg_s16.filter_row": rows,
            "avg_s16.value": pixels * sizes.in_c,
            "avg_s16.more": more,
            "avg_s16.more.channel": more * sizes.in_c,
        }
    lanes = sizes.in_c if isa is Isa.SCALAR else up(sizes.in_c, 8)
    return counts | {
        "avg_s16.lane": pixels * lanes,
        "avg_s16.filter_row": rows * lanes,
        "avg_s16.tap": taps * lanes,
    }


def max_pool_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """The first tap of a window is copied, the others compared; all outputs of an image are clamped at the end."""
    plane, images, pixels = sizes.plane, sizes.n, sizes.n * sizes.pixels
    more = images * plane.inside - pixels
    counts = {
        "max_s16": 1,
        "max_s16.image": images,
        "max_s16.row": images * sizes.out_h,
        "max_s16.pixel": pixels,
        "max_s16.filter_row": images * plane.h.inside * sizes.out_w,
        "max_s16.more": more,
    }
    add(counts, library_block("max_s16.copy", pixels, 2 * sizes.in_c))
    outputs = sizes.pixels * sizes.in_c
    for name, times, length in (("max_s16.more", more, sizes.in_c), ("max_s16.clamp", images, outputs)):
        if isa is Isa.MVE:
            counts[f"{name}.vector"] = times * up(length, 8)
        else:
            counts[f"{name}.two"] = times * (length // 2)
            counts[f"{name}.two.enter"] = times * (length > 1)
            counts[f"{name}.odd"] = times * (length % 2)
    return counts


def add_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_elementwise_add_s16 over the whole tensor."""
    return _flat("add_s16", sizes, isa)


def mul_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_elementwise_mul_s16 over the whole tensor."""
    return _flat("mul_s16", sizes, isa)


def _flat(name: str, sizes: LoopSizes, isa: Isa) -> Counts:
    length = sizes.n * sizes.in_h * sizes.in_w * sizes.in_c
    if isa is Isa.MVE:
        return {name: 1, f"{name}.four": up(length, 4)}
    two = {f"{name}.two": length // 2, f"{name}.two.enter": 1 * (length > 1)}
    return {name: 1, f"{name}.odd": length % 2} | two


def softmax_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_softmax_s16: maximum, exponentials from a table and division over each row.

    On MVE gcc searches rows of over 10 elements for the maximum, eight at a time.
    """
    rows, length = sizes.n, sizes.in_c
    counts = {"softmax_s16": 1, "softmax_s16.row": rows, "softmax_s16.element": rows * length}
    if isa is not Isa.MVE:
        return counts
    long = 1 * (length > 10)
    tail = (length - 1) % 8 * long + (length - 1) * (1 - long)
    return counts | {
        "softmax_s16.eights": rows * long,
        "softmax_s16.eight": rows * long * ((length - 1) // 8),
        "softmax_s16.single": rows * tail,
        "softmax_s16.single.enter": rows * (tail > 0),
    }
