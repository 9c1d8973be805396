"""`python -m firmware_check`."""

from __future__ import annotations

import sys

from firmware_check.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
