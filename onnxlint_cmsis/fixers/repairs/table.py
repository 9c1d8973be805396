"""What does each repair by rewriting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.classes import bias_slot
from onnxlint_cmsis.fixers.edits.onnx import GraphEdit
from onnxlint_cmsis.fixers.edits.resize import check_external_data, resized
from onnxlint_cmsis.fixers.edits.tflite import TfliteGraphEdit, apply_to_tflite
from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.repairable import RepairSite
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
    from onnxlint_cmsis.fixers.planning.plan import Plan
    from onnxlint_cmsis.formats.format import Format
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.model.graph import Graph


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
