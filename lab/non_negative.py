"""Least squares without negative unknowns: an instruction count cannot be one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def non_negative(matrix: NDArray[np.float64], wanted: Vector) -> Vector:
    """Least squares with no negative unknown (Lawson and Hanson, Solving Least Squares Problems, chapter 23)."""
    scale = np.linalg.norm(matrix, axis=0)
    matrix = matrix / scale
    gram, right = matrix.T @ matrix, matrix.T @ wanted
    size = len(right)
    solution, free = np.zeros(size), np.zeros(size, dtype=bool)
    slack = 1e-9 * float(np.abs(right).max())
    gradient = right.copy()
    while not free.all() and float(gradient[~free].max()) > slack:
        free[int(np.argmax(np.where(free, -np.inf, gradient)))] = True
        solution, free = _feasible(gram, right, solution, free)
        gradient = right - gram @ solution
    return np.asarray(solution / scale, dtype=np.float64)


def _feasible(
    gram: NDArray[np.float64], right: Vector, solution: Vector, free: NDArray[np.bool_]
) -> tuple[Vector, NDArray[np.bool_]]:
    """Solve for the free unknowns, tying those to zero that would turn negative."""
    while True:
        trial = np.zeros(len(right))
        trial[free] = np.linalg.lstsq(gram[np.ix_(free, free)], right[free], rcond=1e-13)[0]
        negative = free & (trial <= 0)
        if not negative.any():
            return trial, free
        steps = solution[negative] / (solution[negative] - trial[negative])
        solution = solution + float(steps.min()) * (trial - solution)
        free = free & (solution > 1e-14)
        solution = np.where(free, solution, 0.0)
