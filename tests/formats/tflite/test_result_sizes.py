"""Sizes of results are those that LiteRT's kernels compute, whatever the file states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.tflite.names import TFLITE_OPERATORS
from onnxlint_cmsis.formats.tflite.operand_sizes import NotComputedError
from onnxlint_cmsis.formats.tflite.result_sizes import RULES, result_sizes
from onnxlint_cmsis.formats.tflite.to_graph import load_tflite
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Roles
from onnxlint_cmsis.operators.views import NodeView
from support.tflite_writer import operator_code, write

NOT_COMPUTED = {
    *("IF", "WHILE", "CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"),
    *("BIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN"),
}
"""Operators whose results have no rule: bodies, resources, and two with many options."""
WINDOW = {"padding": "VALID", "stride_w": 1, "stride_h": 2}
SAME = {**WINDOW, "padding": "SAME", "stride_w": 3}
DILATED = {**WINDOW, "dilation_w_factor": 2, "dilation_h_factor": 1}
POOL = {**WINDOW, "filter_width": 2, "filter_height": 3}


def ints(*numbers: Any) -> np.ndarray:
    return np.array(numbers, np.int32)


CASES: dict[str, tuple[str, list[Any], str, dict[str, Any], int]] = {
    "conv": ("CONV_2D", [(2, 9, 8, 3), (4, 3, 2, 3), (4,)], "Conv2DOptions", WINDOW, 1),
    "conv same": ("CONV_2D", [(2, 9, 8, 3), (4, 3, 2, 3), (4,)], "Conv2DOptions", SAME, 1),
    "conv dilated": ("CONV_2D", [(1, 9, 8, 3), (4, 3, 2, 3), (4,)], "Conv2DOptions", DILATED, 1),
    "conv groups": ("CONV_2D", [(1, 9, 8, 6), (4, 3, 2, 3), (4,)], "Conv2DOptions", WINDOW, 1),
    "depthwise": ("DEPTHWISE_CONV_2D", [(1, 9, 8, 3), (1, 3, 2, 6), (6,)], "DepthwiseConv2DOptions",
                  {**DILATED, "depth_multiplier": 2}, 1),
    "transposed": ("TRANSPOSE_CONV", [ints(1, 11, 7, 2), (2, 3, 2, 4), (1, 5, 6, 4)], "TransposeConvOptions",
                   WINDOW, 1),
    "transposed same": ("TRANSPOSE_CONV", [ints(1, 10, 8, 2), (2, 3, 2, 4), (1, 5, 3, 4)], "TransposeConvOptions",
                        SAME, 1),
    "dense": ("FULLY_CONNECTED", [(2, 3, 4), (5, 4), (5,)], "FullyConnectedOptions", {}, 1),
    "dense regrouped": ("FULLY_CONNECTED", [(2, 3, 4), (5, 12), (5,)], "FullyConnectedOptions", {}, 1),
    "dense kept": ("FULLY_CONNECTED", [(2, 3, 4), (5, 4), (5,)], "FullyConnectedOptions", {"keep_num_dims": True}, 1),
    "products": ("BATCH_MATMUL", [(2, 1, 3, 4), (5, 6, 4)], "BatchMatMulOptions", {"adj_y": True}, 1),
    "products turned": ("BATCH_MATMUL", [(4, 3), (4, 6)], "BatchMatMulOptions", {"adj_x": True}, 1),
    "average": ("AVERAGE_POOL_2D", [(1, 9, 8, 3)], "Pool2DOptions", POOL, 1),
    "largest same": ("MAX_POOL_2D", [(1, 9, 8, 3)], "Pool2DOptions", {**POOL, "padding": "SAME"}, 1),
    "bilinear": ("RESIZE_BILINEAR", [(2, 9, 8, 3), ints(4, 5)], "ResizeBilinearOptions", {}, 1),
    "nearest": ("RESIZE_NEAREST_NEIGHBOR", [(2, 9, 8, 3), ints(4, 5)], "ResizeNearestNeighborOptions", {}, 1),
    "relu": ("RELU", [(2, 3)], "", {}, 1),
    "softmax": ("SOFTMAX", [(2, 3)], "SoftmaxOptions", {"beta": 1.0}, 1),
    "add": ("ADD", [(2, 1, 3), (4, 1)], "AddOptions", {}, 1),
    "mul": ("MUL", [(3,), (2, 1, 3)], "MulOptions", {}, 1),
    "add to a scalar": ("ADD", [(), (2, 3)], "AddOptions", {}, 1),
    "maximum": ("MAXIMUM", [(2, 1, 3), (4, 1)], "MaximumMinimumOptions", {}, 1),
    "prelu": ("PRELU", [(1, 4, 5, 3), (1, 1, 3)], "", {}, 1),
    "add n": ("ADD_N", [(2, 3), (2, 3), (2, 3)], "AddNOptions", {}, 1),
    "mean": ("MEAN", [(2, 3, 4), ints(-1, 1)], "ReducerOptions", {}, 1),
    "mean kept": ("MEAN", [(2, 3, 4), ints(2, -1)], "ReducerOptions", {"keep_dims": True}, 1),
    "sum": ("SUM", [(2, 3, 4), ints(0)], "ReducerOptions", {}, 1),
    "greatest": ("REDUCE_MAX", [(2, 3, 4), ints(0, 1, 2)], "ReducerOptions", {}, 1),
    "reshape": ("RESHAPE", [(2, 3, 4), ints(-1, 6)], "ReshapeOptions", {"new_shape": [1, 24]}, 1),
    "reshape by a matrix": ("RESHAPE", [(2, 3, 4), ints([4, 6])], "ReshapeOptions", {"new_shape": [-1, 12]}, 1),
    "reshape by an option": ("RESHAPE", [(2, 3, 4)], "ReshapeOptions", {"new_shape": [8, -1]}, 1),
    "reshape to a scalar": ("RESHAPE", [(1, 1)], "ReshapeOptions", {"new_shape": [0]}, 1),
    "squeeze": ("SQUEEZE", [(1, 3, 1, 4)], "SqueezeOptions", {}, 1),
    "squeeze an axis": ("SQUEEZE", [(1, 3, 1, 4)], "SqueezeOptions", {"squeeze_dims": [-2]}, 1),
    "expand": ("EXPAND_DIMS", [(2, 3), np.array(-1, np.int32)], "ExpandDimsOptions", {}, 1),
    "transpose": ("TRANSPOSE", [(2, 3, 4), ints(2, 0, 1)], "TransposeOptions", {}, 1),
    "slice": ("SLICE", [(5, 6), ints(1, 2), ints(2, -1)], "SliceOptions", {}, 1),
    "strided": ("STRIDED_SLICE", [(7, 6, 5), ints(-3, 5, 0), ints(9, 0, 3), ints(1, -2, 2)], "StridedSliceOptions",
                {"end_mask": 2}, 1),
    "strided by a mask": ("STRIDED_SLICE", [(7, 6, 5), ints(2, 5), ints(3, 0), ints(1, 1)], "StridedSliceOptions",
                          {"shrink_axis_mask": 1, "begin_mask": 2}, 1),
    "strided to nothing": ("STRIDED_SLICE", [(7, 6), ints(5, 0), ints(2, 6), ints(1, 4)], "StridedSliceOptions", {}, 1),
    "split": ("SPLIT", [np.array(-1, np.int32), (2, 6)], "SplitOptions", {"num_splits": 3}, 3),
    "split by sizes": ("SPLIT_V", [(2, 6), ints(1, -1, 2), np.array(1, np.int32)], "SplitVOptions",
                       {"num_splits": 3}, 3),
    "unpack": ("UNPACK", [(2, 3, 4)], "UnpackOptions", {"num": 3, "axis": -2}, 3),
    "pack": ("PACK", [(2, 3), (2, 3)], "PackOptions", {"values_count": 2, "axis": -1}, 1),
    "join": ("CONCATENATION", [(2, 3), (2, 5)], "ConcatenationOptions", {"axis": -1}, 1),
    "gather": ("GATHER", [(2, 3, 4), ints([0, 1, 1], [0, 2, 1])], "GatherOptions", {"axis": 1}, 1),
    "gather in batches": ("GATHER", [(2, 3, 4), ints([0, 1], [0, 2])], "GatherOptions",
                          {"axis": 1, "batch_dims": 1}, 1),
    "gather deep": ("GATHER_ND", [(2, 3, 4), ints([0, 1], [1, 2], [0, 0])], "GatherNdOptions", {}, 1),
    "look up": ("EMBEDDING_LOOKUP", [ints(1, 0, 1), np.ones((2, 5), np.float32)], "", {}, 1),
    "pad": ("PAD", [(2, 3), ints([1, 2], [0, 3])], "PadOptions", {}, 1),
    "mirror": ("MIRROR_PAD", [(4, 3), ints([1, 2], [0, 1])], "MirrorPadOptions", {"mode": "REFLECT"}, 1),
    "tile": ("TILE", [(2, 3), ints(3, 2)], "TileOptions", {}, 1),
    "broadcast": ("BROADCAST_TO", [(3, 1), ints(2, 3, 4)], "BroadcastToOptions", {}, 1),
    "depth to space": ("DEPTH_TO_SPACE", [(1, 2, 3, 8)], "DepthToSpaceOptions", {"block_size": 2}, 1),
    "space to depth": ("SPACE_TO_DEPTH", [(1, 4, 6, 3)], "SpaceToDepthOptions", {"block_size": 2}, 1),
    "space to batch": ("SPACE_TO_BATCH_ND", [(1, 3, 5, 2), ints(2, 3), ints([0, 1], [0, 1])],
                       "SpaceToBatchNDOptions", {}, 1),
    "batch to space": ("BATCH_TO_SPACE_ND", [(6, 2, 2, 3), ints(2, 3), ints([0, 1], [1, 0])],
                       "BatchToSpaceNDOptions", {}, 1),
    "reverse": ("REVERSE_V2", [(2, 3), ints(1)], "ReverseV2Options", {}, 1),
    "running sums": ("CUMSUM", [(2, 3), np.array(1, np.int32)], "CumsumOptions", {}, 1),
    "normed": ("L2_NORMALIZATION", [(2, 3)], "L2NormOptions", {}, 1),
    "updated": ("DYNAMIC_UPDATE_SLICE", [(4, 3), (2, 3), ints(1, 0)], "DynamicUpdateSliceOptions", {}, 1),
    "state": ("SVDF", [(2, 3), (8, 3), (8, 5), None, (2, 40)], "SVDFOptions", {"rank": 2}, 1),
}  # fmt: skip
"""An operator, its operands (sizes of real numbers, or a constant), its options and how many results it has."""


class View(NodeView):
    """What stands in a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def roles(self, node: Node) -> Roles:
        return operator_of(node).roles


