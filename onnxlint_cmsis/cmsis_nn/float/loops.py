"""How often the loops of functions for f32 and f16 run.

Pieces bear the type at the end of their first word: `nt_t_f32.k`. A piece runs on one instruction set, or on all;
Cortex-M4, M7 and M33 run the same C code. Channel counts may be arrays, of many calls that take the same functions.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cost_records import FloatBuild
from onnxlint_cmsis.cmsis_nn.float import convolution_loops, depthwise_loops, elementwise_loops
from onnxlint_cmsis.cmsis_nn.float.both_types import FLOAT_TYPES
from onnxlint_cmsis.cmsis_nn.float.counted_loops import Counter, FloatLoops
from onnxlint_cmsis.cmsis_nn.float.movement_loops import copied, joined, pad, turned
from onnxlint_cmsis.cmsis_nn.float.pool_loops import pool
from onnxlint_cmsis.cmsis_nn.float.product_loops import batch_product, dense, filtered, recurrent
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, sizes_of
from onnxlint_cmsis.cmsis_nn.route import Route
from onnxlint_cmsis.ground.types import AS_ASKED, Dims, Function, Isa, KernelCall

COUNTERS: dict[str, Counter] = {
    "convolve_1x1_nhwc": convolution_loops.pointwise,
    **{f"nn_conv1d_k{taps}_{form}": convolution_loops.conv1d for taps in (3, 5) for form in ("nhwc", "packed")},
    "convolve_1_x_n_nhwc": convolution_loops.row_kernel,
    "convolve_nhwc_patch_gemm": convolution_loops.gathered_convolution,
    "convolve_nhwc": convolution_loops.direct,
    "nn_depthwise_conv3x3_nhwc": depthwise_loops.channels_3x3,
    "nn_depthwise_conv1d_k3_nhwc": depthwise_loops.channels_k3,
    "nn_depthwise_conv2x5_nhwc": depthwise_loops.channels_2x5,
    "depthwise_conv_nhwc_fast_chmult1_kc_nt_t": depthwise_loops.channels_tiled,
    "depthwise_conv_nhwc_fast_chmult1_kc": depthwise_loops.channels_fast,
    "depthwise_conv_nhwc_to_conv_packed": depthwise_loops.channels_as_convolution,
    "transpose_conv_wrapper": convolution_loops.transposed,
    "fully_connected_nhwc": dense,
    "batch_matmul": batch_product,
    **dict.fromkeys(("avg_pool", "max_pool"), pool),
    **{f"nn_maxpool1d_{form}": pool for form in ("k2s2_nhwc_noclip", "k2s2_nhwc", "k3s3_nhwc")},
    "elementwise_add": elementwise_loops.flat("add"),
    "elementwise_mul": elementwise_loops.flat("mul"),
    "batch_norm": elementwise_loops.batch_norm,
    **dict.fromkeys(("softmax", "nn_softmax_1x2"), elementwise_loops.softmax),
    "nn_activation": elementwise_loops.activation,
    "pad": pad,
    **{f"concatenation_{kind.name}_[wxyz]": joined for kind in FLOAT_TYPES},
    "reshape": copied,
    "svdf": filtered,
    "transpose": turned,
    "lstm_unidirectional": recurrent,
    **dict.fromkeys(("maximum", "minimum"), elementwise_loops.larger_or_smaller),
}
"""Function that an entry point calls, without `arm_` and the type, to its loops."""


MOST_PADDING = 1 << 12
"""Padding in front of an axis whose windows are looked at one by one."""


OF_ONE_CALL = (
    Function.BATCH_MATMUL,
    Function.MAXIMUM,
    Function.MINIMUM,
    Function.PAD,
    Function.TRANSPOSE,
    Function.LSTM,
    Function.CONCATENATION,
    Function.SVDF,
)
"""Functions whose loops are not counted for many calls at once."""


COPIES = (Function.PAD, Function.TRANSPOSE, Function.CONCATENATION, Function.RESHAPE)
"""Functions that move numbers and compute nothing."""


ALONE = ("convolve_1x1", "convolve_1_x_n")
"""Entry points for one kernel, whose functions the entry point for all convolutions calls too."""


UNBIASED = ".unbiased"
"""Zeros are added faster to 0 than to a bias."""


FULL, ZERO = ".full", ".zero"
"""Data that decide where software computes: no number is 0; all of the input is."""


DATA = (".near", ".below", ".above")
"""Data that decide: all the same, far below one another, far above 0."""


SMALL = (".small", ".below", ".above")
"""The same for an LSTM, whose sums are near 0 or far from it."""


def deciding(call: KernelCall, isa: Isa) -> tuple[str, ...]:
    """Kinds of data between which a call's instructions lie; nothing where the data decide nothing.

    Exponentials of numbers that are far off are skipped: by C code, and by sigmoid in all code. Transposed convolutions
    skip inputs that are 0. Software multiplies and adds zeros faster than other numbers.
    """
    if call.floating is None:
        return ()
    code, curve = isa is not Isa.MVE, call.floating.activation
    pair = call.function is Function.SOFTMAX and call.input_dims == Dims(1, 1, 1, 2)
    skips = curve == elementwise_loops.SIGMOID or (
        code and (curve == elementwise_loops.TANH or call.function is Function.SOFTMAX)
    )
    kinds = SMALL if call.function is Function.LSTM else DATA if pair or skips else ()
    skips_zeros = call.function is Function.TRANSPOSE_CONV and call.floating.zeros
    computes = skips_zeros or (isa is Isa.SCALAR and call.function not in COPIES)
    return (*kinds, FULL, ZERO) if computes else kinds


def float_counts(call: KernelCall, build: FloatBuild, taken: Route, data: str = "") -> Counts | None:
    """How often each piece of a call runs; None where a size is unknown, or the loops are not known.

    `data`: one of `deciding` for a call where they decide; for others empty.
    """
    sizes = sizes_of(call)
    if sizes is None or call.floating is None or taken.status != 0:
        return None
    one_call = call.function in OF_ONE_CALL or call.floating.scratch not in (0, AS_ASKED)
    if one_call and not isinstance(sizes.in_c * sizes.out_c, int):
        return None
    generic = f"arm_depthwise_conv_{call.types}_generic"
    name = taken.kernel.removeprefix("arm_").removesuffix(f"_{call.types}")
    if call.function is Function.CONCATENATION and not sum(call.runs):
        return None
    counter = depthwise_loops.channels_generic if taken.kernel == generic else COUNTERS.get(name)
    kinds = deciding(call, build.isa)
    if counter is None or (data not in kinds if kinds else data) or max(sizes.pad_h, sizes.pad_w) > MOST_PADDING:
        return None
    loops = FloatLoops(call, sizes, build, taken, data)
    counter(loops)
    if call.entry.rpartition("_")[0] in ALONE:
        loops.add(call.entry.rpartition("_")[0], 1)
    told = data * (loops.software or data == ZERO) + UNBIASED * (data == ZERO and not call.bias)
    return {f"{piece}{told}": times for piece, times in loops.counts.items() if not isinstance(times, int) or times}
