"""No fix leads a layer into a known hazard, on any target that was asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import linter, paths
from support.draws import draws
from support.repairable_models import Parts, convolution

TARGETS = ["cortex-m0", "cortex-m4", "cortex-m55"]


class Drawn(NamedTuple):
    """A model, and how it is fixed."""

    model: onnx.ModelProto
    release: str
    policy: str
    unsafe: bool

    def __repr__(self) -> str:
        graph = onnx.printer.to_text(self.model)
        return f"{graph}\n{self.release}, {self.policy}, {'unsafe' if self.unsafe else 'exact'}"


class Draw:
    """Draws chains of one to three layers, far from what exporters write."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.parts = Parts()
        self.one_of = lambda *values: draw(st.sampled_from(values))
        self.number = lambda low, high: draw(st.integers(low, high))
        self.random = np.random.default_rng(self.number(0, 999))
        self.kind = self.one_of(np.int8, np.int8, np.int8, np.uint8, np.int16)
        self.shape = (
            self.one_of(1, 1, 2), self.number(1, 9), self.one_of(1, 1, 1, 2, 3, 6), self.number(1, 16),
        )  # fmt: skip
        self.last = "x"

    def constant(self, value: object, kind: type) -> str:
        return self.parts.constant(f"c{len(self.parts.constants)}", value, kind)

    def parameters(self, scale: object, zero: object, kind: type) -> list[str]:
        return [self.constant(scale, np.float32), self.constant(zero, kind)]

    def node(self, op_type: str, inputs: list[str], **more: object) -> str:
        return self.parts.node(op_type, inputs, f"t{len(self.parts.nodes)}", **more)

    def zero(self) -> int:
        return 0 if self.kind is np.int16 else self.one_of(3, 100 if self.kind is np.uint8 else -5)

    def axis(self, size: int, *, most: int) -> tuple[int, int, int, int, int] | None:
        """Window, stride, padding before and after, dilation; None where no window fits."""
        window, stride = self.number(1, most), self.one_of(1, 1, 2, 3)
        before, after = self.one_of(0, 0, 1, 2, 3), self.one_of(0, 0, 1, 2, 3)
        dilation = self.one_of(1, 1, 1, 2)
        fits = size + before + after >= dilation * (window - 1) + 1
        return (window, stride, before, after, dilation) if fits else None

    def windows(self, most: int) -> dict[str, list[int]] | None:
        axes = [self.axis(size, most=self.one_of(1, most)) for size in self.shape[2:]]
        if None in axes:
            return None
        window, stride, before, after, dilation = zip(*axes, strict=True)
        return {
            "kernel_shape": [*window], "strides": [*stride], "pads": [*before, *after], "dilations": [*dilation],
        }  # fmt: skip

    def real(self) -> str:
        return self.node("DequantizeLinear", [self.last, *self.step])

    def quantize(self, value: str, channels: int, plane: list[int]) -> None:
        self.step = self.parameters(0.5, self.zero(), self.kind)
        self.last = self.node("QuantizeLinear", [value, *self.step])
        self.shape = (self.shape[0], channels, *plane)

    def convolution(self) -> None:
        given = self.windows(5)
        channels = self.shape[1]
        groups = self.one_of(*{1, channels, *(g for g in (2, 3) if channels % g == 0)})
        outputs = groups * self.number(1, 4 if groups < 4 else 2)
        if given is None:
            return
        filters = (outputs, channels // groups, *given["kernel_shape"])
        plane = [
            (size + given["pads"][i] + given["pads"][i + 2] - given["dilations"][i] * (k - 1) - 1)
            // given["strides"][i] + 1
            for i, (size, k) in enumerate(zip(self.shape[2:], given["kernel_shape"], strict=True))
        ]  # fmt: skip
        self.quantize(self.layer("Conv", filters, outputs, 0, group=groups, **given), outputs, plane)

    def layer(self, op_type: str, filters: tuple[int, ...], outputs: int, axis: int, **given: object) -> str:
        scales = self.random.uniform(0.005, 0.02, outputs).astype(np.float32)
        weights = self.constant(self.random.integers(-99, 99, filters), np.int8)
        inputs = [self.real()]
        zeros = self.parameters(scales, np.zeros(outputs), np.int8)
        inputs.append(self.node("DequantizeLinear", [weights, *zeros], axis=axis))
        if self.one_of(True, False):
            bias = self.constant(self.random.integers(-999, 999, outputs), np.int32)
            unit = self.constant(scales * np.float32(0.05 if inputs[0] == "t0" else 0.5), np.float32)
            inputs.append(self.node("DequantizeLinear", [bias, unit], axis=0))
        return self.node(op_type, inputs, **given)

    def transposed(self) -> None:
        given = self.windows(4)
        if given is None:
            return
        strides, kernel, pads = given["strides"], given["kernel_shape"], given["pads"]
        more = [self.number(0, 1) if stride > 1 else 0 for stride in strides]
        plane = [
            (size - 1) * strides[i] + kernel[i] - pads[i] - pads[i + 2] + more[i]
            for i, size in enumerate(self.shape[2:])
        ]
        if min(plane) < 1:
            return
        outputs = self.number(1, 4)
        filters = (self.shape[1], outputs, *kernel)
        given |= {"dilations": [1, 1], "output_padding": more}
        self.quantize(self.layer("ConvTranspose", filters, outputs, 1, **given), outputs, plane)

    def pool(self) -> None:
        given = self.windows(3)
        if given is None:
            return
        del given["dilations"]
        kernel, strides, pads = given["kernel_shape"], given["strides"], given["pads"]
        if any(pad >= size for pad, size in zip(pads, kernel * 2, strict=True)):
            return
        plane = [(size + pads[i] + pads[i + 2] - kernel[i]) // strides[i] + 1 for i, size in enumerate(self.shape[2:])]
        if min(plane) < 1:
            return
        before = self.step
        real = self.node(self.one_of("MaxPool", "AveragePool"), [self.real()], **given)
        self.quantize(real, self.shape[1], plane)
        self.parts.nodes[-1].input[1:] = before
        self.step = before

    def point(self) -> None:
        outputs = self.number(1, 9)
        real = self.layer("Conv", (outputs, self.shape[1], 1, 1), outputs, 0)
        self.quantize(real, outputs, [*self.shape[2:]])

    def model(self) -> onnx.ModelProto:
        first = self.shape
        self.step = self.parameters(0.05, self.zero(), self.kind)
        if self.one_of(True, False):
            self.point()
        for _ in range(self.number(1, 2)):
            self.one_of(self.convolution, self.convolution, self.convolution, self.transposed, self.pool)()
        if self.last == "x" or self.one_of(True, False):
            self.point()
        return self.parts.model((onnx.helper.np_dtype_to_tensor_dtype(np.dtype(self.kind)), first), self.last, 21)


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    """A model, and how it is fixed."""
    model = Draw(draw).model()
    release = draw(st.sampled_from(["7.0.0", "main", "6.0.0", "5.0.0", "4.1.0", "4.0.0"]))
    return Drawn(model, release, draw(st.sampled_from(["faster", "faster", "align"])), draw(st.booleans()))


def met(model: onnx.ModelProto | bytes, release: str) -> set[tuple[str, str]]:
    """Hazards of a model, and those that sizes leave open, each with its target."""
    analysis = linter.analysed(model, targets=TARGETS, release=release)
    return {
        (target.label, hazard.id)
        for layer in analysis.lowered.layers
        for target, route in analysis.routes(layer)
        for hazard in (*route.hazards, *route.open_hazards)
    }


@settings(deadline=None, max_examples=draws(40))
@given(drawn())
def test_a_fix_leads_no_layer_into_a_hazard(case: Drawn) -> None:
    done = linter.fixed(
        case.model, targets=TARGETS, release=case.release, fix_policy=case.policy, unsafe_fixes=case.unsafe
    )
    if done.model is not None:
        assert met(done.model, case.release) <= met(case.model, case.release)


def test_a_row_that_the_kernel_refuses_is_not_fixed_into_one_whose_padded_rows_it_leaves_out() -> None:
    model = convolution((1, 4, 1, 6), (8, 4, 1, 3), pads=[1, 2, 1, 1], strides=[1, 1])
    assert {name for _, name in met(model, "7.0.0")} == {"conv-1xn-geometry-refused"}
    done = linter.fixed(model, targets=TARGETS)
    assert done.model is not None
    assert met(done.model, "7.0.0") == set()


@pytest.mark.skipif(not (paths.SHARED / "cases" / "users").exists(), reason="needs the users' cases in `shared`")
def test_the_fix_of_a_deep_net_leaves_no_layer_in_a_hazard() -> None:
    done = linter.fixed((paths.SHARED / "cases" / "users" / "c142.onnx").read_bytes(), targets=["cortex-m55"])
    assert done.model is not None
    assert met(done.model, "7.0.0") == set()
