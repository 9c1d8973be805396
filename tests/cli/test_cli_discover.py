"""From paths to files."""

from __future__ import annotations

import os

import pytest

from onnxlint_cmsis.cli.discovery import discover

pytestmark = pytest.mark.usefixtures("tree")


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name in ("b.onnx", "a.ONNX", "x.txt", "sub/c.onnx", "sub/deep/d.onnx", ".venv/e.onnx", "node_modules/f.onnx"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def nothing(_path):
    return False


def posix(discovery):
    return [path.replace(os.sep, "/") for path in discovery.files]


def test_a_folder_is_searched_and_sorted():
    assert posix(discover(["."], nothing)) == ["a.ONNX", "b.onnx", "sub/c.onnx", "sub/deep/d.onnx"]


def test_a_file_counts_once_in_the_order_given():
    assert posix(discover(["sub/deep", "b.onnx", "./b.onnx", "."], nothing)) == [
        "sub/deep/d.onnx", "b.onnx", "a.ONNX", "sub/c.onnx",
    ]  # fmt: skip


def test_named_files_need_no_suffix_and_may_be_missing():
    assert posix(discover(["x.txt", "none.onnx", "-"], nothing)) == ["x.txt", "none.onnx", "-"]


def test_excluded_files_and_folders_are_left_out_of_a_search():
    assert posix(discover(["."], lambda path: path in ("sub", "b.onnx"))) == ["a.ONNX"]


def test_a_named_file_is_linted_unless_exclusion_is_forced():
    assert posix(discover(["b.onnx"], lambda _: True)) == ["b.onnx"]
    assert posix(discover(["b.onnx"], lambda _: True, force_exclude=True)) == []


def test_skipped_folders_are_searched_when_named():
    assert posix(discover([".venv"], nothing)) == [".venv/e.onnx"]


def test_folders_without_models_are_told(tree):
    (tree / "empty").mkdir()
    assert discover(["empty"], nothing).empty == ("empty",)


def test_links_to_folders_are_not_followed(tree):
    (tree / "sub" / "loop").symlink_to(tree)
    assert posix(discover(["sub"], nothing)) == ["sub/c.onnx", "sub/deep/d.onnx"]


def test_a_name_too_long_for_the_system_is_a_file_to_report():
    name = "n" * 5000
    assert discover([name], nothing).files == (name,)
