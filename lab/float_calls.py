"""Draws the calls of functions for f32 and f16 that lab/measure_float.py counts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NamedTuple

from onnxlint_cmsis.ground.types import AS_ASKED, Dims, FloatCall, KernelCall, Pair

SEEDS = {"fit": 1, "apart": 2}
SIGMOID, TANH, ACTIVATIONS = 33, 34, range(32, 39)
"""Numbers of arm_nn_activation_type_flt."""
SOFTWARE = ("cortex-m0", "cortex-m3", "cortex-m23")
"""CPUs without a floating-point unit."""
NO_DIMS = Dims(1, 1, 1, 1)
MOST_NUMBERS = 100_000
"""Numbers of f32 that a buffer of measure_float.c surely holds."""


Plan = tuple[tuple[int, Callable[[], KernelCall]], ...]
"""How many calls of a shape are drawn, and what draws one."""


class MeasuredCall(NamedTuple):
    """What is measured."""

    call: KernelCall
    """The call."""
    data: str
    """Its data, a key of DATA."""


class Window(NamedTuple):
    """What is chosen of a layer with windows; the rest is drawn."""

    taps: tuple[int, int]
    """Height and width."""
    dilation: int = 1
    """Dilation of both axes."""
    stride: int = 0
    """Stride of both axes, 0 for any."""
    pad: int = -1
    """Padding of both axes, -1 for any."""
    scratch: int = AS_ASKED
    """Bytes of its buffer."""
    packed: bool = False
    """Whether its weights are packed."""
    inputs: int = 0
    """Input channels, 0 for any."""
    outputs: int = 0
    """Output channels, 0 for any."""
    multiplier: int = 0
    """Channel multiplier of a depthwise layer; 0 for a convolution."""
    flat: bool = False
    """Whether the image has one row."""
    images: int = 0
    """Images, 0 for any."""


class Draw:
    """Draws the calls of one type."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind = kind
        self.chance = random.Random(f"{kind} {seed}")
        self.size, self.pick = self.chance.randint, self.chance.choice

    def channels(self, most: int = 48) -> int:
        """Channels: any number, a small one, or a multiple of the lanes."""
        return self.pick([self.size(1, most), self.size(1, 12), self.pick([4, 8, 16, 24, 32, most])])

    def axis(self, taps: int, most: int, stride: int, pad: int, dilation: int) -> tuple[int, int, int, int]:
        """Input size, output size, stride and padding along an axis; -1 draws a padding, 0 a stride."""
        reach = (taps - 1) * dilation + 1
        stride = stride or self.pick([1, 1, 2])
        inputs = self.size(reach, max(most, reach + 2))
        pad = self.size(0, min(taps - 1, 2)) if pad < 0 else pad
        return inputs, (inputs + 2 * pad - reach) // stride + 1, stride, pad

    def window(self, entry: str, window: Window) -> KernelCall:
        """A layer with windows."""
        dilation, multiplier, flat = window.dilation, window.multiplier, window.flat
        most = 24 if flat else 12
        high = (1, 1, 1, 0) if flat else self.axis(window.taps[0], most, window.stride, window.pad, dilation)
        wide = self.axis(window.taps[1], most, window.stride, window.pad, dilation)
        inputs, images = window.inputs or self.channels(40), window.images or self.pick([1, 1, 2])
        outputs = inputs * multiplier if multiplier else window.outputs or self.channels()
        filters = Dims(1, *window.taps, outputs) if multiplier else Dims(outputs, *window.taps, inputs)
        return KernelCall(
            f"{entry}_{self.kind}", Dims(images, high[0], wide[0], inputs), filters,
            Dims(images, high[1], wide[1], outputs), Pair(high[2], wide[2]), Pair(high[3], wide[3]),
            dilation=Pair(dilation, dilation), ch_mult=multiplier, bias=self.pick([True, True, False]),
            floating=FloatCall(window.packed, window.scratch, clamped=self.pick([True, False])),
        )  # fmt: skip

    def uneven(self, entry: str, multiplier: int, inputs: int, square: int = 0, *, outside: bool = False) -> KernelCall:
        """A layer with windows whose axes differ in stride, dilation and padding, in front and behind.

        `square`: taps of both axes, without dilation; 0 for any. `outside`: windows may lie wholly in the padding.
        """
        axes = []
        for _ in range(2):
            taps, stride = square or self.size(1, 5), self.pick([1, 1, 2, 3])
            dilation = 1 if square else self.pick([1, 1, 2, 3])
            reach = (taps - 1) * dilation + 1
            more = self.pick([0, reach]) if outside else 0
            size, pad = self.size(1, 10), self.size(0, taps - 1 + more)
            behind = self.pick([0, self.size(0, reach - 1 + more)])
            axes.append((size, taps, max(1, (size + pad + behind - reach) // stride + 1), stride, pad, dilation))
        (in_h, in_w), (high, wide), (out_h, out_w), strides, pads, dilations = zip(*axes, strict=True)
        outputs, images = inputs * multiplier or self.channels(24), self.pick([1, 1, 2])
        filters = Dims(1, high, wide, outputs) if multiplier else Dims(outputs, high, wide, inputs)
        return KernelCall(
            f"{entry}_{self.kind}", Dims(images, in_h, in_w, inputs), filters, Dims(images, out_h, out_w, outputs),
            Pair(*strides), Pair(*pads), dilation=Pair(*dilations), ch_mult=multiplier, bias=self.pick([True, False]),
            floating=FloatCall(scratch=self.pick([AS_ASKED, 0]), clamped=self.pick([True, False])),
        )  # fmt: skip

    def rowwise(self) -> KernelCall:
        """A convolution of a row, some of whose windows may lie wholly in the padding or reach past both ends."""
        taps, stride, columns = self.size(2, 9), self.pick([1, 1, 2, 3]), self.size(1, 14)
        pad, behind = self.size(0, taps + 1), self.size(0, taps + 1)
        width = max(1, (columns + pad + behind - taps) // stride + 1)
        inputs, outputs, images = self.channels(20), self.channels(32), self.pick([1, 2])
        return KernelCall(
            f"convolve_{self.kind}", Dims(images, 1, columns, inputs), Dims(outputs, 1, taps, inputs),
            Dims(images, 1, width, outputs), Pair(1, stride), Pair(0, pad), bias=self.pick([True, False]),
            floating=FloatCall(clamped=self.pick([True, False])),
        )  # fmt: skip

    def transposed(self) -> KernelCall:
        """A transposed convolution."""
        taps, sizes = (self.size(1, 4), self.size(1, 4)), (self.size(1, 6), self.size(1, 6))
        strides, dilation = (self.pick([1, 2, 3]), self.pick([1, 2])), self.pick([1, 1, 1, 2])
        pads = self.size(0, taps[0] // 2), self.size(0, taps[1] // 2)
        out = [
            max(1, (size - 1) * stride + (tap - 1) * dilation + 1 - 2 * pad)
            for size, stride, tap, pad in zip(sizes, strides, taps, pads, strict=True)
        ]
        inputs, outputs = self.channels(12), self.channels(20)
        return KernelCall(
            f"transpose_conv_{self.kind}", Dims(1, *sizes, inputs), Dims(outputs, *taps, inputs),
            Dims(1, out[0], out[1], outputs), Pair(*strides), Pair(*pads), dilation=Pair(dilation, dilation),
            bias=self.pick([True, True, False]), floating=FloatCall(clamped=self.pick([True, False])),
        )  # fmt: skip

    def dense(self) -> KernelCall:
        """A fully connected layer."""
        depth, outputs = self.pick([self.size(1, 300), self.size(1, 40)]), self.channels(40)
        rows = self.pick([1, 1, 2, 4, 5, 8])
        return KernelCall(
            f"fully_connected_{self.kind}", Dims(rows, 1, 1, depth), Dims(depth, 1, 1, outputs),
            Dims(rows, 1, 1, outputs), bias=self.pick([True, True, False]),
            floating=FloatCall(self.pick([True, False]), clamped=self.pick([True, False])),
        )  # fmt: skip

    def product(self, *, adjoint: bool) -> KernelCall:
        """A product of two activations."""
        rows, columns, depth = self.size(1, 12), self.size(1, 24), self.pick([self.size(1, 40), self.size(1, 9)])
        outer = self.size(1, 2), self.size(1, 3)
        x, y = self.pick([(False, True), (False, True), (True, False), (True, True)]) if adjoint else (False, False)
        packed = not adjoint and self.pick([True, False])
        return KernelCall(
            f"batch_matmul_{self.kind}", Dims(*outer, depth, rows), Dims(*outer, depth, columns),
            Dims(*outer, columns, rows), bias=False,
            floating=FloatCall(packed, clamped=self.pick([True, False]), adj_x=x, adj_y=y),
        )  # fmt: skip

    def pool(self, entry: str, pad: int = -1) -> KernelCall:
        """A pool with windows of a plane; -1 draws a padding."""
        call = self.window(entry, Window((self.size(1, 4), self.size(1, 4)), pad=pad))
        channels = call.input_dims.c
        return call._replace(
            filter_dims=call.filter_dims._replace(n=1, c=1), output_dims=call.output_dims._replace(c=channels),
            bias=False,
        )  # fmt: skip

    def row_pool(self, entry: str, most: int = 3, pad: int = 0) -> KernelCall:
        """A pool of 2 to `most` columns that follow each other."""
        taps, width, channels, images = self.size(2, most), self.size(1, 12), self.channels(40), self.pick([1, 2])
        columns = max(1, width * taps + self.pick([0, 1]) - pad - self.pick([0, pad]))
        return KernelCall(
            f"{entry}_{self.kind}", Dims(images, 1, columns, channels), Dims(1, 1, taps, 1),
            Dims(images, 1, width, channels), Pair(1, taps), Pair(0, pad), bias=False,
            floating=FloatCall(clamped=self.pick([True, False, False])),
        )  # fmt: skip

    def outside(self, entry: str) -> KernelCall:
        """A pool some of whose windows lie wholly in the padding."""
        call = self.uneven(entry, 1, self.channels(24), outside=True)
        return call._replace(dilation=Pair(1, 1), filter_dims=call.filter_dims._replace(n=1, c=1), bias=False)

    def flat(self, entry: str, most: int = 3000, activation: int = 0) -> KernelCall:
        """A function of so many numbers."""
        numbers = Dims(1, 1, 1, self.pick([self.size(1, 9), self.size(1, 64), self.size(64, most)]))
        clamped = activation == 0 and self.pick([True, False])
        return KernelCall(
            f"{entry}_{self.kind}", numbers, numbers, numbers, bias=False,
            floating=FloatCall(clamped=clamped, activation=activation),
        )  # fmt: skip

    def softmax(self, longest: int) -> KernelCall:
        """A softmax of rows."""
        rows = Dims(self.size(1, 8), 1, 1, self.pick([2, self.size(1, 20), self.size(1, longest)]))
        return KernelCall(f"softmax_{self.kind}", rows, NO_DIMS, rows, bias=False, floating=FloatCall())

    def image(self, channels: int = 30) -> Dims:
        """An image."""
        return Dims(self.size(1, 2), self.size(1, 6), self.size(1, 6), self.channels(channels))

    def extreme(self, entry: str) -> KernelCall:
        """The larger or smaller of two operands, of which axes may be repeated."""
        result = self.image(20)
        how = self.pick(["alike", "number", "front", "repeated", "repeated"])
        first = second = result
        if how == "number":
            first, second = self.pick([(result, NO_DIMS), (NO_DIMS, result)])
        elif how == "front":
            front = Dims(*result[: (kept := self.size(1, 3))], *(1,) * (4 - kept))
            first, second = self.pick([(result, front), (front, result)])
        elif how == "repeated":
            first = Dims(*(self.pick([size, size, 1]) for size in result))
            pairs = zip(first, result, strict=True)
            second = Dims(*(self.pick([size, 1]) if own == size else size for own, size in pairs))
            result = Dims(*(max(a or 0, b or 0) for a, b in zip(first, second, strict=True)))
        return KernelCall(f"{entry}_{self.kind}", first, second, result, bias=False, floating=FloatCall())

    def pad(self, channels: int = 30) -> KernelCall:
        """Zeros around an image."""
        image = self.image(channels)
        front, behind = (Dims(*(self.pick([0, 0, self.size(0, 3)]) for _ in range(4))) for _ in range(2))
        sums = zip(image, front, behind, strict=True)
        result = Dims(*((own or 0) + (before or 0) + (after or 0) for own, before, after in sums))
        return KernelCall(f"pad_{self.kind}", image, NO_DIMS, result, pad_front=front, bias=False, floating=FloatCall())

    def turned(self) -> KernelCall:
        """A transposition of one to four axes."""
        rank, how = self.pick([1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4]), self.pick(["any", "any", "last two", "rows"])
        order = list(range(rank))
        self.chance.shuffle(order)
        most = {1: 300, 2: 30, 3: 16, 4: self.pick([8, 16])}[rank]
        sizes = [self.pick([1, self.size(1, most), self.size(2, most)]) for _ in order]
        if how == "last two":
            order = [*range(rank - 2), *range(rank)[-2:][::-1]]
        elif how == "rows" and rank > 2:
            order = [*(axis for axis in order if axis != rank - 1), rank - 1]
            sizes[-1] = self.size(1, min(90, MOST_NUMBERS // prod(sizes[:-1])))
        rest = [1] * (4 - len(order))
        result = Dims(*(sizes[axis] for axis in order), *rest)
        return KernelCall(
            f"transpose_{self.kind}", Dims(*sizes, *rest), NO_DIMS, result, permutation=tuple(order), bias=False,
            floating=FloatCall(),
        )  # fmt: skip

    def joined(self) -> KernelCall:
        """An operand of a concatenation along the channels."""
        image = self.image(60)
        return KernelCall(
            f"concatenation_{self.kind}", image, NO_DIMS, image, runs=(image.c or 0,), bias=False, floating=FloatCall()
        )  # fmt: skip

    def filtered(self) -> KernelCall:
        """A singular value decomposition filter."""
        units, rank, memory, depth = self.channels(16), self.pick([1, 1, 2, 3]), self.size(1, 12), self.size(1, 40)
        images = self.pick([1, 1, 2, 3])
        return KernelCall(
            f"svdf_{self.kind}", Dims(images, 1, 1, depth), Dims(units * rank, memory, 1, depth),
            Dims(images, 1, 1, units), bias=self.pick([True, False]),
            floating=FloatCall(scratch=1, clamped=self.pick([True, False])),
        )  # fmt: skip

    def recurrent(self) -> KernelCall:
        """An LSTM."""
        sequences, steps = self.pick([1, 1, 2, 3]), self.size(1, 6)
        inputs, units = self.size(1, 24), self.pick([self.size(1, 24), 4, 8, 16])
        return KernelCall(
            f"lstm_unidirectional_{self.kind}", Dims(sequences, 1, steps, inputs), NO_DIMS,
            Dims(sequences, 1, steps, units), bias=self.pick([True, True, False]), initial_state=False,
            time_major=self.pick([True, False]), floating=FloatCall(),
        )  # fmt: skip

    def conv(self, taps: tuple[int, int], **choice: Any) -> KernelCall:
        """A convolution."""
        return self.window("convolve", Window(taps, **choice))

    def depthwise(self, taps: tuple[int, int], **choice: Any) -> KernelCall:
        """A depthwise layer."""
        return self.window("depthwise", Window(taps, **choice))

    def _convolutions(self) -> Plan:
        """Convolutions."""
        pick, size, conv = self.pick, self.size, self.conv
        return (
            (130, lambda: conv((1, 1), stride=1, pad=0, packed=pick([True, False]))),
            (130, lambda: conv((1, 1), stride=2, pad=0, packed=pick([True, False]), inputs=size(16, 48),
                               outputs=size(8, 48), scratch=pick([AS_ASKED, AS_ASKED, 0]))),
            (130, lambda: conv((size(1, 4), size(2, 4)), dilation=pick([1, 1, 1, 2]), packed=pick([True, False]),
                               inputs=size(4, 24), outputs=size(8, 32))),
            (90, lambda: conv((size(1, 4), size(2, 4)), dilation=pick([1, 1, 1, 2]), scratch=0,
                              inputs=self.channels(20), outputs=self.channels(20))),
            (170, lambda: conv((1, pick([2, 3, 4, 5, 6, 7, 9])), flat=True, inputs=self.channels(20),
                               outputs=self.channels(32), images=pick([1, 2]))),
            (170, lambda: conv((1, 3), flat=True, stride=1, pad=0, images=1, packed=pick([True, False]),
                               inputs=pick([self.channels(32), 4, 16]), scratch=pick([AS_ASKED, AS_ASKED, 0]))),
            (200, lambda: conv((1, 5), flat=True, stride=1, pad=0, images=1, packed=pick([True, False]),
                               inputs=pick([self.channels(32), 4, 16]), scratch=pick([AS_ASKED, AS_ASKED, 0]))),
        )  # fmt: skip

    def _depthwise_layers(self) -> Plan:
        """Depthwise layers."""
        pick, size, dw = self.pick, self.size, self.depthwise
        return (
            (180, lambda: dw((3, 3), multiplier=1)),
            (60, lambda: dw((3, 3), multiplier=1, stride=1, pad=0)),
            (60, lambda: dw((1, 1), multiplier=1, pad=0, inputs=self.channels(12))),
            (100, lambda: dw((1, 3), multiplier=1, flat=True, stride=1, pad=0, images=1)),
            (380, lambda: dw((pick([1, 2, 4, 5]), size(1, 5)), multiplier=1)),
            (260, lambda: dw((pick([1, 2, 4, 5]), size(1, 5)), multiplier=1, scratch=0)),
            (90, lambda: dw((size(1, 3), size(2, 4)), multiplier=size(2, 4), dilation=pick([1, 1, 2]),
                            inputs=size(2, 12))),
            (40, lambda: dw((size(1, 3), size(2, 4)), multiplier=1, dilation=2, inputs=size(2, 12))),
            (40, lambda: dw((size(1, 3), size(2, 4)), multiplier=size(2, 20), dilation=pick([1, 2]), inputs=1,
                            scratch=0)),
            (300, lambda: dw((size(1, 4), size(1, 4)), multiplier=size(1, 40), dilation=pick([1, 1, 2]), inputs=1)),
        )  # fmt: skip

    def _with_weights(self) -> Plan:
        """Other layers with weights, and windows that fit the plane unevenly."""
        size = self.size
        return (
            (220, self.transposed),
            (120, lambda: self.uneven("depthwise", 1, self.channels(24))),
            (80, lambda: self.uneven("depthwise", 1, self.channels(24), square=3)),
            (80, lambda: self.uneven("depthwise", size(2, 4), self.channels(8))),
            (80, lambda: self.uneven("depthwise", size(1, 20), 1)),
            (100, lambda: self.uneven("convolve", 0, self.channels(20))),
            (240, self.dense),
            (130, lambda: self.product(adjoint=False)),
            (100, lambda: self.product(adjoint=True)),
        )  # fmt: skip

    def _pools(self) -> Plan:
        """Pools."""
        return (
            (60, lambda: self.pool("max_pool", 0)),
            (60, lambda: self.pool("avgpool", 0)),
            (60, lambda: self.pool("max_pool")),
            (60, lambda: self.pool("avgpool")),
            (180, lambda: self.row_pool("max_pool")),
            (60, lambda: self.row_pool("max_pool", 4, 1)),
            (60, lambda: self.row_pool("avgpool", 5)),
            (40, lambda: self.row_pool("avgpool", 4, 1)),
            (100, lambda: self.outside("max_pool")),
            (100, lambda: self.outside("avgpool")),
        )  # fmt: skip

    def _outside(self) -> Plan:
        """Windows of layers with weights that lie wholly in the padding."""
        pick, size = self.pick, self.size
        return (
            (150, lambda: self.uneven("convolve", 0, self.channels(24), outside=True)),
            (150, lambda: self.uneven("depthwise", 1, self.channels(24), outside=True)),
            (60, lambda: self.uneven("depthwise", 1, self.channels(24), square=3, outside=True)),
            (140, lambda: self.uneven("depthwise", 1, size(1, 4), outside=True)._replace(bias=False)),
            (160, lambda: self.uneven("depthwise", 1, self.channels(24), pick([2, 4, 5]), outside=True)),
            (60, lambda: self.uneven("depthwise", size(2, 4), self.channels(8), outside=True)),
            (60, lambda: self.uneven("depthwise", size(1, 20), 1, outside=True)),
        )  # fmt: skip

    def _others(self) -> Plan:
        """Functions without windows, and kernels called by their own names."""
        pick = self.pick
        return (
            (60, self.rowwise),
            (90, lambda: self.flat("elementwise_add")),
            (90, lambda: self.flat("elementwise_mul")),
            (60, lambda: self.softmax(300)),
            (60, lambda: KernelCall(f"batch_norm_{self.kind}", image := self.image(40), NO_DIMS, image,
                                    floating=FloatCall())),
            (260, lambda: self.extreme("maximum")),
            (260, lambda: self.extreme("minimum")),
            (140, self.pad),
            (560, self.turned),
            (240, self.joined),
            (90, lambda: self.flat("reshape")),
            (160, self.filtered),
            (60, lambda: self.conv((1, 1), pad=0, packed=pick([True, False]), scratch=pick([AS_ASKED, 0]),
                              )._replace(entry=f"convolve_1x1_{self.kind}")),
            (60, lambda: self.conv((1, pick([2, 3, 4, 5, 6, 7, 9])), flat=True, inputs=self.channels(20),
                              )._replace(entry=f"convolve_1_x_n_{self.kind}")),
        )  # fmt: skip

    def calls(self) -> Iterator[MeasuredCall]:
        """All calls of a type, always drawn in the same order."""
        for plan in (
            *(self._convolutions, self._depthwise_layers, self._with_weights),
            *(self._pools, self._outside, self._others),
        ):
            for times, drawn in plan():
                yield from (MeasuredCall(drawn(), "") for _ in range(times))
        yield from self._decided_by_data()
        yield from self._drawn_later()

    def _decided_by_data(self) -> Iterator[MeasuredCall]:
        """Curves, softmax and LSTMs on several kinds of data, and windows of 2x5 in f16."""
        pick = self.pick
        if self.kind == "f16":
            yield from (MeasuredCall(self.depthwise((2, 5), multiplier=pick([1, 1, 2, 3, 8, 9]), stride=1, pad=0), "")
                        for _ in range(60))  # fmt: skip
        for number in ACTIVATIONS:
            yield from (MeasuredCall(self.flat("activation", 1500, number), "") for _ in range(20))
        decided = [self.softmax(60) for _ in range(120)]
        decided += [self.flat("activation", 1500, number) for number in (SIGMOID, TANH) for _ in range(40)]
        yield from (MeasuredCall(call, data) for data in ("near", "below", "above") for call in decided)
        recurrent = [self.recurrent() for _ in range(100)]
        yield from (MeasuredCall(call, data) for data in ("", "small", "below", "above") for call in recurrent)

    def _drawn_later(self) -> Iterator[MeasuredCall]:
        """Shapes that a fit needs more of."""
        pick, size, conv = self.pick, self.size, self.conv
        first = ((size(2, 6), size(3, 7)) for _ in range(120))  # a layer on an image of few channels
        yield from (MeasuredCall(conv(taps, inputs=pick([1, 1, 2, 3]), outputs=size(8, 32)), "") for taps in first)
        inner = ((size(1, 3), size(2, 3)) for _ in range(80))  # a layer on many channels
        yield from (
            MeasuredCall(
                conv(taps, stride=1, inputs=size(32, 80), outputs=size(8, 24), packed=pick([True, False])),
                "",
            )
            for taps in inner
        )
        rows = (size(1, 33) for _ in range(40))  # few inputs, no bias, and outputs that no group takes
        yield from (
            MeasuredCall(conv((1, 3), flat=True, stride=1, pad=0, images=1, inputs=inputs)._replace(bias=False), "")
            for inputs in rows
        )
        yield from (MeasuredCall(self.pad(80), "") for _ in range(80))
        yield from (MeasuredCall(self.pad(4), "") for _ in range(60))
        pair = Dims(1, 1, 1, 2)  # the one shape that a kernel takes: as often as a fit asks for
        two = KernelCall(f"softmax_{self.kind}", pair, NO_DIMS, pair, bias=False, floating=FloatCall())
        yield from (MeasuredCall(two, data) for data in ("", "near", "below", "above") for _ in range(10))


def calls(part: str, cpu: str) -> list[MeasuredCall]:
    """The calls that a fit sees, or those held apart. Depthwise windows of 2x5 stand on images of two rows.

    Without a floating-point unit all data decide, and in transposed convolutions always: calls come with zeros too, and
    those held apart with some zeros.
    """
    drawn = [measured for kind in ("f32", "f16") for measured in Draw(kind, SEEDS[part]).calls()]
    once = [MeasuredCall(_two_rows(call), data) for call, data in drawn]
    more = ("zero",) if part == "fit" else ("zero", "positive")
    again = [call for call, usual in once if not usual and (cpu in SOFTWARE or call.entry.startswith("transpose_conv"))]
    return [*once, *(MeasuredCall(_holding_zeros(call), data) for data in more for call in again)]


def _holding_zeros(call: KernelCall) -> KernelCall:
    return call._replace(floating=(call.floating or FloatCall())._replace(zeros=True))


def _two_rows(call: KernelCall) -> KernelCall:
    if call.entry != "depthwise_f16" or call.filter_dims[1:3] != (2, 5) or call.padding != Pair(0, 0):
        return call
    return call._replace(input_dims=call.input_dims._replace(h=2), output_dims=call.output_dims._replace(h=1))
