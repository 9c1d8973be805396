"""How large the house is: files, lines and lines of code by room, here or against another commit.

Lines of code are those that hold a token of the program: no docstrings, comments or blanks. A figure for a pull
request, not a limit.

Usage: python scripts/size.py [COMMIT]
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "onnxlint_cmsis"
FOLDERS = (PACKAGE, "firmware_check", "tests", "scripts", "lab", "bench")
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


class Size(NamedTuple):
    """The size of some files."""

    files: int = 0
    """Python files."""
    lines: int = 0
    """Lines of all kinds."""
    code: int = 0
    """Lines with a token of the program."""

    def plus(self, other: Size) -> Size:
        """Both together."""
        return Size(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def size(source: str) -> Size:
    """The size of one file. Raises SyntaxError where it is no Python."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            code |= set(range(token.start[0], token.end[0] + 1))
    return Size(1, len(source.splitlines()), len(code - docstrings))


def room(path: str) -> str:
    """The folder of the package that a file stands in, or the folder of the project."""
    parts = Path(path).parts
    return "/".join(parts[:2]) if parts[0] == PACKAGE and len(parts) > 2 else parts[0]


def rooms(commit: str | None) -> dict[str, Size]:
    """The size of each room in the working tree, or at a commit. Raises CalledProcessError for no commit."""
    sizes: dict[str, Size] = {}
    for path, source in _tree() if commit is None else _archive(commit):
        sizes[room(path)] = sizes.get(room(path), Size()).plus(size(source))
    return sizes


def _tree() -> Iterator[tuple[str, str]]:
    listed = subprocess.run(["git", "ls-files", "--", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True)
    for path in listed.stdout.splitlines():
        if path.endswith(".py") and (ROOT / path).is_file():
            yield path, (ROOT / path).read_text(encoding="utf-8")


def _archive(commit: str) -> Iterator[tuple[str, str]]:
    tree = ["git", "ls-tree", "--name-only", commit, "--", *FOLDERS]  # an older commit may lack a folder
    folders = subprocess.run(tree, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    packed = subprocess.run(["git", "archive", commit, "--", *folders], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".py") else None
            if file:
                yield member.name, file.read().decode()


def main() -> None:
    """Print a row for each room, and the sum of the package."""
    commit = sys.argv[1] if len(sys.argv) > 1 else None
    now, before = rooms(None), rooms(commit) if commit else {}
    for sizes in (now, before):
        whole = Size()
        for name in [name for name in sizes if name.split("/")[0] == PACKAGE]:
            whole = whole.plus(sizes[name])
        sizes[f"{PACKAGE} in all"] = whole
    print(f"{'room':34}{'files':>14}{'lines':>18}{'code':>18}")
    for name in sorted(now.keys() | before.keys()):
        cells = []
        for mine, theirs in zip(now.get(name, Size()), before.get(name, Size()), strict=True):
            cells.append(f"{mine:,} ({mine - theirs:+,})" if commit else f"{mine:,}")
        print(f"{name:34}{cells[0]:>14}{cells[1]:>18}{cells[2]:>18}")


if __name__ == "__main__":
    main()
