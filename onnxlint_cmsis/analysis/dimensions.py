"""What every axis of a model is made of: classes, resolved axes, and numbers in the file that name sizes."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.records import dataclass
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.axes import Axis, AxisForm, axis_text, leaves
from onnxlint_cmsis.model.variables import Lock


class Decider(NamedTuple):
    """A layer whose constant weights have the class along one of their channel axes."""

    node: int
    """`Node.index`."""
    label: str
    """`Node.label`."""
    op_type: str
    """Operator."""


class DimensionClass(NamedTuple):
    """Axes, or pieces of axes, that have one size in common."""

    id: int
    """Number of its leaf and its position in `Dimensions.classes`, in the order of the layers."""
    size: int
    """Channels now."""
    members: tuple[tuple[str, int], ...]
    """Tensor and axis, in order of first appearance; the class may be only a part of the axis (`Dimensions.axis`)."""
    deciders: tuple[Decider, ...]
    """Layers whose weights have the class along their output channels."""
    readers: tuple[Decider, ...]
    """Layers whose weights have the class along their input channels."""
    freedom: Freedom
    """FREE: one decider; COUPLED: several; LOCKED: may not change."""
    locks: tuple[Lock, ...]
    """Why it may not change; empty unless LOCKED."""


@dataclass(frozen=True, repr=False)
class SizeName:
    """A number in the file that names sizes and has to follow them: `sign` times the sum of the parts' sizes."""

    node: int
    """`Node.index` of the node that reads it."""
    position: int
    """Input of that node, -1 for an attribute."""
    attribute: str
    """Attribute, empty for an input."""
    element: int
    """Element of the input or attribute."""
    tensor: str
    """Constant that the number was read from, empty for an attribute."""
    index: int
    """Element of that constant."""
    parts: tuple[Axis, ...]
    """Axes whose sizes are summed."""
    sign: int
    """1, or -1 where the number counts from the end."""


@dataclass(frozen=True, eq=False, repr=False)
class Dimensions:
    """What every axis of a model is made of."""

    classes: tuple[DimensionClass, ...]
    """All classes that some layer's weights decide or read, by id."""
    size_names: tuple[SizeName, ...]
    """Every number in the file that names a size."""
    _axes: dict[str, tuple[Axis, ...]]
    _uses: dict[tuple[int, int], tuple[Axis, ...]]
    _locks: dict[int, tuple[Lock, ...]]
    _multipliers: dict[int, Axis]
    _classes: dict[int, DimensionClass]

    def axes(self, tensor: str) -> tuple[Axis, ...] | None:
        """Axes of a tensor; None where its rank is unknown. For a shared constant vector, those of its first use."""
        return self._axes.get(tensor)

    def axis(self, tensor: str, axis: int) -> Axis:
        """One axis. Raises KeyError for a tensor of unknown rank, IndexError outside the rank."""
        return self._axes[tensor][axis]

    def input_axes(self, node: int, position: int) -> tuple[Axis, ...] | None:
        """Axes of a constant vector as one node uses it; None where the input is no such constant.

        A constant with at most one axis longer than 1 has separate axes for each use, since one zero tensor may serve
        layers of unrelated sizes: copy it before resizing one use.
        """
        return self._uses.get((node, position))

    def class_of(self, tensor: str, axis: int) -> DimensionClass | None:
        """Class of an axis that is exactly one class; None for structures, locked sizes and unknown tensors."""
        axes = self._axes.get(tensor)
        return self._class(axes[axis]) if axes is not None and -len(axes) <= axis < len(axes) else None

    def leaves(self, tensor: str, axis: int) -> tuple[int, ...]:
        """Numbers of the leaves of an axis in order, each once; those below `len(classes)` are class ids."""
        return leaves(self.axis(tensor, axis))

    def channel_text(self, tensor: str, axis: int) -> str:
        """Axis for a person: `64`, `[8 + 8]`, `12 = 4 x 3`."""
        return axis_text(self.axis(tensor, axis))

    def locks(self, tensor: str, axis: int) -> tuple[Lock, ...]:
        """Every reason why some part of the axis may not change."""
        return tuple(dict.fromkeys(lock for leaf in self.leaves(tensor, axis) for lock in self._locks.get(leaf, ())))

    def multiplier_class(self, node: int) -> DimensionClass | None:
        """Channel multiplier of a depthwise layer; None where it is 1 or the layer is none.

        That of a convolution with one group over one input channel is its output channels.
        """
        axis = self._multipliers.get(node)
        return None if axis is None else self._class(axis)

    def class_with_id(self, leaf: int) -> DimensionClass | None:
        """Class of a leaf; None for a leaf that no layer's weights decide or read, or of unknown size."""
        return self._classes.get(leaf)

    def _class(self, axis: Axis) -> DimensionClass | None:
        return self._classes.get(axis.leaf) if axis.form is AxisForm.LEAF else None
