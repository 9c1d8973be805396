"""What a fix does to channel counts, and under which policies; an explicit table. A rule's row names its action."""

from __future__ import annotations

from onnxlint_cmsis.named_tuples import NamedTuple


class FixAction(NamedTuple):
    """One reason to change a channel count."""

    name: str
    """One word."""
    policies: tuple[str, ...]
    """Values of --fix-policy under which it is done."""
    what: str
    """What it does, as a clause without subject."""


REPAIR = FixAction(
    "repair",
    ("faster", "route", "align"),
    "gives channels a count at which no kernel returns an error or wrong values, or runs past a buffer",
)
ROUTE = FixAction("route", ("route",), "adds channels until a routing condition holds")
GROW = FixAction(
    "grow",
    ("faster", "align"),
    "adds channels where that saves predicted instructions; with the policy align up to the multiple",
)
REMOVE = FixAction("remove", ("faster",), "takes out channels that are constant or unread")
REWRITE = FixAction("rewrite", ("faster", "route", "align"), "rewrites nodes so that the same is computed without it")
RESCALE = FixAction(
    "rescale",
    ("faster", "route", "align"),
    "changes scales and zero-points, with --unsafe-fixes: outputs change by at most one step",
)

ACTIONS = (REPAIR, ROUTE, GROW, REMOVE, REWRITE, RESCALE)
