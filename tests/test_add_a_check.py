"""A new check is one file and one line in the registry: linting, `rule` and the docs know it at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.goldens import Told
from support.models import one_node
from support.tree_copy import copy_folder

CHECK = '''"""A layer has an odd number of output channels.

Made up for a test.

**What to do.** Nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import Subject
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN116",
    name="odd-channels",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="A layer has an odd number of output channels.",
    docs=__doc__,
    bad=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[3, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    good=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
)


def run(subject: Subject) -> Iterator[Statement]:
    """Yield one statement for an odd count."""
    if (subject.size("output_dims.c") or 0) % 2:
        yield subject.say("its output channels are odd.")
'''


def python(tree: Path, *arguments: str) -> str:
    """What a command prints that runs in a copy of the tree."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_check_is_one_file_and_one_line(tmp_path: Path, told: Told) -> None:
    for folder in ("onnxlint_cmsis", "firmware_check", "scripts", "docs", "tests/data"):
        copy_folder(folder, tmp_path)
    checks = tmp_path / "onnxlint_cmsis" / "checks"
    (checks / "rules" / "odd_channels.py").write_text(CHECK, encoding="utf-8")
    registry = checks / "rule_registry.py"
    line = '    "depthwise_s16_fast",\n'
    before = registry.read_text(encoding="utf-8")
    assert before.count(line) == 1
    registry.write_text(before.replace(line, f'{line}    "odd_channels",\n'), encoding="utf-8")
    model = tmp_path / "m.onnx"
    model.write_bytes(one_node("Conv", [1, 8, 9, 9], {"w": (3, 8, 3, 3)}).SerializeToString())

    lint = (
        "-m",
        "onnxlint_cmsis",
        "--isolated",
        "--output-format",
        "concise",
        "--config",
        "size-checks-limit=0",
        "--min-level",
        "note",
    )
    told(python(tmp_path, *lint, str(model)))
    assert "CNN116" not in python(tmp_path, *lint, "--ignore", "odd-channels", str(model))
    page = python(tmp_path, "-m", "onnxlint_cmsis", "rule", "CNN116")
    told(page)
    python(tmp_path, "scripts/make_docs.py")
    assert (tmp_path / "docs" / "rules" / "CNN116.md").read_text(encoding="utf-8").startswith("# CNN116 odd-channels\n")
    told((tmp_path / "docs" / "rules" / "index.md").read_text())
