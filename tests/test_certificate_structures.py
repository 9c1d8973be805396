"""Files of different structure: what the checker gives one number computes one output, in ONNX Runtime."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.analysis.lane_model import Model
from onnxlint_cmsis.analysis.lane_numbers import Numbers
from onnxlint_cmsis.analysis.lane_values import Lanes
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from onnxlint_cmsis.formats.format import ONNX

MODELS = int(os.environ.get("ONNXLINT_EXAMPLES", "400"))
"""Models that are held against each other."""
FIRST = (1, 2, 4, 3)
"""Sizes of the input."""
LARGEST = 96
"""Elements of a tensor."""


SCALES: dict[str, tuple[float, np.generic]] = {
    "": (1 / 16, np.int8(0)),
    "u": (1 / 16, np.uint8(128)),
    "o": (1 / 16, np.uint8(100)),
    "w": (1 / 8, np.int8(0)),
}
"""Steps and zero-points of tensors, by what their names end in: powers of two, so that floats are exact."""


class Chain:
    """A chain of operators on int8 in steps of 1/16, with few choices, so that many chains compute the same."""

    def __init__(self, seed: int = 0, most: int = 0, more: bool = False) -> None:
        """So many random steps at most; with `more` also those that compute, in several scales and operator sets."""
        self.random, self.shape, self.tensor = random.Random(seed), FIRST, "x"
        self.nodes: list[onnx.NodeProto] = []
        self.constants = [self.constant(np.array(scale, np.float32), f"s{end}") for end, (scale, _) in SCALES.items()]
        self.constants += [self.constant(np.array(zero), f"z{end}") for end, (_, zero) in SCALES.items()]
        self.ends, self.opset = (
            ["", "", "", *SCALES] if more else [""],
            self.random.choice([13, 17, 18, 21]) if more else 17,
        )
        self.averages = 0
        self.add("DequantizeLinear", "s", "z")
        for _ in range(self.random.randint(1, most) if most else 0):
            step = self.random.choice([*STEPS, *2 * COMPUTING] if more else STEPS)
            before = len(self.nodes), len(self.constants), self.shape, self.tensor, self.averages
            step(self)
            if math.prod(self.shape) > LARGEST or min(self.shape) < 1:
                del self.nodes[before[0] :], self.constants[before[1] :]
                self.shape, self.tensor, self.averages = before[2:]

    @property
    def model(self) -> onnx.ModelProto:
        nodes = [*self.nodes, helper.make_node("QuantizeLinear", [self.tensor, "s", "z"], ["y"])]
        ends = (
            [helper.make_tensor_value_info(name, TensorProto.INT8, shape)]
            for name, shape in (("x", FIRST), ("y", self.shape))
        )
        graph = helper.make_graph(nodes, "g", *ends, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def constant(self, values: np.ndarray, name: str = "") -> onnx.TensorProto:
        return numpy_helper.from_array(values, name or f"c{len(self.constants)}")

    def stored(self, values: object, dtype: type = np.int64) -> str:
        self.constants.append(self.constant(np.array(values, dtype)))
        return self.constants[-1].name

    def add(self, op: str, *inputs: str, round_too: bool = False, **attributes: object) -> None:
        result = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.tensor, *inputs], [result], **attributes))
        self.tensor = result
        if round_too:
            end = self.random.choice(self.ends)
            self.add("QuantizeLinear", f"s{end}", f"z{end}")
            self.add("DequantizeLinear", f"s{end}", f"z{end}")


def pad(chain: Chain) -> None:
    axes = chain.random.choice([(2, 3), (3,), (2,), (1,)])
    ahead, behind = ([chain.random.choice([0, 1, 2]) if axis in axes else 0 for axis in range(4)] for _ in range(2))
    chain.add("Pad", chain.stored([*ahead, *behind]), round_too=True)
    chain.shape = tuple(size + a + b for size, a, b in zip(chain.shape, ahead, behind, strict=True))


def reshape(chain: Chain) -> None:
    sizes, total = [1], math.prod(chain.shape)
    for _ in range(2):
        sizes.append(chain.random.choice([size for size in range(1, total + 1) if total % size == 0]))
        total //= sizes[-1]
    chain.shape = (*sizes, total)
    chain.add("Reshape", chain.stored(chain.shape))


def transpose(chain: Chain) -> None:
    order = [0, *chain.random.sample([1, 2, 3], 3)]
    chain.shape = tuple(chain.shape[axis] for axis in order)
    chain.add("Transpose", perm=order)


def cut(chain: Chain) -> None:
    axis, step = chain.random.randrange(1, 4), chain.random.choice([1, 1, 2, -1])
    size = chain.shape[axis]
    start, end = chain.random.choice([(0, size), (1, size), (0, -1), (-2, 1000)])
    if step < 0:
        start, end = -1, -1000
    chain.add("Slice", *(chain.stored([number]) for number in (start, end, axis, step)))
    left = len(range(size)[start : None if end == -1000 else end : step])
    chain.shape = tuple(left if other == axis else size for other, size in enumerate(chain.shape))


def gather(chain: Chain) -> None:
    axis = chain.random.randrange(1, 4)
    size = chain.shape[axis]
    picked = chain.random.choice([[*range(size)], [*range(size)][::-1], [-1, 0], [0, 0]])
    chain.add("Gather", chain.stored(picked), axis=axis)
    chain.shape = tuple(len(picked) if other == axis else size for other, size in enumerate(chain.shape))


def twice(chain: Chain) -> None:
    axis, other = chain.random.randrange(1, 4), chain.tensor
    chain.random.choice([relu, transpose, cut, lambda _: None])(held := Part(chain))
    if all(a == b for at, (a, b) in enumerate(zip(held.shape, chain.shape, strict=True)) if at != axis):
        sizes = [size + held.shape[axis] if at == axis else size for at, size in enumerate(chain.shape)]
        chain.add("Concat", held.tensor, axis=axis)
        chain.shape = tuple(sizes)
    else:
        chain.tensor = other


class Part:
    """A branch of a chain: it adds to the same nodes and leaves the chain's own end."""

    def __init__(self, chain: Chain) -> None:
        self.__dict__.update(chain.__dict__)

    constant, stored, add = Chain.constant, Chain.stored, Chain.add  # its name tells what it is to those who draw


