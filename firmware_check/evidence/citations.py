"""Every place in CMSIS-NN's source that a row of the tables rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from onnxlint_cmsis.cmsis_nn.apis import FLOAT, LEGACY, api_of
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of
from onnxlint_cmsis.cmsis_nn.delegations import DELEGATIONS
from onnxlint_cmsis.cmsis_nn.entry_points import ENTRY_POINTS
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.releases import holds, older
from onnxlint_cmsis.cmsis_nn.rows import Branch, Origin, Wrapper
from onnxlint_cmsis.cmsis_nn.tables import ENTRIES, FLOAT_ENTRIES, LEGACY_ENTRIES, all_hazards, wrapper_for

CALLED_AS = {"arm_convolve_wrapper_s8": "arm_depthwise_conv_to_conv_s8"}
"""Kernel of a branch to the static function that calls it there."""


GUARDS = ("ARM_MATH_MVEI", "ARM_MATH_DSP", "ARM_CMSIS_NN_ARG_ERROR", "ARM_CMSIS_NN_FAILURE")
"""Words of a line that stands for a build or an error."""


HAZARD_WORDS: dict[str, tuple[str, ...]] = {
    "arm_convolve_1_x_n_s8": ("ARM_MATH_MVEI", "im2col", "num_elem_right"),
    "arm_maximum_s8": ("input_1_ptr",),
    "arm_minimum_s8": ("input_1_ptr",),
    "arm_transpose_conv_s8": ("skip_rows_top",),
    "arm_transpose_s8_nhcw": ("src_rows", "src_cols"),
    "arm_transpose_s8": ("perm",),
    "arm_lstm_unidirectional_s8": ("hidden_in",),
    "arm_lstm_unidirectional_s16": ("hidden_in",),
    "arm_nn_mat_mult_kernel_s16": ("num_col_a", "num_col_a_fast", "col_count"),
    "arm_convolve_s8": ("bias_data_ptr", "output_ch_per_group"),
    "arm_depthwise_conv_s8_opt": ("col_buffer", "bias"),
    "arm_depthwise_conv_s4_opt": ("lower_nibble_mask",),
    "arm_convolve_wrapper_s8": ("arm_convolve_1x1_s8_fast", "conv_params", "arm_nn_is_convolve_1x1"),
    "arm_convolve_wrapper_s16": ("arm_convolve_s16", "arm_convolve_fast_s16", "conv_params", "ARM_MATH_DSP"),
    "arm_convolve_wrapper_s4": ("conv_params", "arm_nn_is_convolve_1x1"),
    "arm_convolve_1x1_s8": ("arm_nn_mat_mult_nt_t_s8",),
    "dot_nt_t_f16_scalar": ("acc",),
}
"""What the line of a hazard has where it is no condition on a size: the statement that goes wrong, by function."""


FLOAT_WORDS: dict[str, tuple[str, ...]] = {
    "arm_convolve_nhwc": ("w_oc",),
    "arm_convolve_1_x_n_nhwc": ("arm_nn_mat_mult_nt_t_*",),
    "arm_convolve_1_x_n_pack_rows": ("left_pad_cols",),
    "arm_nn_conv1d_k3_nhwc": ("x0",),
    "arm_nn_conv1d_k3_packed": ("block_cols",),
    "arm_transpose_conv_nhwc": ("pad_off_h",),
    "arm_nn_depthwise_conv1d_k3_nhwc": ("x0",),
    "arm_nn_depthwise_conv2x5_nhwc": ("row0",),
    "depthwise_conv3x3_nhwc_valid": ("x0",),
    "arm_batch_matmul": ("inner_rhs_diff",),
    "arm_nn_maxpool1d_k2s2_nhwc_noclip": ("x0",),
    "arm_maximum": ("arm_minmax_*_impl",),
    "arm_minimum": ("arm_minmax_*_impl",),
    "arm_lstm_unidirectional": ("cell_state",),
    "arm_pad": ("pre_pad",),
    "arm_nn_activation": ("arm_nn_apply_activation_type_*",),
    "arm_nn_lstm_activate_gate": ("arm_nn_tanh_scalar_ref_*",),
    "arm_avg_pool": ("v_sum",),
    "arm_softmax": ("arm_nn_softmax_exp_scalar_*",),
}
"""The same for functions for f32 and f16, by the name without the type; * stands for it."""


FAULT_WORDS: dict[str, tuple[str, ...]] = {
    "padding-after": ("i_out_y",),
    "padding-beyond-output": ("padding", "padding_y"),
    "odd-output": ("i_out_x",),
    "in-place": ("memmove", "arm_q7_to_q15_no_shift"),
    "8-bit-index": ("in_row",),
    "16-bit-size": ("uint16_t",),
    "unaligned-store": ("arm_q7_to_q15_no_shift",),
}
"""Words of the statement that goes wrong in functions for q7 and q15, by a part of the row's name."""


