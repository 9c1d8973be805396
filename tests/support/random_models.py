"""Random models, drawn node by node: one generator, in the styles that the property tests ask for."""

from __future__ import annotations

import numpy as np
import onnx
from hypothesis import strategies as st

from support.random_curves import CurveSteps
from support.random_graph import Style
from support.random_integers import IntegerSteps
from support.random_shapes import ShapeSteps

Feed = dict[str, np.ndarray]


class RandomModel(IntegerSteps, ShapeSteps, CurveSteps):
    """Draws a model in some style."""

    def layer(self) -> None:
        """One more layer on what was made last."""
        rank = len((self.integers or self.floats)[-1][1])
        if self.integers and self.number(0, 4):
            names = INTEGER_CONVOLUTIONS if rank == 4 else INTEGER_PRODUCTS
        else:
            if not self.floats:
                self.dequantize()
            names = REAL_CONVOLUTIONS if len(self.floats[-1][1]) == 4 else REAL_PRODUCTS
        getattr(self, self.one_of(*names))()

    def link(self) -> None:
        """Something else, and then a layer."""
        for _ in range(self.one_of(0, 0, 1, 2)):
            self.step(LANES.steps)
        self.layer()

    def step(self, names: tuple[str, ...]) -> None:
        getattr(self, self.pick(names))()

    def close(self) -> str:
        """A last layer on any tensor, so that its own size does not belong to the output."""
        if self.integers and self.coin():
            chosen = self.pick(self.integers[-3:])
            name, shape = self.real(chosen), chosen.shape
        else:
            if not self.floats:
                self.dequantize()
            name, shape = self.pick(self.floats[-3:] if self.style.dead else self.floats[1:])
        if len(shape) == 4:
            size = self.one_of(1, 3) if min(shape[2:]) >= 3 else 1
            return self.build.op("Conv", name, self.real_weights(2, shape[1], size, size))
        return self.build.op("MatMul", name, self.real_weights(shape[-1], 2, rows=1, columns=0))

    def model(self) -> onnx.ModelProto:
        """Draw all of it."""
        if self.style.opening:
            self.step((self.style.opening,))
        for _ in range(self.number(*self.style.length)):
            self.step(self.style.steps)
        outputs = [self.close() for _ in range(self.number(1, 2))]
        if self.integers and self.integers[-1].name != "x" and self.coin():
            outputs.append(self.integers[-1].name)
        return self.build.model(*dict.fromkeys(outputs))

    def feed(self) -> Feed:
        """An input for it."""
        random = np.random.default_rng(self.number(0, 99))
        if self.input_dtype is np.float32:
            return {"x": random.normal(size=self.input_shape).astype(np.float32)}
        limits = np.iinfo(self.input_dtype)
        return {"x": random.integers(limits.min, limits.max + 1, self.input_shape).astype(self.input_dtype)}


class IntegerModel(RandomModel):
    """Draws a model whose only output is the integers of a layer."""

    def model(self) -> onnx.ModelProto:
        """Draw all of it."""
        if not self.integers:
            self.quantize()
        for _ in range(self.number(*self.style.length)):
            self.step(self.style.steps)
        before = len(self.integers)
        while len(self.integers) == before:
            self.step(LAST_LAYERS[len(self.integers[-1].shape)])
        return self.build.model(self.integers[-1].name)


LAST_LAYERS = {4: ("qdq_conv", "qlinear_conv", "integer_flatten"), 2: ("qdq_matmul", "qlinear_matmul", "qgemm")}
"""What a model of integers may end in, by the rank of its data."""
INTEGER_CONVOLUTIONS = ("qlinear_conv", "qdq_conv", "conv_integer")
INTEGER_PRODUCTS = ("qlinear_matmul", "qdq_matmul", "matmul_integer", "qgemm")
REAL_CONVOLUTIONS = ("conv", "conv", "conv_transpose", "odd_weights", "multiplied")
REAL_PRODUCTS = ("matmul", "gemm", "moved_weights")

