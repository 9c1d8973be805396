"""Random steps that compute in other scales, with constants along an axis, weights by channel, in branches."""

from __future__ import annotations

import math

import numpy as np
from onnx import helper

from support.chain_moves import cut, gather, relu, transpose
from support.small_chains import Chain, Part


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