def model_of(op: str, operands: list[Any], table: str, options: dict[str, Any], results: int) -> bytes:
    """A model of one operator whose results are stated to be of size 1; LiteRT's SLICE asks for its own."""
    tensors: list[dict[str, Any]] = []
    buffers: list[dict[str, Any]] = [{}]
    places = []
    for position, operand in enumerate(operands):
        places.append(-1 if operand is None else len(tensors))
        if isinstance(operand, np.ndarray):
            buffers.append({"data": [*operand.tobytes()]})
            kind = {"int32": "INT32", "float32": "FLOAT32"}[operand.dtype.name]
            tensors.append(
                {"name": f"c{position}", "shape": [*operand.shape], "type": kind, "buffer": len(buffers) - 1}
            )
        elif operand is not None:
            variable = op == "SVDF" and position == 4
            tensors.append({"name": f"x{position}", "shape": [*operand], "type": "FLOAT32", "is_variable": variable})
    count = len(tensors)
    free = [at for at, tensor in enumerate(tensors) if not tensor.get("buffer") and not tensor["is_variable"]]
    tensors += [
        {"name": f"y{at}", "shape": [2, 4] if op == "SLICE" else [1], "type": "FLOAT32"} for at in range(results)
    ]
    ends = [*range(count, count + results)]
    operator = {"opcode_index": 0, "inputs": places, "outputs": ends,
                "builtin_options": (table, options) if table else None}  # fmt: skip
    subgraph = {"tensors": tensors, "inputs": free, "outputs": ends, "operators": [operator]}
    codes = [operator_code(op, 2 if op == "BROADCAST_TO" else 1)]
    return write({"version": 3, "operator_codes": codes, "subgraphs": [subgraph], "buffers": buffers})


