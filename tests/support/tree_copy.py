"""A copy of the source tree to change, as whoever adds something to the project would change it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from support import paths


def copy_folder(name: str, folder: Path) -> None:
    """Copy a folder of the project, with what Python has compiled of it, but no file that it is writing meanwhile."""
    meanwhile = shutil.ignore_patterns("*.pyc.*")
    shutil.copytree(paths.ROOT / name, folder / name, ignore=meanwhile, dirs_exist_ok=True)


class TreeCopy:
    """The package and what else a test names, in a folder where it may be changed and run."""

    def __init__(self, folder: Path, more: Iterable[str] = ()) -> None:
        """`more` are other folders of the project to copy along."""
        self.folder = folder
        for name in ("onnxlint_cmsis", *more):
            copy_folder(name, folder)

    def replace(self, name: str, old: str, new: str) -> None:
        """Put another text in the place of one that a file has once."""
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name} has this {text.count(old)} times: {old}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def append(self, name: str, new: str) -> None:
        """Put a text at the end of a file."""
        with (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(new)

    def python(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run Python in the folder, where the copy is what `import onnxlint_cmsis` finds."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder, input=text, env={**os.environ, "PYTHONPATH": str(self.folder)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
