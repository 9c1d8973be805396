"""Entry points that choose between no kernels: which release has them, for which data types.

Source: the header of each release (Include/arm_nnfunctions.h) and the files named.
"""

from __future__ import annotations

from functools import cache

from onnxlint_cmsis.cmsis_nn.apis import FLOAT
from onnxlint_cmsis.cmsis_nn.arguments import FILTER, IN
from onnxlint_cmsis.cmsis_nn.conditions import TRUE
from onnxlint_cmsis.cmsis_nn.legacy.builds import LEFT
from onnxlint_cmsis.cmsis_nn.releases import V5_6, V5_8, V5_9, before
from onnxlint_cmsis.cmsis_nn.rows import (
    ALL_ISAS,
    MVE_ONLY,
    Branch,
    Origin,
    ScratchSize,
    Wrapper,
)
from onnxlint_cmsis.cmsis_nn.terms import Term, term
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa


class EntryPoint(NamedTuple):
    """A function of the library, from one release on."""

    entry: str
    """Name without `arm_`; what a kernel call carries."""
    function: str
    """C function."""
    folder: str
    """Folder of the file under Source/."""
    types: tuple[str, ...]
    """Data types of input, weights if any, and output."""
    since: str
    """First reviewed release that has it; older ones may have it in another form."""
    until: str = ""
    """First release without it; empty where the newest has it."""
    file: str = ""
    """File, where it is not named after the function."""

    @property
    def path(self) -> str:
        """Path of the file inside the CMSIS-NN repository."""
        return f"Source/{self.folder}/{self.file or self.function + '.c'}"


_S8, _S16 = ("s8", "s8"), ("s16", "s16")
_BASIC, _POOL, _SOFTMAX = "BasicMathFunctions", "PoolingFunctions", "SoftmaxFunctions"
_CONCAT, _DENSE, _ACTIVATION = "ConcatenationFunctions", "FullyConnectedFunctions", "ActivationFunctions"
_LSTM = "LSTMFunctions"

_LEGACY = {
    "ConvolutionFunctions": (
        "convolve_HWC_q7_basic",
        "convolve_HWC_q7_basic_nonsquare",
        "convolve_HWC_q7_fast",
        "convolve_HWC_q7_fast_nonsquare",
        "convolve_HWC_q7_RGB",
        "convolve_1x1_HWC_q7_fast_nonsquare",
        "convolve_HWC_q15_basic",
        "convolve_HWC_q15_fast",
        "convolve_HWC_q15_fast_nonsquare",
        "depthwise_separable_conv_HWC_q7",
        "depthwise_separable_conv_HWC_q7_nonsquare",
    ),
    _DENSE: ("fully_connected_q7_opt", "fully_connected_q15_opt", "fully_connected_mat_q7_vec_q15_opt"),
    _SOFTMAX: ("softmax_q7", "softmax_q15"),
}
"""Functions of CMSIS 5 for q7 and q15 by folder, each an entry point under its own name; 4.0.0 dropped them."""


_FLOAT = {
    "avgpool": (_POOL, "avg_pool"),
    "elementwise_add": (_BASIC, "elementwise_add"),
    "elementwise_mul": (_BASIC, "elementwise_mul"),
    "minimum": (_BASIC, "minimum"),
    "maximum": (_BASIC, "maximum"),
    "activation": (_ACTIVATION, "nn_activation"),
    "batch_norm": ("NNSupportFunctions", "batch_norm"),
    "concatenation": (_CONCAT, "concatenation"),
    "reshape": ("ReshapeFunctions", "reshape"),
    "pad": ("PadFunctions", "pad"),
    "transpose": ("TransposeFunctions", "transpose"),
    "lstm_unidirectional": (_LSTM, "lstm_unidirectional"),
    "svdf": ("SVDFunctions", "svdf"),
    "transpose_conv": ("ConvolutionFunctions", "transpose_conv"),
}
"""Functions for f32 and f16 that choose between no kernels: folder and name of their file."""


