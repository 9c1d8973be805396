"""What the records of operators of both formats have in common."""

from __future__ import annotations

from onnxlint_cmsis.operators.record import NewLane, NotFollowed, Operator


def answers_or_declines_new_lane(operator: Operator) -> bool:
    """Whether a record says what new lanes hold exactly where its axes are followed, and a reason elsewhere."""
    if callable(operator.axes):
        return isinstance(operator.new_lane, NewLane)
    return isinstance(operator.new_lane, NotFollowed) and bool(operator.new_lane.because)
