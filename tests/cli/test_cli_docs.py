"""The generated docs are fresh, and the example in them works."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import cache

import pytest

from onnxlint_cmsis.checks.rule_registry import every_rule
from onnxlint_cmsis.config.files import Configuration
from onnxlint_cmsis.config.settings import KEYS
from support import paths

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = paths.ROOT


@pytest.fixture(scope="module")
def make_docs():
    """The script, which works out its pages once."""
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "scripts" / "make_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.pages = cache(module.pages)
    return module


def test_the_docs_are_fresh(make_docs, capsys):
    assert make_docs.main(["--check"]) == 0, capsys.readouterr().out


def test_check_tells_what_is_stale_and_writing_mends_it(make_docs, monkeypatch, tmp_path, capsys, told):
    moved = {tmp_path / path.relative_to(ROOT): text for path, text in make_docs.pages().items()}
    monkeypatch.setattr(make_docs, "ROOT", tmp_path)
    monkeypatch.setattr(make_docs, "pages", lambda: moved)
    assert make_docs.main(["--check"]) == 1
    told(capsys.readouterr().out)
    assert make_docs.main([]) == 0
    assert make_docs.main(["--check"]) == 0
    (tmp_path / "docs" / "rules" / "CNN999.md").write_text("left over")
    (tmp_path / "docs" / "config.md").write_text("old")
    assert make_docs.main(["--check"]) == 1
    told(capsys.readouterr().out.splitlines()[-2:])
    make_docs.main([])
    assert make_docs.main(["--check"]) == 0


def test_every_rule_has_a_page_that_the_index_links():
    index = (ROOT / "docs" / "rules" / "index.md").read_text()
    rules = [*every_rule()]
    assert rules
    for rule in rules:
        page = (ROOT / "docs" / "rules" / f"{rule.code}.md").read_text()
        assert page.startswith(f"# {rule.code} {rule.name}\n")
        assert f"({rule.code}.md)" in index


def test_every_field_that_a_report_tells_of_a_fix_has_its_doc():
    """Of each object the page has all fields, and each object that holds another has it on the page."""
    from report_page import OBJECTS, field_docs

    for title, made_from in OBJECTS:
        assert [name for name, doc in field_docs(made_from) if doc] == list(made_from._fields), title
    named = {made_from.__name__ for _, made_from in OBJECTS}
    held = {
        word
        for _, made_from in OBJECTS
        for hint in made_from.__annotations__.values()
        for word in re.findall(r"[A-Z]\w+", getattr(hint, "__forward_arg__", str(hint)))
    }
    assert held - {"None"} <= named


def test_links_between_pages_lead_somewhere():
    pages = [*(ROOT / "docs").rglob("*.md")]
    assert pages
    for page in pages:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_example_is_a_valid_configuration(tmp_path):
    text = (ROOT / "docs" / "config.md").read_text()
    example = re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1]
    (tmp_path / "pyproject.toml").write_text(example)
    assert set(tomllib.loads(example)["tool"]["onnxlint-cmsis"]) <= {key.name for key in KEYS}
    assert Configuration().settings_for(str(tmp_path / "m.onnx")).file == str(tmp_path / "pyproject.toml")


def test_every_key_is_in_the_docs():
    text = (ROOT / "docs" / "config.md").read_text()
    assert KEYS
    for key in KEYS:
        assert re.search(rf"`{key.name}[` ]", text), key.name


def test_every_place_that_the_page_for_contributors_names_is_there():
    text = (paths.ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    named = {path for path in re.findall(r"`([\w./]+)`", text) if path.endswith(("/", ".py", ".sh"))}
    assert len(named) > 25
    rooms = [paths.ROOT, paths.ROOT / "onnxlint_cmsis", paths.ROOT / "onnxlint_cmsis" / "cmsis_nn"]
    unknown = {path for path in named if not any((room / path).exists() for room in rooms)}
    assert not unknown
