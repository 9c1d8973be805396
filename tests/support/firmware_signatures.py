"""Libraries of which only the signatures exist."""

from __future__ import annotations

from pathlib import Path

from firmware_check.library import Library


class EverythingLibrary:
    """A library of a release that has every function."""

    def __init__(self, release: str) -> None:
        self.release = release
        self._known = Library(Path(), release, (), "")

    def since(self, release: str) -> bool:
        return self._known.since(release)

    def has(self, function: str) -> bool:
        return bool(function)


RELEASES = ("4.0.0", "4.1.0", "5.0.0", "6.0.0", "7.0.0", "main")
CONV = "const D *, const int8_t *, const D *, const int8_t *, const D *, const int32_t *, const D *, int8_t *"
POOL = (
    "const cmsis_nn_context *, const cmsis_nn_pool_params *, const D *, const int8_t *, const D *, const D *, int8_t *"
)
SCALES = "const cmsis_nn_per_channel_quant_params *"
TRANSPOSED = f"const cmsis_nn_context *, const cmsis_nn_context *, const T *, {SCALES}, {CONV}"
I32 = "int32_t"
ALWAYS = (
    f"S arm_convolve_wrapper_s8(const cmsis_nn_context *, const cmsis_nn_conv_params *, {SCALES}, {CONV})",
    f"S arm_depthwise_conv_wrapper_s8(const cmsis_nn_context *, const cmsis_nn_dw_conv_params *, {SCALES}, {CONV})",
    f"{I32} arm_convolve_wrapper_s8_get_buffer_size(const cmsis_nn_conv_params *, const D *, const D *, const D *)",
    f"{I32} arm_depthwise_conv_wrapper_s8_get_buffer_size("
    "const cmsis_nn_dw_conv_params *, const D *, const D *, const D *)",
    f"{I32} arm_fully_connected_s8_get_buffer_size(const D *)",
    f"{I32} arm_avgpool_s8_get_buffer_size(int, int)",
    f"S arm_avgpool_s8({POOL})",
    f"S arm_max_pool_s8({POOL})",
    "void arm_softmax_s8(const int8_t *, int32_t, int32_t, int32_t, int32_t, int32_t, int8_t *)",
    "S arm_elementwise_add_s8(const int8_t *, const int8_t *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, "
    "int32_t, int8_t *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t)",
    "S arm_elementwise_mul_s8(const int8_t *, const int8_t *, int32_t, int32_t, int8_t *, int32_t, int32_t, int32_t, "
    "int32_t, int32_t, int32_t)",
)
FULLY_CONNECTED = f"const cmsis_nn_context *, const cmsis_nn_fc_params *, const %s *, {CONV}"
SINCE = {
    "4.0.0": (f"S arm_fully_connected_s8({FULLY_CONNECTED % 'cmsis_nn_per_tensor_quant_params'})",),
    "5.0.0": (
        f"S arm_transpose_conv_s8({TRANSPOSED})",
        f"{I32} arm_transpose_conv_s8_get_buffer_size(const D *, const D *, const D *)",
        "S arm_vector_sum_s8(int32_t *, int32_t, int32_t, const int8_t *)",
    ),
    "6.0.0": ("S arm_vector_sum_s8(int32_t *, int32_t, int32_t, const int8_t *, int32_t, const int32_t *)",),
    "7.0.0": (
        f"S arm_fully_connected_wrapper_s8({FULLY_CONNECTED % 'Q'})",
        f"S arm_transpose_conv_wrapper_s8({TRANSPOSED})",
        f"{I32} arm_transpose_conv_s8_get_buffer_size(const T *, const D *, const D *, const D *)",
        f"{I32} arm_transpose_conv_s8_get_reverse_conv_buffer_size(const T *, const D *, const D *)",
        "S arm_vector_sum_s8(int32_t *, int32_t, int32_t, const int8_t *, int32_t, int32_t, const int32_t *)",
        "S arm_pad_s8(const int8_t *, int8_t *, int8_t, const D *, const D *, const D *)",
    ),
}
"""Signatures as the headers of the releases have them; a later one of the same name replaces an earlier one."""
TYPES = """
typedef int S;
typedef cmsis_nn_dims D;
typedef struct { int32_t *multiplier, *shift, is_per_channel; } cmsis_nn_quant_params;
typedef cmsis_nn_quant_params Q;
typedef struct {
    int32_t input_offset, output_offset;
    cmsis_nn_tile stride, padding, padding_offsets, dilation;
    cmsis_nn_activation activation;
} cmsis_nn_transpose_conv_params;
typedef cmsis_nn_transpose_conv_params T;
"""


class Stub(EverythingLibrary):
    """A library of which only the signatures exist."""

    def __init__(self, release: str) -> None:
        super().__init__(release)
        self.origin = "signatures"
        self.signatures = {signature.split("(")[0].split()[-1]: signature for signature in signatures(release)}

    def has(self, function: str) -> bool:
        return function in self.signatures


def signatures(release: str) -> list[str]:
    """Everything a release declares that generated C may call."""
    lines = list(ALWAYS)
    for since, added in SINCE.items():
        lines += added if RELEASES.index(release) >= RELEASES.index(since) else ()
    return lines


def write_headers(folder: Path, library: Stub) -> None:
    """The structs of 4.0.0, which later releases only add to, and the signatures of one release."""
    from firmware_check.library import open_library

    types = open_library("").root / "Include" / "arm_nn_types.h"
    text = (
        types.read_text(encoding="utf-8")
        + TYPES
        + "".join(f"{signature};\n" for signature in library.signatures.values())
    )
    (folder / "arm_nnfunctions.h").write_text(f"#pragma once\n{text}", encoding="utf-8")
    (folder / "arm_nnsupportfunctions.h").write_text("", encoding="utf-8")
