"""Dimension classes of `.tflite` graphs: layouts, groups, multipliers, scales, locks with their reasons."""

from __future__ import annotations

import numpy as np
import pytest

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.analysis.constants import Constants, Fill, FillKind, fill
from onnxlint_cmsis.formats.derived_values import derived_values
from onnxlint_cmsis.formats.tflite.to_graph import load_tflite
from onnxlint_cmsis.ground.types import Freedom
from support import paths
from support.linter import analysed
from support.tflite_chains import Chain
from support.tflite_models import one_operator, tensor
from support.tflite_steps import concat, conv, depthwise, flat_dense, mean_and_dense, residual
from support.tflite_writer import write


def graph_of(chain, start, end):
    """A chain's graph."""
    return load_tflite("a.tflite", data=chain.model([start], [end])).graph


def chained(*steps, seed=3):
    """The graph of some steps behind each other, and what each made."""
    chain = Chain(seed)
    tensors = [chain.activation([1, 6, 6, 4])]
    for step in steps:
        tensors.append(step(chain, tensors[-1]))
    return graph_of(chain, tensors[0], tensors[-1]), [f"t{number}" for number in tensors]


def test_weights_of_a_convolution_decide_its_rows_and_read_its_columns():
    graph, tensors = chained(conv, conv, flat_dense)
    dims = analyse(graph)
    first = dims.class_of(tensors[1], 3)
    assert first is not None
    assert first is dims.class_of(graph.nodes[0].inputs[1], 0)
    assert first is dims.class_of(graph.nodes[1].inputs[1], 3)
    assert [decider.label for decider in first.deciders] == ["CONV_2D#0"]
    assert [reader.label for reader in first.readers] == ["CONV_2D#1"]
    assert first.freedom is Freedom.FREE
    bias = dims.input_axes(0, 2)
    assert bias is not None
    assert bias[0].leaf == first.id


def test_a_depthwise_layer_moves_with_the_layer_in_front():
    chain = Chain(0)
    chain.pick = lambda choices: choices[0]  # a multiplier of 1
    start = chain.activation([1, 6, 6, 4])
    end = mean_and_dense(chain, depthwise(chain, conv(chain, start)))
    group = analyse(graph_of(chain, start, end)).class_of("t4", 3)
    assert group is not None
    assert group.freedom is Freedom.COUPLED
    assert [decider.op_type for decider in group.deciders] == ["CONV_2D", "DEPTHWISE_CONV_2D"]


def test_a_multiplier_is_a_class_and_an_option_names_it():
    chain = Chain(0)
    chain.pick = lambda choices: choices[-1]  # a multiplier of 2
    start = chain.activation([1, 6, 6, 4])
    end = mean_and_dense(chain, depthwise(chain, conv(chain, start)))
    dims = analyse(graph_of(chain, start, end))
    group = dims.multiplier_class(1)
    assert group is not None
    assert (group.size, group.freedom) == (2, Freedom.FREE)
    (naming,) = [size_name for size_name in dims.size_names if size_name.attribute == "depth_multiplier"]
    assert naming.parts[0].leaf == group.id


def test_an_addition_couples_and_a_concatenation_joins():
    graph, tensors = chained(conv, residual, concat, mean_and_dense)
    dims = analyse(graph)
    group = dims.class_of(tensors[1], 3)
    assert group is dims.class_of(tensors[2], 3)
    assert group is not None
    assert group.freedom is Freedom.COUPLED
    assert dims.axis(tensors[3], 3).parts == (dims.axis(tensors[1], 3),) * 2


def test_a_reshape_to_a_row_keeps_the_channels_apart():
    graph, tensors = chained(conv, flat_dense)
    dims = analyse(graph)
    group = dims.class_of(tensors[1], 3)
    (row,) = [node for node in graph.nodes if node.op_type == "RESHAPE"]
    assert group is not None
    assert group.freedom is Freedom.FREE
    assert group.id in dims.leaves(row.outputs[0], 1)
    names = {(naming.position, naming.attribute) for naming in dims.size_names if naming.node == row.index}
    assert names == {(1, ""), (-1, "new_shape")}


