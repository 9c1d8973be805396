"""A folder's git repository may name programs for everything that git does: none of them is run."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.ground import git_repository
from onnxlint_cmsis.ground.git_repository import repository_of
from support.fixable_models import nothing
from support.goldens import Told

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

PROGRAMS = (
    "core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "core.askPass", "core.gitProxy",
    "core.alternateRefsCommand", "credential.helper", "gpg.program", "sequence.editor", "diff.external",
    "pager.cat-file", "pager.check-ignore", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
    "diff.evil.textconv",
    "diff.evil.command", "merge.evil.driver", "uploadpack.packObjectsHook", "remote.origin.uploadpack",
    "remote.origin.vcs", "interactive.diffFilter", "trace2.eventTarget", "alias.check-ignore", "alias.cat-file",
)  # fmt: skip
"""Settings that hold a program, or a file that is written."""
COMMANDS = (
    ("lint", "."), ("lint", "--show-files", "."), ("compare", "HEAD:m.onnx", "m.onnx"),
    ("compare", "m.onnx", "HEAD:n.onnx"),
    ("report", "HEAD:m.onnx", "-o", "page.html"), ("lint", "--diff", "."),
)  # fmt: skip


def git(folder: Path, *words: str) -> bytes:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    return subprocess.run(["git", *who, "-C", str(folder), *words], check=True, capture_output=True).stdout


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """A file that every program of the repository would make."""
    return tmp_path / "marker"


@pytest.fixture
def folder(tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work tree of two models, one of them ignored, whose repository names a program for everything."""
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q")
    for name in ("m.onnx", "n.onnx", "ignored.onnx"):
        (tree / name).write_bytes(nothing())
    (tree / ".gitignore").write_text("ignored.onnx\n")
    (tree / ".gitattributes").write_text("*.onnx filter=evil diff=evil merge=evil\n")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "one")
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> "{marker}"\ncat\n')
    program.chmod(0o755)
    for setting in PROGRAMS:
        git(tree, "config", setting, f"!{program}" if setting.startswith("alias.") else str(program))
    git(tree, "config", "core.hooksPath", str(tmp_path / "hooks"))
    git(tree, "config", "remote.origin.url", f"ext::{program}")
    git(tree, "config", "remote.origin.promisor", "true")
    git(tree, "config", "protocol.ext.allow", "always")
    included = tmp_path / "included"
    included.write_text(f"[core]\nfsmonitor = {program}\nworktree = /\n")
    git(tree, "config", "include.path", str(included))
    for hooks in (tmp_path / "hooks", tree / ".git" / "hooks"):
        hooks.mkdir(exist_ok=True)
        for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction"):
            (hooks / name).symlink_to(program)
    marker.unlink(missing_ok=True)
    monkeypatch.chdir(tree)
    return tree


