"""What holds for every test and for what tests start."""

from __future__ import annotations

import os

from onnxlint_cmsis.fixers.runtime import NO_TELEMETRY

os.environ.setdefault(NO_TELEMETRY, "1")
