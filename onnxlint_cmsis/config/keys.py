"""Parts of the table of settings: keys, and the words that some of them allow."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from onnxlint_cmsis.named_tuples import NamedTuple

DEFAULT_TARGETS = ("cortex-m0", "cortex-m4", "cortex-m55")
"""One CPU of each instruction set that CMSIS-NN tells apart, so that nothing is missed; every finding names its own."""
ONE_CHANNEL = ("convolution", "depthwise")
LEVELS = ("note", "warning", "error")
POLICIES = ("faster", "route", "align")
BY_FORMAT = "by-format"
"""Word for the lowest level that the output format shows."""
FORMATS = ("full", "concise", "json", "sarif", "github", "junit", "gitlab", "rdjson")
READ_BY_PEOPLE = ("full", "concise", "github")
"""Formats that leave notes out unless the user asks for them; the others hold every finding."""
EVERY_TARGET = "*"
"""Stands for every target in a table of CPUs."""
UNLIMITED = "unlimited"
"""Word for no bound."""
ROUTE_TARGET = "cortex-m55"
"""What `route` answers for where neither option nor record names a CPU or instruction set: one shape, one answer."""


class Key(NamedTuple):
    """One key of the configuration; validation, schema, docs and command line all read it from here."""

    name: str
    """Name in the file."""
    kind: str
    """Row of `kinds.KINDS`, which checks and describes the value."""
    default: object
    """Value where nothing is given."""
    doc: str
    """One sentence for --help, the schema and the docs page."""
    allowed: tuple[str, ...] = ()
    """The values a `choice` may take."""
    option: str = ""
    """Command-line option, empty where there is none."""
    metavar: str = ""
    """Its placeholder in --help."""
    extends: bool = False
    """Values from the command line are added to the file's instead of replacing them."""
    forgets: tuple[str, ...] = ()
    """Keys whose values from elsewhere fall away where this one is given."""

    @property
    def attribute(self) -> str:
        """Name in Python."""
        return self.name.replace("-", "_")


METADATA = "key"
"""Where a field of Settings keeps its Key."""


def setting(kind: str, default: object, doc: str, **more: Any) -> Any:
    """A field of Settings; the arguments are those of Key, the key is named after the field."""
    by_hash = False if isinstance(default, dict) else None
    return field(metadata={METADATA: Key("", kind, default, doc, **more)}, hash=by_hash)
