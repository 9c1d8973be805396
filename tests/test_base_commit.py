"""Which commit a push is compared with, to tell what has to be tested again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.paths import ROOT

pytestmark = pytest.mark.skipif(not (shutil.which("git") and shutil.which("sh")), reason="needs git and a shell")
NOBODY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": os.devnull}


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True, env={**os.environ, **NOBODY}
    )
    return done.stdout.strip()


def base_of(folder: Path, **said: str) -> str:
    """What the script prints in a clone, with these variables of a service and no others."""
    environment = {"PATH": os.environ["PATH"], **NOBODY, **said}
    command = ["sh", str(ROOT / "scripts" / "base_commit.sh")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=environment)
    assert not done.stderr
    return done.stdout.strip()


def commit(folder: Path, count: int) -> list[str]:
    for _ in range(count):
        git(folder, "commit", "--allow-empty", "-m", "m")
    return git(folder, "rev-list", "--reverse", "HEAD").split()


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "remote"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def cloned(remote: Path) -> Path:
    git(remote.parent, "clone", "-q", str(remote), "clone")
    return remote.parent / "clone"


def test_a_new_clone_of_the_main_branch_knows_the_commit_before(remote: Path) -> None:
    commits = commit(remote, 3)
    assert base_of(cloned(remote)) == commits[1]


def test_a_clone_of_one_commit_knows_none(remote: Path) -> None:
    commit(remote, 1)
    assert base_of(cloned(remote)) == ""


def test_all_of_a_branch_is_new(remote: Path) -> None:
    commits = commit(remote, 2)
    clone = cloned(remote)
    git(clone, "checkout", "-q", "-b", "work")
    commit(clone, 3)
    assert base_of(clone) == commits[1]


def test_all_that_was_fetched_last_is_new(remote: Path) -> None:
    commits = commit(remote, 2)
    clone = cloned(remote)
    commit(remote, 3)
    git(clone, "pull", "-q")
    assert base_of(clone) == commits[1]


@pytest.mark.parametrize("variable", ["CI_COMMIT_BEFORE_SHA", "CI_PREV_COMMIT_SHA", "DRONE_COMMIT_BEFORE"])
def test_all_of_a_push_is_new_where_the_service_says_what_was_before(remote: Path, variable: str) -> None:
    commits = commit(remote, 4)
    assert base_of(cloned(remote), **{variable: commits[0]}) == commits[0]


@pytest.mark.parametrize("indent", [2, None])
def test_the_event_of_a_push_says_what_was_before(remote: Path, tmp_path: Path, indent: int | None) -> None:
    """GitHub writes a field a line; other runners of such workflows write all on one."""
    commits, event = commit(remote, 4), tmp_path / "event.json"
    said = {"head_commit": {"before": commits[2]}, "after": commits[3], "before": commits[1], "ref": "refs/heads/main"}
    event.write_text(json.dumps(said, indent=indent))
    assert base_of(cloned(remote), GITHUB_EVENT_PATH=str(event)) == commits[1]


@pytest.mark.parametrize("content", ["", "no JSON", "[]", "{}", '{"before": null}', '{"before": 5}'])
def test_an_event_that_says_nothing_is_passed_over(remote: Path, tmp_path: Path, content: str) -> None:
    commits, event = commit(remote, 3), tmp_path / "event.json"
    event.write_text(content)
    assert base_of(cloned(remote), GITHUB_EVENT_PATH=str(event)) == commits[1]


@pytest.mark.parametrize("indent", [2, None])
def test_all_of_a_pull_request_is_new(remote: Path, tmp_path: Path, indent: int | None) -> None:
    """The event of a later push to it has what the branch was before, and its base need not be the main branch."""
    commits, event = commit(remote, 3), tmp_path / "event.json"
    git(remote, "branch", "release", commits[1])
    clone = cloned(remote)
    git(clone, "checkout", "-q", "-b", "work", "origin/release")
    pushed = commit(clone, 3)
    event.write_text(json.dumps({"action": "synchronize", "before": pushed[-2], "after": pushed[-1]}, indent=indent))
    assert base_of(clone, GITHUB_EVENT_PATH=str(event), GITHUB_BASE_REF="release") == commits[1]


@pytest.mark.parametrize("said", ["0" * 40, "1" * 40, "HEAD"])
def test_a_commit_that_is_not_there_is_passed_over(remote: Path, said: str) -> None:
    """A service says zeros of a new branch, and of a push by force a commit that nothing leads to."""
    commits = commit(remote, 3)
    assert base_of(cloned(remote), CI_COMMIT_BEFORE_SHA=said) == commits[1]
