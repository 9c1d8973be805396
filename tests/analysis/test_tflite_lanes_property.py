"""What lanes of random int8 `.tflite` models are said to hold, against what LiteRT's reference kernels compute."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.model.axes import leaves
from support.draws import draws
from support.linter import analysed
from support.tflite_chains import Chain
from support.tflite_steps import dense_bias, random_chain

interpreter = pytest.importorskip("ai_edge_litert.interpreter", reason="needs the extra `tflite`")


def computed(data: bytes, feeds: int) -> list[dict[str, np.ndarray]]:
    """All tensors of some runs on random inputs, by name."""
    model = interpreter.Interpreter(
        model_content=data,
        experimental_op_resolver_type=interpreter.OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    model.allocate_tensors()
    (given_input,) = model.get_input_details()
    tensors, rng = [], np.random.default_rng(1)
    for _ in range(feeds):
        limits = np.iinfo(given_input["dtype"])
        feed = rng.integers(limits.min, limits.max + 1, given_input["shape"]).astype(given_input["dtype"])
        model.set_tensor(given_input["index"], feed)
        model.invoke()
        tensors.append({detail["name"]: model.get_tensor(detail["index"]) for detail in model.get_tensor_details()})
    return tensors


@given(st.integers(0, 2**31), st.integers(0, 6), st.booleans())
@settings(max_examples=draws(50), deadline=None)
def test_tensors_lie_in_their_intervals(seed: int, steps: int, wide: bool) -> None:
    data = random_chain(seed, steps, wide=wide)
    model = analysed(data, "a.tflite")
    view = model.lanes().view
    cases = [*computed(data, 3)]
    assert cases
    for run in cases:
        for node in model.graph.nodes:
            for name in node.outputs:
                known, held = view.known(name), run[name].astype(np.float64)
                assert known is not None
                low, high = np.broadcast_to(known.low, held.shape), np.broadcast_to(known.high, held.shape)
                outside = (held < low) | (held > high)
                assert not outside.any(), (
                    seed,
                    steps,
                    node.label,
                    held[outside][:4],
                    low[outside][:4],
                    high[outside][:4],
                )


@given(st.integers(0, 2**31), st.integers(0, 6))
@settings(max_examples=25, deadline=None)
def test_constant_lanes_never_change(seed: int, steps: int) -> None:
    data = random_chain(seed, steps)
    model = analysed(data, "a.tflite")
    lanes, runs = model.lanes(), computed(data, 4)
    assert model.dimensions.classes
    for group in model.dimensions.classes:
        for name, axis in group.members:
            shape = model.graph.shape(name)
            if name in model.graph.constants or shape is None or model.dimensions.class_of(name, axis) is not group:
                continue
            expected = lanes.constants_of(name, axis)
            for run in runs:
                lines = np.moveaxis(run[name], axis, 0).reshape(shape[axis], -1)
                for lane in np.flatnonzero(~np.isnan(expected)):
                    assert (lines[lane] == expected[lane]).all(), (seed, steps, name, axis, lane)


def test_lanes_of_a_bias_that_a_dense_layer_reads_as_data_stay() -> None:
    """Nothing reads the convolutions, so their lanes may go; those of the bias are needed all the same."""
    chain = Chain(0)
    start = data = chain.activation([1, 8, 8, 8])
    biases = []
    for _ in range(4):
        scales = chain.scales(8)
        weights = chain.constant(chain.weights([8, 3, 3, 8], 0, 3), scales)
        biases.append(chain.bias(data, scales))
        options = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
        inputs, output = [data, weights, biases[-1]], chain.activation([1, 8, 8, 8])
        data = chain.add("CONV_2D", inputs, output, ("Conv2DOptions", options))
    dense = [biases[1], chain.constant(chain.weights([10, 8], 0, 1), [0.01]), dense_bias(chain, data, 10)]
    end = chain.add("FULLY_CONNECTED", dense, chain.activation([1, 10]), ("FullyConnectedOptions", {}))
    model = analysed(chain.model([start], [end]), "a.tflite")
    (reader,) = (reader for node, reader in model.lanes().readers.items() if node == 4)
    (leaf,) = leaves(reader.axis)
    assert reader.read.any()
    assert list(model.lanes().classes[leaf].live) == list(range(8))
    assert not model.lanes().increments({other: [1] for other in model.lanes().classes if other != leaf})
