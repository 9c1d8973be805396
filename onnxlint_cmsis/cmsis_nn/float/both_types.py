"""What the tables of f32 and f16 share."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of, greater
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, Origin, ScratchSize
from onnxlint_cmsis.cmsis_nn.terms import Term
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa

SINCE = "main"
"""First release with these functions."""
SUPPORT = "Source/NNSupportFunctions/"
Lines = tuple[int, int]
"""A line in the file for f32 and in that for f16."""


class FloatType(NamedTuple):
    """A type of floating-point numbers."""

    name: str
    """End of the functions' names."""
    bytes: int
    """Of a number."""
    block: int
    """Columns of a block of packed weights: the lanes of an MVE register."""

    def at(self, path: str, function: str, lines: Lines, isas: tuple[Isa, ...] = ALL_ISAS) -> Origin:
        """A place in the source; `path` and `function` lack the type, `function` may be a static one of the file."""
        line = lines[FLOAT_TYPES.index(self)]
        return Origin(f"{path}_{self.name}.c", f"{function}_{self.name}", {SINCE: line}, isas)

    def size_function(self, name: str, lines: Lines, isas: tuple[Isa, ...] = ALL_ISAS) -> Origin:
        """A place in a function that answers a buffer's size; `name` lacks `arm_` and the type."""
        origin = self.at(f"{SUPPORT}arm_get_buffer_size", f"arm_{name}", lines, isas)
        return origin._replace(function=f"{origin.function}_get_buffer_size")

    def kernel(self, name: str) -> str:
        """A function by its name without `arm_` and the type."""
        return f"arm_{name}_{self.name}"


F32, F16 = FloatType("f32", 4, 4), FloatType("f16", 2, 8)
FLOAT_TYPES = (F32, F16)
LARGEST = 2**31 - 1
"""Largest number of bytes that a size function answers; more becomes 0 (arm_nn_size_to_i32_or_zero)."""


def sized(number: Term, origin: Origin, when: Condition = TRUE) -> tuple[ScratchSize, ...]:
    """A case of a size function, and the one where its number does not fit an int32_t."""
    too_large = ScratchSize(number - number, origin, all_of(when, greater(number, LARGEST)))
    return too_large, ScratchSize(number, origin, when)


def at(path: str, function: str, **lines: int) -> Origin:
    """A place in the files of both types: path and function lack the type, and each type that has it has a line."""
    return Origin(path, function, lines)


def of_types(*rows: Hazard) -> tuple[Hazard, ...]:
    """The rows of f32, then those of f16. Ids, entry points and functions lack the type, places are those of `at`."""

    def typed(row: Hazard, kind: FloatType) -> Hazard:
        def named_all(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(f"{name}_{kind.name}" for name in names)

        read = row.origin
        return row._replace(
            id=f"{row.id}-{kind.name}",
            entries=named_all(row.entries),
            of_kernels=None if row.of_kernels is None else named_all(row.of_kernels),
            origin=Origin(
                f"{read.file}_{kind.name}.c",
                read.function if kind.name in read.function else f"{read.function}_{kind.name}",
                {SINCE: read.lines[kind.name]},
                read.isas,
            ),
        )

    return tuple(typed(row, kind) for kind in FLOAT_TYPES for row in rows if kind.name in row.origin.lines)
