"""The proof that new lanes stay finite: random models with operators that are not defined everywhere, padded."""

from __future__ import annotations

import os
import random

import numpy as np
import onnx
import onnxruntime
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.planning.lane_plan import Plan
from onnxlint_cmsis.rewrite.refusals import refused
from onnxlint_cmsis.rewrite.resize import apply
from onnxlint_cmsis.types import Freedom
from support.dims_graphs import Builder
from support.fix_graphs import case

EXAMPLES = int(os.environ.get("ONNXLINT_EXAMPLES", "400"))
Tensor = tuple[str, int, int]
"""Name, channels, and height and width."""


class RiskyModel:
    """Draws layers with operators between them that turn some numbers into NaN or infinity.

    Numbers for each channel often keep the channels there are inside what an operator is defined on, so that only new
    ones could leave it.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.build = Builder(opset=17, seed=self.random.randrange(10**6))
        self.tensors: list[Tensor] = [(self.build.input("x", 1, 3, 4, 4), 3, 4)]
        self.layer()
        for _ in range(self.random.randint(2, 9)):
            getattr(self, self.random.choice(STEPS))()
        self.outputs = [self.close(self.tensors[-1]), self.close(self.random.choice(self.tensors[1:]))]

    def model(self) -> onnx.ModelProto:
        return self.build.model(*self.outputs)

    def pick(self) -> Tensor:
        return self.tensors[-1] if self.random.random() < 0.7 else self.random.choice(self.tensors)

    def add(self, name: str, like: Tensor) -> Tensor:
        self.tensors.append((name, *like[1:]))
        return self.tensors[-1]

    def numbers(self, channels: int, low: float, high: float) -> str:
        """Constants for each channel, or one for all, stored or computed."""
        shape = self.random.choice([(channels, 1, 1), (1, channels, 1, 1), (channels, 1, 1), ()])
        made = self.build.const(self.build.random.uniform(low, high, shape), np.float32)
        return self.build.op("Abs", made) if low > 0 and self.random.random() < 0.2 else made

    def close(self, chosen: Tensor) -> str:
        return self.build.conv(chosen[0], chosen[1], 2, kernel=self.random.choice([1, min(3, chosen[2])]))

    # layers

    def layer(self) -> None:
        name, channels, size = self.pick()
        rows, form = self.random.randint(1, 5), self.random.randrange(5)
        if form == 0 and channels > 1:
            made, rows = self.build.conv(name, 1, channels, group=channels), channels
        elif form == 1:
            made = self.build.op("ConvTranspose", name, self.build.weights(channels, rows, 1, 1))
        elif form == 2:
            weights = self.build.const(self.build.random.integers(-9, 9, (rows, channels, 1, 1)), np.int8)
            scale, zero = self.build.const(np.full(rows, 0.1), np.float32), self.build.const(np.zeros(rows), np.int8)
            made = self.build.op("Conv", name, self.build.op("DequantizeLinear", weights, scale, zero, axis=0))
        else:
            made = self.build.conv(name, channels, rows)
        self.tensors.append((made, rows, size))

    def quantized_layer(self) -> None:
        name, channels, size = self.pick()
        rows, points = self.random.randint(1, 5), [self.random.randint(-9, 9) for _ in range(2)]
        scales = [self.build.const(self.random.uniform(0.02, 0.3), np.float32) for _ in range(3)]
        zeros = [self.build.const(value, np.int8) for value in (*points, 0)]
        data = self.build.op("QuantizeLinear", name, scales[0], zeros[0])
        weights = self.build.const(self.build.random.integers(-9, 9, (rows, channels, 1, 1)), np.int8)
        made = self.build.op(
            "QLinearConv", data, scales[0], zeros[0], weights, scales[1], zeros[2], scales[2], zeros[1]
        )
        self.tensors.append((self.build.op("DequantizeLinear", made, scales[2], zeros[1]), rows, size))

    def normalize(self) -> None:
        chosen = self.pick()
        numbers = [self.build.const(self.build.random.uniform(0.5, 1, chosen[1]), np.float32) for _ in range(4)]
        operator = self.random.choice(["BatchNormalization", "BatchNormalization", "InstanceNormalization"])
        self.add(self.build.op(operator, chosen[0], *numbers[: 4 if operator[0] == "B" else 2]), chosen)

    # element by element

    def curve(self) -> None:
        chosen = self.pick()
        self.add(self.build.op(self.random.choice(PLAIN), chosen[0]), chosen)

    def risky(self) -> None:
        chosen = self.pick()
        self.add(self.build.op(self.random.choice(RISKY), chosen[0]), chosen)

    def guarded(self) -> None:
        """What the channels there are hold is inside what the operator is defined on."""
        chosen = self.pick()
        operator = self.random.choice(RISKY)
        if operator in ("Acos", "Asin", "Atanh"):
            bound = self.build.op("Tanh", chosen[0])
            bound = self.build.op("Mul", bound, self.numbers(chosen[1], 0.1, 0.9))
        else:
            bound = self.build.op(self.random.choice(["Sigmoid", "Abs", "Relu"]), chosen[0])
            bound = self.build.op("Add", bound, self.numbers(chosen[1], 1, 2))
        self.add(self.build.op(operator, self.add(bound, chosen)[0]), chosen)

    def scalar(self) -> None:
        chosen = self.pick()
        operands = [chosen[0], self.numbers(chosen[1], *self.random.choice([(0.5, 2), (-2, 2), (1, 1)]))]
        if self.random.random() < 0.3:
            operands.reverse()
        self.add(self.build.op(self.random.choice(PAIRS), *operands), chosen)

    def power(self) -> None:
        chosen = self.pick()
        base = self.build.op("Abs", chosen[0]) if self.random.random() < 0.5 else chosen[0]
        exponent = self.build.const(self.random.choice([2, 0.5, 3, -1, 0, -0.5, 1.5]), np.float32)
        if self.random.random() < 0.3:
            exponent = self.numbers(chosen[1], 0.5, 2)
        self.add(self.build.op("Pow", base, exponent), chosen)

    def pair(self) -> None:
        chosen = self.pick()
        other = self.random.choice([one for one in self.tensors if one[1:] == chosen[1:]])
        self.add(self.build.op(self.random.choice([*PAIRS, "Sum", "PRelu", "Mean"]), chosen[0], other[0]), chosen)

    def plane(self) -> None:
        """A map over the plane for every channel."""
        chosen = self.pick()
        made = self.build.op("ReduceMax", chosen[0], axes=[1]) if self.random.random() < 0.5 else None
        made = made or self.build.weights(chosen[2], chosen[2])
        self.add(self.build.op(self.random.choice(PAIRS), chosen[0], made), chosen)

    def choose(self) -> None:
        chosen = self.pick()
        test = self.build.op("Greater", chosen[0], self.numbers(chosen[1], -1, 1))
        self.add(self.build.op("Where", test, chosen[0], self.numbers(chosen[1], 0.5, 2)), chosen)

    def clip(self) -> None:
        chosen = self.pick()
        limits = [self.build.const(value, np.float32) for value in (self.random.choice([-1, 0, 0.1, 1]), 3)]
        self.add(self.build.op("Clip", chosen[0], *limits), chosen)

    def whole(self) -> None:
        chosen = self.pick()
        made = self.build.op("Cast", chosen[0], to=self.random.choice([TensorProto.FLOAT16, TensorProto.INT32]))
        self.add(self.build.op("Cast", made, to=TensorProto.FLOAT), chosen)

    def requantize(self) -> None:
        chosen = self.pick()
        scale = self.build.const(self.random.uniform(0.02, 0.3), np.float32)
        zero = self.build.const(self.random.randint(-128, 127), np.int8)
        made = self.build.op("QuantizeLinear", chosen[0], scale, zero)
        self.add(self.build.op("DequantizeLinear", made, scale, zero), chosen)

    def half(self) -> None:
        """An operator in 16 bits."""
        chosen = self.pick()
        made = self.build.op("Cast", chosen[0], to=TensorProto.FLOAT16)
        number = self.build.const(self.random.choice([0.001, 0.5, 3, 300, 60000]), np.float16)
        made = self.build.op(self.random.choice(PAIRS), made, number)
        made = self.build.op(self.random.choice(["Exp", "Reciprocal", "Sqrt", "Relu"]), made)
        self.add(self.build.op("Cast", made, to=TensorProto.FLOAT), chosen)

    def integer_operators(self) -> None:
        """Operators on quantized values."""
        chosen = self.pick()
        first, second, result = (self.scale_and_zero() for _ in range(3))
        data = self.build.op("QuantizeLinear", chosen[0], *first)
        operator = self.random.choice(QUANTIZED)
        inputs = [data, *first, *result]
        if operator in ("QLinearAdd", "QLinearMul"):
            other = self.random.choice([one for one in self.tensors if one[1:] == chosen[1:]])
            inputs[3:3] = [self.build.op("QuantizeLinear", other[0], *second), *second]
        if operator == "QLinearConcat":
            inputs = [*result, data, *first]
        attributes = {"QLinearConcat": {"axis": 1}, "QLinearAveragePool": {"kernel_shape": [1, 1]}}.get(operator, {})
        made = self.build.op(operator, *inputs, domain="com.microsoft", **attributes)
        self.add(self.build.op("DequantizeLinear", made, *result), chosen)

    def scale_and_zero(self) -> tuple[str, str]:
        zero = self.build.const(self.random.randint(0, 255), np.uint8)
        return self.build.const(self.random.uniform(0.02, 0.3), np.float32), zero

    # shapes

    def dense(self) -> None:
        """Means of the channels, a product, and back."""
        name, channels, _ = self.pick()
        rows = self.random.randint(1, 5)
        flat = self.build.op("Flatten", self.build.op("GlobalAveragePool", name))
        if self.random.random() < 0.5:
            made = self.build.op("Gemm", flat, self.build.weights(channels, rows), self.build.weights(rows))
        else:
            made = self.build.op("MatMul", flat, self.build.weights(channels, rows))
        self.tensors.append((self.build.op("Reshape", made, self.build.ints(1, rows, 1, 1)), rows, 1))

    def product_over_the_plane(self) -> None:
        """Channels are the rows of a matrix."""
        name, channels, size = self.pick()
        made = self.build.op("MatMul", name, self.build.weights(size, size))
        self.tensors.append((made, channels, size))

    def join(self) -> None:
        chosen = self.pick()
        other = self.random.choice([one for one in self.tensors if one[2] == chosen[2]])
        if chosen[1] + other[1] < 20:
            made = self.build.op("Concat", chosen[0], other[0], axis=1)
            self.tensors.append((made, chosen[1] + other[1], chosen[2]))

    def split(self) -> None:
        name, channels, size = self.pick()
        if channels % 2 == 0:
            self.tensors += [(one, channels // 2, size) for one in self.build.op("Split", name, out=2, axis=1)]

    def pool(self) -> None:
        name, channels, size = self.pick()
        operator = self.random.choice(["MaxPool", "AveragePool", "LpPool"])
        pads = [self.random.randint(0, 1)] * 4
        include = {"count_include_pad": 1} if operator == "AveragePool" and self.random.random() < 0.5 else {}
        if size >= 2:
            made = self.build.op(operator, name, kernel_shape=[2, 2], pads=pads, **include)
            self.tensors.append((made, channels, size - 1 + 2 * pads[0]))

    def pad(self) -> None:
        name, channels, size = self.pick()
        mode = self.random.choice(["constant", "edge"])
        made = self.build.op("Pad", name, self.build.ints(0, 0, 1, 1, 0, 0, 0, 0), mode=mode)
        self.tensors.append((made, channels, size + 1))

    def resize(self) -> None:
        name, channels, size = self.pick()
        scales = self.build.const([1, 1, 2, 2], np.float32)
        mode = self.random.choice(["nearest", "linear", "cubic"])
        if size <= 4:
            self.tensors.append((self.build.op("Resize", name, "", scales, mode=mode), channels, size * 2))

    def reduce(self) -> None:
        chosen = self.pick()
        operator = self.random.choice(REDUCTIONS)
        if operator == "ReduceSum":
            made = self.build.op(operator, chosen[0], self.build.ints(2, 3))
        else:
            made = self.build.op(operator, chosen[0], axes=[2, 3])
        self.add(self.build.op(self.random.choice(PAIRS), chosen[0], made), chosen)

    def mix_the_plane(self) -> None:
        chosen = self.pick()
        self.add(self.build.op(self.random.choice(["Softmax", "LogSoftmax", "LpNormalization"]), chosen[0]), chosen)

    def mean_variance(self) -> None:
        chosen = self.pick()
        self.add(self.build.op("MeanVarianceNormalization", chosen[0]), chosen)

    def swap(self) -> None:
        """Channels last and back, with a curve there."""
        chosen = self.pick()
        last = self.build.op("Transpose", chosen[0], perm=[0, 2, 3, 1])
        bent = self.build.op(self.random.choice([*RISKY, "Relu"]), last)
        self.add(self.build.op("Transpose", bent, perm=[0, 3, 1, 2]), chosen)


PLAIN = (
    *("Abs", "Asinh", "Atan", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "Identity"),
    *("LeakyRelu", "Neg", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus"),
    *("Softsign", "Tan", "Tanh", "ThresholdedRelu"),
)
RISKY = ("Acos", "Acosh", "Asin", "Atanh", "Cosh", "Exp", "Log", "Reciprocal", "Sinh", "Sqrt")
LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "QuantizeLinear")
QUANTIZED = ("QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearLeakyRelu", "QLinearMul", "QLinearSigmoid")
PAIRS = ("Add", "Div", "Max", "Min", "Mul", "Sub")
REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceProd", "ReduceSum"),
)
OWN = ("model", "pick", "add", "numbers", "close", "scale_and_zero")
STEPS = [name for name, value in vars(RiskyModel).items() if callable(value) and name[0] != "_" and name not in OWN]
STEPS += ["guarded", "scalar", "risky", "curve"] * 3


def outputs(model: onnx.ModelProto, feed: np.ndarray, level: str) -> list[np.ndarray]:
    """Outputs in ONNX Runtime at a level of optimization."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": feed})


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**64 - 1), st.integers(1, 3))
def test_new_lanes_leave_every_finite_output_as_it_was(seed: int, more: int) -> None:
    one = case(RiskyModel(seed).model())
    fixed = refused(one.graph, one.dimensions)
    free = [cls for cls in one.dimensions.classes if cls.freedom is not Freedom.LOCKED and cls.id not in fixed]
    plan = Plan({cls.id: (*range(cls.size), *[None] * more) for cls in free})
    try:
        changed = apply(one.model, one.graph, one.dimensions, plan)
    except NotAppliedError as reason:
        event(f"not applied: {reason}")
        return
    for scale in (1, 0, 8):
        feed = (np.random.default_rng(seed % 2**32).normal(size=(1, 3, 4, 4)) * scale).astype(np.float32)
        for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"):
            try:
                before = outputs(one.model, feed, level)
            except Fail:
                event("ONNX Runtime's optimiser makes a pool of the model that it does not take")
                continue
            if layers_read_finite(one.model, feed):
                compare(before, outputs(changed, feed, level))
    event(f"{'some' if free else 'no'} class is free")


def layers_read_finite(model: onnx.ModelProto, feed: np.ndarray) -> bool:
    """Whether the model gives its layers finite numbers: a weight of 0 makes NaN of any other."""
    names = dict.fromkeys(node.input[0] for node in model.graph.node if node.op_type in LAYERS)
    seen = onnx.ModelProto.FromString(model.SerializeToString())
    del seen.graph.output[:]
    seen.graph.output.extend(helper.make_value_info(name, onnx.TypeProto()) for name in names if name != "x")
    return not seen.graph.output or all(np.isfinite(read).all() for read in outputs(seen, feed, "ORT_DISABLE_ALL"))


def compare(before: list[np.ndarray], after: list[np.ndarray]) -> None:
    """What was finite stays as it was, to float accuracy."""
    for old, new in zip(before, after, strict=True):
        finite = np.isfinite(old)
        assert np.isfinite(new[finite]).all()
        size = float(np.abs(old[finite], dtype=np.float64).max(initial=0))
        np.testing.assert_allclose(new[finite], old[finite], rtol=1e-3, atol=1e-4 * max(1.0, size))
