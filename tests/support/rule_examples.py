"""Examples of rules as files, and what linting says of them."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

from onnxlint_cmsis.checks.rule import Example
from onnxlint_cmsis.cli.main import main
from support.models import text

HEADER = '<ir_version: 10, opset_import: ["" : 13]>\n'


def codes_and_levels(example: Example, folder: Path) -> set[tuple[str, str]]:
    """Lint an example in an empty folder; code and level of each finding."""
    return {(found["code"], found["level"]) for found in findings_of(example, folder)}


def selectors(example: Example, folder: Path) -> set[str]:
    """Lint an example in an empty folder; the code of each finding, with its cause where it has one."""
    found = findings_of(example, folder)
    return {f"{one['code']}[{one['cause']}]" if one["cause"] else one["code"] for one in found}


def findings_of(example: Example, folder: Path) -> list[dict[str, str]]:
    """Lint an example in an empty folder; its findings as in the JSON report."""
    model = folder / example.name
    if isinstance(example.model, bytes):
        model.write_bytes(example.model)
    elif example.model is not None:
        source = example.model.strip()
        model.write_bytes(text(source if source.startswith("<") else HEADER + source).SerializeToString())
    for name, content in example.files.items():
        (folder / name).write_text(content, encoding="utf-8")
    options = example.options.split()
    if "--baseline" in options:
        place = options.index("--baseline") + 1
        options[place] = str(folder / options[place])
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(["--isolated", "--output-format", "json", *options, str(model)])
    findings: list[dict[str, str]] = json.loads(out.getvalue())["findings"]
    return findings
