"""Operators that ExecuTorch has kernels of beside those of its Cortex-M backend.

Source: kernels/portable/functions.yaml, kernels/quantized/quantized.yaml and kernels/prim_ops/register_prim_ops.cpp of
1.0.1, 1.1.0, 1.2.0, 1.3.0, 1.4.0, 1.4.1 and cff6f4dd.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.formats.format import RELEASES

ATEN = "aten::"
_NAMES = """
    _cdist_forward _log_softmax _native_batch_norm_legit _native_batch_norm_legit_no_training _pdist_forward
    _softmax _to_copy _upsample_bilinear2d_aa abs acos acosh add addmm alias_copy amax amin any arange argmax
    argmin as_strided_copy asin asinh atan atan2 atanh avg_pool2d bitwise_and bitwise_not bitwise_or bitwise_xor
    bmm cat ceil clamp clone constant_pad_nd convolution convolution_backward copy copy_ cos cosh cumsum
    detach_copy diagonal_copy div elu embedding empty eq erf exp expand_copy expm1 fill flip floor floor_divide
    fmod full full_like gather ge gelu glu gt hardtanh index index_put index_put_ index_select isinf isnan le
    leaky_relu lift_fresh_copy log log10 log1p log2 logical_and logical_not logical_or logical_xor logit lt
    masked_fill masked_scatter masked_select max max_pool2d_with_indices max_pool2d_with_indices_backward maximum
    mean min minimum mm mul narrow_copy native_dropout native_group_norm native_layer_norm ne neg nonzero ones
    permute_copy pixel_shuffle pixel_unshuffle pow prod rand randn reciprocal reflection_pad1d reflection_pad2d
    reflection_pad3d relu remainder repeat repeat_interleave replication_pad1d replication_pad2d replication_pad3d
    roll round rsqrt rsub scalar_tensor scatter scatter_add select_copy select_scatter sigmoid sign sin sinh
    slice_copy slice_scatter split_copy split_with_sizes_copy sqrt squeeze_copy stack sub sum t_copy tan tanh topk
    transpose_copy tril trunc unbind_copy unfold_copy unsqueeze_copy upsample_bilinear2d upsample_nearest2d var
    view_as_real_copy view_copy where zeros
"""
_PRIMITIVE = ("sym_size", "sym_numel", "_local_scalar_dense")
"""Those that the runtime has without the library."""
_OTHERS = """
    dim_order_ops::_clone_dim_order dim_order_ops::_empty_dim_order dim_order_ops::_to_dim_order_copy
    executorch_prim::add executorch_prim::ceil executorch_prim::eq executorch_prim::et_copy_index
    executorch_prim::et_view executorch_prim::floordiv executorch_prim::ge executorch_prim::gt executorch_prim::le
    executorch_prim::lt executorch_prim::mod executorch_prim::mul executorch_prim::neg executorch_prim::round
    executorch_prim::sub executorch_prim::sym_float executorch_prim::sym_max executorch_prim::sym_min
    executorch_prim::truediv executorch_prim::trunc
    quantized_decomposed::add quantized_decomposed::choose_qparams
    quantized_decomposed::choose_qparams_per_token_asymmetric quantized_decomposed::dequantize_per_channel
    quantized_decomposed::dequantize_per_tensor quantized_decomposed::dequantize_per_token
    quantized_decomposed::embedding_2bit quantized_decomposed::embedding_4bit quantized_decomposed::embedding_byte
    quantized_decomposed::mixed_linear quantized_decomposed::mixed_mm quantized_decomposed::quantize_per_channel
    quantized_decomposed::quantize_per_tensor quantized_decomposed::quantize_per_token
"""
"""Operators of ExecuTorch itself."""
_OTHERS_SINCE_1_4 = """
    et_copy::_d2h_copy et_copy::_h2d_copy executorch_prim::sym_int executorch_prim::sym_ite executorch_prim::sym_not
"""
PORTABLE: Mapping[str, str] = MappingProxyType(
    dict.fromkeys((*(ATEN + name for name in (*_NAMES.split(), *_PRIMITIVE)), *_OTHERS.split()), "1.0.1")
    | {f"{ATEN}_adaptive_avg_pool2d": "1.3.0", f"{ATEN}_conj_physical": "1.2.0", f"{ATEN}grid_sampler_2d": "1.1.0"}
    | {f"{ATEN}var_mean": "1.3.0", **dict.fromkeys(_OTHERS_SINCE_1_4.split(), "1.4.0")}
)
"""First release that has each, 1.0.1 for older ones."""


def lacks_kernel(op: str, day: str) -> bool:
    """Tell whether the release of a day has no kernel of an operator beside those of its Cortex-M backend."""
    since = PORTABLE.get(op)
    return since is None or day < RELEASES[since]