class Citation(NamedTuple):
    """One statement of a row about one file of a release."""

    row: str
    """The row, as its reader finds it: `routes/convolve_s8: arm_convolve_1x1_s8_fast`."""
    file: str
    """Path inside the repository; a folder where any file of it may have the function."""
    function: str
    """C function or macro."""
    line: int
    """Line recorded for this release; 0 where none is."""
    asks: Condition
    """What stands on that line; TRUE for an `else`, a call or a definition."""
    calls: str = ""
    """Function that is called on the line or behind it."""
    params: str = ""
    """Name of the parameter struct where the line names arguments as the row does; empty inside kernels."""
    nested: bool = False
    """Whether the row's whole condition stands in outer tests, so that the line only leads to the call."""
    words: tuple[str, ...] = ()
    """Words of which the line has one, where it is no condition."""
    whole: bool = False
    """Whether the line has every variable of the condition, under the names of the functions for q7 and q15."""


def citations(release: str) -> Iterator[Citation]:
    """All of one release, in the order of the tables; of functions for f32 and f16 sizes and hazards alone."""
    for entry in (*ENTRIES, *LEGACY_ENTRIES, *FLOAT_ENTRIES):
        wrapper = wrapper_for(entry)
        if wrapper is not None:
            yield from _of_wrapper(wrapper, release)
    for point in ENTRY_POINTS:
        if holds(point.since, point.until, release) and api_of(point.entry) is not FLOAT:
            for function in _variants(point.function):
                path = point.path.replace(point.function, function)
                yield Citation(f"entry_points: {point.entry}", path, function, 0, TRUE)
    for row in DELEGATIONS:
        if row.origin.spans(release):
            name = f"delegations: {row.kernel} -> {row.callee}"
            yield _cite(name, row.origin, release, row.when)._replace(
                words=(row.callee, *GUARDS, *(["if"] if row.static else []))
            )
    for hazard in all_hazards():
        if hazard.origin.spans(release) and api_of(hazard.entries[0]) is LEGACY:
            yield _of_legacy_hazard(hazard, release)
        elif hazard.origin.spans(release):
            stem, _, kind = hazard.origin.function.rpartition("_")
            named = tuple(word.replace("*", kind) for word in FLOAT_WORDS.get(stem, ()))
            known = named if kind in FLOAT.types else HAZARD_WORDS.get(hazard.origin.function, ())
            words = GUARDS if hazard.kind == "returns-error" else known
            yield _cite(f"hazards: {hazard.id}", hazard.origin, release, hazard.when)._replace(words=words)


def _of_legacy_hazard(hazard: Hazard, release: str) -> Citation:
    """A check with all that it asks, or the statement that goes wrong without one."""
    cited = _cite(f"hazards: {hazard.id}", hazard.origin, release, hazard.when)
    words = next((words for fault, words in FAULT_WORDS.items() if fault in hazard.id), ())
    return cited._replace(whole=not words) if not words else cited._replace(asks=TRUE, words=words)


def _of_wrapper(wrapper: Wrapper, release: str) -> Iterator[Citation]:
    name = f"routes/{wrapper.entry}"
    for branch in wrapper.branches:
        if branch.origin.spans(release) and api_of(wrapper.entry) is not FLOAT:
            yield from _of_branch(f"{name}: {branch.kernel}", branch, wrapper, release)
    for kind, sizes in (("sizes", wrapper.sizes), ("reverse_sizes", wrapper.reverse_sizes)):
        for size in sizes:
            if size.origin.spans(release):
                cited = _cite(f"{name}: {kind}, {size.origin.function}", size.origin, release, TRUE)
                yield cited._replace(words=SIZE_WORDS if api_of(wrapper.entry) is FLOAT else ())


def _of_branch(name: str, branch: Branch, wrapper: Wrapper, release: str) -> Iterator[Citation]:
    """The line with the rest of the condition, and each outer test's."""
    tests = [test for test in branch.tests if test.lines or api_of(wrapper.entry) is not LEGACY]
    outer = [part for test in branch.tests for part in (test.when, *test.when.parts)]
    rest = all_of(*(part for part in (branch.when.parts or (branch.when,)) if part not in outer))
    own = _cite(name, branch.origin, release, rest)
    alone = branch.origin.function == branch.kernel  # no wrapper yet: the kernel itself is called
    called = CALLED_AS.get(branch.kernel, branch.kernel)
    if alone and api_of(wrapper.entry) is LEGACY and rest != TRUE:
        yield own._replace(whole=True)
    elif alone:
        yield own._replace(asks=TRUE, words=(branch.kernel,))
    else:
        yield own._replace(calls=called, params=wrapper.params, nested=bool(branch.tests) and rest == TRUE)
    for test in tests:
        yield own._replace(line=_line(test.lines, release), asks=test.when, params=wrapper.params)


def _cite(row: str, origin: Origin, release: str, asks: Condition) -> Citation:
    return Citation(row, origin.file, origin.function, _line(origin.lines, release), asks)


def _line(lines: Mapping[str, int], release: str) -> int:
    """The line read in this release, or in the nearest older one: rows name only releases in which it moved."""
    return next((lines[name] for name in older(release) if lines.get(name)), 0)


def _variants(function: str) -> tuple[str, ...]:
    """`arm_concatenation_s8_[wxyz]` is four functions."""
    head, bracket, letters = function.partition("[")
    return tuple(head + letter for letter in letters.rstrip("]")) if bracket else (function,)


SIZE_WORDS = ("size_t", "return", "stride", "input_dims")
"""What lines have inside the functions that answer sizes for f32 and f16: each of these has several answers."""
