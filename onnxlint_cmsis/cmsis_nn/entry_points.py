"""Entry points: which release has each, its data types and parameters, the rows of its family, what it passes on."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from onnxlint_cmsis.cmsis_nn.conditions import (
    CH_MULT,
    FILTER_N,
    FILTER_W,
    IN_C,
    IN_N,
    NARROW_OUTPUT,
    TRUE,
    UNIT_DILATION,
    Condition,
    Term,
    all_of,
    equal,
    term,
)
from onnxlint_cmsis.cmsis_nn.legacy.builds import LEFT
from onnxlint_cmsis.cmsis_nn.releases import FLOAT, LEGACY, V5_6, V5_8, V5_9, Family, before, family_of, holds
from onnxlint_cmsis.cmsis_nn.rows import (
    ALL_ISAS,
    MVE_ONLY,
    NOT_MVE,
    Branch,
    Delegation,
    Hazard,
    Origin,
    ScratchSize,
    Wrapper,
    kernel_at,
)
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, KernelCall, Target

# Entry points that choose between no kernels: which release has them, for which data types.
#
# Source: the header of each release (Include/arm_nnfunctions.h) and the files named.


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
    "avgpool_s8": ((4 * IN_C, V5_8, (Isa.DSP,)), (term(0), V5_8, ALL_ISAS)),
    "avgpool_s16": ((4 * IN_C, V5_9, (Isa.DSP,)), (term(0), V5_9, ALL_ISAS)),
    "svdf_s8": ((4 * FILTER_N, "5.0.0", MVE_ONLY), (term(0), "5.0.0", ALL_ISAS)),
    # One sum for each row of the right operand, filter_dims.w: arm_batch_matmul_s8.c:84 (7.0.0).
    "batch_matmul_s8": ((4 * FILTER_W, "7.0.0", MVE_ONLY), (term(0), "7.0.0", ALL_ISAS)),
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


# The rows of all kernel families: wrappers and hazards, found by entry point.


ENTRIES = (
    "convolve_s8",
    "convolve_s16",
    "convolve_s4",
    "depthwise_s8",
    "depthwise_s16",
    "depthwise_s4",
    "transpose_conv_s8",
    "fully_connected_s8",
)
"""Entry points that choose between kernels."""

FAMILIES = {
    "convolve": "convolution",
    "depthwise": "depthwise",
    "transpose_conv": "transposed",
    "fully_connected": "dense",
}
"""File of each family of entry points."""

LEGACY_ENTRIES = (
    "convolve_q7",
    "convolve_q15",
    "depthwise_q7",
    "fully_connected_q7",
    "fully_connected_q15",
    "fully_connected_q7q15",
    "max_pool_q7",
    "avgpool_q7",
)
"""Choices that an application makes between the functions for q7 and q15 of CMSIS 5."""

_FLOAT_ROUTES = {
    "convolve_1x1": "convolution",
    "convolve_1_x_n": "convolution",
    "convolve": "convolution",
    "depthwise": "convolution",
    "fully_connected": "others",
    "batch_matmul": "others",
    "max_pool": "others",
    "softmax": "others",
}
FLOAT_ENTRIES = tuple(f"{name}_{kind}" for name in _FLOAT_ROUTES for kind in FLOAT.types)
"""Entry points for f32 and f16 that choose between kernels."""


@cache
def wrapper_for(entry: str) -> Wrapper | None:
    """The wrapper of an entry point, or the choice in its place; None for an entry point without branches."""
    if entry in LEGACY_ENTRIES:
        from onnxlint_cmsis.cmsis_nn.legacy import routes

        return cast("Wrapper", getattr(routes, f"{entry.upper()}_ROUTE"))
    if entry in FLOAT_ENTRIES:
        file = _FLOAT_ROUTES[entry.rpartition("_")[0]]
        module = import_module(f"onnxlint_cmsis.cmsis_nn.float.{file}")
        return cast("Wrapper", getattr(module, f"{entry.upper()}_ROUTE"))
    if entry not in ENTRIES:
        return None
    family = next(family for family in FAMILIES if entry.startswith(family))
    module = import_module(f"onnxlint_cmsis.cmsis_nn.integer.{FAMILIES[family]}")
    return cast("Wrapper", getattr(module, f"{entry.upper()}_ROUTE"))


def wrapper_of(entry: str) -> Wrapper:
    """The wrapper of any entry point; for one without branches its function is the only branch."""
    return wrapper_for(entry) or single_branch(entry)


def all_hazards() -> tuple[Hazard, ...]:
    """Every row, in the order of the modules; errors of one kernel stand in the order the C source tests them."""
    return (*_integer(), *_legacy(), *_floats())


def hazards(family: Family) -> tuple[Hazard, ...]:
    """The rows of a family."""
    return _legacy() if family is LEGACY else _floats() if family is FLOAT else _integer()


@cache
def _floats() -> tuple[Hazard, ...]:
    from onnxlint_cmsis.cmsis_nn.float import convolution, others

    return (*convolution.CONVOLUTION_HAZARDS, *convolution.DEPTHWISE_HAZARDS, *others.OTHERS_HAZARDS)


@cache
def _integer() -> tuple[Hazard, ...]:
    from onnxlint_cmsis.cmsis_nn.integer import convolution, depthwise, others, transposed

    return (
        *convolution.ONE_BY_N_HAZARDS,
        *convolution.ONE_BY_ONE_HAZARDS,
        *convolution.CONVOLUTION_HAZARDS,
        *depthwise.DEPTHWISE_HAZARDS,
        *others.SIXTEEN_BIT_HAZARDS,
        *transposed.TRANSPOSE_CONV_HAZARDS,
        *others.TRANSPOSE_HAZARDS,
        *others.OTHERS_HAZARDS,
    )


@cache
def _legacy() -> tuple[Hazard, ...]:
    from onnxlint_cmsis.cmsis_nn.legacy.hazards import LEGACY_HAZARDS, LEGACY_WRONG_RESULTS

    return (*LEGACY_HAZARDS, *LEGACY_WRONG_RESULTS)


@cache
def hazards_of(entry: str, kernel: str, target: Target) -> tuple[Hazard, ...]:
    """The rows of one kernel reached through one entry point; with kernel "" those of the entry point itself."""
    return tuple(
        hazard
        for hazard in hazards(family_of(entry))
        if entry in hazard.entries
        and (kernel in hazard.kernels if kernel else not hazard.kernels)
        and hazard.on(target) is not False
    )


@cache
def hazard(identifier: str) -> Hazard:
    """The row of that name; KeyError where there is none."""
    return {row.id: row for row in all_hazards()}[identifier]


# Kernels that hand the work on, and the static functions that do it inside.


_TILE_5_8 = all_of(equal(CH_MULT % 4, 0), equal(IN_N, 1))


def _row(
    callee: str,
    kernel: str,
    lines: dict[str, int],
    isas: tuple[Isa, ...] = ALL_ISAS,
    when: Condition = TRUE,
) -> Delegation:
    return Delegation(kernel, callee, kernel_at(kernel, lines, isas), when)


def _tile(callee: str, lines: dict[str, int], when: Condition = TRUE, until: str = "") -> Delegation:
    kernel = "arm_depthwise_conv_s8"
    origin = kernel_at(kernel, lines, until=until)
    return Delegation(kernel, callee, origin, when, static=True)


_1_X_N_LINES = {V5_8: 70, V5_9: 70, "4.0.0": 71, "4.1.0": 72, "5.0.0": 72, "6.0.0": 69, "7.0.0": 69, "main": 69}
_OPT_LINES = {V5_8: 72, V5_9: 77, "4.0.0": 77, **dict.fromkeys(("4.1.0", "5.0.0", "6.0.0", "7.0.0", "main"), 76)}
_TILE_LINES = {V5_9: 265, **dict.fromkeys(("4.0.0", "4.1.0", "5.0.0", "6.0.0", "7.0.0", "main"), 291)}
_FAST_S16_LINES = dict.fromkeys(("4.0.0", "4.1.0", "5.0.0", "6.0.0", "7.0.0", "main"), 82)

DELEGATIONS = (
    _row("arm_convolve_s8", "arm_convolve_1_x_n_s8", _1_X_N_LINES, NOT_MVE),
    _row("arm_convolve_s8", "arm_convolve_1_x_n_s8", {"6.0.0": 99, "7.0.0": 99, "main": 99}, MVE_ONLY, NARROW_OUTPUT),
    _row("arm_convolve_s4", "arm_convolve_1_x_n_s4", {"6.0.0": 71, "7.0.0": 71, "main": 70}, NOT_MVE),
    _row("arm_depthwise_conv_s8", "arm_depthwise_conv_s8_opt", _OPT_LINES, (Isa.SCALAR,)),
    _row("arm_depthwise_conv_s16", "arm_depthwise_conv_fast_s16", _FAST_S16_LINES, (Isa.SCALAR,)),
    _tile("depthwise_conv_s8_mult_4", {V5_8: 229}, _TILE_5_8, V5_9),
    _tile("depthwise_conv_s8_mult_4", _TILE_LINES, all_of(_TILE_5_8, UNIT_DILATION)),
    _tile("depthwise_conv_s8_generic", {V5_8: 229, **_TILE_LINES}),
)
"""In source order; the first that matches is the one taken. Those of f32 and f16 stand in their own files."""


@cache
def delegations(family: Family) -> tuple[Delegation, ...]:
    """The rows of a family."""
    if family is not FLOAT:
        return DELEGATIONS
    from onnxlint_cmsis.cmsis_nn.float import convolution, others

    return (*convolution.CONVOLUTION_DELEGATIONS, *convolution.DEPTHWISE_DELEGATIONS, *others.OTHERS_DELEGATIONS)


@cache
def delegations_of(kernel: str, release: str, isa: Isa) -> tuple[Delegation, ...]:
    """The rows of one kernel in one build, in order."""
    return tuple(
        row
        for row in delegations(family_of(kernel))
        if row.kernel == kernel and row.origin.spans(release) and isa in row.origin.isas
    )


# Bytes of the constants that a call reads: weights, bias, multipliers and shifts.


WEIGHTED = ("convolve", "depthwise", "transpose_conv", "fully_connected")
"""Stems of entry points with weights."""
BIAS_BYTES = {"s8": 4, "s4": 4, "s16": 8, "q7": 1, "q15": 2, "q7q15": 1, "f32": 4, "f16": 2}
"""Bytes of a bias: int32, and int64 for int16 activations; as the weights for q7, q15, f32 and f16."""
BLOCKS = {"f32": 4, "f16": 8}
"""Outputs of a block of packed weights, which are filled up to whole blocks."""
_POINTERS_SINCE = "7.0.0"


class Parameters(NamedTuple):
    """Bytes of a call's constants."""

    weights: int
    """int8, or two int4 to a byte."""
    bias: int
    """One per output channel; none where the call has no bias."""
    multipliers: int
    """int32, one per scale of the weights; none where the call takes the one number by value."""
    shifts: int
    """int32, one for each multiplier."""

    @property
    def total(self) -> int:
        """Bytes of all constants."""
        return sum(self)


