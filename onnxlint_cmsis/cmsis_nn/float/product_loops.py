"""Loops of fully connected layers, matrix products and recurrent layers for f32 and f16."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.float.counted_loops import FloatLoops


def dense(loops: FloatLoops) -> None:
    """Count arm_fully_connected."""
    loops.add("dense", 1)
    depth = loops.call.filter_dims.n
    loops.product(1, loops.sizes.n, loops.sizes.out_c, 0 if depth is None else depth)


def batch_product(loops: FloatLoops) -> None:
    """Count arm_batch_matmul."""
    left, right, result = loops.call.input_dims, loops.call.filter_dims, loops.call.output_dims
    rows, columns, depth = left.c or 0, right.c or 0, right.w or 0
    calls = (result.n or 0) * (result.h or 0)
    loops.add("bmm", 1, image=result.n or 0, matrix=calls)
    if not loops.floating.adj_x and not loops.floating.adj_y:
        loops.product(calls, rows, columns, depth)
        return
    both = loops.floating.adj_x and loops.floating.adj_y
    name = f"bmm.{'both' if both else 'left' if loops.floating.adj_x else 'right'}"
    every = calls * rows
    loops.add(name, calls, row=every, output=every * columns, k=every * columns * loops.vectors(depth))


GATES = 4
"""Input, forget, cell and output."""


def recurrent(loops: FloatLoops) -> None:
    """An LSTM unit by unit; the first step has no hidden state. MVE code takes a register full of units at a time."""
    size = loops.sizes
    steps, units = size.n * size.in_w, size.out_c
    behind = size.n * (size.in_w - 1)
    loops.add("lstm", 1, step=size.in_w, sequence=steps, time_major=1 * size.time_major)
    loops.add("lstm.clear", size.n * units)
    blocks = units // loops.lanes * loops.mve
    for word, count in (("many", blocks * loops.lanes), ("single", units - blocks * loops.lanes)):
        loops.add(f"lstm.{word}", steps * (count > 0), k=GATES * steps * count * loops.vectors(size.in_c))
        gates = GATES * behind * count
        loops.add(f"lstm.{word}.hidden", gates, k=gates * loops.vectors(units))
        loops.started(f"lstm.{word}", GATES * steps * count)
        loops.add(f"lstm{loops.data}.{word}", steps * count)


def filtered(loops: FloatLoops) -> None:
    """A singular value decomposition filter: the memory moves on, then products of features and of their memory."""
    size, features, memory = loops.sizes, loops.call.filter_dims.n or 0, loops.sizes.filter_h
    every, units = size.n * features, size.out_c
    loops.add("svdf", 1, image=size.n)
    loops.elements("svdf.shift", every, memory - 1)
    loops.blocks("svdf.shift.block", every, memory - 1)
    for word, depth in (("feature", size.in_c), ("memory", memory)):
        name = f"svdf.{word}"
        loops.loop(name, every, depth // 4 if loops.mve and loops.kind.bytes == 4 else loops.vectors(depth))
        if loops.mve and loops.kind.bytes == 4:
            loops.loop(f"{name}.tail", every, depth % 4)
    single = 1 * (units == features and loops.call.bias)
    name = f"svdf.{'biased' if loops.call.bias else 'unbiased'}"
    loops.elements(f"{name}.single", size.n * single, units)
    loops.loop(name, size.n * (1 - single), units)
    loops.loop(f"{name}.rank", size.n * (1 - single) * units, features // max(1, units))
    loops.elements("svdf.clamp", 1, size.n * units)
