"""Plans applied to `.tflite` files: channels that do nothing go, channels of zeros come, and every tensor agrees."""

from __future__ import annotations

import random

import numpy as np
import pytest

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteTensor
from onnxlint_cmsis.formats.tflite.read import read_tflite
from support.goldens import Told
from support.nightly import one_of
from support.tflite_chains import Chain
from support.tflite_plans import case
from support.tflite_steps import as_converted, conv, flat_dense

FILE = "m.tflite"


@pytest.mark.parametrize("seed", one_of(4, range(8)))
def test_random_models_compute_the_same_with_fewer_and_more_channels(seed: int) -> None:
    resized = case(
        as_converted(seed), {leaf: random.Random((seed, leaf).__hash__()).randrange(3) for leaf in range(99)}
    )
    assert resized.plan.kept
    proof = resized.proof()
    assert (proof.equal, proof.runtime) == (True, "LiteRT"), proof.reason
    assert proof.inner > 3


def int8(shape: list[int], values: list[int]) -> np.ndarray:
    return np.array(values, np.int8).reshape(shape)


def two_layers() -> bytes:
    """A convolution with a channel that is always 5, read by one of 1x1 without padding."""
    chain = Chain(0)
    source = chain.activation([1, 3, 3, 2], 0.05, 0, name="x")
    weights = chain.constant(int8([3, 1, 1, 2], [1, 2, 0, 0, 3, 4]), [0.5, 0.25, 0.125], name="w")
    bias = chain.constant(np.array([1, 40, 1], np.int32), [0.025, 0.0125, 0.00625], name="b")
    options = ("Conv2DOptions", {"padding": "VALID", "stride_w": 1, "stride_h": 1})
    output = chain.activation([1, 3, 3, 3], 0.1, 0, name="c")
    first = chain.add("CONV_2D", [source, weights, bias], output, options)
    after = chain.constant(int8([2, 1, 1, 3], [1, 2, 3, 4, 5, 6]), [0.5, 0.25], name="v")
    added = chain.constant(np.array([7, 8], np.int32), [0.05, 0.025], name="a")
    last = chain.add("CONV_2D", [first, after, added], chain.activation([1, 3, 3, 2], 0.1, 0, name="y"), options)
    return chain.model([source], [last])


def tensors(data: bytes) -> tuple[TfliteModel, dict[str, TfliteTensor]]:
    model = read_tflite(FILE, data)
    return model, {tensor.name: tensor for tensor in model.subgraphs[0].tensors}


def test_a_constant_channel_goes_into_the_next_bias() -> None:
    resized = case(two_layers())
    model, named = tensors(resized.new)
    assert (named["w"].shape, named["v"].shape, named["c"].shape) == ((2, 1, 1, 2), (2, 1, 1, 2), (1, 3, 3, 2))
    assert named["w"].quantization is not None
    assert named["w"].quantization.scales == (0.5, 0.125)
    assert [model.bytes_of(named[name].buffer) for name in "wv"] == [bytes([1, 2, 3, 4]), bytes([1, 3, 4, 6])]
    assert model.bytes_of(named["a"].buffer) == (7 + 2 * 5).to_bytes(4, "little") + (8 + 5 * 5).to_bytes(4, "little")
    assert resized.proof().equal


def test_biases_of_older_converters_keep_their_axis_and_get_their_scales() -> None:
    """They name axis 3 for a vector."""
    chain = Chain(0)
    source = chain.activation([1, 3, 3, 2], 0.05, 0)
    last = flat_dense(chain, conv(chain, source))
    bias = chain.tensors[chain.operators[0]["inputs"][2]]
    bias["quantization"]["quantized_dimension"] = 3
    resized = case(chain.model([source], [last]), dict.fromkeys(range(9), 2))
    stored = tensors(resized.new)[1][bias["name"]]
    assert stored.quantization is not None
    assert (len(stored.quantization.scales), stored.quantization.axis) == (stored.shape[0], 3)
    assert resized.proof().equal


def test_scales_along_no_axis_are_left_alone(told: Told) -> None:
    chain = Chain(0)
    source = chain.activation([1, 3, 3, 2], 0.05, 0)
    last = flat_dense(chain, conv(chain, source))
    chain.tensors[chain.operators[0]["inputs"][1]]["quantization"]["quantized_dimension"] = 7
    resized = case(chain.model([source], [last]), dict.fromkeys(range(9), 2))
    assert resized.plan.kept == {}
    locks = [str(lock) for group in resized.dimensions.classes for lock in group.locks]
    told(sorted(lock for lock in locks if "axis 7" in lock))


