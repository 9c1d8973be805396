"""Microsoft's SARIF Multitool as the tests use it: with GitHub's rules on, and kept off the network."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from support import paths

CACHED = ".cache/npm/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
"""Where scripts/test.sh installs it, from the root of the project."""
GITHUB = (
    "GH1001.ProvideRequiredLocationProperties",
    "GH1003.ProvideRequiredRegionProperties",
    "GH1004.ReviewArraysThatExceedConfigurableDefaults",
    "GH1005.LocationsMustBeRelativeUrisOrFilePaths",
    "GH1006.ProvideCheckoutPath",
    "GH1007.ProvideFullyFormattedMessageStrings",
)
NOWHERE = "http://127.0.0.1:9"
"""Proxy that is not there: the validator would wait for the network, five seconds a file where there is none."""


def multitool() -> Path:
    """The validator: SARIF_MULTITOOL, or what scripts/test.sh has left."""
    return Path(os.environ.get("SARIF_MULTITOOL") or paths.ROOT / CACHED)


needs_multitool = pytest.mark.skipif(
    not multitool().is_file() and os.environ.get("CI") != "true",
    reason="no SARIF Multitool in SARIF_MULTITOOL or .cache/npm; scripts/test.sh installs it with npm",
)


def complaints(files: list[Path], work: Path) -> list[str]:
    """What the validator has against the files, one text each; `work` is an empty folder for its own."""
    rules = "".join(
        f'<Properties Key="{rule}.Options"><Property Key="RuleEnabled" Value="Error" Type="Driver.RuleEnabledState" />'
        "</Properties>"
        for rule in GITHUB
    )
    config, report = work / "rules.xml", work / "report.json"
    config.write_text(f'<?xml version="1.0" encoding="utf-8"?><Properties>{rules}</Properties>')
    options = ["--config", config, "--rule-kind", "Sarif;Gh;Ghas", "--level", "Error;Warning", "--output", report]
    environment = {**os.environ, "http_proxy": NOWHERE, "https_proxy": NOWHERE}
    command = [multitool(), "validate", *files, *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert f"Done. {len(files)} files scanned." in done.stdout, done.stdout
    runs = json.loads(report.read_text(encoding="utf-8-sig"))["runs"]
    return [json.dumps(result) for run in runs for result in run.get("results", [])]
