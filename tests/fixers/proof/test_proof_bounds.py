"""How far two models can be apart, held against ONNX Runtime: layers in a chain, one quantization of which changes."""

from __future__ import annotations

import numpy as np
import onnx
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.fixers.proof.bounds import Side, most_apart
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from support import linter
from support.draws import draws

STEPS = {
    "conv": "b{n} = Conv<pads = [1, 1, 1, 1]>(a{n}, w{n}, v{n})",
    "transposed": "b{n} = ConvTranspose(a{n}, u{n})",
    "pool": "b{n} = AveragePool<kernel_shape = [2, 2], pads = [1, 1, 0, 0]>(a{n})",
    "largest": "b{n} = MaxPool<kernel_shape = [2, 2], pads = [1, 1, 0, 0]>(a{n})",
    "relu": "b{n} = Relu(a{n})",
    "sigmoid": "b{n} = Sigmoid(a{n})",
    "tanh": "b{n} = Tanh(a{n})",
    "swish": "b{n} = HardSwish(a{n})",
    "softmax": "b{n} = Softmax<axis = 1>(a{n})",
    "sum": "b{n} = Add(a{n}, a0)",
    "difference": "b{n} = Sub(a{n}, a{n})",
    "most": "b{n} = Max(a{n}, a0)",
    "product": "b{n} = MatMul(a{n}, m{n})",
    "turned": "b{n} = Transpose<perm = [0, 1, 3, 2]>(a{n})",
    "mean": "b{n} = ReduceMean<axes = [1], keepdims = 0>(a{n})",
}
"""Operators that keep a plane of 4 x 4 with 2 channels, but for the mean, which may only come last."""
WEIGHTS = {"w": (2, 2, 3, 3), "u": (2, 2, 1, 1), "m": (4, 4), "v": (2,)}


def chain(steps: list[str], numbers: list[tuple[float, int]], seed: int) -> onnx.ModelProto:
    """A chain of layers with a QuantizeLinear and a DequantizeLinear behind each."""
    random, constants, lines = np.random.default_rng(seed), [], []
    for n, (scale, zero) in enumerate(numbers):
        constants += [onnx.numpy_helper.from_array(np.array(scale, np.float32), f"s{n}")]
        constants += [onnx.numpy_helper.from_array(np.array(zero, np.int8), f"z{n}")]
        lines += [f"q{n} = QuantizeLinear({'x' if not n else f'b{n - 1}'}, s{n}, z{n})"]
        lines += [f"{'y' if n == len(steps) else f'a{n}'} = DequantizeLinear(q{n}, s{n}, z{n})"]
        if n < len(steps):
            lines.append(STEPS[steps[n]].format(n=n))
            for name, shape in WEIGHTS.items():
                if f"{name}{n}" in lines[-1]:
                    values = random.normal(0, 0.4, shape).astype(np.float32)
                    constants.append(onnx.numpy_helper.from_array(values, f"{name}{n}"))
    body = "\n".join(lines)
    source = f'<ir_version: 8, opset_import: ["" : 17]> g (float[1, 2, 4, 4] x) => (float y) {{ {body} }}'
    model = onnx.parser.parse_model(source)
    model.graph.initializer.extend(constants)
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
    return model


quantizations = st.tuples(st.sampled_from([0.01, 0.02, 0.05, 0.1, 0.4]), st.sampled_from([-128, -20, 0, 5, 60]))
moving = st.lists(st.sampled_from([name for name in STEPS if name != "mean"]), min_size=1, max_size=4)


@settings(max_examples=draws(150), deadline=None)
@given(st.data(), st.integers(0, 1000))
def test_no_tensor_is_further_apart_than_its_bound(data: st.DataObject, seed: int) -> None:
    steps = data.draw(moving) + data.draw(st.sampled_from([[], ["mean"]]))
    numbers = [data.draw(quantizations) for _ in range(len(steps) + 1)]
    changed = [*numbers]
    position = data.draw(st.integers(0, len(steps)))
    changed[position] = data.draw(quantizations)
    models = [chain(steps, given_numbers, seed) for given_numbers in (numbers, changed)]
    sides = [linter.analysed(model) for model in models]
    bounds = most_apart(*(Side(side.graph, side.read) for side in sides))
    reals = [name for name in bounds if name[0] in "aby"]
    assert {"a0", "y"} <= {*reals}
    sessions = []
    for model in models:
        model.graph.output.extend(onnx.helper.make_tensor_value_info(name, 1, None) for name in reals if name != "y")
        sessions.append(RuntimeSession(model.SerializeToString(), Optimization.NONE))
    names = [output.name for output in models[0].graph.output]
    random = np.random.default_rng(seed)
    for most in (0.3, 3, 30, 300):
        feed = {"x": random.uniform(-most, most, (1, 2, 4, 4)).astype(np.float32)}
        for name, old, new in zip(names, *(session.run(feed) for session in sessions), strict=True):
            allowed = bounds[name] * (1 + 1e-4) + 1e-4 * float(np.abs(old).max(initial=0))
            assert np.abs(old.astype(np.float64) - new).max() <= allowed, (name, steps, numbers, changed)
