"""Runs of Python that start as copies of the test's own process, which has imported what they need already.

A new Python takes a third of a second of a core before it does anything; most tests that start one ask what it writes
to its streams and how it ends, not how it starts. Where a system cannot copy processes, a new Python is started.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

CAN_FORK = sys.platform == "linux"
IMPORTED = ("onnxruntime", "onnxlint_cmsis.cli.engine", "onnxlint_cmsis.fixers.fix_model")
"""What most runs import: once, and not in each of the copies."""
STEP = 0.001
"""Seconds between two looks at a process, at first."""


def python(
    words: Sequence[str],
    folder: Path | str,
    *,
    given: bytes | IO[bytes] | None = None,
    settings: Mapping[str, str] | None = None,
    patience: float = 120,
) -> subprocess.CompletedProcess[bytes]:
    """Run `-m MODULE`, `-c CODE` or a script, with its arguments, in a folder; it reads what is given from its input.

    It finds the modules that the test finds. `settings` are added to the environment. Raises subprocess.TimeoutExpired
    after so many seconds of patience.
    """
    with tempfile.TemporaryFile() as put, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        put.write(given if isinstance(given, bytes) else b"")
        put.seek(0)
        streams = (put if given is None or isinstance(given, bytes) else given, out, err)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(settings or {})}
        if CAN_FORK:
            code = _forked(words, folder, streams, environment, patience)
        else:
            argv = [sys.executable, *words]
            code = subprocess.run(
                argv,
                cwd=folder,
                env=environment,
                stdin=streams[0],
                stdout=out,
                stderr=err,
                timeout=patience,
                check=False,
            ).returncode
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([*words], code, out.read(), err.read())


def _forked(
    words: Sequence[str],
    folder: Path | str,
    streams: Sequence[IO[bytes]],
    environment: Mapping[str, str],
    patience: float,
) -> int:
    """Exit code of a copy of this process, negative for a signal."""
    for name in IMPORTED:
        importlib.import_module(name)
    process = os.fork()
    if process == 0:
        code = 1
        try:
            faulthandler.disable()  # pytest's, which writes beside the test's streams
            for number, stream in enumerate(streams):
                os.dup2(stream.fileno(), number)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            code = _run(words)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    end, step = time.monotonic() + patience, STEP
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise subprocess.TimeoutExpired([*words], patience)
        time.sleep(step)
        step = min(1.5 * step, 0.05)


def _run(words: Sequence[str]) -> int:
    """Exit code of what a new Python would do with these words."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - a number, for the process's life
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kind, rest = (words[0], words[2:]) if words[0] in ("-m", "-c") else ("", words[1:])
    sys.argv = [kind or words[0], *rest]
    code: object = 0
    try:
        if kind == "-m":
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        elif kind == "-c":
            exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    return int(code or 0)
