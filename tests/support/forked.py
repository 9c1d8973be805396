"""Runs of Python that start as copies of a process that has imported what they need already.

A new Python takes a third of a second of a core before it does anything; most tests that start one ask what it writes
to its streams and how it ends, not how it starts. The process that is copied runs no thread and no test. Where a
system cannot copy processes, a new Python is started.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

CAN_FORK = sys.platform == "linux"
IMPORTED = ("onnxruntime", "onnxlint_cmsis.cli.engine", "onnxlint_cmsis.fixers.fix_model")
"""What most runs import: once, and not in each of the copies."""
LONG = 64
"""More bytes than an answer of the process that is copied has."""


class Run(NamedTuple):
    """What a copy has to do."""

    words: Sequence[str]
    """`-m MODULE`, `-c CODE` or a script, with its arguments."""
    folder: str
    """Where it runs."""
    path: Sequence[str]
    """Where it finds modules."""
    environment: Mapping[str, str]
    """Its environment, whole."""


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
        run = Run(words, str(Path(folder).absolute()), sys.path, environment)
        code = _copied(run, streams, patience) if CAN_FORK else _started(run, streams, patience)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([*words], code, out.read(), err.read())


def _started(run: Run, streams: Sequence[IO[bytes]], patience: float) -> int:
    """Exit code of a new Python."""
    put, out, err = streams
    return subprocess.run(
        [sys.executable, *run.words],
        cwd=run.folder, env=run.environment, stdin=put, stdout=out, stderr=err, timeout=patience, check=False,
    ).returncode  # fmt: skip


def _copied(run: Run, streams: Sequence[IO[bytes]], patience: float) -> int:
    """Exit code of a copy, negative for a signal."""
    original = _original(os.getpid())
    with tempfile.TemporaryFile() as job:
        job.write(pickle.dumps(run))
        job.seek(0)
        socket.send_fds(original, [b"run"], [file.fileno() for file in (job, *streams)])
        copy = int(original.recv(LONG))
    original.settimeout(patience)
    try:
        return int(original.recv(LONG))
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):  # it ended in this moment
            os.kill(copy, signal.SIGKILL)
        original.settimeout(None)
        original.recv(LONG)
        raise subprocess.TimeoutExpired([*run.words], patience) from None
    finally:
        original.settimeout(None)


@cache
def _original(_process: int) -> socket.socket:
    """The end of the line to the process that is copied, which ends with this one."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    code = f"from support.forked import serve; serve({its.fileno()})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.Popen(
        [sys.executable, "-c", code], env=environment, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    its.close()
    return ours


def serve(line: int) -> None:
    """Copy this process for each run that is asked for, and tell its number and its exit code."""
    for name in IMPORTED:
        importlib.import_module(name)
    asking = socket.socket(fileno=line)
    while True:
        message, files, _, _ = socket.recv_fds(asking, LONG, 4)
        if not message:
            return
        process = os.fork()
        if process == 0:
            asking.close()
            os._exit(_run(files))
        for file in files:
            os.close(file)
        asking.send(str(process).encode())
        _, status = os.waitpid(process, 0)
        asking.send(str(os.waitstatus_to_exitcode(status)).encode())


def _run(files: Sequence[int]) -> int:
    """Exit code of what a new Python would do; `files` are the run and its streams."""
    with os.fdopen(files[0], "rb") as job:
        run: Run = pickle.load(job)
    for number, file in enumerate(files[1:]):
        os.dup2(file, number)
        os.close(file)
    os.chdir(run.folder)
    os.environ.clear()
    os.environ.update(run.environment)
    sys.path[:] = run.path
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - a number, for the process's life
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    words = run.words
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
