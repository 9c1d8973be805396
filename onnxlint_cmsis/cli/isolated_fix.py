"""Fixing one file for a Python program: in an interpreter apart, whatever threads and signals the program has."""

from __future__ import annotations

import os
import pickle
import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.jobs import Job, lint_all

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.fix_results import FixResult


def fix_apart(job: Job) -> FixResult | None:
    """What came of fixing a file; None where it is no model. Raises RuntimeError for an error inside."""
    import subprocess

    # The caller's own search path, so that both find the same packages; isolated, so that nothing else is found first.
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], input=pickle.dumps(job), stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{job.path}: the process that fixes it ended with exit code {done.returncode}")
    (linted,) = pickle.loads(done.stdout)
    if linted.file.error:
        raise RuntimeError(f"{job.path}: internal error: {linted.file.error}; please report it")
    fixed: FixResult | None = linted.file.fix
    return fixed


def serve() -> None:
    """Fix the file of the job on standard input as the command does; the results go to standard output."""
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print must not end up among the results
    results = list(lint_all([pickle.load(sys.stdin.buffer)], 1))
    with os.fdopen(answer, "wb") as stream:
        pickle.dump(results, stream)