def _floating(entry: str, kind: str) -> EntryPoint:
    """A function for f32 or f16, under the name that callers use."""
    folder, name = _FLOAT[entry]
    called = {"concatenation": f"concatenation_{kind}_[wxyz]", "transpose_conv": f"transpose_conv_wrapper_{kind}"}
    function = f"arm_{called.get(entry, f'{name}_{kind}')}"
    return EntryPoint(f"{entry}_{kind}", function, folder, (kind, kind), "main", file=f"arm_{name}_{kind}.c")


def _pool(name: str) -> EntryPoint:
    return EntryPoint(name, f"arm_{name}", _POOL, ("q7", "q7"), V5_6, LEFT, "arm_pool_q7_HWC.c")


def _activation(kind: str) -> EntryPoint:
    function, file = f"arm_nn_activations_direct_{kind}", f"arm_nn_activations_{kind}.c"
    return EntryPoint(f"activation_{kind}", function, _ACTIVATION, (kind, kind), V5_6, LEFT, file)


ENTRY_POINTS = (
    EntryPoint("avgpool_s8", "arm_avgpool_s8", _POOL, _S8, V5_8),
    EntryPoint("avgpool_s16", "arm_avgpool_s16", _POOL, _S16, V5_9),
    EntryPoint("max_pool_s8", "arm_max_pool_s8", _POOL, _S8, V5_8),
    EntryPoint("max_pool_s16", "arm_max_pool_s16", _POOL, _S16, V5_9),
    EntryPoint("softmax_s8", "arm_softmax_s8", _SOFTMAX, _S8, V5_8),
    EntryPoint("softmax_u8", "arm_softmax_u8", _SOFTMAX, ("u8", "u8"), V5_8),
    EntryPoint("softmax_s8_s16", "arm_softmax_s8_s16", _SOFTMAX, ("s8", "s16"), V5_9),
    EntryPoint("softmax_s16", "arm_softmax_s16", _SOFTMAX, _S16, V5_9),
    EntryPoint("elementwise_add_s8", "arm_elementwise_add_s8", _BASIC, _S8, V5_8),
    EntryPoint("elementwise_add_s16", "arm_elementwise_add_s16", _BASIC, _S16, V5_9),
    EntryPoint("elementwise_mul_s8", "arm_elementwise_mul_s8", _BASIC, _S8, V5_8),
    EntryPoint("elementwise_mul_s16", "arm_elementwise_mul_s16", _BASIC, _S16, V5_9),
    EntryPoint("elementwise_mul_s16_s8", "arm_elementwise_mul_s16_s8", _BASIC, ("s16", "s8"), "4.0.0"),
    EntryPoint("elementwise_mul_s16_batch_offset", "arm_elementwise_mul_s16_batch_offset", _BASIC, _S16, "6.0.0"),
    EntryPoint("elementwise_mul_acc_s16", "arm_elementwise_mul_acc_s16", _BASIC, _S16, "6.0.0"),
    EntryPoint("minimum_s8", "arm_minimum_s8", _BASIC, _S8, "7.0.0"),
    EntryPoint("maximum_s8", "arm_maximum_s8", _BASIC, _S8, "7.0.0"),
    EntryPoint("concatenation_s8", "arm_concatenation_s8_[wxyz]", _CONCAT, _S8, V5_8),
    EntryPoint("reshape_s8", "arm_reshape_s8", "ReshapeFunctions", _S8, V5_8),
    EntryPoint("pad_s8", "arm_pad_s8", "PadFunctions", _S8, "7.0.0"),
    EntryPoint("transpose_s8", "arm_transpose_s8", "TransposeFunctions", _S8, "7.0.0"),
    EntryPoint("batch_matmul_s8", "arm_batch_matmul_s8", _DENSE, ("s8", "s8", "s8"), "7.0.0"),
    EntryPoint("batch_matmul_s16", "arm_batch_matmul_s16", _DENSE, ("s16", "s16", "s16"), "7.0.0"),
    EntryPoint("fully_connected_s16", "arm_fully_connected_s16", _DENSE, ("s16", "s8", "s16"), V5_9),
    EntryPoint("fully_connected_s4", "arm_fully_connected_s4", _DENSE, ("s8", "s4", "s8"), "5.0.0"),
    EntryPoint(
        "lstm_unidirectional_s8",
        "arm_lstm_unidirectional_s16_s8",
        _LSTM,
        ("s8", "s8", "s8"),
        "4.0.0",
        "6.0.0",
        "arm_lstm_unidirectional_s8_s16.c",
    ),
    EntryPoint("lstm_unidirectional_s8", "arm_lstm_unidirectional_s8", _LSTM, ("s8", "s8", "s8"), "6.0.0"),
    EntryPoint("lstm_unidirectional_s16", "arm_lstm_unidirectional_s16", _LSTM, ("s16", "s8", "s16"), "6.0.0"),
    EntryPoint("svdf_s8", "arm_svdf_s8", "SVDFunctions", ("s8", "s8", "s8"), V5_8),
    EntryPoint("svdf_state_s16_s8", "arm_svdf_state_s16_s8", "SVDFunctions", ("s8", "s8", "s8"), V5_9),
    EntryPoint("relu_q7", "arm_relu_q7", _ACTIVATION, _S8, V5_6),
    EntryPoint("relu_q15", "arm_relu_q15", _ACTIVATION, _S16, V5_6),
    EntryPoint("relu6_s8", "arm_relu6_s8", _ACTIVATION, _S8, V5_8),
    *(
        EntryPoint(name, f"arm_{name}", folder, ("q7",) * 3 if "q7" in name else ("q15",) * 3, V5_6, LEFT)
        for folder, names in _LEGACY.items()
        for name in names
    ),
    _pool("maxpool_q7_HWC"),
    _pool("avepool_q7_HWC"),
    _activation("q7"),
    _activation("q15"),
    *(_floating(entry, kind) for entry in _FLOAT for kind in FLOAT.types),
)

