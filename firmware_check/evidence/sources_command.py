"""`python -m firmware_check sources --cmsis-nn DIR`: every cited line held against the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_check.ending import say
from firmware_check.evidence.checked_citations import audit
from firmware_check.legacy.cmsis_5 import open_any
from firmware_check.options import CheckParser
from onnxlint_cmsis.output.foreign_text import printable

if TYPE_CHECKING:
    pass


def main(argv: list[str]) -> int:
    """Print each row that drifted; 0 where none did, 1 where some did."""
    parser = CheckParser(prog="firmware_check sources", description=__doc__, allow_abbrev=False)
    parser.add_argument("--cmsis-nn", required=True, metavar="DIR", help="checkout of CMSIS-NN, or of CMSIS 5")
    args = parser.parse_args(argv)
    library = open_any(args.cmsis_nn)
    results = list(audit(library))
    drifts = [drift for _, drift in results if drift]
    lines = [printable(str(drift)) for drift in drifts]
    with_line = sum(1 for citation, _ in results if citation.line)
    rows = len({citation.row for citation, _ in results})
    said = f"{len(results)} citations of {rows} rows, {with_line} with a line; {len(drifts)} drifted"
    say("".join(f"{line}\n" for line in [*lines, f"CMSIS-NN {library.release}: {said}"]))
    return 1 if drifts else 0