STEADY = ("Relu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Softplus", "Neg", "Abs", "Erf")
STEADY += ("Identity", "Round")
DEFINED = (
    *("Abs", "Asinh", "Atan", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "Identity"),
    *("LeakyRelu", "Neg", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus"),
    *("Softsign", "Tan", "Tanh", "ThresholdedRelu"),
)
"""Functions that are defined for every number."""

GEOMETRY = Style(
    steps=(
        *("padded_conv", "depthwise", "grouped", "conv_transpose", "unary", "requantize", "quantized_weights"),
        *("batch_norm", "per_channel", "sum", "concat", "split", "halves", "slice", "halved_plane", "global_pool"),
        *("gate", "pad", "tile", "transpose", "flatten", "reshape", "shuffle", "blocks", "gemm", "matmul_last_axis"),
        *("attention", "mix", "squeeze", "unsqueeze"),
    ),
    curves=STEADY,
    opening="padded_conv",
    length=(1, 14),
    opset=17,
    edge=4,
)
"""Axes that are joined, cut, regrouped and turned."""

_LAYERS = ("conv", "qdq_conv", "qlinear_conv", "conv_integer", "tower")
_LAYERS += ("qdq_matmul", "qlinear_matmul", "gemm", "matmul", "matmul_integer", "qgemm")
LANES = Style(
    steps=(
        *(4 * _LAYERS),
        *("quantize", "dequantize", "conv_transpose", "unary", "clip", "per_channel", "sum", "batch_norm", "pool"),
        *("mean", "qlinear_sum", "qlinear_curve", "qlinear_pool", "qlinear_concat", "integer_pool"),
        *("integer_flatten", "global_pool", "upscale", "concat", "split", "slice", "pad", "flatten", "shuffle"),
        "blocks",
    ),
    curves=(*STEADY, "Gelu"),
    integers=True,
    dead=True,
)
"""Channels that do nothing, in every style of quantization."""

EXACT = LANES._replace(
    steps=(
        *("quantize", "qdq_conv", "qlinear_conv", "conv_integer", "tower", "qdq_matmul", "qgemm", "integer_flatten"),
    )
)
"""Layers whose biases take constants exactly."""

QDQ = LANES._replace(steps=(*4 * ("qdq_conv",), "qdq_matmul", "integer_flatten", "integer_pool"), length=(2, 6))
"""Integers between DequantizeLinear and QuantizeLinear."""
QLINEAR = LANES._replace(
    steps=(
        *(4 * ("qlinear_conv",)),
        *(
            "qlinear_matmul",
            "qgemm",
            "integer_flatten",
            "integer_pool",
            "qlinear_sum",
            "qlinear_pool",
            "qlinear_concat",
        ),
    ),
    length=(2, 6),
)
"""Operators that take integers and their scales."""

CHAINS = LANES._replace(steps=("link",), opening="layer", length=(2, 7), plain=True, seeded=True)
"""Many layers, so that many classes are free, and weights in the rarer styles."""

PARTIAL = Style(
    steps=(
        *(
            "any_layer",
            "quantized_layer",
            "instance_norm",
            "batch_norm",
            "unary",
            "risky",
            "guarded",
            "with_numbers",
            "power",
        ),
        *("power", "pair", "map_over_the_plane", "choose", "clip", "whole", "requantize", "half", "integer_operators"),
        *("pooled_dense", "concat", "halves", "small_pool", "edge_pad", "resize_plane", "reduce", "mix_the_plane"),
        *("mean_variance", "swap"),
        *(3 * ("guarded", "with_numbers", "risky", "unary")),
    ),
    curves=DEFINED,
    opening="any_layer",
    length=(2, 9),
    opset=17,
    channels=(3, 3),
    edge=4,
    seeded=True,
)
"""Operators between layers that turn some numbers into NaN or infinity.

Numbers for each channel often keep the channels there are inside what an operator is defined on, so that only new ones
could leave it.
"""


@st.composite
def random_models(draw: st.DrawFn, style: Style) -> tuple[onnx.ModelProto, Feed]:
    """A model, and an input for it."""
    random_model = RandomModel(style, draw)
    return random_model.model(), random_model.feed()
