"""`python -m onnxlint_cmsis` and the `onnxlint-cmsis` script."""

from __future__ import annotations

import sys

from onnxlint_cmsis.cli import main


def run() -> None:
    """End the process with the exit code of the command line."""
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
