"""A node that the firmware cannot have as a layer."""


class Unsupported(Exception):  # noqa: N818  not an error: the node stays outside the firmware
    """The reason, as a clause about the node."""
