"""Random ExecuTorch programs for tests: calls of every operator, planned for one instruction set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import numpy as np

from onnxlint_cmsis.formats.pte.to_graph import load_pte
from onnxlint_cmsis.ground.types import Isa, Target
from onnxlint_cmsis.model.fixed_point import quantize_multiplier
from onnxlint_cmsis.runtimes.executorch.interpret import Interpretation
from onnxlint_cmsis.runtimes.executorch.kernels import LINEAR
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH_RELEASES
from support.pte_writer import NHWC, PteWriter

BACK = "cortex_m::"
CHANNELS_LAST = "_nhwc"


class RandomProgram:
    """A program that grows call by call; `needs` has the scratch of each call, by its number, as a first try told."""

    def __init__(self, seed: int, isa: Isa, needs: Sequence[tuple[int, ...]]) -> None:
        self.chance = np.random.default_rng(seed)
        self.isa, self.needs, self.writer = isa, needs, PteWriter()

    def number(self, low: int, high: int) -> int:
        """A random whole number, both ends included."""
        return int(self.chance.integers(low, high + 1))

    def image(self, *nchw: int) -> int:
        """An input with its channels last."""
        self.writer.inputs.append(self.writer.image(*nchw))
        return self.writer.inputs[-1]

    def tensor(self, *sizes: int) -> int:
        """An input in its plain order."""
        self.writer.inputs.append(self.writer.tensor("int8", sizes))
        return self.writer.inputs[-1]

    def call(self, name: str, *arguments: Any, scratch: int = 0, result: Callable[[], int]) -> None:
        """A call whose result is an output of the program; so many buffers of scratch stand last."""
        needed = (*self.needs[len(self.writer.instructions) :][:1],) or ((),)
        sizes = (*needed[0], 0, 0)[:scratch]
        buffers = [(self.writer.tensor("uint8", (size,)),) for size in sizes]
        self.writer.outputs.append(self.writer.call(f"{BACK}{name}.out", *arguments, *buffers, out=result()))

    def scales(self, depth: int, channels: int) -> tuple[list[int], list[int]]:
        """Multipliers and shifts, so that random sums of so many products fill int8."""
        reals = 45 / (74 * 73 * sqrt(depth)) * self.chance.uniform(0.6, 1.4, channels)
        pairs = [quantize_multiplier(float(real)) for real in reals]
        return [pair.value for pair in pairs], [pair.shift for pair in pairs]

    def weights(self, *sizes: int) -> tuple[int, np.ndarray]:
        """A random constant and its values."""
        values = self.chance.integers(-127, 128, sizes)
        return self.writer.constant(values), values

    def window(self) -> None:
        """A convolution, depthwise, transposed or not; the sizes in the order of memory where its name says so."""
        kind = ("quantized_conv2d", "quantized_depthwise_conv2d", "quantized_transpose_conv2d")[self.number(0, 2)]
        last = bool(self.number(0, 3) == 0)
        transposed, depthwise = "transpose" in kind, "depthwise" in kind
        inputs, multiplier = self.number(1, 24), self.number(1, 2)
        outputs = inputs * multiplier if depthwise else self.number(1, 12)
        kernel, stride = (self.number(1, 4), self.number(1, 4)), (self.number(1, 2), self.number(1, 2))
        padding = (self.number(0, kernel[0] - 1), self.number(0, kernel[1] - 1))
        dilation = (1, 1) if transposed or self.number(0, 2) else (self.number(1, 2), self.number(1, 2))
        size = (self.number(4, 9), self.number(4, 9))
        spans = [(kernel[axis] - 1) * dilation[axis] + 1 for axis in (0, 1)]
        if transposed:
            planes = [(size[a] - 1) * stride[a] - 2 * padding[a] + kernel[a] for a in (0, 1)]
        else:
            planes = [(size[a] + 2 * padding[a] - spans[a]) // stride[a] + 1 for a in (0, 1)]
        if min(planes) < 1:
            return
        filters, _ = self.weights(*((1, *kernel, outputs) if depthwise else (outputs, *kernel, inputs)))
        values, shifts = self.scales(kernel[0] * kernel[1] * (1 if depthwise else inputs), outputs)
        bias = (
            (self.writer.constant(self.chance.integers(-9000, 9000, outputs), "int32"),) if self.number(0, 3) else None
        )
        extra = [[0, 0]] * transposed
        arguments: list[Any] = [
            (self._plane(last, inputs, size),), (filters,), bias, [*stride], [*padding], *extra, [*dilation],
            *[multiplier] * depthwise, self.number(-127, 128), self.number(-128, 127),
            (self.writer.constant(values, "int32"),), (self.writer.constant(shifts, "int32"),),
            self.number(-128, -100), self.number(100, 127),
        ]  # fmt: skip
        end = CHANNELS_LAST if last else ""
        self.call(
            f"{kind}{end}", *arguments, scratch=1 + transposed, result=lambda: self._result(last, outputs, (*planes,))
        )

    def _plane(self, last: bool, channels: int, size: tuple[int, ...]) -> int:
        return self.tensor(1, *size, channels) if last else self.image(1, channels, *size)

    def _result(self, last: bool, channels: int, size: tuple[int, ...]) -> int:
        return self.writer.tensor("int8", (1, *size, channels)) if last else self.writer.image(1, channels, *size)

    def pool(self) -> None:
        """The average or the maximum of windows."""
        average, channels, kernel = bool(self.number(0, 1)), self.number(1, 20), self.number(1, 3)
        stride, padding, size = self.number(1, 3), self.number(0, kernel // 2), self.number(3, 9)
        plane = (size + 2 * padding - kernel) // stride + 1
        window = ([kernel] * 2, [stride] * 2, [padding] * 2)
        source = (self.image(1, channels, size, size),)

        def result() -> int:
            return self.writer.image(1, channels, plane, plane)

        if average:
            self.call("quantized_avg_pool2d", source, *window, False, 0, 0, 0, scratch=1, result=result)
        else:
            limits = self.number(-128, -90), self.number(90, 127)
            self.call("quantized_max_pool2d", source, *window, [1, 1], False, 3, 3, *limits, result=result)

    def dense(self) -> None:
        """A dense layer; MVE has its bias in the kernel sums."""
        rows, depth, outputs = self.number(1, 3), self.number(1, 40), self.number(1, 12)
        weights, values = self.weights(outputs, depth)
        offset = self.number(-127, 128)
        bias = self.chance.integers(-9000, 9000, outputs) if self.number(0, 3) else None
        sums = values.sum(axis=1) * offset + (0 if bias is None else bias)
        mve = self.isa is Isa.MVE
        extra = [
            None if numbers is None else (self.writer.constant(numbers, "int32"),)
            for numbers in (None if mve else bias, sums if mve else None)
        ]
        scales = [[pair[0]] for pair in self.scales(depth, 1)]
        source = (self.tensor(rows, depth),)
        arguments = [source, (weights,), *extra, offset, 0, self.number(-128, 127), *scales, 120, -120]
        self.call("quantized_linear", *arguments, result=lambda: self.writer.tensor("int8", (rows, outputs)))

    def arithmetic(self) -> None:
        """A sum or product of two tensors, or of one and a number for each channel."""
        channels, size = self.number(1, 9), self.number(1, 6)
        sizes, small = (1, channels, size, size), (1, channels, 1, 1)
        first, second = self.image(*sizes), self.image(*(small if self.number(0, 1) else sizes))
        if self.number(0, 1):
            first, second = second, first
        zeros = self.number(-128, 127), self.number(-128, 127), self.number(-128, 127)

        def result() -> int:
            return self.writer.image(*sizes)

        if self.number(0, 1):
            numbers = [(zero, 1 << 30, -self.number(0, 2)) for zero in zeros[:2]]
            output = (zeros[2], 1 << 30, -19)
            arguments: list[Any] = [(first,), *numbers[0], (second,), *numbers[1], *output, -128, 127]
            self.call("quantized_add", *arguments, result=result)
        else:
            arguments = [(first,), zeros[0], (second,), zeros[1], zeros[2], 1 << 30, -6]
            self.call("quantized_mul", *arguments, result=result)

    def choice(self) -> None:
        """The smaller or the larger of two tensors, one perhaps repeated along an axis."""
        sizes = (1, self.number(1, 5), self.number(1, 5), self.number(1, 9))
        second = (*sizes[:3], 1) if self.number(0, 1) else sizes
        operands = (self.tensor(*sizes),), (self.tensor(*second),)
        name = ("minimum", "maximum")[self.number(0, 1)]
        self.call(name, *operands, result=lambda: self.writer.tensor("int8", sizes))

    def softmax(self) -> None:
        """Rows of probabilities."""
        sizes = (self.number(1, 4), self.number(2, 12))
        shift = self.number(20, 24)
        arguments = [(self.tensor(*sizes),), -1, 0, -128, 1 << 30, shift, -(31 << (26 - shift))]
        self.call("softmax", *arguments, result=lambda: self.writer.tensor("int8", sizes))

    def transpose(self) -> None:
        """Another order of axes."""
        sizes = [self.number(1, 5) for _ in range(self.number(2, 4))]
        order = [int(axis) for axis in self.chance.permutation(len(sizes))]
        result = [sizes[axis] for axis in order]
        self.call("transpose", (self.tensor(*sizes),), order, result=lambda: self.writer.tensor("int8", result))

    def pad(self) -> None:
        """More rows and columns around an image."""
        channels, size = self.number(1, 6), self.number(2, 5)
        front, behind = [0, self.number(0, 2), self.number(0, 2), 0], [0, self.number(0, 2), self.number(0, 2), 0]
        planes = [size + front[axis] + behind[axis] for axis in (1, 2)]
        arguments = [(self.image(1, channels, size, size),), front, behind, self.number(-128, 127)]
        self.call("pad", *arguments, result=lambda: self.writer.image(1, channels, *planes))

    def matrices(self) -> None:
        """Products of matrices."""
        batch, rows, depth, columns = (self.number(1, 7) for _ in range(4))
        values, shifts = self.scales(depth, 1)
        factors = (self.tensor(batch, rows, depth),), (self.tensor(batch, columns, depth),)
        offsets = self.number(-127, 128), self.number(-127, 128), self.number(-128, 127)
        arguments = [factors[0], offsets[0], factors[1], *offsets[1:], values[0], shifts[0]]
        self.call(
            "quantized_batch_matmul", *arguments, scratch=1,
            result=lambda: self.writer.tensor("int8", (batch, rows, columns)),
        )  # fmt: skip

    def beside(self) -> None:
        """What is no call of CMSIS-NN: borders, tables, quotients, copies, portable code, a delegate."""
        sizes = (1, self.number(1, 4), 3, 3)
        source, writer = self.image(*sizes), self.writer
        scale = (0.5, 0, -128, 127, 1)
        real, less = (writer.tensor("float32", sizes, NHWC) for _ in range(2))
        plain = writer.tensor("float32", sizes)
        back, looked, part = (writer.tensor("int8", sizes) for _ in range(3))
        table = writer.constant(self.chance.permutation(np.arange(-128, 128)))
        writer.call(f"{BACK}dequantize_per_tensor.out", (source,), *scale, out=real)
        writer.call("aten::sub.out", (real,), (real,), 1, out=less)
        writer.call("dim_order_ops::_clone_dim_order.out", (less,), False, [0, 1, 2, 3], out=plain)
        writer.call(f"{BACK}quantize_per_tensor.out", (plain,), *scale, out=back)
        writer.call(f"{BACK}quantized_activation.out", (back,), (table,), out=looked)
        writer.call(f"{BACK}quantized_div.out", (looked,), 0, (back,), 0, 0, 0.5, out=part)
        writer.outputs.append(writer.delegate("EthosUBackend", part, writer.tensor("int8", sizes)))

    STEPS = (
        window, window, window, window, pool, pool, dense, dense, arithmetic, arithmetic, choice, softmax, transpose,
        pad, matrices, beside,
    )  # fmt: skip


def _grown(seed: int, isa: Isa, needs: Sequence[tuple[int, ...]], count: int) -> PteWriter:
    growing = RandomProgram(seed, isa, needs)
    while len(growing.writer.instructions) < count:
        RandomProgram.STEPS[growing.number(0, len(RandomProgram.STEPS) - 1)](growing)
    return growing.writer


def random_program(seed: int, isa: Isa, count: int = 8) -> PteWriter:
    """A program of some calls, planned for an instruction set as its kernels ask for scratch."""
    target = Target(f"cortex-{isa.value}", isa, "main")
    interpretation = Interpretation(
        load_pte("p.pte", data=_grown(seed, isa, (), count).data()), (target,), EXECUTORCH_RELEASES["1.5.1"], ""
    )
    needs = []
    for number, row in enumerate(interpretation.rows(target)):
        calls = row.call is not None and row.op != LINEAR
        needs.append(interpretation.plan(number, target).needed if calls else ())
    return _grown(seed, isa, needs, count)
