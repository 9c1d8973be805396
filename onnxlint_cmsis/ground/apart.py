"""An object in a process apart, so that a library that ends its process takes nothing else along.

Calls and answers are pickled and go through the process's standard input and output. What libraries print there goes
nowhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable


LIMIT = 300.0
"""Seconds that one call may take; then its process is ended."""
STARTED = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from onnxlint_cmsis.ground.apart import serve; "
    "from {module} import {name}; serve({name})"
)
"""What the process runs: the same modules as this one, wherever they come from."""


class EndedError(Exception):
    """The process ended in the middle of a call, or badly; the text says how: `with SIGSEGV`."""


class CallError(Exception):
    """The method raised an exception; the text is the exception's, or its type where it has none."""


class Apart:
    """An object whose methods are called by name."""

    def __init__(self, module: str, name: str) -> None:
        """The object is what the module's `name` returns when it is called."""
        import subprocess

        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", STARTED.format(module=module, name=name), json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        weakref.finalize(self, _end, self._process)

    def call(self, method: str, *arguments: object) -> Any:
        """What a method returns. Raises CallError, EndedError."""
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None or requests.closed:
            raise EndedError(self._how())
        watch = threading.Timer(LIMIT, self._process.kill)
        watch.start()
        try:
            pickle.dump((method, arguments), requests)
            requests.flush()
            good, answer = pickle.load(answers)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise EndedError(self._how()) from None
        finally:
            watch.cancel()
        if not good:
            raise CallError(answer)
        return answer

    def close(self) -> None:
        """Let the process end as it would. Raises EndedError where it crashes then: memory was overwritten."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if self._process.wait():
            raise EndedError(self._how())

    def _how(self) -> str:
        code = self._process.wait()
        return f"with {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that is not needed any more."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what a crash left unread
                pipe.close()


def serve(make: Callable[[], object]) -> None:
    """Answer calls of an object's methods until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    served = make()
    with contextlib.suppress(EOFError):
        while True:
            method, arguments = pickle.load(sys.stdin.buffer)
            try:
                answer = (True, getattr(served, method)(*arguments))
            except Exception as error:  # libraries in C++ raise what they like
                answer = (False, str(error) or type(error).__name__)
            pickle.dump(answer, answers)
            answers.flush()
