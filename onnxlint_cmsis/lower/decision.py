"""Why a node is not computed by CMSIS-NN: the outcome with its cause and reason."""

from __future__ import annotations

from enum import Enum

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.outcome import Outcome


class Cause(str, Enum):
    """Why no function of CMSIS-NN computes a node, for programs."""

    NO_FUNCTION = "no-function"
    """CMSIS-NN has no function for the operator and data type, in this release or in any."""
    RANK = "rank"
    """Too many or too few axes."""
    ATTRIBUTE = "attribute"
    """An attribute or input that the function has no argument for."""
    AXIS = "axis"
    """It runs over an axis that is not the last in memory."""
    BROADCAST = "broadcast"
    """Operands of different shapes."""
    OPERAND_CONSTANT = "operand-constant"
    """An operand is a constant that no layer in front takes in."""
    OPERAND_COMPUTED = "operand-computed"
    """An operand is computed where the function takes constants."""
    CLAMP_SCALE = "clamp-scale"
    """A clamp behind a change of scale."""
    ACTIVATION_TYPE = "activation-type"
    """Activations of another type than int8, uint8 or int16, or of several types."""
    WEIGHT_TYPE = "weight-type"
    """Weights that are no integers of 4 or 8 bits."""
    WEIGHT_ZERO_POINT = "weight-zero-point"
    """Weights with a zero-point."""
    WEIGHT_SCALES = "weight-scales"
    """Weights with scales along another axis than that of the output channels, in blocks, or too many."""
    NO_PER_CHANNEL = "no-per-channel"
    """A scale for each output of a fully connected layer, in a release whose function takes one."""
    ZERO_POINT_S16 = "zero-point-s16"
    """int16 activations with a zero-point."""
    UNEQUAL_SCALES = "unequal-scales"
    """Input and output have different scales or zero-points."""
    SOFTMAX_SCALE = "softmax-scale"
    """Softmax's output has another scale or zero-point than the function gives it."""
    SCALE = "scale"
    """A scale that is not finite and above 0, or a multiplier out of range."""
    DYNAMIC_QUANTIZATION = "dynamic-quantization"
    """Scales known only at run time."""
    FLOAT = "float"
    """It computes in float in a quantized model."""
    FLOAT_RESULT = "float-result"
    """Its result is not quantized."""
    GROUPS = "groups"
    """The release computes a grouped convolution as a dense one."""
    RUNTIME = "runtime"
    """The runtime does not call the function for it."""
    LAYOUT = "layout"
    """No node: a copy from one memory order to another, in front of a layer."""
    SHAPE = "shape"
    """The rank or sizes of its operands are unknown."""


class Decision(NamedTuple):
    """Why a node is not computed by CMSIS-NN."""

    verdict: Outcome
    """Who computes it instead."""
    cause: Cause
    """Why, for programs."""
    reason: str
    """Why, as a clause for people; it names no tensor, so that equal reasons are one."""
    code: str = ""
    """Kind of reference code that computes it, a key of REFERENCE_TYPES; empty for every other verdict."""


def reference(cause: Cause, reason: str, code: str) -> Decision:
    """Reference code of a kind computes the node."""
    return Decision(Outcome.REFERENCE, cause, reason, code)


def no_kernel(cause: Cause, reason: str) -> Decision:
    """No kernel computes the node."""
    return Decision(Outcome.NO_KERNEL, cause, reason)


UNDECIDED = Decision(Outcome.UNDECIDED, Cause.SHAPE, "the rank or sizes of its operands are unknown")
"""A node that cannot be lowered for want of a shape, not of a kernel."""
