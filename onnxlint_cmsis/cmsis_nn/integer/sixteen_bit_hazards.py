"""Hazards of kernels that keep sizes, or the place where a window starts, in 16-bit variables."""

from __future__ import annotations

from pathlib import PurePosixPath

from onnxlint_cmsis.cmsis_nn.arguments import CH_MULT, COLS, FILTER, IN, OUT, PAD, STRIDE, UNIT_DILATION
from onnxlint_cmsis.cmsis_nn.conditions import Condition, all_of, any_of, equal, greater, not_
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, MVE_ONLY, NOT_MVE, Origin, kernel_at
from onnxlint_cmsis.cmsis_nn.terms import Term, named
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa

_UNSIGNED, _SIGNED = 65535, 32767
_DSP, _SCALAR = (Isa.DSP,), (Isa.SCALAR,)
_FROM_5 = ("5.0.0", "6.0.0", "7.0.0", "main")
_FROM_4_1 = ("4.1.0", *_FROM_5)
_FROM_4 = ("4.0.0", *_FROM_4_1)
_ODD_PIXEL = equal(OUT.h * OUT.w % 2, 1)
_ROW = named("start_of_last_row", (OUT.h - 1) * STRIDE.h - PAD.h)
_COLUMN = named("start_of_last_column", (OUT.w - 1) * STRIDE.w - PAD.w)
_FAR = any_of(greater(_ROW, _SIGNED), greater(_COLUMN, _SIGNED))


# arm_depthwise_conv_s8 hands these to a function that counts in 32 bits.
_TILE = all_of(equal(CH_MULT % 4, 0), equal(IN.n, 1), UNIT_DILATION)


class _Said(NamedTuple):
    """What a row says."""

    brief: str
    """Predicate of a sentence about the kernel."""
    what: str
    """What happens and why."""


_COLUMNS = "cuts the number of columns off to 16 bits"
_SIZE_CUT = _Said("cuts a size off to 16 bits", "Sizes and paddings are kept in 16-bit variables.")

_WINDOW_CUT = _Said(
    "cuts the start of a window off to 16 bits",
    "The place where a window starts is kept in a signed 16-bit variable: a window that starts beyond 32,767 reads"
    " other inputs or none.",
)

_ODD_CUT = _Said(
    _COLUMNS, "For the last of an odd number of output pixels the columns are counted in a 16-bit variable."
)

_PIXEL_CUT = _Said(_COLUMNS, "The columns of an output pixel are counted in a 16-bit parameter.")

_CHANNEL_CUT = _Said(
    "cuts the number of a channel off to 16 bits",
    "Channels are counted in a 16-bit variable: those from 65,536 on are computed from other inputs and weights.",
)


def _at(
    kernel: str, lines: dict[str, int], isas: tuple[Isa, ...] = ALL_ISAS, until: str = "", *, function: str = ""
) -> Origin:
    """A place in a kernel's file: in the kernel, or in the static `function` that it calls."""
    origin = kernel_at(kernel, lines, isas, until)
    return origin._replace(function=function) if function else origin


def _too_large(name: str, entry: str, origin: Origin, when: Condition, said: _Said) -> Hazard:
    return Hazard(
        id=name,
        kind="too-large",
        entries=(entry,),
        of_kernels=(PurePosixPath(origin.file).stem,),
        origin=origin,
        when=when,
        brief=said.brief,
        what=said.what,
    )


def _beyond(*sizes: Term) -> Condition:
    return any_of(*(greater(size, _UNSIGNED) for size in sizes))


def _sizes(name: str, entry: str, origin: Origin, when: Condition) -> Hazard:
    return _too_large(name, entry, origin, when, _SIZE_CUT)


def _odd_column(name: str, origin: Origin, largest: int) -> Hazard:
    """The loop over the pixel that an odd number leaves over: plain C counts in steps of 2, dsp code in steps of 4."""
    breach = greater(COLS, largest)
    return _too_large(name, "convolve_s4", origin, all_of(_ODD_PIXEL, breach), _ODD_CUT)._replace(breach=breach)


def _windows(name: str, entry: str, origin: Origin, when: Condition = _FAR) -> Hazard:
    return _too_large(name, entry, origin, when, _WINDOW_CUT)


def _mismatch(name: str, entry: str, origin: Origin) -> Hazard:
    """row_shift, or col_shift, counts channels in steps of 4: 65536 is the first that it cannot hold."""
    return _too_large(name, entry, origin, greater(OUT.c, _UNSIGNED + 1), _CHANNEL_CUT)


_PLANE = (IN.h, IN.w, FILTER.h, FILTER.w, OUT.h, OUT.w, PAD.h, PAD.w)


# A row of one window does not use the number of input channels that is cut off.
_ONE_ROW = any_of(
    _beyond(IN.w, FILTER.w, OUT.w, PAD.w),
    all_of(greater(IN.c, _UNSIGNED), greater(OUT.w, 1)),
)

