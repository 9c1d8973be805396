"""What the check generated and built, kept for a reader: C with our headers, linker script, ELF file, link map."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from firmware_check.compilers import GCC
from firmware_check.emit import HERE
from firmware_check.errors import FirmwareError

if TYPE_CHECKING:
    from firmware_check.build import Bench


MEASURED = "plain"
"""Folder of the build that is measured."""
FILES = {"model.c": "model.c", "link.ld": "link.ld", "plain.elf": "model.elf", "plain.map": "model.map"}
"""Files of a build to their names where they are kept; the untraced build is the one that is measured."""
_INCLUDE = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)


@dataclass(frozen=True)
class Kept:
    """Folders to keep each model's firmware in."""

    root: Path
    """Folder that the user named."""
    names: tuple[str, ...]
    """The models' parts of the folders' names."""

    @staticmethod
    def planned(folder: str, paths: Sequence[str], benches: Sequence[Bench]) -> Kept:
        """The folders for some models on some benches; FirmwareError where one of them is there already."""
        names = [Path(path).stem for path in paths]
        if len(set(names)) < len(names):
            names[1] += "-against"
        kept = Kept(Path(folder), tuple(names))
        if kept.root.exists() and not kept.root.is_dir():
            raise FirmwareError(f"--keep {folder}: it is a file; a folder is expected")
        for path in (kept.folder(number, bench) for number in range(len(names)) for bench in benches):
            if path.exists():
                raise FirmwareError(f"--keep {folder}: {path} is there already and is not overwritten")
        return kept

    def folder(self, number: int, bench: Bench) -> Path:
        """Folder of one model on one board; a compiler other than gcc is in its name."""
        compiler = "" if bench.compiler is GCC else f"-{bench.compiler.name}"
        return self.root / f"{self.names[number]}-{bench.board.cpu}{compiler}"

    @contextmanager
    def afterwards(self, built: Path, number: int, bench: Bench) -> Iterator[None]:
        """Keep what was built in a folder, also where it then does not link or run."""
        try:
            yield
        finally:
            self._keep(built, self.folder(number, bench))

    def _keep(self, built: Path, path: Path) -> None:
        """All builds in a folder: its own, or those of groups of layers that ran apart."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".keep-", dir=self.root) as passing:
                whole = Path(passing) / "whole"
                for source in built.rglob(f"{MEASURED}/model.c"):
                    _copy(source.parent, whole / source.parent.parent.relative_to(built))
                if whole.is_dir():
                    whole.rename(path)  # in one step: a folder that is there is whole
        except OSError as error:
            raise FirmwareError(f"--keep {self.root}: {error.strerror}") from None


def _copy(built: Path, path: Path) -> None:
    path.mkdir(parents=True)
    for name, kept_as in FILES.items():
        if (built / name).is_file():
            shutil.copyfile(built / name, path / kept_as)
    for name in _INCLUDE.findall((built / "model.c").read_text(encoding="utf-8")):
        if (HERE / "runtime" / name).is_file():  # the others are CMSIS-NN's
            shutil.copyfile(HERE / "runtime" / name, path / name)
