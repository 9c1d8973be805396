"""The command line in a folder, as the tests of --fix use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from support import paths
from support.forked import python


def run(folder, *argv, data=None, isolated=True, path=()):
    """The program in a folder; without configuration if isolated, with folders of packages that come first."""
    words = ["-m", "onnxlint_cmsis", *(["--isolated"] if isolated else []), *argv]
    if not path:
        return python(words, folder, given=data)
    places = os.pathsep.join(map(str, (*path, paths.ROOT)))  # what is imported here already is not looked for there
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder, check=False, capture_output=True, input=data, env={**os.environ, "PYTHONPATH": places}, timeout=120,
    )  # fmt: skip


def text(done):
    return done.stdout.decode()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def changes(folder, model, *argv):
    """Sizes before and after of the classes that --diff would change."""
    done = run(folder, "--diff", "--output-format", "json", *argv, model)
    assert done.returncode in (0, 1), done.stderr
    (file,) = json.loads(text(done))["files"]
    assert file["fix"]["changed"] is (done.returncode == 1)
    return [(group["have"], group["want"]) for group in file["fix"]["classes"]]