_GENERIC = any_of(_FAR, _beyond(IN.c, CH_MULT, *_PLANE))
_S4, _S4_OPT = "arm_convolve_s4", "arm_depthwise_conv_s4_opt"
_S8_OPT, _FAST_S16 = "arm_depthwise_conv_s8_opt", "arm_depthwise_conv_fast_s16"
_1XN_S8_LINES = dict.fromkeys(("4.0.0", "4.1.0", "5.0.0"), 74)
_1XN_S4_LINES = {"6.0.0": 73, "7.0.0": 73, "main": 72}
_S4_LINES, _EVEN_LINES = dict.fromkeys(_FROM_5, 71), {"7.0.0": 73, "main": 73}
_S4_DEF = dict.fromkeys(_FROM_5, 50)
_S8_OPT_LINES = {"4.0.0": 246, **dict.fromkeys(_FROM_4_1, 225)}
_S8_OPT_SHIFT = dict.fromkeys(_FROM_4, 51)
_S4_OPT_LINES = {"5.0.0": 112, **dict.fromkeys(_FROM_5[1:], 267)}
_S4_OPT_SHIFT = dict.fromkeys(_FROM_5, 51)
_S4_GENERIC_LINES = {"5.0.0": 84, **dict.fromkeys(_FROM_5[1:], 85)}

SIXTEEN_BIT_HAZARDS = (
    _sizes(
        "conv-1xn-16-bit-sizes",
        "convolve_s8",
        _at("arm_convolve_1_x_n_s8", _1XN_S8_LINES, MVE_ONLY, "6.0.0"),
        _ONE_ROW,
    ),
    _sizes(
        "conv-1xn-s4-16-bit-sizes",
        "convolve_s4",
        _at("arm_convolve_1_x_n_s4", _1XN_S4_LINES, MVE_ONLY),
        _ONE_ROW,
    ),
    _sizes("conv-s4-16-bit-sizes", "convolve_s4", _at(_S4, _S4_LINES), _beyond(IN.c, *_PLANE)),
    # From 6.0.0 on MVE code counts output channels in 32 bits.
    _sizes(
        "conv-s4-16-bit-outputs",
        "convolve_s4",
        _at(_S4, dict.fromkeys(_FROM_5, 78), NOT_MVE),
        greater(OUT.c, _UNSIGNED),
    ),
    _odd_column("conv-s4-16-bit-odd-column-plain", _at(_S4, _S4_DEF, _SCALAR), 2 * _UNSIGNED + 1),
    _odd_column("conv-s4-16-bit-odd-column-dsp", _at(_S4, _S4_DEF, _DSP), 4 * _UNSIGNED + 3),
    # arm_convolve_s4 of 5.0.0 has no MVE code: it runs the dsp code.
    _odd_column("conv-s4-16-bit-odd-column-mve", _at(_S4, {"5.0.0": 50}, MVE_ONLY, "6.0.0"), 4 * _UNSIGNED + 3),
    _sizes(
        "conv-even-s4-16-bit-sizes",
        "convolve_s4",
        _at("arm_convolve_even_s4", _EVEN_LINES, MVE_ONLY),
        _beyond(IN.c, *_PLANE),
    ),
    _too_large(
        "conv-16-bit-columns-mve",
        "convolve_s8",
        _at("arm_convolve_s8", {"4.0.0": 51}, MVE_ONLY, "4.1.0"),
        greater(COLS, _UNSIGNED),
        _PIXEL_CUT,
    ),
    _windows(
        "dw-16-bit-windows",
        "depthwise_s8",
        _at("arm_depthwise_conv_s8", dict.fromkeys(_FROM_4, 193), function="depthwise_conv_s8_generic"),
        all_of(not_(_TILE), _GENERIC),
    )._replace(breach=_GENERIC),
    _windows(
        "dw-s16-16-bit-windows",
        "depthwise_s16",
        _at("arm_depthwise_conv_s16", dict.fromkeys(_FROM_4, 165), function="depthwise_conv_s16_generic_s16"),
        _GENERIC,
    ),
    _windows(
        "dw-s4-16-bit-windows",
        "depthwise_s4",
        _at("arm_depthwise_conv_s4", _S4_GENERIC_LINES, function="depthwise_conv_s4_generic"),
    ),
    _windows("dw-opt-16-bit-windows", "depthwise_s8", _at(_S8_OPT, _S8_OPT_LINES, _DSP)),
    _windows("dw-fast-s16-16-bit-windows", "depthwise_s16", _at(_FAST_S16, dict.fromkeys(_FROM_4, 236), _DSP)),
    _windows("dw-s4-opt-16-bit-windows", "depthwise_s4", _at(_S4_OPT, _S4_OPT_LINES, NOT_MVE)),
    _windows("dw-s4-opt-16-bit-windows-mve", "depthwise_s4", _at(_S4_OPT, {"5.0.0": 112}, MVE_ONLY, "6.0.0")),
    _mismatch("dw-opt-16-bit-channels", "depthwise_s8", _at(_S8_OPT, _S8_OPT_SHIFT, _DSP)),
    _mismatch("dw-fast-s16-16-bit-channels", "depthwise_s16", _at(_FAST_S16, dict.fromkeys(_FROM_4_1, 51), _DSP)),
    _mismatch("dw-s4-opt-16-bit-channels", "depthwise_s4", _at(_S4_OPT, _S4_OPT_SHIFT, NOT_MVE)),
    _mismatch("dw-s4-opt-16-bit-channels-mve", "depthwise_s4", _at(_S4_OPT, {"5.0.0": 51}, MVE_ONLY, "6.0.0")),
)
