"""Control flow, recurrence, random numbers, and operators whose output does not come from data."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.operators.facets import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.integer_folds import fold_constant_of_shape
from onnxlint_cmsis.operators.new_lane import NO_NEW_LANES, ZEROS
from onnxlint_cmsis.operators.record import Operator, TieRule
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties import control_ties as ties

NO_DATA = Roles(data=())
DRAWN = NotFollowed("its numbers are drawn anew in every run")


def _source(name: str, axes: TieRule | NotFollowed, elements: Elements, roles: Roles = NO_DATA) -> Operator:
    """Record of an operator that computes nothing from the elements of its inputs itself."""
    new_lane = NO_NEW_LANES if isinstance(axes, NotFollowed) else ZEROS
    return Operator(name, axes, elements, Risk.NONE, Layout.EITHER, roles=roles, new_lane=new_lane)


def _recurrent(name: str) -> Operator:
    return Operator(name, ties.recurrent, Elements.COMPUTED, Risk.NONE, Layout.ORDERED, new_lane=ZEROS)


CONSTANT = _source("Constant", ties.constant, Elements.STORED)
CONSTANT_OF_SHAPE = replace(
    _source("ConstantOfShape", ties.constant_of_shape, Elements.REPEATED, Roles(data=(), sizes=(0,))),
    fold=fold_constant_of_shape,
)
IF = _source("If", ties.branches, Elements.BODIES)
SHAPE = _source("Shape", ties.shape, Elements.SIZES)

CONTROL = (
    *(CONSTANT, CONSTANT_OF_SHAPE, IF, SHAPE),
    _source("Loop", ties.crossing, Elements.BODIES),
    _source("Scan", ties.crossing, Elements.BODIES),
    _recurrent("GRU"),
    _recurrent("LSTM"),
    _recurrent("RNN"),
    _source("Size", ties.count, Elements.SIZES),
    _source("Bernoulli", DRAWN, Elements.RANDOM, Roles()),
    _source("Multinomial", DRAWN, Elements.RANDOM, Roles()),
    _source("RandomNormal", DRAWN, Elements.RANDOM),
    _source("RandomNormalLike", DRAWN, Elements.RANDOM),
    _source("RandomUniform", DRAWN, Elements.RANDOM),
    _source("RandomUniformLike", DRAWN, Elements.RANDOM),
)
