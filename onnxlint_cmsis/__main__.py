"""`python -m onnxlint_cmsis` and the `onnxlint-cmsis` script."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

from onnxlint_cmsis.cli import main


def run() -> None:
    """End the process with the exit code of the command line."""
    if "OMP_NUM_THREADS" not in os.environ:  # the user's number of threads, which OpenBLAS reads too
        # numpy starts OpenBLAS, whose waiting threads take a quarter of a run; nothing here is large enough for them
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(200_000)  # what start-up makes stays: looking through it for garbage costs a twentieth of a run
    code = main(sys.argv[1:])
    with suppress(OSError, ValueError):  # a reader that is gone, a stream that is closed: `main` has told by its code
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)  # files are closed and workers ended by now; taking modules apart one by one takes a sixth of a run


if __name__ == "__main__":
    run()
