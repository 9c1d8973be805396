"""Loops of convolutions for f32 and f16, and of transposed ones."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.float.counted_loops import FloatLoops


def pointwise(loops: FloatLoops) -> None:
    """Count arm_convolve_1x1, as a product or gathered."""
    size = loops.sizes
    if loops.ran("convolve_1x1_nhwc_patch_gemm"):
        loops.add("pointwise.tiles", 1, image=size.n)
        for times, rows in loops.tiles(1):
            loops.add("pointwise.tile", size.n * times, row=size.n * times * rows)
            loops.moved("pointwise.copy", size.n * times * rows, size.in_c)
            loops.product(size.n * times, rows, size.out_c, size.in_c)
    elif size.stride_h == size.stride_w == 1 and (size.in_h, size.in_w) == (size.out_h, size.out_w):
        loops.add("pointwise.plane", 1, image=size.n)
        loops.product(size.n, size.in_h * size.in_w, size.out_c, size.in_c)
    else:
        loops.add("pointwise.each", 1, image=size.n, row=size.n * size.out_h, pixel=size.n * size.pixels)
        loops.product(size.n * size.pixels, 1, size.out_c, size.in_c)


def conv1d(loops: FloatLoops) -> None:
    """Count the kernels of one row with 3 or 5 taps."""
    size, taps = loops.sizes, loops.sizes.filter_w
    packed = loops.taken.kernel.rpartition("_")[0].endswith("packed")
    name = f"conv1d_k{taps}{'_packed' if packed else ''}"
    columns, outputs, depth = size.out_w, size.out_c, size.in_c
    loops.add(name, 1, no_buffer=1 * (loops.buffer == 0))
    if not loops.mve:
        every = columns * outputs
        loops.add(name, 0, column=columns, k=every * depth)
        loops.started(name, every)
    elif packed:
        pairs, odd = divmod(columns, 2)
        whole, some = divmod(outputs, loops.kind.block)
        tail = 1 * (some > 0)
        loops.loop(f"{name}.pairs", 1, pairs)
        loops.add(f"{name}.pairs", 0, none=pairs * (whole == 0), k=pairs * whole * depth)
        loops.add(f"{name}.pairs", 0, whole=1 * (pairs > 0) * (whole > 0))
        loops.started(f"{name}.pairs", pairs * whole)
        if loops.kind.bytes == 2:
            loops.add(f"{name}.part", 0, k=pairs * tail * depth)
            loops.started(f"{name}.part", pairs * tail)
        for word, blocks in (("whole", whole), ("part", tail)):
            loops.add(f"{name}.odd.{word}", odd, k=odd * blocks * depth)
            loops.started(f"{name}.odd.{word}", odd * blocks)
    else:
        step = 2 if loops.kind.bytes == 4 else 4
        loops.add(name, 0, column=columns)
        if taps == 5 and loops.kind.bytes == 4:
            fours = outputs // 4 * (depth == 4)
            loops.loop(f"{name}.four_inputs", columns * (depth == 4), fours)
            loops.started(f"{name}.four_inputs", columns * fours)
            outputs = outputs - 4 * fours
        elif taps == 5 and loops.call.bias:
            sixteens = outputs // 16 * (depth == 16)
            loops.loop(f"{name}.sixteen_inputs", columns * (depth == 16), sixteens)
            outputs = outputs - 16 * sixteens
        groups, single = divmod(outputs, step)
        turns = loops.vectors(depth)
        for word, number in (("group", groups), ("single", single)):
            loops.loop(f"{name}.{word}", columns, number)
            loops.started(f"{name}.{word}", columns * number)
            loops.add(f"{name}.{word}", 0, k=columns * number * turns)
    loops.elements("clamp", 1, columns * size.out_c)


def row_kernel(loops: FloatLoops) -> None:
    """Count arm_convolve_1_x_n, whose outer windows lie partly in padding."""
    size, depth = loops.sizes, loops.sizes.filter_w * loops.sizes.in_c
    starts = [position * size.stride_w - size.pad_w for position in range(size.out_w)]
    inside = [position for position, start in enumerate(starts) if start >= 0 and start + size.filter_w <= size.in_w]
    first = inside[0] if inside else size.out_w
    last = inside[-1] if inside else first - 1
    rows = loops.windows(size.filter_w)
    negative = sum(start < 0 for start in starts[:first])
    loops.add("row", 1, image=size.n, before=negative, between=first - negative, behind=size.out_w - 1 - last)
    for word, side in (("left", range(first)), ("right", range(last + 1, size.out_w))):
        loops.add(f"row.{word}", size.n * (len(side) > 0))
        for at in range(0, len(side), rows):
            part = side[at : at + rows]
            loops.add(f"row.{word}.tile", size.n)
            for position in part:
                start = starts[position]
                before = max(0, -start)
                valid = max(min(start + size.filter_w, size.in_w) - max(start, 0), 0)
                after = size.filter_w - before - valid
                loops.add(
                    "row.window", size.n, cut=size.n * (start + size.filter_w > size.in_w), low=size.n * (start < 0)
                )
                for what, number in (("before", before), ("copy", valid), ("after", after)):
                    if number > 0:
                        loops.moved(f"row.{what}", size.n, number * size.in_c)
            loops.plain_product("nt_t", size.n, len(part), size.out_c, depth)
    if inside:
        loops.plain_product("row.strided", size.n, last + 1 - first, size.out_c, depth)


def gathered_convolution(loops: FloatLoops) -> None:
    """Count a convolution that gathers its windows for a product."""
    size = loops.sizes
    loops.add("gathered", 1, image=size.n)
    loops.gathered(size.n)
    for times, rows in loops.tiles(size.taps):
        loops.add("gathered.tile", size.n * times)
        loops.product(size.n * times, rows, size.out_c, size.depth)


def direct(loops: FloatLoops) -> None:
    """One output after the other; the dot product of a tap over the input channels."""
    size, plane = loops.sizes, loops.sizes.plane
    outputs = size.n * size.pixels * size.out_c
    rows = size.n * size.out_c * plane.h.inside * size.out_w
    taps = size.n * size.out_c * plane.inside
    loops.add("direct", 1, image=size.n, row=size.n * size.out_h, pixel=size.n * size.pixels)
    loops.add("direct", 0, output=outputs, filter_row=outputs * size.filter_h)
    loops.add("direct", 0, first=outputs * (loops.software and not loops.call.bias))
    loops.add("direct", 0, row_inside=rows, tap=rows * size.filter_w, inside=taps)
    loops.add("direct", 0, row_before=size.n * size.out_c * plane.h.before * size.out_w)
    loops.add("direct", 0, tap_before=size.n * size.out_c * plane.h.inside * plane.w.before)
    loops.add("direct", 0, k=taps * loops.vectors(size.in_c))


def transposed(loops: FloatLoops) -> None:
    """Inputs other than zero are spread over the output tap by tap."""
    size = loops.sizes
    pixels, inputs = size.n * size.pixels, size.n * size.in_h * size.in_w * size.in_c

    def hits(outputs: int, axis: tuple[tuple[int, int, int, int], int]) -> tuple[int, int]:
        """Taps on the output, and taps before it."""
        (stride, pad, taps, dilation), inputs = axis
        places = [at * stride - pad + tap * dilation for at in range(inputs) for tap in range(taps)]
        return sum(0 <= position < outputs for position in places), sum(position < 0 for position in places)

    high, above = hits(size.out_h, ((size.stride_h, size.pad_h, size.filter_h, size.dilation_h), size.in_h))
    wide, left = hits(size.out_w, ((size.stride_w, size.pad_w, size.filter_w, size.dilation_w), size.in_w))
    images = size.n * size.in_c
    loops.add("tconv", 1, image=size.n, row=size.n * size.out_h, pixel=pixels, input=inputs)
    loops.add("tconv", 0, input_row=size.n * size.in_h, input_pixel=size.n * size.in_h * size.in_w)
    loops.add("tconv", 0, filter_row=inputs * size.filter_h, row_inside=images * high * size.in_w)
    loops.add("tconv", 0, tap=images * high * size.in_w * size.filter_w)
    loops.add("tconv", 0, row_above=images * above * size.in_w, tap_left=images * high * left)
    loops.elements("tconv.inside", images * high * wide, size.out_c)
    loops.begun("tconv", pixels, size.out_c)
    loops.elements("tconv.clamp", pixels, size.out_c)
