"""What git says of a folder that may be hostile: git is asked, and nothing that the folder's repository names is run.

A repository's own configuration can name programs for almost anything: `core.fsmonitor`, filters, hooks, `core.pager`,
`core.sshCommand`, `include.path`, a promisor remote to fetch from. So git never reads it. It is given another folder,
with a configuration of this program and with the repository's references, objects and index as plain data. The user's
configuration, which every git command of the user obeys, is read.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from onnxlint_cmsis.ground.files import MODEL, TEXT, read_regular
from onnxlint_cmsis.ground.named_tuples import NamedTuple

SECONDS = 60
"""How long git may take."""
POINTER = 4096
"""Bytes of the longest file of one line: `.git` of a linked work tree, HEAD, commondir; and of a Git LFS pointer."""
LFS_START = b"version https://git-lfs.github.com/spec/v1\n"
SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.untrackedCache": "false",
    "credential.helper": "",
    "protocol.allow": "never",
    "gc.auto": "0",
}
"""Settings that hold whatever the user's configuration says."""
ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}


class GitError(Exception):
    """Git did not answer; the text is one line."""


class Repository(NamedTuple):
    """A work tree and where its repository lies."""

    work_tree: Path
    """The folder that has the `.git`."""
    folder: Path
    """What belongs to this work tree: HEAD, index."""
    common: Path
    """What all work trees share: objects, references."""

    def ask(self, words: list[str], where: Path, given: bytes = b"") -> bytes:
        """What a git command prints for standard input `given`, in a folder of the work tree.

        Exit code 1 counts as an answer: `check-ignore` has it for no match. Raises GitError.
        """
        import subprocess

        with self._data_alone() as alone:
            settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
            inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
            here = {
                "GIT_DIR": str(alone),
                "GIT_WORK_TREE": str(self.work_tree),
                "GIT_INDEX_FILE": str(self.folder / "index"),
                "GIT_OBJECT_DIRECTORY": str(self.common / "objects"),
            }
            try:
                done = subprocess.run(
                    [_git(), *settings, *words],
                    cwd=where,
                    env=inherited | ENVIRONMENT | here,
                    input=given,
                    capture_output=True,
                    timeout=SECONDS,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise GitError(f"git did not answer: {error}") from None
        if done.returncode not in (0, 1):
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise GitError(said[-1] if said else f"git ended with {done.returncode}")
        return done.stdout

    @contextlib.contextmanager
    def _data_alone(self) -> Iterator[Path]:
        """A repository's folder without its configuration and hooks. Raises GitError."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="onnxlint-cmsis-git-") as name:
            alone = Path(name)
            try:
                (alone / "HEAD").write_bytes(read_regular(self.folder / "HEAD", POINTER))
                for shared in (self.common / "refs", self.common / "packed-refs", self.folder / "logs"):
                    if shared.exists():
                        _link(alone / shared.name, shared.resolve())
                (alone / "info").mkdir()
                exclude = self.common / "info" / "exclude"
                if exclude.is_file():
                    _link(alone / "info" / "exclude", exclude.resolve())
                stated = read_regular(self.common / "config", TEXT).lower().replace(b" ", b"")
            except OSError as error:
                raise GitError(f"{error.filename or self.folder}: {error.strerror or error}") from None
            lines = ["[core]", "bare = false", "repositoryFormatVersion = 1"]
            lines += ["ignoreCase = true"] if sys.platform in ("win32", "darwin", "cygwin") else []
            lines += ["[extensions]", "objectFormat = sha256"] if b"objectformat=sha256" in stated else []
            (alone / "config").write_text("\n".join(lines), encoding="utf-8")
            yield alone

    def content(self, text: str, where: Path) -> bytes:
        """Bytes of a file of a commit (`HEAD:models/kws.onnx`); that of a Git LFS pointer that has been fetched.

        A symbolic link inside the commit leads to its target. No filter runs. Raises GitError.
        """
        asked = f"{text}\n".encode("utf-8", "surrogateescape")
        name, kind, size = ["", "", ""]
        if "\n" not in text:
            told = self.ask(["cat-file", "--batch-check", "--follow-symlinks"], where, asked).split(b"\n")[0]
            name, kind, size = (told.decode("ascii", "replace").rsplit(" ", 2) + [""] * 3)[:3]
        if kind != "blob":
            self.ask(["cat-file", "blob", text], where)  # git's own words say what is wrong
            raise GitError("it is no file of the commit, nor a symbolic link to one")
        if int(size) > MODEL:
            raise GitError(f"it has {size} bytes; {MODEL} are read at most")
        data = self.ask(["cat-file", "blob", name], where)
        digest = lfs_digest(data)
        if digest is None:
            return data
        import hashlib

        stored = self.common / "lfs" / "objects" / digest[:2] / digest[2:4] / digest
        try:
            fetched = read_regular(stored, MODEL) if digest else b""
        except OSError:
            fetched = b""
        if hashlib.sha256(fetched).hexdigest() != digest:
            raise GitError(f"a Git LFS pointer whose file is not in {stored.parents[2]}: run `git lfs fetch`")
        return fetched

    def commit(self, text: str) -> str:
        """Name of the commit that a text means, as git reads it; no file is asked. Raises GitError."""
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}"]
        name = self.ask(words, self.work_tree).decode("ascii", "replace").strip()
        if not name:
            raise GitError("there is no such commit here; a clone with the whole history has it (fetch-depth: 0)")
        return name

    def files_of(self, commit: str) -> dict[str, tuple[str, str]]:
        """Mode and object name of each file of a commit by its path from the top. Raises GitError."""
        files = {}
        for entry in _names(self.ask(["ls-tree", "-r", "-z", "--full-tree", commit], self.work_tree)):
            described, _, path = entry.partition("\t")
            mode, _, name = described.split(" ")[:3]
            files[path] = mode, name
        return files

    def tracked(self) -> list[str]:
        """Paths from the top of the files that the index has. Raises GitError."""
        return _names(self.ask(["ls-files", "-z"], self.work_tree))

    def renamed_since(self, commit: str, patterns: tuple[str, ...]) -> dict[str, str]:
        """The name in a commit of each file of the index that has another name now, as git tells. Raises GitError."""
        words = ["diff", "--cached", "-z", "--name-status", "--find-renames", "-l0", "--diff-filter=R", "--no-ext-diff"]
        told = _names(self.ask([*words, "--no-textconv", commit, "--", *patterns], self.work_tree))
        return dict(zip(told[2::3], told[1::3], strict=True))

    def holds(self, name: str, data: bytes) -> bool:
        """Tell whether an object has these bytes, or is the Git LFS pointer to them. Raises GitError."""
        import hashlib

        digest = hashlib.new("sha1" if len(name) == 40 else "sha256", b"blob %d\0" % len(data), usedforsecurity=False)
        digest.update(data)
        if digest.hexdigest() == name:
            return True
        if int(self.ask(["cat-file", "-s", name], self.work_tree)) > POINTER:
            return False
        pointed = lfs_digest(self.ask(["cat-file", "blob", name], self.work_tree))
        return pointed is not None and hashlib.sha256(data).hexdigest() == pointed


def lfs_digest(data: bytes) -> str | None:
    """SHA-256 that a Git LFS pointer names, empty where it names none; None for what is no pointer."""
    if not data.startswith(LFS_START) or len(data) > POINTER:
        return None
    digests = [line.partition(b"sha256:")[2].decode("ascii", "replace") for line in data.splitlines()]
    return next((word for word in digests if len(word) == 64 and word.isalnum()), "")


def _names(told: bytes) -> list[str]:
    """Names that git ends with a zero byte each."""
    return told.decode("utf-8", "surrogateescape").split("\0")[:-1]


def _git() -> str:
    """Git of a folder that the search path names in full: none of the folder that is looked at. Raises GitError."""
    import shutil

    folders = (Path(folder) for folder in os.get_exec_path())
    programs = (shutil.which(str(folder / "git")) for folder in folders if folder.is_absolute())
    program = next(filter(None, programs), None)
    if program is None:
        raise GitError("git is not installed")
    return program


def _link(new: Path, target: Path) -> None:
    """A symbolic link, or a copy where the system allows none."""
    try:
        new.symlink_to(target)
    except OSError:
        import shutil

        if target.is_dir():
            shutil.copytree(target, new, symlinks=True)
        else:
            shutil.copyfile(target, new)


def repository_of(folder: Path) -> Repository | None:
    """The repository of the nearest `.git` at or above a folder; None where there is none that can be one.

    A bare repository, which a folder may hold as plain files, is none.
    """
    here = folder.resolve()
    for work_tree in (here, *here.parents):
        dot_git = work_tree / ".git"
        if os.path.lexists(dot_git):
            return _repository_at(work_tree, dot_git)
    return None


def _repository_at(work_tree: Path, folder: Path) -> Repository | None:
    """The repository of a `.git`: a folder, or a file that says where it lies."""
    try:
        if not folder.is_dir():
            line = read_regular(folder, POINTER).decode("utf-8", "surrogateescape").strip()
            if not line.startswith("gitdir:") or "\0" in line:
                return None
            folder = work_tree / line.removeprefix("gitdir:").strip()
        shared = folder / "commondir"
        common = folder
        if shared.exists():
            common = folder / read_regular(shared, POINTER).decode("utf-8", "surrogateescape").strip()
        good = (folder / "HEAD").is_file() and (common / "objects").is_dir() and (common / "refs").is_dir()
    except (OSError, ValueError):
        return None
    return Repository(work_tree, folder.resolve(), common.resolve()) if good else None
