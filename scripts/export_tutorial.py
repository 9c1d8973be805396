"""Exports the model of docs/tutorial.md again, with its origin: python scripts/export_tutorial.py.

Needs PyTorch and onnxscript. tests/docs compares the model with the tutorial's program.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "data" / "tutorial"
PROGRAM = re.compile(r'^```python title="activity\.py"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def program() -> str:
    """The program of the page that exports the model."""
    match = PROGRAM.search((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    assert match, "docs/tutorial.md has no activity.py"
    return match[1]


def main() -> None:
    """Run the program of the page, and keep its model."""
    folder = Path(tempfile.gettempdir(), "tutorial")  # the exporter writes it into the model
    folder.mkdir(exist_ok=True)
    (folder / "activity.py").write_text(program(), encoding="utf-8")
    subprocess.run([sys.executable, "activity.py"], cwd=folder, check=True)
    KEPT.mkdir(exist_ok=True)
    shutil.copy(folder / "activity.onnx", KEPT)
    torch = subprocess.check_output([sys.executable, "-c", "import torch; print(torch.__version__)"], text=True)
    origin = {
        "program": hashlib.sha256(program().encode()).hexdigest(),
        "model": hashlib.sha256((KEPT / "activity.onnx").read_bytes()).hexdigest(),
        "torch": torch.strip().partition("+")[0],
    }
    (KEPT / "activity.json").write_text(json.dumps(origin, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