def lock_of(op, shapes, options=None, axis=-1):
    """Reasons why the last axis of one operator's first input may not change."""
    tensors = [tensor(f"x{index}", shape) for index, shape in enumerate(shapes)]
    graph = load_tflite("a.tflite", data=write(one_operator(op, tensors, options))).graph
    dims = analyse(graph)
    return [lock.reason for lock in dims.locks("x0", axis) if not lock.reason.startswith("graph ")]


@pytest.mark.parametrize(
    ("op", "shapes", "reason"),
    [
        ("SOFTMAX", [[1, 8], [1, 8]], "SOFTMAX mixes this axis"),
        ("SVDF", [[1, 8], [1, 8]], "SVDF keeps its gates and state along this axis"),
        ("GATHER_ND", [[4, 8], [1, 8]], "axes of GATHER_ND are not followed: it takes elements from places"),
        ("HASHTABLE_FIND", [[1, 8], [1, 8]], "operator HASHTABLE_FIND of domain tflite is not known"),
        ("MEAN", [[1, 4, 4, 8], [2], [1, 8]], "the axes to reduce are computed at run time"),
        ("UNPACK", [[1, 8], [8]], "UNPACK counts its outputs along this axis"),
    ],
)
def test_what_locks_says_why_with_its_name(op, shapes, reason):
    axis = 0 if op == "UNPACK" else -1
    assert any(lock.startswith(reason) for lock in lock_of(op, shapes, axis=axis))


def test_scales_that_do_not_lie_along_an_axis_lock_the_tensor(told):
    chain = Chain(1)
    start = chain.activation([1, 4, 4, 4])
    end = flat_dense(chain, conv(chain, start))
    weights = next(tensor for tensor in chain.tensors if tensor["buffer"] and len(tensor["shape"]) == 4)
    weights["quantization"]["quantized_dimension"] = 1
    dims = analyse(graph_of(chain, start, end))
    told(lock.reason for lock in dims.locks(weights["name"], 0))


def test_scales_of_a_vector_lie_along_it_whatever_axis_the_file_names():
    chain = Chain(1)
    start = chain.activation([1, 4, 4, 4])
    end = flat_dense(chain, conv(chain, start))
    bias = next(tensor for tensor in chain.tensors if tensor["type"] == "INT32" and tensor["quantization"])
    bias["quantization"]["quantized_dimension"] = 3
    graph = graph_of(chain, start, end)
    assert graph.quantization[bias["name"]].axis == 0


def test_a_variable_tensor_is_locked():
    chain = Chain(1)
    start = chain.activation([1, 4])
    kept = chain.tensor([1, 4], scale=[0.1], zero=[0], buffer=0, is_variable=True)
    end = chain.add("ADD", [start, kept], chain.activation([1, 4]), ("AddOptions", {}))
    graph = graph_of(chain, start, end)
    assert graph.variables == {f"t{kept}"}
    assert any("keeps its values" in lock.reason for lock in analyse(graph).locks(f"t{kept}", 1))


def test_new_elements_are_what_the_quantization_makes_of_zero():
    chain = Chain(1)
    start = chain.activation([1, 4, 4, 4])
    output = conv(chain, start)
    held = chain.constant(np.array([3] * chain.shape(output)[3], np.int8), [0.1], [-7])
    summed = chain.add("ADD", [output, held], chain.activation(chain.shape(output)), ("AddOptions", {}))
    graph = graph_of(chain, start, flat_dense(chain, summed))
    constants = Constants(graph, derived_values(graph))
    assert fill(constants, graph.nodes[1], 1) == Fill(FillKind.NUMBER, -7)
    assert fill(constants, graph.nodes[0], 1) == Fill(FillKind.NUMBER, 0)
    assert fill(constants, graph.nodes[0], 2) == Fill(FillKind.NUMBER, 0)


MODEL = paths.SHARED / "models" / "tflite" / "vww_96_int8.tflite"


@pytest.mark.skipif(not MODEL.exists(), reason="needs the third-party models in a folder `shared` beside the project")
def test_the_visual_wake_words_reference_has_dead_channels():
    model = analysed(MODEL)
    lanes = model.lanes().classes
    live = [(group.size, len(lanes[group.id].live)) for group in model.dimensions.classes]
    assert live == [
        *((3, 3), (8, 8), (16, 16), (32, 32), (32, 32), (64, 64), (64, 60), (128, 106), (128, 57), (128, 30)),
        *((128, 19), (128, 17), (128, 27), (256, 31), (256, 22), (2, 2)),
    ]
