"""Files that `layers --write-timing` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.files import read_regular

if TYPE_CHECKING:
    from onnxlint_cmsis.timing.calibration import Calibration

MOST_BYTES = 100_000
"""Of a calibration."""


def read_calibration(path: str) -> Calibration:
    """The calibration in a file. Raises UsageError where there is none."""
    from onnxlint_cmsis.timing.calibration import TimingError, calibration_of

    try:
        return calibration_of(read_regular(path, MOST_BYTES).decode())
    except OSError as error:
        raise UsageError(f"timing: {path}: {error.strerror}") from None
    except (UnicodeDecodeError, TimingError) as error:
        reason = "it is no text" if isinstance(error, UnicodeDecodeError) else error.args[0]
        raise UsageError(f"timing: {path}: {reason}") from None