def test_git_itself_would_run_them(folder: Path, marker: Path) -> None:
    """What the tests below rely on."""
    subprocess.run(["git", "--work-tree=.", "status"], capture_output=True, check=False, cwd=folder)
    assert marker.exists()
    marker.unlink()
    subprocess.run(["git", "cat-file", "--filters", "HEAD:m.onnx"], capture_output=True, check=False, cwd=folder)
    assert marker.exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_program_of_a_repository_is_run(
    words: tuple[str, ...], marker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--isolated"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "ignored.onnx" not in said.out
    assert not marker.exists(), marker.read_text()


def test_a_partial_clone_fetches_nothing(folder: Path, marker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An object that is not there is not got from the remote that promises it."""
    digest = git(folder, "rev-parse", "HEAD:n.onnx").decode().strip()
    (folder / ".git" / "objects" / digest[:2] / digest[2:]).unlink()
    git(folder, "config", "extensions.partialClone", "origin")
    marker.unlink(missing_ok=True)
    assert main(["compare", "HEAD:n.onnx", "m.onnx", "--isolated"]) == 2
    assert capsys.readouterr().err.startswith("onnxlint-cmsis: error: HEAD:n.onnx: ")
    assert not marker.exists(), marker.read_text()


def test_a_git_file_that_points_elsewhere(folder: Path, marker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As that of a linked work tree does; a repository laid beside it names programs too."""
    elsewhere = folder.parent / "elsewhere"
    (folder / ".git").rename(elsewhere)
    (folder / ".git").write_text(f"gitdir: {elsewhere}\n")
    assert main(["--show-files", "."]) == 0
    assert capsys.readouterr().out.split() == ["m.onnx", "n.onnx"]
    assert main(["compare", "HEAD:m.onnx", "m.onnx", "--isolated"]) == 0
    assert not marker.exists(), marker.read_text()


def test_a_linked_work_tree_is_one(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    linked = folder.parent / "linked"
    for setting in ("core.fsmonitor", "core.hooksPath", "include.path", "filter.evil.process", "filter.evil.smudge"):
        git(folder, "-c", "core.worktree=.", "config", "--unset", setting)
    git(folder, "worktree", "add", "-q", "-b", "other", str(linked))
    monkeypatch.chdir(linked)
    (linked / "ignored.onnx").write_bytes(nothing())
    assert main(["--show-files", "."]) == 0
    assert capsys.readouterr().out.split() == ["m.onnx", "n.onnx"]
    assert main(["compare", "other:m.onnx", "HEAD:./m.onnx", "--isolated"]) == 0


@pytest.mark.parametrize(
    "text", ["gitdir: /dev/zero", "gitdir: /dev", "gitdir:", "no", "gitdir: .", "gitdir: \0", "gitdir: " + "x" * 5000]
)
def test_a_git_file_that_is_none_ignores_nothing(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(folder / ".git")
    (folder / ".git").write_text(text)
    assert repository_of(folder) is None
    assert main(["--show-files", "."]) == 0
    assert len(capsys.readouterr().out.split()) == 3


@pytest.mark.parametrize("name", ["HEAD", "config"])
def test_a_pipe_in_the_repository_is_not_waited_for(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / ".git" / name).unlink()
    os.mkfifo(folder / ".git" / name)
    assert main(["--show-files", "."]) == 0
    assert len(capsys.readouterr().out.split()) == 3


def test_a_bare_repository_among_the_files_is_none(folder: Path, marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = folder.parent / "bare"
    shutil.copytree(folder / ".git", bare)
    git(bare, "config", "core.bare", "true")
    marker.unlink(missing_ok=True)
    monkeypatch.chdir(bare)
    assert repository_of(bare) is None
    assert main(["compare", "HEAD:m.onnx", "HEAD:n.onnx"]) == 2
    assert not marker.exists(), marker.read_text()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("text", ["--upload-pack=x:m.onnx", "-c:m.onnx", "HEAD\n:m.onnx", "HEAD:../m.onnx"])
def test_what_names_no_version_is_one_line(text: str, marker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(git_repository, "SECONDS", 20)
        assert main(["compare", "--", text, "m.onnx"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not marker.exists()


def test_a_file_of_git_lfs_is_read_where_it_was_fetched(
    folder: Path, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    """The digest of the pointer decides, whatever lies there."""
    data = nothing()
    digest = hashlib.sha256(data).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(data)}\n"
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--no-filters", "--stdin"], input=pointer.encode(), capture_output=True, check=True
    )
    name = blob.stdout.decode().strip()
    tree = subprocess.run(
        ["git", "mktree"], input=f"100644 blob {name}\tl.onnx\n".encode(), capture_output=True, check=True
    )
    where = tree.stdout.decode().strip()
    assert main(["compare", f"{where}:l.onnx", "m.onnx", "--isolated"]) == 2
    told(capsys.readouterr().err)
    stored = folder / ".git" / "lfs" / "objects" / digest[:2] / digest[2:4] / digest
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"something else")
    assert main(["compare", f"{where}:l.onnx", "m.onnx", "--isolated"]) == 2
    capsys.readouterr()
    stored.write_bytes(data)
    assert main(["compare", f"{where}:l.onnx", "m.onnx", "--isolated"]) == 0


def test_a_repository_of_sha256_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    for name in ("m.onnx", "ignored.onnx"):
        (tmp_path / name).write_bytes(nothing())
    (tmp_path / ".gitignore").write_text("ignored.onnx\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    monkeypatch.chdir(tmp_path)
    assert main(["--show-files", "."]) == 0
    assert capsys.readouterr().out.split() == ["m.onnx"]
    assert main(["compare", "HEAD:m.onnx", "m.onnx", "--isolated"]) == 0