def sizes_of(data: bytes) -> tuple[tuple[int, ...], ...]:
    graph = load_tflite("m.tflite", data=data).graph
    return result_sizes(graph.nodes[0], View(graph))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_sizes_are_those_that_litert_computes(case: tuple[str, list[Any], str, dict[str, Any], int]) -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="needs the extra `tflite`")
    data = model_of(*case)
    interpreter = litert.Interpreter(
        model_content=data, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    assert sizes_of(data) == tuple(tuple(end["shape"].tolist()) for end in interpreter.get_output_details())


def test_each_described_operator_has_a_rule() -> None:
    assert {*TFLITE_OPERATORS} - {*RULES} == NOT_COMPUTED
    assert {*RULES} <= {*TFLITE_OPERATORS}


MISFITS = {
    "columns": ("FULLY_CONNECTED", [(2, 3), (5, 4), (5,)], "FullyConnectedOptions", {}, 1),
    "broadcast": ("ADD", [(2, 3), (2,)], "AddOptions", {}, 1),
    "elements": ("RESHAPE", [(2, 3), ints(4)], "ReshapeOptions", {}, 1),
    "window": ("MAX_POOL_2D", [(1, 1, 1, 1)], "Pool2DOptions", {**POOL, "stride_h": 1}, 1),
    "parts": ("SPLIT", [np.array(1, np.int32), (2, 5)], "SplitOptions", {"num_splits": 2}, 2),
    "places": ("SLICE", [(5, 6), ints(1, 2), ints(9, -1)], "SliceOptions", {}, 1),
    "blocks": ("SPACE_TO_BATCH_ND", [(1, 3, 5, 2), ints(2, 3), ints([0, 0], [0, 1])], "SpaceToBatchNDOptions", {}, 1),
    "spread": ("TRANSPOSE_CONV", [ints(1, 14, 7, 2), (2, 3, 2, 4), (1, 5, 6, 4)], "TransposeConvOptions", WINDOW, 1),
    "at run time": ("RESHAPE", [(2, 3), (2,)], "ReshapeOptions", {"new_shape": [2]}, 1),
}  # fmt: skip


@pytest.mark.parametrize("case", MISFITS.values(), ids=MISFITS)
def test_operands_that_do_not_fit_make_no_size(case: tuple[str, list[Any], str, dict[str, Any], int]) -> None:
    with pytest.raises(NotComputedError):
        sizes_of(model_of(*case))