_SIZES: dict[str, tuple[tuple[Term, str, tuple[Isa, ...]], ...]] = {
    "avgpool_s8": ((4 * IN.c, V5_8, (Isa.DSP,)), (term(0), V5_8, ALL_ISAS)),
    "avgpool_s16": ((4 * IN.c, V5_9, (Isa.DSP,)), (term(0), V5_9, ALL_ISAS)),
    "svdf_s8": ((4 * FILTER.n, "5.0.0", MVE_ONLY), (term(0), "5.0.0", ALL_ISAS)),
    # One sum for each row of the right operand, filter_dims.w: arm_batch_matmul_s8.c:84 (7.0.0).
    "batch_matmul_s8": ((4 * FILTER.w, "7.0.0", MVE_ONLY), (term(0), "7.0.0", ALL_ISAS)),
    "batch_matmul_s16": ((term(0), "7.0.0", ALL_ISAS),),
    "fully_connected_s16": ((term(0), V5_9, ALL_ISAS),),
    **{f"transpose_conv_{kind}": ((term(0), "main", ALL_ISAS),) for kind in FLOAT.types},
}
"""Scratch bytes where the entry point takes a buffer: bytes, first release, ISAs; first match."""


def entry_points(entry: str) -> tuple[EntryPoint, ...]:
    """The rows of one entry point, oldest first; none for an unknown name."""
    return tuple(row for row in ENTRY_POINTS if row.entry == entry)


@cache
def single_branch(entry: str) -> Wrapper:
    """An entry point as a wrapper with nothing to choose, so that a call is routed like any other."""
    rows = entry_points(entry)
    return Wrapper(
        entry=entry,
        function=rows[-1].function if rows else "",
        branches=tuple(Branch(row.function, TRUE, _origin(row, row.since, ALL_ISAS)) for row in rows),
        sizes=tuple(
            ScratchSize(number, _origin(row, since, isas))
            for row in rows
            for number, since, isas in _SIZES.get(entry, ())
        ),
        absent=_absence(entry, rows),
    )


def _absence(entry: str, rows: tuple[EntryPoint, ...]) -> str:
    if not rows:
        return f"no release has arm_{entry}"
    if rows[-1].until:
        return f"{rows[-1].function} left after {before(rows[-1].until)}"
    return f"{rows[0].function} came with {rows[0].since}"


def _origin(row: EntryPoint, since: str, isas: tuple[Isa, ...]) -> Origin:
    return Origin(row.path, row.function, {since: 0}, isas, until=row.until)
