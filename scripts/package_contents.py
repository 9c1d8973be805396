"""Compares a wheel and a source distribution with the files of a source tree: package_contents.py TREE WHEEL SDIST.

The wheel has every file of the two packages and nothing else but its own records. The source distribution has the
whole tree but for the settings of git and continuous integration. The page that PyPI shows has no relative link. Prints
what is wrong; exit code 1 if there is anything.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

PACKAGES = ("onnxlint_cmsis/", "firmware_check/")
NOT_SHIPPED = (".gitignore", ".gitattributes", ".ci/")
"""Starts of paths that a source distribution leaves out."""
MADE = ("PKG-INFO", "setup.cfg", "onnxlint_cmsis.egg-info/")
"""Starts of paths that building adds to a source distribution."""


def wheel_faults(tree: set[str], wheel: Path) -> list[str]:
    """Files too many or too few in the wheel."""
    names = set(zipfile.ZipFile(wheel).namelist())
    held = {name for name in names if ".dist-info/" not in name}
    return differences({name for name in tree if name.startswith(PACKAGES)}, held, wheel)


def sdist_faults(tree: set[str], sdist: Path) -> list[str]:
    """Files too many or too few in the source distribution."""
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    held = {name for name in names if not name.startswith(MADE)}
    return differences({name for name in tree if not name.startswith(NOT_SHIPPED)}, held, sdist)


def link_faults(wheel: Path) -> list[str]:
    """Links of the page that PyPI shows which lead nowhere there."""
    with zipfile.ZipFile(wheel) as archive:
        [record] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        links = re.findall(r"\]\(([^)#][^)]*)\)", archive.read(record).decode())
    faults = [
        f"{wheel.name}: PyPI's page has a relative link, {link}" for link in links if not link.startswith("https://")
    ]
    return faults or ([] if links else [f"{wheel.name}: PyPI's page has no link"])


def differences(wanted: set[str], held: set[str], archive: Path) -> list[str]:
    """One line for each file that only one side has."""
    missing = [f"{archive.name}: {name} is missing" for name in sorted(wanted - held)]
    return [*missing, *(f"{archive.name}: {name} does not belong there" for name in sorted(held - wanted))]


def main(tree: str, wheel: str, sdist: str) -> int:
    """Print what is wrong; the exit code."""
    files = {path.relative_to(tree).as_posix() for path in Path(tree).rglob("*") if path.is_file()}
    faults = [*wheel_faults(files, Path(wheel)), *sdist_faults(files, Path(sdist)), *link_faults(Path(wheel))]
    print("\n".join(faults or [f"{len(files)} files: the wheel and the source distribution have what they should"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
