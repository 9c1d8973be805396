"""What a fix does to channel counts, and under which policies: an action a row, which the row of a rule names."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class FixAction(NamedTuple):
    """One reason to change a channel count."""

    name: str
    """Name, in one word."""
    policies: tuple[str, ...]
    """Values of --fix-policy under which it is done."""
    what: str
    """What it does, as a clause without subject."""
    asked: bool = False
    """Whether it is done only where the settings name the rule, since it saves nothing."""
    adds: bool = False
    """Whether it may add channels or nodes, and with them RAM or flash."""


REPAIR = FixAction(
    "repair",
    ("faster", "route", "align", "smaller"),
    "gives channels a count at which no kernel returns an error or wrong values, or runs past a buffer",
    adds=True,
)


ROUTE = FixAction("route", ("route",), "adds channels until a routing condition holds", adds=True)


GROW = FixAction(
    "grow",
    ("faster", "align"),
    "adds channels where that saves predicted instructions; with the policy align up to the multiple",
    adds=True,
)


REMOVE = FixAction("remove", ("faster", "smaller"), "takes out channels that are constant or unread")


REWRITE = FixAction(
    "rewrite",
    ("faster", "route", "align", "smaller"),
    "rewrites nodes so that the same is computed without it",
    adds=True,
)


RETYPE = FixAction(
    "retype",
    ("faster", "route", "align", "smaller"),
    "makes int8 of uint8, where `fixable` or `extend-fixable` names the rule (--fixable CNN504): it saves nothing",
    asked=True,
)


RESCALE = FixAction(
    "rescale",
    ("faster", "route", "align", "smaller"),
    "changes scales and zero-points, with --unsafe-fixes: outputs change by at most one step on the inputs tried",
)


PLAN = FixAction(
    "plan",
    ("faster", "route", "align", "smaller"),
    "writes a memory plan into the file, with --ram, --board or --fix-policy smaller; the graph stays as it is",
)
ACTIONS = (REPAIR, ROUTE, GROW, REMOVE, REWRITE, RETYPE, RESCALE, PLAN)