def depth_to_space(chain: Chain) -> None:
    batch, channels, height, width = chain.shape
    if channels % 4 == 0:
        chain.add("DepthToSpace", blocksize=2, mode=chain.random.choice(["DCR", "CRD"]))
        chain.shape = batch, channels // 4, 2 * height, 2 * width
    elif height % 2 == width % 2 == 0:
        chain.add("SpaceToDepth", blocksize=2)
        chain.shape = batch, 4 * channels, height // 2, width // 2


def relu(chain: Chain) -> None:
    if chain.random.random() < 0.5:
        chain.add("Relu", round_too=True)
    else:
        chain.add("Clip", chain.stored(0, np.float32), chain.stored(6, np.float32), round_too=True)


def window(chain: Chain) -> dict[str, object]:
    """Attributes of a window, with the sizes of its result."""
    size = chain.random.choice([1, 2, 3])
    stride = min(size, chain.random.choice([1, 1, 2]))
    form = chain.random.choice(["none", "pads", "upper", "lower", "valid"])
    pads = [chain.random.choice([0, 1]) for _ in range(4)] if form == "pads" and size > 1 else [0, 0, 0, 0]
    told = {"upper": {"auto_pad": "SAME_UPPER"}, "lower": {"auto_pad": "SAME_LOWER"}, "valid": {"auto_pad": "VALID"}}
    sizes = [
        -(-length // stride) if form in ("upper", "lower") else (length + pads[at] + pads[at + 2] - size) // stride + 1
        for at, length in enumerate(chain.shape[2:])
    ]
    chain.shape = (*chain.shape[:2], *sizes)
    more = told.get(form, {"pads": pads} if any(pads) else {})
    return {"kernel_shape": [size, size], "strides": [stride, stride], **more}


def pool(chain: Chain) -> None:
    if chain.random.random() < 0.5:
        chain.add("MaxPool", round_too=True, **window(chain))
    else:
        chain.averages += 1
        counted = chain.random.choice([{}, {"count_include_pad": 1}])
        chain.add("AveragePool", round_too=True, **window(chain), **counted)


def conv(chain: Chain) -> None:
    channels = chain.shape[1]
    told, count = window(chain), chain.random.choice([1, 2])
    values = np.random.default_rng(chain.random.randrange(2)).integers(-2, 3, (2, 4, 3, 3))
    if channels > values.shape[1]:
        chain.shape = (0,)
        return
    size = told["kernel_shape"][0]  # type: ignore[index]
    codes = chain.stored(16 * values[:count, :channels, :size, :size], np.int8)
    weights, chain.tensor = chain.tensor, codes
    chain.add("DequantizeLinear", "s", "z")
    weights, chain.tensor = chain.tensor, weights
    chain.add("Conv", weights, round_too=True, **told)
    chain.shape = (chain.shape[0], count, *chain.shape[2:])


STEPS = [pad, pad, reshape, reshape, transpose, cut, gather, twice, depth_to_space, relu, pool, pool, conv]


# Steps that compute: in other scales, with constants along an axis, with weights by channel, in two branches.


def again(chain: Chain) -> None:
    chain.add("Identity", round_too=True)


def beside(chain: Chain) -> str:
    """A constant that fits the tensor along an axis, or everywhere, in real numbers that are whole steps."""
    axis = chain.random.choice([None, 1, 2, 3])
    sizes = [size if at == axis else 1 for at, size in enumerate(chain.shape)]
    values = np.resize([0.5, 0.5, -1.0] if chain.random.random() < 0.7 else [0.0], math.prod(sizes))
    return chain.stored(values.reshape(sizes[chain.random.choice([0, axis or 3]) :]), np.float32)


def constant_operand(chain: Chain) -> None:
    chain.add(chain.random.choice(["Add", "Add", "Sub", "Mul", "Max", "Min"]), beside(chain), round_too=True)


def two_branches(chain: Chain) -> None:
    chain.random.choice([relu, transpose, cut, gather, again, lambda _: None])(held := Part(chain))
    if held.shape == chain.shape:
        chain.averages = held.averages
        if chain.random.random() < 0.5:
            chain.tensor, held.tensor = held.tensor, chain.tensor
        chain.add(chain.random.choice(["Add", "Sub", "Mul", "Max"]), held.tensor, round_too=True)


def bend(chain: Chain) -> None:
    chain.add(
        *chain.random.choice([("Abs",), ("Neg",), ("Sqrt",), ("HardSwish",)][: 3 + (chain.opset > 13)]), round_too=True
    )


def part(chain: Chain) -> None:
    axis = chain.random.randrange(1, 4)
    size = chain.shape[axis]
    first = chain.random.choice([1, size - 1])
    if 0 < first < size:
        whole, sizes = chain.tensor, chain.stored([first, size - first])
        names = [f"p{len(chain.nodes)}", f"q{len(chain.nodes)}"]
        chain.nodes.append(helper.make_node("Split", [whole, sizes], names, axis=axis - chain.random.choice([0, 4])))
        taken = chain.random.randrange(2)
        chain.tensor = names[taken]
        chain.shape = tuple([first, size - first][taken] if at == axis else n for at, n in enumerate(chain.shape))


def ones(chain: Chain) -> None:
    axis = chain.random.randrange(5)
    chain.add("Unsqueeze", chain.stored([axis - chain.random.choice([0, 5])]))
    sizes = [*chain.shape[:axis], 1, *chain.shape[axis:]]
    left = chain.random.choice([at for at, size in enumerate(sizes) if size == 1])
    chain.add("Squeeze", chain.stored([left - chain.random.choice([0, 5])]))
    chain.shape = tuple(size for at, size in enumerate(sizes) if at != left)
    if chain.shape[0] != 1:
        chain.shape = (0,)


def weights_by_channel(chain: Chain) -> None:
    """A convolution, transposed or not, whose scales lie along an axis, with a bias in it or behind it."""
    channels, back = chain.shape[1], chain.random.random() < 0.4
    size, stride, spread = chain.random.choice([1, 2]), chain.random.choice([1, 1, 2]), chain.random.choice([1, 1, 2])
    groups = chain.random.choice([1, 1, 2]) if channels % 2 == 0 else 1
    if channels > 4 or stride > size:
        chain.shape = (0,)
        return
    values = np.random.default_rng(chain.random.randrange(2)).integers(-2, 3, (2, 4, 2, 2))[:, : channels // groups]
    values = values[..., :size, :size] if not back or groups == 1 else np.zeros((0, 0, 0, 0), int)
    axis, end = int(back), chain.random.choice(["s", ""])
    scales = np.array([1 / 16, 1 / 8] if end else [1 / 16], np.float32)
    codes = 16 * (values.swapaxes(0, 1) if back else values)
    if not codes.size:
        chain.shape = (0,)
        return
    data, chain.tensor = chain.tensor, chain.stored(codes, np.int8)
    turned = chain.random.random() < 0.3
    if turned:
        chain.constants[-1].CopyFrom(chain.constant(codes.swapaxes(0, 1).astype(np.int8), chain.tensor))
    along = axis ^ turned
    chain.add("DequantizeLinear", chain.stored(scales if end else scales[0], np.float32), axis=along)
    if turned:
        chain.add("Transpose", perm=[1, 0, 2, 3])
    weights, chain.tensor = chain.tensor, data
    pads = [chain.random.choice([0, 1]) for _ in range(4)] if size > 1 else [0, 0, 0, 0]
    told = {"strides": [stride] * 2, "dilations": [spread] * 2, "group": groups, "pads": pads}
    bias = chain.random.choice([None, [0.5, -1.0], [0.0, 0.0]])
    inside = bias is not None and chain.random.random() < 0.5
    more = [chain.stored(bias, np.float32)] if inside else []
    reach = spread * (size - 1) + 1
    if back:
        grown = chain.random.randrange(stride)
        chain.add("ConvTranspose", weights, *more, output_padding=[grown, grown], **told)
        plane = [(n - 1) * stride + reach + grown - pads[at] - pads[at + 2] for at, n in enumerate(chain.shape[2:])]
    else:
        chain.add("Conv", weights, *more, **told)
        plane = [(n + pads[at] + pads[at + 2] - reach) // stride + 1 for at, n in enumerate(chain.shape[2:])]
    if bias is not None and not inside:
        chain.add("Add", chain.stored(np.reshape(bias, chain.random.choice([(2, 1, 1), (1, 2, 1, 1)])), np.float32))
    chain.add("Identity", round_too=True)
    chain.shape = (1, 2, *plane)


def matrix(chain: Chain) -> None:
    """A matrix product along the last axis."""
    columns, count = chain.shape[3], chain.random.choice([1, 2])
    values = np.random.default_rng(chain.random.randrange(2)).integers(-2, 3, (8, 2))
    if columns > len(values):
        chain.shape = (0,)
        return
    data, chain.tensor = chain.tensor, chain.stored(16 * values[:columns, :count], np.int8)
    chain.add("DequantizeLinear", "s", "z")
    weights, chain.tensor = chain.tensor, data
    flat = chain.random.random() < 0.5
    if flat:
        chain.add("Reshape", chain.stored([-1, columns]))
        chain.add("Gemm", weights, chain.stored([0.0] * count, np.float32))
        chain.add("Reshape", chain.stored([*chain.shape[:3], count]))
    else:
        chain.add("MatMul", weights)
    chain.add("Identity", round_too=True)
    chain.shape = (*chain.shape[:3], count)


def whole_plane(chain: Chain) -> None:
    chain.averages += 1
    if chain.random.random() < 0.3:
        chain.add("GlobalAveragePool", round_too=True)
    elif chain.opset < 18:
        chain.add("ReduceMean", round_too=True, axes=chain.random.choice([[2, 3], [-1, 2]]))
    else:
        chain.add("ReduceMean", chain.stored(chain.random.choice([[2, 3], [-1, 2]])), round_too=True)
    chain.shape = (*chain.shape[:2], 1, 1)


COMPUTING = [
    again,
    constant_operand,
    constant_operand,
    two_branches,
    bend,
    part,
    ones,
    weights_by_channel,
    matrix,
    whole_plane,
]


def assert_equal_numbers_mean_equal_outputs(chains: Iterable[Chain]) -> tuple[int, int]:
    """Give how many chains the checker knows, and how many of them share their number with another one."""
    table, groups = Numbers(), dict[tuple[object, ...], list[Chain]]()
    for chain in chains:
        model = Model(ONNX.load("m.onnx", chain.model.SerializeToString()), table)
        value = model.values.get("y")
        if isinstance(value, Lanes):
            groups.setdefault((value.shape, model.over(value, ()).ids.tobytes()), []).append(chain)
    inputs = [np.random.default_rng(seed).integers(-128, 128, FIRST).astype(np.int8) for seed in range(20)]
    shared = [group for group in groups.values() if len({chain.model.SerializeToString() for chain in group}) > 1]
    for group in shared:
        sessions = [RuntimeSession(chain.model.SerializeToString(), Optimization.NONE) for chain in group]
        for values in inputs:
            first, *others = (session.run({"x": values})[0].astype(int) for session in sessions)
            for chain, other in zip(group[1:], others, strict=True):
                allowed = group[0].averages + chain.averages  # their sums of floats may round a half either way
                assert np.abs(first - other).max(initial=0) <= allowed, (group[0].nodes, chain.nodes)
    return sum(map(len, groups.values())), sum(map(len, shared))


def test_random_chains_with_one_number_compute_the_same() -> None:
    known, shared = assert_equal_numbers_mean_equal_outputs(Chain(seed, 4) for seed in range(MODELS))
    assert known > 0.9 * MODELS
    assert shared > 0.05 * MODELS


def test_random_chains_that_compute_with_one_number_compute_the_same() -> None:
    known, shared = assert_equal_numbers_mean_equal_outputs(Chain(seed, 3, more=True) for seed in range(MODELS))
    assert known > 0.9 * MODELS
    assert shared > 0.05 * MODELS


def padded_chains() -> Iterator[Chain]:
    """Every small Pad of the plane, what may turn the plane, and a window."""
    for amounts in product(range(3), repeat=4):
        for way in ("as it is", "turned", "reshaped", "behind zeros"):
            for last in ("1 x 1", "largest", "average"):
                chain = Chain()
                ahead, behind = amounts[:2], amounts[2:]
                chain.add("Pad", chain.stored([0, 0, *ahead, 0, 0, *behind]), round_too=True)
                plane = [size + a + b for size, a, b in zip(FIRST[2:], ahead, behind, strict=True)]
                if way == "turned":
                    chain.add("Transpose", perm=[0, 1, 3, 2])
                    plane = plane[::-1]
                elif way == "reshaped":
                    plane = plane[::-1]
                    chain.add("Reshape", chain.stored([1, 2, *plane]))
                elif way == "behind zeros":
                    chain.add("Pad", chain.stored([0, 0, 0, 1, 0, 0, 0, 0]), round_too=True)
                    plane[1] += 1
                chain.shape = (1, 2, *plane)
                if last == "1 x 1":
                    convolve(chain)
                else:
                    op, counted = ("MaxPool", {}) if last == "largest" else ("AveragePool", {"count_include_pad": 1})
                    chain.averages = int(last == "average")
                    chain.add(op, round_too=True, kernel_shape=[2, 2], auto_pad="SAME_UPPER", **counted)
                yield chain


def convolve(chain: Chain) -> None:
    data = chain.tensor
    chain.tensor = chain.stored([[[[16]], [[-32]]]], np.int8)
    chain.add("DequantizeLinear", "s", "z")
    weights, chain.tensor = chain.tensor, data
    chain.add("Conv", weights, round_too=True)
    chain.shape = (chain.shape[0], 1, *chain.shape[2:])


def test_padded_planes_with_one_number_compute_the_same() -> None:
    known, shared = assert_equal_numbers_mean_equal_outputs(padded_chains())
    assert known == 3 * 4 * 3**4
    assert shared > 50
