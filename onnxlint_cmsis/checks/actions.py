"""What a fix does to channel counts, and the rules whose findings it does that for; an explicit table."""

from __future__ import annotations

from typing import NamedTuple


class Action(NamedTuple):
    """One reason to change a channel count."""

    name: str
    """One word."""
    codes: tuple[str, ...]
    """Rules whose findings it makes go away; it is done only for those that a fix may act on."""
    policies: tuple[str, ...]
    """Values of --fix-policy under which it is done."""
    what: str
    """What it does, as a clause without subject."""


REPAIR = Action(
    "repair",
    ("CNN301", "CNN302", "CNN303", "CNN304"),
    ("faster", "route", "align"),
    "gives channels a count at which no kernel returns an error or wrong values, or runs past a buffer",
)
ROUTE = Action(
    "route",
    ("CNN102", "CNN103", "CNN105", "CNN113", "CNN114", "CNN121"),
    ("route",),
    "adds channels until a routing condition holds",
)
GROW = Action(
    "grow",
    ("CNN201",),
    ("faster", "align"),
    "adds channels where that saves predicted instructions; with the policy align up to the multiple",
)
REMOVE = Action("remove", ("CNN202",), ("faster",), "takes out channels that are constant or unread")

ACTIONS = (REPAIR, ROUTE, GROW, REMOVE)


def rules_of(policy: str) -> tuple[str, ...]:
    """Rules that a value of --fix-policy acts on."""
    return tuple(code for action in ACTIONS if policy in action.policies for code in action.codes)


FIXED_CODES = frozenset(code for action in ACTIONS for code in action.codes)
"""Rules that a fix acts on."""