def parameters(call: KernelCall, target: Target) -> Parameters | None:
    """Constants of a call; None where it has no weights or a size is unknown.

    Convolutions take a multiplier and a shift for each output channel. A fully connected layer takes one pair by value
    (cmsis_nn_per_tensor_quant_params); from 7.0.0 on, for s8, a pointer to one or to all (cmsis_nn_quant_params).
    """
    stem, _, kind = call.entry.rpartition("_")
    out_c, sizes = call.output_dims.c, call.filter_dims
    if stem not in WEIGHTED or out_c is None or None in sizes:
        return None
    elements = 1
    for size in sizes:
        elements *= size or 0
    if call.floating is not None:
        filled = elements // out_c * (-(-out_c // BLOCKS[kind]) * BLOCKS[kind]) if call.floating.packed else elements
        return Parameters(BIAS_BYTES[kind] * filled, BIAS_BYTES[kind] * out_c if call.bias else 0, 0, 0)
    weights = -(-elements // 2) if kind == "s4" else 2 * elements if kind == "q15" else elements
    if family_of(call.entry) is LEGACY:
        return Parameters(weights, BIAS_BYTES[kind] * out_c, 0, 0)
    pairs = _pairs(call, target, out_c) if stem == "fully_connected" else out_c
    bias = (4 if call.int32_bias else BIAS_BYTES[kind]) * out_c if call.bias else 0
    return None if pairs is None else Parameters(weights, bias, 4 * pairs, 4 * pairs)


def _pairs(call: KernelCall, target: Target, out_c: int) -> int | None:
    """Multipliers that a fully connected layer reads from memory."""
    if not holds(_POINTERS_SINCE, "", target.release) or not call.entry.endswith("_s8"):
        return 0
    return None if call.per_channel is None else out_c if call.per_channel else 1
