"""A Program as C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from firmware_check.swept_calls import KINDS
from onnxlint_cmsis.output.foreign_text import name_in_c

if TYPE_CHECKING:
    import jinja2
    import numpy as np

    from firmware_check.boards import Board
    from firmware_check.library import Library
    from firmware_check.program import Program
    from onnxlint_cmsis.analysis.arena_plan import ArenaPlan


HERE = Path(__file__).resolve().parent
_PER_LINE = 24


def model_source(program: Program, arena: ArenaPlan, board: Board, library: Library, title: str) -> str:
    """The translation unit of a program: constants, arena, one function for each layer."""
    template = _environment().get_template("model.c.j2")
    return template.render(program=program, arena=arena, board=board, library=library, title=title)


def sweep_source(kinds: list[str], library: Library, numbers: dict[str, int]) -> str:
    """The translation unit that measures single calls of these kinds."""
    rows = {kind: KINDS[kind] for kind in kinds}
    return _environment().get_template("sweep.c.j2").render(kinds=rows, library=library, **numbers)


def thunks_source(functions: list[str]) -> str:
    """The assembly that the linker's --wrap sends calls of these functions through."""
    return _environment().get_template("thunks.S.j2").render(functions=functions)


def linker_script(board: Board, stack: int, low: int = 0) -> str:
    """Where the board's memory is; `low` bytes behind the vectors are left free."""
    return _environment().get_template("link.ld.j2").render(board=board, stack=stack, low=low)


def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    environment.filters.update(elements=_elements, x=_x, name_in_c=name_in_c)
    return environment


def _elements(values: np.ndarray) -> str:
    """Numbers for an initialiser, some to a line."""
    texts = [str(value) for value in values.tolist()]
    lines = (texts[start : start + _PER_LINE] for start in range(0, len(texts), _PER_LINE))
    return "".join("    " + ", ".join(line) + ",\n" for line in lines)


def _x(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
