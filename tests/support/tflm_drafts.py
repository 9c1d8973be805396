"""Small random `.tflite` files of every operator that TensorFlow Lite Micro registers: types, ranks and options.

Most choices are those that a kernel takes, so that what is left can be seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from support.tflite_writer import operator_code, write

KINDS = ("FLOAT32", "INT8", "INT16", "INT32", "INT64", "UINT8", "BOOL", "FLOAT16")
RARE = ("INT4", "UINT32", "FLOAT64", "STRING", "UINT16")
NUMPY = {kind: kind.lower() for kind in (*KINDS, "UINT32", "FLOAT64", "UINT16")}
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1", "TANH")
COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
SAME = ("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LEAKY_RELU", "LOG", "LOGICAL_NOT", "LOGISTIC",
        "LOG_SOFTMAX", "L2_NORMALIZATION", "NEG", "RELU", "RELU6", "ROUND", "RSQRT", "SIN", "SOFTMAX", "SQRT", "SQUARE",
        "TANH", "ZEROS_LIKE")  # fmt: skip
PAIRS = ("ADD", "DIV", "FLOOR_DIV", "FLOOR_MOD", "LOGICAL_AND", "LOGICAL_OR", "MAXIMUM", "MINIMUM", "MUL", "PRELU",
         "SQUARED_DIFFERENCE", "SUB", *COMPARISONS)  # fmt: skip
REDUCTIONS = ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL")
READ_LATE = (*REDUCTIONS, "CUMSUM", "REVERSE_V2", "EMBEDDING_LOOKUP", "ARG_MAX", "ARG_MIN")
"""Operators whose axes or indices may be computed, so that what becomes of them shows in a run alone."""
OPTIONS = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}


class Operands(NamedTuple):
    """What an operator reads and writes, and its options."""

    inputs: list[int]
    """Tensors."""
    outputs: list[int]
    """Tensors."""
    options: tuple[str, dict[str, Any]] | None = None
    """Table of options."""


class Draft:
    """A file in the making."""

    def __init__(self, seed: int, op: str = "") -> None:
        self.chance = random.Random(seed)
        self.op = op or self.chance.choice(OPERATORS)
        self.tensors: list[dict[str, Any]] = []
        self.buffers: list[dict[str, Any]] = [{}]
        self.operators: list[dict[str, Any]] = []
        self.codes: list[str] = []

    def often(self, share: float = 0.9) -> bool:
        """True that often."""
        return self.chance.random() < share

    def kind(self, usual: tuple[str, ...] = ("FLOAT32", "INT8", "INT16")) -> str:
        """An element type, seldom a strange one."""
        if self.often(0.75):
            return self.chance.choice(usual)
        return self.chance.choice(KINDS if self.often(0.9) else RARE)

    def shape(self, least: int = 1, most: int = 5) -> list[int]:
        """A small shape."""
        rank = self.chance.randint(least, most)
        return [self.chance.randint(1, 3) for _ in range(rank)]

    def tensor(self, shape: list[int], kind: str, values: Any = None, **quantization: Any) -> int:
        """A tensor; with values a constant. Quantized types get a scale and zero-point, now and then none."""
        numbers = {"scale": [self.chance.choice((0.5, 0.0039, 1 / 256, 1 / 128, 1 / 32768, 0.02))], "zero_point": [0]}
        if kind == "INT8":
            numbers["zero_point"] = [self.chance.choice((0, 0, -128, 0 if self.op == "RSQRT" else 5))]
        if kind not in ("INT8", "INT16", "UINT8", "INT4") and not self.often(0.05):
            numbers = {}
        if not self.often(0.97):
            numbers = {}
        numbers = {**numbers, **quantization}
        buffer = 0
        if values is not None:
            raw = np.asarray(values).astype(NUMPY.get(kind, "int8")).tobytes()
            self.buffers.append({"data": list(raw)})
            buffer = len(self.buffers) - 1
        record = {"name": f"t{len(self.tensors)}", "shape": shape, "type": kind, "buffer": buffer}
        self.tensors.append({**record, "quantization": numbers or None})
        return len(self.tensors) - 1

    def like(self, tensor: int, shape: list[int] | None = None) -> int:
        """A computed tensor of the same type and, mostly, quantization."""
        model = self.tensors[tensor]
        steps = model["quantization"] if self.often(0.7) else None
        kind = model["type"] if self.often(0.93) else self.kind()
        wanted = list(model["shape"]) if shape is None else shape
        return self.tensor(wanted, kind, **(steps or {}))

    def numbers(self, values: list[int], *, kind: str = "INT32", shape: list[int] | None = None) -> int:
        """Whole numbers, mostly a constant of int32."""
        stored_kind = kind if self.often(0.93) else self.chance.choice(("INT64", "INT32", "INT16"))
        stored = values if self.op in READ_LATE or self.often(0.95) else None
        return self.tensor([len(values)] if shape is None else shape, stored_kind, stored)

    def add(self, op: str, operands: Operands) -> int:
        """Append an operator; its first output."""
        if op not in self.codes:
            self.codes.append(op)
        inputs, outputs = list(operands.inputs), list(operands.outputs)
        if not self.often(0.985) and self.tensors[outputs[0]]["shape"]:
            self.tensors[outputs[0]]["shape"][0] = self.chance.choice((0, -1))
        if not self.often(0.98) and len(inputs) > 1:
            inputs = inputs[:-1]
        record = {"opcode_index": self.codes.index(op), "inputs": inputs, "outputs": outputs}
        self.operators.append({**record, "builtin_options": operands.options})
        return outputs[0]

    def file(self) -> bytes:
        """The model: what no operator writes and no buffer holds is an input."""
        computed = {tensor for operator in self.operators for tensor in operator["outputs"]}
        read = {tensor for operator in self.operators for tensor in operator["inputs"]}
        free = [tensor for tensor in sorted(read - computed) if not self.tensors[tensor]["buffer"]]
        ends = sorted(computed - read) or sorted(computed)
        subgraph = {"tensors": self.tensors, "inputs": free, "outputs": ends, "operators": self.operators}
        codes = [operator_code(op) for op in self.codes]
        return write({"version": 3, "operator_codes": codes, "subgraphs": [subgraph], "buffers": self.buffers})


def _same(d: Draft) -> Operands:
    kinds = {"LOGICAL_NOT": ("BOOL",), "ZEROS_LIKE": ("INT64", "INT32", "INT8", "FLOAT32")}
    steps: dict[str, Any] = {}
    data = d.tensor(d.shape(), d.kind(kinds.get(d.op, ("FLOAT32", "INT8", "INT16"))))
    known = {"SOFTMAX": (1 / 256, -128), "LOGISTIC": (1 / 256, -128), "LOG_SOFTMAX": (1 / 16, 127)}
    known |= {"TANH": (1 / 128, 0), "L2_NORMALIZATION": (1 / 128, 0)}
    kind = d.tensors[data]["type"]
    if d.op in known and kind in ("INT8", "INT16") and d.often():
        numbers = known[d.op] if kind == "INT8" else (1 / 32768, 0)
        steps = {"scale": [numbers[0]], "zero_point": [numbers[1]]}
    output = d.like(data) if not steps else d.tensor(d.tensors[data]["shape"], kind, **steps)
    options = {
        "SOFTMAX": ("SoftmaxOptions", {"beta": d.chance.choice((1.0, 1.0, 1e-9))}),
        "LEAKY_RELU": ("LeakyReluOptions", {"alpha": 0.1}),
        "L2_NORMALIZATION": ("L2NormOptions", {"fused_activation_function": "NONE" if d.often() else "RELU"}),
    }
    return Operands([data], [output], options.get(d.op))


def _stretched(d: Draft, shape: list[int]) -> list[int]:
    """A shape that broadcasts against another."""
    if d.often(0.6):
        return shape
    return [1 if d.often(0.4) else size for size in shape[d.chance.randint(0, len(shape) - 1) :]]


def _pair(d: Draft) -> Operands:
    family = d.op.partition("_")[0]
    kinds = {"LOGICAL": ("BOOL",), "FLOOR": ("FLOAT32",)}.get(family, KINDS[:4])
    shape = d.shape(1, 5)
    left = d.tensor(shape, d.kind(kinds))
    kind = d.tensors[left]["type"]
    alpha = d.op == "PRELU" and kind == "INT16" and d.often(0.8)
    right = d.tensor(_stretched(d, shape), "INT8" if alpha else kind if d.often(0.95) else d.kind(kinds))
    output = d.like(left) if d.op not in COMPARISONS else d.tensor(shape, "BOOL")
    activation = {"fused_activation_function": d.chance.choice(ACTIVATIONS)}
    options = (OPTIONS[d.op], activation) if d.op in OPTIONS else None
    return Operands([left, right], [output], options)


def _reduced(d: Draft) -> Operands:
    shape = d.shape(1, 4)
    data = d.tensor(shape, d.kind(("BOOL",) if d.op == "REDUCE_ALL" else ("FLOAT32", "INT8", "INT16")))
    axes = sorted(d.chance.sample(range(len(shape)), d.chance.randint(1, len(shape))))
    keep = d.often(0.5)
    left = [1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes]
    bad = 0 if d.often(0.97) else 7
    ends = [data, d.numbers([axis + bad for axis in axes])]
    return Operands(ends, [d.like(data, left)], ("ReducerOptions", {"keep_dims": keep}))


def _arg(d: Draft) -> Operands:
    shape = d.shape(1, 4)
    axis = d.chance.randrange(len(shape))
    data = d.tensor(shape, d.kind())
    output = d.tensor(shape[:axis] + shape[axis + 1 :], d.chance.choice(("INT32", "INT32", "INT64", "INT8")))
    return Operands([data, d.numbers([axis], shape=[] if d.often(0.5) else [1])], [output])


def _add_n(d: Draft) -> Operands:
    first = d.tensor(d.shape(), d.kind(("FLOAT32", "INT8")))
    more = [d.like(first) for _ in range(d.chance.randint(0, 3))]
    return Operands([first, *more], [d.like(first)])


def _blocks(d: Draft) -> Operands:
    shape = [d.chance.randint(1, 2), 4, *([4] if d.often(0.7) else []), 3]
    if not d.often(0.95):
        shape = d.shape(1, 5)
    sizes = [2] * (len(shape) - 2)
    flat = prod(sizes)
    inside = [size // 2 for size in shape[1:-1]]
    data = d.tensor(shape, d.kind())
    if d.op == "BATCH_TO_SPACE_ND":
        shape[0] *= flat
        d.tensors[data]["shape"] = list(shape)
        wanted = [shape[0] // max(flat, 1), *(size * 2 for size in shape[1:-1]), shape[-1]] if len(shape) > 2 else shape
    else:
        wanted = [shape[0] * flat, *inside, shape[-1]] if len(shape) > 2 else shape
    block = d.tensor([len(sizes)], "INT32", sizes)
    crops = d.tensor([len(sizes), 2], "INT32", [0] * (2 * len(sizes)))
    return Operands([data, block, crops], [d.like(data, wanted)])


def _broadcast_args(d: Draft) -> Operands:
    kind = d.kind(("INT32", "INT64"))
    left, right = d.tensor([2], kind, [1, 3]), d.tensor([3], kind if d.often() else "INT32", [2, 1, 1])
    return Operands([left, right], [d.tensor([3] if d.often() else [3, 1], kind)])


def _broadcast_to(d: Draft) -> Operands:
    wanted = d.shape(1, 6)
    shape = [1 if d.often(0.4) else size for size in wanted]
    data = d.tensor(shape, d.kind())
    return Operands([data, d.numbers(wanted)], [d.like(data, wanted if d.often(0.95) else shape)])


def _cast(d: Draft) -> Operands:
    shape = d.shape()
    return Operands([d.tensor(shape, d.kind(KINDS))], [d.tensor(shape, d.kind(KINDS))], ("CastOptions", {}))


def _concat(d: Draft) -> Operands:
    shape = d.shape(1, 4)
    axis = d.chance.randrange(len(shape))
    first = d.tensor(shape, d.kind((*KINDS[:5], "BOOL")))
    count = d.chance.choice((1, 2, 3, 10, 11))
    more = [d.like(first) if d.often(0.9) else d.tensor(shape, d.tensors[first]["type"]) for _ in range(count - 1)]
    wanted = [size * count if index == axis else size for index, size in enumerate(shape)]
    options = {"axis": axis, "fused_activation_function": "NONE" if d.often(0.95) else "RELU"}
    return Operands([first, *more], [d.like(first, wanted)], ("ConcatenationOptions", options))


def _cumsum(d: Draft) -> Operands:
    data = d.tensor(d.shape(1, 4), d.kind(("FLOAT32", "INT8")))
    rank = len(d.tensors[data]["shape"])
    axis = d.chance.randrange(-rank, rank) if d.often(0.9) else 9
    return Operands([data, d.numbers([axis], shape=[])], [d.like(data)], ("CumsumOptions", {"reverse": d.often(0.5)}))


def _depths(d: Draft) -> Operands:
    deep = d.op == "DEPTH_TO_SPACE"
    shape = [1, 2, 2, 8] if d.often(0.9) else d.shape(3, 5)
    size = 2 if d.often(0.85) else d.chance.choice((1, 3))
    data = d.tensor(shape, d.kind(("FLOAT32", "INT8")))
    wanted = shape
    if len(shape) == 4:
        scale = (size, 1 / size) if deep else (1 / size, size)
        plane = [max(int(part * scale[0]), 1) for part in shape[1:3]]
        wanted = [shape[0], *plane, max(int(shape[3] * scale[1] ** 2), 1)]
    name = "DepthToSpaceOptions" if deep else "SpaceToDepthOptions"
    return Operands([data], [d.like(data, wanted)], (name, {"block_size": size}))


def _dequantize(d: Draft) -> Operands:
    shape = d.shape()
    kind = d.kind(("INT8", "INT16", "UINT8", "FLOAT16"))
    values = np.zeros(shape) if d.often(0.5) and kind in NUMPY else None
    return Operands([d.tensor(shape, kind, values)], [d.tensor(shape, "FLOAT32" if d.often() else d.kind())])


def _quantize(d: Draft) -> Operands:
    shape = d.shape()
    data = d.tensor(shape, d.kind(KINDS[:4]))
    return Operands([data], [d.tensor(shape, d.kind(("INT8", "INT16", "INT32", "UINT8")))])


def _update(d: Draft) -> Operands:
    shape = d.shape(1, 4)
    data = d.tensor(shape, d.kind(KINDS[:5]))
    part = [d.chance.randint(1, size) if d.often(0.97) else size + 1 for size in shape]
    start = d.tensor([len(shape)], d.kind(("INT32", "INT64")), [0] * len(shape))
    return Operands([data, d.like(data, part), start], [d.like(data)])


def _embedding(d: Draft) -> Operands:
    table = d.tensor([5, 3], d.kind(("FLOAT32", "INT8")), np.zeros((5, 3)))
    kind = d.tensors[table]["type"]
    rows = d.numbers([0, 4, 2] if d.often(0.9) else [0, 9, 1])
    entries = d.tensor([3, 3], kind if d.often(0.6) else "FLOAT32")
    return Operands([rows, table], [entries])


def _expand(d: Draft) -> Operands:
    shape = d.shape(1, 4)
    axis = d.chance.randint(0, len(shape))
    data = d.tensor(shape, d.kind(KINDS[:5]))
    wanted = [*shape[:axis], 1, *shape[axis:]] if d.often(0.95) else shape
    given = axis if d.often(0.7) else axis - len(shape) - 1
    return Operands([data, d.numbers([given], shape=[] if d.often(0.5) else [1])], [d.like(data, wanted)])


def _fill(d: Draft) -> Operands:
    shape = d.shape(1, 4)
    value = d.tensor([] if d.often(0.93) else [1], d.kind(("FLOAT32", "INT32", "INT8")), np.zeros(1))
    return Operands([d.numbers(shape), value], [d.like(value, shape if d.often(0.95) else [7])])


def _gather(d: Draft) -> Operands:
    shape = d.shape(1, 4)
    axis = d.chance.randrange(len(shape))
    data = d.tensor(shape, d.kind(("FLOAT32", "INT8")))
    rows = d.shape(1, 2)
    indices = d.tensor(rows, "INT32" if d.often() else "INT64", np.zeros(rows))
    options = {"axis": axis if d.often(0.95) else 9, "batch_dims": 0 if d.often(0.9) else d.chance.randint(-1, 3)}
    wanted = shape[:axis] + rows + shape[axis + 1 :]
    return Operands([data, indices], [d.like(data, wanted)], ("GatherOptions", options))


def _gather_nd(d: Draft) -> Operands:
    shape = d.shape(1, 4)
    data = d.tensor(shape, d.kind(("FLOAT32", "INT8")))
    depth = d.chance.randint(1, len(shape) if d.often(0.9) else len(shape) + 2)
    indices = d.tensor([2, depth], "INT32" if d.often() else "INT64", np.zeros((2, depth)))
    return Operands([data, indices], [d.like(data, [2, *shape[depth:]])])


def _l2_pool(d: Draft) -> Operands:
    return _window(d, ("FLOAT32",), "L2_POOL_2D")


def _window(d: Draft, kinds: tuple[str, ...], op: str) -> Operands:
    shape = [d.chance.randint(1, 2), 4, 4, 3] if d.often(0.95) or op != "L2_POOL_2D" else d.shape(3, 5)
    data = d.tensor(shape, d.kind(kinds))
    options = {"padding": "VALID", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    options |= {"fused_activation_function": d.chance.choice(ACTIVATIONS[:4])}
    wanted = [shape[0], 2, 2, 3] if len(shape) == 4 else shape
    return Operands([data], [d.like(data, wanted)], ("Pool2DOptions", options))


def _pool(d: Draft) -> Operands:
    return _window(d, ("FLOAT32", "INT8", "INT16"), d.op)


def _mirror(d: Draft) -> Operands:
    shape = [3] * d.chance.randint(1, 4)
    pads = [[d.chance.randint(0, 1), d.chance.randint(0, 1)] for _ in shape]
    data = d.tensor(shape, d.kind(("FLOAT32", "INT8")))
    rows = len(shape) if d.often(0.95) else len(shape) + 1
    table = (pads * 2)[:rows]
    wanted = [size + sum(pad) for size, pad in zip(shape, pads, strict=True)]
    amounts = d.tensor([rows, 2], "INT32" if d.often() else "INT64", table)
    return Operands([data, amounts], [d.like(data, wanted)], ("MirrorPadOptions", {"mode": "REFLECT"}))


def _pack(d: Draft) -> Operands:
    shape = d.shape(1, 3)
    count, axis = d.chance.randint(1, 3), d.chance.randint(0, len(shape))
    first = d.tensor(shape, d.kind(KINDS[:5]))
    more = [d.tensor(shape, d.tensors[first]["type"]) for _ in range(count - 1)]
    wanted = [*shape[:axis], count, *shape[axis:]]
    output = d.tensor(wanted, d.tensors[first]["type"])
    return Operands([first, *more], [output], ("PackOptions", {"values_count": count, "axis": axis}))


def _unpack(d: Draft) -> Operands:
    shape = d.shape(1, 4)
    axis = d.chance.randrange(len(shape))
    data = d.tensor(shape, d.kind(KINDS[:5]))
    rest = shape[:axis] + shape[axis + 1 :]
    outputs = [d.tensor(rest, d.tensors[data]["type"]) for _ in range(shape[axis])]
    return Operands([data], outputs, ("UnpackOptions", {"num": shape[axis], "axis": axis}))


def _reshape(d: Draft) -> Operands:
    shape = d.shape(1, 4)
    data = d.tensor(shape, d.kind(KINDS))
    wanted = [prod(shape)] if d.often(0.9) else [prod(shape) + 1]
    more = [d.numbers(wanted)] if d.often(0.6) else []
    return Operands([data, *more], [d.like(data, wanted)], ("ReshapeOptions", {"new_shape": wanted}))


def _resize(d: Draft) -> Operands:
    shape = [1, 2, 2, 3] if d.often(0.95) else d.shape(3, 5)
    data = d.tensor(shape, d.kind())
    wanted = [shape[0], 4, 4, shape[-1]] if len(shape) == 4 else shape
    options = {"align_corners": d.often(0.2), "half_pixel_centers": d.often(0.3)}
    name = "ResizeBilinearOptions" if d.op == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
    return Operands([data, d.numbers([4, 4])], [d.like(data, wanted)], (name, options))


def _reverse(d: Draft) -> Operands:
    shape = d.shape(1, 5)
    data = d.tensor(shape, d.kind(KINDS))
    axes = sorted(d.chance.sample(range(len(shape)), d.chance.randint(1, len(shape))))
    return Operands([data, d.numbers(axes if d.often(0.95) else [9])], [d.like(data)])


def _select(d: Draft) -> Operands:
    shape = d.shape(1, 5)
    condition = d.tensor(_stretched(d, shape), "BOOL" if d.often(0.95) else "INT8")
    data = d.tensor(shape, d.kind())
    other = d.tensor(_stretched(d, shape), d.tensors[data]["type"] if d.often(0.95) else "FLOAT32")
    return Operands([condition, data, other], [d.like(data)])


def _shape(d: Draft) -> Operands:
    data = d.tensor(d.shape(), d.kind(KINDS))
    output = d.tensor([len(d.tensors[data]["shape"])], d.chance.choice(("INT32", "INT32", "INT64")))
    return Operands([data], [output], ("ShapeOptions", {}))


def _slice(d: Draft) -> Operands:
    shape = d.shape(1, 5)
    data = d.tensor(shape, d.kind((*KINDS[:5], "BOOL")))
    sizes = [d.chance.randint(1, size) for size in shape]
    kind = "INT32" if d.often(0.8) else "INT64"
    begin, size = (d.tensor([len(shape)], kind, values) for values in ([0] * len(shape), sizes))
    return Operands([data, begin, size], [d.like(data, sizes)])


def _strided(d: Draft) -> Operands:
    shape = [d.chance.randint(2, 4) for _ in range(d.chance.choice((1, 2, 3, 4, 4, 5)))]
    begin = [d.chance.randint(0, 1) for _ in shape]
    end = [d.chance.randint(low + 1, size) if d.often(0.8) else size for low, size in zip(begin, shape, strict=True)]
    step = [d.chance.randint(1, 2) for _ in shape]
    shrink = d.chance.getrandbits(len(shape)) if d.often(0.3) else 0
    lengths = [-(-(high - low) // by) for low, high, by in zip(begin, end, step, strict=True)]
    wanted = [length for axis, length in enumerate(lengths) if not shrink & 1 << axis]
    data = d.tensor(shape, d.kind((*KINDS[:5], "BOOL")))
    options = {"shrink_axis_mask": shrink, "begin_mask": 0 if d.often(0.9) else 1}
    bounds = [d.numbers(values) for values in (begin, end, step)]
    return Operands([data, *bounds], [d.like(data, wanted)], ("StridedSliceOptions", options))


def _split(d: Draft) -> Operands:
    shape = d.shape(1, 4)
    axis = d.chance.randrange(len(shape))
    shape[axis] = 4
    data = d.tensor(shape, d.kind(KINDS[:5]))
    part = [2 if index == axis else size for index, size in enumerate(shape)]
    outputs = [d.tensor(part, d.tensors[data]["type"]) for _ in range(2)]
    given = axis if d.often(0.7) else axis - len(shape)
    axis_tensor = d.numbers([given if d.often(0.95) else 9], shape=[])
    if d.op == "SPLIT":
        return Operands([axis_tensor, data], outputs, ("SplitOptions", {"num_splits": 2}))
    return Operands([data, d.tensor([2], "INT32", [2, 2]), axis_tensor], outputs, ("SplitVOptions", {"num_splits": 2}))


def _squeeze(d: Draft) -> Operands:
    shape = [d.chance.choice((1, 1, 2, 3)) for _ in range(d.chance.randint(1, 5))]
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    axes = d.chance.sample(ones, d.chance.randint(1, len(ones))) if ones and d.often(0.7) else []
    wanted = [size for axis, size in enumerate(shape) if (axis not in axes if axes else size != 1)]
    if not d.often(0.95):
        axes = [0]
    data = d.tensor(shape, d.kind(KINDS))
    return Operands([data], [d.like(data, wanted)], ("SqueezeOptions", {"squeeze_dims": axes}))


def _pad(d: Draft) -> Operands:
    shape = d.shape(1, 6)
    data = d.tensor(shape, d.kind((*KINDS[:4],)))
    pads = [[d.chance.randint(0, 1), d.chance.randint(0, 1)] for _ in shape]
    wanted = [size + sum(pad) for size, pad in zip(shape, pads, strict=True)]
    amounts = d.tensor([len(shape), 2], "INT32", pads)
    kind = d.tensors[data]["type"]
    more = []
    if d.op == "PADV2" and kind in NUMPY:
        more = [d.tensor([1], kind, [0], **(d.tensors[data]["quantization"] or {}))]
    return Operands([data, amounts, *more], [d.like(data, wanted)], ("PadV2Options" if more else "PadOptions", {}))


def _transpose(d: Draft) -> Operands:
    shape = d.shape(1, 6)
    order = d.chance.sample(range(len(shape)), len(shape))
    data = d.tensor(shape, d.kind())
    return Operands([data, d.numbers(order)], [d.like(data, [shape[axis] for axis in order])], ("TransposeOptions", {}))


def _weights(d: Draft, shape: list[int], axis: int, kind: str) -> int:
    """Weights for a kind of activations, with a scale for each output or one."""
    weights_kind = {"FLOAT32": "FLOAT32", "INT8": "INT8", "INT16": "INT8"}.get(kind, "INT8")
    weights_kind = weights_kind if d.often(0.93) else d.kind()
    count = shape[axis] if d.often(0.6) else 1
    steps: dict[str, Any] = {"scale": [0.02] * count, "zero_point": [0] * count, "quantized_dimension": axis}
    steps = {} if weights_kind == "FLOAT32" else steps
    values = np.zeros(shape) if weights_kind in NUMPY else None
    return d.tensor(shape, weights_kind, values, **steps)


def _bias(d: Draft, count: int, data: int) -> list[int]:
    kind = {"INT8": "INT32", "INT16": "INT64"}.get(d.tensors[data]["type"], "FLOAT32")
    unit = (d.tensors[data]["quantization"] or {}).get("scale", [0.0])[0]
    steps = {"scale": [unit * 0.02], "zero_point": [0]} if kind != "FLOAT32" else {}
    return [d.tensor([count], kind, np.zeros(count), **steps)] if d.often(0.8) else []


def _conv(d: Draft) -> Operands:
    data = d.tensor([1, 4, 4, 2], d.kind())
    kind = d.tensors[data]["type"]
    deep = d.op == "DEPTHWISE_CONV_2D"
    weights = _weights(d, [1, 3, 3, 2] if deep else [3, 3, 3, 2], 3 if deep else 0, kind)
    channels = 2 if deep else 3
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    options |= {"fused_activation_function": d.chance.choice(ACTIVATIONS[:4])}
    name = "DepthwiseConv2DOptions" if deep else "Conv2DOptions"
    options |= {"depth_multiplier": 1} if deep else {}
    return Operands([data, weights, *_bias(d, channels, data)], [d.like(data, [1, 4, 4, channels])], (name, options))


def _dense(d: Draft) -> Operands:
    data = d.tensor([2, 4], d.kind())
    weights = _weights(d, [3, 4], 0, d.tensors[data]["type"])
    options = {"fused_activation_function": d.chance.choice(ACTIVATIONS[:4])}
    return Operands([data, weights, *_bias(d, 3, data)], [d.like(data, [2, 3])], ("FullyConnectedOptions", options))


def _transposed(d: Draft) -> Operands:
    data = d.tensor([1, 3, 3, 2], d.kind())
    weights = _weights(d, [3, 2, 2, 2], 0, d.tensors[data]["type"])
    size = d.tensor([4], "INT32", [1, 6, 6, 3])
    options = {"padding": "SAME", "stride_w": 2, "stride_h": 2}
    ends = [size, weights, data, *_bias(d, 3, data)]
    return Operands(ends, [d.like(data, [1, 6, 6, 3])], ("TransposeConvOptions", options))


def _matmul(d: Draft) -> Operands:
    batch = d.shape(0, 4)
    left = d.tensor([*batch, 2, 3], d.kind())
    right = d.like(left, [*batch, 3, 4])
    return Operands([left, right], [d.like(left, [*batch, 2, 4])], ("BatchMatMulOptions", {}))


MAKERS: dict[str, Callable[[Draft], Operands]] = {
    **dict.fromkeys(SAME, _same),
    **dict.fromkeys(PAIRS, _pair),
    **dict.fromkeys(REDUCTIONS, _reduced),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _arg),
    **dict.fromkeys(("BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND"), _blocks),
    **dict.fromkeys(("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"), _depths),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _resize),
    **dict.fromkeys(("SPLIT", "SPLIT_V"), _split),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), _pool),
    **dict.fromkeys(("PAD", "PADV2"), _pad),
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), _conv),
    "ADD_N": _add_n,
    "BATCH_MATMUL": _matmul,
    "BROADCAST_ARGS": _broadcast_args,
    "BROADCAST_TO": _broadcast_to,
    "CAST": _cast,
    "CONCATENATION": _concat,
    "CUMSUM": _cumsum,
    "DEQUANTIZE": _dequantize,
    "DYNAMIC_UPDATE_SLICE": _update,
    "EMBEDDING_LOOKUP": _embedding,
    "EXPAND_DIMS": _expand,
    "FILL": _fill,
    "FULLY_CONNECTED": _dense,
    "GATHER": _gather,
    "GATHER_ND": _gather_nd,
    "L2_POOL_2D": _l2_pool,
    "MIRROR_PAD": _mirror,
    "PACK": _pack,
    "QUANTIZE": _quantize,
    "RESHAPE": _reshape,
    "REVERSE_V2": _reverse,
    "SELECT_V2": _select,
    "SHAPE": _shape,
    "SLICE": _slice,
    "SQUEEZE": _squeeze,
    "STRIDED_SLICE": _strided,
    "TRANSPOSE": _transpose,
    "TRANSPOSE_CONV": _transposed,
    "UNPACK": _unpack,
}
"""Operators by what makes one; control flow, variables and layers with a state are in files of their own."""
OPERATORS = tuple(MAKERS)


def random_file(seed: int, op: str = "") -> bytes:
    """A file of one to three operators: one of `op`, or of any, and curves behind it."""
    d = Draft(seed, op)
    last = d.add(d.op, MAKERS[d.op](d))
    for _ in range(d.chance.choice((0, 0, 1, 2))):
        curve = d.chance.choice(("RELU", "RELU6", "ABS", "NEG", "EXP", "LOGISTIC", "TANH", "RESHAPE", "CAST"))
        options = ("CastOptions", {}) if curve == "CAST" else None
        kept = curve in ("RELU", "RELU6", "NEG")
        output = d.tensor(list(d.tensors[last]["shape"]), d.tensors[last]["type"]) if kept else d.like(last)
        last = d.add(curve, Operands([last], [output], options))
    return d.file()
