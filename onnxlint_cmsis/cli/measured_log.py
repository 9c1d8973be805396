"""The log of `--measured`, laid over the layers of the one model that it is of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxlint_cmsis.analysis.measured_layers import MeasuredModel
    from onnxlint_cmsis.output.layers import LayersReport

LARGEST = 2**26
"""Bytes of the largest log that is read."""
FORMS = (
    "that of TensorFlow Lite Micro's MicroProfiler, ExecuTorch's Inspector, heliaPROFILER, ST Edge AI, EEMBC or Zephyr"
)


def measured_by(path: str, reports: Sequence[LayersReport]) -> MeasuredModel | None:
    """What a log measured of the layers on the only target; None where there is no log. Raises UsageError."""
    if not path:
        return None
    from onnxlint_cmsis.analysis.measured_layers import measured_model
    from onnxlint_cmsis.ground.files import NotReadError, read_regular
    from onnxlint_cmsis.images.profiles import read_profile

    targets = {layer.target for report in reports for layer in report.layers}
    if len(reports) != 1 or len(targets) > 1:
        raise UsageError("--measured is for one model, one data type and one CPU: name one FILE and one --target")
    try:
        content = read_regular(path, LARGEST)
    except NotReadError as error:
        raise UsageError(f"--measured: {path} {error.strerror}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"--measured: {path}: {reason}") from None
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))  # as PowerShell writes what it redirects
    profile = read_profile(content.decode("utf-16" if wide else "utf-8", "replace"))
    if profile is None:
        raise UsageError(f"--measured: {path}: no profiler's output is in it; allowed is {FORMS}")
    return measured_model(reports[0].layers, profile)
