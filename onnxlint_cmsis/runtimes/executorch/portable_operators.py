"""Operators of PyTorch that ExecuTorch's portable library has kernels of.

Source: kernels/portable/functions.yaml and kernels/prim_ops/register_prim_ops.cpp of 1.0.1, 1.1.0, 1.2.0, 1.3.0, 1.4.0,
1.4.1 and cff6f4dd.
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
PORTABLE: Mapping[str, str] = MappingProxyType(
    dict.fromkeys((*_NAMES.split(), *_PRIMITIVE), "1.0.1")
    | {"_adaptive_avg_pool2d": "1.3.0", "_conj_physical": "1.2.0", "grid_sampler_2d": "1.1.0", "var_mean": "1.3.0"}
)
"""First release that has each, 1.0.1 for older ones."""


def lacks_kernel(op: str, day: str) -> bool:
    """Tell whether an operator is one of PyTorch that the portable library of the release of a day has no kernel of."""
    since = PORTABLE.get(op.removeprefix(ATEN))
    return op.startswith(ATEN) and (since is None or day < RELEASES[since])