def dense() -> bytes:
    """Two fully connected layers; the first makes 5 of everything in one place, the second has no bias."""
    chain = Chain(0)
    source = chain.activation([1, 2], 0.05, 0)
    weights = chain.constant(int8([3, 2], [1, 2, 0, 0, 3, 4]), [0.5])
    bias = chain.constant(np.array([1, 20, 1], np.int32), [0.025])
    options = ("FullyConnectedOptions", {})
    first = chain.add("FULLY_CONNECTED", [source, weights, bias], chain.activation([1, 3], 0.1, 0), options)
    after = chain.constant(int8([2, 3], [1, 2, 3, 4, 5, 6]), [0.5], name="v")
    last = chain.add("FULLY_CONNECTED", [first, after, -1], chain.activation([1, 2], 0.1, 0), options)
    return chain.model([source], [last])


def test_a_layer_without_a_bias_gets_one_in_the_unit_of_its_sum() -> None:
    resized = case(dense())
    model, named = tensors(resized.new)
    bias = named["v_bias"]
    assert model.subgraphs[0].operators[1].inputs[2] == len(model.subgraphs[0].tensors) - 1
    assert (bias.elem_type, bias.shape) == ("INT32", (2,))
    assert bias.quantization is not None
    assert bias.quantization.scales == pytest.approx((0.05,))
    assert model.bytes_of(bias.buffer) == (10).to_bytes(4, "little") + (25).to_bytes(4, "little")
    assert resized.proof().equal


def test_a_reshape_states_its_new_sizes_twice() -> None:
    """The sizes are an input, and converters repeat them in the options."""
    chain = Chain(3)
    source = chain.activation([1, 2, 2, 3], 0.05, 0)
    last = flat_dense(chain, conv(chain, source))
    resized = case(chain.model([source], [last]), dict.fromkeys(range(9), 2))
    model, named = tensors(resized.new)
    reshape = next(operator for operator in model.subgraphs[0].operators if operator.op == "RESHAPE")
    sizes, row = (chain.tensors[index]["name"] for index in (reshape.inputs[1], reshape.outputs[0]))
    size = named[row].shape[1]
    assert size != resized.graph.shape(row)[1]  # type: ignore[index]
    stated = model.bytes_of(named[sizes].buffer)
    assert stated[4:] in (size.to_bytes(4, "little"), (-1).to_bytes(4, "little", signed=True))
    assert reshape.options["new_shape"] in ((1, size), (-1, size))
    assert resized.proof().equal


def other_types(data: str, weights: str) -> bytes:
    """Three convolutions; the second has two channels that do nothing, the third sums over all."""
    chain = Chain(4)
    kind, width = ("INT64", 8) if data == "INT16" else ("INT32", 4)

    def constant(name: str, shape: list[int], kind: str, values: list[int], scales: list[float]) -> int:
        if kind == "INT4":
            halves = [value & 15 for value in [*values, 0][: len(values) + len(values) % 2]]
            raw = bytes(low | high << 4 for low, high in zip(halves[::2], halves[1::2], strict=True))
        else:
            raw = b"".join(value.to_bytes(1 if kind == "INT8" else width, "little", signed=True) for value in values)
        chain.buffers.append({"data": list(raw)})
        quantization = {"scale": scales, "zero_point": [0] * len(scales), "quantized_dimension": 0}
        described = {"name": name, "shape": shape, "type": kind, "buffer": len(chain.buffers) - 1}
        chain.tensors.append({**described, "quantization": quantization})
        return len(chain.tensors) - 1

    last = source = chain.activation([1, 3, 3, 3], 0.05, 0)
    for number, (count, dead) in enumerate(((5, ()), (5, (1, 3)), (3, ()))):
        channels = chain.shape(last)[3]
        values = [
            0 if index // channels in dead else int(chain.rng.integers(-8, 8)) for index in range(count * channels)
        ]
        scales = [0.01 * (1 + index) for index in range(count)]
        stored = constant(f"w{number}", [count, 1, 1, channels], weights, values, scales)
        biases = [0 if index in dead else int(chain.rng.integers(-99, 99)) for index in range(count)]
        added = constant(f"b{number}", [count], kind, biases, [0.05 * scale for scale in scales])
        options = {"padding": "VALID", "stride_w": 1, "stride_h": 1, "fused_activation_function": "RELU"}
        output = chain.activation([1, 3, 3, count], 0.05, 0)
        last = chain.add("CONV_2D", [last, stored, added], output, ("Conv2DOptions", options))
    for tensor in chain.tensors:
        tensor["type"] = data if not tensor["buffer"] else tensor["type"]
    return chain.model([source], [last])


@pytest.mark.parametrize(("data", "weights"), [("INT16", "INT8"), ("INT8", "INT4")])
def test_other_types_are_resized_too(data: str, weights: str) -> None:
    resized = case(other_types(data, weights), dict.fromkeys(range(9), 0) | {1: 2})
    named = tensors(resized.new)[1]
    assert (named["w1"].shape, named["w2"].shape[3]) == ((3, 1, 1, 7), 3)
    proof = resized.proof()
    assert proof.equal, proof.reason
    assert proof.inner == 2
