"""The record of one operator: all facts that other rooms ask of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.ground.records import dataclass
from onnxlint_cmsis.model.context import Context, Element
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Roles
from onnxlint_cmsis.operators.answers import CONVERTED, MOVING, NO_DATA, UNCHANGED, Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.new_lane import NewElement, NewLane

if TYPE_CHECKING:
    from onnxlint_cmsis.operators.folds import FoldRule
    from onnxlint_cmsis.operators.moves import Movement
    from onnxlint_cmsis.operators.views import DemandRule, ValueRule


MICROSOFT = "com.microsoft"
"""Domain of ONNX Runtime's own operators."""

TieRule = Callable[[Node, Context], None]
"""Ties, pins and binds the axes of one node; raises NotFollowedError where it cannot."""
SizeRule = Callable[[Node, Context], "tuple[Element, ...] | None"]
"""Sizes that the first output holds, from those that the inputs hold; None where they are not followed."""

COMPUTES = NotFollowed("it computes with the sizes it is given")
OPAQUE = NotFollowed("the numbers it computes are not followed")
BY_WEIGHTS = NotFollowed("the weights tell which columns count")
NO_SHAPE_ARITHMETIC = NotFollowed("exporters do not compute shapes with it")
READS_ALL = NotFollowed("every element of every input may count for every element of the result")


@dataclass(frozen=True, eq=False)
class Operator:
    """One operator, or a name that a format has for it."""

    name: str
    """Operator type."""
    axes: TieRule | NotFollowed
    """Ties and locks of its axes, with the reasons."""
    elements: Elements
    """What the elements of its first output are."""
    risk: Risk
    """When it may make NaN or infinity of finite numbers."""
    layout: Layout
    """How the axes of its tensors lie at run time."""
    new_lane: NewLane | NotFollowed
    """What a new lane of its constants holds."""
    domain: str = ""
    """Operator set domain, empty for the default one."""
    roles: Roles = field(default_factory=Roles)
    """What its inputs are for."""
    zero: tuple[int, ...] = ()
    """Inputs of which zeros make zeros of the result, whatever the other inputs hold there."""
    sizes: SizeRule | NotFollowed = COMPUTES
    """How it carries sizes of tensors that it is given as data."""
    bounds: tuple[float, float] | None = None
    """Least and largest number of the result, whatever the inputs hold; None where there are none."""
    slope: float | None = None
    """By how much the result changes at most where no input changes by more than 1; None where attributes tell it, or
    nothing does."""
    values: ValueRule | NotFollowed = OPAQUE
    """Transfer function: values of the first output from values of the inputs, for present and new lanes."""
    movement: Movement | None = None
    """How the elements of each output lie in the first input, where they are nothing but that; values follow."""
    demand: DemandRule | NotFollowed = READS_ALL
    """Which elements of the inputs some elements of the first output need."""
    fold: FoldRule | NotFollowed = NO_SHAPE_ARITHMETIC
    """What it makes of known integers."""
    of: Operator | None = None
    """For an alias: the operator it stands for."""
    epilogue: str = ""
    """Computation that an alias appends to its operator."""
    own_numbers: bool = False
    """Whether an alias has the shapes of the operator that it stands for alone, and computes other numbers."""

    @property
    def known(self) -> bool:
        """Tell whether the registry has the operator."""
        return bool(self.name)

    @property
    def free(self) -> bool:
        """Tell whether nothing is computed at run time: the same bytes or numbers, or no data at all."""
        return self.elements in UNCHANGED | CONVERTED | NO_DATA

    @property
    def moves(self) -> bool:
        """Tell whether the result holds elements of the inputs and nothing else, whatever their values."""
        return self.elements in MOVING | {Elements.JOINED}

    @property
    def keeps_scale(self) -> bool:
        """Tell whether the result holds nothing but elements of the first input and zeros."""
        return self.elements in MOVING | {Elements.SELECTED}

    @property
    def carries_sizes(self) -> bool:
        """Tell whether sizes of tensors that it is given as data are followed through it."""
        return not isinstance(self.sizes, NotFollowed)

    @property
    def quantizes(self) -> bool:
        """QuantizeLinear of any domain."""
        return self.elements is Elements.QUANTIZED

    @property
    def dequantizes(self) -> bool:
        """DequantizeLinear of any domain."""
        return self.elements is Elements.DEQUANTIZED

    def new_element(self, position: int, inputs: int) -> NewElement | NotFollowed:
        """What a new element of an input is, in a node with this many inputs."""
        if isinstance(self.new_lane, NotFollowed):
            return self.new_lane
        if self.roles.holds_parameters(position, inputs):
            return NewElement.SERVING
        return NewElement.ONE if position in self.new_lane.ones else self.new_lane.element

    @property
    def root(self) -> Operator:
        """Operator at the end of the chain of aliases; the record itself where it is none."""
        return self if self.of is None else self.of.root

    @property
    def canonical(self) -> str:
        """Name of the operator that it is, whatever a format calls it."""
        return self.name if self.own_numbers else self.root.name


if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: PLC0414 - re-exported
else:

    def replace(operator, **facets):
        """Copy a record with other facets, as `dataclasses.replace` does in ten times the time."""
        if unknown := facets.keys() - vars(operator).keys():
            raise TypeError(f"an operator has no {', '.join(sorted(unknown))}")
        copied = object.__new__(Operator)
        vars(copied).update(vars(operator), **facets)
        return copied


def alias(name: str, domain: str, of: Operator, **facets: Any) -> Operator:
    """Record of an operator that stands for another: the facets of the other, but for those that are given."""
    return replace(of, name=name, domain=domain, of=of, **facets)
