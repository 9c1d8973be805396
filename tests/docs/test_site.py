"""The site of the docs, as scripts/test.sh builds it."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.paths import ROOT


@pytest.mark.skipif(not find_spec("mkdocs"), reason="needs mkdocs")
@pytest.mark.parametrize(
    ("line", "code"), [("[here](index.md#here)", 0), ("[gone](gone.md)", 1), ("[gone](index.md#gone)", 1)]
)
def test_a_link_that_leads_nowhere_ends_the_build(line: str, code: int, tmp_path: Path) -> None:
    script = (ROOT / "scripts" / "test.sh").read_text(encoding="utf-8")
    (options,) = re.findall(r"mkdocs build (.*?) --site-dir", script)
    (validation,) = re.findall(r"^validation:\n(?: .*\n)+", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    (tmp_path / "mkdocs.yml").write_text(f"site_name: Site\ntheme: mkdocs\n{validation}", encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Here\n\n{line}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", *options.split()],
        cwd=tmp_path, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
