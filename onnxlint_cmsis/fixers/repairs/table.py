"""What does each repair by rewriting, and hazards that none answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.classes import bias_slot
from onnxlint_cmsis.cmsis_nn.library import LEGACY, hazards
from onnxlint_cmsis.fixers.edits.onnx import GraphEdit
from onnxlint_cmsis.fixers.edits.resize import check_external_data, resized
from onnxlint_cmsis.fixers.edits.tflite import TfliteGraphEdit, apply_to_tflite
from onnxlint_cmsis.fixers.planning.repairable import RepairMade, RepairSite
from onnxlint_cmsis.fixers.repairs.groups import apply_split_batch, apply_split_groups
from onnxlint_cmsis.fixers.repairs.requantized import (
    apply_equal_scales,
    apply_signed_integers,
    apply_softmax_output,
    apply_useless_pairs,
    apply_zero_bias,
)
from onnxlint_cmsis.fixers.repairs.window import (
    WIDEST_WINDOW,
    apply_explicit_pad,
    apply_more_columns,
    apply_output_padding,
    apply_shifted_taps,
    apply_spread_taps,
    apply_wider_window,
    wider,
)
from onnxlint_cmsis.formats.format import part
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx import document
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.lowered import LoweredLayer

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.classes import Dimensions
    from onnxlint_cmsis.fixers.planning.problem import Plan
    from onnxlint_cmsis.formats.format import Format
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.model.graph import Graph


# Hazards that no repair by rewriting answers, each with the reason.


_CALLER = "whoever writes the call gives it a buffer; nothing about the model is wrong"
_NEVER_CALLED = "the wrapper calls it with one output channel for each input channel alone, so that no model meets it"
_INVALID = "ONNX does not allow such groups"
_LEGACY = "the application can call another function of CMSIS 5, or the same one for parts; no node has to change"
_COLUMNS = (
    "the sum of more than 65,535 columns would have to be made of partial sums, and a convolution rounds each to 8 bits"
)
_ODD_PIXEL = (
    "it would take one more output pixel that a Slice cuts off again, which is not done for layers of more than 65,535"
    " columns"
)
_CUT_UP = "the layer would have to be cut into parts that overlap, which is not done"
_REPEATED = "the operand's column would have to be repeated along the width, which is not done"
_BEYOND_16_BIT = (
    "conv-16-bit-sizes",
    "conv-1xn-16-bit-sizes",
    "conv-1xn-s4-16-bit-sizes",
    "conv-s4-16-bit-sizes",
    "conv-even-s4-16-bit-sizes",
    "dw-16-bit-windows",
    "dw-s16-16-bit-windows",
    "dw-s4-16-bit-windows",
    "dw-opt-16-bit-windows",
    "dw-fast-s16-16-bit-windows",
    "dw-s4-opt-16-bit-windows",
    "dw-s4-opt-16-bit-windows-mve",
)
_CUT_CHANNELS = "the layer would have to be cut into groups of channels, which is not done"
_MANY_CHANNELS = (
    "conv-s4-16-bit-outputs",
    "dw-opt-16-bit-channels",
    "dw-fast-s16-16-bit-channels",
    "dw-s4-opt-16-bit-channels",
    "dw-s4-opt-16-bit-channels-mve",
)
_NO_VALUES = "the average of a window without values is not defined"
_CUT_TENSOR = "the tensor would have to be cut into parts, which is not done"
_STATE = "the function takes no initial state, and reference code would have to compute the layer"
UNREPAIRED: Mapping[str, str] = MappingProxyType(
    {
        "conv-groups-undefined": _INVALID,
        "conv-groups-not-even": _INVALID,
        **dict.fromkeys(_BEYOND_16_BIT, _CUT_UP),
        **dict.fromkeys(_MANY_CHANNELS, _CUT_CHANNELS),
        "conv-16-bit-columns-plain": _COLUMNS,
        "conv-16-bit-columns-dsp": _COLUMNS,
        "conv-16-bit-columns-mve": _COLUMNS,
        "conv-16-bit-odd-column-plain-5": _ODD_PIXEL,
        "conv-16-bit-odd-column-dsp-5": _ODD_PIXEL,
        "conv-16-bit-odd-column-plain": _ODD_PIXEL,
        "conv-16-bit-odd-column-dsp": _ODD_PIXEL,
        "conv-s4-16-bit-odd-column-plain": _ODD_PIXEL,
        "conv-s4-16-bit-odd-column-dsp": _ODD_PIXEL,
        "conv-s4-16-bit-odd-column-mve": _ODD_PIXEL,
        "dw-3x3-channels-mismatch": _NEVER_CALLED,
        "dw-3x3-channels-differ": _NEVER_CALLED,
        "dw-opt-channels-differ": _NEVER_CALLED,
        "dw-fast-s16-channels-differ": _NEVER_CALLED,
        "dw-s4-opt-channels-differ": _NEVER_CALLED,
        "avgpool-empty-window": _NO_VALUES,
        "avgpool-s16-empty-window": _NO_VALUES,
        "tconv-reversed-padding-past-filter": (
            "its padding cuts off whole inputs: the layer would have to be made with a smaller padding and a Slice"
            " behind it, which is not done"
        ),
        "transpose-16-bit-sizes": _CUT_TENSOR,
        "transpose-16-bit-offsets": _CUT_TENSOR,
        "transpose-identity": "it is no layer of an ONNX model, and .tflite files keep their operators",
        "maximum-single-columns": _REPEATED,
        "minimum-single-columns": _REPEATED,
        "dw-s4-opt-gcc-predicate": "the compiler makes it wrong, not the model: build with gcc 13 or newer",
        "lstm-initial-state-dropped": _STATE,
        "lstm-s16-initial-state-dropped": _STATE,
        "fc-null-context": _CALLER,
        "fc-per-channel-null-context": _CALLER,
        "svdf-null-context": _CALLER,
        "batch-matmul-null-context": _CALLER,
        "avgpool-null-context": _CALLER,
        **{row.id: _LEGACY for row in hazards(LEGACY)},
    }
)
"""Names of hazards, each with the reason as a clause."""


# Repairs applied to the bytes of a model.


class RepairedBytes(NamedTuple):
    """A model with some of its layers repaired."""

    data: bytes
    """The model; empty where nothing was done."""
    repairs: tuple[tuple[RepairSite, RepairMade], ...]
    """What was done to which layer."""
    refused: tuple[tuple[RepairSite, str], ...]
    """Layers that could not be repaired, with the reason as a clause."""


Applied = Callable[[Any, LoweredLayer], RepairMade]
"""Does a repair to an edit of its format (GraphEdit, TfliteGraphEdit). Raises NotAppliedError."""


class Editor(NamedTuple):
    """What rewrites models of one format, from bytes to bytes; `Format.editor` names it."""

    resized: Callable[[bytes, Graph, Dimensions, Plan], bytes]
    """The model with a plan applied; graph and dimensions are those of the bytes. Raises NotAppliedError."""
    edit: Callable[[bytes, Graph, Callable[[KernelCall], bool], tuple[LoweredLayer, ...]], Any]
    """An edit of a model, for repairs; arguments are those of GraphEdit. Raises NotAppliedError."""
    repairs: Mapping[str, Applied]
    """What does each repair, by its name."""
    check_readable: Callable[[bytes, str], None]
    """Raises UnreadableError where a file beside a model, by its bytes and path, cannot be opened; reads nothing."""


def editor_of(form: Format) -> Editor:
    """What rewrites files of a format. Raises NotAppliedError where nothing does."""
    if not form.editor:
        raise NotAppliedError(f"{form.suffix} files are not rewritten")
    editor: Editor = part(form.editor)
    return editor


def repaired_model(
    begin: Callable[[], Any], repairs: Mapping[str, Applied], sites: Sequence[RepairSite]
) -> RepairedBytes:
    """The model with as many of the layers repaired as can be; `begin` makes an edit, to which `repairs` are done."""
    refused: list[tuple[RepairSite, str]] = []
    left = list(sites)
    while True:
        edit, done = begin(), []
        for site in left:
            try:
                done.append((site, repairs[site.row.name](edit, site.record)))
            except NotAppliedError as reason:
                refused.append((site, str(reason)))
                break
        else:
            edit.drop_unread()
            return RepairedBytes(edit.data() if done else b"", tuple(done), tuple(refused))
        left.remove(refused[-1][0])


# Repairs of layers of a `.tflite` file: a bias of zeros and wider windows.


def add_bias(edit: TfliteGraphEdit, record: LoweredLayer) -> RepairMade:
    """Store zeros in the unit of input scale times weight scale."""
    node, slot = record.node, bias_slot(edit.graph, record.node)
    channels = record.layer.call.output_dims.c if record.layer else None
    if slot is None or channels is None:
        raise NotAppliedError(f"the output channels of {node.label} are not known")
    edit.add_bias(node, slot.position, np.zeros(channels, np.int64))
    return RepairMade("gets a bias of zeros", (node.outputs[0],))


def widen(edit: TfliteGraphEdit, record: LoweredLayer) -> RepairMade:
    """Put columns of zeros around the weights, and leave the padding to the operator's option.

    SAME is half before and half after, as it is for every window that is tried; VALID fits one without padding.
    """
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    same = record.node.text("padding") == "SAME"
    fitting = (
        window for window in wider(record.layer.call) if same or not (window.call.padding.w or window.call.pad_after.w)
    )
    window = next((candidate for candidate in fitting if edit.clean(candidate.call)), None)
    if window is None:
        raise NotAppliedError(f"no window of up to {WIDEST_WINDOW} more columns is computed rightly")
    weights = operator_of(record.node).roles.second
    stored = edit.graph.quantization.get(record.node.inputs[weights])
    zeros = set(stored.zero_points) if stored else set()
    if len(zeros) > 1:
        raise NotAppliedError("the zero-points of its weights differ")
    old = edit.stored(record.node, weights)
    more = [(0, 0)] * old.codes.ndim
    more[-2] = (window.before, window.after)
    zero = document.number(old.elem_type, min(zeros, default=0))
    codes = np.pad(old.codes, more, constant_values=np.array(zero, old.codes.dtype))
    edit.write(record.node, weights, codes, old.elem_type)
    text = f"gets zeros along the width of its weights ({window.before} before, {window.after} behind)"
    return RepairMade(text, (record.node.outputs[0],))


APPLIED: Mapping[str, Applied] = MappingProxyType(
    {
        "softmax-output": apply_softmax_output,
        "equal-scales": apply_equal_scales,
        "useless-pairs": apply_useless_pairs,
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
    lambda data, graph, clean, _records: TfliteGraphEdit(data, graph, clean),
    MappingProxyType({"zero-bias": add_bias, "wider-window": widen}),
    lambda _data, _path: None,
)
