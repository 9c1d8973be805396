"""Loops of functions for f32 and f16 that compute number by number or row by row."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.cmsis_nn.float.counted_loops import Counter, FloatLoops
from onnxlint_cmsis.ground.types import Function

SIGMOID, TANH, LEAKY_RELU = 33, 34, 38
"""Numbers of arm_nn_activation_type_flt."""


def flat(name: str) -> Counter:
    """Return what counts a function that goes over all numbers once, whose pieces are named `name`."""

    def count(loops: FloatLoops) -> None:
        numbers = prod(loops.sizes.image)
        loops.elements(name, 1, numbers)
        loops.add(name, 0, clamped=numbers * loops.floating.clamped * (not loops.mve))

    return count


def batch_norm(loops: FloatLoops) -> None:
    """Count arm_batch_norm."""
    size = loops.sizes
    loops.add("batch_norm", 1, image=size.n, row=size.n * size.in_h)
    loops.elements("batch_norm.pixel", size.n * size.in_h * size.in_w, size.in_c)


def softmax(loops: FloatLoops) -> None:
    """Count arm_softmax, which has a kernel for one pair."""
    size = loops.sizes
    rows = size.n * size.in_h * size.in_w
    if "1x2" in loops.taken.kernel:
        loops.add(f"softmax_1x2{loops.data}", 1)
        return
    loops.add("softmax", 1)
    loops.elements(f"softmax{loops.data}.row", rows, size.in_c)


def activation(loops: FloatLoops) -> None:
    """MVE code has four curves; sigmoid and leaky ReLU are computed one by one."""
    curve, numbers = loops.floating.activation, prod(loops.sizes.image)
    turns = numbers if curve in (32, SIGMOID, LEAKY_RELU) else loops.vectors(numbers)
    loops.add(f"activation.{curve}{loops.data}", 1, turn=turns)


def larger_or_smaller(loops: FloatLoops) -> None:
    """Operands are compared flat as far as they agree; an axis in which they differ is a loop around that."""
    name = "max2" if loops.call.function is Function.MAXIMUM else "min2"
    first, second = (tuple(size or 0 for size in dims) for dims in (loops.call.input_dims, loops.call.filter_dims))
    loops.add(name, 1)
    loops.add(f"{name}.apart", 1 * (first != second))
    for axis in range(4):
        outer = prod(max(pair) for pair in zip(first[:axis], second[:axis], strict=True))
        rest = first[axis:], second[axis:]
        numbers = [prod(sizes) for sizes in rest]
        if rest[0] == rest[1]:
            loops.elements(f"{name}.alike_{axis}", outer, numbers[0])
            return
        if 1 in numbers:
            loops.elements(f"{name}.single_{axis}_{numbers.index(1)}", outer, max(numbers))
            return
        loops.add(f"{name}.axis_{axis}", outer)
