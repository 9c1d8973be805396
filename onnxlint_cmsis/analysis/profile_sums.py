"""A profiler's log of totals alone: whether they are those of a model, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.profile_names import NAMES_DO_NOT_TELL
from onnxlint_cmsis.analysis.profile_values import is_operator, left_out, value_fault
from onnxlint_cmsis.formats.names import domain_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.profiles import ProfileEvent

if TYPE_CHECKING:
    from onnxlint_cmsis.images.profiles import Profile

TOTALS = "It has totals alone: print LogCsv for single layers."
NOT_COUNTED = "The log does not say of how many inferences they are: taken as of a single one."


class ProfileSums(NamedTuple):
    """The totals of a log."""

    total: float = 0.0
    """Sum over the operators."""
    fault: str = ""
    """Why they are not those of the model, as a sentence."""
    remarks: tuple[str, ...] = ()
    """What is to be known of them, as sentences."""


def sums_in(operators: Sequence[str], profile: Profile) -> ProfileSums:
    """The totals of a model with these operators."""
    own, sums = frozenset(operators), profile.sums
    kept = [row for row in sums if is_operator(row.operator, own)]
    names = {row.operator for row in kept}
    remarks = (TOTALS, *([] if profile.counted else [NOT_COUNTED]))
    if not sums:
        fault = value_fault(profile.unit, [ProfileEvent("The model", profile.total)])
        return ProfileSums(profile.total, fault, remarks)
    if other := sorted(names ^ own):
        where = "the model" if other[0] in own else "the log"
        fault = f"{other[0]} is in {where} alone: it is the log of another model."
        return ProfileSums(fault=fault if any(map(domain_of, own)) else NAMES_DO_NOT_TELL)
    left = left_out(row.operator for row in sums if row not in kept)
    return ProfileSums(
        sum(row.value for row in kept), value_fault(profile.unit, kept), (*remarks, *([left] if left else []))
    )
