"""`python -m onnxlint_cmsis` and the `onnxlint-cmsis` script."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress


def run() -> None:
    """End the process with the exit code of the command line."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # Ctrl-C ends the process at once: an exception inside the start of numpy or onnx would abort it with a
            # trace. What has to be finished or cleaned up holds signals itself (`atomic`, `workers`, `scan`).
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        os._exit(130)
    _open_closed_streams()
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # processes that are started take no module of the folder at hand
    from onnxlint_cmsis.cli.main import main

    if "OMP_NUM_THREADS" not in os.environ:  # the user's number of threads, which OpenBLAS reads too
        # numpy starts OpenBLAS, whose waiting threads take a quarter of a run; nothing here is large enough for them
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(200_000)  # what start-up makes stays: looking through it for garbage costs a twentieth of a run
    code = main(sys.argv[1:])
    with suppress(OSError, ValueError):  # a reader that is gone, a stream that is closed: `main` has told by its code
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)  # files are closed and workers ended by now; taking modules apart one by one takes a sixth of a run


def _open_closed_streams() -> None:
    """Connect standard streams that are closed (`>&-`) with the null device.

    Python has None in place of such a stream, and the next file that is opened would get its number.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))


if __name__ == "__main__":
    run()
