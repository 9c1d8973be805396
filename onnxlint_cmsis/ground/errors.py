"""Errors that more than one room raises or catches."""


class UsageError(ValueError):
    """A command line, configuration or baseline cannot be used.

    The text, one line, names the place, what was found and what is allowed.
    """


def wrong_type(allowed: str, value: object) -> TypeError:
    """Say what an argument is and what was given: `a model file is a path; given is None`, cut where it is long."""
    from reprlib import repr as shortened

    return TypeError(f"{allowed}; given is {shortened(value)}")


class NoBaseError(UsageError):
    """The version before is a file that nothing can be compared with."""


class NotAppliedError(Exception):
    """A plan cannot be applied to a model; the text is one clause that says what stands in the way."""


class UnreadableError(NotAppliedError):
    """Values cannot be read: external data, of which the text names tensor and file, or a damaged list."""


class CalibrationError(Exception):
    """Inputs that do not fit a model, or a model that does not run on them; the text is one line."""
