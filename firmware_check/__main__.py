"""`python -m firmware_check`."""

from __future__ import annotations

import sys

from firmware_check.ending import in_one_line


def _main() -> int:
    from firmware_check.cli import main  # once signals end a run in one line

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(in_one_line("firmware_check", _main))
