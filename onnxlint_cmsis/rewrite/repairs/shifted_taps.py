"""Rows and columns of zeros around the weights of a transposed convolution, with as much more padding.

An output row sums over the same products where k rows of zeros stand before the weights and the padding before is k
more. That gives the padding that the direct kernel of CMSIS-NN wants: a multiple of the stride, and so much that no row
is written past the output. Zeros behind the weights make its row buffer long enough. Where the padding exceeds what
the input spreads to, the first rows of the weights meet no input, and are cut off with as much padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.rewrite.repairs.zero_taps import refusal_of_weights, surround

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit
    from onnxlint_cmsis.types import KernelCall

MOST = 16
"""Rows of zeros that are added at most."""


class ShiftedTaps(NamedTuple):
    """Other weights with the same sums."""

    rows: int
    """Rows of zeros before the weights; negative for rows that are cut off."""
    columns: int
    """Columns of zeros behind them."""
    call: KernelCall
    """The call with them."""


def refusal(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's weights cannot be shifted."""
    node = record.node
    if record.layer is None or _known(record.layer.call) is None:
        return "its sizes or padding are not known"
    if len(graph.shape(node.outputs[0]) or ()) != 4:
        return "it has no rows"
    if node.ints("output_shape") or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        return "its padding follows from the size of its output"
    return refusal_of_weights(graph, record)


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Shift the weights by as few rows as give a call without known hazards. Raises NotAppliedError."""
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    found = next((one for one in shifted(record.layer.call) if edit.clean(one.call)), None)
    if found is None:
        raise NotAppliedError(f"no weights with up to {MOST} more rows are computed rightly")
    node, call = record.node, found.call
    surround(edit, record, ((found.rows, 0), (0, found.columns)))
    pads = list(node.ints("pads") or (0, 0, 0, 0))
    pads = [pads[0] + found.rows, pads[1], pads[2], pads[3] + found.columns]
    kernel = {"kernel_shape": [call.filter_dims.h, call.filter_dims.w]} if node.ints("kernel_shape") else {}
    edit.set_attributes(node, "auto_pad", pads=pads, **kernel)
    return RepairMade(_text(found, pads), (node.outputs[0],))


def _text(found: ShiftedTaps, pads: list[int]) -> str:
    words = []
    if found.rows < 0:
        words.append(f"loses {-found.rows} rows of its weights that meet no input")
    if found.rows > 0:
        words.append(f"gets {found.rows} rows of zeros before its weights")
    if found.columns:
        words.append(f"gets {found.columns} columns of zeros behind its weights")
    return f"{', '.join(words)}, and pads={pads}"


def shifted(call: KernelCall) -> Iterator[ShiftedTaps]:
    """Weights with the same sums, those with the fewest products first."""
    sizes = _known(call)
    if sizes is None:
        return
    unread = sizes.padding - (sizes.rows - 1) * sizes.stride
    wider = max(0, sizes.stride_w - sizes.width)
    cuts = [-min(unread, sizes.height - 1)] if unread > 0 else []
    for rows in (*cuts, *range(MOST + 1)):
        for columns in dict.fromkeys((0, wider)):
            if rows or columns:
                yield ShiftedTaps(rows, columns, _moved(call, rows, columns))


class _Sizes(NamedTuple):
    rows: int
    height: int
    width: int
    stride: int
    stride_w: int
    padding: int


def _known(call: KernelCall) -> _Sizes | None:
    found = (call.input_dims.h, *call.filter_dims[1:3], call.stride.h, call.stride.w, call.padding.h)
    known = [size for size in (*found, *call.padding, *call.pad_after) if size is not None]
    return _Sizes(*known[: len(found)]) if len(known) == len(found) + 4 else None


def _moved(call: KernelCall, rows: int, columns: int) -> KernelCall:
    height, width = call.filter_dims.h or 0, call.filter_dims.w or 0
    return call._replace(
        filter_dims=call.filter_dims._replace(h=height + rows, w=width + columns),
        padding=call.padding._replace(h=(call.padding.h or 0) + rows),
        pad_after=call.pad_after._replace(w=(call.pad_after.w or 0) + columns),
    )


HAZARDS = (
    "tconv-padding-not-in-strides",
    "tconv-rows-past-output",
    "tconv-rows-past-output-main",
    "tconv-padding-above-input",
    "tconv-scratch-too-small",
)
"""Geometries that the direct kernel computes wrongly or runs past a buffer with."""
SHIFTED_TAPS = RepairRow(
    name="shifted-taps",
    what="puts rows or columns of zeros around the weights of a transposed convolution, with padding to match",
    hazards=frozenset(HAZARDS),
    price="the products with these zeros",
    free=False,
    refusal=refusal,
    apply=apply,
)
