"""What does each repair by rewriting, by its name, and what rewrites each format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
from onnxlint_cmsis.fixers.edits.onnx_resize import check_external_data, resized
from onnxlint_cmsis.fixers.edits.tflite_edit import TfliteGraphEdit
from onnxlint_cmsis.fixers.edits.tflite_resize import apply_to_tflite
from onnxlint_cmsis.fixers.planning.fits.mean_pool import MEAN_POOLS
from onnxlint_cmsis.fixers.repairs.counted_padding import apply_counted_padding
from onnxlint_cmsis.fixers.repairs.depthwise_normalization import apply_depthwise_normalization
from onnxlint_cmsis.fixers.repairs.editor import Applied, Editor
from onnxlint_cmsis.fixers.repairs.equal_scales import apply_equal_scales
from onnxlint_cmsis.fixers.repairs.explicit_pad import apply_explicit_pad
from onnxlint_cmsis.fixers.repairs.fold_constants import apply_fold_constants
from onnxlint_cmsis.fixers.repairs.mean_pool import apply_mean_pool
from onnxlint_cmsis.fixers.repairs.negated import apply_negated
from onnxlint_cmsis.fixers.repairs.shifted_taps import apply_shifted_taps
from onnxlint_cmsis.fixers.repairs.signed_integers import apply_signed_integers
from onnxlint_cmsis.fixers.repairs.slices import apply_slices
from onnxlint_cmsis.fixers.repairs.softmax_output import apply_softmax_output
from onnxlint_cmsis.fixers.repairs.split_batch import apply_split_batch
from onnxlint_cmsis.fixers.repairs.split_groups import apply_split_groups
from onnxlint_cmsis.fixers.repairs.tflite_layers import add_bias, widen
from onnxlint_cmsis.fixers.repairs.useless_pairs import apply_useless_pairs
from onnxlint_cmsis.fixers.repairs.wider_window import apply_more_columns, apply_wider_window
from onnxlint_cmsis.fixers.repairs.zero_bias import apply_zero_bias
from onnxlint_cmsis.fixers.repairs.zero_taps import apply_output_padding, apply_spread_taps

APPLIED: Mapping[str, Applied] = MappingProxyType(
    {
        "softmax-output": apply_softmax_output,
        "equal-scales": apply_equal_scales,
        "useless-pairs": apply_useless_pairs,
        **{row.name: apply_mean_pool for row in MEAN_POOLS},
        "fold-constants": apply_fold_constants,
        "depthwise-normalization": apply_depthwise_normalization,
        "slices": apply_slices,
        "negated": apply_negated,
        "counted-padding": apply_counted_padding,
        "signed-integers": apply_signed_integers,
        "zero-bias": apply_zero_bias,
        "split-groups": apply_split_groups,
        "wider-window": apply_wider_window,
        "explicit-pad": apply_explicit_pad,
        "output-padding": apply_output_padding,
        "shifted-taps": apply_shifted_taps,
        "spread-taps": apply_spread_taps,
        "more-columns": apply_more_columns,
        "split-batch": apply_split_batch,
    }
)
"""What does each repair of an ONNX model, by its name."""
ONNX_EDITOR = Editor(resized, GraphEdit, APPLIED, check_external_data)
TFLITE_EDITOR = Editor(
    apply_to_tflite,
    lambda data, graph, clean, _records, _read: TfliteGraphEdit(data, graph, clean),
    MappingProxyType({"zero-bias": add_bias, "wider-window": widen}),
    lambda _data, _path: None,
)
