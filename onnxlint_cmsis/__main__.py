"""`python -m onnxlint_cmsis` and the `onnxlint-cmsis` script."""

from __future__ import annotations

import gc
import sys

from onnxlint_cmsis.cli import main


def run() -> None:
    """End the process with the exit code of the command line."""
    gc.set_threshold(200_000)  # what start-up makes stays: looking through it for garbage costs a twentieth of a run
    code = main(sys.argv[1:])
    gc.freeze()  # Python ends by looking for garbage once more, which costs an eighth of a run and frees nothing of use
    sys.exit(code)


if __name__ == "__main__":
    run()
