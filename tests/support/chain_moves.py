"""Random steps of a chain that move elements, or compute in one scale."""

from __future__ import annotations

import math

import numpy as np

from support.small_chains import Chain, Part


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
