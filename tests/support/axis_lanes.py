"""Where the lanes of a leaf sit along an axis, by running its structure: what the arrays are held against."""

from __future__ import annotations

from onnxlint_cmsis.model.axes import Axis, AxisForm


def lanes(axis: Axis, leaf: int) -> tuple[tuple[int, ...], ...]:
    """Indices along the axis at which each lane of a leaf sits: one tuple per lane, ascending.

    `Product(H, W, C)`, leaf C: lane c sits at c, C + c, 2C + c, ... . A leaf that occurs twice has the indices of
    both places. Empty where the leaf is not in the axis. Raises ValueError where a size is symbolic.
    """
    indices: dict[int, list[int]] = {}
    for index, held in enumerate(_lanes_of_cells(axis, leaf)):
        for lane in held:
            indices.setdefault(lane, []).append(index)
    return tuple(tuple(indices[lane]) for lane in sorted(indices))


def _lanes_of_cells(axis: Axis, leaf: int) -> list[tuple[int, ...]]:
    """Lanes of the leaf that each index of the axis belongs to; two where the leaf is two factors of it."""
    if axis.size is None:
        raise ValueError("the axis has a symbolic size, so its indices are not known")
    if axis.form is AxisForm.LEAF:
        return [(lane,) if axis.leaf == leaf else () for lane in range(axis.size)]
    held = [_lanes_of_cells(part, leaf) for part in axis.parts]
    if axis.form is AxisForm.CONCAT:
        return [lane for part in held for lane in part]
    grid: list[tuple[int, ...]] = [()]
    for part in held:
        grid = [tuple(dict.fromkeys(outer + inner)) for outer in grid for inner in part]
    return grid
