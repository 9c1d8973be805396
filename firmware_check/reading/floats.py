"""The walk over a float model. The host gives what no layer makes: the model's inputs, and results of other nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import onnx

from firmware_check.program import FLOAT_NUMBERS, Program
from firmware_check.reading.float_activations import FLOAT_BUILDS
from firmware_check.reading.float_space import FloatSpace
from firmware_check.reading.read import Walk, best_program
from firmware_check.reading.stored_numbers import StoredNumbers
from onnxlint_cmsis.lower.epilogue import REALS
from onnxlint_cmsis.lower.lowering import lower

if TYPE_CHECKING:
    from firmware_check.library import Library
    from firmware_check.reading.builders import Build
    from onnxlint_cmsis.ground.types import FloatCall
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Graph, Node


def read_float_program(path: str, graph: Graph, library: Library, assume: str, given: FloatCall) -> Program:
    """The layers of a float model that functions for `assume` (`f32`, `f16`) compute; `given` is what calls get.

    Raises:
        FirmwareError: the model has no layer for CMSIS-NN.

    """
    stored, lowered = StoredNumbers(onnx.load(path), graph), lower(graph, assume, floating=given)
    spaces = [FloatSpace(graph, stored, library, last, FLOAT_NUMBERS[assume]) for last in (True, False)]
    return best_program(FloatWalk(space, lowered).program() for space in spaces)


class FloatWalk(Walk):
    """One walk over the nodes of a float model."""

    @property
    def builds(self) -> Mapping[str, Build]:  # type: ignore[override]
        """What builds a layer, by the stem of its entry point or its kind of reference code."""
        return FLOAT_BUILDS

    def moves(self, node: Node, record: LoweredLayer | None) -> bool:
        """Tell whether a node is another way to read memory; a Transpose that is a call is a layer."""
        name, space = node.inputs[0], self._space
        if record is not None or space.stored.fixed(name) or space.graph.elem_type(name) not in REALS:
            return False
        space.known(name)
        return True
