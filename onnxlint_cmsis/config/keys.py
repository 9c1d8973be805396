"""One key of the settings, and the words that some of them allow."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from onnxlint_cmsis.ground.named_tuples import NamedTuple

DEFAULT_TARGETS = ("cortex-m0", "cortex-m4", "cortex-m55")
"""One CPU of each instruction set that CMSIS-NN tells apart, so that nothing is missed; every finding names its own."""
ONE_CHANNEL = ("convolution", "depthwise")
LEVELS = ("note", "warning", "error")
POLICIES = ("faster", "route", "align", "smaller")
BY_FORMAT = "by-format"
"""Word for the lowest level that the output format shows."""
FORMATS = ("full", "concise", "json", "sarif", "github", "junit", "gitlab", "rdjson")
READ_BY_PEOPLE = ("full", "concise", "github")
"""Formats that leave notes out unless the user asks for them; the others hold every finding."""
COMMAND_LINE = "command line"
"""Origin of a value that the command line gives."""
EVERY_TARGET = "*"
"""Stands for every target in a table of CPUs."""
UNLIMITED = "unlimited"
"""Word for no bound."""
GROUPS = ("what to judge", "on what", "findings", "fixing", "output")
"""Groups of options in --help, in its order."""
JUDGED, TARGETS, FINDINGS, FIXING, OUTPUT = GROUPS


class Key(NamedTuple):
    """One key of the configuration; validation, schema, docs and command line all read it from here.

    Every key can be set by `--config KEY=VALUE`; those that are set often have an option too.
    """

    name: str
    """Name in the file."""
    kind: str
    """Row of `SETTING_KINDS`, which checks and describes the value."""
    default: object
    """Value where nothing is given."""
    doc: str
    """Sentences for the schema and the docs page; --help shows the first one."""
    allowed: tuple[str, ...] = ()
    """The values a `choice` may take."""
    option: str = ""
    """Command-line option, empty where there is none."""
    group: str = ""
    """The group of --help that it stands in, one of GROUPS."""
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

    @property
    def brief(self) -> str:
        """The first sentence of the text."""
        return self.doc.partition(". ")[0].removesuffix(".") + "."


METADATA = "key"
"""Where a field of Settings keeps its Key."""


def setting(kind: str, default: object, doc: str, **more: Any) -> Any:
    """A field of Settings; the arguments are those of Key, the key is named after the field."""
    by_hash = False if isinstance(default, dict) else None
    return field(metadata={METADATA: Key("", kind, default, doc, **more)}, hash=by_hash)
