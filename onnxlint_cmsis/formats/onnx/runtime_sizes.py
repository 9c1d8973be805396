"""Results that ONNX's inference gives other sizes than ONNX Runtime does.

The copy of the model that inference sees gets attributes that make the right sizes of a pool and of a ConvTranspose;
where runtimes make several sizes, or none, inference passes the node by.

* Below operator set 22, a pool with `ceil_mode` counts windows that start in the padding after, and rounds up behind
  SAME padding too. ONNX Runtime does neither in any operator set, nor does ONNX from 22 on.
* A pool that states `auto_pad` and `pads` takes the latter; ONNX Runtime takes the former.
* A ConvTranspose whose `output_shape` is smaller than its input loses axes, and under SAME padding `output_padding`
  makes it larger than its stride does.
* SAME padding of a pool with dilations fits the dilated window in ONNX, and the plain one in ONNX Runtime
  (core/providers/cpu/nn/pool_attributes.h, ComputeSizePadDilations), whose result is smaller.
* `runtime_limits` has those that rest on the numbers of a constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.attributes import int_attribute, ints_attribute
from onnxlint_cmsis.formats.onnx.dangerous_nodes import OPAQUE
from onnxlint_cmsis.formats.onnx.functions import imported_versions
from onnxlint_cmsis.formats.onnx.known_types import Table
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.formats.onnx.runtime_limits import SmallConstants, limited_otherwise
from onnxlint_cmsis.formats.onnx.walk import all_graphs
from onnxlint_cmsis.model.windows import padding_for, reach, rounded_up
from onnxlint_cmsis.operators.convolution import CONV_TRANSPOSE
from onnxlint_cmsis.operators.pooling import AVERAGE_POOL, LP_POOL, MAX_POOL

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from onnxlint_cmsis.ground.types import Size


POOLS = (AVERAGE_POOL, LP_POOL, MAX_POOL)
MENDED = 22
"""First operator set whose inference is right of pools with `ceil_mode`."""
PADDING = ("auto_pad", "ceil_mode", "output_padding", "output_shape", "pads")
"""Attributes that padding written out takes the place of."""


def settle_sizes(model: ModelProto, tables: list[Table]) -> bool:
    """Mend or hide nodes whose inputs have known sizes, in place; True where there were any.

    One behind another waits for the next call, whose tables have the right size of what it reads.
    """
    rounds_wrong = imported_versions(model).get("", MENDED) < MENDED
    graphs = [model.graph] if len(tables) == 1 else list(all_graphs(model.graph))
    read = SmallConstants(graphs)
    settled: set[str] = set()  # what settled nodes make, and what is made of that
    for node, table in ((node, table) for graph, table in zip(graphs, tables, strict=True) for node in graph.node):
        operator, behind = operator_of_proto(node), not settled.isdisjoint(node.input)
        if not behind and operator in POOLS and len(node.input):
            behind = _settle_pool(node, _plane(table, node.input[0]), rounds_wrong=rounds_wrong)
        elif not behind and operator is CONV_TRANSPOSE and len(node.input) > 1:
            behind = _settle_transposed(node, _plane(table, node.input[0]), _plane(table, node.input[1]))
        elif not behind and limited_otherwise(node, table.get(next(iter(node.input), ""), (0, None))[1], read):
            node.domain, behind = OPAQUE, True
        if behind:
            settled.update(name for name in node.output if name)
    return bool(settled)


def _plane(table: Table, name: str) -> tuple[Size, ...]:
    """Sizes behind batch and channels, as far as they are known."""
    return (table[name][1] or ())[2:] if name in table else ()


def _settle_pool(node: NodeProto, size: tuple[Size, ...], *, rounds_wrong: bool) -> bool:
    kernel, axes = ints_attribute(node, "kernel_shape"), len(size)
    strides, steps = ints_attribute(node, "strides") or [1] * axes, ints_attribute(node, "dilations") or [1] * axes
    automatic, same = _text(node, "auto_pad") not in (b"", b"NOTSET"), _pads_same(node)
    pads = (None if automatic else ints_attribute(node, "pads")) or [0] * 2 * axes
    if same and any(step != 1 and length > 1 for step, length in zip(steps, kernel, strict=False)):
        node.domain = OPAQUE
        return True
    fitting = axes and {len(kernel), len(strides), len(steps), len(pads) // 2} == {axes} and None not in size
    if automatic and ints_attribute(node, "pads"):
        _drop(node, "pads")
        return True
    if not int_attribute(node, "ceil_mode") or not fitting or min((*kernel, *strides, *steps)) < 1:
        return False
    after = []
    for axis, full in enumerate(size):
        span, stride, before = reach(kernel[axis], steps[axis]), strides[axis], pads[axis]
        if not same and span > (full or 0) + before + pads[axis + axes]:  # an empty result
            node.domain = OPAQUE
            return True
        windows = rounded_up(full or 0, span, stride, before, pads[axis + axes])
        after.append(max(padding_for(windows, full or 0, span, stride) - before, 0))
    if same:
        _drop(node, "ceil_mode")
    elif rounds_wrong:
        _pad(node, [*pads[:axes], *after])
    return rounds_wrong or same


def _settle_transposed(node: NodeProto, size: tuple[Size, ...], kernel: tuple[Size, ...]) -> bool:
    wanted, further = ints_attribute(node, "output_shape"), ints_attribute(node, "output_padding")
    if not wanted and not (_pads_same(node) and any(further)):
        return False
    axes = len(kernel)
    strides, steps = ints_attribute(node, "strides") or [1] * axes, ints_attribute(node, "dilations") or [1] * axes
    lengths = [length or 0 for length in (*size, *kernel)]
    fitting = axes and {len(size), len(strides), len(steps), len(wanted or further)} == {axes}
    if not fitting or min((*lengths, *strides, *steps)) < 1:
        node.domain = OPAQUE
        return True
    before, after = [], []
    for axis, stride in enumerate(strides):
        full = (lengths[axis] - 1) * stride + reach(lengths[axes + axis], steps[axis])
        least = min(lengths[axis] * stride, full + further[axis]) if not wanted else wanted[axis]
        before.append(max(full - least, 0))
        after.append(max(least - full, 0))
    _pad(node, [*before, *[0] * axes])
    _add(node, "output_padding", after)
    return True


def _pads_same(node: NodeProto) -> bool:
    return _text(node, "auto_pad").startswith(b"SAME")


def _text(node: NodeProto, name: str) -> bytes:
    return next((attribute.s for attribute in node.attribute if attribute.name == name), b"")


def _drop(node: NodeProto, *names: str) -> None:
    kept = [attribute for attribute in node.attribute if attribute.name not in names]
    del node.attribute[:]
    node.attribute.extend(kept)


def _pad(node: NodeProto, pads: list[int]) -> None:
    _drop(node, *PADDING)
    _add(node, "pads", pads)


def _add(node: NodeProto, name: str, numbers: list[int]) -> None:
    from onnx import helper

    node.attribute.append(helper.make_attribute(name, numbers))
